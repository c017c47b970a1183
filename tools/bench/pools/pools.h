/*
 * tools/bench/pools/pools.h - pools that are measured, and other allocators
 */
#ifndef TOOLS_BENCH_POOLS_POOLS_H
#define TOOLS_BENCH_POOLS_POOLS_H

#include "tools/bench/bench.h"

/* --- pools: the groups of figures of part pool ---------------------------- */

extern const struct bench_group bench_pool_pairs, /* alloc and free */
	bench_pool_checkpoints,                   /* checkpoint and restore */
	bench_pool_memory,   /* mapped memory: a training, captures */
	bench_pool_launches; /* device calls of a launch */

/* bench_pool_make() makes a pool with these flags, by its status. */
enum philox_status bench_pool_make(struct bench *bench, unsigned flags,
				   struct philox_pool **pool);

/*
 * bench_pool_size() returns the size of block i of a trace, as a program might
 * ask for it: up to 2 KiB, most of them small, the same in each run.
 */
size_t bench_pool_size(uint64_t i);

/* --- pairs: a pool and other allocators, one beside the other ------------- */

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
