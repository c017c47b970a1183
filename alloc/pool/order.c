/*
 * alloc/pool/order.c - see alloc/pool/order.h
 */
#include "alloc/pool/order.h"

static int in_one_chunk(const struct block *a, const struct block *b)
{
	return a && b && !((a->place ^ b->place) >> CHUNK_BITS);
}

static struct index_key chunk_key(const struct block *block)
{
	return (struct index_key){block->place >> CHUNK_BITS, 0};
}

void order_link(struct blocks *blocks, struct block *before,
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

void order_unlink(struct blocks *blocks, struct block *block)
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

void order_replace(struct blocks *blocks, struct block *block, struct block *by)
{
	struct block *before = block->before;

	order_unlink(blocks, block);
	order_link(blocks, before, by);
}

struct block *order_at(const struct blocks *blocks, uint64_t place)
{
	struct index_cursor cursor = index_at_most(
		&blocks->starts, (struct index_key){place >> CHUNK_BITS, 0});
	struct block *block = cursor.leaf ? index_value(cursor) : NULL;

	return !block || block->place <= place ? order_forward(block, place)
					       : block->before;
}
