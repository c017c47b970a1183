/*
 * lib/device/host/memory.c - allocations, and how much memory there is
 *
 * Allocations are the C library's. A test may set a limit, which they share
 * with what is mapped in spaces (philox_device_limit_memory()); memory of
 * mapped_alloc would be the host's beside a GPU, and does not count. Guarded by
 * the device's lock.
 */
#include <search.h>
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
	struct host_device *device = host_of(base);
	size_t limit = atomic_load(&base->memory_limit);
	size_t used;

	host_lock(device);
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

void host_memory_close(struct host_device *device)
{
	struct host_object *object;

	while ((object = host_first_object(device, HOST_MEMORY)) ||
	       (object = host_first_object(device, HOST_MAPPED)))
		block_free(device, (struct host_block *)object);
}

/* --- arrays: whether arrays lie in memory --------------------------------- */

/*
 * Allocations are kept in a tree by address (tsearch() of the C library, which
 * is balanced). An array is found by its first byte; programs use the same ones
 * over and over, so the last finds are kept. A graph outlives allocations, and
 * addresses are used again, so an array of a node remembers the serial of the
 * allocation it began in. In a space an array may lie in several extents; the
 * newest serial of them is no longer the same when one of them is another.
 * Guarded by the device's lock.
 */

/* --- allocations ---------------------------------------------------------- */

/* Allocations do not overlap; an address is looked up as one of a byte. */
static int compare_blocks(const void *left, const void *right)
{
	const struct host_block *a = left, *b = right;
	uintptr_t first = (uintptr_t)a->memory, second = (uintptr_t)b->memory;

	if (first < second)
		return second - first < a->size ? 0 : -1;
	return first - second < b->size ? 0 : 1;
}

int host_block_add(struct host_device *device, struct host_block *block)
{
	if (!tsearch(block, &device->blocks, compare_blocks))
		return 0;
	block->serial = ++device->changes;
	return 1;
}

void host_block_remove(struct host_device *device, struct host_block *block)
{
	tdelete(block, &device->blocks, compare_blocks);
	memset(device->recent, 0, sizeof(device->recent));
	device->changes++;
}

struct host_block *host_block_at(struct host_device *device,
				 const void *address)
{
	const struct host_block key = {.memory = (void *)address, .size = 1};
	uint64_t hash = (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15u;
	struct host_recent *recent =
		&device->recent[(hash >> 32) % HOST_RECENT];
	void *found;

	if (recent->address == address)
		return recent->block;
	found = tfind(&key, &device->blocks, compare_blocks);
	if (!found)
		return NULL;
	*recent = (struct host_recent){address, *(struct host_block **)found};
	return recent->block;
}

/* --- refusals ------------------------------------------------------------- */

static const char *done_to(const struct host_array *array)
{
	return array->of.written ? "written" : "read";
}

static enum philox_status refuse_unknown(const struct host_device *device,
					 const struct host_array *array)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "%s: %zu bytes are %s at %p, which is not memory of "
			  "device %s",
			  array->of.name, array->of.size, done_to(array),
			  (void *)(uintptr_t)array->of.at, device->base.name);
}

/* `more` is about the allocation. */
static enum philox_status refuse(const struct host_array *array,
				 const char *more)
{
	return status_set(
		PHILOX_ERROR_INVALID,
		"%s: %zu bytes are %s from byte %zu on of %s of %zu "
		"bytes at %p%s",
		array->of.name, array->of.size, done_to(array), array->offset,
		array->in_space ? "a mapping" : "an allocation", array->block,
		(void *)((uintptr_t)array->of.at - array->offset), more);
}

/* --- checks --------------------------------------------------------------- */

/* Whether it lies in the allocation that it begins in. */
static enum philox_status check_inside(const struct host_array *array)
{
	if (array->of.size <= array->block - array->offset)
		return PHILOX_OK;
	return refuse(array, "");
}

/* The extent that begins where those of the array so far end, or NULL. */
static const struct host_block *next_extent(struct host_device *device,
					    const struct host_array *array,
					    const struct host_block *first)
{
	const struct host_block *next;

	if (!first->space || array->of.size <= array->block - array->offset)
		return NULL;
	next = host_block_at(device, (char *)first->memory + array->block);
	return next && next->space == first->space ? next : NULL;
}

static void note_block(struct host_device *device, struct host_array *array,
		       const struct host_block *block)
{
	const struct host_block *next;

	array->serial = block->serial;
	array->offset = (uintptr_t)array->of.at - (uintptr_t)block->memory;
	array->block = block->size;
	array->in_space = block->space != NULL;
	while ((next = next_extent(device, array, block))) {
		array->block += next->size;
		if (next->serial > array->serial)
			array->serial = next->serial;
	}
}

/* Copies may be from or to any memory. */
static enum philox_status take_array(struct host_device *device,
				     enum host_work_kind kind,
				     struct host_array *array)
{
	const struct host_block *block = host_block_at(device, array->of.at);

	if (block) {
		note_block(device, array, block);
		return check_inside(array);
	}
	if (kind != HOST_COPY && device_is_strict(&device->base))
		return refuse_unknown(device, array);
	return PHILOX_OK;
}

/* Memory that was the caller's may have become an allocation since. */
static enum philox_status check_array(struct host_device *device,
				      const struct host_array *array)
{
	const struct host_block *block = host_block_at(device, array->of.at);
	struct host_array now = *array;

	if (block)
		note_block(device, &now, block);
	if (array->serial && (!block || now.serial != array->serial))
		return refuse(array, array->in_space
					     ? ", which has been unmapped"
					     : ", which has been freed");
	return block ? check_inside(&now) : PHILOX_OK;
}

enum philox_status host_arrays_take(struct host_device *device,
				    struct host_work *work)
{
	enum philox_status status = PHILOX_OK;

	if (!work->args)
		return PHILOX_OK;
	for (uint32_t i = 0; status == PHILOX_OK && i < work->args->n_arrays;
	     i++)
		status = take_array(device, work->kind, &work->args->arrays[i]);
	return status;
}

enum philox_status host_arrays_check(struct host_device *device,
				     const struct host_work *work)
{
	enum philox_status status = PHILOX_OK;

	if (!work->args)
		return PHILOX_OK;
	for (uint32_t i = 0; status == PHILOX_OK && i < work->args->n_arrays;
	     i++)
		status = check_array(device, &work->args->arrays[i]);
	return status;
}
