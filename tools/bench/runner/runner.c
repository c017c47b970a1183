/*
 * tools/bench/runner/runner.c - the part runner: its groups, and what they
 * share
 */
#include "tools/bench/runner/runner.h"

static const struct bench_group *const groups[] = {
	&runner_hits,     &runner_records, &runner_keys, &runner_plans,
	&runner_verified, &runner_llama,   NULL};

size_t bench_runner_steps(const struct bench *bench)
{
	return bench_groups_steps(bench, groups);
}

int bench_runner(struct bench *bench)
{
	return bench_groups_run(bench, groups);
}
