/*
 * alloc/pool/blocks.c - the blocks of a pool and their indexes (Note [Pool])
 */
#include <stdlib.h>
#include <string.h>
#include "alloc/pool/inner.h"
#include "lib/containers/array.h"
#include "lib/containers/slab.h"

const struct owner no_owner;

void blocks_init(struct blocks *blocks)
{
	*blocks = (struct blocks){0};
	slab_init(&blocks->records, sizeof(struct block));
	slab_init(&blocks->nodes, sizeof(struct index_node));
	slab_init(&blocks->bins, sizeof(struct bins));
}

int blocks_know_owners(struct blocks *blocks, uint32_t end)
{
	if (end > blocks->owners_room &&
	    !array_grow(&blocks->owners, blocks->owners_room,
			end - blocks->owners_room, sizeof(*blocks->owners)))
		return 0;
	if (end > blocks->owners_room)
		blocks->owners_room = end;
	return 1;
}

void blocks_finish(struct blocks *blocks)
{
	slab_finish(&blocks->records);
	slab_finish(&blocks->nodes);
	slab_finish(&blocks->bins);
	map_finish(&blocks->live);
	free(blocks->owners);
}

void blocks_clear(struct blocks *blocks)
{
	struct blocks empty = {.in_use = blocks->in_use,
			       .records = blocks->records,
			       .nodes = blocks->nodes,
			       .bins = blocks->bins,
			       .live = blocks->live,
			       .owners = blocks->owners,
			       .owners_room = blocks->owners_room};

	if (blocks->owners_end)
		memset(blocks->owners, 0,
		       blocks->owners_end * sizeof(*blocks->owners));
	slab_clear(&empty.records);
	slab_clear(&empty.nodes);
	slab_clear(&empty.bins);
	map_clear(&empty.live);
	*blocks = empty;
}

/* --- free blocks ---------------------------------------------------------- */

static void forget_block(struct blocks *blocks, struct block *block)
{
	unlink_block(blocks, block);
	slab_give(&blocks->records, block);
}

/* What an owner leaves is empty, and good for the next one. */
static struct bins *take_bins(struct blocks *blocks)
{
	struct bins *bins = blocks->spare;

	if (bins) {
		blocks->spare = bins->next;
	} else {
		bins = slab_take(&blocks->bins);
		bins_init(bins);
	}
	return bins;
}

static void give_bins(struct blocks *blocks, struct bins *bins)
{
	bins->next = blocks->spare;
	blocks->spare = bins;
}

static void enter_free(struct blocks *blocks, struct block *block)
{
	struct owner *owner = &blocks->owners[block->owner];

	if (!owner->units) {
		owner->bins = take_bins(blocks);
		blocks->n_owners++;
		blocks->credit = 0;
		if (blocks->in_use)
			numbers_put(blocks->in_use, block->owner);
	}
	if (!blocks->is_held)
		bins_put(owner->bins, &blocks->nodes, block);
	owner->units += block->units;
	blocks->free_units += block->units;
	blocks->n_free++;
	if (block->owner >= blocks->owners_end)
		blocks->owners_end = block->owner + 1;
}

static void leave_free(struct blocks *blocks, struct block *block)
{
	struct owner *owner = &blocks->owners[block->owner];

	if (!blocks->is_held)
		bins_remove(owner->bins, &blocks->nodes, block);
	owner->units -= block->units;
	blocks->free_units -= block->units;
	blocks->n_free--;
	if (owner->units)
		return;
	give_bins(blocks, owner->bins);
	owner->bins = NULL;
	blocks->n_owners--;
	if (blocks->in_use && !owner->is_held)
		numbers_remove(blocks->in_use, block->owner);
}

void blocks_hold(struct blocks *blocks)
{
	struct block *block = blocks->first;

	for (; block; block = block->after)
		if (!block->id)
			bins_remove(blocks->owners[block->owner].bins,
				    &blocks->nodes, block);
	blocks->is_held = 1;
}

void blocks_unhold(struct blocks *blocks)
{
	struct block *block = blocks->first;

	for (; block; block = block->after)
		if (!block->id)
			bins_put(blocks->owners[block->owner].bins,
				 &blocks->nodes, block);
	blocks->is_held = 0;
}

static int are_one(const struct block *a, const struct block *b)
{
	return are_neighbours(a, b) && !a->id && !b->id && a->owner == b->owner;
}

/* A block takes over the memory of the one behind it. */
static void absorb_next(struct blocks *blocks, struct block *block)
{
	block->units += block->after->units;
	forget_block(blocks, block->after);
}

/*
 * Enters a free block that is in the list, as one with its neighbours; returns
 * that one.
 */
static struct block *join_free(struct blocks *blocks, struct block *block)
{
	struct block *other = block->before;

	if (are_one(other, block)) {
		leave_free(blocks, other);
		absorb_next(blocks, other);
		block = other;
	}
	other = block->after;
	if (are_one(block, other)) {
		leave_free(blocks, other);
		absorb_next(blocks, block);
	}
	enter_free(blocks, block);
	return block;
}

static struct block *new_free(struct blocks *blocks, uint64_t place,
			      uint64_t units, uintptr_t address, uint32_t owner)
{
	struct block *block = slab_take(&blocks->records);

	*block = (struct block){.place = place,
				.units = units,
				.address = address,
				.owner = owner};
	return block;
}

void blocks_add(struct blocks *blocks, uint64_t place, uint64_t units,
		uintptr_t address, uint32_t owner)
{
	struct block *block = new_free(blocks, place, units, address, owner);

	link_block(blocks, block_at(blocks, place), block);
	join_free(blocks, block);
}

/* Cuts a free block in no bin in two; returns what begins at `place`. */
static struct block *cut_block(struct blocks *blocks, struct block *block,
			       uint64_t place)
{
	struct block *rest =
		new_free(blocks, place, block_end(block) - place,
			 block->address + (place - block->place) * POOL_UNIT,
			 block->owner);

	block->units = place - block->place;
	link_block(blocks, block, rest);
	return rest;
}

/*
 * Makes one block, in no bin, of free memory, whoever owns it; what is left of
 * the first and the last block there stays with its owner.
 */
static struct block *carve(struct blocks *blocks, struct block *first,
			   uint64_t place, uint64_t units)
{
	struct block *block = first;

	leave_free(blocks, first);
	if (first->place < place) {
		block = cut_block(blocks, first, place);
		enter_free(blocks, first);
	}
	while (block_end(block) < place + units) {
		leave_free(blocks, block->after);
		block->owner = block->after->owner;
		absorb_next(blocks, block);
	}
	if (block_end(block) > place + units)
		enter_free(blocks, cut_block(blocks, block, place + units));
	return block;
}

void blocks_drop(struct blocks *blocks, uint64_t place, uint64_t units)
{
	forget_block(blocks,
		     carve(blocks, block_at(blocks, place), place, units));
}

void blocks_give(struct blocks *blocks, uint32_t from, uint32_t to)
{
	struct bins_cursor cursor;
	struct block *block;

	if (from == to || to >= blocks->owners_room)
		return;
	while (owner_of(blocks, from)->units) {
		block = bins_first(blocks->owners[from].bins, &cursor);
		leave_free(blocks, block);
		block->owner = to;
		join_free(blocks, block);
	}
}

void blocks_give_range(struct blocks *blocks, uint64_t place, uint64_t units,
		       uint32_t to)
{
	struct block *block =
		carve(blocks, block_at(blocks, place), place, units);

	block->owner = to;
	join_free(blocks, block);
}

/* --- live blocks ---------------------------------------------------------- */

static void enter_live(struct blocks *blocks, struct block *block)
{
	map_put(&blocks->live, block->address, block);
	blocks->live_units += block->units;
}

void blocks_claim_record(struct blocks *blocks, struct block *first,
			 struct block *record)
{
	struct block *block =
		carve(blocks, first, record->place, record->units);

	replace_block(blocks, block, record);
	slab_give(&blocks->records, block);
	enter_live(blocks, record);
}

struct block *blocks_claim(struct blocks *blocks, struct block *first,
			   uint64_t place, uint64_t units)
{
	struct block *block = carve(blocks, first, place, units);

	block->owner = 0;
	enter_live(blocks, block);
	return block;
}

static void leave_live(struct blocks *blocks, struct block *block)
{
	map_remove(&blocks->live, block->address, block);
	blocks->live_units -= block->units;
}

struct block *blocks_release(struct blocks *blocks, struct block *block,
			     uint32_t owner)
{
	leave_live(blocks, block);
	block->id = 0;
	block->owner = owner;
	return join_free(blocks, block);
}

void blocks_release_but_keep(struct blocks *blocks, struct block *block,
			     uint32_t owner)
{
	struct block *freed = new_free(blocks, block->place, block->units,
				       block->address, owner);

	leave_live(blocks, block);
	replace_block(blocks, block, freed);
	join_free(blocks, freed);
}

/* --- bins: the free blocks of one owner, by size and place ---------------- */

void bins_init(struct bins *bins)
{
	*bins = (struct bins){.large = {.wide = 1}};
}

static struct index_key bin_key(const struct block *block)
{
	return block->units > BINS_EXACT
		       ? (struct index_key){block->units, block->place}
		       : (struct index_key){block->place, 0};
}

void bins_put(struct bins *bins, struct slab *nodes, struct block *block)
{
	uint64_t bin = block->units - 1;

	bins->count++;
	if (bin < BINS_EXACT)
		bins->used[bin / 64] |= UINT64_C(1) << bin % 64;
	index_insert(bin < BINS_EXACT ? &bins->exact[bin] : &bins->large, nodes,
		     bin_key(block), block);
}

void bins_remove(struct bins *bins, struct slab *nodes, struct block *block)
{
	uint64_t bin = block->units - 1;

	bins->count--;
	if (bin >= BINS_EXACT) {
		index_remove(&bins->large, nodes, bin_key(block));
		return;
	}
	index_remove(&bins->exact[bin], nodes, bin_key(block));
	if (!bins->exact[bin].count)
		bins->used[bin / 64] &= ~(UINT64_C(1) << bin % 64);
}

uint64_t bins_used(const struct bins *bins, uint64_t units)
{
	uint64_t bin = units - 1, word;

	if (bin >= BINS_EXACT)
		return 0;
	word = bins->used[bin / 64] >> bin % 64 << bin % 64;
	for (bin /= 64; !word; word = bins->used[bin])
		if (++bin == BINS_WORDS)
			return 0;
	return bin * 64 + (uint64_t)__builtin_ctzll(word) + 1;
}

uint64_t bins_largest(const struct bins *bins)
{
	struct index_cursor last = index_last(&bins->large);

	if (last.leaf)
		return index_key_at(last).high;
	for (uint32_t i = BINS_WORDS; i-- > 0;)
		if (bins->used[i])
			return i * 64 + 64 -
			       (uint64_t)__builtin_clzll(bins->used[i]);
	return 0;
}

/* --- one after the other -------------------------------------------------- */

/* At the first block of the first size of so many units or more. */
static struct block *begin_at(const struct bins *bins, uint64_t units,
			      struct bins_cursor *cursor)
{
	cursor->units = bins_used(bins, units);
	cursor->at = index_first(cursor->units ? &bins->exact[cursor->units - 1]
					       : &bins->large);
	return cursor->at.leaf ? index_value(cursor->at) : NULL;
}

struct block *bins_first(const struct bins *bins, struct bins_cursor *cursor)
{
	return begin_at(bins, 1, cursor);
}

struct block *bins_next(const struct bins *bins, struct bins_cursor *cursor)
{
	cursor->at = index_next(cursor->at);
	if (!cursor->at.leaf && cursor->units)
		return begin_at(bins, cursor->units + 1, cursor);
	return cursor->at.leaf ? index_value(cursor->at) : NULL;
}

/* --- checking ------------------------------------------------------------- */

const char *bins_check(const struct bins *bins, size_t *nodes)
{
	const char *wrong = index_check(&bins->large, nodes);
	size_t count = bins->large.count;

	for (uint64_t bin = 0; !wrong && bin < BINS_EXACT; bin++) {
		wrong = index_check(&bins->exact[bin], nodes);
		count += bins->exact[bin].count;
		if (!bins->exact[bin].count !=
		    !(bins->used[bin / 64] >> bin % 64 & 1))
			return "a size is marked as what it is not";
	}
	if (!wrong && count != bins->count)
		wrong = "the number of an owner's blocks is wrong";
	return wrong;
}

/* --- list: the list of a pool's blocks in order of place ----------------- */

static int in_one_chunk(const struct block *a, const struct block *b)
{
	return a && b && !((a->place ^ b->place) >> CHUNK_BITS);
}

static struct index_key chunk_key(const struct block *block)
{
	return (struct index_key){block->place >> CHUNK_BITS, 0};
}

void link_block(struct blocks *blocks, struct block *before,
		struct block *block)
{
	struct block *after = before ? before->after : blocks->first;

	block->before = before;
	block->after = after;
	if (before)
		before->after = block;
	else
		blocks->first = block;
	if (after)
		after->before = block;
	else
		blocks->last = block;
	if (in_one_chunk(before, block))
		return;
	if (in_one_chunk(block, after))
		index_replace(&blocks->starts, chunk_key(block), block);
	else
		index_insert(&blocks->starts, &blocks->nodes, chunk_key(block),
			     block);
}

void unlink_block(struct blocks *blocks, struct block *block)
{
	struct block *before = block->before, *after = block->after;

	if (before)
		before->after = after;
	else
		blocks->first = after;
	if (after)
		after->before = before;
	else
		blocks->last = before;
	if (in_one_chunk(before, block))
		return;
	if (in_one_chunk(block, after))
		index_replace(&blocks->starts, chunk_key(block), after);
	else
		index_remove(&blocks->starts, &blocks->nodes, chunk_key(block));
}

void replace_block(struct blocks *blocks, struct block *block, struct block *by)
{
	struct block *before = block->before;

	unlink_block(blocks, block);
	link_block(blocks, before, by);
}

struct block *block_at(const struct blocks *blocks, uint64_t place)
{
	struct index_cursor cursor = index_at_most(
		&blocks->starts, (struct index_key){place >> CHUNK_BITS, 0});
	struct block *block = cursor.leaf ? index_value(cursor) : NULL;

	return !block || block->place <= place ? block_at_from(block, place)
					       : block->before;
}

/* --- reserve: room for changes of a pool's blocks, made before them ---------- */

static size_t smaller(uint64_t a, uint64_t b)
{
	return (size_t)(a < b ? a : b);
}

/* Chunks lie in mapped memory. */
size_t blocks_nodes(const struct blocks *blocks, size_t more,
		    size_t more_extents)
{
	uint64_t units = blocks->live_units + blocks->free_units;
	uint64_t entries = blocks->n_free + blocks->live.count + more;
	size_t extents = blocks->n_extents + more_extents;
	uint64_t chunks = (units >> CHUNK_BITS) + 2 * extents + 2 + more;
	size_t starts = smaller(entries, chunks);
	size_t sizes = smaller(entries, (blocks->n_owners + 2) *
						(uint64_t)(BINS_EXACT + 1));

	/* One more of chunks, and the two of extents */
	return index_nodes(starts + entries + 2 * extents, sizes + 3);
}

static int make_room(struct blocks *blocks, size_t more, size_t more_live,
		     size_t more_extents)
{
	size_t live = blocks->live.count + more_live;

	if (!slab_reserve(&blocks->records, blocks->records.used + more) ||
	    !slab_reserve(&blocks->nodes,
			  blocks_nodes(blocks, more, more_extents)) ||
	    !slab_reserve(&blocks->bins, blocks->n_owners + 2) ||
	    !map_reserve(&blocks->live, live))
		return 0;
	blocks->room = (struct room){blocks->n_free + blocks->live.count + more,
				     blocks->live_units + blocks->free_units,
				     blocks->n_owners,
				     blocks->n_extents + more_extents};
	return 1;
}

/* All that is needed grows with what is compared here. */
int blocks_reserve(struct blocks *blocks, size_t more_free, size_t more_live,
		   size_t more_extents)
{
	const struct room *room = &blocks->room;
	size_t live = more_live + blocks->undo_live;
	size_t more = more_free + blocks->undo_free + live;

	blocks->credit = 0;
	if (blocks->n_free + blocks->live.count + more <= room->entries &&
	    blocks->live_units + blocks->free_units <= room->units &&
	    blocks->n_owners <= room->owners &&
	    blocks->n_extents + more_extents <= room->extents &&
	    blocks->records.used + more <= blocks->records.total &&
	    blocks->live.count + live <= blocks->live.capacity / 3 * 2)
		return 1;
	return make_room(blocks, more, live, more_extents);
}

#define CREDIT_MOST 64

/* In a small pool for one alone, so that its memory is in proportion. */
int blocks_reserve_credit(struct blocks *blocks)
{
	size_t n = 1 + blocks->live.count / 16;

	if (n > CREDIT_MOST)
		n = CREDIT_MOST;
	if (!blocks_reserve(blocks, 2 * n, n, 0))
		return 0;
	blocks->credit = (uint32_t)n - 1;
	return 1;
}
