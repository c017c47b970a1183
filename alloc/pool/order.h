/*
 * alloc/pool/order.h - the list of a pool's blocks in order of place
 *
 * The first block that begins in each chunk of 2^CHUNK_BITS units is in an
 * index. So a block at any place is found by a short walk, and most blocks come
 * and go without a change of the index.
 */
#ifndef ALLOC_POOL_ORDER_H
#define ALLOC_POOL_ORDER_H

#include "alloc/pool/blocks.h"

#define CHUNK_BITS 9

/* Behind `before`; NULL: as the first. pre: the index has room. */
void order_link(struct blocks *blocks, struct block *before,
		struct block *block);
void order_unlink(struct blocks *blocks, struct block *block);

/* Another record of the same memory takes the place of a block. */
void order_replace(struct blocks *blocks, struct block *block,
		   struct block *by);

/* The last block that begins at or before a place; NULL: none. */
struct block *order_at(const struct blocks *blocks, uint64_t place);

/* The same from a block on, which does. NULL: none. */
static inline struct block *order_forward(struct block *block, uint64_t place)
{
	while (block && block->after && block->after->place <= place)
		block = block->after;
	return block;
}

#endif
