/*
 * lib/device/host/space.c - spaces: addresses, and memory mapped there
 *
 * Reserved addresses cannot be read or written, so that a stray access faults.
 * Mapping gives access, and the system memory as it is touched; unmapping puts
 * fresh addresses without access in its place, which gives the memory back.
 * Nothing here waits for queued work, as a GPU's driver need not. Guarded by
 * the device's lock.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include "lib/device/host/host.h"

#define NO_ACCESS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

enum philox_status host_space_granularity(struct philox_device *base,
					  size_t *bytes)
{
	*bytes = host_of(base)->spaces.granularity;
	return PHILOX_OK;
}

/* --- reserving ------------------------------------------------------------ */

/* Addresses aligned to `unit`, or NULL. */
static void *reserve(size_t bytes, size_t unit)
{
	size_t more = bytes + unit, before;
	char *start;

	if (bytes > PTRDIFF_MAX - unit)
		return NULL;
	start = mmap(NULL, more, PROT_NONE, NO_ACCESS, -1, 0);
	if (start == MAP_FAILED)
		return NULL;
	before = (unit - (uintptr_t)start % unit) % unit;
	if (before)
		munmap(start, before);
	munmap(start + before + bytes, unit - before);
	return start + before;
}

static enum philox_status reserve_space(struct host_device *device,
					size_t bytes, void **base)
{
	enum philox_status status = spaces_may_reserve(&device->spaces, bytes);
	void *start;

	if (status != PHILOX_OK)
		return status;
	start = reserve(bytes, device->spaces.granularity);
	if (start && spaces_add(&device->spaces, start, bytes)) {
		*base = start;
		return PHILOX_OK;
	}
	if (start)
		munmap(start, bytes);
	return status_set(PHILOX_ERROR_MEMORY,
			  "space_reserve: no addresses for %zu bytes", bytes);
}

/* Memory of the process that all devices of this host may reach as it is. */
static enum philox_status check_traits(unsigned traits)
{
	if (!(traits & (SPACE_EXPORT | SPACE_FABRIC)))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "space_reserve: memory of a host device has no "
			  "handles for export");
}

enum philox_status host_space_reserve(struct philox_device *base, size_t bytes,
				      unsigned traits, void **space)
{
	struct host_device *device = host_enter(base);
	enum philox_status status = host_unsafe(device, "space_reserve");

	if (status == PHILOX_OK)
		status = check_traits(traits);
	if (status == PHILOX_OK)
		status = reserve_space(device, bytes, space);
	return host_leave(device, status);
}

/* --- mapping -------------------------------------------------------------- */

static int put_access(void *memory, size_t bytes)
{
	return !mprotect(memory, bytes, PROT_READ | PROT_WRITE);
}

static int take_access(void *memory, size_t bytes)
{
	return mmap(memory, bytes, PROT_NONE, NO_ACCESS | MAP_FIXED, -1, 0) !=
	       MAP_FAILED;
}

/* Makes the memory of an extent one that arrays may lie in. */
static enum philox_status map_extent(struct host_device *device,
				     struct space *space, size_t offset,
				     size_t bytes)
{
	struct host_block *block = calloc(1, sizeof(*block));

	if (!block)
		goto no_memory;
	block->memory = space->base + offset;
	block->size = bytes;
	block->space = space;
	if (!put_access(block->memory, bytes))
		goto free_block;
	if (!host_block_add(device, block))
		goto undo_access;
	space_add_extent(space, offset, bytes);
	device->used += bytes;
	return PHILOX_OK;

undo_access:
	take_access(block->memory, bytes);
free_block:
	free(block);
no_memory:
	return status_set(PHILOX_ERROR_MEMORY,
			  "space_map: no memory for %zu bytes", bytes);
}

enum philox_status host_space_map(struct philox_device *base, void *start,
				  size_t offset, size_t bytes)
{
	struct host_device *device = host_enter(base);
	struct space *space;
	enum philox_status status = host_unsafe(device, "space_map");

	if (status == PHILOX_OK)
		status = spaces_may_map(&device->spaces, start, offset, bytes,
					&space);
	if (status == PHILOX_OK)
		status = host_within_limit(device, bytes, "space_map");
	if (status == PHILOX_OK)
		status = map_extent(device, space, offset, bytes);
	return host_leave(device, status);
}

static void forget_extent(struct host_device *device, void *memory)
{
	struct host_block *block = host_block_at(device, memory);

	device->used -= block->size;
	host_block_remove(device, block);
	free(block);
}

static enum philox_status unmap_extent(struct host_device *device,
				       struct space *space, size_t offset,
				       size_t bytes)
{
	if (!take_access(space->base + offset, bytes))
		return status_set(PHILOX_ERROR_MEMORY,
				  "space_unmap: the system has no memory to "
				  "unmap %zu bytes",
				  bytes);
	forget_extent(device, space->base + offset);
	space_remove_extent(space, offset);
	return PHILOX_OK;
}

enum philox_status host_space_unmap(struct philox_device *base, void *start,
				    size_t offset, size_t bytes)
{
	struct host_device *device = host_enter(base);
	struct space *space;
	enum philox_status status = host_unsafe(device, "space_unmap");

	if (status == PHILOX_OK)
		status = spaces_may_unmap(&device->spaces, start, offset, bytes,
					  &space);
	if (status == PHILOX_OK)
		status = unmap_extent(device, space, offset, bytes);
	return host_leave(device, status);
}

/* --- releasing ------------------------------------------------------------ */

static void release_space(struct host_device *device, struct space *space)
{
	munmap(space->base, space->size);
	spaces_remove(&device->spaces, space);
}

enum philox_status host_space_release(struct philox_device *base, void *start)
{
	struct host_device *device = host_enter(base);
	struct space *space;
	enum philox_status status = host_unsafe(device, "space_release");

	if (status == PHILOX_OK)
		status = spaces_may_release(&device->spaces, start, &space);
	if (status == PHILOX_OK)
		release_space(device, space);
	return host_leave(device, status);
}

void host_spaces_close(struct host_device *device)
{
	struct space *space;

	while ((space = device->spaces.first)) {
		for (size_t i = 0; i < space->count; i++)
			forget_extent(device,
				      space->base + space->extents[i].offset);
		release_space(device, space);
	}
}
