/*
 * alloc/pool/known.h - the live blocks of a pool by their ids
 *
 * Few ask for blocks by their ids. So the table is made when somebody does, and
 * kept up to date only until there were more changes than blocks without
 * another question. There is always room for it.
 */
#ifndef ALLOC_POOL_KNOWN_H
#define ALLOC_POOL_KNOWN_H

#include "alloc/pool/blocks.h"
#include "lib/containers/map.h"

struct known {
	struct table table; /* by id; empty unless it is up to date */
	int is_current;
	size_t unasked; /* changes since the last question */
};

struct known *known_create(void); /* NULL: no memory */
void known_free(struct known *known);

/* Makes room for so many live blocks in all; 0: no memory. */
int known_reserve(struct known *known, size_t count);

/* pre: there is room. */
void known_born(struct known *known, struct block *block);
void known_dead(struct known *known, const struct block *block);

/* The live block of an id; NULL: none. */
struct block *known_find(struct known *known, const struct blocks *blocks,
			 uint64_t id);

#endif
