/*
 * alloc/pool/bins.c - see alloc/pool/bins.h
 */
#include "alloc/pool/bins.h"
#include "alloc/pool/block.h"

static struct index_key large_key(const struct block *block)
{
	return (struct index_key){block->units, block->place};
}

void bins_put(struct bins *bins, struct slab *pages, struct slab *nodes,
	      struct block *block)
{
	uint64_t bin = block->units - 1;

	bins->count++;
	if (bin >= BINS_EXACT) {
		index_insert(&bins->large, nodes, large_key(block), block);
		return;
	}
	heap_put(&bins->exact[bin], pages, block);
	bins->used[bin / 64] |= UINT64_C(1) << bin % 64;
}

void bins_remove(struct bins *bins, struct slab *pages, struct slab *nodes,
		 struct block *block)
{
	uint64_t bin = block->units - 1;

	bins->count--;
	if (bin >= BINS_EXACT) {
		index_remove(&bins->large, nodes, large_key(block));
		return;
	}
	heap_remove(&bins->exact[bin], pages, block);
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

static struct block *block_at(const struct bins *bins,
			      struct bins_cursor *cursor)
{
	if (cursor->units)
		return heap_at(&bins->exact[cursor->units - 1], cursor->slot)
			->block;
	return cursor->large.leaf ? index_value(cursor->large) : NULL;
}

/* At the first block of the first heap of that size or more, or the index. */
static struct block *begin_at(const struct bins *bins, uint64_t units,
			      struct bins_cursor *cursor)
{
	*cursor = (struct bins_cursor){.units = bins_used(bins, units),
				       .slot = HEAP_FIRST};
	if (!cursor->units)
		cursor->large = index_first(&bins->large);
	return block_at(bins, cursor);
}

struct block *bins_first(const struct bins *bins, struct bins_cursor *cursor)
{
	return begin_at(bins, 1, cursor);
}

struct block *bins_next(const struct bins *bins, struct bins_cursor *cursor)
{
	if (!cursor->units)
		cursor->large = index_next(cursor->large);
	else if (++cursor->slot == heap_end(&bins->exact[cursor->units - 1]))
		return begin_at(bins, cursor->units + 1, cursor);
	return block_at(bins, cursor);
}

/* --- checking ------------------------------------------------------------- */

const char *bins_check(const struct bins *bins, size_t *pages, size_t *nodes)
{
	const char *wrong = index_check(&bins->large, nodes);
	size_t count = bins->large.count;
	const struct heap *heap;

	for (uint64_t bin = 0; !wrong && bin < BINS_EXACT; bin++) {
		heap = &bins->exact[bin];
		wrong = heap_check(heap, pages);
		count += heap->count;
		if (!heap->count != !(bins->used[bin / 64] >> bin % 64 & 1))
			return "a heap is marked as what it is not";
	}
	if (!wrong && count != bins->count)
		wrong = "the number of an owner's blocks is wrong";
	return wrong;
}
