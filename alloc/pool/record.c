/*
 * alloc/pool/record.c - blocks as a pool's user sees them
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "alloc/pool/inner.h"
#include "lib/base/base.h"

static uint64_t user_place(const struct pool *pool, const struct block *block)
{
	return block->id ? block->place + pool->margin : block->place;
}

void record_show(const struct pool *pool, const struct block *block,
		 struct pool_block *shown)
{
	uint64_t place = user_place(pool, block);
	uint32_t tag = block->id ? block->tag : 0;

	*shown = (struct pool_block){
		.id = block->id,
		.address = (void *)(block->address +
				    (place - block->place) * POOL_UNIT),
		.size = block->id ? block->size : block->units * POOL_UNIT,
		.bytes = block->units * POOL_UNIT,
		.segment = place_segment(place),
		.offset = place_offset(place) * POOL_UNIT,
		.session = block->owner,
		.live = block->id != 0};
	memcpy(shown->tag, tags_text(pool->tags, tag), sizeof(shown->tag));
}

/* --- by address ----------------------------------------------------------- */

struct spot {
	const struct extent *extent; /* NULL: not the pool's */
	uint64_t place;
	uint64_t bytes;      /* from there to the address */
	struct block *block; /* live, margins included; NULL: none */
};

static struct spot spot_of(const struct pool *pool, const void *address)
{
	struct spot spot = {.extent = extents_holding(&pool->extents, address)};
	uint64_t bytes;

	if (!spot.extent)
		return spot;
	bytes = (uint64_t)((const char *)address - spot.extent->address);
	spot.place = spot.extent->place + bytes / POOL_UNIT;
	spot.bytes = bytes % POOL_UNIT;
	spot.block = block_at(&pool->blocks, spot.place);
	if (!spot.block->id)
		spot.block = NULL;
	return spot;
}

static int in_margins(const struct pool *pool, const struct spot *spot)
{
	return spot->place < spot->block->place + pool->margin ||
	       spot->place >= block_end(spot->block) - pool->margin;
}

static const char *tag_text(const struct pool *pool, uint32_t tag)
{
	return tags_text(pool->tags, tag);
}

static void refuse_inner(const struct pool *pool, const struct spot *spot,
			 const void *address)
{
	const struct block *block = spot->block;
	uint64_t offset = (spot->place - user_place(pool, block)) * POOL_UNIT +
			  spot->bytes;

	if (in_margins(pool, spot))
		status_set(PHILOX_ERROR_INVALID,
			   "%p is in the margin of block %" PRIu64
			   " with tag '%s'",
			   address, block->id, tag_text(pool, block->tag));
	else
		status_set(
			PHILOX_ERROR_INVALID,
			"%p is at offset %" PRIu64 " of block %" PRIu64
			" with tag '%s': a block is freed by its own address",
			address, offset, block->id, tag_text(pool, block->tag));
}

static uint32_t recent_slot(const struct pool *pool, uint64_t place)
{
	return (uint32_t)((place * 0x9e3779b97f4a7c15ULL) >> 52) &
	       (pool->n_recent - 1);
}

static void refuse_free(const struct pool *pool, const struct spot *spot,
			const void *address)
{
	uint64_t place = spot->place - pool->margin;
	const struct recent *recent =
		pool->n_recent ? &pool->recent[recent_slot(pool, place)] : NULL;

	if (recent && recent->id && recent->place == place && !spot->bytes)
		status_set(PHILOX_ERROR_INVALID,
			   "%p was freed already: it was block %" PRIu64
			   " with tag '%s'",
			   address, recent->id, tag_text(pool, recent->tag));
	else
		status_set(PHILOX_ERROR_INVALID,
			   "%p is free memory of the pool: no block begins "
			   "there",
			   address);
}

/* The last one of those that had the place. */
static const struct recent *recent_at(const struct pool *pool, uint64_t place)
{
	const struct recent *found = NULL;

	for (size_t i = 0; i < pool->n_recent; i++) {
		const struct recent *recent = &pool->recent[i];

		if (recent->id && recent->place <= place &&
		    place - recent->place < recent->units &&
		    (!found || recent->id > found->id))
			found = recent;
	}
	return found;
}

int pool_find_freed(const struct pool *pool, const void *address,
		    struct pool_block *shown, size_t *offset)
{
	const struct spot spot = spot_of(pool, address);
	const struct recent *recent;

	if (!spot.extent || spot.block)
		return 0;
	recent = recent_at(pool, spot.place);
	if (!recent || spot.place < recent->place + pool->margin)
		return 0;
	*shown = (struct pool_block){.id = recent->id};
	memcpy(shown->tag, tag_text(pool, recent->tag), sizeof(shown->tag));
	*offset = (spot.place - recent->place - pool->margin) * POOL_UNIT +
		  spot.bytes;
	return 1;
}

/* The block whose own address it is; NULL: none. */
static struct block *record_exact(const struct pool *pool, const void *address)
{
	return map_value(&pool->blocks.live,
			 (uintptr_t)address - pool->margin * POOL_UNIT);
}

/* Why no block begins at an address. */
static void refuse(const struct pool *pool, const void *address)
{
	struct spot spot = spot_of(pool, address);

	if (!spot.extent)
		status_set(PHILOX_ERROR_INVALID, "%p is not memory of the pool",
			   address);
	else if (!spot.block)
		refuse_free(pool, &spot, address);
	else
		refuse_inner(pool, &spot, address);
}

struct block *pool_locate(const struct pool *pool, void *address)
{
	struct block *block = record_exact(pool, address);

	if (!block)
		refuse(pool, address);
	return block;
}

void pool_show(const struct pool *pool, const struct block *block,
	       struct pool_block *shown)
{
	record_show(pool, block, shown);
}

struct block *record_around(const struct pool *pool, const void *address)
{
	struct block *block = record_exact(pool, address);
	struct spot spot;

	if (block)
		return block;
	spot = spot_of(pool, address);
	return spot.block && !in_margins(pool, &spot) ? spot.block : NULL;
}

/* --- births and deaths ---------------------------------------------------- */

/* Twice as large, until it is as large as ever; without memory it stays. */
static void enlarge_recent(struct pool *pool)
{
	const uint32_t n = pool->n_recent;
	struct recent *before = pool->recent, *slot;
	struct recent *larger =
		calloc(n ? 2 * n : RECENT_LEAST, sizeof(*larger));

	if (!larger)
		return;
	pool->recent = larger;
	pool->n_recent = n ? 2 * n : RECENT_LEAST;
	for (uint32_t i = 0; i < n; i++) {
		slot = &larger[recent_slot(pool, before[i].place)];
		if (before[i].id)
			*slot = before[i];
	}
	free(before);
}

/* The place for a note, in a table that is enlarged rather than a note lost. */
static struct recent *place_note(struct pool *pool, uint64_t place)
{
	struct recent *recent = NULL;

	for (;;) {
		const uint32_t n = pool->n_recent;

		if (n)
			recent = &pool->recent[recent_slot(pool, place)];
		if (n == RECENT_COUNT ||
		    (n && (!recent->id || recent->place == place)))
			return recent;
		enlarge_recent(pool);
		if (pool->n_recent == n)
			return recent; /* no memory; NULL: there is no table */
	}
}

void record_freed(struct pool *pool, const struct block *block)
{
	struct recent *recent = place_note(pool, block->place);

	if (!recent)
		return;
	tags_hold(pool->tags, block->tag);
	tags_drop(pool->tags, recent->tag);
	*recent = (struct recent){
		block->place, block->id, block->tag,
		block->units < UINT32_MAX ? (uint32_t)block->units
					  : UINT32_MAX};
}

void record_born(struct pool *pool, struct block *block)
{
	pool->requested += block->size;
	if (pool->blocks.live_units > pool->live_peak)
		pool->live_peak = pool->blocks.live_units;
	if (pool->blocks.live.count > pool->blocks_peak)
		pool->blocks_peak = pool->blocks.live.count;
}

void record_dead(struct pool *pool, struct block *block)
{
	record_freed(pool, block);
	pool->requested -= block->size;
}
