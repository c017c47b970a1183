/*
 * tools/bench/graphs/loops.c - launches of a graph with a loop, by its
 * iterations
 *
 * How often a body runs, only the device knows: so what a launch costs on the
 * host should be the same, however often it is.
 */
#include <math.h>
#include <stdio.h>
#include "tools/bench/graphs/graphs.h"
#include "tools/cli/cli.h"

#define BUDGET   1.0e9 /* nanoseconds of the race, about */
#define LAUNCHES 20    /* of which the device's calls are counted */

/* Of those that take turns: 0 is the graph without a loop. */
static const uint32_t counts[] = {0, 1, 16, LOOP_LIMIT};

#define N_COUNTS (sizeof(counts) / sizeof(counts[0]))

enum { WITHOUT, ONE }; /* places in counts[] */

enum { CALL, REPLAY, DEVICE_CALLS, NODES, FIGURES };
static const char *const figures[FIGURES] = {"call", "replay", "device-calls",
					     "nodes"};
static const char *const units[FIGURES] = {"ns", "ns", "calls", "nodes"};

struct loops {
	struct loop_graphs graphs;
	double of[N_COUNTS][FIGURES];
};

struct looper {
	struct loop_graphs *graphs;
	uint32_t count;
};

/* --- measuring ------------------------------------------------------------ */

static int run_loop(struct racer *racer, int times, struct race_time *time)
{
	const struct looper *looper = racer->of;

	if (loop_graphs_run(looper->graphs, looper->count, times, time) ==
	    PHILOX_OK)
		return 0;
	snprintf(racer->note, RACE_NOTE_MAX, "%s", philox_error_message());
	return -1;
}

/* A figure of a loop that ran more or less often would be a wrong one. */
static int check_iterations(struct loops *loops, uint32_t count)
{
	uint32_t ran;

	if (bench_try("loop", loop_graphs_ran(&loops->graphs, &ran)))
		return -1;
	if (ran == count)
		return 0;
	complain("bench", "a loop of %u iterations had %u", count, ran);
	return -1;
}

/* The graph has been launched: the first launch makes a copy. */
static int count_loop_calls(struct loops *loops, uint32_t count, double *calls)
{
	struct philox_device *device = loops->graphs.bench->device;
	struct race_time none, all;
	uint64_t start = philox_device_calls(device, NULL), before;

	/* what is called, but not for a launch */
	if (bench_try("launch",
		      loop_graphs_run(&loops->graphs, count, 0, &none)))
		return -1;
	before = philox_device_calls(device, NULL);
	if (bench_try("launch",
		      loop_graphs_run(&loops->graphs, count, LAUNCHES, &all)))
		return -1;
	*calls = (double)(philox_device_calls(device, NULL) - before -
			  (before - start)) /
		 LAUNCHES;
	return count ? check_iterations(loops, count) : 0;
}

static int count_nodes(const struct loops *loops, uint32_t count, double *nodes)
{
	const struct loop_graphs *graphs = &loops->graphs;
	philox_native_graph native;
	size_t n;

	if (bench_try("graph", philox_graph_native(count ? graphs->loop
							 : graphs->without,
						   &native, NULL)) ||
	    bench_try("nodes", philox_native_graph_nodes(graphs->bench->device,
							 native, &n)))
		return -1;
	*nodes = (double)n;
	return 0;
}

static int race_loops(struct loops *loops)
{
	struct looper loopers[N_COUNTS];
	struct racer racers[N_COUNTS];

	for (size_t i = 0; i < N_COUNTS; i++) {
		loopers[i] = (struct looper){&loops->graphs, counts[i]};
		racers[i] = (struct racer){
			.name = "loop", .run = run_loop, .of = &loopers[i]};
	}
	race(racers, N_COUNTS, loops->graphs.bench->quick ? 0 : BUDGET);
	for (size_t i = 0; i < N_COUNTS; i++) {
		double *of = loops->of[i];

		if (racers[i].out) {
			complain("bench", "launch: %s", racers[i].note);
			return -1;
		}
		of[CALL] = racers[i].median.call;
		of[REPLAY] = racers[i].median.whole;
		if (count_loop_calls(loops, counts[i], &of[DEVICE_CALLS]) ||
		    count_nodes(loops, counts[i], &of[NODES]))
			return -1;
	}
	return 0;
}

/* --- rows ----------------------------------------------------------------- */

static void loop_name(char name[64], uint32_t count, int figure)
{
	snprintf(name, 64, "loops/%u/%s", count, figures[figure]);
}

static int loop_is_wanted(const struct bench *bench, uint32_t count)
{
	char name[64];

	for (int figure = 0; figure < FIGURES; figure++) {
		loop_name(name, count, figure);
		if (bench_wants(bench, name))
			return 1;
	}
	return 0;
}

/* Beside a graph without a loop; times also beside those of one iteration. */
static void print_loop(const struct loops *loops, size_t i, int figure)
{
	struct bench *bench = loops->graphs.bench;
	char name[64];

	loop_name(name, counts[i], figure);
	if (!bench_wants(bench, name))
		return;
	bench_row(bench, name, loops->of[i][figure], units[figure], "without",
		  loops->of[WITHOUT][figure]);
	if (i > ONE && figure <= REPLAY)
		bench_row(bench, name, loops->of[i][figure], units[figure],
			  "of 1", loops->of[ONE][figure]);
}

static void print_loops(const struct loops *loops)
{
	for (size_t i = ONE; i < N_COUNTS; i++)
		for (int figure = 0; figure < FIGURES; figure++)
			print_loop(loops, i, figure);
}

/* For a device without such nodes, and why. */
static void print_no_loops(struct bench *bench, const char *note)
{
	char name[64];

	for (size_t i = ONE; i < N_COUNTS; i++)
		for (int figure = 0; figure < FIGURES; figure++) {
			struct bench_row row = {.name = name,
						.value = NAN,
						.unit = units[figure],
						.note = note};

			loop_name(name, counts[i], figure);
			if (bench_wants(bench, name))
				bench_print(bench, &row);
		}
}

/* --- the part ------------------------------------------------------------- */

/* All iterations take turns: some rows are as much work as all. */
size_t bench_loops_steps(const struct bench *bench)
{
	for (size_t i = ONE; i < N_COUNTS; i++)
		if (loop_is_wanted(bench, counts[i]))
			return 1;
	return 0;
}

int bench_loops(struct bench *bench)
{
	struct loops loops = {.graphs = {.bench = bench}};
	char note[RACE_NOTE_MAX];
	int made, failed;

	if (!bench_loops_steps(bench))
		return 0;
	bench_step(bench);
	made = loop_graphs_make(&loops.graphs, note);
	failed = made < 0 || (!made && race_loops(&loops));
	if (!failed && made)
		print_no_loops(bench, note);
	else if (!failed)
		print_loops(&loops);
	loop_graphs_clean(&loops.graphs);
	return failed ? -1 : 0;
}
