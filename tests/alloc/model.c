/*
 * tests/alloc/model.c - random operations on pools and on a model of them
 *
 * PHILOX_POOL_SEED chooses other games, PHILOX_POOL_STEPS how many operations
 * there are in all; a difference is shown with the seed of its game.
 */
#include <stdlib.h>
#include "tests/fuzz/pool.h"
#include "tests/support/models/pool_game.h"
#include "tests/support/programs/sanitized.h"
#include "tests/support/support.h"

#define GAME_STEPS 20000

/* Fewer where each takes ten times as long */
#if defined(PHILOX_DEBUG) || SANITIZED
#define STEPS_AS_RULE 100000
#else
#define STEPS_AS_RULE 1000000
#endif

/* SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
 * Generators", OOPSLA 2014. */
static uint64_t random_bits(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint32_t random_below(void *user, uint32_t n)
{
	return (uint32_t)((random_bits(user) >> 32) * n >> 32);
}

static uint64_t from_environment(const char *name, uint64_t as_rule)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : as_rule;
}

static void play(uint64_t seed, uint64_t steps)
{
	static struct pool_game game;
	uint64_t state = seed;

	game_open(&game, random_below, &state);
	game.seed = seed;
	while (game.steps < steps)
		game_step(&game);
	game_close(&game);
}

Test(pool_model, a_pool_does_what_a_model_of_bytes_does, .timeout = 3600)
{
	uint64_t seed = from_environment("PHILOX_POOL_SEED", 1);
	uint64_t left = from_environment("PHILOX_POOL_STEPS", STEPS_AS_RULE);
	uint64_t steps;

	for (; left; left -= steps) {
		steps = left < GAME_STEPS ? left : GAME_STEPS;
		play(seed++, steps);
	}
}

Test(pool_model, bytes_can_be_operations)
{
	uint64_t state = 5;
	uint8_t bytes[4096];

	for (size_t size = 0; size <= sizeof(bytes); size = 2 * size + 1) {
		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)random_bits(&state);
		fuzz_pool(bytes, size);
	}
}
