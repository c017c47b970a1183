/*
 * tools/bench/graphs/values.c - the cost of values that change from launch to
 * launch
 *
 * Of setting one, and of a launch of a graph that has some, beside one of the
 * same graph without. Values travel in the message that a launch sends anyway
 * (philox/graph.h), so calls of the device and nodes should be the same.
 */
#include <stdio.h>
#include "tools/bench/graphs/graphs.h"
#include "tools/cli/cli.h"

#define BUDGET   0.5e9 /* nanoseconds of one race, about */
#define LAUNCHES 20    /* of which the device's calls are counted */

static const uint32_t counts[] = {1, 8, 64};

#define N_COUNTS (sizeof(counts) / sizeof(counts[0]))
#define SET      8 /* values of the graph in which one is set */

enum { CALL, REPLAY, DEVICE_CALLS, NODES, FIGURES };
static const char *const figures[FIGURES] = {"call", "replay", "device-calls",
					     "nodes"};
static const char *const units[FIGURES] = {"ns", "ns", "calls", "nodes"};

/* --- setting -------------------------------------------------------------- */

static int run_set(struct racer *racer, int times, struct race_time *time)
{
	struct bench_graph *of = racer->of;
	float value[BENCH_VALUE / sizeof(float)] = {0};
	enum philox_status status = PHILOX_OK;
	double start = bench_now();

	for (int i = 0; status == PHILOX_OK && i < times; i++) {
		value[0] = (float)i;
		status = philox_graph_set_param(of->graph, (size_t)i % SET,
						value, sizeof(value));
	}
	time->call = time->whole = bench_now() - start;
	return race_note(racer, status);
}

static int race_set(struct bench_graph *of)
{
	struct racer racer = {.name = "philox", .run = run_set, .of = of};

	race(&racer, 1, of->bench->quick ? 0 : BUDGET);
	if (racer.out) {
		complain("bench", "setting a value: %s", racer.note);
		return -1;
	}
	bench_row(of->bench, "values/set", racer.median.call, "ns", NULL, 0);
	return 0;
}

static int measure_set(struct bench *bench)
{
	struct bench_graph of = {.bench = bench,
				 .ops = 1,
				 .passes = 1,
				 .draws = 1,
				 .values = SET};
	int failed;

	bench_step(bench);
	failed = bench_graph_make(&of) || race_set(&of);
	bench_graph_clean(&of);
	return failed ? -1 : 0;
}

/* --- launches ------------------------------------------------------------- */

static int run_values(struct racer *racer, int times, struct race_time *time)
{
	return race_note(racer, bench_graph_run(racer->of, 0, times, time));
}

/* The graph has been launched: the first launch makes a copy. */
static enum philox_status count_device(struct bench_graph *of,
				       double of_graph[FIGURES])
{
	struct philox_device *device = of->bench->device;
	philox_native_graph native;
	struct race_time time;
	size_t nodes = 0;
	uint64_t before = philox_device_call_count(device, NULL);
	enum philox_status status = bench_graph_run(of, 0, LAUNCHES, &time);

	/* the last call is the wait for them */
	of_graph[DEVICE_CALLS] =
		(double)(philox_device_call_count(device, NULL) - before - 1) /
		LAUNCHES;
	if (status == PHILOX_OK)
		status = philox_graph_native(of->graph, &native, NULL);
	if (status == PHILOX_OK)
		status = philox_native_graph_node_count(device, native, &nodes);
	of_graph[NODES] = (double)nodes;
	return status;
}

/* Launches of a graph with values and of one without take turns. */
static int race_values(struct bench_graph graphs[2], double of[2][FIGURES])
{
	struct racer racers[2];

	for (int i = 0; i < 2; i++)
		racers[i] = (struct racer){.name = i ? "without" : "philox",
					   .run = run_values,
					   .of = &graphs[i]};
	race(racers, 2, graphs[0].bench->quick ? 0 : BUDGET);
	for (int i = 0; i < 2; i++) {
		if (racers[i].out) {
			complain("bench", "launch: %s", racers[i].note);
			return -1;
		}
		of[i][CALL] = racers[i].median.call;
		of[i][REPLAY] = racers[i].median.whole;
		if (bench_try("launch", count_device(&graphs[i], of[i])))
			return -1;
	}
	return 0;
}

static const char *values_name(size_t i, int figure)
{
	return bench_name("values/%u/%s", counts[i], figures[figure]);
}

static int measure_values(void *user, size_t place)
{
	struct bench *bench = user;
	struct bench_graph graphs[2];
	double of[2][FIGURES];
	int failed;

	bench_step(bench);
	for (int i = 0; i < 2; i++)
		graphs[i] =
			(struct bench_graph){.bench = bench,
					     .ops = 1,
					     .passes = 1,
					     .draws = 1,
					     .values = i ? 0 : counts[place]};
	failed = bench_graph_make(&graphs[0]) || bench_graph_make(&graphs[1]) ||
		 race_values(graphs, of);
	bench_graph_clean(&graphs[1]);
	bench_graph_clean(&graphs[0]);
	for (int figure = 0; !failed && figure < FIGURES; figure++) {
		const char *name = values_name(place, figure);

		if (bench_wants(bench, name))
			bench_row(bench, name, of[0][figure], units[figure],
				  "without", of[1][figure]);
	}
	return failed ? -1 : 0;
}

/* --- the part ------------------------------------------------------------- */

static int values_are_wanted(const struct bench *bench, size_t i)
{
	for (int figure = 0; figure < FIGURES; figure++)
		if (bench_wants(bench, values_name(i, figure)))
			return 1;
	return 0;
}

static const struct bench_series values_series = {N_COUNTS, values_are_wanted,
						  measure_values};

size_t bench_values_steps(const struct bench *bench)
{
	return (bench_wants(bench, "values/set") != 0) +
	       bench_series_steps(bench, &values_series);
}

int bench_values(struct bench *bench)
{
	if (bench_wants(bench, "values/set") && measure_set(bench))
		return -1;
	return bench_series_run(bench, &values_series, bench);
}
