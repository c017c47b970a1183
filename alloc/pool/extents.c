/*
 * alloc/pool/extents.c - see alloc/pool/inner.h: where extents lie, and the
 * indexes
 */
#include <inttypes.h>
#include <stdlib.h>
#include "alloc/pool/inner.h"
#include "lib/base/base.h"
#include "lib/device/device.h"

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
	struct block *before = gap ? block_at(blocks, gap - 1) : NULL;
	uint64_t start = gap, end, least = extents->granularity;

	if (before && block_end(before) == gap && fit_may_use(need, before))
		start = fit_run_start(need, before)->place;
	end = fit_place(need, start) + need->units;
	if (end > gap + least)
		least = round_up_units(end - gap, extents->granularity);
	if (end > gap_end) {
		before = block_at(blocks, gap_end);
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
	struct index_cursor cursor = index_at_least(
		&extents->by_place, (struct index_key){extents->whole, 0});
	const struct extent *extent;
	uint64_t gap = extents->whole, gap_end;

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
	const uint32_t segment = numbers_missing(&extents->segments);

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

static void widen_span(struct range *span, uintptr_t begin, size_t bytes)
{
	if (!span->end || begin < span->begin)
		span->begin = begin;
	if (begin + bytes > span->end)
		span->end = begin + bytes;
}

/* From an extent on that was mapped at the end of what is whole. */
static void extend_whole(struct extents *extents)
{
	struct index_cursor cursor = index_at_least(
		&extents->by_place, (struct index_key){extents->whole, 0});
	const struct extent *extent;

	for (; cursor.leaf; cursor = index_next(cursor)) {
		extent = index_value(cursor);
		if (extent->place != extents->whole)
			return;
		extents->whole = extent_end(extent);
	}
}

static void enter_place(struct extents *extents, const struct extent *extent)
{
	if (extents->kind == EXTENTS_PLAIN)
		numbers_put(&extents->segments, place_segment(extent->place));
	else if (extent->place == extents->whole)
		extend_whole(extents);
}

static void leave_place(struct extents *extents, const struct extent *extent)
{
	if (extents->kind == EXTENTS_PLAIN)
		numbers_remove(&extents->segments,
			       place_segment(extent->place));
	else if (extent->place < extents->whole)
		extents->whole = extent->place;
}

static void enter_extent(struct extents *extents, struct blocks *blocks,
			 struct extent *extent)
{
	index_insert(&extents->by_place, &blocks->nodes, place_key(extent),
		     extent);
	index_insert(&extents->by_address, &blocks->nodes, address_key(extent),
		     extent);
	enter_place(extents, extent);
	widen_span(&extents->span, (uintptr_t)extent->address,
		   extent->units * POOL_UNIT);
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
	leave_place(extents, extent);
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

	if (!extent || !blocks_reserve(blocks, 2, 0, 1) ||
	    (extents->kind == EXTENTS_PLAIN &&
	     !numbers_reserve(&extents->segments,
			      place_segment(growth->place) + 1))) {
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
	blocks_add(blocks, extent->place, extent->units,
		   (uintptr_t)extent->address, owner);
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
	blocks_add(blocks, end, units, end * POOL_UNIT, owner);
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

int extents_meet(const struct extents *extents, struct range range)
{
	const struct range span = extents->span;
	struct index_cursor cursor;
	const struct extent *last;

	if (range.begin >= span.end || range.end <= span.begin)
		return 0;
	if (extents->base)
		return 1;
	cursor = index_at_most(&extents->by_address,
			       (struct index_key){range.end - 1, 0});
	last = cursor.leaf ? index_value(cursor) : NULL;
	return last && range.begin < (uintptr_t)last->address +
					     last->units * POOL_UNIT;
}

/* --- memory: the calls that a pool makes to its device -------------------- */

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
	kept = status_kept();
	return status_first(restored, &kept, memory_unmap(extents, extent));
}

/* Alignment may need more addresses than were asked for. */
enum philox_status memory_reserve(struct extents *extents, size_t bytes,
				  unsigned traits)
{
	size_t granularity = extents->granularity * POOL_UNIT;
	size_t room = granularity < POOL_ALIGNMENT_MAX ? POOL_ALIGNMENT_MAX : 0;
	enum philox_status status = device_space_reserve_with(
		extents->device, bytes + room, traits, &extents->space);

	if (status != PHILOX_OK)
		return status;
	extents->base = align(extents->space);
	extents->range = bytes / POOL_UNIT;
	extents->span.begin = (uintptr_t)extents->base;
	extents->span.end = extents->span.begin + bytes;
	return PHILOX_OK;
}

void memory_release(struct extents *extents)
{
	if (extents->space)
		device_space_release(extents->device, extents->space);
}

/* --- settings: see alloc/pool/inner.h: the settings of a pool ----------- */

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

static enum philox_status reserve_range(struct extents *extents,
					const struct pool_settings *settings)
{
	size_t bytes = settings->reserve;
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
		round_up_bytes(bytes, extents->granularity * POOL_UNIT),
		settings->traits);
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
	return expandable ? reserve_range(extents, settings) : PHILOX_OK;
}

void extents_finish(struct extents *extents)
{
	struct extent *extent;

	while ((extent = extents->oldest)) {
		extents->oldest = extent->newer;
		memory_unmap(extents, extent);
		free(extent);
	}
	numbers_finish(&extents->segments);
	memory_release(extents);
}
