/*
 * graph/context.h - the part of a context that graph/ owns
 *
 * Guarded by the context's lock, except for the device stream, which is used
 * for set-up work (filling control blocks, poisoning cells) and is synchronised
 * by the function that used it.
 */
#ifndef GRAPH_CONTEXT_H
#define GRAPH_CONTEXT_H

#include "alloc/arena.h"
#include "lib/state/context.h"
#include "lib/state/region.h"

struct capture;
struct cell_block;
struct own_capture;

struct graph_context {
	struct philox_context *context;
	philox_stream stream;
	struct arena cells;   /* control blocks, maps and cells */
	struct arena reports; /* of kind MAPPED */
	struct capture *captures;
	struct own_capture *own; /* captures begun by philox_capture_begin() */
	struct philox_graph *graphs;
	struct cell_block *blocks; /* of eager passes */
	uint64_t graph_count;      /* for names */
};

#endif
