/*
 * graph/pool/checkpoint.h - checkpoints of a pool's blocks, within graph/
 *
 * With the pool's lock.
 */
#ifndef GRAPH_POOL_CHECKPOINT_H
#define GRAPH_POOL_CHECKPOINT_H

#include "graph/pool/pool.h"

/* What the ids of philox_pool_restore() are. */
struct pool_ids {
	const uint64_t *live, *dead;
	size_t n_live, n_dead;
};

/* pool_keep_blocks() and pool_put_back(): see philox_pool_checkpoint_create()
 * and philox_pool_restore(). */
enum philox_status pool_keep_blocks(struct philox_pool *pool,
				    struct pool_checkpoint **blocks);
enum philox_status pool_put_back(struct philox_pool *pool,
				 const struct pool_checkpoint *checkpoint,
				 const struct pool_ids *ids);

#endif
