/*
 * alloc/pool/heap.c - free blocks of one size, the one with the lowest place
 * first
 */
#include "alloc/pool/inner.h"

/* --- pages ---------------------------------------------------------------- */

static uint32_t bits_of(uint32_t height)
{
	return HEAP_SLOT_BITS + HEAP_CHILD_BITS * (height - 1);
}

static int is_first_of(uint32_t slot, uint32_t bits)
{
	return !(slot & ((1u << bits) - 1));
}

static union heap_page *make_slots(struct slab *pages)
{
	union heap_page *page = slab_take(pages);

	for (uint32_t i = 0; i < HEAP_SLOTS; i++)
		page->slots[i].place = UINT64_MAX;
	return page;
}

/* Makes the pages that `slot` needs, which is the first of one. */
static void add_pages(struct heap *heap, struct slab *pages, uint32_t slot)
{
	union heap_page *root, **link = &heap->root;

	if (!heap->height) {
		heap->root = make_slots(pages);
		heap->height = 1;
		return;
	}
	if (slot >> bits_of(heap->height)) {
		root = slab_take(pages);
		root->children[0] = heap->root;
		heap->root = root;
		heap->height++;
	}
	for (uint32_t height = heap->height; height > 1; height--) {
		link = &(*link)->children[(slot >> bits_of(height - 1)) %
					  HEAP_CHILDREN];
		if (is_first_of(slot, bits_of(height - 1)))
			*link = height > 2 ? slab_take(pages)
					   : make_slots(pages);
	}
}

/* Gives back the pages that begin with `slot`, which is no longer in use. */
static void drop_pages(struct heap *heap, struct slab *pages, uint32_t slot)
{
	union heap_page *page = heap->root, *child;

	for (uint32_t height = heap->height; height > 1; height--) {
		child = page->children[(slot >> bits_of(height - 1)) %
				       HEAP_CHILDREN];
		if (height < heap->height && is_first_of(slot, bits_of(height)))
			slab_give(pages, page);
		page = child;
	}
	slab_give(pages, page);
	if (!heap->count) {
		*heap = (struct heap){0};
	} else if (slot == 1u << bits_of(heap->height - 1)) {
		page = heap->root;
		heap->root = page->children[0];
		heap->height--;
		slab_give(pages, page);
	}
}

/* --- order ---------------------------------------------------------------- */

static void fill(struct heap_slot *to, uint32_t slot, struct heap_slot content)
{
	*to = content;
	content.block->slot = slot;
}

/* Puts it into a slot, or above, where all above it are lower. */
static void sift_up(const struct heap *heap, uint32_t slot,
		    struct heap_slot content)
{
	struct heap_slot *to = heap_at(heap, slot), *above;

	while (slot > HEAP_FIRST) {
		above = heap_at(heap, slot / 4 + 2);
		if (above->place < content.place)
			break;
		fill(to, slot, *above);
		to = above;
		slot = slot / 4 + 2;
	}
	fill(to, slot, content);
}

/* Without branches that could not be predicted. */
static uint32_t lowest_of_four(const struct heap_slot *four)
{
	uint32_t left = four[1].place < four[0].place;
	uint32_t right = 2 + (four[3].place < four[2].place);

	return four[right].place < four[left].place ? right : left;
}

/* Puts it into a slot, or below, where none below it is lower. */
static void sift_down(const struct heap *heap, uint32_t slot,
		      struct heap_slot content)
{
	struct heap_slot *to = heap_at(heap, slot), *below;
	uint32_t next = heap_below(slot), lowest;

	for (; next < heap_end(heap); next = heap_below(slot)) {
		below = heap_at(heap, next);
		lowest = lowest_of_four(below);
		if (content.place < below[lowest].place)
			break;
		fill(to, slot, below[lowest]);
		to = below + lowest;
		slot = next + lowest;
	}
	fill(to, slot, content);
}

void heap_put(struct heap *heap, struct slab *pages, struct block *block)
{
	uint32_t slot = heap_end(heap);

	if (!heap->count || slot % HEAP_SLOTS == 0)
		add_pages(heap, pages, slot);
	heap->count++;
	sift_up(heap, slot, (struct heap_slot){block->place, block});
}

void heap_remove(struct heap *heap, struct slab *pages, struct block *block)
{
	uint32_t slot = block->slot, end = heap_end(heap) - 1;
	struct heap_slot *last = heap_at(heap, end), content = *last;

	last->place = UINT64_MAX;
	heap->count--;
	if (!heap->count || end % HEAP_SLOTS == 0)
		drop_pages(heap, pages, end);
	if (slot == end)
		return;
	if (slot > HEAP_FIRST &&
	    content.place < heap_at(heap, slot / 4 + 2)->place)
		sift_up(heap, slot, content);
	else
		sift_down(heap, slot, content);
}

/* --- checking ------------------------------------------------------------- */

static size_t count_pages(const struct heap *heap)
{
	size_t n = heap->count ? (heap_end(heap) - 1) / HEAP_SLOTS + 1 : 0;
	size_t sum = n;

	for (uint32_t height = heap->height; height > 1; height--) {
		n = (n + HEAP_CHILDREN - 1) / HEAP_CHILDREN;
		sum += n;
	}
	return sum;
}

const char *heap_check(const struct heap *heap, size_t *pages)
{
	uint32_t end = heap_end(heap), slot = HEAP_FIRST;
	const struct heap_slot *at;

	for (; heap->count && slot < (end + 3) / 4 * 4; slot++) {
		at = heap_at(heap, slot);
		if (slot >= end && at->place != UINT64_MAX)
			return "an unused slot of a heap has a place";
		if (slot < end &&
		    (at->block->slot != slot || at->block->place != at->place))
			return "a block is not in its slot of a heap";
		if (slot > HEAP_FIRST && slot < end &&
		    at->place <= heap_at(heap, slot / 4 + 2)->place)
			return "a block of a heap is above a lower one";
	}
	*pages += count_pages(heap);
	return NULL;
}
