/*
 * lib/device/host/memory.c - allocations, and how much memory there is
 *
 * Allocations are the C library's. A test may set a limit, which they share
 * with what is mapped in spaces (philox_device_limit_memory()); memory of
 * mapped_alloc would be the host's beside a GPU, and does not count. Guarded by
 * the device's lock.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/device/host/host.h"

#define MEMORY_ALIGNMENT 256

/* Of large allocations, as a GPU's: what pools build on has the same layout */
#define LARGE_SIZE      ((size_t)1 << 20)
#define LARGE_ALIGNMENT ((size_t)64 << 10)

/* --- how much there is ---------------------------------------------------- */

/* What an allocation of `size` bytes takes, or 0 if there cannot be one. */
static size_t rounded(size_t size)
{
	if (size > PTRDIFF_MAX - MEMORY_ALIGNMENT)
		return 0;
	return (size + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT *
	       MEMORY_ALIGNMENT;
}

enum philox_status host_within_limit(const struct host_device *device,
				     size_t bytes, const char *what)
{
	size_t limit = atomic_load(&device->base.memory_limit);

	if (!limit || (device->used <= limit && bytes <= limit - device->used))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "%s: no memory for %zu bytes: of the %zu that device "
			  "%s may use %zu are in use",
			  what, bytes, limit, device->base.name, device->used);
}

static size_t pages(int which)
{
	long count = sysconf(which), size = sysconf(_SC_PAGESIZE);

	return count > 0 && size > 0 ? (size_t)count * (size_t)size : 0;
}

enum philox_status host_mem_info(struct philox_device *base, size_t *free_bytes,
				 size_t *total_bytes)
{
	struct host_device *device = host_enter(base);
	size_t limit = atomic_load(&base->memory_limit);
	size_t used;

	used = device->used;
	host_unlock(device);
	if (limit) {
		*total_bytes = limit;
		*free_bytes = used < limit ? limit - used : 0;
	} else {
		*total_bytes = pages(_SC_PHYS_PAGES);
		*free_bytes = pages(_SC_AVPHYS_PAGES);
	}
	return PHILOX_OK;
}

/* --- allocations ---------------------------------------------------------- */

static struct host_block *block_create(size_t size)
{
	struct host_block *block;
	void *memory;

	if (!rounded(size))
		return NULL;
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	if (posix_memalign(&memory,
			   size < LARGE_SIZE ? MEMORY_ALIGNMENT
					     : LARGE_ALIGNMENT,
			   rounded(size)) != 0) {
		free(block);
		return NULL;
	}
	block->memory = memory;
	block->size = size;
	return block;
}

/* What the limit counts of it. */
static size_t counted(enum host_kind kind, size_t size)
{
	return kind == HOST_MEMORY ? rounded(size) : 0;
}

static void block_free(struct host_device *device, struct host_block *block)
{
	device->used -= counted(block->object.kind, block->size);
	host_forget(device, &block->object);
	host_block_remove(device, block);
	free(block->memory);
	free(block);
}

static enum philox_status block_add(struct host_device *device,
				    enum host_kind kind, size_t size,
				    const char *what, void **memory)
{
	struct host_block *block = block_create(size);

	if (block && !host_block_add(device, block)) {
		free(block->memory);
		free(block);
		block = NULL;
	}
	if (!block)
		return status_set(PHILOX_ERROR_MEMORY,
				  "%s: no memory for %zu bytes", what, size);
	host_register(device, &block->object, kind, block->memory);
	device->used += counted(kind, size);
	*memory = block->memory;
	return PHILOX_OK;
}

static enum philox_status block_allocate(struct host_device *device,
					 enum host_kind kind, size_t size,
					 const char *what, void **memory)
{
	enum philox_status status;

	host_lock(device);
	status = host_unsafe(device, what);
	if (status == PHILOX_OK)
		status = host_within_limit(device, counted(kind, size), what);
	if (status == PHILOX_OK)
		status = block_add(device, kind, size, what, memory);
	return host_leave(device, status);
}

static enum philox_status block_release(struct host_device *device,
					enum host_kind kind, void *memory,
					const char *what)
{
	struct host_object *object;
	enum philox_status status;

	host_lock(device);
	status = host_check_caller(what);
	if (status == PHILOX_OK)
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
	return host_leave(device, status);
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

void host_memory_close(struct host_device *device)
{
	struct host_object *object;

	while ((object = host_first_object(device, HOST_MEMORY)) ||
	       (object = host_first_object(device, HOST_MAPPED)))
		block_free(device, (struct host_block *)object);
}
