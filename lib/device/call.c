/*
 * lib/device/call.c - the operations of a device, one function each
 *
 * The public ones of philox/device.h and the device_*() ones of
 * lib/device/device.h: each refuses bad arguments, naming them, and then calls
 * the device's table. Destroying NULL is not an operation and is not counted.
 * Nothing here is shared.
 */
#include "lib/device/device.h"

enum philox_status philox_device_synchronize(struct philox_device *device)
{
	NEED_POINTER(device);
	CALL(device_sync, device);
}

/* --- memory ------------------------------------------------------------- */

enum philox_status philox_memory_alloc(struct philox_device *device,
				       size_t size, void **memory)
{
	NEED_POINTER(device);
	NEED_SIZE(size);
	NEED_POINTER(memory);
	CALL(mem_alloc, device, size, memory);
}

enum philox_status philox_memory_free(struct philox_device *device,
				      void *memory)
{
	NEED_POINTER(device);
	if (!memory)
		return PHILOX_OK;
	CALL(mem_free, device, memory);
}

enum philox_status device_mapped_alloc(struct philox_device *device,
				       size_t size, void **host, void **mapped)
{
	NEED_POINTER(device);
	NEED_SIZE(size);
	NEED_POINTER(host);
	NEED_POINTER(mapped);
	CALL(mapped_alloc, device, size, host, mapped);
}

enum philox_status device_mapped_free(struct philox_device *device, void *host)
{
	NEED_POINTER(device);
	if (!host)
		return PHILOX_OK;
	CALL(mapped_free, device, host);
}

enum philox_status philox_device_memory_info(struct philox_device *device,
					     size_t *free_bytes,
					     size_t *total_bytes)
{
	size_t unused;

	NEED_POINTER(device);
	NEED(free_bytes || total_bytes, "free_bytes",
	     "and total_bytes are NULL");
	CALL(mem_info, device, free_bytes ? free_bytes : &unused,
	     total_bytes ? total_bytes : &unused);
}

enum philox_status device_space_granularity(struct philox_device *device,
					    size_t *bytes)
{
	NEED_POINTER(device);
	NEED_POINTER(bytes);
	CALL(space_granularity, device, bytes);
}

enum philox_status device_space_reserve(struct philox_device *device,
					size_t bytes, void **base)
{
	NEED_POINTER(device);
	NEED_SIZE(bytes);
	NEED_POINTER(base);
	CALL(space_reserve, device, bytes, 0, base);
}

enum philox_status device_space_reserve_with(struct philox_device *device,
					     size_t bytes, unsigned traits,
					     void **base)
{
	NEED_POINTER(device);
	NEED_SIZE(bytes);
	NEED_POINTER(base);
	CALL(space_reserve, device, bytes, traits, base);
}

enum philox_status device_space_map(struct philox_device *device, void *base,
				    size_t offset, size_t bytes)
{
	NEED_POINTER(device);
	NEED_POINTER(base);
	NEED_SIZE(bytes);
	CALL(space_map, device, base, offset, bytes);
}

enum philox_status device_space_unmap(struct philox_device *device, void *base,
				      size_t offset, size_t bytes)
{
	NEED_POINTER(device);
	NEED_POINTER(base);
	NEED_SIZE(bytes);
	CALL(space_unmap, device, base, offset, bytes);
}

enum philox_status device_space_release(struct philox_device *device,
					void *base)
{
	NEED_POINTER(device);
	if (!base)
		return PHILOX_OK;
	CALL(space_release, device, base);
}

enum philox_status philox_memory_copy(struct philox_device *device,
				      philox_stream stream, void *destination,
				      const void *source, size_t size)
{
	NEED_POINTER(device);
	NEED_POINTER(destination);
	NEED_POINTER(source);
	NEED_SIZE(size);
	CALL(copy, device, destination, source, size, stream);
}

enum philox_status philox_memory_set(struct philox_device *device,
				     philox_stream stream, void *memory,
				     int value, size_t size)
{
	NEED_POINTER(device);
	NEED_POINTER(memory);
	NEED_SIZE(size);
	CALL(set, device, memory, value, size, stream);
}

/* --- streams and events ------------------------------------------------- */

enum philox_status philox_stream_create(struct philox_device *device,
					unsigned flags, philox_stream *stream)
{
	NEED_POINTER(device);
	NEED_POINTER(stream);
	if (flags & ~(unsigned)PHILOX_STREAM_BLOCKING)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: flags is 0x%x, not 0 or "
				  "PHILOX_STREAM_BLOCKING",
				  __func__, flags);
	CALL(stream_create, device, flags, stream);
}

enum philox_status philox_stream_destroy(struct philox_device *device,
					 philox_stream stream)
{
	NEED_POINTER(device);
	if (!stream)
		return PHILOX_OK;
	CALL(stream_destroy, device, stream);
}

enum philox_status philox_stream_synchronize(struct philox_device *device,
					     philox_stream stream)
{
	NEED_POINTER(device);
	CALL(stream_sync, device, stream);
}

enum philox_status philox_stream_query(struct philox_device *device,
				       philox_stream stream)
{
	NEED_POINTER(device);
	CALL(stream_query, device, stream);
}

enum philox_status philox_event_create(struct philox_device *device,
				       philox_event *event)
{
	NEED_POINTER(device);
	NEED_POINTER(event);
	CALL(event_create, device, event);
}

enum philox_status device_event_create_timed(struct philox_device *device,
					     philox_event *event)
{
	NEED_POINTER(device);
	NEED_POINTER(event);
	CALL(event_create_timed, device, event);
}

enum philox_status philox_event_destroy(struct philox_device *device,
					philox_event event)
{
	NEED_POINTER(device);
	if (!event)
		return PHILOX_OK;
	CALL(event_destroy, device, event);
}

enum philox_status philox_event_record(struct philox_device *device,
				       philox_stream stream, philox_event event)
{
	NEED_POINTER(device);
	NEED_POINTER(event);
	CALL(event_record, device, event, stream);
}

enum philox_status philox_event_wait(struct philox_device *device,
				     philox_stream stream, philox_event event)
{
	NEED_POINTER(device);
	NEED_POINTER(event);
	CALL(event_wait, device, stream, event);
}

enum philox_status philox_event_synchronize(struct philox_device *device,
					    philox_event event)
{
	NEED_POINTER(device);
	NEED_POINTER(event);
	CALL(event_sync, device, event);
}

enum philox_status philox_event_query(struct philox_device *device,
				      philox_event event)
{
	NEED_POINTER(device);
	NEED_POINTER(event);
	CALL(event_query, device, event);
}

enum philox_status device_event_elapsed(struct philox_device *device,
					philox_event begin, philox_event end,
					uint64_t *nanoseconds)
{
	NEED_POINTER(device);
	NEED_POINTER(begin);
	NEED_POINTER(end);
	NEED_POINTER(nanoseconds);
	CALL(event_elapsed, device, begin, end, nanoseconds);
}

/* --- capture ------------------------------------------------------------ */

static int is_capture_mode(enum philox_capture_mode mode)
{
	return mode == PHILOX_CAPTURE_GLOBAL ||
	       mode == PHILOX_CAPTURE_THREAD_LOCAL ||
	       mode == PHILOX_CAPTURE_RELAXED;
}

enum philox_status philox_stream_begin_capture(struct philox_device *device,
					       philox_stream stream,
					       enum philox_capture_mode mode)
{
	NEED_POINTER(device);
	if (!is_capture_mode(mode))
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: there is no mode %d", __func__,
				  (int)mode);
	CALL(capture_begin, device, stream, mode);
}

enum philox_status device_capture_begin_to(struct philox_device *device,
					   philox_stream stream,
					   philox_native_graph graph,
					   enum philox_capture_mode mode)
{
	NEED_POINTER(device);
	NEED_POINTER(graph);
	if (!is_capture_mode(mode))
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: there is no mode %d", __func__,
				  (int)mode);
	CALL(capture_begin_to, device, stream, graph, mode);
}

enum philox_status philox_stream_end_capture(struct philox_device *device,
					     philox_stream stream,
					     philox_native_graph *graph)
{
	NEED_POINTER(device);
	NEED_POINTER(graph);
	CALL(capture_end, device, stream, graph);
}

enum philox_status device_capture_info(struct philox_device *device,
				       philox_stream stream,
				       struct capture_info *info)
{
	NEED_POINTER(device);
	NEED_POINTER(info);
	CALL(capture_info, device, stream, info);
}

enum philox_status philox_stream_capture_info(
	struct philox_device *device, philox_stream stream,
	enum philox_capture_status *status, uint64_t *id)
{
	struct capture_info info;
	enum philox_status result = device_capture_info(device, stream, &info);

	if (result != PHILOX_OK)
		return result;
	if (status)
		*status = info.status;
	if (id)
		*id = info.id;
	return PHILOX_OK;
}

enum philox_status device_capture_tips(struct philox_device *device,
				       philox_stream stream, device_node *nodes,
				       size_t *n)
{
	NEED_POINTER(device);
	NEED_POINTER(n);
	CALL(capture_tips, device, stream, nodes, n);
}

enum philox_status device_capture_after(struct philox_device *device,
					philox_stream stream, device_node node)
{
	NEED_POINTER(device);
	NEED_POINTER(node);
	CALL(capture_after, device, stream, node);
}

enum philox_status device_capture_depend(struct philox_device *device,
					 philox_stream stream, device_node node)
{
	NEED_POINTER(device);
	NEED_POINTER(node);
	CALL(capture_depend, device, stream, node);
}

enum philox_status philox_capture_exchange_mode(struct philox_device *device,
						enum philox_capture_mode *mode)
{
	NEED_POINTER(device);
	NEED_POINTER(mode);
	if (!is_capture_mode(*mode))
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: there is no mode %d", __func__,
				  (int)*mode);
	CALL(capture_mode, device, mode);
}

/* --- graphs ------------------------------------------------------------- */

enum philox_status device_node_deps(struct philox_device *device,
				    device_node node, device_node *nodes,
				    size_t *n)
{
	NEED_POINTER(device);
	NEED_POINTER(node);
	NEED_POINTER(n);
	CALL(node_deps, device, node, nodes, n);
}

enum philox_status device_stream_priority(struct philox_device *device,
					  philox_stream stream, int *priority)
{
	NEED_POINTER(device);
	NEED_POINTER(priority);
	CALL(stream_priority, device, stream, priority);
}

enum philox_status device_node_priority(struct philox_device *device,
					device_node node, int priority)
{
	NEED_POINTER(device);
	NEED_POINTER(node);
	CALL(node_priority, device, node, priority);
}

enum philox_status device_graph_add_kernel(struct philox_device *device,
					   philox_native_graph graph,
					   const device_node *deps, size_t n,
					   const struct kernel_call *call,
					   device_node *node)
{
	NEED_POINTER(device);
	NEED_POINTER(graph);
	NEED_KERNEL(call);
	NEED_POINTER(node);
	CALL(graph_add_kernel, device, graph, deps, n, call, node);
}

enum philox_status device_graph_set_kernel(struct philox_device *device,
					   device_node node,
					   const struct kernel_call *call)
{
	NEED_POINTER(device);
	NEED_POINTER(node);
	NEED_KERNEL(call);
	CALL(graph_set_kernel, device, node, call);
}

enum philox_status device_condition_create(struct philox_device *device,
					   philox_native_graph graph,
					   uint32_t value, int assigned,
					   device_condition *condition)
{
	NEED_POINTER(device);
	NEED_POINTER(graph);
	NEED_POINTER(condition);
	CALL(condition_create, device, graph, value, assigned, condition);
}

/* The most bodies of a node; 0: there is no such kind. */
static uint32_t most_bodies(enum conditional_kind kind)
{
	switch (kind) {
	case CONDITIONAL_IF:
		return 2;
	case CONDITIONAL_WHILE:
		return 1;
	case CONDITIONAL_SWITCH:
		return UINT32_MAX;
	}
	return 0;
}

enum philox_status device_graph_add_conditional(
	struct philox_device *device, philox_native_graph graph,
	const device_node *deps, size_t n, const struct conditional *what,
	device_node *node, philox_native_graph *bodies)
{
	NEED_POINTER(device);
	NEED_POINTER(graph);
	NEED_POINTER(what);
	NEED(most_bodies(what->kind), "kind", "names no conditional node");
	NEED_SIZE(what->bodies);
	NEED(what->bodies <= most_bodies(what->kind), "bodies",
	     "is more than such a node has");
	NEED_POINTER(node);
	NEED_POINTER(bodies);
	CALL(graph_add_conditional, device, graph, deps, n, what, node, bodies);
}

enum philox_status device_graph_retain(struct philox_device *device,
				       philox_native_graph graph,
				       void (*release)(void *), void *object)
{
	NEED_POINTER(device);
	NEED_POINTER(graph);
	NEED_POINTER(release);
	CALL(graph_retain, device, graph, release, object);
}

enum philox_status philox_native_graph_node_count(struct philox_device *device,
						  philox_native_graph graph,
						  size_t *nodes)
{
	NEED_POINTER(device);
	NEED_POINTER(graph);
	NEED_POINTER(nodes);
	CALL(graph_nodes, device, graph, nodes);
}

enum philox_status philox_native_graph_destroy(struct philox_device *device,
					       philox_native_graph graph)
{
	NEED_POINTER(device);
	if (!graph)
		return PHILOX_OK;
	CALL(graph_destroy, device, graph);
}

enum philox_status philox_native_graph_instantiate(struct philox_device *device,
						   philox_native_graph graph,
						   philox_native_exec *exec)
{
	NEED_POINTER(device);
	NEED_POINTER(graph);
	NEED_POINTER(exec);
	CALL(exec_create, device, graph, 0, exec);
}

enum philox_status device_exec_create(struct philox_device *device,
				      philox_native_graph graph, unsigned flags,
				      philox_native_exec *exec)
{
	NEED_POINTER(device);
	NEED_POINTER(graph);
	NEED_POINTER(exec);
	CALL(exec_create, device, graph, flags, exec);
}

enum philox_status device_exec_set_kernel(struct philox_device *device,
					  philox_native_exec exec,
					  device_node node,
					  const struct kernel_call *call)
{
	NEED_POINTER(device);
	NEED_POINTER(exec);
	NEED_POINTER(node);
	NEED_KERNEL(call);
	CALL(exec_set_kernel, device, exec, node, call);
}

enum philox_status device_conditional_check(struct philox_device *device,
					    const struct conditional *what)
{
	NEED_POINTER(device);
	NEED_POINTER(what);
	return device->ops->conditional_check
		       ? device->ops->conditional_check(device, what)
		       : PHILOX_OK;
}

enum philox_status device_exec_check(struct philox_device *device,
				     philox_native_exec exec)
{
	NEED_POINTER(device);
	NEED_POINTER(exec);
	return device->ops->exec_check ? device->ops->exec_check(device, exec)
				       : PHILOX_OK;
}

enum philox_status device_graph_list(
	struct philox_device *device, philox_native_graph graph,
	void (*each)(void *user, enum device_node_kind kind, const char *name),
	void *user)
{
	NEED_POINTER(device);
	NEED_POINTER(graph);
	if (!device->ops->graph_list)
		return status_set(PHILOX_ERROR_UNSUPPORTED,
				  "the device does not tell what nodes are");
	return device->ops->graph_list(device, graph, each, user);
}

enum philox_status philox_native_exec_launch(struct philox_device *device,
					     philox_stream stream,
					     philox_native_exec exec)
{
	NEED_POINTER(device);
	NEED_POINTER(exec);
	CALL(exec_launch, device, exec, stream);
}

enum philox_status philox_native_exec_destroy(struct philox_device *device,
					      philox_native_exec exec)
{
	NEED_POINTER(device);
	if (!exec)
		return PHILOX_OK;
	CALL(exec_destroy, device, exec);
}

/* --- launches ----------------------------------------------------------- */

enum philox_status device_launch(struct philox_device *device,
				 philox_stream stream,
				 const struct kernel_call *call)
{
	NEED_POINTER(device);
	NEED_KERNEL(call);
	CALL(launch, device, stream, call);
}

enum philox_status philox_stream_launch_host(struct philox_device *device,
					     philox_stream stream,
					     void (*fn)(const void *args),
					     const void *args, size_t size)
{
	NEED_POINTER(device);
	NEED_POINTER(fn);
	NEED_POINTER(args);
	NEED_SIZE(size);
	CALL(launch_host, device, stream, fn, args, size);
}
