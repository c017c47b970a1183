/*
 * tools/contract/words/words.h - functions of one word of 32 bits
 *
 * WORD_FUNCTIONS(X) has X(name, type, value) for each of them: the value that
 * the public headers make of a word w. There are few enough words to try all,
 * on a CPU and on a GPU.
 */
#ifndef TOOLS_CONTRACT_WORDS_WORDS_H
#define TOOLS_CONTRACT_WORDS_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <philox/kernel.h>
#include <philox/subset.h>

#define WORD_FUNCTIONS(X)                                                   \
	X(uniform_f32, float, philox_uniform_f32(w))                        \
	X(uniform_bf16, uint16_t, philox_uniform_bf16(w))                   \
	X(uniform_f16, uint16_t, philox_uniform_f16(w))                     \
	/* A normal number of radius 0 is a sum with 0: no sign is seen */  \
	X(radius, float, philox_radius(w) + 0)                              \
	X(sine, float, word_sine(w))                                        \
	X(cosine, float, word_cosine(w))                                    \
	X(normals, uint32_t, word_normals(w))                               \
	X(exponential, float, philox_exponential_of(word_state(), 0, w))    \
	X(gumbel, float, philox_gumbel_of(word_state(), 0, w))              \
	X(refined, float, philox_exponential_small(50, w))                  \
	X(bernoulli, float, philox_bernoulli_f32(w, philox_threshold(0.3))) \
	X(dropout, float, word_dropout(w))                                  \
	X(round_bf16, uint16_t, philox_round_bf16(0.3f, w))                 \
	X(round_f16, uint16_t, philox_round_f16(-1e-6f, w))                 \
	X(to_bf16, uint16_t, philox_f32_to_bf16(philox_f32_from_bits(w)))   \
	X(to_f16, uint16_t, philox_f32_to_f16(philox_f32_from_bits(w)))     \
	X(exp, float, word_exp(w))                                          \
	X(ln, float, word_ln(w))                                            \
	X(weight_ln, float, word_weight_ln(w))

PHILOX_FN float word_sine(uint32_t w)
{
	float sine, cosine;

	philox_sin_cos(w, &sine, &cosine);
	return sine;
}

PHILOX_FN float word_cosine(uint32_t w)
{
	float sine, cosine;

	philox_sin_cos(w, &sine, &cosine);
	return cosine;
}

/* Of two pairs in which each word occurs once in each place: a sum of all bits */
PHILOX_FN uint32_t word_normals(uint32_t w)
{
	const struct philox_words words = {
		{w, w * 0x9e3779b1u, w * 0x85ebca6bu, w * 0xc2b2ae35u}};
	uint32_t sum = 0;
	float x[4];

	philox_normal_pairs(words, x);
	for (int i = 0; i < 4; i++)
		sum = sum * 0x9e3779b1u + philox_f32_bits(x[i]);
	return sum;
}

/* Words below 256 are refined, by the block of element 0 of this state */
PHILOX_FN struct philox_state word_state(void)
{
	const struct philox_state state = {42, 8};

	return state;
}

PHILOX_FN float word_dropout(uint32_t w)
{
	return philox_dropout_f32(0.7f, w, philox_threshold(0.1),
				  philox_dropout_scale(0.1));
}

/* Of the number with these bits, or of 1 where the function has no value */
PHILOX_FN float word_exp(uint32_t w)
{
	const int is_nan = (w & 0x7fffffffu) > 0x7f800000u;

	return philox_exp_f32(is_nan ? 1 : philox_f32_from_bits(w));
}

PHILOX_FN float word_ln(uint32_t w)
{
	const int is_normal = w - 0x800000u < 0x7f000000u;

	return philox_ln_f32(is_normal ? philox_f32_from_bits(w) : 1);
}

/* One NaN for all */
PHILOX_FN float word_weight_ln(uint32_t w)
{
	const float x = philox_weight_ln(philox_f32_from_bits(w));

	return x == x ? x : philox_f32_from_bits(0x7fc00000);
}

/*
 * --- sums of many words -----------------------------------------------------
 */

/* The words i step, modulo 2^32, for i from `begin` up to but without `end`. */
struct word_range {
	uint64_t begin, end;
	uint32_t step;
};

#define WORD_BITS_float(x)    philox_f32_bits(x)
#define WORD_BITS_uint16_t(x) (uint32_t)(x)
#define WORD_BITS_uint32_t(x) (x)

/*
 * Return a number for a word and the bits of its value; such numbers are added
 * up, modulo 2^64, in any order.
 * Source: the last function of SplitMix64, in Steele, Lea, Flood: "Fast
 * Splittable Pseudorandom Number Generators", 2014, with Stafford's variant 13.
 */
PHILOX_FN uint64_t word_mix(uint32_t w, uint32_t bits)
{
	uint64_t x = (uint64_t)w << 32 | bits;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Puts on a stream of the device's, a GPU: *sum grows by that of the function's
 * values in the range. Functions are counted as in WORD_FUNCTIONS. Returns NULL,
 * or why not. In a build without CUDA it is missing.
 */
const char *word_cuda_sum(struct philox_device *device, philox_stream stream,
			  unsigned function, struct word_range range,
			  uint64_t *sum);

#ifdef __cplusplus
}
#endif
#endif
