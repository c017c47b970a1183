/*
 * graph/pool_life.h - what a pool holds, counted
 */
#ifndef GRAPH_POOL_LIFE_H
#define GRAPH_POOL_LIFE_H

#include "graph/pool.h"

/* pool_count() writes a pool's statistics, with its lock. */
void pool_count(struct philox_pool *pool,
		struct philox_pool_figures *statistics);

#endif
