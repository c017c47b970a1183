/*
 * graph/capture/depend.h - a kernel of ours that what a graph draws comes after
 *
 * A graph that is being captured has one: the head, or in a body the kernel
 * that counts its runs. It depends on nothing, or, if all that has been captured
 * so far is one line, on the end of that line, which then goes on from it; so a
 * graph that is one line stays one. What draws depends on it, by an edge unless
 * it does so anyway.
 */
#ifndef GRAPH_CAPTURE_DEPEND_H
#define GRAPH_CAPTURE_DEPEND_H

#include "lib/device/call.h"

enum { DEPEND_AFTER = 8 };

struct first_node {
	device_node node;
	device_node after[DEPEND_AFTER]; /* some nodes that come after it */
	uint32_t n_after;                /* ever noted */
};

/* depend_add() adds the kernel to the graph that a stream is capturing. */
enum philox_status depend_add(struct philox_device *device,
			      philox_native_graph native, philox_stream stream,
			      const struct kernel_call *call,
			      struct first_node *first);

/*
 * depend_on() sees to it that what a stream of that capture records next comes
 * after the kernel.
 */
enum philox_status depend_on(struct philox_device *device,
			     struct first_node *first, philox_stream stream);

#endif
