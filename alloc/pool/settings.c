/*
 * alloc/pool/settings.c - see alloc/pool/extents.h: the settings of a pool
 */
#include <stdlib.h>
#include "alloc/pool/extents.h"
#include "alloc/pool/memory.h"
#include "lib/base/status.h"
#include "lib/device/call.h"

/* Sizes above this one are not sizes of memory. */
#define SIZE_LIMIT   ((uint64_t)POOL_UNIT << (PLACE_BITS - 2))

#define STEP_DEFAULT (2 << 20)

static enum philox_status check_settings(const struct pool_settings *settings)
{
	if (settings->kind != POOL_PLAIN && settings->kind != POOL_EXPANDABLE)
		return status_set(PHILOX_ERROR_INVALID,
				  "kind %d of a pool is neither PLAIN nor "
				  "EXPANDABLE",
				  (int)settings->kind);
	if (settings->margin % POOL_UNIT || settings->margin > SIZE_LIMIT / 4)
		return status_set(PHILOX_ERROR_INVALID,
				  "a margin of %zu bytes: it is a multiple of "
				  "%d, and no more than a block may have",
				  settings->margin, POOL_UNIT);
	if (settings->step > SIZE_LIMIT)
		return status_set(PHILOX_ERROR_INVALID,
				  "a step of %zu bytes is more than any device "
				  "has",
				  settings->step);
	if (settings->kind == POOL_EXPANDABLE && settings->reserve > SIZE_LIMIT)
		return status_set(PHILOX_ERROR_INVALID,
				  "a reserve of %zu bytes is more than there "
				  "are addresses",
				  settings->reserve);
	return PHILOX_OK;
}

static size_t round_up_bytes(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

static enum philox_status reserve_range(struct extents *extents, size_t bytes)
{
	enum philox_status status = PHILOX_OK;
	size_t total;

	if (!bytes) {
		status = philox_device_memory_info(extents->device, NULL,
						   &total);
		if (status != PHILOX_OK)
			return status;
		bytes = total < SIZE_LIMIT / 2 ? total + total / 8 : SIZE_LIMIT;
	}
	return memory_reserve(
		extents,
		round_up_bytes(bytes, extents->granularity * POOL_UNIT));
}

enum philox_status extents_init(struct extents *extents,
				struct philox_device *device,
				const struct pool_settings *settings)
{
	enum philox_status status = check_settings(settings);
	int expandable = settings->kind == POOL_EXPANDABLE;
	size_t granularity = POOL_UNIT;

	if (status == PHILOX_OK && expandable)
		status = device_space_granularity(device, &granularity);
	if (status != PHILOX_OK)
		return status;
	if (granularity < POOL_UNIT)
		granularity = POOL_UNIT;
	*extents = (struct extents){
		.device = device,
		.kind = expandable ? EXTENTS_EXPANDABLE : EXTENTS_PLAIN,
		.step = round_up_bytes(settings->step ? settings->step
						      : STEP_DEFAULT,
				       granularity) /
			POOL_UNIT,
		.limit = settings->limit ? settings->limit / POOL_UNIT
					 : UINT64_MAX,
		.granularity = granularity / POOL_UNIT};
	return expandable ? reserve_range(extents, settings->reserve)
			  : PHILOX_OK;
}

void extents_finish(struct extents *extents)
{
	struct extent *extent;

	while ((extent = extents->oldest)) {
		extents->oldest = extent->newer;
		memory_unmap(extents, extent);
		free(extent);
	}
	memory_release(extents);
}
