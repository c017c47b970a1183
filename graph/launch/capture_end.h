/*
 * graph/launch/capture_end.h - captures that the library itself begins and ends
 */
#ifndef GRAPH_LAUNCH_CAPTURE_END_H
#define GRAPH_LAUNCH_CAPTURE_END_H

#include "graph/launch/graph.h"

/* The hook `broken`: see lib/state/context.h. */
void own_note_broken(struct philox_context *context, philox_stream stream,
		     const char *call);

/*
 * own_begin() and own_end() are philox_capture_begin() and philox_capture_end()
 * without a report to the log; own_end() also writes the capture's id.
 * own_cancel() ends a capture of this thread from which nothing is to be made.
 */
enum philox_status own_begin(struct philox_context *context,
			     philox_stream stream);
enum philox_status own_end(struct philox_context *context, philox_stream stream,
			   struct philox_graph **graph, uint64_t *id);
void own_cancel(struct philox_context *context, philox_stream stream);

/* own_finish() forgets all captures begun by philox_capture_begin(). */
void own_finish(struct graph_context *graphs);

#endif
