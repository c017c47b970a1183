/*
 * tests/simulated/chance.h - what the seed decides
 *
 * SIMULATED_SEED, 1 if it is not set, decides when the GPU works and in which
 * order. A program of one thread does the same again with the same seed, unless
 * it calls nothing for so long that the GPU goes on without it (gpu.c).
 */
#ifndef TESTS_SIMULATED_CHANCE_H
#define TESTS_SIMULATED_CHANCE_H

#include <stddef.h>
#include <stdint.h>

/* How the GPU goes on in calls that do not wait for it. */
enum chance_pace {
	CHANCE_SOMETIMES,
	CHANCE_NEVER, /* only calls that wait make it work: the host is ahead */
	CHANCE_ALWAYS /* it has finished before the call does anything */
};

/* A generator: xorshift64 (Marsaglia 2003). Each user has its own. */
struct chance {
	uint64_t state; /* 0: not yet seeded */
};

/* A number below n, which is not 0; `stream` parts the generators. */
size_t chance_below(struct chance *chance, unsigned stream, size_t n);

enum chance_pace chance_pace(void); /* of this seed */

#endif
