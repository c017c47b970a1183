/*
 * tools/bench/runner/runner.h - the groups of figures of part runner
 *
 * Each group says how many pieces of work its wanted rows are (bench_step()),
 * and measures them: 0, or -1 after printing what failed.
 */
#ifndef TOOLS_BENCH_RUNNER_RUNNER_H
#define TOOLS_BENCH_RUNNER_RUNNER_H

#include "tools/bench/bench.h"

struct runner_group {
	size_t (*steps)(const struct bench *bench);
	int (*run)(struct bench *bench);
};

extern const struct runner_group runner_hits, /* calls that are replayed */
	runner_records,  /* recordings, by what else is live */
	runner_keys,     /* memory of recordings of several sizes */
	runner_plans,    /* saving and loading what was learned */
	runner_verified, /* replays that are verified */
	runner_llama;    /* a step of a model */

/* bench_runner_print() prints a row if it is wanted. */
void bench_runner_print(struct bench *bench, const struct bench_row *row);

#endif
