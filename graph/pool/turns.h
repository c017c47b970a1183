/*
 * graph/pool/turns.h - the pools of a graph: adopted, launched, let go
 */
#ifndef GRAPH_POOL_TURNS_H
#define GRAPH_POOL_TURNS_H

#include "graph/pool/pool.h"

/*
 * Of the pools of a graph's capture, the oldest first:
 * pools_know() tells whether a capture of that id had a session and no graph
 * was made of it, ERROR_NOT_FOUND without a message or ERROR_EXISTS;
 * pools_attach() makes them a graph's, pools_detach() ends that, and says
 * whether nothing can be left of the native graph. With the context's lock.
 */
enum philox_status pools_know(struct graph_context *graphs, uint64_t id);
void pools_attach(struct graph_context *graphs, uint64_t id, const char *graph,
		  struct pool_capture **pools);
void pools_detach(struct pool_capture **pools, int gone);

/*
 * pools_drop() rolls the sessions of a capture back that gave no graph. With the
 * context's lock.
 */
void pools_drop(struct graph_context *graphs, uint64_t id);

/*
 * pools_enter() takes the turn of a graph's pools for a launch on a stream,
 * after whatever ran in them before; pools_leave() gives it back. `turn` is one
 * of a launch. Without the context's lock.
 */
enum philox_status pools_enter(struct pool_capture *pools, philox_stream stream,
			       enum pool_turn turn);
void pools_leave(struct pool_capture *pools, philox_stream stream,
		 enum philox_status launched);

/* pools_quiet() refuses with ERROR_BUSY while a capture's session is open. */
enum philox_status pools_quiet(struct graph_context *graphs);

/* pools_finish() (graph/pool/create.c) frees all pools of a context that ends. */
void pools_finish(struct graph_context *graphs);

#endif
