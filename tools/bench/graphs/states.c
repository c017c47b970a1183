/*
 * tools/bench/graphs/states.c - replays in which each draw has its own state
 *
 * As the random operators of a compiled model. Here they are operators of one
 * region, whose states one node fills in; with PyTorch each has a generator
 * that is registered with the graph and set at every replay.
 */
#include <math.h>
#include <stdio.h>
#include "tools/bench/fills/fills.h"
#include "tools/bench/graphs/graphs.h"
#include "tools/bench/bench.h"
#include "tools/cli/cli.h"

#define BUDGET 0.5e9 /* nanoseconds of one race, about */

static const uint32_t counts[] = {1, 8, 96};

#define N_COUNTS (sizeof(counts) / sizeof(counts[0]))

enum { OURS, BARE, TORCH, RACERS };

struct states {
	struct bench *bench;
	struct bench_graph graph;
	struct torch *torch; /* NULL: missing, and why is in note */
	char note[RACE_NOTE_MAX];
};

static int run_ours(struct racer *racer, int times, struct race_time *time)
{
	struct states *states = racer->of;

	return race_note(racer,
			 bench_graph_run(&states->graph, 0, times, time));
}

static int run_bare(struct racer *racer, int times, struct race_time *time)
{
	struct states *states = racer->of;

	return race_note(racer,
			 bench_graph_run(&states->graph, 1, times, time));
}

static int replay_torch(struct racer *racer, int times, struct race_time *time)
{
	const struct states *states = racer->of;
	char line[64];

	snprintf(line, sizeof(line), "replay %u %d", states->graph.draws,
		 times);
	return torch_ask(states->torch, line, time, racer->note);
}

static const char *states_name(uint32_t count, int whole)
{
	return bench_name("states/%u/%s", count, whole ? "replay" : "call");
}

/* The rows of one figure: the call, or the replay. */
static void print_states(const struct states *states,
			 const struct racer *racers, int whole)
{
	struct bench *bench = states->graph.bench;
	const char *name = states_name(states->graph.draws, whole);

	for (int i = BARE; bench_wants(bench, name) && i < RACERS; i++) {
		const struct racer *peer = &racers[i];
		struct bench_row row = {
			.name = name,
			.value = whole ? racers[OURS].median.whole
				       : racers[OURS].median.call,
			.unit = "ns",
			.peer = peer->name,
			.peer_value = peer->out ? NAN
				      : whole   ? peer->median.whole
						: peer->median.call,
			.note = peer->out    ? peer->note
				: i == TORCH ? states->note
					     : NULL};

		bench_print(bench, &row);
	}
}

static int race_states(struct states *states)
{
	struct racer racers[RACERS] = {
		[OURS] = {.name = "philox", .run = run_ours, .of = states},
		[BARE] = {.name = "bare", .run = run_bare, .of = states},
		[TORCH] = {.name = "torch", .run = replay_torch, .of = states}};

	if (!states->torch)
		snprintf(racers[TORCH].note, RACE_NOTE_MAX, "%s", states->note);
	race(racers, RACERS, states->graph.bench->quick ? 0 : BUDGET);
	if (racers[OURS].out || racers[BARE].out) {
		complain("bench", "%s",
			 racers[racers[OURS].out ? OURS : BARE].note);
		return -1;
	}
	print_states(states, racers, 0);
	print_states(states, racers, 1);
	return 0;
}

static int count_is_wanted(const struct bench *bench, size_t i)
{
	return bench_wants(bench, states_name(counts[i], 0)) ||
	       bench_wants(bench, states_name(counts[i], 1));
}

static int measure_count(void *user, size_t i)
{
	struct states *states = user;
	struct bench *bench = states->bench;
	const uint32_t count = counts[i];
	int failed;

	bench_step(bench);
	states->graph = (struct bench_graph){
		.bench = bench, .ops = count, .passes = 1, .draws = count};
	failed = bench_graph_make(&states->graph) || race_states(states);
	bench_graph_clean(&states->graph);
	return failed ? -1 : 0;
}

static const struct bench_series states_series = {N_COUNTS, count_is_wanted,
						  measure_count};

/* PyTorch has graphs on a GPU only. */
static void open_states_torch(struct states *states, struct bench *bench)
{
	if (philox_device_is_host(bench->device))
		snprintf(states->note, RACE_NOTE_MAX,
			 "graphs of torch need a GPU");
	else
		states->torch =
			torch_open(bench->device, bench->threads, states->note);
	if (states->torch && !bench->json)
		printf("torch: %s\n", states->note);
}

size_t bench_states_steps(const struct bench *bench)
{
	return bench_series_steps(bench, &states_series);
}

int bench_states(struct bench *bench)
{
	struct states states = {.bench = bench};
	int failed;

	open_states_torch(&states, bench);
	failed = bench_series_run(bench, &states_series, &states);
	torch_close(states.torch);
	return failed;
}
