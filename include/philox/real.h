/*
 * philox/real.h - arithmetic and conversions of real numbers
 *
 * The same source gives the same bits everywhere: only integer arithmetic and
 * IEEE additions, products, fused multiply-adds, square roots and conversions
 * are used, each written out so that no compiler option can fuse or reorder
 * them.
 *
 * During capture: all functions here are legal.
 * Threads: any, at any time.
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
 * denormals taken for 0. So no number depends on it. A host without fused
 * multiply-add instructions calls fmaf() and fma() of the C library, which are
 * exact (link with -lm). The compiler clang must not recognise their names,
 * since with -ffast-math it would make two operations of each.
 */
#if defined(__clang__) && defined(__x86_64__) && !defined(__FMA__) && \
	!defined(PHILOX_BUILTIN_FMA)
float philox_fmaf(float a, float b, float c) __asm__("fmaf");
double philox_fma(double a, double b, double c) __asm__("fma");
#else
#define philox_fmaf(a, b, c) __builtin_fmaf(a, b, c)
#define philox_fma(a, b, c)  __builtin_fma(a, b, c)
#endif

/* Return a b, rounded once. */
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

/* Return a b + c, rounded once. */
PHILOX_FN float philox_multiply_add(float a, float b, float c)
{
#ifdef __CUDA_ARCH__
	return __fmaf_ieee_rn(a, b, c); /* __fmaf_rn() may flush */
#else
	return philox_fmaf(a, b, c);
#endif
}

/* Return a times a power of two, which may be fused: it is exact. */
PHILOX_FN float philox_scaled(float a, float power)
{
#ifdef __CUDA_ARCH__
	return philox_multiply(a, power);
#else
	return a * power;
#endif
}

/* Return a - b, rounded once. */
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

/* Return a + b, rounded once. */
PHILOX_FN float philox_add(float a, float b)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("add.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
	return result;
#else
	return a + b;
#endif
}

/* Return -a. */
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

/* Return a < b ? a : b: of equal numbers, and if one is a NaN, b. */
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

/* Return a > b ? a : b: of equal numbers, and if one is a NaN, b. */
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

/* Return the integer part of 0 <= a < 2^32. */
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

/* Return the f32 that is nearest to a, ties to even. */
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
 * Return a 0 to add, or to subtract from, where -0 must become 0.
 *
 * Options that let the compiler omit such a step must not see it.
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

/* Return the square root of a >= 0, without sqrtf() and its errno. */
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

/* Return the bits of x. */
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

/* Return the number that has these bits. */
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

/* --- arithmetic in f64, whose denormals no option of CUDA touches --------- */

/* Return a b, rounded once. */
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

/* Return a b + c, rounded once. */
PHILOX_FN double philox_multiply_add_f64(double a, double b, double c)
{
#ifdef __CUDA_ARCH__
	return __fma_rn(a, b, c);
#else
	return philox_fma(a, b, c);
#endif
}

/* Return a 0 that the compiler does not know, as philox_hidden_zero(). */
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

/* Return the square root of x >= 0, without sqrt() and its errno. */
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

/* Return the bits of x. */
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

/* Return the number that has these bits. */
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

/* --- products and sums of f32 that are not rounded to the nearest --------- */

/*
 * Return a b + c, rounded once, towards -infinity: for a c that is 0 or a
 * number near the result, which is no denormal.
 *
 * Elsewhere than on a GPU it is for tests, and takes more steps.
 */
PHILOX_FN float philox_multiply_add_down(float a, float b, float c)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("fma.rm.f32 %0, %1, %2, %3;"
	    : "=f"(result)
	    : "f"(a), "f"(b), "f"(c));
	return result;
#else
	float near = philox_multiply_add(a, b, c);
	uint32_t bits = philox_f32_bits(near);
	/* both sums are exact */
	double rest = philox_multiply_add_f64(
		PHILOX_CAST(double, a), PHILOX_CAST(double, b),
		PHILOX_CAST(double, c) - PHILOX_CAST(double, near));

	if (!(rest < 0))
		return near;
	return philox_f32_from_bits(near > 0 ? bits - 1 : bits + 1);
#endif
}

/*
 * Return a b + c, rounded once, or 0 if that is less or a NaN, or 1 if it is
 * more than 1.
 */
PHILOX_FN float philox_multiply_add_clipped(float a, float b, float c)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("fma.rn.sat.f32 %0, %1, %2, %3;"
	    : "=f"(result)
	    : "f"(a), "f"(b), "f"(c));
	return result;
#else
	float x = philox_multiply_add(a, b, c);

	x = x > 0.0f ? x : 0.0f;
	return x < 1.0f ? x : 1.0f;
#endif
}

/* --- bf16 and f16 --------------------------------------------------------- */

/* Return a bf16, given by its bits, as f32; exact. */
PHILOX_FN float philox_bf16_to_f32(uint16_t bits)
{
	return philox_f32_from_bits(PHILOX_CAST(uint32_t, bits) << 16);
}

/*
 * Return the bf16 that is nearest to a, ties to even; not for NaNs.
 *
 * GPUs of compute capability 8.0 have an instruction for it.
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
 * Return the bf16 that is nearest to x, ties to even; a NaN keeps its sign and
 * becomes quiet.
 */
PHILOX_FN uint16_t philox_f32_to_bf16(float x)
{
	uint32_t bits = philox_f32_bits(x);
	uint16_t number = philox_number_to_bf16(x);
	uint16_t nan = PHILOX_CAST(uint16_t, bits >> 16 | 0x40u);

	return (bits & 0x7fffffffu) > 0x7f800000u ? nan : number;
}

/* Return an f16, given by its bits, as f32; exact. A NaN gives some NaN. */
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
 * Return an f16, given by its bits, as f32; exact.
 *
 * A NaN keeps its sign and payload and becomes quiet, as on x86.
 */
PHILOX_FN float philox_f16_to_f32(uint16_t bits)
{
	uint32_t rest = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
	uint32_t number = philox_f32_bits(philox_number_from_f16(bits));
	uint32_t nan = sign | 0x7fc00000u | rest << 13;

	return philox_f32_from_bits(rest > 0x7c00u ? nan : number);
}

/*
 * Return the f16 that is nearest to a, ties to even: from 65520 on infinity,
 * below 2^-14 a denormal or 0.
 *
 * It is not for NaNs.
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
 * Return the f16 that is nearest to x, ties to even.
 *
 * A NaN keeps its sign and the upper 10 bits of its payload and becomes quiet,
 * as on x86.
 */
PHILOX_FN uint16_t philox_f32_to_f16(float x)
{
	uint32_t bits = philox_f32_bits(x), sign = bits >> 16 & 0x8000u;
	uint16_t number = philox_number_to_f16(x);
	uint16_t nan =
		PHILOX_CAST(uint16_t, sign | 0x7e00u | (bits >> 13 & 0x3ffu));

	return (bits & 0x7fffffffu) > 0x7f800000u ? nan : number;
}

/* --- logarithm, exponential function, sine and cosine --------------------- */

/*
 * There are no branches, no tables and no loops, so that the lanes of a vector
 * can take the same steps. Vector code uses the lists of coefficients too.
 * tests/numbers/fit_real.py finds the coefficients. Errors are the largest seen
 * in tests with dense samples, and relative unless marked otherwise; 1.2e-7 is
 * at most one unit in the last place of f32, 2.2e-16 of f64. Only the
 * exponential functions accept a NaN.
 */

/*
 * Polynomials: the first coefficient, of the highest power, and the others in
 * the order in which Horner's scheme uses them. Start with p = FIRST; every c
 * of TERMS makes p = p x + c, rounded once.
 *
 * LN is (ln(1 + x) - x) / x^2 for |x| <= 1/3, EXP is exp(x) for |x| <= ln(2)/2,
 * SIN is (sin(t)/t - 1) / x and COS is cos(t), both for x = t^2, |t| <= pi/4.
 */
/* clang-format off */
#define PHILOX_LN_F32_FIRST -0.122539788f
#define PHILOX_LN_F32_TERMS(X) \
	X(0.141343907f) X(-0.123200983f) X(0.139725998f) X(-0.166714787f) \
	X(0.200124875f) X(-0.249999702f) X(0.333331794f) X(-0.5f)

#define PHILOX_EXP_F32_FIRST 0.00140337355f
#define PHILOX_EXP_F32_TERMS(X) \
	X(0.00837209728f) X(0.0416655615f) X(0.166664898f) X(0.5f) X(1.0f) \
	X(1.0f)

#define PHILOX_SIN_F32_FIRST -0.000194961365f
#define PHILOX_SIN_F32_TERMS(X) X(0.00833198335f) X(-0.166666508f)

#define PHILOX_COS_F32_FIRST 2.44306702e-05f
#define PHILOX_COS_F32_TERMS(X) \
	X(-0.00138873013f) X(0.0416666456f) X(-0.5f) X(1.0f)

#define PHILOX_LN_F64_FIRST 0.087255966889394951
#define PHILOX_LN_F64_TERMS(X) \
	X(-0.086630984335445402) X(0.040511788967379676) \
	X(-0.045523612598820928) X(0.060807381225337451) \
	X(-0.063958698611674844) X(0.066469267177964239) \
	X(-0.0713014768931481) X(0.076935551413288492) \
	X(-0.083340224888905703) X(0.090908588974583343) \
	X(-0.0999997687751248) X(0.11111112357814504) X(-0.12500000459050215) \
	X(0.14285714267950028) X(-0.16666666661784674) X(0.20000000000124907) \
	X(-0.25000000000022499) X(0.33333333333333032) X(-0.49999999999999972)

#define PHILOX_EXP_F64_FIRST 2.297652272937582e-08
#define PHILOX_EXP_F64_TERMS(X) \
	X(2.7622034470167563e-07) X(2.7563837435939463e-06) \
	X(2.4801516844442233e-05) X(0.00019841262724121887) \
	X(0.0013888888920102879) X(0.0083333333364861949) \
	X(0.041666666666621013) X(0.16666666666662064) X(0.5) X(1.0) X(1.0)

#define PHILOX_SIN_F64_FIRST 1.5888585681048381e-10
#define PHILOX_SIN_F64_TERMS(X) \
	X(-2.5050600233834816e-08) X(2.7557312544740553e-06) \
	X(-0.00019841269825934005) X(0.0083333333333164821) \
	X(-0.16666666666666599)

#define PHILOX_COS_F64_FIRST -1.1359669817423065e-11
#define PHILOX_COS_F64_TERMS(X) \
	X(2.0875723683521711e-09) X(-2.7557314355235605e-07) \
	X(2.4801587289491807e-05) X(-0.0013888888888874138) \
	X(0.041666666666666602) X(-0.5) X(1.0)
/* clang-format on */

/* A step of Horner's scheme, in functions that have p and x. */
#define PHILOX_HORNER_F32(c) p = philox_multiply_add(p, x, c);
#define PHILOX_HORNER_F64(c) p = philox_multiply_add_f64(p, x, c);

/* Return ln((1 + x) 2^k) for |x| <= 1/3. */
PHILOX_FN float philox_ln_core(float x, float k)
{
	const float ln_2 = 0.693147182f;
	float p = PHILOX_LN_F32_FIRST;

	PHILOX_LN_F32_TERMS(PHILOX_HORNER_F32)
	p = philox_multiply_add(philox_multiply(x, x), p, x);
	return philox_multiply_add(k, ln_2, p);
}

/*
 * Return k where x = m 2^k with m in [2/3, 4/3), for the bits of a normal x >
 * 0. bits - k 2^23 are the bits of m. ln(m) is a polynomial in m - 1, and m - 1
 * is exact.
 */
PHILOX_FN int philox_ln_power_f32(uint32_t bits)
{
	const uint32_t two_thirds = 0x3f2aaaabu;

	/* 128 is added and subtracted so that no negative number is shifted */
	return PHILOX_CAST(int, (bits - two_thirds + (128u << 23)) >> 23) - 128;
}

/* Return the natural logarithm of a normal, finite x > 0, within 1.08e-7. */
PHILOX_FN float philox_ln_f32(float x)
{
	uint32_t bits = philox_f32_bits(x);
	int k = philox_ln_power_f32(bits);
	float m = philox_f32_from_bits(bits - (PHILOX_CAST(uint32_t, k) << 23));

	return philox_ln_core(philox_subtract(m, 1.0f), PHILOX_CAST(float, k));
}

/*
 * Return -2 ln(u) for the uniform number u in (0, 1] that a word gives, within
 * 8.0e-8. u is (w + 1/2) 2^-32 rounded to f32; for u = 1 the result is -0.
 */
PHILOX_FN float philox_minus_2_ln(uint32_t w)
{
	float u = philox_multiply_add(PHILOX_CAST(float, w), 2.32830644e-10f,
				      1.16415322e-10f);

	return philox_scaled(philox_ln_f32(u), -2.0f);
}

/*
 * Below 1/3 philox_minus_ln1m_f32() is computed from v, above from u = 1 - v.
 * The switch is at a point where the value does not go down.
 */
#define PHILOX_LN1M_SWITCH_F32 0x55555480u
#define PHILOX_LN1M_SWITCH_F64 0xaaaaaaaaaaaabull

/*
 * Return -ln(1 - v) for v = (w + 1/2) 2^-32, within 1.8e-7.
 *
 * Half of that comes from rounding v or u. The results are from 2^-33 to 22.9,
 * never 0, and never less for a larger w (all words have been tried).
 */
PHILOX_FN float philox_minus_ln1m_f32(uint32_t w)
{
	uint32_t of_u = 0u - PHILOX_CAST(uint32_t, w >= PHILOX_LN1M_SWITCH_F32);
	float rest = philox_multiply_add(PHILOX_CAST(float, w ^ of_u),
					 2.32830644e-10f, 1.16415322e-10f);
	uint32_t bits = philox_f32_bits(rest);
	int k = philox_ln_power_f32(bits);
	float m;

	k = of_u ? k : 0;
	m = philox_f32_from_bits(bits - (PHILOX_CAST(uint32_t, k) << 23));
	m = of_u ? philox_subtract(m, 1.0f) : philox_minus(m);
	return philox_minus(philox_ln_core(m, PHILOX_CAST(float, k)));
}

/*
 * Return the exponential function of any value, +-inf too, within 0.9 units in
 * the last place.
 *
 * It overflows to infinity and underflows through the denormals, rounded once,
 * to 0. A NaN gives some NaN.
 */
PHILOX_FN float philox_exp_f32(float value)
{
	const float by_ln_2 = 1.44269502f, magic = 12582912.0f;
	const float ln_2_high = 0.693145752f, ln_2_low = 1.42860677e-06f;
	float y = philox_greater(-104.0f, philox_lesser(89.0f, value));
	/* magic = 1.5 2^23 has a last place of 1: the sum is rounded to n */
	float sum = philox_multiply_add(y, by_ln_2, magic);
	uint32_t n = philox_f32_bits(sum) - philox_f32_bits(magic);
	float minus_n = philox_minus(PHILOX_CAST(float, PHILOX_CAST(int, n)));
	float x = philox_multiply_add(
		minus_n, ln_2_low, philox_multiply_add(minus_n, ln_2_high, y));
	float p = PHILOX_EXP_F32_FIRST;
	/* p 2^n in two steps, only the second of which may round */
	uint32_t half = ((n + 256u) >> 1) - 128u;

	PHILOX_EXP_F32_TERMS(PHILOX_HORNER_F32)
	p = philox_multiply(p, philox_f32_from_bits((half + 127u) << 23));
	return philox_multiply(p,
			       philox_f32_from_bits((n - half + 127u) << 23));
}

/* --- the same functions for f64 ------------------------------------------- */

/*
 * Where f32 has a word w, these have a number a < 2^53, the upper bits of a
 * 64-bit draw (w64 >> 11), which means (a + 1/2) 2^-53.
 */

/* Return ln((1 + x) 2^k) for |x| <= 1/3. */
PHILOX_FN double philox_ln_core_f64(double x, double k)
{
	const double ln_2 = 0.69314718055994529;
	double p = PHILOX_LN_F64_FIRST;

	PHILOX_LN_F64_TERMS(PHILOX_HORNER_F64)
	p = philox_multiply_add_f64(philox_multiply_f64(x, x), p, x);
	return philox_multiply_add_f64(k, ln_2, p);
}

/* Return k where x = m 2^k, as philox_ln_power_f32(), for the bits of x. */
PHILOX_FN int philox_ln_power_f64(uint64_t bits)
{
	const uint64_t two_thirds = 0x3fe5555555555555u;

	return PHILOX_CAST(int, (bits - two_thirds + (1024ULL << 52)) >> 52) -
	       1024;
}

/* Return the natural logarithm of a normal, finite x > 0, within 2.1e-16. */
PHILOX_FN double philox_ln_f64(double x)
{
	uint64_t bits = philox_f64_bits(x);
	int k = philox_ln_power_f64(bits);
	double m =
		philox_f64_from_bits(bits - (PHILOX_CAST(uint64_t, k) << 52));

	return philox_ln_core_f64(m - 1.0, k);
}

/* Return (a + 1/2) 2^-53, rounded once. */
PHILOX_FN double philox_open_f64(uint64_t a)
{
	return philox_multiply_add_f64(
		PHILOX_CAST(double, PHILOX_CAST(long long, a)),
		1.1102230246251565e-16, 5.5511151231257827e-17);
}

/*
 * Return -2 ln(u) for u = (a + 1/2) 2^-53 rounded to f64, within 2.1e-16; for u
 * = 1 it is -0.
 */
PHILOX_FN double philox_minus_2_ln_f64(uint64_t a)
{
	return -2.0 * philox_ln_f64(philox_open_f64(a));
}

/*
 * Return -ln(1 - v) for v = (a + 1/2) 2^-53, within 3.9e-16.
 *
 * Half of that comes from rounding u. The results are from 2^-54 to 37.5.
 */
PHILOX_FN double philox_minus_ln1m_f64(uint64_t a)
{
	uint64_t of_u = 0u - PHILOX_CAST(uint64_t, a >= PHILOX_LN1M_SWITCH_F64);
	double rest = philox_open_f64(a ^ (of_u >> 11)), m;
	uint64_t bits = philox_f64_bits(rest);
	int k = philox_ln_power_f64(bits);

	k = of_u ? k : 0;
	m = philox_f64_from_bits(bits - (PHILOX_CAST(uint64_t, k) << 52));
	return -philox_ln_core_f64(of_u ? m - 1.0 : -m, k);
}

/*
 * Return the exponential function of any value, within 1.05 units in the last
 * place; otherwise as philox_exp_f32().
 */
PHILOX_FN double philox_exp_f64(double value)
{
	const double by_ln_2 = 1.4426950408889634, magic = 6755399441055744.0;
	const double ln_2_high = 0.69314718048553914;
	const double ln_2_low = 7.4406171100123968e-11;
	double y = value < -746.0 ? -746.0 : value > 710.0 ? 710.0 : value;
	/* magic = 1.5 2^52 */
	double sum = philox_multiply_add_f64(y, by_ln_2, magic);
	uint64_t n = philox_f64_bits(sum) - philox_f64_bits(magic);
	int whole = PHILOX_CAST(int, PHILOX_CAST(uint32_t, n));
	double minus_n = -PHILOX_CAST(double, whole);
	double x = philox_multiply_add_f64(
		minus_n, ln_2_low,
		philox_multiply_add_f64(minus_n, ln_2_high, y));
	double p = PHILOX_EXP_F64_FIRST;
	uint64_t half = ((n + 2048u) >> 1) - 1024u;

	PHILOX_EXP_F64_TERMS(PHILOX_HORNER_F64)
	p = philox_multiply_f64(p, philox_f64_from_bits((half + 1023u) << 52));
	return philox_multiply_f64(
		p, philox_f64_from_bits((n - half + 1023u) << 52));
}

/* Return the sine of t, |t| <= pi/4, for x = t^2. */
PHILOX_FN double philox_sin_core_f64(double t, double x)
{
	double p = PHILOX_SIN_F64_FIRST;

	PHILOX_SIN_F64_TERMS(PHILOX_HORNER_F64)
	return philox_multiply_add_f64(philox_multiply_f64(t, x), p, t);
}

/* Return the cosine of t, |t| <= pi/4, for x = t^2. */
PHILOX_FN double philox_cos_core_f64(double x)
{
	double p = PHILOX_COS_F64_FIRST;

	PHILOX_COS_F64_TERMS(PHILOX_HORNER_F64)
	return p;
}

/*
 * Compute sine and cosine of the angle 2 pi (a + 1/2) 2^-53, each with a
 * relative error within 2.6e-16.
 */
PHILOX_FN void philox_sin_cos_f64(uint64_t a, double *sine, double *cosine)
{
	const double two_pi_by_2_54 = 3.4878684980086318e-16;
	uint64_t q = (a + (1ULL << 50)) >> 51;
	long long rest = PHILOX_CAST(long long, (a - (q << 51)) * 2u + 1u);
	double t =
		philox_multiply_f64(PHILOX_CAST(double, rest), two_pi_by_2_54);
	double y = philox_multiply_f64(t, t);
	uint64_t s = philox_f64_bits(philox_sin_core_f64(t, y));
	uint64_t c = philox_f64_bits(philox_cos_core_f64(y));
	uint64_t differ = (s ^ c) & (0u - (q & 1u));

	s ^= differ ^ (q & 2u) << 62;
	c ^= differ ^ ((q + 1u) & 2u) << 62;
	*sine = philox_f64_from_bits(s);
	*cosine = philox_f64_from_bits(c);
}

#ifdef __cplusplus
}
#endif
#endif
