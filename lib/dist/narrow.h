/*
 * lib/dist/narrow.h - from the numbers of a block in f32 to its dtype
 *
 * GPUs round two numbers to 16 bits in one instruction, and 16-bit fills are
 * bound by their number of instructions. The other way goes element by element
 * and defines the results.
 */
#ifndef LIB_DIST_NARROW_H
#define LIB_DIST_NARROW_H

#include "lib/device/kernels.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define FILL_PAIRS
#endif

/* --- pairs ---------------------------------------------------------------- */

#ifdef FILL_PAIRS
/* a becomes the upper half; a NaN becomes some NaN. */
PHILOX_FN uint32_t fill_pair_bf16(float a, float b)
{
	uint32_t result;

	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(a), "f"(b));
	return result;
}

PHILOX_FN uint32_t fill_pair_f16(float a, float b)
{
	uint32_t result;

	asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(a), "f"(b));
	return result;
}

/* Towards 0; finite numbers stay finite. */
PHILOX_FN uint32_t fill_pair_cut_f16(float a, float b)
{
	uint32_t result;

	asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(a), "f"(b));
	return result;
}

/* A NaN becomes 0x7fff. */
PHILOX_FN uint32_t fill_pair_canonical_bf16(uint32_t a)
{
	uint32_t result;

	asm("min.NaN.bf16x2 %0, %1, %1;" : "=r"(result) : "r"(a));
	return result;
}

PHILOX_FN uint32_t fill_pair_canonical_f16(uint32_t a)
{
	uint32_t result;

	asm("min.NaN.f16x2 %0, %1, %1;" : "=r"(result) : "r"(a));
	return result;
}

/* The lesser of each two halves, as signed numbers. */
PHILOX_FN uint32_t fill_pair_least(uint32_t a, uint32_t b)
{
#if __CUDA_ARCH__ >= 900
	uint32_t result;

	asm("min.s16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
	return result;
#else
	int16_t low = (int16_t)a, high = (int16_t)(a >> 16);

	low = low < (int16_t)b ? low : (int16_t)b;
	high = high < (int16_t)(b >> 16) ? high : (int16_t)(b >> 16);
	return (uint32_t)(uint16_t)high << 16 | (uint16_t)low;
#endif
}

#endif

PHILOX_FN uint32_t fill_get_pair(const uint16_t *x)
{
	uint32_t pair;

	__builtin_memcpy(&pair, x, sizeof(pair));
	return pair;
}

PHILOX_FN void fill_put_pair(uint16_t *v, uint32_t pair)
{
	__builtin_memcpy(v, &pair, sizeof(pair));
}

/* --- to nearest ----------------------------------------------------------- */

PHILOX_FN void fill_narrow_f32(const float *y, float *v, int n)
{
	for (int i = 0; i < n; i++)
		v[i] = y[i];
}

PHILOX_FN void fill_narrow_f64(const double *y, double *v, int n)
{
	for (int i = 0; i < n; i++)
		v[i] = y[i];
}

/* As philox_number_to_<type>(): none is a NaN. */
#ifdef FILL_PAIRS
#define FILL_NARROW(type)                                                     \
	PHILOX_FN void fill_narrow_##type(const float *y, uint16_t *v, int n) \
	{                                                                     \
		for (int i = 0; i < n; i += 2)                                \
			fill_put_pair(v + i,                                  \
				      fill_pair_##type(y[i + 1], y[i]));      \
	}
#else
#define FILL_NARROW(type)                                                     \
	PHILOX_FN void fill_narrow_##type(const float *y, uint16_t *v, int n) \
	{                                                                     \
		for (int i = 0; i < n; i++)                                   \
			v[i] = philox_number_to_##type(y[i]);                 \
	}
#endif

FILL_NARROW(bf16)
FILL_NARROW(f16)

/*
 * A NaN becomes the one of philox_dropout_f32(), in this type.
 *
 * On a GPU nothing is known of a NaN that comes here, not even its sign: the
 * PTX manual says that "single-precision instructions return an unspecified
 * NaN", and nothing of the NaNs that cvt makes. But of min.NaN it says that
 * "the result is canonical NaN", which is 0x7fff in cuda_fp16.hpp and
 * cuda_bf16.hpp. As a signed integer that is above all numbers, so the NaN
 * wanted is a bound.
 */
PHILOX_FN void fill_narrow_quiet_f32(const float *y, float *v)
{
	for (int i = 0; i < 4; i++) {
		uint32_t bits = philox_f32_bits(y[i]);
#ifdef __CUDA_ARCH__
		int is_nan = y[i] != y[i]; /* fewer instructions */
#else
		int is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
#endif

		if (is_nan)
			bits = 0x7fc00000u;
		v[i] = philox_f32_from_bits(bits);
	}
}

#ifdef FILL_PAIRS
#define FILL_NARROW_QUIET(type, nan)                                          \
	PHILOX_FN void fill_narrow_quiet_##type(const float *y, uint16_t *v)  \
	{                                                                     \
		for (int i = 0; i < 4; i += 2) {                              \
			uint32_t pair = fill_pair_canonical_##type(           \
				fill_pair_##type(y[i + 1], y[i]));            \
                                                                              \
			fill_put_pair(v + i,                                  \
				      fill_pair_least(pair, nan * 0x10001u)); \
		}                                                             \
	}
#else
#define FILL_NARROW_QUIET(type, nan)                                         \
	PHILOX_FN void fill_narrow_quiet_##type(const float *y, uint16_t *v) \
	{                                                                    \
		for (int i = 0; i < 4; i++)                                  \
			v[i] = (philox_f32_bits(y[i]) & 0x7fffffffu) >       \
					       0x7f800000u                   \
				       ? nan                                 \
				       : philox_number_to_##type(y[i]);      \
	}
#endif

FILL_NARROW_QUIET(bf16, 0x7fc0u)
FILL_NARROW_QUIET(f16, 0x7e00u)

/* --- from 16 bits --------------------------------------------------------- */

/* Four elements of a block; a NaN gives some NaN. */
PHILOX_FN void fill_widen_f32(const float *x, float *y)
{
	for (int i = 0; i < 4; i++)
		y[i] = x[i];
}

PHILOX_FN void fill_widen_bf16(const uint16_t *x, float *y)
{
#ifdef FILL_PAIRS
	for (int i = 0; i < 4; i += 2) {
		uint32_t pair = fill_get_pair(x + i);

		y[i] = philox_f32_from_bits(pair << 16);
		y[i + 1] = philox_f32_from_bits(pair & 0xffff0000u);
	}
#else
	for (int i = 0; i < 4; i++)
		y[i] = philox_bf16_to_f32(x[i]);
#endif
}

PHILOX_FN void fill_widen_f16(const uint16_t *x, float *y)
{
	for (int i = 0; i < 4; i++)
		y[i] = philox_number_from_f16(x[i]);
}

/* --- stochastic ----------------------------------------------------------- */

#ifdef FILL_PAIRS
/* The two upper halves, and 1 more where w is below the lower half. */
PHILOX_FN uint32_t fill_round_pair_bf16(const float *x, const uint32_t *w)
{
	uint32_t bits[2];

	for (int i = 0; i < 2; i++) {
		bits[i] = philox_f32_bits(x[i]);
		if (x[i] != x[i])
			bits[i] = (bits[i] | 0x400000u) & 0xffff0000u;
	}
	return (bits[1] & 0xffff0000u) + (bits[0] >> 16) +
	       (uint32_t)(w[0] < bits[0] << 16) +
	       ((uint32_t)(w[1] < bits[1] << 16) << 16);
}

/*
 * The fraction f of philox_round_f16() as floor(f 2^32): the part shifted out
 * of the 24 digits of x, of which f16 has 11, or fewer for a denormal.
 */
PHILOX_FN uint32_t fill_fraction_f16(float x)
{
	uint32_t bits = philox_f32_bits(x), power = bits >> 23 & 0xffu;
	uint64_t digits = (uint64_t)((bits & 0x7fffffu) | 0x800000u) << 32;

	power = power < 113 ? power : 113;
	power = power > 63 ? power : 63;
	return (uint32_t)(digits >> (126 - power));
}

PHILOX_FN uint32_t fill_round_pair_f16(const float *x, const uint32_t *w)
{
	const float up = 5.19229686e+33f, down = 1.92592994e-34f;
	/* 2^112 and back: 65536 and more become infinite */
	float low = philox_multiply(philox_multiply(x[0], up), down);
	float high = philox_multiply(philox_multiply(x[1], up), down);
	uint32_t cut = fill_pair_cut_f16(high, low);

	cut += (uint32_t)(w[0] < fill_fraction_f16(low)) +
	       ((uint32_t)(w[1] < fill_fraction_f16(high)) << 16);
	if (__builtin_expect((x[0] != x[0]) | (x[1] != x[1]), 0)) {
		uint32_t nan0 = philox_f32_to_f16(x[0]);
		uint32_t nan1 = philox_f32_to_f16(x[1]);

		nan0 = x[0] != x[0] ? nan0 : cut & 0xffffu;
		nan1 = x[1] != x[1] ? nan1 : cut >> 16;
		cut = nan1 << 16 | nan0;
	}
	return cut;
}
#endif

/* As philox_round_<type>(). */
#ifdef FILL_PAIRS
#define FILL_NARROW_RANDOM(type)                                             \
	PHILOX_FN void fill_narrow_random_##type(                            \
		const float *x, const uint32_t *w, uint16_t *v)              \
	{                                                                    \
		for (int i = 0; i < 4; i += 2)                               \
			fill_put_pair(v + i,                                 \
				      fill_round_pair_##type(x + i, w + i)); \
	}
#else
#define FILL_NARROW_RANDOM(type)                                \
	PHILOX_FN void fill_narrow_random_##type(               \
		const float *x, const uint32_t *w, uint16_t *v) \
	{                                                       \
		for (int i = 0; i < 4; i++)                     \
			v[i] = philox_round_##type(x[i], w[i]); \
	}
#endif

FILL_NARROW_RANDOM(bf16)
FILL_NARROW_RANDOM(f16)
#undef FILL_NARROW_RANDOM

#endif
