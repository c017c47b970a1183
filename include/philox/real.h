/*
 * philox/real.h - arithmetic, conversions and functions of real numbers
 *
 * The same source gives the same bits everywhere: only integer arithmetic and
 * IEEE additions, products, fused multiply-adds, square roots and conversions
 * are used, each written out so that no compiler option can fuse or reorder
 * them. tests/fit_normal.py finds the polynomials' coefficients.
 */
#ifndef PHILOX_REAL_H
#define PHILOX_REAL_H

#include <philox/state.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Arithmetic with one rounding per operation, whatever the compiler's options.
 * A product that someone may add to is hidden from the compiler behind an empty
 * asm, or it might become a fused multiply-add. A host without fused
 * multiply-add instructions calls fmaf() of the C library, which is exact (link
 * with -lm); clang must not know it by its name, for with -ffast-math it would
 * make two operations of it.
 */
#if defined(__clang__) && defined(__x86_64__) && !defined(__FMA__) && \
	!defined(PHILOX_BUILTIN_FMA)
float philox_fmaf(float a, float b, float c) __asm__("fmaf");
#else
#define philox_fmaf(a, b, c) __builtin_fmaf(a, b, c)
#endif

PHILOX_FN float philox_multiply(float a, float b)
{
	float product;

#ifdef __CUDA_ARCH__
	/* Unlike __fmul_rn(), this keeps denormals under --use_fast_math. */
	asm("mul.rn.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
#else
	product = a * b;
#if defined(__x86_64__)
	__asm__("" : "+x"(product));
#elif defined(__aarch64__)
	__asm__("" : "+w"(product));
#else
	__asm__("" : "+m"(product));
#endif
#endif
	return product;
}

PHILOX_FN float philox_multiply_add(float a, float b, float c)
{
#ifdef __CUDA_ARCH__
	return __fmaf_rn(a, b, c);
#else
	return philox_fmaf(a, b, c);
#endif
}

/* philox_root() is the square root of x >= 0; no call of sqrtf() for errno. */
PHILOX_FN float philox_root(float x)
{
#ifdef __CUDA_ARCH__
	return __fsqrt_rn(x);
#elif defined(__x86_64__)
	float root;

#ifdef __AVX__
	__asm__("vsqrtss %1, %1, %0" : "=x"(root) : "x"(x));
#else
	__asm__("sqrtss %1, %0" : "=x"(root) : "x"(x));
#endif
	return root;
#else
	return __builtin_sqrtf(x);
#endif
}

PHILOX_FN uint32_t philox_f32_bits(float x)
{
#ifdef __CUDA_ARCH__
	return __float_as_uint(x);
#else
	uint32_t bits;

	__builtin_memcpy(&bits, &x, sizeof(bits));
	return bits;
#endif
}

PHILOX_FN float philox_f32_from_bits(uint32_t bits)
{
#ifdef __CUDA_ARCH__
	return __uint_as_float(bits);
#else
	float x;

	__builtin_memcpy(&x, &bits, sizeof(x));
	return x;
#endif
}

/* philox_bf16_to_f32() widens a bf16, given by its bits; exact. */
PHILOX_FN float philox_bf16_to_f32(uint16_t bits)
{
	return philox_f32_from_bits((uint32_t)bits << 16);
}

/*
 * philox_f32_to_bf16() rounds to the nearest bf16, ties to even. A NaN keeps
 * its sign and becomes quiet.
 */
PHILOX_FN uint16_t philox_f32_to_bf16(float x)
{
	uint32_t bits = philox_f32_bits(x);

	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(bits >> 16 | 0x40u);
	return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/*
 * philox_minus_2_ln() is -2 ln(u) for the uniform number u in (0, 1] that a
 * word stands for, (w + 1/2) 2^-32 rounded to f32. u = m 2^k with m in [2/3,
 * 4/3), and ln(m) is a polynomial in m - 1, which is exact. tests/fit_normal.py
 * finds the coefficients.
 */
PHILOX_FN float philox_minus_2_ln(uint32_t w)
{
	const float ln_2 = 0.693147182f;
	const uint32_t two_thirds = 0x3f2aaaabu;
	float u =
		philox_multiply_add((float)w, 2.32830644e-10f, 1.16415322e-10f);
	uint32_t bits = philox_f32_bits(u);
	/* 64 is added and taken off so that nothing negative is shifted */
	uint32_t power = (bits - two_thirds + (64u << 23)) >> 23;
	float k = (float)((int)power - 64);
	float f =
		philox_f32_from_bits(bits - (power << 23) + (64u << 23)) - 1.0f;
	float p = -0.122539788f;

	p = philox_multiply_add(p, f, 0.141343907f);
	p = philox_multiply_add(p, f, -0.123200983f);
	p = philox_multiply_add(p, f, 0.139725998f);
	p = philox_multiply_add(p, f, -0.166714787f);
	p = philox_multiply_add(p, f, 0.200124875f);
	p = philox_multiply_add(p, f, -0.249999702f);
	p = philox_multiply_add(p, f, 0.333331794f);
	p = philox_multiply_add(p, f, -0.5f);
	p = philox_multiply_add(philox_multiply(f, f), p, f);
	return -2.0f * philox_multiply_add(k, ln_2, p);
}

/*
 * philox_sin_cos() gives sine and cosine of the angle that a word stands for, 2
 * pi (w + 1/2) 2^-32. The nearest multiple q of pi/2 is taken off in integers,
 * which leaves |t| <= pi/4 and never 0; q then swaps and negates.
 */
PHILOX_FN void philox_sin_cos(uint32_t w, float *sine, float *cosine)
{
	const float two_pi_by_2_33 = 7.3145906e-10f;
	uint32_t q = (w + (1u << 29)) >> 30;
	float rest = (float)(int)((w - (q << 30)) * 2u + 1u);
	float t = philox_multiply(rest, two_pi_by_2_33);
	float y = philox_multiply(t, t);
	float s = -0.000194961365f, c = 2.44306702e-05f;
	uint32_t s_bits, c_bits, swap = 0u - (q & 1u), differ;

	s = philox_multiply_add(s, y, 0.00833198335f);
	s = philox_multiply_add(s, y, -0.166666508f);
	s = philox_multiply_add(philox_multiply(t, y), s, t);
	c = philox_multiply_add(c, y, -0.00138873013f);
	c = philox_multiply_add(c, y, 0.0416666456f);
	c = philox_multiply_add(c, y, -0.5f);
	c = philox_multiply_add(c, y, 1.0f);

	s_bits = philox_f32_bits(s);
	c_bits = philox_f32_bits(c);
	differ = (s_bits ^ c_bits) & swap;
	s_bits ^= differ ^ (q & 2u) << 30;
	c_bits ^= differ ^ ((q + 1u) & 2u) << 30;
	*sine = philox_f32_from_bits(s_bits);
	*cosine = philox_f32_from_bits(c_bits);
}

#ifdef __cplusplus
}
#endif
#endif
