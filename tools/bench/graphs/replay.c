/*
 * tools/bench/graphs/replay.c - the cost of a launch with tickets over a bare
 * one
 *
 * Graphs of one small fill per pass (tools/bench/graphs/graphs.h), for regions
 * of few and of many operators.
 */
#include <stdio.h>
#include "tools/bench/graphs/graphs.h"
#include "tools/cli/cli.h"

#define ROUNDS         15

#define LAUNCHES_LEAST 5
#define LAUNCHES_MOST  200
#define CELLS          200000 /* of the launches of a round, about */

static int time_launches(struct bench_graph *of, int bare, int launches,
			 double *call, double *whole)
{
	struct race_time time;

	if (bench_try("launch", bench_graph_run(of, bare, launches, &time)))
		return -1;
	*call = time.call / launches;
	*whole = time.whole / launches;
	return 0;
}

static void print_launches(struct bench_graph *of, double *call,
			   double *bare_call, double *whole, double *bare_whole)
{
	char shape[48], name[64];

	snprintf(shape, sizeof(shape), "%u op%s, %u pass%s", of->ops,
		 plural(of->ops), of->passes, of->passes == 1 ? "" : "es");
	snprintf(name, sizeof(name), "launch call, %s", shape);
	bench_row(of->bench, name, bench_median(call, ROUNDS), "ns", "bare",
		  bench_median(bare_call, ROUNDS));
	snprintf(name, sizeof(name), "replay, %s", shape);
	bench_row(of->bench, name, bench_median(whole, ROUNDS), "ns", "bare",
		  bench_median(bare_whole, ROUNDS));
}

static int measure_launches(struct bench_graph *of, int launches)
{
	double call[ROUNDS], whole[ROUNDS], bare_call[ROUNDS],
		bare_whole[ROUNDS];

	/* the second round overwrites the first */
	for (int i = -1; i < ROUNDS; i++) {
		int at = i < 0 ? 0 : i;

		if (time_launches(of, 0, launches, &call[at], &whole[at]) ||
		    time_launches(of, 1, launches, &bare_call[at],
				  &bare_whole[at]))
			return -1;
	}
	print_launches(of, call, bare_call, whole, bare_whole);
	return 0;
}

/* Graphs of many cells are slow: they are launched less often. */
static int launches_of(uint32_t ops, uint32_t passes)
{
	uint32_t launches = CELLS / (ops * passes);

	if (launches < LAUNCHES_LEAST)
		return LAUNCHES_LEAST;
	return launches > LAUNCHES_MOST ? LAUNCHES_MOST : (int)launches;
}

static int bench_shape(struct bench *bench, uint32_t ops, uint32_t passes)
{
	struct bench_graph of = {
		.bench = bench, .ops = ops, .passes = passes, .draws = 1};
	int failed;

	bench_step(bench);
	failed = bench_graph_make(&of) ||
		 measure_launches(&of, launches_of(ops, passes));

	bench_graph_clean(&of);
	return failed ? -1 : 0;
}

static const uint32_t ops[] = {1, 96, 4096}, passes[] = {1, 100};

#define N_OPS    (sizeof(ops) / sizeof(ops[0]))
#define N_PASSES (sizeof(passes) / sizeof(passes[0]))

size_t bench_replay_steps(const struct bench *bench)
{
	(void)bench;
	return N_OPS * N_PASSES;
}

int bench_replay(struct bench *bench)
{
	for (size_t i = 0; i < N_OPS; i++)
		for (size_t j = 0; j < N_PASSES; j++)
			if (bench_shape(bench, ops[i], passes[j]))
				return -1;
	return 0;
}
