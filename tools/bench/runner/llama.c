/*
 * tools/bench/runner/llama.c - a step of a model whose layers share a function
 *
 * Beside it the same graphs are launched one after the other. What a step takes
 * longer is the runner's.
 */
#include <stdio.h>
#include "tools/bench/race.h"
#include "tools/bench/runner/runner.h"
#include "tools/bench/runner/model.h"
#include "tools/cli/complain.h"

#define BUDGET 1e9 /* nanoseconds of the race, about */

/* --- raced ---------------------------------------------------------------- */

enum { RUNNER, LAUNCHES, RACERS };

static int run_steps(struct racer *racer, int times, struct race_time *time,
		     enum philox_status (*step)(struct model *of))
{
	struct model *of = racer->of;
	struct bench *bench = of->bench;
	enum philox_status status = PHILOX_OK;
	double start = bench_now();

	for (int i = 0; status == PHILOX_OK && i < times; i++)
		status = step(of);
	time->call = bench_now() - start;
	if (status == PHILOX_OK)
		status =
			philox_stream_synchronize(bench->device, bench->stream);
	time->whole = bench_now() - start;
	if (status == PHILOX_OK)
		return 0;
	snprintf(racer->note, RACE_NOTE_MAX, "%s", philox_error_message());
	return -1;
}

static int race_runner(struct racer *racer, int times, struct race_time *time)
{
	return run_steps(racer, times, time, model_step);
}

static int race_launches(struct racer *racer, int times, struct race_time *time)
{
	return run_steps(racer, times, time, model_launch);
}

static void print_step(const struct model *of, const struct racer *racers)
{
	const double ours = racers[RUNNER].median.call;
	const double launches = racers[LAUNCHES].median.call;

	bench_runner_print(of->bench,
			   &(struct bench_row){.name = "runner/llama/step",
					       .value = ours,
					       .unit = "ns",
					       .peer = "launches",
					       .peer_value = launches});
	bench_runner_print(
		of->bench,
		&(struct bench_row){.name = "runner/llama/share",
				    .value = 100 * (1 - launches / ours),
				    .unit = "%"});
}

static int race_steps(struct model *of)
{
	struct racer racers[RACERS] = {
		[RUNNER] = {.name = "runner", .run = race_runner, .of = of},
		[LAUNCHES] = {
			.name = "launches", .run = race_launches, .of = of}};

	race(racers, RACERS, of->bench->quick ? 0 : BUDGET);
	for (int i = 0; i < RACERS; i++)
		if (racers[i].out) {
			complain("bench", "%s: %s", racers[i].name,
				 racers[i].note);
			return -1;
		}
	if (!model_is_replayed(of)) {
		complain("bench", "a step was not replayed");
		return -1;
	}
	print_step(of, racers);
	return 0;
}

/* --- the group ------------------------------------------------------------ */

static size_t llama_steps(const struct bench *bench)
{
	return bench_wants(bench, "runner/llama/step") ||
	       bench_wants(bench, "runner/llama/share");
}

static int run_llama(struct bench *bench)
{
	struct model of = {.bench = bench};
	int failed;

	bench_step(bench);
	failed = model_make(&of, bench) || model_record(&of) || race_steps(&of);
	model_clean(&of);
	return failed ? -1 : 0;
}

const struct runner_group runner_llama = {llama_steps, run_llama};
