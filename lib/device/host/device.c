/*
 * lib/device/host/device.c - the host device: opening, work, the table
 *
 * The whole contract of lib/device/contract.h on the CPU; its parts are listed
 * in lib/device/host/host.h. "host" runs work asynchronously, each stream on a
 * thread of its own; "host:sync" runs it in the caller before the call returns;
 * "host:strict" is "host" with more checks (device_is_strict()).
 * Closing waits for queued work and frees everything that is still open.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/device/host/host.h"
#include "lib/base/base.h"

/* --- work ----------------------------------------------------------------- */

/* Submits or records work, unless it could not be made; takes it over. */
static enum philox_status put(struct philox_device *base, philox_stream handle,
			      enum philox_status made, struct host_work *work,
			      const char *what)
{
	struct host_device *device = host_of(base);
	struct host_stream *stream;
	enum philox_status status;

	if (made != PHILOX_OK)
		return made;
	host_lock(device);
	status = host_stream_find(device, handle, what, &stream);
	if (status == PHILOX_OK)
		status = host_check_caller(what);
	if (status == PHILOX_OK)
		status = host_arrays_take(device, work);
	if (status == PHILOX_OK)
		status = host_marks_check(device, work);
	if (status == PHILOX_OK && !stream->capture)
		status = host_condition_check(device, work, NULL);
	if (status == PHILOX_OK)
		status = stream->capture
				 ? host_record(device, stream, work, what)
				 : host_submit(stream, work, NULL, NULL);
	if (status != PHILOX_OK)
		host_work_drop(device, work);
	return host_leave(device, status);
}

enum philox_status host_copy(struct philox_device *base, void *destination,
			     const void *source, size_t size,
			     philox_stream stream)
{
	struct host_work work;

	return put(base, stream,
		   host_work_copy(&work, destination, source, size), &work,
		   "philox_memory_copy");
}

enum philox_status host_set(struct philox_device *base, void *memory, int value,
			    size_t size, philox_stream stream)
{
	struct host_work work;

	return put(base, stream, host_work_set(&work, memory, value, size),
		   &work, "philox_memory_set");
}

enum philox_status host_launch(struct philox_device *base, philox_stream stream,
			       const struct kernel_call *call)
{
	struct host_work work;

	return put(base, stream, host_work_kernel(host_of(base), &work, call),
		   &work, "launch of a kernel");
}

enum philox_status host_launch_host(struct philox_device *base,
				    philox_stream stream,
				    void (*fn)(const void *), const void *args,
				    size_t size)
{
	struct host_work work;

	return put(base, stream, host_work_call(&work, fn, args, size), &work,
		   "philox_stream_launch_host");
}

/* --- opening and closing -------------------------------------------------- */

static void close_objects(struct host_device *device)
{
	struct host_object *object;

	while ((object = host_first_object(device, HOST_EXEC)))
		host_exec_free(device, (struct host_exec *)object);
	while ((object = host_first_object(device, HOST_GRAPH)))
		host_graph_free(device,
				host_root_of((struct host_graph *)object));
	while ((object = host_first_object(device, HOST_EVENT)))
		host_event_free(device, (struct host_event *)object);
	while ((object = host_first_object(device, HOST_STREAM))) {
		host_forget(device, object);
		host_stream_free(device, (struct host_stream *)object);
		free(object);
	}
	host_memory_close(device);
	host_spaces_close(device);
	host_marks_close(device);
}

static void free_device(struct host_device *device)
{
	map_finish(&device->captures_by_id);
	free(device->registry.buckets);
	pthread_cond_destroy(&device->ran);
	pthread_mutex_destroy(&device->turn);
	pthread_mutex_destroy(&device->lock);
	free(device);
}

static enum philox_status host_close(struct philox_device *base)
{
	struct host_device *device = host_enter(base);
	enum philox_status status = host_unsafe(device, "philox_device_close");

	if (status == PHILOX_OK)
		status = host_check_caller("philox_device_close");
	if (status != PHILOX_OK) {
		host_unlock(device);
		return status;
	}
	host_wait_idle(device);
	while (device->captures) {
		host_invalidate(device, device->captures, "closing the device");
		host_capture_over(device, device->captures);
	}
	close_objects(device);
	host_stream_free(device, &device->legacy);
	host_unlock(device);
	free_device(device);
	return PHILOX_OK;
}

static const struct device_ops host_ops = {
#define HOST_OP(name, arguments) .name = host_##name,
	DEVICE_OP_LIST(HOST_OP)
#undef HOST_OP
		.close = host_close,
	.exec_check = host_exec_check,
	.mem_mark = host_mem_mark,
	.is_memory = host_is_memory,
	.graph_list = host_graph_list,
};

static enum philox_status host_count(unsigned *count)
{
	*count = 1;
	return PHILOX_OK;
}

static enum philox_status host_open(unsigned index, const char *option,
				    const void *kernels,
				    struct philox_device **result)
{
	int synchronous = !strcmp(option, "sync");
	int strict = !strcmp(option, "strict");
	struct host_device *device;
	enum philox_status status;
	enum simd simd;

	(void)index; /* there is one device */
	if (*option && !synchronous && !strict)
		return status_set(
			PHILOX_ERROR_INVALID,
			"unknown device \"host:%s\": there are " DEVICE_NAMES,
			option);
	status = simd_choose(&simd);
	if (status != PHILOX_OK)
		return status;
	device = calloc(1, sizeof(*device));
	if (!device)
		return host_no_memory("a device");
	if (!host_registry_open(&device->registry)) {
		free(device);
		return host_no_memory("a device");
	}
	device_base_init(&device->base, &host_ops, 1);
	snprintf(device->base.description, sizeof(device->base.description),
		 "the CPU, %ld cores, %s fills, %s%s",
		 sysconf(_SC_NPROCESSORS_ONLN), simd_name(simd),
		 synchronous ? "work runs in the calling thread"
			     : "a thread for each stream",
		 strict ? ", more checks" : "");
	device->kernels = kernels;
	device->synchronous = synchronous;
	device->spaces.granularity = HOST_GRANULARITY;
	device->base.is_strict = strict;
	pthread_mutex_init(&device->lock, NULL);
	pthread_mutex_init(&device->turn, NULL);
	pthread_cond_init(&device->ran, NULL);
	host_stream_init(device, &device->legacy, 0);
	*result = &device->base;
	return PHILOX_OK;
}

const struct device_opener device_host = {.count = host_count,
					  .open = host_open};
