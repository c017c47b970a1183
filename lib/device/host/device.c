/*
 * lib/device/host/device.c - the host device: opening, memory, the table
 *
 * The whole contract of lib/device/contract.h on the CPU; its parts are listed
 * in lib/device/host/host.h. "host" runs work asynchronously, each stream on a
 * thread of its own; "host:sync" runs it in the caller before the call returns;
 * "host:strict" is "host" with more checks (device_is_strict()).
 * Closing waits for queued work and frees everything that is still open.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/device/host/host.h"
#include "lib/base/cpu.h"

#define MEMORY_ALIGNMENT 256

enum philox_status host_no_memory(const char *what)
{
	return status_set(PHILOX_ERROR_MEMORY, "no memory for %s", what);
}

void host_lock(struct host_device *device)
{
	pthread_mutex_lock(&device->lock);
}

void host_unlock(struct host_device *device)
{
	struct host_release *due = device->due, *next;

	device->due = NULL;
	pthread_mutex_unlock(&device->lock);
	for (; due; due = next) {
		next = due->next;
		due->release(due->object);
		free(due);
	}
}

/* --- memory ------------------------------------------------------------- */

static struct host_block *block_create(size_t size)
{
	struct host_block *block;

	if (size > PTRDIFF_MAX - MEMORY_ALIGNMENT)
		return NULL;
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	block->memory = aligned_alloc(
		MEMORY_ALIGNMENT, (size + MEMORY_ALIGNMENT - 1) /
					  MEMORY_ALIGNMENT * MEMORY_ALIGNMENT);
	if (!block->memory) {
		free(block);
		return NULL;
	}
	block->size = size;
	return block;
}

static void block_free(struct host_device *device, struct host_block *block)
{
	host_forget(device, &block->object);
	host_block_remove(device, block);
	free(block->memory);
	free(block);
}

static enum philox_status block_allocate(struct host_device *device,
					 enum host_kind kind, size_t size,
					 const char *what, void **memory)
{
	struct host_block *block;
	enum philox_status status;

	host_lock(device);
	status = host_unsafe(device, what);
	if (status != PHILOX_OK)
		goto unlock;
	block = block_create(size);
	if (block && !host_block_add(device, block)) {
		free(block->memory);
		free(block);
		block = NULL;
	}
	if (!block) {
		status = status_set(PHILOX_ERROR_MEMORY,
				    "%s: no memory for %zu bytes", what, size);
		goto unlock;
	}
	host_register(device, &block->object, kind, block->memory);
	*memory = block->memory;
unlock:
	host_unlock(device);
	return status;
}

static enum philox_status block_release(struct host_device *device,
					enum host_kind kind, void *memory,
					const char *what)
{
	struct host_object *object;
	enum philox_status status;

	host_lock(device);
	status = host_unsafe(device, what);
	if (status != PHILOX_OK)
		goto unlock;
	host_wait_idle(device);
	object = host_find(device, kind, memory);
	if (object)
		block_free(device, (struct host_block *)object);
	else
		status = status_set(PHILOX_ERROR_INVALID,
				    "%s: %p is not memory of device %s", what,
				    memory, device->base.name);
unlock:
	host_unlock(device);
	return status;
}

enum philox_status host_mem_alloc(struct philox_device *base, size_t size,
				  void **memory)
{
	return block_allocate(host_of(base), HOST_MEMORY, size,
			      "philox_memory_alloc", memory);
}

enum philox_status host_mem_free(struct philox_device *base, void *memory)
{
	return block_release(host_of(base), HOST_MEMORY, memory,
			     "philox_memory_free");
}

enum philox_status host_mapped_alloc(struct philox_device *base, size_t size,
				     void **host, void **mapped)
{
	enum philox_status status;
	void *memory;

	status = block_allocate(host_of(base), HOST_MAPPED, size,
				"mapped_alloc", &memory);
	if (status != PHILOX_OK)
		return status;
	memset(memory, 0, size);
	*host = memory;
	*mapped = memory;
	return PHILOX_OK;
}

enum philox_status host_mapped_free(struct philox_device *base, void *host)
{
	return block_release(host_of(base), HOST_MAPPED, host, "mapped_free");
}

/* --- work ----------------------------------------------------------------- */

enum philox_status host_copy(struct philox_device *base, void *destination,
			     const void *source, size_t size,
			     philox_stream stream)
{
	struct host_work work;
	enum philox_status status =
		host_work_copy(&work, destination, source, size);

	if (status != PHILOX_OK)
		return status;
	return host_put(host_of(base), stream, &work, "philox_memory_copy");
}

enum philox_status host_set(struct philox_device *base, void *memory, int value,
			    size_t size, philox_stream stream)
{
	struct host_work work;
	enum philox_status status = host_work_set(&work, memory, value, size);

	if (status != PHILOX_OK)
		return status;
	return host_put(host_of(base), stream, &work, "philox_memory_set");
}

enum philox_status host_launch(struct philox_device *base, philox_stream stream,
			       const struct kernel_call *call)
{
	struct host_work work;
	enum philox_status status = host_work_kernel(&work, call);

	if (status != PHILOX_OK)
		return status;
	return host_put(host_of(base), stream, &work, "launch of a kernel");
}

enum philox_status host_launch_host(struct philox_device *base,
				    philox_stream stream,
				    void (*fn)(const void *), const void *args,
				    size_t size)
{
	struct host_work work;
	enum philox_status status =
		host_work_call(&work, HOST_CALL, fn, args, size);

	if (status != PHILOX_OK)
		return status;
	return host_put(host_of(base), stream, &work, "philox_launch_host");
}

/* --- opening and closing -------------------------------------------------- */

static void close_objects(struct host_device *device)
{
	struct host_object *object;

	while ((object = host_first_object(device, HOST_EXEC)))
		host_exec_free(device, (struct host_exec *)object);
	while ((object = host_first_object(device, HOST_GRAPH)))
		host_graph_free(device, (struct host_graph *)object);
	while ((object = host_first_object(device, HOST_EVENT)))
		host_event_free(device, (struct host_event *)object);
	while ((object = host_first_object(device, HOST_STREAM))) {
		host_forget(device, object);
		host_stream_free(device, (struct host_stream *)object);
		free(object);
	}
	while ((object = host_first_object(device, HOST_MEMORY)) ||
	       (object = host_first_object(device, HOST_MAPPED)))
		block_free(device, (struct host_block *)object);
}

static void free_device(struct host_device *device)
{
	free(device->registry.buckets);
	pthread_cond_destroy(&device->ran);
	pthread_mutex_destroy(&device->turn);
	pthread_mutex_destroy(&device->lock);
	free(device);
}

static enum philox_status host_close(struct philox_device *base)
{
	struct host_device *device = host_of(base);
	enum philox_status status;

	host_lock(device);
	status = host_unsafe(device, "philox_device_close");
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
};

static enum philox_status host_count(unsigned *count)
{
	*count = 1;
	return PHILOX_OK;
}

static enum philox_status host_open(unsigned index, const char *option,
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
	device->synchronous = synchronous;
	device->base.is_strict = strict;
	pthread_mutex_init(&device->lock, NULL);
	pthread_mutex_init(&device->turn, NULL);
	pthread_cond_init(&device->ran, NULL);
	host_stream_init(device, &device->legacy, 0);
	*result = &device->base;
	return PHILOX_OK;
}

const struct device_family device_family_host = {
	.name = "host", .count = host_count, .open = host_open};
