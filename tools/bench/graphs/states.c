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
	struct bench_graph graph;
	struct torch *torch; /* NULL: missing, and why is in note */
	char note[RACE_NOTE_MAX];
};

static int run_graph(struct states *states, int bare, int times,
		     struct race_time *time, char note[RACE_NOTE_MAX])
{
	if (!bench_graph_run(&states->graph, bare, times, time))
		return 0;
	snprintf(note, RACE_NOTE_MAX, "%s", philox_error_message());
	return -1;
}

static int run_ours(struct racer *racer, int times, struct race_time *time)
{
	return run_graph(racer->of, 0, times, time, racer->note);
}

static int run_bare(struct racer *racer, int times, struct race_time *time)
{
	return run_graph(racer->of, 1, times, time, racer->note);
}

static int replay_torch(struct racer *racer, int times, struct race_time *time)
{
	const struct states *states = racer->of;
	char line[64];

	snprintf(line, sizeof(line), "replay %u %d", states->graph.draws,
		 times);
	return torch_ask(states->torch, line, time, racer->note);
}

/* The rows of one figure: the call, or the replay. */
static void print_states(const struct states *states,
			 const struct racer *racers, int whole)
{
	struct bench *bench = states->graph.bench;
	char name[64];

	snprintf(name, sizeof(name), "states/%u/%s", states->graph.draws,
		 whole ? "replay" : "call");
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

static int count_is_wanted(const struct bench *bench, uint32_t count)
{
	char names[2][64];

	snprintf(names[0], sizeof(names[0]), "states/%u/call", count);
	snprintf(names[1], sizeof(names[1]), "states/%u/replay", count);
	return bench_wants(bench, names[0]) || bench_wants(bench, names[1]);
}

static int measure_count(struct states *states, struct bench *bench,
			 uint32_t count)
{
	int failed;

	bench_step(bench);
	states->graph = (struct bench_graph){
		.bench = bench, .ops = count, .passes = 1, .draws = count};
	failed = bench_graph_make(&states->graph) || race_states(states);
	bench_graph_clean(&states->graph);
	return failed ? -1 : 0;
}

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
	size_t steps = 0;

	for (size_t i = 0; i < N_COUNTS; i++)
		steps += count_is_wanted(bench, counts[i]) != 0;
	return steps;
}

int bench_states(struct bench *bench)
{
	struct states states = {.torch = NULL};
	int failed = 0;

	open_states_torch(&states, bench);
	for (size_t i = 0; i < N_COUNTS && !failed; i++)
		if (count_is_wanted(bench, counts[i]))
			failed = measure_count(&states, bench, counts[i]);
	torch_close(states.torch);
	return failed ? -1 : 0;
}
