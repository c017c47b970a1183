/*
 * alloc/pool/record.h - blocks as a pool's user sees them
 */
#ifndef ALLOC_POOL_RECORD_H
#define ALLOC_POOL_RECORD_H

#include "alloc/pool/inner.h"

void record_show(const struct pool *pool, const struct block *block,
		 struct pool_block *shown);

/*
 * The live block that begins at an address; NULL, with ERROR_INVALID set and
 * what the address is instead. The second is the block that it lies in, without
 * its margins; NULL: none.
 */
struct block *record_at(const struct pool *pool, const void *address);
struct block *record_around(const struct pool *pool, const void *address);

/* Whether a live block is freed is noted: by its place, with its tag. */
void record_freed(struct pool *pool, const struct block *block);

/* Live blocks get their ids, and lose them; the tag goes with the id. */
void record_born(struct pool *pool, struct block *block);
void record_dead(struct pool *pool, struct block *block);

#endif
