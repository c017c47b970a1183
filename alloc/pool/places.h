/*
 * alloc/pool/places.h - live blocks by their places: a hash table
 *
 * The blocks of a chain are linked, so that a search looks at the table once
 * and then at the block that is wanted, as a rule.
 */
#ifndef ALLOC_POOL_PLACES_H
#define ALLOC_POOL_PLACES_H

#include "alloc/pool/block.h"

/* All zero: empty. */
struct places {
	struct block **chains;
	size_t count;
	size_t capacity; /* chains: a power of two, or 0 */
	unsigned shift;
};

void places_finish(struct places *places);

/* Empties it; the room stays. */
void places_clear(struct places *places);

/* Makes room for so many blocks in all; 0: no memory. */
int places_enlarge(struct places *places, size_t count);

static inline int places_reserve(struct places *places, size_t count)
{
	return count <= places->capacity / 3 * 2 ||
	       places_enlarge(places, count);
}

/* Fibonacci hashing: the high bits of a product with 2^64 / golden ratio. */
static inline struct block **places_chain(const struct places *places,
					  uint64_t place)
{
	return &places->chains[place * 0x9e3779b97f4a7c15ULL >> places->shift];
}

/* NULL: there is none. */
static inline struct block *places_find(const struct places *places,
					uint64_t place)
{
	struct block *block =
		places->capacity ? *places_chain(places, place) : NULL;

	while (block && block->place != place)
		block = block->chain;
	return block;
}

/* pre: there is room, and no block with that place; it is there. */
static inline void places_put(struct places *places, struct block *block)
{
	struct block **chain = places_chain(places, block->place);

	block->chain = *chain;
	*chain = block;
	places->count++;
}

static inline void places_remove(struct places *places,
				 const struct block *block)
{
	struct block **link = places_chain(places, block->place);

	while (*link != block)
		link = &(*link)->chain;
	*link = block->chain;
	places->count--;
}

#endif
