/*
 * philox/values.h - from words to values: every distribution's formula
 */
#ifndef PHILOX_VALUES_H
#define PHILOX_VALUES_H

#include <philox/functions.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Uniform numbers in [0, 1), all of them exact: 24 bits of a word as f32, 8
 * bits as bf16, 53 bits of a 64-bit draw as f64.
 */
PHILOX_FN float philox_uniform_f32(uint32_t w)
{
	return (float)(w >> 8) * 5.96046448e-08f;
}

PHILOX_FN uint16_t philox_uniform_bf16(uint32_t w)
{
	return philox_f32_to_bf16((float)(w >> 24) * 0.00390625f);
}

PHILOX_FN double philox_uniform_f64(uint64_t w64)
{
	return (double)(w64 >> 11) * 1.1102230246251565e-16;
}

/*
 * philox_normal_pair() makes two independent normal numbers of two words
 * (Box-Muller), the sine first as cuRAND does, within 7e-7 of the exact values
 * of the formula, or 1.2e-6 (2.5 units in the last place) where the radius is 4
 * or more. |x| <= 6.77, and no result is -0.
 */
PHILOX_FN void philox_normal_pair(uint32_t w0, uint32_t w1, float *x, float *y)
{
	float radius = philox_root(philox_minus_2_ln(w0));
	float sine, cosine;

	philox_sin_cos(w1, &sine, &cosine);
	/* adding 0 to the product makes 0 of -0 */
	*x = philox_multiply_add(radius, sine, 0.0f);
	*y = philox_multiply_add(radius, cosine, 0.0f);
}

/*
 * A threshold T = round(p * 2^32), in 33 bits, decides with probability 1 - p
 * whether a word's element is kept; the same T makes Bernoulli numbers, which
 * are 1 where nothing is kept. philox_threshold() is for p in [0, 1].
 */
PHILOX_FN uint64_t philox_threshold(double p)
{
	double exact = p * 4294967296.0;
	uint64_t whole = (uint64_t)exact;

	return whole + (exact - (double)whole >= 0.5);
}

PHILOX_FN int philox_keep(uint32_t w, uint64_t threshold)
{
	return w >= threshold;
}

/*
 * philox_dropout_f32() drops or scales x; what is dropped is 0, even a NaN. A
 * NaN that is kept becomes the one with bits 0x7fc00000, since machines differ
 * in what a product makes of it. The scale of probability p is
 * philox_dropout_scale(p); for p = 1, which keeps nothing, it is 0.
 */
PHILOX_FN float philox_dropout_f32(float x, uint32_t w, uint64_t threshold,
				   float scale)
{
	uint32_t bits = philox_f32_bits(philox_multiply(x, scale));

	if ((bits & 0x7fffffffu) > 0x7f800000u)
		bits = 0x7fc00000u;
	/* no branch: which are kept cannot be predicted */
	return philox_f32_from_bits(bits &
				    (0u - (uint32_t)philox_keep(w, threshold)));
}

PHILOX_FN float philox_dropout_scale(double p)
{
	return p < 1.0 ? (float)(1.0 / (1.0 - p)) : 0.0f;
}

#ifdef __cplusplus
}
#endif
#endif
