/*
 * graph/capture/lifeline.h - whether a native graph is still there
 *
 * The memory of a capture must stay for as long as its native graph and all
 * executable graphs made from it, which the library may not own. A lifeline is
 * shared by one of our records and a native graph; when the graph and all made
 * from it are gone, or its capture is invalidated, the device releases its
 * reference, on any thread: that only sets a flag, since it may not call the
 * device, and a later call of ours sees it.
 */
#ifndef GRAPH_CAPTURE_LIFELINE_H
#define GRAPH_CAPTURE_LIFELINE_H

#include "lib/device/call.h"

struct lifeline;

/*
 * lifeline_attach() makes one and gives its other reference to a native graph,
 * which may be in capture: ERROR_MEMORY, those of device_graph_retain().
 */
enum philox_status lifeline_attach(struct philox_device *device,
				   philox_native_graph native,
				   struct lifeline **lifeline);

/* lifeline_put() gives our reference up. */
void lifeline_put(struct lifeline *lifeline);

/* lifeline_is_gone() tells whether the native graph is. */
int lifeline_is_gone(const struct lifeline *lifeline);

#endif
