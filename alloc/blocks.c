/*
 * alloc/blocks.c - see alloc/blocks.h
 */
#include <stdlib.h>
#include <string.h>
#include "alloc/blocks.h"

int blocks_init(struct blocks *blocks)
{
	*blocks = (struct blocks){0};
	slab_init(&blocks->records, sizeof(struct block));
	slab_init(&blocks->nodes, sizeof(struct index_node));
	/* Zero pages of the system: those of owners who are not cost nothing */
	blocks->owners = calloc(POOL_OWNERS_MAX, sizeof(*blocks->owners));
	return blocks->owners != NULL;
}

void blocks_finish(struct blocks *blocks)
{
	slab_finish(&blocks->records);
	slab_finish(&blocks->nodes);
	free(blocks->owners);
}

void blocks_clear(struct blocks *blocks)
{
	struct blocks empty = {.records = blocks->records,
			       .nodes = blocks->nodes,
			       .owners = blocks->owners};

	memset(blocks->owners, 0, blocks->owners_end * sizeof(*blocks->owners));
	slab_clear(&empty.records);
	slab_clear(&empty.nodes);
	*blocks = empty;
}

int blocks_reserve(struct blocks *blocks, size_t more_free, size_t more_live,
		   size_t more_extents)
{
	size_t more =
		more_free + more_live + blocks->undo_free + blocks->undo_live;
	size_t entries = blocks->n_free + blocks->live.count + more +
			 2 * (blocks->n_extents + more_extents);
	/* Another owner, the live blocks, and the two indexes of extents */
	size_t indexes = blocks->n_owners + 4;

	return slab_reserve(&blocks->records, blocks->records.used + more) &&
	       slab_reserve(&blocks->nodes, index_nodes(entries, indexes));
}

/* --- the list ------------------------------------------------------------- */

/* Behind `before`; NULL: as the first. */
static void link_block(struct blocks *blocks, struct block *before,
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
}

static void unlink_block(struct blocks *blocks, struct block *block)
{
	if (block->before)
		block->before->after = block->after;
	else
		blocks->first = block->after;
	if (block->after)
		block->after->before = block->before;
	else
		blocks->last = block->before;
}

static void forget_block(struct blocks *blocks, struct block *block)
{
	unlink_block(blocks, block);
	slab_give(&blocks->records, block);
}

struct block *blocks_live_at(const struct blocks *blocks, uint64_t place)
{
	struct index_cursor cursor =
		index_at_most(&blocks->live, (struct index_key){place, 0});

	return cursor.leaf ? index_value(cursor) : NULL;
}

/* From the live block before it on, there are free ones only. */
struct block *blocks_at(const struct blocks *blocks, uint64_t place)
{
	struct block *block = blocks_live_at(blocks, place);

	if (!block)
		block = blocks->first;
	if (!block || block->place > place)
		return NULL;
	while (block->after && block->after->place <= place)
		block = block->after;
	return block;
}

/* --- free blocks ---------------------------------------------------------- */

static struct index_key free_key(const struct block *block)
{
	return (struct index_key){block->units, block->place};
}

static void enter_free(struct blocks *blocks, struct block *block)
{
	struct owner *owner = &blocks->owners[block->owner];

	blocks->n_owners += !owner->units;
	index_insert(&owner->free, &blocks->nodes, free_key(block), block);
	owner->units += block->units;
	blocks->free_units += block->units;
	blocks->n_free++;
	if (block->owner >= blocks->owners_end)
		blocks->owners_end = block->owner + 1;
}

static void leave_free(struct blocks *blocks, struct block *block)
{
	struct owner *owner = &blocks->owners[block->owner];

	index_remove(&owner->free, &blocks->nodes, free_key(block));
	owner->units -= block->units;
	blocks->n_owners -= !owner->units;
	blocks->free_units -= block->units;
	blocks->n_free--;
}

static int are_one(const struct block *a, const struct block *b)
{
	return are_neighbours(a, b) && !a->id && !b->id && a->owner == b->owner;
}

/* Enters a free block that is in the list, as one with its neighbours. */
static void join_free(struct blocks *blocks, struct block *block)
{
	struct block *other = block->before;

	if (are_one(other, block)) {
		leave_free(blocks, other);
		block->place = other->place;
		block->units += other->units;
		forget_block(blocks, other);
	}
	other = block->after;
	if (are_one(block, other)) {
		leave_free(blocks, other);
		block->units += other->units;
		forget_block(blocks, other);
	}
	enter_free(blocks, block);
}

static struct block *new_free(struct blocks *blocks, struct block *before,
			      uint64_t place, uint64_t units, uint32_t owner)
{
	struct block *block = slab_take(&blocks->records);

	*block = (struct block){.place = place, .units = units, .owner = owner};
	link_block(blocks, before, block);
	return block;
}

void blocks_add(struct blocks *blocks, uint64_t place, uint64_t units,
		uint32_t owner)
{
	join_free(blocks, new_free(blocks, blocks_at(blocks, place), place,
				   units, owner));
}

/*
 * Takes what lies in [place, end) out of a free block; what is left of it stays
 * with its owner.
 */
static void cut_block(struct blocks *blocks, struct block *block,
		      uint64_t place, uint64_t end)
{
	uint64_t last = block_end(block);
	int front = block->place < place;

	leave_free(blocks, block);
	if (last > end && !front) {
		block->place = end;
		block->units = last - end;
	} else if (last > end) {
		enter_free(blocks, new_free(blocks, block, end, last - end,
					    block->owner));
	}
	if (front)
		block->units = place - block->place;
	if (front || last > end)
		enter_free(blocks, block);
	else
		forget_block(blocks, block);
}

/* Takes a range out of the free memory; returns the block before the hole. */
static struct block *cut_range(struct blocks *blocks, struct block *first,
			       uint64_t place, uint64_t units)
{
	struct block *before = first->place < place ? first : first->before;
	struct block *next;

	for (; first && first->place < place + units; first = next) {
		next = first->after;
		cut_block(blocks, first, place, place + units);
	}
	return before;
}

void blocks_drop(struct blocks *blocks, uint64_t place, uint64_t units)
{
	cut_range(blocks, blocks_at(blocks, place), place, units);
}

void blocks_give(struct blocks *blocks, uint32_t from, uint32_t to)
{
	struct block *block;

	if (from == to || from >= POOL_OWNERS_MAX || to >= POOL_OWNERS_MAX)
		return;
	while (blocks->owners[from].units) {
		block = index_value(index_last(&blocks->owners[from].free));
		leave_free(blocks, block);
		block->owner = to;
		join_free(blocks, block);
	}
}

void blocks_give_range(struct blocks *blocks, uint64_t place, uint64_t units,
		       uint32_t to)
{
	blocks_drop(blocks, place, units);
	blocks_add(blocks, place, units, to);
}

/* --- live blocks ---------------------------------------------------------- */

void blocks_claim_record(struct blocks *blocks, struct block *first,
			 struct block *record)
{
	struct block *before =
		cut_range(blocks, first, record->place, record->units);

	link_block(blocks, before, record);
	index_insert(&blocks->live, &blocks->nodes,
		     (struct index_key){record->place, 0}, record);
	blocks->live_units += record->units;
}

struct block *blocks_claim(struct blocks *blocks, struct block *first,
			   uint64_t place, uint64_t units)
{
	struct block *record = slab_take(&blocks->records);

	*record = (struct block){.place = place, .units = units};
	blocks_claim_record(blocks, first, record);
	return record;
}

static void leave_live(struct blocks *blocks, struct block *block)
{
	index_remove(&blocks->live, &blocks->nodes,
		     (struct index_key){block->place, 0});
	blocks->live_units -= block->units;
}

void blocks_release(struct blocks *blocks, struct block *block, uint32_t owner)
{
	leave_live(blocks, block);
	block->id = 0;
	block->owner = owner;
	join_free(blocks, block);
}

void blocks_release_but_keep(struct blocks *blocks, struct block *block,
			     uint32_t owner)
{
	struct block *before = block->before;

	leave_live(blocks, block);
	unlink_block(blocks, block);
	join_free(blocks,
		  new_free(blocks, before, block->place, block->units, owner));
}
