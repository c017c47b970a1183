/*
 * tools/bench/pools/pools.c - the part pool: its groups, and what they share
 */
#include "tools/bench/pools/pools.h"

#include <stdio.h>

static const struct bench_pool_group *const groups[] = {
	&bench_pool_pairs, &bench_pool_checkpoints, &bench_pool_memory,
	&bench_pool_launches};

#define N_GROUPS (sizeof(groups) / sizeof(groups[0]))

enum philox_status bench_pool_make(struct bench *bench, unsigned flags,
				   struct philox_pool **pool)
{
	struct philox_pool_options options =
		PHILOX_INIT(struct philox_pool_options);
	static unsigned long made;
	char name[32];

	snprintf(name, sizeof(name), "bench %lu", ++made);
	options.name = name;
	options.flags = flags;
	return philox_pool_create(bench->context, &options, pool);
}

void bench_pool_print(struct bench *bench, const struct bench_row *row)
{
	if (bench_wants(bench, row->name))
		bench_print(bench, row);
}

size_t bench_pool_size(uint64_t i)
{
	static const uint8_t units[] = {1, 1, 1, 1, 2, 2, 3, 4};
	struct philox_words words = philox_block(1, i, 0);

	return (size_t)512 * units[words.w[0] % 8] - words.w[1] % 256;
}

size_t bench_pool_steps(const struct bench *bench)
{
	size_t steps = 0;

	for (size_t i = 0; i < N_GROUPS; i++)
		steps += groups[i]->steps(bench);
	return steps;
}

int bench_pool(struct bench *bench)
{
	int failed = 0;

	for (size_t i = 0; i < N_GROUPS && !failed; i++)
		if (groups[i]->steps(bench))
			failed = groups[i]->run(bench);
	return failed;
}
