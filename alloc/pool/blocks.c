/*
 * alloc/pool/blocks.c - see alloc/pool/blocks.h
 */
#include <stdlib.h>
#include <string.h>
#include "alloc/pool/blocks.h"
#include "alloc/pool/order.h"

int blocks_init(struct blocks *blocks)
{
	*blocks = (struct blocks){0};
	slab_init(&blocks->records, sizeof(struct block));
	slab_init(&blocks->nodes, sizeof(struct index_node));
	slab_init(&blocks->pages, sizeof(union heap_page));
	slab_init(&blocks->bins, sizeof(struct bins));
	/* Zero pages of the system: those of owners who are not cost nothing */
	blocks->owners = calloc(POOL_OWNERS_MAX, sizeof(*blocks->owners));
	return blocks->owners != NULL;
}

void blocks_finish(struct blocks *blocks)
{
	slab_finish(&blocks->records);
	slab_finish(&blocks->nodes);
	slab_finish(&blocks->pages);
	slab_finish(&blocks->bins);
	places_finish(&blocks->live);
	free(blocks->owners);
}

void blocks_clear(struct blocks *blocks)
{
	struct blocks empty = {.records = blocks->records,
			       .nodes = blocks->nodes,
			       .pages = blocks->pages,
			       .bins = blocks->bins,
			       .live = blocks->live,
			       .owners = blocks->owners};

	memset(blocks->owners, 0, blocks->owners_end * sizeof(*blocks->owners));
	slab_clear(&empty.records);
	slab_clear(&empty.nodes);
	slab_clear(&empty.pages);
	slab_clear(&empty.bins);
	places_clear(&empty.live);
	*blocks = empty;
}

/* --- free blocks ---------------------------------------------------------- */

static void forget_block(struct blocks *blocks, struct block *block)
{
	order_unlink(blocks, block);
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
		*bins = (struct bins){0};
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
	}
	if (!blocks->is_held)
		bins_put(owner->bins, &blocks->pages, &blocks->nodes, block);
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
		bins_remove(owner->bins, &blocks->pages, &blocks->nodes, block);
	owner->units -= block->units;
	blocks->free_units -= block->units;
	blocks->n_free--;
	if (owner->units)
		return;
	give_bins(blocks, owner->bins);
	owner->bins = NULL;
	blocks->n_owners--;
}

void blocks_hold(struct blocks *blocks)
{
	struct block *block = blocks->first;

	for (; block; block = block->after)
		if (!block->id)
			bins_remove(blocks->owners[block->owner].bins,
				    &blocks->pages, &blocks->nodes, block);
	blocks->is_held = 1;
}

void blocks_unhold(struct blocks *blocks)
{
	struct block *block = blocks->first;

	for (; block; block = block->after)
		if (!block->id)
			bins_put(blocks->owners[block->owner].bins,
				 &blocks->pages, &blocks->nodes, block);
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
			      uint64_t units, uint32_t owner)
{
	struct block *block = slab_take(&blocks->records);

	*block = (struct block){.place = place, .units = units, .owner = owner};
	return block;
}

void blocks_add(struct blocks *blocks, uint64_t place, uint64_t units,
		uint32_t owner)
{
	struct block *block = new_free(blocks, place, units, owner);

	order_link(blocks, order_at(blocks, place), block);
	join_free(blocks, block);
}

/* Cuts a free block in no bin in two; returns what begins at `place`. */
static struct block *cut_block(struct blocks *blocks, struct block *block,
			       uint64_t place)
{
	struct block *rest =
		new_free(blocks, place, block_end(block) - place, block->owner);

	block->units = place - block->place;
	order_link(blocks, block, rest);
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
		     carve(blocks, order_at(blocks, place), place, units));
}

void blocks_give(struct blocks *blocks, uint32_t from, uint32_t to)
{
	struct bins_cursor cursor;
	struct block *block;

	if (from == to || from >= POOL_OWNERS_MAX || to >= POOL_OWNERS_MAX)
		return;
	while (blocks->owners[from].units) {
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
		carve(blocks, order_at(blocks, place), place, units);

	block->owner = to;
	join_free(blocks, block);
}

/* --- live blocks ---------------------------------------------------------- */

static void enter_live(struct blocks *blocks, struct block *block)
{
	places_put(&blocks->live, block);
	blocks->live_units += block->units;
}

void blocks_claim_record(struct blocks *blocks, struct block *first,
			 struct block *record)
{
	struct block *block =
		carve(blocks, first, record->place, record->units);

	order_replace(blocks, block, record);
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
	places_remove(&blocks->live, block);
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
	struct block *freed =
		new_free(blocks, block->place, block->units, owner);

	leave_live(blocks, block);
	order_replace(blocks, block, freed);
	join_free(blocks, freed);
}
