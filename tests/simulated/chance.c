/*
 * tests/simulated/chance.c - see tests/simulated/chance.h
 */
#include <stdlib.h>
#include "tests/simulated/chance.h"

static uint64_t seed(void)
{
	const char *text = getenv("SIMULATED_SEED");

	return text ? strtoull(text, NULL, 10) : 1;
}

size_t chance_below(struct chance *chance, unsigned stream, size_t n)
{
	if (!chance->state)
		chance->state = (2 * (seed() + 1000003 * stream) + 1) *
				0x9e3779b97f4a7c15u;
	chance->state ^= chance->state << 13;
	chance->state ^= chance->state >> 7;
	chance->state ^= chance->state << 17;
	return (size_t)((chance->state >> 11) % n);
}

/* Most seeds mix; each fourth one has one of the two extremes. */
enum chance_pace chance_pace(void)
{
	switch (seed() % 8) {
	case 2:
		return CHANCE_NEVER;
	case 3:
		return CHANCE_ALWAYS;
	default:
		return CHANCE_SOMETIMES;
	}
}
