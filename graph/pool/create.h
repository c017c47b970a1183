/*
 * graph/pool/create.h - what a pool holds, counted
 */
#ifndef GRAPH_POOL_CREATE_H
#define GRAPH_POOL_CREATE_H

#include "graph/pool/pool.h"

/* pool_count() writes a pool's statistics, with its lock. */
void pool_count(struct philox_pool *pool,
		struct philox_pool_figures *statistics);

#endif
