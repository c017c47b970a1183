/*
 * alloc/pool/check.c - see alloc/pool/inner.h, and pool_check() of
 * alloc/pool/pool.h
 */
#include <stdio.h>
#include <stdlib.h>
#include "alloc/pool/inner.h"

/* What a walk over the list has seen. */
struct tally {
	uint64_t live_units, free_units, requested, own_units;
	size_t live, free, starts;
	const char *wrong;
};

static void check_live(const struct pool *pool, const struct block *block,
		       struct tally *tally)
{
	tally->live++;
	tally->live_units += block->units;
	tally->requested += block->size;
	if (pool->session.is_open && block->owner == pool->session.number)
		tally->own_units += block->units;
	if (map_value(&pool->blocks.live, block->address) != block)
		tally->wrong = "a live block is not found by its address";
	if (!block->size ||
	    block->size > (block->units - 2 * pool->margin) * POOL_UNIT)
		tally->wrong = "a block is smaller than was asked for";
}

/* Where it is in its owner's bins, alloc/pool/blocks.c checks. */
static int is_in_bins(const struct bins *bins, const struct block *block)
{
	const int is_large = block->units > BINS_EXACT;
	const struct index_key key = {is_large ? block->units : block->place,
				      is_large ? block->place : 0};
	struct index_cursor cursor = index_at_most(
		is_large ? &bins->large : &bins->exact[block->units - 1], key);

	return cursor.leaf && index_value(cursor) == block;
}

static void check_free(const struct blocks *blocks, const struct block *block,
		       struct tally *tally)
{
	tally->free++;
	tally->free_units += block->units;
	if (block->owner >= blocks->owners_end ||
	    !blocks->owners[block->owner].bins)
		tally->wrong = "a free block has an owner that there is not";
	else if (!is_in_bins(blocks->owners[block->owner].bins, block))
		tally->wrong = "a free block is not found by its size";
	if (are_neighbours(block, block->after) && !block->after->id &&
	    block->after->owner == block->owner)
		tally->wrong =
			"two free neighbours of one owner are two blocks";
}

/* The first block of a chunk is found there. */
static void check_start(const struct blocks *blocks, const struct block *block,
			const struct block *last, struct tally *tally)
{
	const struct index_key chunk = {block->place >> CHUNK_BITS, 0};
	struct index_cursor cursor;

	if (last && last->place >> CHUNK_BITS == chunk.high)
		return;
	tally->starts++;
	cursor = index_at_most(&blocks->starts, chunk);
	if (!cursor.leaf || index_value(cursor) != block)
		tally->wrong = "the first block of a chunk is not found";
}

static int has_address(const struct pool *pool, const struct block *block)
{
	const struct extent *extent = extents_at(&pool->extents, block->place);

	return extent &&
	       block->address ==
		       (uintptr_t)extent->address +
			       (block->place - extent->place) * POOL_UNIT;
}

static void check_list(const struct pool *pool, struct tally *tally)
{
	const struct block *block = pool->blocks.first, *last = NULL;

	for (; block && !tally->wrong; last = block, block = block->after) {
		if (block->before != last || !block->units ||
		    (last && block_end(last) > block->place))
			tally->wrong = "the list of blocks is out of order";
		else if (!has_address(pool, block))
			tally->wrong = "a block has the address of another";
		else if (block->id)
			check_live(pool, block, tally);
		else
			check_free(&pool->blocks, block, tally);
		check_start(&pool->blocks, block, last, tally);
	}
	if (!tally->wrong && pool->blocks.last != last)
		tally->wrong = "the list of blocks has another end";
}

/* Whether the blocks cover the extents, and nothing else. */
static const char *check_cover(const struct pool *pool)
{
	struct index_cursor cursor = index_first(&pool->extents.by_place);
	const struct block *block = pool->blocks.first;
	const struct extent *extent;
	uint64_t place, end;

	for (; cursor.leaf; cursor = index_next(cursor)) {
		extent = index_value(cursor);
		place = extent->place;
		end = place + extent->units;
		while (place < end) {
			if (!block || block->place > place ||
			    block_end(block) <= place)
				return "mapped memory is in no block";
			place = block_end(block);
			if (place <= end)
				block = block->after;
		}
		/* A block may go on in the next extent, if there is one */
		if (place > end && !extents_at(&pool->extents, end))
			return "a block is longer than the mapped memory";
	}
	return block ? "a block is outside the mapped memory" : NULL;
}

static const char *check_sums(const struct pool *pool,
			      const struct tally *tally)
{
	const struct blocks *blocks = &pool->blocks;

	if (tally->live != blocks->live.count)
		return "the number of live blocks is wrong";
	if (tally->starts != blocks->starts.count)
		return "a chunk has a first block that there is not";
	if (tally->free != blocks->n_free)
		return "the number of free blocks is wrong";
	if (tally->live_units != blocks->live_units ||
	    tally->free_units != blocks->free_units ||
	    tally->live_units + tally->free_units != pool->extents.units)
		return "the sizes of blocks do not add up to what is mapped";
	if (tally->requested != pool->requested)
		return "the bytes that were asked for do not add up";
	if (pool->session.is_open && tally->own_units != pool->session.units)
		return "the session's bytes do not add up";
	if (blocks->records.used !=
	    tally->live + tally->free + pool->session.n_dead)
		return "a record of a block was lost";
	return NULL;
}

static const char *check_owners(const struct blocks *blocks, size_t *nodes)
{
	size_t entries = 0, with_memory = 0;
	const struct owner *owner;
	const char *wrong = NULL;

	for (uint32_t i = 0; !wrong && i < blocks->owners_end; i++) {
		owner = &blocks->owners[i];
		if (!owner->units != !owner->bins)
			return "an owner's units are wrong";
		if (!owner->bins)
			continue;
		wrong = bins_check(owner->bins, nodes);
		entries += owner->bins->count;
		with_memory++;
	}
	if (wrong)
		return wrong;
	return entries != blocks->n_free || with_memory != blocks->n_owners
		       ? "the owners have other blocks than there are"
		       : NULL;
}

static const char *check_indexes(const struct pool *pool)
{
	const struct blocks *blocks = &pool->blocks;
	size_t nodes = 0;
	const char *wrong = check_owners(blocks, &nodes);

	if (!wrong)
		wrong = index_check(&blocks->starts, &nodes);
	if (!wrong)
		wrong = index_check(&pool->extents.by_place, &nodes);
	if (!wrong)
		wrong = index_check(&pool->extents.by_address, &nodes);
	if (wrong)
		return wrong;
	if (nodes != blocks->nodes.used)
		return "a node of an index was lost";
	return nodes > blocks_nodes(blocks, 0, 0)
		       ? "the indexes have more nodes than they may need"
		       : NULL;
}

/* Bins that nobody has are there for the next owner, and empty. */
static const char *check_spare(const struct blocks *blocks)
{
	size_t n = blocks->n_owners, indexes;

	for (const struct bins *bins = blocks->spare; bins; bins = bins->next) {
		indexes = 0;
		for (uint32_t i = 0; i < BINS_EXACT; i++)
			indexes += bins->exact[i].root != NULL;
		if (indexes || bins->count || bins->large.root)
			return "spare bins are not empty";
		n++;
	}
	return n != blocks->bins.used ? "bins were lost" : NULL;
}

const char *pool_check(const struct pool *pool)
{
	struct tally tally = {0};
	const char *wrong;

	check_list(pool, &tally);
	wrong = tally.wrong;
	if (!wrong)
		wrong = check_sums(pool, &tally);
	if (!wrong)
		wrong = check_cover(pool);
	if (!wrong)
		wrong = check_indexes(pool);
	if (!wrong)
		wrong = check_spare(&pool->blocks);
	return wrong;
}

#ifdef PHILOX_DEBUG
#define CHECKED_EACH_TIME 64 /* blocks */

void check_now_and_then(struct pool *pool)
{
	size_t n = pool->blocks.live.count + pool->blocks.n_free;
	const char *wrong;

	if (pool->skipped++ < n / CHECKED_EACH_TIME)
		return;
	pool->skipped = 0;
	wrong = pool_check(pool);
	if (!wrong)
		return;
	fprintf(stderr, "philox: pool: %s\n", wrong);
	abort();
}
#endif
