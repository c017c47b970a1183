/*
 * lib/device/call.h - the operations of a device that are not public
 */
#ifndef LIB_DEVICE_CALL_H
#define LIB_DEVICE_CALL_H

#include "lib/device/contract.h"

/*
 * They are counted like the public ones. device_<name>() takes the arguments of
 * the table's <name>.
 */
enum philox_status device_mapped_alloc(struct philox_device *device,
				       size_t size, void **host, void **mapped);
enum philox_status device_mapped_free(struct philox_device *device, void *host);
/*
 * A space is a range of addresses that memory is mapped into, and taken from,
 * piece by piece; offsets are from its base. Releasing NULL does nothing.
 */
enum philox_status device_space_granularity(struct philox_device *device,
					    size_t *bytes);
enum philox_status device_space_reserve(struct philox_device *device,
					size_t bytes, void **base);
enum philox_status device_space_map(struct philox_device *device, void *base,
				    size_t offset, size_t bytes);
enum philox_status device_space_unmap(struct philox_device *device, void *base,
				      size_t offset, size_t bytes);
enum philox_status device_space_release(struct philox_device *device,
					void *base);
enum philox_status device_capture_info(struct philox_device *device,
				       philox_stream stream,
				       struct capture_info *info);
enum philox_status device_capture_begin_to(struct philox_device *device,
					   philox_stream stream,
					   philox_native_graph graph,
					   enum philox_capture_mode mode);
enum philox_status device_capture_tips(struct philox_device *device,
				       philox_stream stream, device_node *nodes,
				       size_t *n);
enum philox_status device_capture_depend(struct philox_device *device,
					 philox_stream stream,
					 device_node node);
enum philox_status device_capture_after(struct philox_device *device,
					philox_stream stream, device_node node);
enum philox_status device_graph_add_kernel(struct philox_device *device,
					   philox_native_graph graph,
					   const device_node *deps, size_t n,
					   const struct kernel_call *call,
					   device_node *node);
enum philox_status device_node_deps(struct philox_device *device,
				    device_node node, device_node *nodes,
				    size_t *n);
enum philox_status device_graph_set_kernel(struct philox_device *device,
					   device_node node,
					   const struct kernel_call *call);
/*
 * A condition of the graph; every launch begins with `value` if `assigned` is
 * not 0. See "Conditional nodes" in lib/device/contract.h.
 */
enum philox_status device_condition_create(struct philox_device *device,
					   philox_native_graph graph,
					   uint32_t value, int assigned,
					   device_condition *condition);
/* Whether the device has nodes of this kind, with as many bodies; not counted. */
enum philox_status device_conditional_check(struct philox_device *device,
					    const struct conditional *what);
/* Writes the node, and what->bodies graphs to `bodies`. */
enum philox_status device_graph_add_conditional(
	struct philox_device *device, philox_native_graph graph,
	const device_node *deps, size_t n, const struct conditional *what,
	device_node *node, philox_native_graph *bodies);
enum philox_status device_graph_retain(struct philox_device *device,
				       philox_native_graph graph,
				       void (*release)(void *), void *object);
enum philox_status device_exec_set_kernel(struct philox_device *device,
					  philox_native_exec exec,
					  device_node node,
					  const struct kernel_call *call);
/* PHILOX_OK if the device cannot tell; this one is not counted. */
enum philox_status device_exec_check(struct philox_device *device,
				     philox_native_exec exec);
enum philox_status device_launch(struct philox_device *device,
				 philox_stream stream,
				 const struct kernel_call *call);

#endif
