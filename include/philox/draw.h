/*
 * philox/draw.h - f32 numbers for your own kernels, four elements or one
 *
 * The numbers are those of the fills (philox/fill.h), bit for bit: element e of
 * an operator has the same value whoever draws it, in any order and any number
 * of times.
 *
 *   struct philox_state state = philox_resolve(rng);
 *   float x = philox_normal_at(state, e);
 *
 * One Philox block makes four elements: a thread that has elements 4b .. 4b + 3
 * to itself draws them as block b with the functions whose names end in 4, at a
 * quarter of the work. e goes up to 2^64 - 1, b to 2^62 - 1.
 *
 * Other types have their own headers: philox/draw_f64.h, philox/draw_f16.h,
 * philox/integers.h.
 *
 * A poisoned state (philox_is_poison()) gives NaN; its words are all-ones, and
 * a mask, which cannot hold a NaN, keeps nothing.
 */
#ifndef PHILOX_DRAW_H
#define PHILOX_DRAW_H

#include <philox/state.h>
#include <philox/values.h>

#ifdef __cplusplus
extern "C" {
#endif

/* struct philox_f32x4 holds the values of a block's four elements. */
struct philox_f32x4 {
	float v[4];
};

/* struct philox_words64 holds the bits of two elements of a 64-bit type. */
struct philox_words64 {
	uint64_t w[2];
};

/* philox_or_poison() returns x, or NaN if the state is poisoned. */
PHILOX_FN float philox_or_poison(struct philox_state state, float x)
{
	return philox_is_poison(state) ? philox_f32_from_bits(0x7fc00000u) : x;
}

PHILOX_FN struct philox_f32x4 philox_or_poison4(struct philox_state state,
						struct philox_f32x4 x)
{
	for (int i = 0; i < 4; i++)
		x.v[i] = philox_or_poison(state, x.v[i]);
	return x;
}

/* --- four elements -------------------------------------------------------- */

/* philox_words4() draws the words of a block. */
PHILOX_FN struct philox_words philox_words4(struct philox_state state,
					    uint64_t block)
{
	struct philox_words words = philox_draw4(state, block);

	for (int i = 0; i < 4; i++)
		words.w[i] |=
			0u - PHILOX_CAST(uint32_t, philox_is_poison(state));
	return words;
}

/* philox_words2() draws the 64 bits of each of two elements: 2b and 2b + 1. */
PHILOX_FN struct philox_words64 philox_words2(struct philox_state state,
					      uint64_t block)
{
	struct philox_words words = philox_words4(state, block);
	struct philox_words64 joined;

	for (int i = 0; i < 2; i++)
		joined.w[i] = philox_join(words.w[2 * i + 1], words.w[2 * i]);
	return joined;
}

/*
 * philox_uniform4() draws numbers from [0, 1), multiples of 2^-24. For another
 * range apply philox_range_f32(), which does not keep a NaN: follow it with
 * philox_or_poison().
 */
PHILOX_FN struct philox_f32x4 philox_uniform4(struct philox_state state,
					      uint64_t block)
{
	struct philox_words words = philox_draw4(state, block);
	struct philox_f32x4 u;

	for (int i = 0; i < 4; i++)
		u.v[i] = philox_uniform_f32(words.w[i]);
	return philox_or_poison4(state, u);
}

/*
 * philox_normal4() draws normal numbers of mean 0 and standard deviation 1; for
 * others use philox_multiply_add(x, std, mean).
 */
PHILOX_FN struct philox_f32x4 philox_normal4(struct philox_state state,
					     uint64_t block)
{
	struct philox_words words = philox_draw4(state, block);
	struct philox_f32x4 x;

	philox_normal_pair(words.w[0], words.w[1], &x.v[0], &x.v[1]);
	philox_normal_pair(words.w[2], words.w[3], &x.v[2], &x.v[3]);
	return philox_or_poison4(state, x);
}

/* philox_log_normal4() draws exp(mean + std z), z a normal number. */
PHILOX_FN struct philox_f32x4 philox_log_normal4(struct philox_state state,
						 uint64_t block, float mean,
						 float std)
{
	struct philox_f32x4 x = philox_normal4(state, block);

	for (int i = 0; i < 4; i++)
		x.v[i] = philox_log_normal_f32(x.v[i], mean, std);
	return philox_or_poison4(state, x);
}

/*
 * philox_exponential4() draws exponential numbers of rate 1; for others use
 * philox_multiply(x, (float)(1 / rate)).
 */
PHILOX_FN struct philox_f32x4 philox_exponential4(struct philox_state state,
						  uint64_t block)
{
	struct philox_words words = philox_draw4(state, block);
	struct philox_f32x4 x;

	for (int i = 0; i < 4; i++)
		x.v[i] = philox_exponential_f32(words.w[i]);
	return philox_or_poison4(state, x);
}

/* philox_gumbel4() draws Gumbel numbers. */
PHILOX_FN struct philox_f32x4 philox_gumbel4(struct philox_state state,
					     uint64_t block)
{
	struct philox_words words = philox_draw4(state, block);
	struct philox_f32x4 x;

	for (int i = 0; i < 4; i++)
		x.v[i] = philox_gumbel_f32(words.w[i]);
	return philox_or_poison4(state, x);
}

/*
 * philox_bernoulli4() draws numbers that are 1 with probability p, else 0. The
 * threshold is philox_threshold(p); compute it once, on the host.
 */
PHILOX_FN struct philox_f32x4 philox_bernoulli4(struct philox_state state,
						uint64_t block,
						uint64_t threshold)
{
	struct philox_words words = philox_draw4(state, block);
	struct philox_f32x4 x;

	for (int i = 0; i < 4; i++)
		x.v[i] = philox_bernoulli_f32(words.w[i], threshold);
	return philox_or_poison4(state, x);
}

/*
 * philox_keep_mask4() draws which elements of a block are kept: bit i is for
 * element 4 * block + i. The threshold is philox_threshold(p), p being the
 * probability that an element is dropped.
 */
PHILOX_FN uint32_t philox_keep_mask4(struct philox_state state, uint64_t block,
				     uint64_t threshold)
{
	struct philox_words words = philox_draw4(state, block);
	uint32_t mask = 0;

	for (int i = 0; i < 4; i++) {
		int keep = philox_keep(words.w[i], threshold);

		mask |= PHILOX_CAST(uint32_t, keep) << i;
	}
	return philox_is_poison(state) ? 0 : mask;
}

/*
 * philox_dropout4() drops or scales the values of a block: forward and, applied
 * to a gradient with the same state, backward. The threshold is
 * philox_threshold(p), the scale philox_dropout_scale(p).
 */
PHILOX_FN struct philox_f32x4 philox_dropout4(struct philox_state state,
					      uint64_t block,
					      struct philox_f32x4 x,
					      uint64_t threshold, float scale)
{
	struct philox_words words = philox_draw4(state, block);

	for (int i = 0; i < 4; i++)
		x.v[i] = philox_dropout_f32(x.v[i], words.w[i], threshold,
					    scale);
	return philox_or_poison4(state, x);
}

/* --- one element ---------------------------------------------------------- */

/* philox_word_at() draws the word of an element. */
PHILOX_FN uint32_t philox_word_at(struct philox_state state, uint64_t element)
{
	struct philox_words words = philox_words4(state, element / 4);
	/* no variable index, for which a GPU would need memory */
	uint32_t even = element & 2 ? words.w[2] : words.w[0];
	uint32_t odd = element & 2 ? words.w[3] : words.w[1];

	return element & 1 ? odd : even;
}

/* philox_word64_at() draws the 64 bits of an element of a 64-bit type. */
PHILOX_FN uint64_t philox_word64_at(struct philox_state state, uint64_t element)
{
	struct philox_words64 words = philox_words2(state, element / 2);

	return element & 1 ? words.w[1] : words.w[0];
}

/* The others are the functions above for one element. */
PHILOX_FN float philox_uniform_at(struct philox_state state, uint64_t element)
{
	return philox_or_poison(
		state, philox_uniform_f32(philox_word_at(state, element)));
}

PHILOX_FN float philox_normal_at(struct philox_state state, uint64_t element)
{
	struct philox_words words = philox_draw4(state, element / 4);
	uint32_t w0 = element & 2 ? words.w[2] : words.w[0];
	uint32_t w1 = element & 2 ? words.w[3] : words.w[1];
	float x, y;

	philox_normal_pair(w0, w1, &x, &y);
	return philox_or_poison(state, element & 1 ? y : x);
}

PHILOX_FN float philox_log_normal_at(struct philox_state state,
				     uint64_t element, float mean, float std)
{
	float z = philox_normal_at(state, element);

	return philox_or_poison(state, philox_log_normal_f32(z, mean, std));
}

PHILOX_FN float philox_exponential_at(struct philox_state state,
				      uint64_t element)
{
	return philox_or_poison(
		state, philox_exponential_f32(philox_word_at(state, element)));
}

PHILOX_FN float philox_gumbel_at(struct philox_state state, uint64_t element)
{
	return philox_or_poison(
		state, philox_gumbel_f32(philox_word_at(state, element)));
}

PHILOX_FN float philox_bernoulli_at(struct philox_state state, uint64_t element,
				    uint64_t threshold)
{
	return philox_or_poison(
		state, philox_bernoulli_f32(philox_word_at(state, element),
					    threshold));
}

PHILOX_FN int philox_keep_at(struct philox_state state, uint64_t element,
			     uint64_t threshold)
{
	return !philox_is_poison(state) &&
	       philox_keep(philox_word_at(state, element), threshold);
}

PHILOX_FN float philox_dropout_at(struct philox_state state, uint64_t element,
				  float x, uint64_t threshold, float scale)
{
	return philox_or_poison(
		state, philox_dropout_f32(x, philox_word_at(state, element),
					  threshold, scale));
}

#ifdef __cplusplus
}
#endif
#endif
