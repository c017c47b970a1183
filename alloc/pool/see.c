/*
 * alloc/pool/see.c - see alloc/pool/pool.h: what a pool tells about itself
 */
#include "alloc/pool/record.h"

static int show_found(const struct pool *pool, const struct block *found,
		      struct pool_block *block)
{
	if (found)
		record_show(pool, found, block);
	return found != NULL;
}

int pool_find(const struct pool *pool, const void *address,
	      struct pool_block *block)
{
	return show_found(pool, record_around(pool, address), block);
}

int pool_find_id(const struct pool *pool, uint64_t id, struct pool_block *block)
{
	return show_found(pool, known_find(pool->known, &pool->blocks, id),
			  block);
}

/* Marks tell whether an id is there twice. */
int pool_is_live(const struct pool *pool, const uint64_t *ids, size_t n)
{
	const struct blocks *blocks = &pool->blocks;
	struct block *block;
	size_t found = 0;

	if (n != blocks->live.count)
		return 0;
	for (; found < n; found++) {
		block = known_find(pool->known, blocks, ids[found]);
		if (!block || block->mark)
			break;
		block->mark = 1;
	}
	for (size_t i = 0; i < found; i++) {
		block = known_find(pool->known, blocks, ids[i]);
		block->mark = 0;
	}
	return found == n;
}

void pool_figures(const struct pool *pool, struct pool_figures *figures)
{
	const struct extents *extents = &pool->extents;
	const struct blocks *blocks = &pool->blocks;

	*figures = (struct pool_figures){
		.reserved = (extents->kind == EXTENTS_PLAIN ? extents->units
							    : extents->range) *
			    POOL_UNIT,
		.mapped = extents->units * POOL_UNIT,
		.mapped_peak = extents->units_peak * POOL_UNIT,
		.live = blocks->live_units * POOL_UNIT,
		.live_peak = pool->live_peak * POOL_UNIT,
		.requested = pool->requested,
		.free = blocks->free_units * POOL_UNIT,
		.largest_free = owner_largest(blocks, POOL_HOME) * POOL_UNIT,
		.blocks = blocks->live.count,
		.blocks_peak = pool->blocks_peak,
		.allocations = pool->allocations,
		.frees = pool->frees,
		.growths = extents->growths,
		.trims = extents->trims,
		.restores = pool->restores,
		.undone = pool->undone};
}

void pool_walk_extents(const struct pool *pool,
		       void (*see)(void *user,
				   const struct pool_extent *extent),
		       void *user)
{
	struct index_cursor cursor = index_first(&pool->extents.by_place);
	const struct extent *extent;
	struct pool_extent seen;

	for (; cursor.leaf; cursor = index_next(cursor)) {
		extent = index_value(cursor);
		seen = (struct pool_extent){
			.number = extent->number,
			.segment = place_segment(extent->place),
			.offset = place_offset(extent->place) * POOL_UNIT,
			.bytes = extent->units * POOL_UNIT,
			.address = extent->address};
		see(user, &seen);
	}
}

void pool_walk_blocks(const struct pool *pool,
		      void (*see)(void *user, const struct pool_block *block),
		      void *user)
{
	const struct block *block = pool->blocks.first;
	struct pool_block seen;

	for (; block; block = block->after) {
		record_show(pool, block, &seen);
		see(user, &seen);
	}
}
