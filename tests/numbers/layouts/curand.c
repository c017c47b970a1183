/*
 * tests/numbers/layouts/curand.c - the numbers are those of cuRAND's device
 * generator
 *
 * With the toolkit only: without it these tests say that they were skipped.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <philox/kernel.h>
#include "tests/support/oracles/curand.h"

#ifdef PHILOX_ORACLE_CURAND

/* Offsets and elements where a counter carries. */
static const uint64_t corners[] = {0,
				   (uint64_t)1 << 32,
				   (uint64_t)1 << 33,
				   (uint64_t)1 << 34,
				   (uint64_t)1 << 62,
				   (uint64_t)1 << 63};

#define N_CORNERS (sizeof(corners) / sizeof(corners[0]))

static uint64_t join(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

static void check_words(struct philox_state state, uint64_t element)
{
	struct philox_words got = philox_draw4(state, element / 4);
	uint32_t expected[4];

	oracle_curand4(state.seed, element / 4, state.offset, expected);
	cr_assert_arr_eq(got.w, expected, sizeof(expected),
			 "seed %" PRIx64 ", offset %" PRIx64
			 ", element %" PRIx64,
			 state.seed, state.offset, element);
}

Test(curand, curand4_gives_the_same_words)
{
	for (uint64_t i = 0; i < 200000; i++) {
		struct philox_words a = philox_block(1, i, 0);
		struct philox_words b = philox_block(2, i, 0);
		struct philox_state state = {join(a.w[0], a.w[1]),
					     join(a.w[2], a.w[3]) &
						     ~(uint64_t)3};

		check_words(state, join(b.w[0], b.w[1]));
	}
}

/* The 16 multiples of 4 around a corner; the end comes before 0. */
static uint64_t near(uint64_t corner, uint64_t i)
{
	return corner + i * 4 - 32;
}

Test(curand, curand4_gives_the_same_words_where_counters_carry)
{
	for (size_t i = 0; i < N_CORNERS; i++)
		for (size_t j = 0; j < N_CORNERS; j++)
			for (uint64_t k = 0; k < 16 * 16; k++) {
				struct philox_state state = {
					k, near(corners[i], k / 16)};

				check_words(state, near(corners[j], k % 16));
			}
}

/* cuRAND rounds the angle to float before it takes the sine. */
Test(curand, curand_normal4_gives_nearly_the_same_numbers)
{
	for (uint64_t i = 0; i < 200000; i++) {
		struct philox_words w = philox_block(3, i, 0);
		struct philox_state state = {join(w.w[0], w.w[1]),
					     (uint64_t)w.w[2] * 4};
		struct philox_words mine = philox_draw4(state, w.w[3]);
		float expected[4], got[4];

		oracle_curand_normal4(state.seed, w.w[3], state.offset,
				      expected);
		philox_normal_pair(mine.w[0], mine.w[1], &got[0], &got[1]);
		philox_normal_pair(mine.w[2], mine.w[3], &got[2], &got[3]);
		for (int k = 0; k < 4; k++)
			cr_assert(fabsf(got[k] - expected[k]) <= 3e-6f,
				  "%a, not %a", got[k], expected[k]);
	}
}

#else

#define WITHOUT_TOOLKIT(name)                                      \
	Test(curand, name)                                         \
	{                                                          \
		cr_skip_test("built without curand_kernel.h of a " \
			     "CUDA toolkit");                      \
	}

WITHOUT_TOOLKIT(curand4_gives_the_same_words)
WITHOUT_TOOLKIT(curand4_gives_the_same_words_where_counters_carry)
WITHOUT_TOOLKIT(curand_normal4_gives_nearly_the_same_numbers)

#endif
