/*
 * tests/quantize/known.c - rounded numbers against known answers
 *
 * known.txt has them: ties, ends, overflow, NaNs, retries. model/known.py made
 * it, which shares nothing with the library.
 */
#include <inttypes.h>
#include <stdio.h>
#include <philox/round.h>
#include "tests/support/support.h"

Test(quantize, numbers_are_rounded_to_known_answers)
{
	FILE *file = fopen("tests/quantize/known.txt", "r");
	unsigned read = 0;
	char line[128];

	cr_assert(file);
	while (fgets(line, sizeof(line), file)) {
		struct philox_rounding how;
		struct philox_state state;
		uint32_t input, code;
		uint64_t element;

		if (*line == '#')
			continue;
		cr_assert_eq(sscanf(line,
				    "%" SCNu32 " %" SCNu32 " %" SCNu32
				    " %" SCNu32 " %" SCNu64 " %" SCNu64
				    " %" SCNu64 " %" SCNx32 " -> %" SCNx32,
				    &how.format, &how.rule, &how.bits,
				    &how.saturate, &state.seed, &state.offset,
				    &element, &input, &code),
			     9, "%s", line);
		cr_assert_eq(philox_round_at(state, element,
					     philox_f32_from_bits(input), how),
			     code, "%s", line);
		read++;
	}
	fclose(file);
	cr_assert_gt(read, 400);
}

/* With 32 bits by rule FIXED bf16 and f16 are what they have always been. */
Test(quantize, bf16_and_f16_have_the_numbers_of_stochastic_rounding)
{
	const struct philox_state state = {7, 16};

	for (uint64_t e = 0; e < 1000000; e++) {
		const uint32_t w = philox_word_at(state, e);
		const float x = philox_f32_from_bits(
			philox_word_at(state, e ^ 0x5555555));

		for (uint32_t format = 0; format < 2; format++) {
			const struct philox_rounding how = {
				format, PHILOX_ROUND_FIXED, 32, 0};

			cr_assert_eq(philox_round_of(state, e, x, w, how),
				     format ? philox_round_f16(x, w)
					    : philox_round_bf16(x, w),
				     "%a, 0x%x", (double)x, w);
		}
	}
}

/* Over 6 x 448, but never so small that the scale of a block could be 0. */
Test(quantize, the_scale_of_a_tensor_brings_its_largest_number_to_2688)
{
	cr_assert_eq(philox_nvfp4_tensor_scale(0), 0);
	cr_assert_eq(philox_nvfp4_tensor_scale(2688), 1);
	cr_assert_eq(philox_nvfp4_tensor_scale(1e30f), 1e30f / 2688);
	cr_assert_eq(philox_nvfp4_tensor_scale(0x1p-149f), 0x1p-126f);
	cr_assert_eq(philox_nvfp4_tensor_scale(0x1p-114f), 0x1p-114f / 2688);
	cr_assert_gt(philox_nvfp4_scale_to_f32(1, 0x1p-126f), 0);
}

Test(quantize, signs_are_those_of_bernoulli_numbers)
{
	const struct philox_state state = {99, 4};
	const struct philox_state poison = {1, PHILOX_POISON_OFFSET};

	for (uint64_t e = 0; e < 32 * 100; e++) {
		const float one =
			philox_bernoulli_at(state, e, philox_threshold(0.5));
		const uint32_t bits = philox_sign_bits(state, e / 32);

		cr_assert_eq(philox_sign_at(state, e), 1 - 2 * one);
		cr_assert_eq(bits >> e % 32 & 1, (uint32_t)one);
	}
	cr_assert_eq(philox_sign_bits(poison, 3), UINT32_MAX);
	cr_assert(philox_sign_at(poison, 3) != philox_sign_at(poison, 3));
}
