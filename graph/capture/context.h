/*
 * graph/capture/context.h - the part of a context that graph/ owns
 *
 * Guarded by the context's lock.
 */
#ifndef GRAPH_CAPTURE_CONTEXT_H
#define GRAPH_CAPTURE_CONTEXT_H

#include "alloc/arena.h"
#include "lib/containers/map.h"
#include "lib/state/state.h"

#define GRAPH_NAME_SIZE 64 /* with its NUL */

struct philox_run;
struct capture;
struct cell_block;
struct own_capture;
struct philox_pool;
struct philox_runner;

struct graph_context {
	struct philox_context *context;
	struct arena cells;  /* and sealed control blocks with their maps */
	struct arena mapped; /* reports, open control blocks, staged maps */
	struct capture *captures; /* of which there is no graph, newest first */
	struct capture *sealed;   /* the others */
	struct map by_id; /* both, by the device's ids, those of bodies too */
	struct lifelines *gone; /* of captures, see capture_reap() */
	struct capture *ending; /* of which nothing is left but their ends */
	struct own_capture *own; /* captures begun by philox_capture_begin() */
	struct map own_by_stream;
	size_t own_begun; /* of them: the others are about to, or to fail */
	struct philox_graph *graphs; /* newest first */
	struct cell_block *blocks; /* of eager passes */
	uint64_t graph_count;      /* for names */
	uint32_t instantiate;      /* enum philox_instantiate, of new ones */
	uint64_t pool_steps;       /* of captures, for their order */
	struct philox_runner *runners;
	struct philox_run *callbacks; /* that run */
	uint64_t run_passes; /* begun by bodies, for struct philox_pass */

	pthread_mutex_t pools_lock; /* guards what follows */
	struct philox_pool *pools;  /* newest first */
	struct map pool_names;      /* the same */
};

#endif
