/*
 * alloc/pool/bins.h - the free blocks of one owner, by size and place
 *
 * Those of up to BINS_EXACT units are in heaps, one for each size; larger ones
 * in an index.
 */
#ifndef ALLOC_POOL_BINS_H
#define ALLOC_POOL_BINS_H

#include <stddef.h>
#include <stdint.h>
#include "alloc/pool/heap.h"
#include "lib/containers/btree.h"

#define BINS_EXACT 128 /* units, a multiple of 64 */
#define BINS_WORDS (BINS_EXACT / 64)

struct bins {
	struct bins *next;         /* spare ones */
	size_t count;              /* blocks */
	uint64_t used[BINS_WORDS]; /* a bit for each heap that is not empty */
	struct index large;        /* by units and place */
	struct heap exact[BINS_EXACT]; /* of n units: exact[n - 1] */
};

/* pre: the slabs have pages and nodes. */
void bins_put(struct bins *bins, struct slab *pages, struct slab *nodes,
	      struct block *block);
void bins_remove(struct bins *bins, struct slab *pages, struct slab *nodes,
		 struct block *block);

/*
 * bins_used() returns the least size of at least `units` > 0 of which there are
 * blocks in a heap, 0 if there are none.
 */
uint64_t bins_used(const struct bins *bins, uint64_t units);

/* Units of the largest block; 0: none. */
uint64_t bins_largest(const struct bins *bins);

/*
 * All blocks, in no order that means anything: the first one, the one behind
 * another. NULL: none. The bins must not change meanwhile.
 */
struct bins_cursor {
	uint64_t units; /* of the heap; 0: in the index */
	uint32_t slot;
	struct index_cursor large;
};

struct block *bins_first(const struct bins *bins, struct bins_cursor *cursor);
struct block *bins_next(const struct bins *bins, struct bins_cursor *cursor);

/* NULL, or which invariant does not hold; adds up what is in use. */
const char *bins_check(const struct bins *bins, size_t *pages, size_t *nodes);

#endif
