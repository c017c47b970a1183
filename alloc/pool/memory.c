/*
 * alloc/pool/memory.c - see alloc/pool/memory.h
 */
#include "alloc/pool/memory.h"
#include "lib/base/status.h"
#include "lib/device/captures.h"

/* From this size on allocations are aligned to POOL_ALIGNMENT_MAX as a rule */
#define ALIGNED_SIZE (1 << 20)

static char *align(void *memory)
{
	uintptr_t rest = (uintptr_t)memory % POOL_ALIGNMENT_MAX;

	return (char *)memory + (rest ? POOL_ALIGNMENT_MAX - rest : 0);
}

/* --- plain ---------------------------------------------------------------- */

static enum philox_status allocate_with_room(struct philox_device *device,
					     struct extent *extent)
{
	enum philox_status status = philox_memory_alloc(
		device, extent->units * POOL_UNIT + POOL_ALIGNMENT_MAX,
		&extent->memory);

	if (status == PHILOX_OK)
		extent->address = align(extent->memory);
	return status;
}

/* Room for alignment is taken only if the memory turns out not to be aligned. */
static enum philox_status allocate_extent(struct philox_device *device,
					  struct extent *extent)
{
	size_t bytes = extent->units * POOL_UNIT;
	enum philox_status status;

	if (bytes < ALIGNED_SIZE)
		return allocate_with_room(device, extent);
	status = philox_memory_alloc(device, bytes, &extent->memory);
	if (status != PHILOX_OK)
		return status;
	extent->address = align(extent->memory);
	if (extent->address == extent->memory)
		return PHILOX_OK;
	status = philox_memory_free(device, extent->memory);
	if (status != PHILOX_OK)
		return status;
	return allocate_with_room(device, extent);
}

/* --- in a space ----------------------------------------------------------- */

static size_t space_offset(const struct extents *extents,
			   const struct extent *extent)
{
	return (size_t)(extents->base - (char *)extents->space) +
	       extent->place * POOL_UNIT;
}

static enum philox_status map_extent(struct extents *extents,
				     struct extent *extent)
{
	extent->address = extents->base + extent->place * POOL_UNIT;
	return device_space_map(extents->device, extents->space,
				space_offset(extents, extent),
				extent->units * POOL_UNIT);
}

/* --- both ----------------------------------------------------------------- */

enum philox_status memory_unmap(struct extents *extents, struct extent *extent)
{
	if (extents->kind == EXTENTS_PLAIN)
		return philox_memory_free(extents->device, extent->memory);
	return device_space_unmap(extents->device, extents->space,
				  space_offset(extents, extent),
				  extent->units * POOL_UNIT);
}

enum philox_status memory_map(struct extents *extents, struct extent *extent)
{
	struct philox_device *device = extents->device;
	struct status_message kept;
	enum philox_capture_mode mode;
	enum philox_status restored, status;

	status = device_relaxed_begin(device, &mode);
	if (status != PHILOX_OK)
		return status;
	status = extents->kind == EXTENTS_PLAIN
			 ? allocate_extent(device, extent)
			 : map_extent(extents, extent);
	restored = device_relaxed_end(device, mode, status);
	if (status != PHILOX_OK || restored == PHILOX_OK)
		return restored;
	status_keep(&kept);
	memory_unmap(extents, extent);
	status_restore(&kept);
	return restored;
}

/* Alignment may need more addresses than were asked for. */
enum philox_status memory_reserve(struct extents *extents, size_t bytes)
{
	size_t granularity = extents->granularity * POOL_UNIT;
	size_t room = granularity < POOL_ALIGNMENT_MAX ? POOL_ALIGNMENT_MAX : 0;
	enum philox_status status = device_space_reserve(
		extents->device, bytes + room, &extents->space);

	if (status != PHILOX_OK)
		return status;
	extents->base = align(extents->space);
	extents->range = bytes / POOL_UNIT;
	return PHILOX_OK;
}

void memory_release(struct extents *extents)
{
	if (extents->space)
		device_space_release(extents->device, extents->space);
}
