/*
 * graph/pool/snapshot.h - taking the snapshot of a pool
 */
#ifndef GRAPH_POOL_SNAPSHOT_H
#define GRAPH_POOL_SNAPSHOT_H

#include "graph/pool/pool.h"
#include "graph/pool/pool_text.h"

/*
 * snapshot_take() takes what the text of a pool says: ERROR_MEMORY. To be
 * finished with snapshot_finish().
 */
enum philox_status snapshot_take(struct philox_pool *pool,
				 struct snapshot *snapshot);

#endif
