/*
 * lib/containers/slab.c - see lib/containers/slab.h
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "lib/containers/slab.h"

#define SLAB_ALIGNMENT 64
#define CHUNK_LEAST    2048 /* bytes of records */

/* One line of cache, then the records. */
struct slab_chunk {
	struct slab_chunk *next;
	size_t count;
	size_t taken; /* the first so many were taken at some time */
};

#define LARGE_PAGE ((size_t)2 << 20)

void *slab_memory(size_t bytes)
{
	size_t to = bytes < 2 * LARGE_PAGE ? SLAB_ALIGNMENT : LARGE_PAGE;
	void *memory;

	bytes = (bytes + to - 1) / to * to;
	memory = aligned_alloc(to, bytes);
#ifdef MADV_HUGEPAGE
	if (memory && to == LARGE_PAGE)
		madvise(memory, bytes, MADV_HUGEPAGE);
#endif
	return memory;
}

void slab_init(struct slab *slab, size_t item)
{
	item = (item + SLAB_ALIGNMENT - 1) / SLAB_ALIGNMENT * SLAB_ALIGNMENT;
	*slab = (struct slab){.item = item};
}

void slab_finish(struct slab *slab)
{
	struct slab_chunk *chunk;

	while ((chunk = slab->chunks)) {
		slab->chunks = chunk->next;
		free(chunk);
	}
	slab_init(slab, slab->item);
}

void slab_clear(struct slab *slab)
{
	for (struct slab_chunk *chunk = slab->chunks; chunk;
	     chunk = chunk->next)
		chunk->taken = 0;
	slab->fresh = slab->chunks;
	slab->spare = NULL;
	slab->used = 0;
}

/* Sizes grow with the slab, so that the number of chunks does not. */
static struct slab_chunk *make_chunk(const struct slab *slab, size_t least)
{
	struct slab_chunk *chunk;
	size_t count = slab->total / 2;

	if (count < least)
		count = least;
	if (count < CHUNK_LEAST / slab->item)
		count = CHUNK_LEAST / slab->item;
	if (count > (SIZE_MAX / 2 - SLAB_ALIGNMENT) / slab->item)
		return NULL;
	chunk = slab_memory(SLAB_ALIGNMENT + count * slab->item);
	if (chunk)
		*chunk = (struct slab_chunk){NULL, count, 0};
	return chunk;
}

int slab_enlarge(struct slab *slab, size_t total)
{
	struct slab_chunk *chunk;

	chunk = make_chunk(slab, total - slab->total);
	if (!chunk)
		return 0;
	if (slab->last)
		slab->last->next = chunk;
	else
		slab->chunks = chunk;
	slab->last = chunk;
	if (!slab->fresh)
		slab->fresh = chunk;
	slab->total += chunk->count;
	return 1;
}

void *slab_take_fresh(struct slab *slab)
{
	struct slab_chunk *chunk = slab->fresh;
	char *records = (char *)chunk + SLAB_ALIGNMENT;
	void *record = records + chunk->taken++ * slab->item;

	if (chunk->taken == chunk->count)
		slab->fresh = chunk->next;
	return record;
}
