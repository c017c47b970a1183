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

	return race_note(racer, loop_graphs_run(looper->graphs, looper->count,
						times, time));
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
	uint64_t start = philox_device_call_count(device, NULL), before;

	/* what is called, but not for a launch */
	if (bench_try("launch",
		      loop_graphs_run(&loops->graphs, count, 0, &none)))
		return -1;
	before = philox_device_call_count(device, NULL);
	if (bench_try("launch",
		      loop_graphs_run(&loops->graphs, count, LAUNCHES, &all)))
		return -1;
	*calls = (double)(philox_device_call_count(device, NULL) - before -
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
	    bench_try("nodes", philox_native_graph_node_count(
				       graphs->bench->device, native, &n)))
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

static const char *loop_name(size_t i, int figure)
{
	return bench_name("loops/%u/%s", counts[i], figures[figure]);
}

/* Beside a graph without a loop; times also beside those of one iteration. */
static void print_loop(const struct loops *loops, size_t i, int figure)
{
	struct bench *bench = loops->graphs.bench;
	const char *name = loop_name(i, figure);

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
	for (size_t i = ONE; i < N_COUNTS; i++)
		for (int figure = 0; figure < FIGURES; figure++)
			bench_print_wanted(bench,
					   &(struct bench_row){
						   .name = loop_name(i, figure),
						   .value = NAN,
						   .unit = units[figure],
						   .note = note});
}

/* --- the part ------------------------------------------------------------- */

/* All iterations take turns: some rows are as much work as all. */
size_t bench_loops_steps(const struct bench *bench)
{
	for (size_t i = ONE; i < N_COUNTS; i++)
		for (int figure = 0; figure < FIGURES; figure++)
			if (bench_wants(bench, loop_name(i, figure)))
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
