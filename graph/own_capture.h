/*
 * graph/own_capture.h - captures that the library itself begins and ends
 */
#ifndef GRAPH_OWN_CAPTURE_H
#define GRAPH_OWN_CAPTURE_H

#include "graph/graph.h"

/* The hook `broken`: see lib/state/context.h. */
void own_note_broken(struct philox_context *context, philox_stream stream,
		     const char *call);

/* own_finish() forgets all captures begun by philox_capture_begin(). */
void own_finish(struct graph_context *graphs);

#endif
