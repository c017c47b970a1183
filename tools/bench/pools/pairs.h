/*
 * tools/bench/pools/pairs.h - a pool and other allocators, one beside the other
 */
#ifndef TOOLS_BENCH_POOLS_PAIRS_H
#define TOOLS_BENCH_POOLS_PAIRS_H

#include "tools/bench/bench.h"
#include "tools/bench/race.h"

#define TRACE 65536

enum { OURS, QUERY, GLIBC, MIMALLOC, RACERS };

/* Of the live blocks this one goes, and one of that size comes. */
struct pair {
	uint32_t place, size;
};

/* An allocator that takes part, and its live blocks. */
struct pair_entry {
	struct pairs *of;
	void *(*make)(struct pair_entry *entry, size_t size);
	int (*drop)(struct pair_entry *entry, void *block);
	void **blocks; /* of->live */
	size_t at;     /* in the trace */
};

struct pairs {
	struct bench *bench;
	struct philox_pool *pool;
	uint32_t live;
	struct pair trace[TRACE];
	struct pair_entry entries[RACERS];
	double few; /* nanoseconds with the fewer blocks; NAN: not measured */
	/* the peer */
	void *library;
	char note[RACE_NOTE_MAX]; /* why it is missing, or how it is called */
	void *(*malloc)(size_t size);
	void (*free)(void *block);
};

/* Those that allocate; the others have no functions. */
extern const struct pair_entry pair_allocators[RACERS];

/* pair_open_mimalloc() looks for it: without it of->malloc stays NULL. */
void pair_open_mimalloc(struct pairs *of);

#endif
