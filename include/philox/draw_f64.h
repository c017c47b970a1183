/*
 * philox/draw_f64.h - f64 numbers for your own kernels
 *
 * These are the functions of philox/draw.h with 64 bits per draw: a Philox
 * block makes two elements, 2b and 2b + 1. b goes up to 2^63 - 1.
 *
 * Bernoulli numbers and dropout take 32 bits in every dtype: philox/draw.h has
 * their masks, and philox_dropout_f64_at() is below.
 */
#ifndef PHILOX_DRAW_F64_H
#define PHILOX_DRAW_F64_H

#include <philox/draw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* struct philox_f64x2 holds the values of a block's two elements. */
struct philox_f64x2 {
	double v[2];
};

/* philox_or_poison_f64() returns x, or NaN if the state is poisoned. */
PHILOX_FN double philox_or_poison_f64(struct philox_state state, double x)
{
	return philox_is_poison(state)
		       ? philox_f64_from_bits(0x7ff8000000000000ULL)
		       : x;
}

PHILOX_FN struct philox_f64x2 philox_or_poison2(struct philox_state state,
						struct philox_f64x2 x)
{
	for (int i = 0; i < 2; i++)
		x.v[i] = philox_or_poison_f64(state, x.v[i]);
	return x;
}

/* --- two elements --------------------------------------------------------- */

/*
 * philox_uniform2() draws numbers from [0, 1), multiples of 2^-53. For another
 * range apply philox_range_f64(), which does not keep a NaN: follow it with
 * philox_or_poison_f64().
 */
PHILOX_FN struct philox_f64x2 philox_uniform2(struct philox_state state,
					      uint64_t block)
{
	struct philox_words64 words = philox_words2(state, block);
	struct philox_f64x2 u;

	for (int i = 0; i < 2; i++)
		u.v[i] = philox_uniform_f64(words.w[i]);
	return philox_or_poison2(state, u);
}

/*
 * philox_normal2() draws normal numbers of mean 0 and standard deviation 1;
 * for others use philox_multiply_add_f64(x, std, mean).
 */
PHILOX_FN struct philox_f64x2 philox_normal2(struct philox_state state,
					     uint64_t block)
{
	struct philox_words64 words = philox_words2(state, block);
	struct philox_f64x2 x;

	philox_normal_pair_f64(words.w[0], words.w[1], &x.v[0], &x.v[1]);
	return philox_or_poison2(state, x);
}

/* philox_log_normal2() draws exp(mean + std z), z a normal number. */
PHILOX_FN struct philox_f64x2 philox_log_normal2(struct philox_state state,
						 uint64_t block, double mean,
						 double std)
{
	struct philox_f64x2 x = philox_normal2(state, block);

	for (int i = 0; i < 2; i++)
		x.v[i] = philox_log_normal_f64(x.v[i], mean, std);
	return philox_or_poison2(state, x);
}

/*
 * philox_exponential2() draws exponential numbers of rate 1; for others use
 * philox_multiply_f64(x, 1 / rate).
 */
PHILOX_FN struct philox_f64x2 philox_exponential2(struct philox_state state,
						  uint64_t block)
{
	struct philox_words64 words = philox_words2(state, block);
	struct philox_f64x2 x;

	for (int i = 0; i < 2; i++)
		x.v[i] = philox_exponential_f64(words.w[i]);
	return philox_or_poison2(state, x);
}

/* philox_gumbel2() draws Gumbel numbers. */
PHILOX_FN struct philox_f64x2 philox_gumbel2(struct philox_state state,
					     uint64_t block)
{
	struct philox_words64 words = philox_words2(state, block);
	struct philox_f64x2 x;

	for (int i = 0; i < 2; i++)
		x.v[i] = philox_gumbel_f64(words.w[i]);
	return philox_or_poison2(state, x);
}

/* --- one element ---------------------------------------------------------- */

/* These are the functions above for one element. */
PHILOX_FN double philox_uniform_f64_at(struct philox_state state,
				       uint64_t element)
{
	return philox_or_poison_f64(
		state, philox_uniform_f64(philox_word64_at(state, element)));
}

PHILOX_FN double philox_normal_f64_at(struct philox_state state,
				      uint64_t element)
{
	struct philox_f64x2 x = philox_normal2(state, element / 2);

	return element & 1 ? x.v[1] : x.v[0];
}

PHILOX_FN double philox_log_normal_f64_at(struct philox_state state,
					  uint64_t element, double mean,
					  double std)
{
	double z = philox_normal_f64_at(state, element);

	return philox_or_poison_f64(state, philox_log_normal_f64(z, mean, std));
}

PHILOX_FN double philox_exponential_f64_at(struct philox_state state,
					   uint64_t element)
{
	uint64_t w64 = philox_word64_at(state, element);

	return philox_or_poison_f64(state, philox_exponential_f64(w64));
}

PHILOX_FN double philox_gumbel_f64_at(struct philox_state state,
				      uint64_t element)
{
	uint64_t w64 = philox_word64_at(state, element);

	return philox_or_poison_f64(state, philox_gumbel_f64(w64));
}

/* philox_dropout_f64_at() takes the scale philox_dropout_scale_f64(p). */
PHILOX_FN double philox_dropout_f64_at(struct philox_state state,
				       uint64_t element, double x,
				       uint64_t threshold, double scale)
{
	uint32_t w = philox_word_at(state, element);

	return philox_or_poison_f64(state,
				    philox_dropout_f64(x, w, threshold, scale));
}

#ifdef __cplusplus
}
#endif
#endif
