/*
 * tests/support/ranks/world.h - processes that are joined by sockets
 *
 * A world has some processes, its ranks, which are forked from the test and do
 * the same things in the same order: each of the functions below is called by
 * all of them, and gives all the same answer. The test's process stands between
 * them, and it ends the test if two ranks do different things, or if some wait
 * for one that does nothing: where processes really wait for each other, that
 * is what hangs.
 *
 * A rank may die. Then whatever the others ask together with it fails, once, in
 * all of them; from then on the world is smaller.
 */
#ifndef TESTS_SUPPORT_WORLD_H
#define TESTS_SUPPORT_WORLD_H

#include <stddef.h>
#include <stdint.h>

enum { RANKS_MAX = 4, WORLD_WORDS = 16, WORLD_TALLIES = 8 };

struct world {
	int rank;
	uint32_t members; /* a bit for each rank that lives, as far as known */
	uint32_t epoch;   /* counts the deaths */
	int broken;       /* a sum has failed: some rank had died */
	int ask, add;     /* sockets */
	uint32_t asked, added;
};

/*
 * world_run() has `n` processes do `work`, and waits for them: the bits of the
 * ranks that were killed. tallies[] is the sum of what they left by
 * world_tally(), unless it is NULL. Any other end of a rank ends the test.
 */
uint32_t world_run(int n, void (*work)(struct world *world, void *user),
		   void *user, uint64_t tallies[WORLD_TALLIES]);

/* The least of all values; 0: a rank has died, and `members` are fewer. */
int world_least(struct world *world, uint32_t value, uint32_t *least);

/*
 * An allgather of `size` bytes, in order of rank; all give the same size.
 * Returns as above, and then *all is undefined.
 */
int world_gather(struct world *world, const void *mine, size_t size, void *all);

/* All have the same value, or the test ends; returns as above. */
int world_same(struct world *world, uint32_t value);

/*
 * Sums of all, modulo 2^32; all give the same `kind`. If a rank has died the
 * words stay, and `broken` is set. May be called on another thread than the
 * rest, but not at the same time as anything that reads *world.
 */
void world_sum(struct world *world, uint32_t kind, uint32_t *words);

/* Adds to a tally of all ranks. */
void world_tally(unsigned which, uint64_t count);

#endif
