/*
 * lib/device/host/arrays.c - whether arrays lie in memory
 *
 * Allocations are kept in a tree by address (tsearch() of the C library, which
 * is balanced). An array is found by its first byte; programs use the same ones
 * over and over, so the last finds are kept. A graph outlives allocations, and
 * addresses are used again, so an array of a node remembers the serial of the
 * allocation it began in. In a space an array may lie in several extents; the
 * newest serial of them is no longer the same when one of them is another.
 * Guarded by the device's lock.
 */
#include <search.h>
#include <string.h>
#include "lib/device/host/host.h"

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
	const uintptr_t at = (uintptr_t)block->memory;

	host_marks_drop(device, (struct range){at, at + block->size});
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

/* Memory of mapped_alloc is the host's. */
int host_is_memory(struct philox_device *base, const void *address)
{
	struct host_device *device = host_enter(base);
	const struct host_block *block = host_block_at(device, address);
	int is_memory = block && (block->space ||
				  block->object.kind == HOST_MEMORY);

	host_unlock(device);
	return is_memory;
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
