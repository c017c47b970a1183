/*
 * graph/pool/guard.h - zones around blocks, and patterns in them
 *
 * With the pool's lock.
 */
#ifndef GRAPH_POOL_GUARD_H
#define GRAPH_POOL_GUARD_H

#include "graph/pool/pool.h"

/* pool_paint() writes zones and pattern of a new block on its stream. */
enum philox_status pool_paint(struct philox_pool *pool, philox_stream stream,
			      const struct pool_block *block);

/* pool_wipe() writes the pattern over a block that is to be freed. */
enum philox_status pool_wipe(struct philox_pool *pool, philox_stream stream,
			     const struct pool_block *block);

#endif
