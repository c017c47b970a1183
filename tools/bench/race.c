/*
 * tools/bench/race.c - contestants that take turns
 */
#include "tools/bench/bench.h"

#include <stdio.h>
#include "tools/cli/cli.h"

#define ROUNDS_LEAST 3       /* for a race that takes too long */
#define TIMES_MOST   1000000 /* in a round */

/* A racer that fails does not run again. */
static int run_racer(struct racer *racer, int times, struct race_time *time)
{
	if (racer->run(racer, times, time))
		racer->out = 1;
	return racer->out;
}

/*
 * calibrate() finds how many repetitions last for about `slice` nanoseconds.
 * The first one includes one-time costs; it counts if it is so slow that these
 * cannot matter. Few repetitions include the cost of waking up threads: their
 * number grows until they last for at least half a slice.
 */
static void calibrate(struct racer *racer, double slice, double budget)
{
	struct race_time time;
	double per_time;
	int times = 1;

	if (run_racer(racer, 1, &time))
		return;
	while (time.whole < budget / 2 && !run_racer(racer, times, &time) &&
	       time.whole < slice / 2 && times < TIMES_MOST / 8)
		times *= time.whole < slice / 16 ? 8 : 2;
	if (racer->out)
		return;
	per_time = time.whole / times;
	racer->times = 1;
	if (per_time * TIMES_MOST < slice)
		racer->times = TIMES_MOST;
	else if (per_time < slice)
		racer->times = (int)(slice / per_time);
	racer->estimate = racer->times * per_time;
}

static void run_round(struct racer *racers, size_t count, int round)
{
	struct race_time time;

	for (size_t i = 0; i < count; i++) {
		struct racer *racer = &racers[i];

		if (racer->out || run_racer(racer, racer->times, &time))
			continue;
		racer->call[round] = time.call / racer->times;
		racer->whole[round] = time.whole / racer->times;
	}
}

/* The number of rounds that there is time for: odd. */
static int choose_rounds(const struct racer *racers, size_t count,
			 double budget)
{
	double round = 0;

	if (budget <= 0)
		return 1;
	for (size_t i = 0; i < count; i++)
		if (!racers[i].out)
			round += racers[i].estimate;
	return round * RACE_ROUNDS > 3 * budget ? ROUNDS_LEAST : RACE_ROUNDS;
}

void race(struct racer *racers, size_t count, double budget)
{
	double slice = budget / (double)(RACE_ROUNDS * count);
	int rounds;

	for (size_t i = 0; i < count; i++) {
		racers[i].times = 1;
		racers[i].out = racers[i].note[0] != '\0';
		if (!racers[i].out && budget > 0)
			calibrate(&racers[i], slice, budget);
	}
	rounds = choose_rounds(racers, count, budget);
	for (int i = 0; i < rounds; i++)
		run_round(racers, count, i);
	for (size_t i = 0; i < count; i++) {
		if (racers[i].out)
			continue;
		racers[i].median.call = bench_median(racers[i].call, rounds);
		racers[i].median.whole = bench_median(racers[i].whole, rounds);
	}
}

int race_failed(const struct racer *racers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (racers[i].out) {
			complain("bench", "%s: %s", racers[i].name,
				 racers[i].note);
			return -1;
		}
	return 0;
}

enum philox_status race_repeat(const struct bench *bench, int times,
			       enum philox_status (*work)(void *of), void *of,
			       struct race_time *time)
{
	enum philox_status status = PHILOX_OK;
	double start = bench_now();

	for (int i = 0; status == PHILOX_OK && i < times; i++)
		status = work(of);
	time->call = bench_now() - start;
	if (status == PHILOX_OK)
		status = bench_wait(bench);
	time->whole = bench_now() - start;
	return status;
}

int race_note(struct racer *racer, enum philox_status status)
{
	if (status == PHILOX_OK)
		return 0;
	snprintf(racer->note, RACE_NOTE_MAX, "%s", philox_error_message());
	return -1;
}
