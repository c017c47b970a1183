/*
 * alloc/pool/fit.h - which memory a request gets (Note [Pool])
 */
#ifndef ALLOC_POOL_FIT_H
#define ALLOC_POOL_FIT_H

#include <stdint.h>
#include "alloc/pool/blocks.h"

#define FIT_OWNERS_MAX 3

/* A request in units. The memory of these owners may be used. */
struct fit_need {
	uint64_t units; /* with both margins */
	uint64_t margin;
	uint64_t alignment; /* of what is between the margins; power of two */
	uint32_t owners[FIT_OWNERS_MAX];
	uint32_t n_owners;
};

/* Whether a block is free and of one of these owners. */
int fit_may_use(const struct fit_need *need, const struct block *block);

/* Where the request would begin in memory from `place` on. */
uint64_t fit_place(const struct fit_need *need, uint64_t place);

/* The first of the neighbours that end with `last` and may all be used; `last`
 * may be used. */
struct block *fit_run_start(const struct fit_need *need, struct block *last);

/* Where a run that begins with `first` ends, which may be used. */
uint64_t fit_run_end(const struct fit_need *need, const struct block *first);

/*
 * fit_find() writes the place, and the free block that this is in; 0: nothing
 * fits.
 */
int fit_find(const struct blocks *blocks, const struct fit_need *need,
	     struct block **first, uint64_t *place);

#endif
