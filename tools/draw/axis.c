/*
 * tools/draw/axis.c - streams of words across operators, calls and seeds
 *
 * Keys come from the functions of philox/state.h and no region is made: a
 * region has at most 2^20 operators, and a test battery needs more.
 */
#include "tools/draw/draw.h"
#include "lib/state/state.h"

static uint32_t word_of(uint64_t seed, uint64_t offset)
{
	struct philox_state state = {seed, offset};

	return philox_draw4(state, 0).w[0];
}

static uint64_t region_seed(uint64_t generator_seed, uint64_t key)
{
	return philox_fold(generator_seed, PHILOX_FOLD_REGION, key);
}

static void draw_ops(uint64_t region, uint64_t offset, uint64_t first,
		     uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t op = first + i;

		words[i] = word_of(philox_op_seed(region, (uint32_t)op,
						  (uint32_t)(op >> 32)),
				   offset);
	}
}

static void draw_calls(uint64_t region, uint64_t offset, uint64_t first,
		       uint32_t *words, size_t n)
{
	uint64_t seed = philox_op_seed(region, 0, 0);

	for (size_t i = 0; i < n; i++)
		words[i] = word_of(seed, offset + 4 * (first + i));
}

static void draw_seeds(struct philox_state generator, uint64_t key,
		       uint64_t first, uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t region = region_seed(generator.seed + first + i, key);

		words[i] =
			word_of(philox_op_seed(region, 0, 0), generator.offset);
	}
}

void axis_draw(enum axis axis, struct philox_state generator, uint64_t first,
	       uint32_t *words, size_t n)
{
	uint64_t key = hash_text(AXIS_REGION, sizeof(AXIS_REGION) - 1);
	uint64_t region = region_seed(generator.seed, key);

	if (axis == AXIS_OP)
		draw_ops(region, generator.offset, first, words, n);
	else if (axis == AXIS_CALL)
		draw_calls(region, generator.offset, first, words, n);
	else
		draw_seeds(generator, key, first, words, n);
}
