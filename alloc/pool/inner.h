/*
 * alloc/pool/inner.h - what a pool consists of
 */
#ifndef ALLOC_POOL_INNER_H
#define ALLOC_POOL_INNER_H

#include "alloc/pool/blocks.h"
#include "alloc/pool/extents.h"
#include "alloc/pool/fit.h"
#include "alloc/pool/known.h"
#include "lib/containers/map.h"

#define RECENT_COUNT 4096 /* a power of two */

/* A block that was freed: what its memory is called when it is freed again. */
struct recent {
	uint64_t place;
	uint64_t id; /* 0: none */
	uint32_t tag;
};

/*
 * A session (alloc/pool/session.h). The shadow is a pool of one endless extent, in
 * which the takes and puts of the session's own blocks are made again.
 */
struct session {
	int is_open;
	uint32_t number;    /* of the one that is open, or of the last one */
	uint64_t newest;    /* extent, when it began */
	struct block *dead; /* of before it, freed in it: linked by `after` */
	size_t n_dead;
	uint64_t units; /* live, of its own blocks */
	uint64_t units_peak;
	uint64_t end; /* of the highest block in the shadow */
	/* The pool's counts when it began */
	uint64_t grown, allocations, frees, growths;
	struct blocks shadow;
	struct table shadows; /* its live blocks, by the ids of their own */
	struct extents endless;
};

struct pool {
	uint64_t serial; /* never used again by another pool */
	uint64_t margin; /* units */
	struct extents extents;
	struct blocks blocks;
	struct known *known;
	struct tags *tags;
	struct session session;
	uint64_t requested; /* bytes */
	uint64_t live_peak; /* units */
	uint64_t blocks_peak;
	uint64_t allocations, frees, restores, undone;
	unsigned skipped; /* checks; see alloc/pool/check.h */
	struct recent recent[RECENT_COUNT];
};

#endif
