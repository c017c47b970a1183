/*
 * alloc/pool/heap.h - free blocks of one size, the one with the lowest place first
 *
 * A heap in which each block has four below it: they lie in one line of cache.
 * Slots are in pages from a slab that many heaps share, and pages are found by
 * way of pages that are directories; heap_pages() says how many suffice,
 * however the blocks came there. A block knows its slot, so that it can leave
 * from the middle.
 */
#ifndef ALLOC_POOL_HEAP_H
#define ALLOC_POOL_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include "lib/containers/slab.h"

#define HEAP_SLOT_BITS  5 /* of the slots of a page */
#define HEAP_CHILD_BITS 6 /* of the children of a directory */
#define HEAP_SLOTS      (1u << HEAP_SLOT_BITS)
#define HEAP_CHILDREN   (1u << HEAP_CHILD_BITS)
#define HEAP_FIRST      3 /* slot: so those below it begin with slot 4 */

struct block;

struct heap_slot {
	uint64_t place; /* UINT64_MAX: not in use */
	struct block *block;
};

union heap_page {
	struct heap_slot slots[HEAP_SLOTS];
	union heap_page *children[HEAP_CHILDREN];
};

/* All zero: empty. */
struct heap {
	union heap_page *root;
	uint32_t count;
	uint32_t height; /* 1: the root has slots */
};

/* Pages that suffice for so many blocks in so many heaps that are not empty. */
static inline size_t heap_pages(size_t blocks, size_t heaps)
{
	return blocks / 8 + heaps;
}

static inline uint32_t heap_end(const struct heap *heap)
{
	return heap->count + HEAP_FIRST;
}

/* The slot of the first of the four below one. */
static inline uint32_t heap_below(uint32_t slot)
{
	return 4 * (slot - HEAP_FIRST) + 4;
}

/* pre: slot is in a page that the heap has. */
static inline struct heap_slot *heap_at(const struct heap *heap, uint32_t slot)
{
	union heap_page *page = heap->root;
	uint32_t bits = HEAP_SLOT_BITS + HEAP_CHILD_BITS * (heap->height - 1);

	while (bits > HEAP_SLOT_BITS) {
		bits -= HEAP_CHILD_BITS;
		page = page->children[(slot >> bits) % HEAP_CHILDREN];
	}
	return &page->slots[slot % HEAP_SLOTS];
}

/* pre: the slab has pages; the block is in no heap; it is in this one. */
void heap_put(struct heap *heap, struct slab *pages, struct block *block);
void heap_remove(struct heap *heap, struct slab *pages, struct block *block);

/* NULL, or which invariant does not hold; adds to *pages those in use. */
const char *heap_check(const struct heap *heap, size_t *pages);

#endif
