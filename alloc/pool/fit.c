/*
 * alloc/pool/fit.c - which memory a request gets (Note [Pool])
 */
#include <stddef.h>
#include <string.h>
#include "alloc/pool/inner.h"

/* The best so far: the smallest, then the lowest. */
struct best {
	uint64_t units; /* 0: none */
	uint64_t place;
	struct block *start; /* there */
};

int fit_may_use(const struct fit_need *need, const struct block *block)
{
	if (block->id)
		return 0;
	for (uint32_t i = 0; i < need->n_owners; i++)
		if (block->owner == need->owners[i])
			return 1;
	return block->owner < need->n_lends && need->lends[block->owner];
}

uint64_t fit_place(const struct fit_need *need, uint64_t place)
{
	uint64_t mask = need->alignment - 1;

	return ((place + need->margin + mask) & ~mask) - need->margin;
}

struct block *fit_run_start(const struct fit_need *need, struct block *last)
{
	while (are_neighbours(last->before, last) &&
	       fit_may_use(need, last->before))
		last = last->before;
	return last;
}

uint64_t fit_run_end(const struct fit_need *need, const struct block *first)
{
	while (are_neighbours(first, first->after) &&
	       fit_may_use(need, first->after))
		first = first->after;
	return block_end(first);
}

static int fits(const struct fit_need *need, uint64_t start, uint64_t end)
{
	return fit_place(need, start) + need->units <= end;
}

/* The run at the end of everything; NULL: the last block may not be used. */
static struct block *tail_of(const struct blocks *blocks,
			     const struct fit_need *need)
{
	struct block *last = blocks->last;

	return last && fit_may_use(need, last) ? fit_run_start(need, last)
					       : NULL;
}

static void offer(struct best *best, struct block *start, uint64_t place,
		  uint64_t units)
{
	if (!best->units || units < best->units ||
	    (units == best->units && place < best->place))
		*best = (struct best){units, place, start};
}

/*
 * From a cursor on, the first block before the tail that fits and is no larger
 * than the best so far.
 */
static int search_index(struct index_cursor cursor, const struct fit_need *need,
			uint64_t tail, struct best *best)
{
	struct block *block;

	for (; cursor.leaf; cursor = index_next(cursor)) {
		block = index_value(cursor);
		if (best->units && block->units > best->units)
			return 0;
		if (block->place < tail &&
		    fits(need, block->place, block_end(block))) {
			offer(best, block, block->place, block->units);
			return 1;
		}
	}
	return 0;
}

/* The blocks of one owner, before the tail. */
static void search_owner(const struct owner *owner, const struct fit_need *need,
			 uint64_t tail, struct best *best)
{
	const struct bins *bins = owner->bins;
	uint64_t units;

	if (owner->units < need->units)
		return;
	for (units = bins_used(bins, need->units); units;
	     units = bins_used(bins, units + 1))
		if (search_index(index_first(&bins->exact[units - 1]), need,
				 tail, best))
			return;
	search_index(index_at_least(&bins->large,
				    (struct index_key){need->units, 0}),
		     need, tail, best);
}

/*
 * The runs with a block of this owner, before the tail. A run is looked at from
 * the first such block in it.
 */
static void search_runs(const struct owner *owner, const struct fit_need *need,
			uint64_t tail, struct best *best)
{
	struct bins_cursor cursor;
	struct block *block = bins_first(owner->bins, &cursor), *start;
	uint64_t end;

	for (; block; block = bins_next(owner->bins, &cursor)) {
		start = block;
		while (are_neighbours(start->before, start) &&
		       fit_may_use(need, start->before) &&
		       start->before->owner != block->owner)
			start = start->before;
		if (start->place >= tail ||
		    (are_neighbours(start->before, start) &&
		     fit_may_use(need, start->before)))
			continue;
		end = fit_run_end(need, block);
		if (fits(need, start->place, end))
			offer(best, start, start->place, end - start->place);
	}
}

static size_t owner_blocks(const struct blocks *blocks, uint32_t owner)
{
	return owner_of(blocks, owner)->units
		       ? blocks->owners[owner].bins->count
		       : 0;
}

/* A run of several owners has blocks of one who is not the richest in them. */
static void search_all_runs(const struct blocks *blocks,
			    const struct fit_need *need, uint64_t tail,
			    struct best *best)
{
	uint32_t most = 0;
	uint64_t units = 0;

	for (uint32_t i = 0; i < need->n_owners; i++) {
		if (owner_blocks(blocks, need->owners[i]) >
		    owner_blocks(blocks, need->owners[most]))
			most = i;
		units += owner_of(blocks, need->owners[i])->units;
	}
	for (uint32_t i = 0; units >= need->units && i < need->n_owners; i++)
		if (i != most && owner_blocks(blocks, need->owners[i]))
			search_runs(&blocks->owners[need->owners[i]], need,
				    tail, best);
}

int fit_find(const struct blocks *blocks, const struct fit_need *need,
	     struct block **first, uint64_t *place)
{
	struct block *tail = tail_of(blocks, need), *start;
	uint64_t tail_place = tail ? tail->place : UINT64_MAX;
	struct best best = {0};

	for (uint32_t i = 0; i < need->n_owners; i++)
		search_owner(owner_of(blocks, need->owners[i]), need,
			     tail_place, &best);
	if (!best.units)
		search_all_runs(blocks, need, tail_place, &best);
	if (!best.units && tail &&
	    fits(need, tail_place, block_end(blocks->last)))
		offer(&best, tail, tail_place, 1);
	if (!best.units)
		return 0;
	*place = fit_place(need, best.place);
	start = best.start;
	while (*place > best.place && block_end(start) <= *place)
		start = start->after;
	*first = start;
	return 1;
}

/* Of the owners that lend only those stay whose blocks are taken. */
static void keep_lenders(const struct fit_need *need, const struct block *block,
			 unsigned char *lends)
{
	const uint64_t place = fit_place(need, block->place);

	memset(lends, 0, need->n_lends);
	for (; block && block->place < place + need->units;
	     block = block->after)
		if (block_end(block) > place && block->owner < need->n_lends)
			lends[block->owner] = 1;
	for (uint32_t i = 0; i < need->n_owners; i++)
		if (need->owners[i] < need->n_lends)
			lends[need->owners[i]] = 0;
}

int fit_lenders(const struct blocks *blocks, const struct fit_need *need,
		unsigned char *lends)
{
	const struct block *block = blocks->first;
	uint64_t end;

	for (; block; block = block->after) {
		if (!fit_may_use(need, block) ||
		    (are_neighbours(block->before, block) &&
		     fit_may_use(need, block->before)))
			continue;
		end = fit_run_end(need, block);
		if (!fits(need, block->place, end))
			continue;
		keep_lenders(need, block, lends);
		return 1;
	}
	return 0;
}
