/*
 * alloc/pool/block.h - a block of a pool, live or free
 *
 * A place is a segment and an offset in it, in units, as one number that sorts
 * by both.
 */
#ifndef ALLOC_POOL_BLOCK_H
#define ALLOC_POOL_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#define PLACE_BITS 40 /* of the offset */

/* One line of cache. */
struct block {
	struct block *before, *after; /* in order of place */
	uint64_t place;
	uint64_t units;
	uint64_t id;    /* 0: free */
	uint64_t size;  /* as asked for */
	uint32_t owner; /* free: its owner; live: the session it is from */
	uint32_t tag : 31, mark : 1; /* the mark is 0 between calls */
	union {
		struct block *chain; /* live: see alloc/pool/places.h */
		uint32_t slot;       /* free: in its heap */
	};
};

static inline uint64_t place_of(uint32_t segment, uint64_t offset)
{
	return (uint64_t)segment << PLACE_BITS | offset;
}

static inline uint32_t place_segment(uint64_t place)
{
	return (uint32_t)(place >> PLACE_BITS);
}

static inline uint64_t place_offset(uint64_t place)
{
	return place & ((UINT64_C(1) << PLACE_BITS) - 1);
}

static inline uint64_t block_end(const struct block *block)
{
	return block->place + block->units;
}

/* Whether b follows a without a gap; either may be NULL. */
static inline int are_neighbours(const struct block *a, const struct block *b)
{
	return a && b && block_end(a) == b->place;
}

#endif
