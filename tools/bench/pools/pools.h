/*
 * tools/bench/pools/pools.h - the groups of figures of part pool
 *
 * Each group says how many pieces of work its wanted rows are (bench_step()),
 * and measures them: 0, or -1 after printing what failed.
 */
#ifndef TOOLS_BENCH_POOLS_POOLS_H
#define TOOLS_BENCH_POOLS_POOLS_H

#include "tools/bench/bench.h"

struct bench_pool_group {
	size_t (*steps)(const struct bench *bench);
	int (*run)(struct bench *bench);
};

extern const struct bench_pool_group bench_pool_pairs, /* alloc and free */
	bench_pool_checkpoints, /* checkpoint and restore */
	bench_pool_memory,      /* mapped memory: a training, captures */
	bench_pool_launches;    /* device calls of a launch */

/* bench_pool_make() makes a pool with these flags, by its status. */
enum philox_status bench_pool_make(struct bench *bench, unsigned flags,
				   struct philox_pool **pool);

/* bench_pool_print() prints a row if it is wanted. */
void bench_pool_print(struct bench *bench, const struct bench_row *row);

/*
 * bench_pool_size() returns the size of block i of a trace, as a program might
 * ask for it: up to 2 KiB, most of them small, the same in each run.
 */
size_t bench_pool_size(uint64_t i);

#endif
