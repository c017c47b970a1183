/*
 * philox/launch_value.h - arguments of captured kernels that change with each
 * launch
 *
 * A capture freezes whatever a kernel takes by value: a learning rate, a step
 * count, a length. A value is up to 16 bytes that captured kernels read from
 * device memory instead, and that the host sets before each launch:
 *
 *   struct step { float rate, correction1, correction2; } step = {...};
 *   void *in_graph;
 *
 *   philox_capture_value(context, stream, "step", &step, sizeof(step),
 *                        &in_graph);              in the capture
 *   adamw<<<..., stream>>>(..., (const struct step *)in_graph);
 *   ...
 *   philox_graph_value_index(graph, "step", &index);
 *
 *   step.rate = ...;                               for each launch
 *   philox_graph_set_value(graph, index, &step, sizeof(step));
 *   philox_graph_launch(graph, stream, uses, n);
 *
 * Values travel in the message that the graph's head takes anyway: no copy, no
 * further node, no call to the device. Each launch reads the values that were
 * set when it was made, however many launches are queued. A launch that philox
 * was not told about finds 16 bytes of 0xff instead, a NaN in every float and
 * -1 in every integer, and philox_check() reports it.
 *
 * A cell is 16 bytes, aligned to 16; what the value does not fill is 0. Kernels
 * that read it must not write it, and must come after philox_capture_value() on
 * its stream, or on one that waits for that. Eager code fills cells of its own
 * with philox_value_write(), so that a kernel is written once.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
 */
#ifndef PHILOX_LAUNCH_VALUE_H
#define PHILOX_LAUNCH_VALUE_H

#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/device.h>
#include <philox/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PHILOX_VALUE_SIZE 16 /* bytes of a cell, and most of a value */

/*
 * philox_capture_value() makes a value of `size` bytes, 1 .. 16, in the capture
 * of a stream, with the bytes at `initial` until others are set, and writes the
 * device address of its cell, which is good for as long as the graph and all
 * executable graphs made from it. `name` is unique in the capture; copied. A
 * value takes the room of a pass in the graph's head. A capture with values and
 * without a pass can be adopted and launched. Errors: PHILOX_ERROR_INVALID
 * (names the argument), PHILOX_ERROR_STATE (the stream is not capturing),
 * PHILOX_ERROR_EXISTS (the name is taken), PHILOX_ERROR_LIMIT,
 * PHILOX_ERROR_CAPTURE_INVALIDATED, PHILOX_ERROR_MEMORY, those of the device.
 */
PHILOX_API enum philox_status philox_capture_value(
	struct philox_context *context, philox_stream stream, const char *name,
	const void *initial, size_t size, void **address);

/*
 * philox_graph_values() returns how many values a graph has (0 for NULL).
 * philox_graph_value_index() writes the index of the one with a name, counted
 * from 0 in order of capture: PHILOX_ERROR_NOT_FOUND. philox_graph_value_info()
 * describes one. Errors: PHILOX_ERROR_INVALID. Legal during capture.
 */
struct philox_value_info {
	size_t size;       /* sizeof(this struct), set by the caller and kept */
	const char *name;  /* belongs to the graph */
	uint32_t bytes;    /* of the value */
	uint32_t reserved; /* written as 0 */
};

PHILOX_API size_t philox_graph_values(const struct philox_graph *graph);
PHILOX_API enum philox_status philox_graph_value_index(
	const struct philox_graph *graph, const char *name, size_t *index);
PHILOX_API enum philox_status philox_graph_value_info(
	const struct philox_graph *graph, size_t index,
	struct philox_value_info *info);

/*
 * philox_graph_set_value() sets what a value is for the launches from now on.
 * `size` is that of its capture. Setting one is in the context's journal;
 * values are saved nowhere, they are the caller's. Errors: PHILOX_ERROR_INVALID
 * (an index out of range, another size), PHILOX_ERROR_BUSY (between prologue
 * and epilogue). Legal during capture.
 */
PHILOX_API enum philox_status philox_graph_set_value(struct philox_graph *graph,
						     size_t index,
						     const void *bytes,
						     size_t size);

/*
 * philox_value_write() writes a value of 1 .. 16 bytes to a cell of the caller,
 * 16 bytes of device memory aligned to 16, in stream order; the rest of the
 * cell is 0. `bytes` can be reused when the call returns. Recorded as one node
 * during capture: each launch writes these bytes again. Errors:
 * PHILOX_ERROR_INVALID (names the argument; on a host device also a cell that
 * is not all in memory, philox/device.h), PHILOX_ERROR_CAPTURE_INVALIDATED,
 * those of the device.
 */
PHILOX_API enum philox_status philox_value_write(struct philox_context *context,
						 philox_stream stream,
						 void *cell, const void *bytes,
						 size_t size);

#ifdef __cplusplus
}
#endif
#endif
