/*
 * graph/capture/depend.c - see graph/capture/depend.h
 */
#include <string.h>
#include "graph/capture/depend.h"
#include "graph/capture/topology.h"

enum philox_status depend_add(struct philox_device *device,
			      philox_native_graph native, philox_stream stream,
			      const struct kernel_call *call,
			      struct first_node *first)
{
	struct order_tips tips;
	enum philox_status status = order_tips(device, stream, &tips);

	if (status != PHILOX_OK)
		return status;
	if (!order_is_whole(device, native, &tips))
		tips.n = 0;
	first->n_after = 0;
	return device_graph_add_kernel(device, native, tips.nodes, tips.n, call,
				       &first->node);
}

/* Walks end at nodes that are known to come after the kernel. */
static void note_after(struct first_node *first, const struct order_tips *tips)
{
	if (tips->n == 1)
		first->after[first->n_after++ % DEPEND_AFTER] = tips->nodes[0];
}

static int is_after_first(struct philox_device *device,
			  const struct first_node *first,
			  const struct order_tips *tips)
{
	device_node known[1 + DEPEND_AFTER] = {first->node};
	size_t n =
		first->n_after < DEPEND_AFTER ? first->n_after : DEPEND_AFTER;

	memcpy(known + 1, first->after, n * sizeof(*known));
	return order_is_after(device, tips, known, 1 + n);
}

static int holds(const device_node *nodes, size_t n, device_node node)
{
	for (size_t i = 0; i < n; i++)
		if (nodes[i] == node)
			return 1;
	return 0;
}

/* Whether the kernel itself waits for all that the stream waits for. */
static int is_before_first(struct philox_device *device,
			   const struct first_node *first,
			   const struct order_tips *tips)
{
	device_node before[ORDER_TIPS];
	size_t n = ORDER_TIPS;

	if (tips->n > ORDER_TIPS ||
	    device_node_deps(device, first->node, before, &n) != PHILOX_OK ||
	    n > ORDER_TIPS)
		return 0;
	for (size_t i = 0; i < tips->n; i++)
		if (!holds(before, n, tips->nodes[i]))
			return 0;
	return 1;
}

enum philox_status depend_on(struct philox_device *device,
			     struct first_node *first, philox_stream stream)
{
	struct order_tips tips;
	enum philox_status status = order_tips(device, stream, &tips);

	if (status != PHILOX_OK)
		return status;
	if (is_after_first(device, first, &tips)) {
		note_after(first, &tips);
		return PHILOX_OK;
	}
	return is_before_first(device, first, &tips)
		       ? device_capture_after(device, stream, first->node)
		       : device_capture_depend(device, stream, first->node);
}
