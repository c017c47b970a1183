/*
 * philox/draw_f16.h - bf16 and f16 numbers for your own kernels
 *
 * Values are bits in uint16_t. In general they are the f32 values of
 * philox/draw.h, converted by philox_f32_to_bf16() or philox_f32_to_f16(), so
 * that words and masks are the same in every dtype. This header has the values
 * that differ: uniform numbers, which have as many bits as the dtype has
 * digits, and stochastic rounding. A poisoned state gives NaN.
 */
#ifndef PHILOX_DRAW_F16_H
#define PHILOX_DRAW_F16_H

#include <philox/draw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers from [0, 1): multiples of 2^-8 and of 2^-11. */
PHILOX_FN uint16_t philox_uniform_bf16_at(struct philox_state state,
					  uint64_t element)
{
	float u = philox_uniform_8(philox_word_at(state, element));

	return philox_f32_to_bf16(philox_or_poison(state, u));
}

PHILOX_FN uint16_t philox_uniform_f16_at(struct philox_state state,
					 uint64_t element)
{
	float u = philox_uniform_11(philox_word_at(state, element));

	return philox_f32_to_f16(philox_or_poison(state, u));
}

/* Rounds x to one of its two neighbours so that the expectation is x. */
PHILOX_FN uint16_t philox_round_bf16_at(struct philox_state state,
					uint64_t element, float x)
{
	return philox_round_bf16(philox_or_poison(state, x),
				 philox_word_at(state, element));
}

PHILOX_FN uint16_t philox_round_f16_at(struct philox_state state,
				       uint64_t element, float x)
{
	return philox_round_f16(philox_or_poison(state, x),
				philox_word_at(state, element));
}

#ifdef __cplusplus
}
#endif
#endif
