/*
 * lib/dist/ranges.h - uniform numbers, by fewer instructions
 *
 * philox_range_f32() defines those of a range: u scale + shift, rounded to f32
 * and kept within [bottom, top]; then that is rounded to the dtype. Most ranges
 * have a short form for GPUs, with the same results:
 *
 *  - A word's digits d, a number that takes fewer steps than u, are multiplied
 *    by `step` = scale u / d. Both are exact, so the product is the same.
 *  - Rounding to the dtype comes first. It keeps the order of numbers, and both
 *    ends are numbers of the dtype. Then a minimum and a maximum keep two
 *    numbers of 16 bits within the ends at once. For them 0 is above -0 (PTX
 *    ISA); in philox_range_f32() the bound is taken of equal numbers. No bound
 *    is -0, so that differs only for -0 where `top` is 0 and `bottom` below it:
 *    such a range has no short form.
 *
 * The host has its own loops. There these functions are for tests.
 */
#ifndef LIB_DIST_RANGES_H
#define LIB_DIST_RANGES_H

#include "lib/dist/narrow.h"

/* --- plain numbers -------------------------------------------------------- */

#if !defined(__CUDA_ARCH__) || defined(FILL_PAIRS)
/* a b of each two halves, a product that is a bf16. */
PHILOX_FN uint32_t fill_pair_product_bf16(uint32_t a, uint32_t b)
{
#ifdef __CUDA_ARCH__
	uint32_t result;

	/* 8.0 has no product alone */
	asm("{.reg .b32 c; mov.b32 c, 0x80008000; "
	    "fma.rn.bf16x2 %0, %1, %2, c;}"
	    : "=r"(result)
	    : "r"(a), "r"(b));
	return result;
#else
	float low = philox_multiply(philox_bf16_to_f32((uint16_t)a),
				    philox_bf16_to_f32((uint16_t)b));
	float high = philox_multiply(philox_bf16_to_f32((uint16_t)(a >> 16)),
				     philox_bf16_to_f32((uint16_t)(b >> 16)));

	return (uint32_t)philox_number_to_bf16(high) << 16 |
	       philox_number_to_bf16(low);
#endif
}

/*
 * The uniform numbers of two words, the first one low. The upper byte n of a
 * word is the bf16 n 2^-133, a denormal or one of the least others.
 */
PHILOX_FN uint32_t fill_uniform_pair_bf16(uint32_t w0, uint32_t w1)
{
	const uint32_t to_u = 0x7e007e00u; /* 2^125, twice */
#ifdef __CUDA_ARCH__
	uint32_t bytes = __byte_perm(w0 >> 24, w1, 0x1710);
#else
	uint32_t bytes = w0 >> 24 | (w1 >> 8 & 0xff0000u);
#endif

	return fill_pair_product_bf16(bytes, to_u);
}
#endif

/* fill_plain_<type>() makes the numbers of a block of words, in [0, 1). */
PHILOX_FN void fill_plain_f32(struct philox_words words, float *v)
{
	for (int i = 0; i < 4; i++)
		v[i] = philox_uniform_f32(words.w[i]);
}

PHILOX_FN void fill_plain_bf16(struct philox_words words, uint16_t *v)
{
#ifdef FILL_PAIRS
	for (int i = 0; i < 4; i += 2)
		fill_put_pair(v + i, fill_uniform_pair_bf16(words.w[i],
							    words.w[i + 1]));
#else
	for (int i = 0; i < 4; i++)
		v[i] = philox_uniform_bf16(words.w[i]);
#endif
}

PHILOX_FN void fill_plain_f16(struct philox_words words, uint16_t *v)
{
	float y[4];

	for (int i = 0; i < 4; i++)
		y[i] = philox_uniform_11(words.w[i]);
	fill_narrow_f16(y, v, 4);
}

/* With the instructions for pairs, and on the host. */
#if !defined(__CUDA_ARCH__) || defined(FILL_PAIRS)
#define FILL_SHORT_RANGES 1

/* --- digits --------------------------------------------------------------- */

/* d = 2^24 u */
PHILOX_FN float fill_digits_f32(uint32_t w)
{
	return (float)(w >> 8);
}

/* d = 2^-125 u: the upper byte, put where it makes a denormal. */
PHILOX_FN float fill_digits_bf16(uint32_t w)
{
#ifdef __CUDA_ARCH__
	return philox_f32_from_bits(__byte_perm(w, 0, 0x4344));
#else
	return philox_f32_from_bits(w >> 8 & 0xff0000u);
#endif
}

/* d = u */
PHILOX_FN float fill_digits_f16(uint32_t w)
{
	return philox_uniform_11(w);
}

/* --- ends ----------------------------------------------------------------- */

/* The lesser and the greater of two numbers, no NaNs: 0 is above -0. */
#ifdef __CUDA_ARCH__
PHILOX_FN float fill_min_f32(float a, float b)
{
	float result;

	asm("min.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
	return result;
}

PHILOX_FN float fill_max_f32(float a, float b)
{
	float result;

	asm("max.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
	return result;
}
#else
PHILOX_FN int fill_is_above_f32(float a, float b)
{
	return a > b || (a == b && philox_f32_bits(a) < philox_f32_bits(b));
}

PHILOX_FN float fill_min_f32(float a, float b)
{
	return fill_is_above_f32(a, b) ? b : a;
}

PHILOX_FN float fill_max_f32(float a, float b)
{
	return fill_is_above_f32(a, b) ? a : b;
}
#endif

/* The same of each two halves. */
#ifdef __CUDA_ARCH__
#define FILL_OF_PAIRS(name, instruction, type, order)                        \
	PHILOX_FN uint32_t fill_pair_##name##_##type(uint32_t a, uint32_t b) \
	{                                                                    \
		uint32_t result;                                             \
                                                                             \
		asm(instruction : "=r"(result) : "r"(a), "r"(b));            \
		return result;                                               \
	}
#else
/* In the order of numbers from the least on. */
PHILOX_FN int fill_place_16(uint16_t bits)
{
	return bits & 0x8000u ? 0xffff - bits : 0x8000 + bits;
}

#define FILL_OF_PAIRS(name, instruction, type, order)                        \
	PHILOX_FN uint32_t fill_pair_##name##_##type(uint32_t a, uint32_t b) \
	{                                                                    \
		uint32_t result = 0;                                         \
                                                                             \
		for (int at = 0; at < 32; at += 16) {                        \
			uint16_t x = (uint16_t)(a >> at);                    \
			uint16_t y = (uint16_t)(b >> at);                    \
			int is_x = fill_place_16(x) order fill_place_16(y);  \
                                                                             \
			result |= (uint32_t)(is_x ? x : y) << at;            \
		}                                                            \
		return result;                                               \
	}
#endif

FILL_OF_PAIRS(min, "min.bf16x2 %0, %1, %2;", bf16, <)
FILL_OF_PAIRS(max, "max.bf16x2 %0, %1, %2;", bf16, >)
FILL_OF_PAIRS(min, "min.f16x2 %0, %1, %2;", f16, <)
FILL_OF_PAIRS(max, "max.f16x2 %0, %1, %2;", f16, >)
#undef FILL_OF_PAIRS

/* --- a block -------------------------------------------------------------- */

/* fill_short_range_<type>() makes the numbers of a block of words. */
PHILOX_FN void fill_short_range_f32(const struct fill_args *args,
				    struct philox_words words, float *v)
{
	for (int i = 0; i < 4; i++) {
		float x = philox_multiply_add(fill_digits_f32(words.w[i]),
					      args->ends.step, args->f32.shift);

		x = fill_min_f32(x, args->f32.top);
		v[i] = fill_max_f32(x, args->f32.bottom);
	}
}

#define FILL_SHORT_RANGE(type)                                                \
	PHILOX_FN void fill_short_range_##type(const struct fill_args *args,  \
					       struct philox_words words,     \
					       uint16_t *v)                   \
	{                                                                     \
		float y[4];                                                   \
                                                                              \
		for (int i = 0; i < 4; i++)                                   \
			y[i] = philox_multiply_add(                           \
				fill_digits_##type(words.w[i]),               \
				args->ends.step, args->f32.shift);            \
		fill_narrow_##type(y, v, 4);                                  \
		for (int i = 0; i < 4; i += 2) {                              \
			uint32_t pair = fill_get_pair(v + i);                 \
                                                                              \
			pair = fill_pair_min_##type(pair, args->ends.top);    \
			pair = fill_pair_max_##type(pair, args->ends.bottom); \
			fill_put_pair(v + i, pair);                           \
		}                                                             \
	}

FILL_SHORT_RANGE(bf16)
FILL_SHORT_RANGE(f16)
#undef FILL_SHORT_RANGE

#else
#define FILL_SHORT_RANGES 0
#endif

#endif
