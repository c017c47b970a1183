/*
 * philox/real.h - arithmetic and conversions of real numbers
 *
 * The same source gives the same bits everywhere: only integer arithmetic and
 * IEEE additions, products, fused multiply-adds, square roots and conversions
 * are used, each written out so that no compiler option can fuse or reorder
 * them.
 */
#ifndef PHILOX_REAL_H
#define PHILOX_REAL_H

#include <philox/state.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Arithmetic with one rounding per operation, whatever the compiler's options.
 * A product to which something may be added is hidden from the compiler by an
 * empty asm, or it might become a fused multiply-add. On a GPU the PTX is
 * written out wherever nvcc's -ftz=true, a part of --use_fast_math, would have
 * denormals taken for 0; so no number depends on it. A host without fused
 * multiply-add instructions calls fmaf() and fma() of the C library, which are
 * exact (link with -lm); clang must not recognise their names, since with
 * -ffast-math it would make two operations of each.
 */
#if defined(__clang__) && defined(__x86_64__) && !defined(__FMA__) && \
	!defined(PHILOX_BUILTIN_FMA)
float philox_fmaf(float a, float b, float c) __asm__("fmaf");
double philox_fma(double a, double b, double c) __asm__("fma");
#else
#define philox_fmaf(a, b, c) __builtin_fmaf(a, b, c)
#define philox_fma(a, b, c)  __builtin_fma(a, b, c)
#endif

PHILOX_FN float philox_multiply(float a, float b)
{
	float result;

#ifdef __CUDA_ARCH__
	asm("mul.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
#else
	result = a * b;
#if defined(__x86_64__)
	__asm__("" : "+x"(result));
#elif defined(__aarch64__)
	__asm__("" : "+w"(result));
#else
	__asm__("" : "+m"(result));
#endif
#endif
	return result;
}

PHILOX_FN float philox_multiply_add(float a, float b, float c)
{
#ifdef __CUDA_ARCH__
	return __fmaf_ieee_rn(a, b, c); /* __fmaf_rn() may flush */
#else
	return philox_fmaf(a, b, c);
#endif
}

/* The product with a power of two, which may be fused: it is exact. */
PHILOX_FN float philox_scaled(float a, float power)
{
#ifdef __CUDA_ARCH__
	return philox_multiply(a, power);
#else
	return a * power;
#endif
}

PHILOX_FN float philox_subtract(float a, float b)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("sub.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
	return result;
#else
	return a - b;
#endif
}

PHILOX_FN float philox_minus(float a)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("neg.f32 %0, %1;" : "=f"(result) : "f"(a));
	return result;
#else
	return -a;
#endif
}

/*
 * philox_lesser() is a < b ? a : b, philox_greater() is a > b ? a : b: of equal
 * numbers, and if one is a NaN, both give b.
 */
PHILOX_FN float philox_lesser(float a, float b)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("{.reg .pred p; setp.lt.f32 p, %1, %2; selp.f32 %0, %1, %2, p;}"
	    : "=f"(result)
	    : "f"(a), "f"(b));
	return result;
#else
	return a < b ? a : b;
#endif
}

PHILOX_FN float philox_greater(float a, float b)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("{.reg .pred p; setp.gt.f32 p, %1, %2; selp.f32 %0, %1, %2, p;}"
	    : "=f"(result)
	    : "f"(a), "f"(b));
	return result;
#else
	return a > b ? a : b;
#endif
}

/* philox_whole() is the integer part of 0 <= a < 2^32. */
PHILOX_FN uint32_t philox_whole(float a)
{
#ifdef __CUDA_ARCH__
	uint32_t result;

	asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(result) : "f"(a));
	return result;
#else
	return PHILOX_CAST(uint32_t, a);
#endif
}

/* philox_f32_of() rounds to the nearest f32. */
PHILOX_FN float philox_f32_of(double a)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("cvt.rn.f32.f64 %0, %1;" : "=f"(result) : "d"(a));
	return result;
#else
	return PHILOX_CAST(float, a);
#endif
}

/*
 * philox_hidden_zero() is a 0 to add, or to subtract from, where -0 must become
 * 0: options that let the compiler omit such a step must not see it.
 */
PHILOX_FN float philox_hidden_zero(void)
{
	float zero = 0.0f;

#if defined(__CUDA_ARCH__)
#elif defined(__x86_64__)
	__asm__("" : "+x"(zero));
#elif defined(__aarch64__)
	__asm__("" : "+w"(zero));
#else
	__asm__("" : "+m"(zero));
#endif
	return zero;
}

/* philox_root() is the square root of a >= 0, without sqrtf() and its errno. */
PHILOX_FN float philox_root(float a)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("sqrt.rn.f32 %0, %1;" : "=f"(result) : "f"(a));
	return result;
#elif defined(__x86_64__)
	float root;

#ifdef __AVX__
	__asm__("vsqrtss %1, %1, %0" : "=x"(root) : "x"(a));
#else
	__asm__("sqrtss %1, %0" : "=x"(root) : "x"(a));
#endif
	return root;
#else
	return __builtin_sqrtf(a);
#endif
}

/* philox_f32_bits() gives the bits of x, philox_f32_from_bits() the reverse. */
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

/* The same for f64, whose denormals no option of CUDA touches. */
PHILOX_FN double philox_multiply_f64(double a, double b)
{
#ifdef __CUDA_ARCH__
	return __dmul_rn(a, b);
#else
	double product = a * b;

#if defined(__x86_64__)
	__asm__("" : "+x"(product));
#elif defined(__aarch64__)
	__asm__("" : "+w"(product));
#else
	__asm__("" : "+m"(product));
#endif
	return product;
#endif
}

PHILOX_FN double philox_multiply_add_f64(double a, double b, double c)
{
#ifdef __CUDA_ARCH__
	return __fma_rn(a, b, c);
#else
	return philox_fma(a, b, c);
#endif
}

PHILOX_FN double philox_hidden_zero_f64(void)
{
	double zero = 0.0;

#if defined(__CUDA_ARCH__)
#elif defined(__x86_64__)
	__asm__("" : "+x"(zero));
#elif defined(__aarch64__)
	__asm__("" : "+w"(zero));
#else
	__asm__("" : "+m"(zero));
#endif
	return zero;
}

PHILOX_FN double philox_root_f64(double x)
{
#ifdef __CUDA_ARCH__
	return __dsqrt_rn(x);
#elif defined(__x86_64__)
	double root;

#ifdef __AVX__
	__asm__("vsqrtsd %1, %1, %0" : "=x"(root) : "x"(x));
#else
	__asm__("sqrtsd %1, %0" : "=x"(root) : "x"(x));
#endif
	return root;
#else
	return __builtin_sqrt(x);
#endif
}

PHILOX_FN uint64_t philox_f64_bits(double x)
{
#ifdef __CUDA_ARCH__
	return PHILOX_CAST(uint64_t, __double_as_longlong(x));
#else
	uint64_t bits;

	__builtin_memcpy(&bits, &x, sizeof(bits));
	return bits;
#endif
}

PHILOX_FN double philox_f64_from_bits(uint64_t bits)
{
#ifdef __CUDA_ARCH__
	return __longlong_as_double(PHILOX_CAST(long long, bits));
#else
	double x;

	__builtin_memcpy(&x, &bits, sizeof(x));
	return x;
#endif
}

/* philox_bf16_to_f32() widens a bf16, given by its bits; exact. */
PHILOX_FN float philox_bf16_to_f32(uint16_t bits)
{
	return philox_f32_from_bits(PHILOX_CAST(uint32_t, bits) << 16);
}

/*
 * philox_number_to_bf16() rounds a number to the nearest bf16, ties to even; it
 * is not for NaNs. GPUs of compute capability 8.0 have an instruction for it.
 */
PHILOX_FN uint16_t philox_number_to_bf16(float a)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
	uint16_t result;

	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(a));
	return result;
#else
	uint32_t bits = philox_f32_bits(a);

	return PHILOX_CAST(uint16_t,
			   (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}

/*
 * philox_f32_to_bf16() does the same; a NaN keeps its sign and becomes quiet.
 */
PHILOX_FN uint16_t philox_f32_to_bf16(float x)
{
	uint32_t bits = philox_f32_bits(x);
	uint16_t number = philox_number_to_bf16(x);
	uint16_t nan = PHILOX_CAST(uint16_t, bits >> 16 | 0x40u);

	return (bits & 0x7fffffffu) > 0x7f800000u ? nan : number;
}

/*
 * philox_number_from_f16() widens an f16, given by its bits; exact. A NaN gives
 * some NaN.
 */
PHILOX_FN float philox_number_from_f16(uint16_t a)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(a));
	return result;
#else
	uint32_t rest = a & 0x7fffu, sign = (a & 0x8000u) << 16;
	uint32_t normal = (rest << 13) + (112u << 23);
	/* a multiple of 2^-24; the number is normal from 1024 on */
	uint32_t denormal = philox_f32_bits(
		PHILOX_CAST(float, PHILOX_CAST(int, rest)) * 5.96046448e-08f);
	uint32_t special = rest << 13 | 0x7f800000u;

	normal = rest < 0x400u ? denormal : normal;
	return philox_f32_from_bits(sign | (rest < 0x7c00u ? normal : special));
#endif
}

/*
 * philox_f16_to_f32() does the same; a NaN keeps its sign and payload and
 * becomes quiet, as on x86.
 */
PHILOX_FN float philox_f16_to_f32(uint16_t bits)
{
	uint32_t rest = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
	uint32_t number = philox_f32_bits(philox_number_from_f16(bits));
	uint32_t nan = sign | 0x7fc00000u | rest << 13;

	return philox_f32_from_bits(rest > 0x7c00u ? nan : number);
}

/*
 * philox_number_to_f16() rounds a number to the nearest f16, ties to even: from
 * 65520 on to infinity, below 2^-14 to a denormal or 0. It is not for NaNs.
 */
PHILOX_FN uint16_t philox_number_to_f16(float a)
{
#ifdef __CUDA_ARCH__
	uint16_t result;

	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(a));
	return result;
#else
	uint32_t bits = philox_f32_bits(a), sign = bits >> 16 & 0x8000u;
	uint32_t rest = bits & 0x7fffffffu;
	/* to a multiple of 2^13; a carry goes into the power, or to infinity */
	uint32_t normal =
		(rest + 0xfffu + (rest >> 13 & 1u) - (112u << 23)) >> 13;
	/* 1/2 has the last place of f16's denormals: this rounds the sum */
	uint32_t denormal = philox_f32_bits(philox_f32_from_bits(rest) + 0.5f) -
			    0x3f000000u;

	normal = rest < 0x38800000u ? denormal : normal;
	return PHILOX_CAST(uint16_t,
			   sign | (rest < 0x47800000u ? normal : 0x7c00u));
#endif
}

/*
 * philox_f32_to_f16() does the same; a NaN keeps its sign and the upper 10 bits
 * of its payload and becomes quiet, as on x86.
 */
PHILOX_FN uint16_t philox_f32_to_f16(float x)
{
	uint32_t bits = philox_f32_bits(x), sign = bits >> 16 & 0x8000u;
	uint16_t number = philox_number_to_f16(x);
	uint16_t nan =
		PHILOX_CAST(uint16_t, sign | 0x7e00u | (bits >> 13 & 0x3ffu));

	return (bits & 0x7fffffffu) > 0x7f800000u ? nan : number;
}

#ifdef __cplusplus
}
#endif
#endif
