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

#define LAUNCHES_LEAST 5
#define LAUNCHES_MOST  200
#define CELLS          200000 /* of the launches of a round, about */

/* Beside each figure, the bare graph's. */
enum { CALL, BARE_CALL, WHOLE, BARE_WHOLE, FIGURES };

struct launches {
	struct bench_graph graph;
	int n; /* in a round */
};

static int time_launches(void *user, double *figures)
{
	struct launches *of = user;
	struct race_time time;

	for (int bare = 0; bare < 2; bare++) {
		if (bench_try("launch",
			      bench_graph_run(&of->graph, bare, of->n, &time)))
			return -1;
		figures[CALL + bare] = time.call / of->n;
		figures[WHOLE + bare] = time.whole / of->n;
	}
	return 0;
}

static int measure_launches(struct launches *launches)
{
	const struct bench_graph *of = &launches->graph;
	double figures[FIGURES];
	char shape[48];

	if (bench_rounds(BENCH_ROUNDS, FIGURES, time_launches, launches,
			 figures))
		return -1;
	snprintf(shape, sizeof(shape), "%u op%s, %u pass%s", of->ops,
		 plural(of->ops), of->passes, of->passes == 1 ? "" : "es");
	bench_row(of->bench, bench_name("launch call, %s", shape),
		  figures[CALL], "ns", "bare", figures[BARE_CALL]);
	bench_row(of->bench, bench_name("replay, %s", shape), figures[WHOLE],
		  "ns", "bare", figures[BARE_WHOLE]);
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
	struct launches of = {
		{.bench = bench, .ops = ops, .passes = passes, .draws = 1},
		launches_of(ops, passes)};
	int failed;

	bench_step(bench);
	failed = bench_graph_make(&of.graph) || measure_launches(&of);
	bench_graph_clean(&of.graph);
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
