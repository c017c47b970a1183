/*
 * philox/draw.h - numbers for your own kernels: a block's elements, or one
 *
 * The numbers are those of the fills (philox/fill.h), bit for bit: element e of
 * an operator has the same value whoever draws it, in any order and any number
 * of times.
 *
 *   struct philox_state state = philox_resolve(rng);
 *   float x = philox_normal_at(state, e);
 *
 * One Philox block makes four elements of 32 bits. A thread that draws elements
 * 4b .. 4b + 3 uses the functions whose names end in 4, with block b, at a
 * quarter of the work. A block makes two elements of 64 bits, 2b and 2b + 1:
 * those functions end in 2. An element e goes up to 2^64 - 1, a block b of four
 * up to 2^62 - 1, of two up to 2^63 - 1.
 *
 * A poisoned state (philox_is_poison()) gives NaN; its words are all-ones, and
 * a mask, which cannot hold a NaN, keeps nothing.
 *
 * During capture: all functions here are legal.
 * Threads: any, at any time.
 */
#ifndef PHILOX_DRAW_H
#define PHILOX_DRAW_H

#include <philox/state.h>
#include <philox/values.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values of a block's four elements. */
struct philox_f32x4 {
	float v[4];
};

/* The bits of a block's two elements of a 64-bit type. */
struct philox_words64 {
	uint64_t w[2];
};

/* Return x, or NaN if the state is poisoned. */
PHILOX_FN float philox_or_poison(struct philox_state state, float x)
{
	return philox_is_poison(state) ? philox_f32_from_bits(0x7fc00000u) : x;
}

/* Return x, or four NaNs if the state is poisoned. */
PHILOX_FN struct philox_f32x4 philox_or_poison4(struct philox_state state,
						struct philox_f32x4 x)
{
	for (int i = 0; i < 4; i++)
		x.v[i] = philox_or_poison(state, x.v[i]);
	return x;
}

/* --- words ---------------------------------------------------------------- */

/* Return the words of a block. */
PHILOX_FN struct philox_words philox_words4(struct philox_state state,
					    uint64_t block)
{
	struct philox_words words = philox_draw4(state, block);

	for (int i = 0; i < 4; i++)
		words.w[i] |=
			0u - PHILOX_CAST(uint32_t, philox_is_poison(state));
	return words;
}

/* Return the 64 bits of each of a block's two elements. */
PHILOX_FN struct philox_words64 philox_words2(struct philox_state state,
					      uint64_t block)
{
	struct philox_words words = philox_words4(state, block);
	struct philox_words64 joined;

	for (int i = 0; i < 2; i++)
		joined.w[i] = philox_join(words.w[2 * i + 1], words.w[2 * i]);
	return joined;
}

/* Return the word of an element. */
PHILOX_FN uint32_t philox_word_at(struct philox_state state, uint64_t element)
{
	struct philox_words words = philox_words4(state, element / 4);
	/* no variable index, for which a GPU would need memory */
	uint32_t even = element & 2 ? words.w[2] : words.w[0];
	uint32_t odd = element & 2 ? words.w[3] : words.w[1];

	return element & 1 ? odd : even;
}

/* --- exponential and Gumbel numbers of words ------------------------------ */

/*
 * For kernels that have words already: they refine a small word
 * (PHILOX_SMALL_WORD) by the element's word at philox_retry_state(state, 0).
 * One element in 16.8 million has one. The state is not looked at for poison.
 */

/* Return an exponential number of rate 1 of an element whose word is small. */
PHILOX_RARE float philox_exponential_again(struct philox_state state,
					   uint64_t element, uint32_t w)
{
	struct philox_state retry = philox_retry_state(state, 0);

	return philox_exponential_small(w, philox_word_at(retry, element));
}

/* Return the exponential number of rate 1 that an element gets of its word. */
PHILOX_FN float philox_exponential_of(struct philox_state state,
				      uint64_t element, uint32_t w)
{
	return w < PHILOX_SMALL_WORD
		       ? philox_exponential_again(state, element, w)
		       : philox_minus_ln1m_f32(w);
}

/* Return the Gumbel number that an element gets of its word. */
PHILOX_FN float philox_gumbel_of(struct philox_state state, uint64_t element,
				 uint32_t w)
{
	return philox_gumbel_of_exponential(
		philox_exponential_of(state, element, w));
}

/* Return the least word of a block: if it is not small, none is. */
PHILOX_FN uint32_t philox_least_word(struct philox_words words)
{
	uint32_t a = words.w[0] < words.w[1] ? words.w[0] : words.w[1];
	uint32_t b = words.w[2] < words.w[3] ? words.w[2] : words.w[3];

	return a < b ? a : b;
}

/* Return the exponential numbers of rate 1 that a block gets of its words. */
PHILOX_FN struct philox_f32x4 philox_exponential4_of(struct philox_state state,
						     uint64_t block,
						     struct philox_words words)
{
	struct philox_f32x4 x;

	for (int i = 0; i < 4; i++)
		x.v[i] = philox_minus_ln1m_f32(words.w[i]);
	if (philox_least_word(words) >= PHILOX_SMALL_WORD)
		return x;
	for (unsigned i = 0; i < 4; i++)
		x.v[i] =
			philox_exponential_of(state, 4 * block + i, words.w[i]);
	return x;
}

/* Return the Gumbel numbers that a block gets of its words. */
PHILOX_FN struct philox_f32x4 philox_gumbel4_of(struct philox_state state,
						uint64_t block,
						struct philox_words words)
{
	struct philox_f32x4 x = philox_exponential4_of(state, block, words);

	for (int i = 0; i < 4; i++)
		x.v[i] = philox_gumbel_of_exponential(x.v[i]);
	return x;
}

/* --- four numbers --------------------------------------------------------- */

/*
 * Return uniform numbers from [0, 1), multiples of 2^-24.
 *
 * For another range apply philox_range_f32(), which does not keep a NaN: follow
 * it with philox_or_poison().
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
 * Return normal numbers of mean 0 and standard deviation 1.
 *
 * For others use philox_multiply_add(x, std, mean).
 */
PHILOX_FN struct philox_f32x4 philox_normal4(struct philox_state state,
					     uint64_t block)
{
	struct philox_words words = philox_draw4(state, block);
	struct philox_f32x4 x;

	philox_normal_pairs(words, x.v);
	return philox_or_poison4(state, x);
}

/* Return exp(mean + std z) of normal numbers z. */
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
 * Return exponential numbers of rate 1.
 *
 * For others use philox_multiply(x, (float)(1 / rate)).
 */
PHILOX_FN struct philox_f32x4 philox_exponential4(struct philox_state state,
						  uint64_t block)
{
	return philox_or_poison4(
		state, philox_exponential4_of(state, block,
					      philox_draw4(state, block)));
}

/* Return Gumbel numbers. */
PHILOX_FN struct philox_f32x4 philox_gumbel4(struct philox_state state,
					     uint64_t block)
{
	return philox_or_poison4(
		state,
		philox_gumbel4_of(state, block, philox_draw4(state, block)));
}

/*
 * Return numbers that are 1 with probability p, else 0.
 *
 * The threshold is philox_threshold(p); compute it once, on the host.
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
 * Return which elements of a block are kept: bit i is for element 4 * block +
 * i.
 *
 * The threshold is philox_threshold(p), p being the probability that an element
 * is dropped.
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
 * Return the values x of a block with dropout: forward and, applied to a
 * gradient with the same state, backward.
 *
 * The threshold is philox_threshold(p), the scale philox_dropout_scale(p).
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

/* Return the 64 bits of an element of a 64-bit type. */
PHILOX_FN uint64_t philox_word64_at(struct philox_state state, uint64_t element)
{
	struct philox_words64 words = philox_words2(state, element / 2);

	return element & 1 ? words.w[1] : words.w[0];
}

/* Return an element's number of philox_uniform4(). */
PHILOX_FN float philox_uniform_at(struct philox_state state, uint64_t element)
{
	return philox_or_poison(
		state, philox_uniform_f32(philox_word_at(state, element)));
}

/* Return an element's number of philox_normal4(). */
PHILOX_FN float philox_normal_at(struct philox_state state, uint64_t element)
{
	struct philox_words words = philox_draw4(state, element / 4);
	uint32_t w0 = element & 2 ? words.w[2] : words.w[0];
	uint32_t w1 = element & 2 ? words.w[3] : words.w[1];
	float x, y;

	philox_normal_pair(w0, w1, &x, &y);
	return philox_or_poison(state, element & 1 ? y : x);
}

/* Return an element's number of philox_log_normal4(). */
PHILOX_FN float philox_log_normal_at(struct philox_state state,
				     uint64_t element, float mean, float std)
{
	float z = philox_normal_at(state, element);

	return philox_or_poison(state, philox_log_normal_f32(z, mean, std));
}

/* Return an element's number of philox_exponential4(). */
PHILOX_FN float philox_exponential_at(struct philox_state state,
				      uint64_t element)
{
	uint32_t w = philox_word_at(state, element);

	return philox_or_poison(state,
				philox_exponential_of(state, element, w));
}

/* Return an element's number of philox_gumbel4(). */
PHILOX_FN float philox_gumbel_at(struct philox_state state, uint64_t element)
{
	uint32_t w = philox_word_at(state, element);

	return philox_or_poison(state, philox_gumbel_of(state, element, w));
}

/* Return an element's number of philox_bernoulli4(). */
PHILOX_FN float philox_bernoulli_at(struct philox_state state, uint64_t element,
				    uint64_t threshold)
{
	return philox_or_poison(
		state, philox_bernoulli_f32(philox_word_at(state, element),
					    threshold));
}

/* Return 1 if dropout keeps an element, else 0, as philox_keep_mask4(). */
PHILOX_FN int philox_keep_at(struct philox_state state, uint64_t element,
			     uint64_t threshold)
{
	return !philox_is_poison(state) &&
	       philox_keep(philox_word_at(state, element), threshold);
}

/* Return an element's value x with dropout, as philox_dropout4(). */
PHILOX_FN float philox_dropout_at(struct philox_state state, uint64_t element,
				  float x, uint64_t threshold, float scale)
{
	return philox_or_poison(
		state, philox_dropout_f32(x, philox_word_at(state, element),
					  threshold, scale));
}

/* --- f64 numbers ---------------------------------------------------------- */

/*
 * Numbers with 64 bits per draw. Bernoulli numbers and dropout take 32 bits in
 * every dtype: their masks are the ones above, and philox_dropout_f64_at() is
 * below.
 */

/* The values of a block's two elements of f64. */
struct philox_f64x2 {
	double v[2];
};

/* Return x, or NaN if the state is poisoned, in f64. */
PHILOX_FN double philox_or_poison_f64(struct philox_state state, double x)
{
	return philox_is_poison(state)
		       ? philox_f64_from_bits(0x7ff8000000000000ULL)
		       : x;
}

/* Return x, or two NaNs if the state is poisoned. */
PHILOX_FN struct philox_f64x2 philox_or_poison2(struct philox_state state,
						struct philox_f64x2 x)
{
	for (int i = 0; i < 2; i++)
		x.v[i] = philox_or_poison_f64(state, x.v[i]);
	return x;
}

/* --- f64: two elements ---------------------------------------------------- */

/*
 * Return uniform numbers from [0, 1), multiples of 2^-53.
 *
 * For another range apply philox_range_f64(), which does not keep a NaN: follow
 * it with philox_or_poison_f64().
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
 * Return normal numbers of mean 0 and standard deviation 1.
 *
 * For others use philox_multiply_add_f64(x, std, mean).
 */
PHILOX_FN struct philox_f64x2 philox_normal2(struct philox_state state,
					     uint64_t block)
{
	struct philox_words64 words = philox_words2(state, block);
	struct philox_f64x2 x;

	philox_normal_pair_f64(words.w[0], words.w[1], &x.v[0], &x.v[1]);
	return philox_or_poison2(state, x);
}

/* Return exp(mean + std z) of normal numbers z. */
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
 * Return exponential numbers of rate 1.
 *
 * For others use philox_multiply_f64(x, 1 / rate).
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

/* Return Gumbel numbers. */
PHILOX_FN struct philox_f64x2 philox_gumbel2(struct philox_state state,
					     uint64_t block)
{
	struct philox_words64 words = philox_words2(state, block);
	struct philox_f64x2 x;

	for (int i = 0; i < 2; i++)
		x.v[i] = philox_gumbel_f64(words.w[i]);
	return philox_or_poison2(state, x);
}

/* --- f64: one element ----------------------------------------------------- */

/* Return an element's number of philox_uniform2(). */
PHILOX_FN double philox_uniform_f64_at(struct philox_state state,
				       uint64_t element)
{
	return philox_or_poison_f64(
		state, philox_uniform_f64(philox_word64_at(state, element)));
}

/* Return an element's number of philox_normal2(). */
PHILOX_FN double philox_normal_f64_at(struct philox_state state,
				      uint64_t element)
{
	struct philox_f64x2 x = philox_normal2(state, element / 2);

	return element & 1 ? x.v[1] : x.v[0];
}

/* Return an element's number of philox_log_normal2(). */
PHILOX_FN double philox_log_normal_f64_at(struct philox_state state,
					  uint64_t element, double mean,
					  double std)
{
	double z = philox_normal_f64_at(state, element);

	return philox_or_poison_f64(state, philox_log_normal_f64(z, mean, std));
}

/* Return an element's number of philox_exponential2(). */
PHILOX_FN double philox_exponential_f64_at(struct philox_state state,
					   uint64_t element)
{
	uint64_t w64 = philox_word64_at(state, element);

	return philox_or_poison_f64(state, philox_exponential_f64(w64));
}

/* Return an element's number of philox_gumbel2(). */
PHILOX_FN double philox_gumbel_f64_at(struct philox_state state,
				      uint64_t element)
{
	uint64_t w64 = philox_word64_at(state, element);

	return philox_or_poison_f64(state, philox_gumbel_f64(w64));
}

/*
 * Return an element's value x with dropout, in f64; the scale is
 * philox_dropout_scale_f64(p).
 */
PHILOX_FN double philox_dropout_f64_at(struct philox_state state,
				       uint64_t element, double x,
				       uint64_t threshold, double scale)
{
	uint32_t w = philox_word_at(state, element);

	return philox_or_poison_f64(state,
				    philox_dropout_f64(x, w, threshold, scale));
}

/* --- bf16 and f16 numbers ------------------------------------------------- */

/*
 * Values are bits in uint16_t. In general they are the f32 values above,
 * converted by philox_f32_to_bf16() or philox_f32_to_f16(), so that words and
 * masks are the same in every dtype. Here are the values that differ: uniform
 * numbers, which have as many bits as the dtype has digits, and stochastic
 * rounding. A poisoned state gives NaN.
 */

/* Return an element's uniform number from [0, 1), a multiple of 2^-8. */
PHILOX_FN uint16_t philox_uniform_bf16_at(struct philox_state state,
					  uint64_t element)
{
	float u = philox_uniform_8(philox_word_at(state, element));

	return philox_f32_to_bf16(philox_or_poison(state, u));
}

/* Return an element's uniform number from [0, 1), a multiple of 2^-11. */
PHILOX_FN uint16_t philox_uniform_f16_at(struct philox_state state,
					 uint64_t element)
{
	float u = philox_uniform_11(philox_word_at(state, element));

	return philox_f32_to_f16(philox_or_poison(state, u));
}

/*
 * Return x rounded to one of its two neighbours in bf16, so that the
 * expectation is x.
 */
PHILOX_FN uint16_t philox_round_bf16_at(struct philox_state state,
					uint64_t element, float x)
{
	return philox_round_bf16(philox_or_poison(state, x),
				 philox_word_at(state, element));
}

/*
 * Return x rounded to one of its two neighbours in f16, so that the expectation
 * is x.
 */
PHILOX_FN uint16_t philox_round_f16_at(struct philox_state state,
				       uint64_t element, float x)
{
	return philox_round_f16(philox_or_poison(state, x),
				philox_word_at(state, element));
}

/* --- integers of a range -------------------------------------------------- */

/*
 *   struct philox_interval die = philox_interval_u32(1, 6);    on the host
 *   uint32_t x = philox_integer_at(state, e, die);
 *
 * Every integer of the range is equally likely, and each element has the same
 * integer as in fills (philox/fill.h). A block makes four 32-bit integers, or
 * two 64-bit ones. i32 and i64 are two's complement: cast.
 *
 * A word that would favour some integers is rejected, and its element is drawn
 * again at philox_retry_state(). So an element may take several blocks. Each
 * after the first is less than 1/2 as likely as the one before. The advance
 * stays the same. A poisoned state gives all-ones.
 */

/* A range of integers, its ends included. */
struct philox_interval {
	uint64_t from;
	uint64_t n;      /* how many; 0 means 2^64 */
	uint64_t reject; /* 2^32 or 2^64 mod n */
};

/* Return the range `from` .. `to` for draws of 32 bits, from <= to. */
PHILOX_FN struct philox_interval philox_interval_u32(uint32_t from, uint32_t to)
{
	struct philox_interval interval;

	interval.from = from;
	interval.n = PHILOX_CAST(uint64_t, to - from) + 1;
	interval.reject = 0x100000000ULL % interval.n;
	return interval;
}

/*
 * Return the range `from` ..
 *
 * `to` for draws of 64 bits, from <= to. 2^64 mod n is (2^64 - n) mod n.
 */
PHILOX_FN struct philox_interval philox_interval_u64(uint64_t from, uint64_t to)
{
	struct philox_interval interval;

	interval.from = from;
	interval.n = to - from + 1;
	interval.reject = interval.n ? (0 - interval.n) % interval.n : 0;
	return interval;
}

/* --- integers: drawing again ---------------------------------------------- */

/*
 * Return the place in the range of an element whose first draw was rejected.
 *
 * The loop ends with probability 1; each try fails with a probability of less
 * than 1/2.
 */
PHILOX_RARE uint32_t philox_integer_again(struct philox_state state,
					  uint64_t element, uint64_t n,
					  uint32_t reject)
{
	uint32_t place = 0;
	int rejected = 1;

	for (uint64_t t = 0; rejected; t++) {
		struct philox_state retry = philox_retry_state(state, t);

		place = philox_integer_u32(philox_word_at(retry, element), n,
					   reject, &rejected);
	}
	return place;
}

/* Return the same place for draws of 64 bits. */
PHILOX_RARE uint64_t philox_integer64_again(struct philox_state state,
					    uint64_t element, uint64_t n,
					    uint64_t reject)
{
	uint64_t place = 0;
	int rejected = 1;

	for (uint64_t t = 0; rejected; t++) {
		struct philox_state retry = philox_retry_state(state, t);

		place = philox_integer_u64(philox_word64_at(retry, element), n,
					   reject, &rejected);
	}
	return place;
}

/* Return the integer that an element gets from its word. */
PHILOX_FN uint32_t philox_integer_of(struct philox_state state,
				     uint64_t element, uint32_t w,
				     struct philox_interval interval)
{
	uint32_t reject = PHILOX_CAST(uint32_t, interval.reject), place;
	int rejected;

	place = philox_integer_u32(w, interval.n, reject, &rejected);
	if (rejected)
		place = philox_integer_again(state, element, interval.n,
					     reject);
	return PHILOX_CAST(uint32_t, interval.from) + place;
}

/* Return the integer that an element gets from its 64 bits. */
PHILOX_FN uint64_t philox_integer64_of(struct philox_state state,
				       uint64_t element, uint64_t w64,
				       struct philox_interval interval)
{
	uint64_t place;
	int rejected;

	place = philox_integer_u64(w64, interval.n, interval.reject, &rejected);
	if (rejected)
		place = philox_integer64_again(state, element, interval.n,
					       interval.reject);
	return interval.from + place;
}

/* --- integers: a block, or one element ------------------------------------ */

/* Return the four 32-bit integers of a block. */
PHILOX_FN struct philox_words philox_integers4(struct philox_state state,
					       uint64_t block,
					       struct philox_interval interval)
{
	struct philox_words words = philox_draw4(state, block);

	for (unsigned i = 0; i < 4; i++) {
		words.w[i] = philox_integer_of(state, 4 * block + i, words.w[i],
					       interval);
		words.w[i] |=
			0u - PHILOX_CAST(uint32_t, philox_is_poison(state));
	}
	return words;
}

/* Return the two 64-bit integers of a block. */
PHILOX_FN struct philox_words64 philox_integers2(
	struct philox_state state, uint64_t block,
	struct philox_interval interval)
{
	struct philox_words64 words = philox_words2(state, block);

	for (unsigned i = 0; i < 2; i++) {
		words.w[i] = philox_integer64_of(state, 2 * block + i,
						 words.w[i], interval);
		words.w[i] |=
			0u - PHILOX_CAST(uint64_t, philox_is_poison(state));
	}
	return words;
}

/* Return the 32-bit integer of one element. */
PHILOX_FN uint32_t philox_integer_at(struct philox_state state,
				     uint64_t element,
				     struct philox_interval interval)
{
	uint32_t x = philox_integer_of(
		state, element, philox_word_at(state, element), interval);

	return x | (0u - PHILOX_CAST(uint32_t, philox_is_poison(state)));
}

/* Return the 64-bit integer of one element. */
PHILOX_FN uint64_t philox_integer64_at(struct philox_state state,
				       uint64_t element,
				       struct philox_interval interval)
{
	uint64_t x = philox_integer64_of(
		state, element, philox_word64_at(state, element), interval);

	return x | (0u - PHILOX_CAST(uint64_t, philox_is_poison(state)));
}

#ifdef __cplusplus
}
#endif
#endif
