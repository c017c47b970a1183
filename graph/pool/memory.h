/*
 * graph/pool/memory.h - memory taken from the device, and given back to it
 */
#ifndef GRAPH_POOL_MEMORY_H
#define GRAPH_POOL_MEMORY_H

#include "graph/pool/pool.h"

/*
 * pool_grow_for() grows a pool for a request, with its lock, and logs it.
 * pool_take_ahead() sees to so many bytes that are free in one piece, as
 * philox_pool_reserve() does, with its lock.
 * pools_give_back() has all pools of a context but one give back what no graph
 * needs, without locks; pools_list() writes what each of them holds.
 */
enum philox_status pool_grow_for(struct philox_pool *pool,
				 const struct pool_request *request);
enum philox_status pool_take_ahead(struct philox_pool *pool, size_t bytes);
void pools_give_back(struct philox_context *context,
		     const struct philox_pool *except);
void pools_list(struct philox_context *context, char *text, size_t size);

#endif
