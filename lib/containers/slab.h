/*
 * lib/containers/slab.h - records of one size, reserved before they are needed
 *
 * slab_reserve() gets the memory and may fail; slab_take() and slab_give()
 * cannot. So a change of several records is made only when all of them are
 * there, and can be undone. Nothing is given back before slab_finish().
 */
#ifndef LIB_CONTAINERS_SLAB_H
#define LIB_CONTAINERS_SLAB_H

#include <assert.h>
#include <stddef.h>

struct slab_chunk;

struct slab {
	size_t item; /* bytes, a multiple of 64: records are aligned to that */
	size_t total, used;
	void *spare;               /* records given back, the last one first */
	struct slab_chunk *chunks; /* in order of creation */
	struct slab_chunk *fresh;  /* the first with records never taken */
	struct slab_chunk *last;
};

/*
 * Memory for free(), aligned to lines of cache; a lot of it is in large pages,
 * if the system has them. NULL: none.
 */
void *slab_memory(size_t bytes);

void slab_init(struct slab *slab, size_t item);
void slab_finish(struct slab *slab);

/* slab_clear() takes all records back at once. */
void slab_clear(struct slab *slab);

/* From now on `total` records may be in use at a time; 0: no memory. */
int slab_enlarge(struct slab *slab, size_t total);

static inline int slab_reserve(struct slab *slab, size_t total)
{
	return total <= slab->total || slab_enlarge(slab, total);
}

/* pre: used < total. The record's content is undefined. */
void *slab_take_fresh(struct slab *slab);

static inline void *slab_take(struct slab *slab)
{
	void *record = slab->spare;

	assert(slab->used < slab->total);
	slab->used++;
	if (!record)
		return slab_take_fresh(slab);
	slab->spare = *(void **)record;
	__builtin_prefetch(slab->spare); /* the next one taken */
	return record;
}

static inline void slab_give(struct slab *slab, void *record)
{
	*(void **)record = slab->spare;
	slab->spare = record;
	slab->used--;
}

#endif
