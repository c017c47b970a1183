/*
 * graph/upload.h - set-up work on device memory, in the middle of captures
 *
 * Done on the context's own stream in relaxed mode, as other threads may be
 * capturing, and waited for.
 */
#ifndef GRAPH_UPLOAD_H
#define GRAPH_UPLOAD_H

#include "graph/context.h"

/* upload_copy() copies into device memory and waits; legal during capture. */
enum philox_status upload_copy(struct graph_context *graphs, void *device,
			       const void *host, size_t size);

/* upload_poison() fills device memory with poison, in the same way. */
enum philox_status upload_poison(struct graph_context *graphs, void *device,
				 size_t size);

#endif
