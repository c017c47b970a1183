/*
 * tests/tools/bench_race.c - the promises of tools/bench/race.h
 *
 * Racers here do nothing and say how long it took, so nothing depends on time.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include "tools/bench/race.h"

enum { RACERS = 3 };

/* Who ran when, since the calibration. */
static char order[256];
static int runs[RACERS], fails_at[RACERS];
static double costs[RACERS]; /* nanoseconds of one repetition */

static int run(struct racer *racer, int times, struct race_time *time)
{
	int me = *(int *)racer->of;
	size_t length = strlen(order);

	runs[me]++;
	if (runs[me] == fails_at[me]) {
		snprintf(racer->note, RACE_NOTE_MAX, "it broke");
		return -1;
	}
	if (length + 1 < sizeof(order))
		order[length] = (char)('A' + me);
	time->whole = times * costs[me];
	time->call = time->whole / 2;
	return 0;
}

static void make(struct racer racers[RACERS])
{
	static int numbers[RACERS] = {0, 1, 2};

	memset(racers, 0, RACERS * sizeof(*racers));
	memset(order, 0, sizeof(order));
	memset(runs, 0, sizeof(runs));
	memset(fails_at, 0, sizeof(fails_at));
	for (int i = 0; i < RACERS; i++) {
		racers[i].run = run;
		racers[i].of = &numbers[i];
		costs[i] = 1000 * (i + 1);
	}
}

/* The last `count` runs. */
static const char *last(size_t count)
{
	return order + strlen(order) - count;
}

Test(bench_race, racers_take_turns)
{
	struct racer racers[RACERS];

	make(racers);
	race(racers, RACERS, 1e6);
	cr_assert_str_eq(last(3 * RACE_ROUNDS), "ABCABCABCABCABCABCABC");
}

Test(bench_race, no_budget_is_one_round)
{
	struct racer racers[RACERS];

	make(racers);
	race(racers, RACERS, 0);
	cr_assert_str_eq(order, "ABC");
	cr_assert_eq(racers[2].median.whole, 3000);
}

Test(bench_race, a_figure_is_of_one_repetition)
{
	struct racer racers[RACERS];

	make(racers);
	race(racers, RACERS, 1e6);
	for (int i = 0; i < RACERS; i++) {
		cr_assert_float_eq(racers[i].median.whole, costs[i], 1e-9);
		cr_assert_float_eq(racers[i].median.call, costs[i] / 2, 1e-9);
	}
}

Test(bench_race, quick_work_is_repeated_and_slow_work_is_not)
{
	struct racer racers[RACERS];

	make(racers);
	costs[1] = 1e9;
	race(racers, RACERS, 21e6); /* a slice of a million nanoseconds */
	cr_assert_eq(racers[0].times, 1000, "%d times", racers[0].times);
	cr_assert_eq(racers[1].times, 1, "%d times", racers[1].times);
	cr_assert_eq(racers[2].times, 333, "%d times", racers[2].times);
	cr_assert_leq(runs[1], 4, "the slow one ran %d times", runs[1]);
}

static double sequence[RACE_ROUNDS] = {5, 100, 3, 4, 1, 90, 2};
static int at;

static int run_sequence(struct racer *racer, int times, struct race_time *time)
{
	(void)racer;
	/* what calibrates finds a slice filled at once */
	time->whole = runs[0]++ < 2 ? 1e6 : sequence[at++] * times;
	time->call = time->whole;
	return 0;
}

Test(bench_race, a_figure_is_the_median_of_the_rounds)
{
	struct racer racer = {.run = run_sequence};

	race(&racer, 1, RACE_ROUNDS * 1e6);
	cr_assert_eq(at, RACE_ROUNDS);
	cr_assert_eq(racer.median.whole, 4);
}

Test(bench_race, one_that_fails_is_out_and_the_others_go_on)
{
	struct racer racers[RACERS];

	for (int when = 1; when < 12; when++) {
		make(racers);
		fails_at[1] = when;
		race(racers, RACERS, 1e6);
		cr_assert(!racers[0].out && !racers[2].out);
		cr_assert(racers[1].out, "failing run %d", when);
		cr_assert_str_eq(racers[1].note, "it broke");
		cr_assert_eq(runs[1], when, "it ran again");
		cr_assert_float_eq(racers[2].median.whole, 3000, 1e-9);
	}
}

Test(bench_race, one_that_is_missing_does_not_run)
{
	struct racer racers[RACERS];

	make(racers);
	snprintf(racers[1].note, RACE_NOTE_MAX, "not here");
	race(racers, RACERS, 1e6);
	cr_assert(racers[1].out);
	cr_assert_eq(runs[1], 0);
	cr_assert_str_eq(last(2 * RACE_ROUNDS), "ACACACACACACAC");
}
