/*
 * graph/capture/cells.h - cells of eager passes begun with PHILOX_ON_DEVICE
 *
 * A block is a head's memory with the cells of one region. The head's kernel,
 * put on the pass's stream, fills it. It is reused once the event that was
 * recorded when its last pass ended has happened. Guarded by the context's
 * lock.
 */
#ifndef GRAPH_CAPTURE_CELLS_H
#define GRAPH_CAPTURE_CELLS_H

#include "graph/capture/context.h"

/* The hooks `take` and `give`: see lib/state/context.h. */
enum philox_status cells_take(struct philox_pass *pass);
void cells_give(struct philox_pass *pass);

/* cells_live() gives ERROR_STATE for a pass whose block another one now has. */
enum philox_status cells_live(const struct philox_pass *pass);

/*
 * cells_at() gives a view of such a pass, which has a state of its own, a block
 * of its own, that ends with the pass.
 */
enum philox_status cells_at(const struct philox_pass *pass,
			    struct philox_pass *view);

/* cells_free_all() frees every block; no pass may be open. */
void cells_free_all(struct graph_context *graphs);

#endif
