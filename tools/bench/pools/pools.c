/*
 * tools/bench/pools/pools.c - the part pool: its groups, and what they share
 */
#include "tools/bench/pools/pools.h"

#include <stdio.h>

static const struct bench_group *const groups[] = {
	&bench_pool_pairs, &bench_pool_checkpoints, &bench_pool_memory,
	&bench_pool_launches, NULL};

enum philox_status bench_pool_make(struct bench *bench, unsigned flags,
				   struct philox_pool **pool)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	static unsigned long made;
	char name[32];

	snprintf(name, sizeof(name), "bench %lu", ++made);
	options.name = name;
	options.flags = flags;
	return philox_pool_create(bench->context, &options, pool);
}

size_t bench_pool_size(uint64_t i)
{
	static const uint8_t units[] = {1, 1, 1, 1, 2, 2, 3, 4};
	struct philox_words words = philox_block(1, i, 0);

	return (size_t)512 * units[words.w[0] % 8] - words.w[1] % 256;
}

size_t bench_pool_steps(const struct bench *bench)
{
	return bench_groups_steps(bench, groups);
}

int bench_pool(struct bench *bench)
{
	return bench_groups_run(bench, groups);
}
