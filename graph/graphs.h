/*
 * graph/graphs.h - what graph/ keeps for each context
 *
 * Guarded by the context's lock, but for the device stream, which serves
 * set-up work (filling control blocks, poisoning cells) and is synchronised by
 * whoever used it.
 */
#ifndef GRAPH_GRAPHS_H
#define GRAPH_GRAPHS_H

#include "alloc/arena.h"
#include "lib/state/context.h"
#include "lib/state/region.h"

struct capture;
struct cell_block;
struct own_capture;

struct graphs {
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

/* graphs_upload() copies into device memory and waits; legal during capture. */
enum philox_status graphs_upload(struct graphs *graphs, void *device,
				 const void *host, size_t size);

/* The hook `quiet`: see lib/state/context.h. */
enum philox_status graphs_quiet(struct philox_context *context);

#endif
