/*
 * alloc/pool/extents.c - see alloc/pool/extents.h: where extents lie, and the indexes
 */
#include <inttypes.h>
#include <stdlib.h>
#include "alloc/pool/extents.h"
#include "alloc/pool/memory.h"
#include "alloc/pool/order.h"
#include "alloc/pool/room.h"
#include "lib/base/status.h"

#define SEGMENTS_MAX (UINT32_C(1) << (64 - PLACE_BITS))

void extents_init_endless(struct extents *extents)
{
	*extents =
		(struct extents){.kind = EXTENTS_ENDLESS, .limit = UINT64_MAX};
}

/* --- where the next one lies ---------------------------------------------- */

struct growth {
	uint64_t place, units;
	uint64_t refused; /* units that the limit is short of; 0: none */
};

static uint64_t extent_end(const struct extent *extent)
{
	return extent->place + extent->units;
}

/*
 * The usual size if it is more than the least and the limit allows it; 0 if it
 * does not allow the least.
 */
static uint64_t extent_size(const struct extents *extents, uint64_t least,
			    uint64_t most)
{
	uint64_t left = extents->limit - extents->units, units = extents->step;

	if (units > most)
		units = most;
	if (units > left)
		units = left - left % extents->granularity;
	if (units < least)
		units = least;
	return units <= left ? units : 0;
}

static int take_size(const struct extents *extents, uint64_t place,
		     uint64_t least, uint64_t most, struct growth *growth)
{
	growth->place = place;
	growth->units = extent_size(extents, least, most);
	if (!growth->units && !growth->refused)
		growth->refused = least;
	return growth->units != 0;
}

static uint64_t round_up_units(uint64_t units, uint64_t to)
{
	return (units + to - 1) / to * to;
}

/* Whether the request fits if the gap, or its beginning, is mapped. */
static int try_gap(const struct extents *extents, const struct blocks *blocks,
		   const struct fit_need *need, uint64_t gap, uint64_t gap_end,
		   struct growth *growth)
{
	struct block *before = gap ? order_at(blocks, gap - 1) : NULL;
	uint64_t start = gap, end, least = extents->granularity;

	if (before && block_end(before) == gap && fit_may_use(need, before))
		start = fit_run_start(need, before)->place;
	end = fit_place(need, start) + need->units;
	if (end > gap + least)
		least = round_up_units(end - gap, extents->granularity);
	if (end > gap_end) {
		before = order_at(blocks, gap_end);
		if (!before || before->place != gap_end ||
		    !fit_may_use(need, before) ||
		    end > fit_run_end(need, before))
			return 0;
		least = gap_end - gap;
	}
	return take_size(extents, gap, least, gap_end - gap, growth);
}

static int find_gap(const struct extents *extents, const struct blocks *blocks,
		    const struct fit_need *need, struct growth *growth)
{
	struct index_cursor cursor = index_first(&extents->by_place);
	const struct extent *extent;
	uint64_t gap = 0, gap_end;

	for (;; cursor = index_next(cursor)) {
		extent = cursor.leaf ? index_value(cursor) : NULL;
		gap_end = extent ? extent->place : extents->range;
		if (gap < gap_end &&
		    try_gap(extents, blocks, need, gap, gap_end, growth))
			return 1;
		if (!extent)
			return 0;
		gap = extent_end(extent);
	}
}

/* A segment of its own: the lowest number that no other has. */
static int find_segment(const struct extents *extents,
			const struct fit_need *need, struct growth *growth)
{
	struct index_cursor cursor = index_first(&extents->by_place);
	const struct extent *extent;
	uint32_t segment = 0;

	for (; cursor.leaf; cursor = index_next(cursor), segment++) {
		extent = index_value(cursor);
		if (place_segment(extent->place) != segment)
			break;
	}
	return segment < SEGMENTS_MAX &&
	       take_size(extents, place_of(segment, 0),
			 fit_place(need, 0) + need->units, UINT64_MAX, growth);
}

static enum philox_status find_growth(const struct extents *extents,
				      const struct blocks *blocks,
				      const struct fit_need *need,
				      struct growth *growth)
{
	int found = extents->kind == EXTENTS_PLAIN
			    ? find_segment(extents, need, growth)
			    : find_gap(extents, blocks, need, growth);

	if (found)
		return PHILOX_OK;
	if (growth->refused)
		return status_set(
			PHILOX_ERROR_LIMIT,
			"%" PRIu64 " bytes more would be above the limit of "
			"%" PRIu64 " bytes, of which %" PRIu64 " are mapped",
			growth->refused * POOL_UNIT, extents->limit * POOL_UNIT,
			extents->units * POOL_UNIT);
	return status_set(
		PHILOX_ERROR_MEMORY,
		"no piece of %" PRIu64 " bytes is left of the %" PRIu64
		" bytes of reserved addresses, of which %" PRIu64 " are mapped",
		need->units * POOL_UNIT, extents->range * POOL_UNIT,
		extents->units * POOL_UNIT);
}

/* --- growing and shrinking ------------------------------------------------ */

static struct index_key place_key(const struct extent *extent)
{
	return (struct index_key){extent->place, 0};
}

static struct index_key address_key(const struct extent *extent)
{
	return (struct index_key){(uintptr_t)extent->address, 0};
}

static void enter_extent(struct extents *extents, struct blocks *blocks,
			 struct extent *extent)
{
	index_insert(&extents->by_place, &blocks->nodes, place_key(extent),
		     extent);
	index_insert(&extents->by_address, &blocks->nodes, address_key(extent),
		     extent);
	blocks->n_extents++;
	extent->number = ++extents->last_number;
	extent->older = extents->newest;
	if (extents->newest)
		extents->newest->newer = extent;
	else
		extents->oldest = extent;
	extents->newest = extent;
}

static void leave_extent(struct extents *extents, struct blocks *blocks,
			 struct extent *extent)
{
	index_remove(&extents->by_place, &blocks->nodes, place_key(extent));
	index_remove(&extents->by_address, &blocks->nodes, address_key(extent));
	blocks->n_extents--;
	if (extent->older)
		extent->older->newer = extent->newer;
	else
		extents->oldest = extent->newer;
	if (extent->newer)
		extent->newer->older = extent->older;
	else
		extents->newest = extent->older;
}

static void count_growth(struct extents *extents, uint64_t units)
{
	extents->units += units;
	if (extents->units > extents->units_peak)
		extents->units_peak = extents->units;
	extents->growths++;
	extents->grown += units;
}

static enum philox_status grow_by(struct extents *extents,
				  struct blocks *blocks,
				  const struct growth *growth, uint32_t owner)
{
	struct extent *extent = calloc(1, sizeof(*extent));
	enum philox_status status;

	if (!extent || !room_reserve(blocks, 2, 0, 1)) {
		free(extent);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to record an extent");
	}
	extent->place = growth->place;
	extent->units = growth->units;
	status = memory_map(extents, extent);
	if (status != PHILOX_OK) {
		free(extent);
		return status;
	}
	enter_extent(extents, blocks, extent);
	blocks_add(blocks, extent->place, extent->units, owner);
	count_growth(extents, extent->units);
	return PHILOX_OK;
}

/* By exactly what is missing, at the end. */
static void grow_endless(struct extents *extents, struct blocks *blocks,
			 const struct fit_need *need, uint32_t owner)
{
	struct block *last = blocks->last;
	uint64_t end = last ? block_end(last) : 0, start = end, units;

	if (last && fit_may_use(need, last))
		start = fit_run_start(need, last)->place;
	units = fit_place(need, start) + need->units - end;
	blocks_add(blocks, end, units, owner);
	count_growth(extents, units);
}

enum philox_status extents_grow(struct extents *extents, struct blocks *blocks,
				const struct fit_need *need, uint32_t owner,
				uint64_t *units)
{
	struct growth growth = {0};
	enum philox_status status;

	if (extents->kind == EXTENTS_ENDLESS) {
		grow_endless(extents, blocks, need, owner);
		return PHILOX_OK;
	}
	status = find_growth(extents, blocks, need, &growth);
	if (status == PHILOX_OK)
		status = grow_by(extents, blocks, &growth, owner);
	if (status == PHILOX_OK)
		*units = growth.units;
	return status;
}

enum philox_status extents_unmap(struct extents *extents, struct blocks *blocks,
				 struct extent *extent)
{
	enum philox_status status = memory_unmap(extents, extent);

	if (status != PHILOX_OK)
		return status;
	leave_extent(extents, blocks, extent);
	blocks_drop(blocks, extent->place, extent->units);
	extents->units -= extent->units;
	extents->trims++;
	free(extent);
	return PHILOX_OK;
}

/* --- finding -------------------------------------------------------------- */

const struct extent *extents_at(const struct extents *extents, uint64_t place)
{
	struct index_cursor cursor =
		index_at_most(&extents->by_place, (struct index_key){place, 0});
	const struct extent *extent = cursor.leaf ? index_value(cursor) : NULL;

	return extent && place < extent_end(extent) ? extent : NULL;
}

const struct extent *extents_holding(const struct extents *extents,
				     const void *address)
{
	struct index_cursor cursor =
		index_at_most(&extents->by_address,
			      (struct index_key){(uintptr_t)address, 0});
	const struct extent *extent = cursor.leaf ? index_value(cursor) : NULL;

	return extent && (uintptr_t)address - (uintptr_t)extent->address <
				       extent->units * POOL_UNIT
		       ? extent
		       : NULL;
}

int extents_place(const struct extents *extents, const void *address,
		  uint64_t *place)
{
	uintptr_t bytes = (uintptr_t)address - (uintptr_t)extents->base;
	const struct extent *extent;

	if (extents->base) {
		*place = bytes / POOL_UNIT;
		return bytes % POOL_UNIT == 0 && *place < extents->range;
	}
	extent = extents_holding(extents, address);
	if (!extent)
		return 0;
	bytes = (uintptr_t)address - (uintptr_t)extent->address;
	*place = extent->place + bytes / POOL_UNIT;
	return bytes % POOL_UNIT == 0;
}

char *extents_address(const struct extents *extents, uint64_t place)
{
	const struct extent *extent;

	if (extents->base)
		return extents->base + place * POOL_UNIT;
	extent = extents_at(extents, place);
	return extent->address + (place - extent->place) * POOL_UNIT;
}
