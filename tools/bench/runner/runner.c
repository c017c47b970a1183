/*
 * tools/bench/runner/runner.c - the part runner: its groups, and what they
 * share
 */
#include "tools/bench/runner/runner.h"

static const struct runner_group *const groups[] = {
	&runner_hits,  &runner_records,  &runner_keys,
	&runner_plans, &runner_verified, &runner_llama};

#define N_GROUPS (sizeof(groups) / sizeof(groups[0]))

void bench_runner_print(struct bench *bench, const struct bench_row *row)
{
	if (bench_wants(bench, row->name))
		bench_print(bench, row);
}

size_t bench_runner_steps(const struct bench *bench)
{
	size_t steps = 0;

	for (size_t i = 0; i < N_GROUPS; i++)
		steps += groups[i]->steps(bench);
	return steps;
}

int bench_runner(struct bench *bench)
{
	int failed = 0;

	for (size_t i = 0; i < N_GROUPS && !failed; i++)
		if (groups[i]->steps(bench))
			failed = groups[i]->run(bench);
	return failed;
}
