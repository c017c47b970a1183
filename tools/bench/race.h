/*
 * tools/bench/race.h - contestants that take turns
 *
 * In every round each racer runs once, A B C A B C ..., so that a disturbance
 * of the machine affects all of them; a racer's figure is the median of its
 * rounds. How often it repeats its work within a round is found first: often
 * enough that clocks and launches of the first repetition do not matter, and
 * not so often that the race takes longer than it may.
 */
#ifndef TOOLS_BENCH_RACE_H
#define TOOLS_BENCH_RACE_H

#include <stddef.h>

#define RACE_ROUNDS   7 /* odd: the median is one of them */
#define RACE_NOTE_MAX 160

/* Nanoseconds: until the calls had returned, and until the work was done. */
struct race_time {
	double call, whole;
};

struct racer {
	const char *name;
	/*
	 * Does the work `times` times, waits for it and writes how long it took
	 * in all. 0, or -1 with a note, which ends the race for this racer.
	 */
	int (*run)(struct racer *racer, int times, struct race_time *time);
	void *of;                 /* for run() */
	char note[RACE_NOTE_MAX]; /* set before the race: does not take part */
	int out;                  /* does not or no longer take part */

	struct race_time median; /* of one repetition, after the race */

	/* the race's own */
	int times;
	double estimate; /* of a round */
	double call[RACE_ROUNDS], whole[RACE_ROUNDS];
};

/*
 * race() lets racers run for about `budget` nanoseconds, 0 meaning a single
 * round of one repetition. Slow ones overrun it: each runs four times.
 */
void race(struct racer *racers, size_t count, double budget);

#endif
