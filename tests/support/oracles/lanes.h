/*
 * tests/support/oracles/lanes.h - vector functions against their scalar
 * versions, bit for bit
 *
 * Included by a file for each instruction set, after its vectors. Fills reach
 * few special words; here every function gets them all, in every lane.
 */
#ifndef TESTS_SUPPORT_LANES_H
#define TESTS_SUPPORT_LANES_H

#include <stdio.h>
#include <string.h>
#include <philox/kernel.h>
#include "lib/fill/simd/functions.h"
#include "tests/support/oracles/lanes_list.h"

/* Words around every place where something changes, then everywhere. */
static uint32_t lane_word(uint64_t i)
{
	static const uint32_t places[] = {
		0,          1u << 8,    1u << 23,    1u << 24,
		0x20000000, 0x40000000, 0x55555480u, 0x55555555u,
		0x60000000, 0x80000000, 0xa0000000,  0xaaaaaaabu,
		0xc0000000, 0xe0000000, 0xffffff80u, 0xff000000u};

	if (i < 16 * 256)
		return places[i / 256] + (uint32_t)(i % 256) - 128u;
	return (uint32_t)(i * 2654435761u) ^ (uint32_t)(i >> 7);
}

/* The same with 53 bits. */
static uint64_t lane_wide(uint64_t i)
{
	static const uint64_t places[] = {0,
					  1ull << 50,
					  1ull << 51,
					  3ull << 50,
					  1ull << 52,
					  0xaaaaaaaaaaaabull,
					  0x15555555555555ull,
					  1ull << 29};
	uint64_t mask = (1ull << 53) - 1;

	if (i < 8 * 256)
		return (places[i / 256] + i % 256 - 128) & mask;
	return (i * 0x9e3779b97f4a7c15ull >> 11 ^ i << 20) & mask;
}

/* Arguments of an exponential function, up to both ends. */
static float lane_f32(uint64_t i)
{
	return ((float)(int)(lane_word(i) % 240000u) - 120000.0f) / 1000.0f;
}

static double lane_f64(uint64_t i)
{
	return (double)(int)(lane_word(i) % 1600000u) / 1000.0 - 800.0;
}

static int same(const char *name, uint64_t i, const void *lane,
		const void *scalar, size_t size)
{
	if (!memcmp(lane, scalar, size))
		return 1;
	fprintf(stderr, "%s differs, argument %llu\n", name,
		(unsigned long long)i);
	return 0;
}

#define LANES_F32(check, vector, scalar)                                 \
	static int check(void)                                           \
	{                                                                \
		for (uint64_t i = 0; i < LANE_ARGUMENTS; i += V_LANES) { \
			uint32_t w[V_LANES];                             \
			float y[V_LANES], x;                             \
                                                                         \
			for (unsigned k = 0; k < V_LANES; k++)           \
				w[k] = lane_word(i + k);                 \
			vf_store(y, vector(vi_load(w)));                 \
			for (unsigned k = 0; k < V_LANES; k++) {         \
				x = scalar(w[k]);                        \
				if (!same(#check, i + k, &y[k], &x,      \
					  sizeof(x)))                    \
					return 0;                        \
			}                                                \
		}                                                        \
		return 1;                                                \
	}

#define LANES_F64(check, vector, scalar)                                     \
	static int check(void)                                               \
	{                                                                    \
		for (uint64_t i = 0; i < LANE_ARGUMENTS; i += V_LANES / 2) { \
			uint64_t a[V_LANES / 2];                             \
			double y[V_LANES / 2], x;                            \
                                                                             \
			for (unsigned k = 0; k < V_LANES / 2; k++)           \
				a[k] = lane_wide(i + k);                     \
			vd_store(y, vector(vi_load(a)));                     \
			for (unsigned k = 0; k < V_LANES / 2; k++) {         \
				x = scalar(a[k]);                            \
				if (!same(#check, i + k, &y[k], &x,          \
					  sizeof(x)))                        \
					return 0;                            \
			}                                                    \
		}                                                            \
		return 1;                                                    \
	}

SIMD_FN vf first_of(vi w)
{
	vf sine, cosine;

	vf_sin_cos(w, &sine, &cosine);
	return sine;
}

SIMD_FN vf second_of(vi w)
{
	vf sine, cosine;

	vf_sin_cos(w, &sine, &cosine);
	return cosine;
}

static float scalar_sine(uint32_t w)
{
	float sine, cosine;

	philox_sin_cos(w, &sine, &cosine);
	return sine;
}

static float scalar_cosine(uint32_t w)
{
	float sine, cosine;

	philox_sin_cos(w, &sine, &cosine);
	return cosine;
}

SIMD_FN vd first_of_f64(vi a)
{
	vd sine, cosine;

	vd_sin_cos(a, &sine, &cosine);
	return sine;
}

SIMD_FN vd second_of_f64(vi a)
{
	vd sine, cosine;

	vd_sin_cos(a, &sine, &cosine);
	return cosine;
}

static double scalar_sine_f64(uint64_t a)
{
	double sine, cosine;

	philox_sin_cos_f64(a, &sine, &cosine);
	return sine;
}

static double scalar_cosine_f64(uint64_t a)
{
	double sine, cosine;

	philox_sin_cos_f64(a, &sine, &cosine);
	return cosine;
}

/* Gumbel numbers are the logarithms of all possible exponential ones. */
SIMD_FN vf ln_of(vi w)
{
	return vf_ln(vf_minus_ln1m(w));
}

static float scalar_ln(uint32_t w)
{
	return philox_ln_f32(philox_minus_ln1m_f32(w));
}

SIMD_FN vd ln_of_f64(vi a)
{
	return vd_ln(vd_minus_ln1m(a));
}

static double scalar_ln_f64(uint64_t a)
{
	return philox_ln_f64(philox_minus_ln1m_f64(a));
}

static float scalar_float(uint32_t w)
{
	return (float)w;
}

LANES_F32(conversion, vf_from_unsigned, scalar_float)
LANES_F32(minus_2_ln, vf_minus_2_ln, philox_minus_2_ln)
LANES_F32(minus_ln1m, vf_minus_ln1m, philox_minus_ln1m_f32)
LANES_F32(logarithm, ln_of, scalar_ln)
LANES_F32(sine, first_of, scalar_sine)
LANES_F32(cosine, second_of, scalar_cosine)
LANES_F64(minus_2_ln_f64, vd_minus_2_ln, philox_minus_2_ln_f64)
LANES_F64(minus_ln1m_f64, vd_minus_ln1m, philox_minus_ln1m_f64)
LANES_F64(logarithm_f64, ln_of_f64, scalar_ln_f64)
LANES_F64(sine_f64, first_of_f64, scalar_sine_f64)
LANES_F64(cosine_f64, second_of_f64, scalar_cosine_f64)

static int exponential(void)
{
	for (uint64_t i = 0; i < LANE_ARGUMENTS; i += V_LANES) {
		float x[V_LANES], y[V_LANES], z;

		for (unsigned k = 0; k < V_LANES; k++)
			x[k] = lane_f32(i + k);
		vf_store(y, vf_exp(vf_load(x)));
		for (unsigned k = 0; k < V_LANES; k++) {
			z = philox_exp_f32(x[k]);
			if (!same("exp", i + k, &y[k], &z, sizeof(z)))
				return 0;
		}
	}
	return 1;
}

static int exponential_f64(void)
{
	for (uint64_t i = 0; i < LANE_ARGUMENTS; i += V_LANES / 2) {
		double x[V_LANES / 2], y[V_LANES / 2], z;

		for (unsigned k = 0; k < V_LANES / 2; k++)
			x[k] = lane_f64(i + k);
		vd_store(y, vd_exp(vd_load(x)));
		for (unsigned k = 0; k < V_LANES / 2; k++) {
			z = philox_exp_f64(x[k]);
			if (!same("exp f64", i + k, &y[k], &z, sizeof(z)))
				return 0;
		}
	}
	return 1;
}

#define LANES_TABLE                                                           \
	{                                                                     \
		conversion, minus_2_ln, minus_ln1m, logarithm, sine, cosine,  \
			exponential, minus_2_ln_f64, minus_ln1m_f64,          \
			logarithm_f64, sine_f64, cosine_f64, exponential_f64, \
	}

#endif
