/*
 * graph/capture/topology.h - what comes before what in a graph that is being captured
 *
 * These questions are asked of the graph itself, by walking it back from a
 * stream's present dependencies: a stream may have joined the capture at any
 * point, and its dependencies may have been set by anyone. Their answer may be
 * "unsure", after too long a walk or an error of the device, which is not
 * reported. All are legal during capture.
 */
#ifndef GRAPH_CAPTURE_TOPOLOGY_H
#define GRAPH_CAPTURE_TOPOLOGY_H

#include <stddef.h>
#include "lib/device/call.h"

enum { ORDER_TIPS = 16 };

/* The nodes that a stream's next node depends on. */
struct order_tips {
	device_node nodes[ORDER_TIPS];
	size_t n; /* may be above ORDER_TIPS: then not all are known, some of
		     which may be of a kind that is not shown */
};

/* order_tips() asks a capturing stream. */
enum philox_status order_tips(struct philox_device *device,
			      philox_stream stream, struct order_tips *tips);

/*
 * order_is_after() is 1 if one of the nodes `known` is among the tips or comes
 * before one of them; 0 if not, or unsure.
 */
int order_is_after(struct philox_device *device, const struct order_tips *tips,
		   const device_node *known, size_t n_known);

/*
 * order_is_whole() is 1 if every node of a graph is among the tips or comes
 * before one of them; 0 if not, or unsure.
 */
int order_is_whole(struct philox_device *device, philox_native_graph graph,
		   const struct order_tips *tips);

#endif
