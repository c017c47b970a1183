/*
 * philox/values.h - from words to values: every distribution's formula
 *
 * w is an element's 32-bit word, w64 its 64-bit draw (philox/state.h). Ranges
 * and what a value means: philox/fill.h. bf16 and f16 are given as 16 bits.
 *
 * During capture: all functions here are legal.
 * Threads: any, at any time.
 */
#ifndef PHILOX_VALUES_H
#define PHILOX_VALUES_H

#include <philox/real.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return a uniform number in [0, 1), as f32: 24 bits of a word, exact. */
PHILOX_FN float philox_uniform_f32(uint32_t w)
{
	return philox_scaled(PHILOX_CAST(float, w >> 8), 5.96046448e-08f);
}

/*
 * Return a 2^-bits for a < 2^bits <= 2^22; `unit` is 2^-bits.
 *
 * On a GPU an addition makes 2^23 + a, and the one step after it is exact: it
 * takes 2^23 away again.
 */
PHILOX_FN float philox_part(uint32_t a, float unit)
{
#ifdef __CUDA_ARCH__
	return philox_multiply_add(philox_f32_from_bits(a + 0x4b000000u), unit,
				   -8388608.0f * unit);
#else
	return philox_scaled(PHILOX_CAST(float, a), unit);
#endif
}

/* Return a uniform number in [0, 1) of 8 bits of a word, exact. */
PHILOX_FN float philox_uniform_8(uint32_t w)
{
	return philox_part(w >> 24, 0.00390625f);
}

/* Return philox_uniform_8() as bf16, exact. */
PHILOX_FN uint16_t philox_uniform_bf16(uint32_t w)
{
	return philox_number_to_bf16(philox_uniform_8(w));
}

/* Return a uniform number in [0, 1) of 11 bits of a word, exact. */
PHILOX_FN float philox_uniform_11(uint32_t w)
{
	return philox_part(w >> 21, 4.8828125e-04f);
}

/* Return philox_uniform_11() as f16, exact. */
PHILOX_FN uint16_t philox_uniform_f16(uint32_t w)
{
	return philox_number_to_f16(philox_uniform_11(w));
}

/* Return a uniform number in [0, 1), as f64: 53 bits of a draw, exact. */
PHILOX_FN double philox_uniform_f64(uint64_t w64)
{
	return PHILOX_CAST(double, w64 >> 11) * 1.1102230246251565e-16;
}

/*
 * Return u in [0, 1), moved to the range [low, high).
 *
 *   u       philox_uniform_f32(), _8() or _11()
 *   width   high - low
 *   low     the range's lower end
 *   bottom  the smallest number of the output's type in the range
 *   top     the largest number of the output's type in the range
 *
 * The value u width + low, rounded once, could be high itself; so it is kept in
 * [bottom, top]. Where -0 and 0 compare equal, the bound is taken.
 */
PHILOX_FN float philox_range_f32(float u, float width, float low, float bottom,
				 float top)
{
	float x = philox_multiply_add(u, width, low);

	return philox_greater(philox_lesser(x, top), bottom);
}

/* Return u in [0, 1), moved to a range, as philox_range_f32() does, in f64. */
PHILOX_FN double philox_range_f64(double u, double width, double low,
				  double bottom, double top)
{
	double x = philox_multiply_add_f64(u, width, low);

	x = x < top ? x : top;
	return x > bottom ? x : bottom;
}

/* --- two numbers at a time ------------------------------------------------ */

/*
 * GPUs of compute capability 10.0 and above have instructions for two f32
 * operations, each rounded by itself. Everywhere else, and where there is no
 * such instruction, one follows the other, with the same bits. Who needs one
 * number does not look at v[1], and the compiler leaves out what only makes
 * that.
 */
struct philox_f32x2 {
	float v[2];
};

/* Return two numbers in a register of 64 bits. */
PHILOX_FN uint64_t philox_two_pack(struct philox_f32x2 x)
{
	float a = x.v[0], b = x.v[1];
#ifdef __CUDA_ARCH__
	uint64_t result;

	asm("mov.b64 %0, {%1, %2};" : "=l"(result) : "f"(a), "f"(b));
	return result;
#else
	return PHILOX_CAST(uint64_t, philox_f32_bits(b)) << 32 |
	       philox_f32_bits(a);
#endif
}

/* Return the first of the two numbers of a register. */
PHILOX_FN float philox_two_first(uint64_t a)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("{.reg .f32 b; mov.b64 {%0, b}, %1;}" : "=f"(result) : "l"(a));
	return result;
#else
	return philox_f32_from_bits(PHILOX_CAST(uint32_t, a));
#endif
}

/* Return the second of the two numbers of a register. */
PHILOX_FN float philox_two_second(uint64_t a)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("{.reg .f32 b; mov.b64 {b, %0}, %1;}" : "=f"(result) : "l"(a));
	return result;
#else
	return philox_f32_from_bits(PHILOX_CAST(uint32_t, a >> 32));
#endif
}

/* Return the two numbers of a register. */
PHILOX_FN struct philox_f32x2 philox_two_unpack(uint64_t a)
{
	struct philox_f32x2 x = {{philox_two_first(a), philox_two_second(a)}};

	return x;
}

/* Return the same number twice. */
PHILOX_FN struct philox_f32x2 philox_two(float a)
{
	struct philox_f32x2 x = {{a, a}};

	return x;
}

/* Return x + y, rounded once: the first numbers' sum, and the second ones'. */
PHILOX_FN struct philox_f32x2 philox_two_add(struct philox_f32x2 x,
					     struct philox_f32x2 y)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
	uint64_t a = philox_two_pack(x), b = philox_two_pack(y), result;

	asm("add.rn.f32x2 %0, %1, %2;" : "=l"(result) : "l"(a), "l"(b));
	return philox_two_unpack(result);
#else
	for (int i = 0; i < 2; i++)
		x.v[i] = philox_add(x.v[i], y.v[i]);
	return x;
#endif
}

/* Return x y, rounded once. */
PHILOX_FN struct philox_f32x2 philox_two_multiply(struct philox_f32x2 x,
						  struct philox_f32x2 y)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
	uint64_t a = philox_two_pack(x), b = philox_two_pack(y), result;

	asm("mul.rn.f32x2 %0, %1, %2;" : "=l"(result) : "l"(a), "l"(b));
	return philox_two_unpack(result);
#else
	for (int i = 0; i < 2; i++)
		x.v[i] = philox_multiply(x.v[i], y.v[i]);
	return x;
#endif
}

/* Return x y + z, rounded once. */
PHILOX_FN struct philox_f32x2 philox_two_fma(struct philox_f32x2 x,
					     struct philox_f32x2 y,
					     struct philox_f32x2 z)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
	uint64_t a = philox_two_pack(x), b = philox_two_pack(y);
	uint64_t c = philox_two_pack(z), result;

	asm("fma.rn.f32x2 %0, %1, %2, %3;"
	    : "=l"(result)
	    : "l"(a), "l"(b), "l"(c));
	return philox_two_unpack(result);
#else
	for (int i = 0; i < 2; i++)
		x.v[i] = philox_multiply_add(x.v[i], y.v[i], z.v[i]);
	return x;
#endif
}

/* Return x y + z, rounded once, as philox_multiply_add_down(). */
PHILOX_FN struct philox_f32x2 philox_two_fma_down(struct philox_f32x2 x,
						  struct philox_f32x2 y,
						  struct philox_f32x2 z)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
	uint64_t a = philox_two_pack(x), b = philox_two_pack(y);
	uint64_t c = philox_two_pack(z), result;

	asm("fma.rm.f32x2 %0, %1, %2, %3;"
	    : "=l"(result)
	    : "l"(a), "l"(b), "l"(c));
	return philox_two_unpack(result);
#else
	for (int i = 0; i < 2; i++)
		x.v[i] = philox_multiply_add_down(x.v[i], y.v[i], z.v[i]);
	return x;
#endif
}

/*
 * A step of Horner's scheme for a polynomial of x, where y is x times a power
 * of two: philox/real.h has the coefficients c. To multiply by a power of two
 * is exact: `scale` and what is multiplied by it are constants.
 */
#define PHILOX_TWO_STEP(c) \
	scale *= step;     \
	p = philox_two_fma(p, y, philox_two((c)*scale));

/* --- normal numbers ------------------------------------------------------- */

/*
 * Note [The root of a logarithm]
 *
 * A GPU approximates 1 / root(x), and six steps make the root of it, rounded
 * once as everywhere. Its own sqrt.rn.f32 takes more, since it is for all x.
 * Here x is a number of philox_radius_square(), and `inverse` is (1 + e) /
 * root(x): by the PTX manual, |e| <= 2^-22.9.
 *
 *   root   x `inverse`, about root(x) (1 + e)
 *   rest   root^2 - x, exactly
 *   twice  rest `inverse`, about 2 root(x) e
 *
 * To subtract half of `twice` from `root` is to be too low by 3/2 e^2 root(x),
 * up to 7 2^-24 of a last place. That is wrong for an x whose root is above the
 * middle of two floats by less: for three such, and powers of 4 times them.
 * They are right if `root` and `twice` are rounded down, and if of a positive
 * `twice` a little less than half is subtracted, which is rounding down, too.
 * No other x has become wrong: a test tries all that words give, with all
 * `inverse`. But it is not the root of any x.
 *
 * For x = 0 `inverse` is infinite, and `root` a NaN, of which clipping makes 0.
 */

/* Return the square roots of x. */
PHILOX_FN struct philox_f32x2 philox_mend_roots(struct philox_f32x2 x,
						struct philox_f32x2 inverse)
{
	const struct philox_f32x2 zero = philox_two(0.0f);
	const struct philox_f32x2 little = philox_two(-0.0009765625f);
	struct philox_f32x2 root, rest, twice, half;
	struct philox_f32x2 minus_x = {
		{philox_minus(x.v[0]), philox_minus(x.v[1])}};

	root = philox_two_fma_down(x, inverse, zero);
	rest = philox_two_fma(root, root, minus_x);
	twice = philox_two_fma_down(rest, inverse, zero);
	half = philox_two_fma_down(twice, little, philox_two(0.5f));
	for (int i = 0; i < 2; i++)
		root.v[i] = philox_multiply_add_clipped(
			philox_minus(twice.v[i]), half.v[i], root.v[i]);
	return root;
}

/*
 * Return about 1 / root(a) of a normal number a, and infinity for 0.
 *
 * On a GPU it is rsqrt.approx.f32, of which the PTX manual says that its
 * maximum relative error is 2^-22.9, "over the entire positive finite
 * floating-point range". Denormals, which it flushes, it is not given.
 */
PHILOX_FN float philox_inverse_root(float a)
{
#ifdef __CUDA_ARCH__
	float result;

	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
	return result;
#else
	return 1.0f / philox_root(a);
#endif
}

/*
 * Return philox_minus_2_ln() / 64 for two words.
 *
 * It takes fewer steps, but only multiplies by other powers of 2: U = 2^32 u,
 * and y is x / -32 for the x of philox_ln_core(), of which ln(1 + x) is P(x)
 * x^2 + x. That over -32 is -32 P(-32 y) y^2 + y.
 */
PHILOX_FN struct philox_f32x2 philox_radius_square(uint32_t w0, uint32_t w1)
{
	const uint32_t two_thirds = 0x4f2aaaabu;     /* 2^32 2/3 */
	const float minus_2_ln_2 = -2.58217447e-09f; /* over 64, by 2^-23 */
	const float step = -0.03125f;
	float scale = -35184372088832.0f; /* -32 (-32)^8 */
	struct philox_f32x2 p = philox_two(PHILOX_LN_F32_FIRST * scale);
	struct philox_f32x2 k,
		y = {{PHILOX_CAST(float, w0), PHILOX_CAST(float, w1)}};

	y = philox_two_add(y, philox_two(0.5f));
	for (int i = 0; i < 2; i++) {
		uint32_t bits = philox_f32_bits(y.v[i]);
		uint32_t power = (bits - two_thirds) & 0xff800000u; /* k 2^23 */

		/* m / -32, to which 1 / 32 is added */
		y.v[i] = philox_f32_from_bits(bits - power + 0x6d800000u);
		k.v[i] = PHILOX_CAST(float, PHILOX_CAST(int, power));
	}
	y = philox_two_add(y, philox_two(0.03125f));
	PHILOX_LN_F32_TERMS(PHILOX_TWO_STEP)
	p = philox_two_fma(philox_two_multiply(y, y), p, y);
	return philox_two_fma(k, philox_two(minus_2_ln_2), p);
}

/* Return the radii of two words over 8: 0 for u = 1. */
PHILOX_FN struct philox_f32x2 philox_radii(uint32_t w0, uint32_t w1)
{
	struct philox_f32x2 x = philox_radius_square(w0, w1);

#ifdef __CUDA_ARCH__
	struct philox_f32x2 inverse = {
		{philox_inverse_root(x.v[0]), philox_inverse_root(x.v[1])}};

	return philox_mend_roots(x, inverse);
#else
	for (int i = 0; i < 2; i++)
		x.v[i] = philox_root(x.v[i]);
	return x;
#endif
}

/* Return the square root of philox_minus_2_ln(), and 0 for u = 1. */
PHILOX_FN float philox_radius(uint32_t w)
{
	return philox_scaled(philox_radii(w, w).v[0], 8.0f);
}

/*
 * Compute 8 times sine and cosine of the angles that two words give, but for a
 * sign of both.
 *
 *   w     the words: angles are 2 pi (w + 1/2) 2^-32
 *   turn  written: of each angle 8 times its sine, and 8 times its cosine; the
 *         sine has an absolute error within 1.03e-7, and so has the cosine
 *   sign  written: bit 31 for each angle, which both have yet to be xored with
 *
 * The nearest multiple q of pi/2 is subtracted in integers, which leaves |t| <=
 * pi/4 and never 0. Then q decides what is swapped and negated.
 */
PHILOX_FN void philox_turns(const uint32_t w[2], struct philox_f32x2 turn[2],
			    uint32_t sign[2])
{
	const float step = 64.0f, two_pi_by_2_31 = 2.92583624e-09f;
	float scale = 3.81469727e-06f; /* 64^-3 */
	uint32_t q[2]; /* the upper two bits, and not in the rest */
	struct philox_f32x2 t, y, p, s;

	for (int i = 0; i < 2; i++) {
		q[i] = w[i] + (1u << 29);
		t.v[i] = PHILOX_CAST(
			float, PHILOX_CAST(int, (q[i] << 2) + 0x80000002u));
		sign[i] = q[i] & 1u << 31;
	}
	t = philox_two_multiply(t, philox_two(two_pi_by_2_31));
	y = philox_two_multiply(t, t);
	p = philox_two(PHILOX_SIN_F32_FIRST * scale);
	PHILOX_SIN_F32_TERMS(PHILOX_TWO_STEP)
	s = philox_two_fma(philox_two_multiply(t, y), p, t);
	scale = 4.76837158e-07f; /* 8 64^-4 */
	p = philox_two(PHILOX_COS_F32_FIRST * scale);
	PHILOX_COS_F32_TERMS(PHILOX_TWO_STEP)
	for (int i = 0; i < 2; i++) {
		uint32_t swap = q[i] & 1u << 30;

		turn[i].v[0] = swap ? p.v[i] : s.v[i];
		turn[i].v[1] = swap ? philox_minus(s.v[i]) : p.v[i];
	}
}

/* Return x, or -x for a sign of bit 31. */
PHILOX_FN float philox_signed(float x, uint32_t sign)
{
	return philox_f32_from_bits(philox_f32_bits(x) ^ sign);
}

/* Compute sine and cosine of the angle that a word gives: philox_turns(). */
PHILOX_FN void philox_sin_cos(uint32_t w, float *sine, float *cosine)
{
	const uint32_t both[2] = {w, w};
	struct philox_f32x2 turn[2];
	uint32_t sign[2];

	philox_turns(both, turn, sign);
	*sine = philox_signed(philox_scaled(turn[0].v[0], 0.125f), sign[0]);
	*cosine = philox_signed(philox_scaled(turn[0].v[1], 0.125f), sign[0]);
}

/*
 * Make four independent normal numbers from four words.
 *
 *   words  the first two give two numbers, the last two the other two: of each,
 *          the first gives the radius, of u = (w + 1/2) 2^-32 rounded to f32 as
 *          in philox_minus_2_ln(), and the second the angle
 *   x      written: radius times sine, and radius times cosine, as in cuRAND,
 *          of the first two words, then of the others
 *
 * They are within 7e-7 of the exact values for that u, or within 1.2e-6 (2.5
 * units in the last place) where the radius is 4 or more. |x| <= 6.77, and no
 * result is -0.
 * Source: Box, Muller: "A Note on the Generation of Random Normal Deviates",
 * 1958.
 */
PHILOX_FN void philox_normal_pairs(struct philox_words words, float x[4])
{
	const uint32_t angles[2] = {words.w[1], words.w[3]};
	struct philox_f32x2 radius = philox_radii(words.w[0], words.w[2]);
	/* adding 0 to the product turns -0 into 0 */
	struct philox_f32x2 turn[2], zero = philox_two(philox_hidden_zero());
	uint32_t sign[2];

	philox_turns(angles, turn, sign);
	for (int i = 0; i < 2; i++) {
		struct philox_f32x2 pair = philox_two_fma(
			philox_two(philox_signed(radius.v[i], sign[i])),
			turn[i], zero);

		x[2 * i] = pair.v[0];
		x[2 * i + 1] = pair.v[1];
	}
}

/* Make the two numbers of two words, otherwise as philox_normal_pairs(). */
PHILOX_FN void philox_normal_pair(uint32_t w0, uint32_t w1, float *x, float *y)
{
	const struct philox_words words = {{w0, w1, w0, w1}};
	float v[4];

	philox_normal_pairs(words, v);
	*x = v[0];
	*y = v[1];
}

/*
 * Make two independent normal numbers from two 64-bit draws: |x| <= 8.66,
 * otherwise as philox_normal_pair().
 */
PHILOX_FN void philox_normal_pair_f64(uint64_t w0, uint64_t w1, double *x,
				      double *y)
{
	double radius = philox_root_f64(philox_minus_2_ln_f64(w0 >> 11));
	double sine, cosine, zero = philox_hidden_zero_f64();

	philox_sin_cos_f64(w1 >> 11, &sine, &cosine);
	*x = philox_multiply_add_f64(radius, sine, zero);
	*y = philox_multiply_add_f64(radius, cosine, zero);
}

/* Return exp(mean + std z) of a normal number z. */
PHILOX_FN float philox_log_normal_f32(float z, float mean, float std)
{
	return philox_exp_f32(philox_multiply_add(z, std, mean));
}

/* Return exp(mean + std z) of a normal number z, in f64. */
PHILOX_FN double philox_log_normal_f64(double z, double mean, double std)
{
	return philox_exp_f64(philox_multiply_add_f64(z, std, mean));
}

/*
 * Words below this are refined in exponential and Gumbel numbers of f32, bf16
 * and f16 (philox_exponential_of(), philox_gumbel_of()).
 *
 * There v = (w + 1/2) 2^-32 has few digits and an end, and so has the tail of
 * -ln(v). With 32 more bits it has all digits, and no end that is seen.
 */
#define PHILOX_SMALL_WORD 256u

/*
 * Return an exponential number of rate 1 of a small word and 32 more bits:
 * -ln(1 - v) for v = (w + (more + 1/2) 2^-32) 2^-32, within 9.0e-8.
 *
 *   w      below PHILOX_SMALL_WORD
 *   more   the element's word at philox_retry_state(state, 0)
 *
 * It is v rounded once to f32, since v^2/2 is less than half a last place. The
 * least is 2^-65, and none is above those of larger words.
 */
PHILOX_FN float philox_exponential_small(uint32_t w, uint32_t more)
{
	long long twice = PHILOX_CAST(long long, w) << 33 |
			  PHILOX_CAST(long long, more) << 1 | 1;

	return philox_scaled(PHILOX_CAST(float, twice), 2.71050543e-20f);
}

/*
 * Return the Gumbel number of an exponential number of rate 1 in f32: minus its
 * logarithm.
 *
 * Each of many logits, with a Gumbel number added, is the largest with its
 * softmax probability. It is never -0.
 */
PHILOX_FN float philox_gumbel_of_exponential(float x)
{
	return philox_subtract(philox_hidden_zero(), philox_ln_f32(x));
}

/* Return an exponential number of rate 1 of a 64-bit draw. */
PHILOX_FN double philox_exponential_f64(uint64_t w64)
{
	return philox_minus_ln1m_f64(w64 >> 11);
}

/* Return a Gumbel number of a 64-bit draw. */
PHILOX_FN double philox_gumbel_f64(uint64_t w64)
{
	return philox_hidden_zero_f64() -
	       philox_ln_f64(philox_minus_ln1m_f64(w64 >> 11));
}

/*
 * Return the threshold T = round(p 2^32) of a probability p in [0, 1]: 33 bits.
 *
 * An element whose word is below T is dropped, which has probability p. The
 * same T makes Bernoulli numbers, which are 1 where dropout would drop.
 */
PHILOX_FN uint64_t philox_threshold(double p)
{
	double exact = p * 4294967296.0;
	uint64_t whole = PHILOX_CAST(uint64_t, exact);

	return whole + (exact - PHILOX_CAST(double, whole) >= 0.5);
}

/* Return 1 if dropout keeps the element of word w, else 0. */
PHILOX_FN int philox_keep(uint32_t w, uint64_t threshold)
{
#ifdef __CUDA_ARCH__
	/* 2^32, which is the same in all threads, is tested separately, so
	 * that only 32 bits are compared */
	return !(threshold >> 32) & (w >= PHILOX_CAST(uint32_t, threshold));
#else
	return w >= threshold;
#endif
}

/* Return x with its bits if it is kept, else 0. */
PHILOX_FN float philox_drop_f32(float x, uint32_t w, uint64_t threshold)
{
	/* no branch: it could not be predicted */
	return philox_f32_from_bits(
		philox_f32_bits(x) &
		(0u - PHILOX_CAST(uint32_t, philox_keep(w, threshold))));
}

/* Return 1 where dropout would drop, else 0. */
PHILOX_FN float philox_bernoulli_f32(uint32_t w, uint64_t threshold)
{
	return PHILOX_CAST(float, !philox_keep(w, threshold));
}

/*
 * Return x times scale if it is kept, else 0, even for a NaN.
 *
 * A NaN that is kept becomes the one with bits 0x7fc00000, since machines
 * differ in what a product makes of it. The scale of probability p is
 * philox_dropout_scale(p).
 */
PHILOX_FN float philox_dropout_f32(float x, uint32_t w, uint64_t threshold,
				   float scale)
{
	uint32_t bits = philox_f32_bits(philox_multiply(x, scale));

	if ((bits & 0x7fffffffu) > 0x7f800000u)
		bits = 0x7fc00000u;
	return philox_drop_f32(philox_f32_from_bits(bits), w, threshold);
}

/*
 * Return x times scale if it is kept, else 0, as philox_dropout_f32(), in f64.
 */
PHILOX_FN double philox_dropout_f64(double x, uint32_t w, uint64_t threshold,
				    double scale)
{
	uint64_t bits = philox_f64_bits(philox_multiply_f64(x, scale));

	if ((bits & 0x7fffffffffffffffULL) > 0x7ff0000000000000ULL)
		bits = 0x7ff8000000000000ULL;
	return philox_f64_from_bits(
		bits & (0u - PHILOX_CAST(uint64_t, philox_keep(w, threshold))));
}

/*
 * Return dropout's scale 1 / (1 - p), in f64; for p = 1, which keeps nothing,
 * 0.
 */
PHILOX_FN double philox_dropout_scale_f64(double p)
{
	return p < 1.0 ? 1.0 / (1.0 - p) : 0.0;
}

/* Return dropout's scale 1 / (1 - p), rounded to f32; for p = 1 it is 0. */
PHILOX_FN float philox_dropout_scale(double p)
{
	return philox_f32_of(philox_dropout_scale_f64(p));
}

/*
 * Return the place in [0, n) that a word gives.
 *
 *   w         the word
 *   n         how many integers there are, 1 .. 2^32
 *   reject    2^32 mod n
 *   rejected  written: 1 if the word must be rejected, else 0
 *
 * Source: Lemire, "Fast random integer generation in an interval", 2019.
 */
PHILOX_FN uint32_t philox_integer_u32(uint32_t w, uint64_t n, uint32_t reject,
				      int *rejected)
{
	uint64_t m = w * n;

	*rejected = PHILOX_CAST(uint32_t, m) < reject;
	return PHILOX_CAST(uint32_t, m >> 32);
}

/* Return the upper half of a product. */
PHILOX_FN uint64_t philox_mulhi_u64(uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
	return __umul64hi(a, b);
#else
	__extension__ typedef unsigned __int128 wide;

	return PHILOX_CAST(uint64_t, PHILOX_CAST(wide, a) * b >> 64);
#endif
}

/*
 * Return the place in [0, n) that a 64-bit draw gives, as philox_integer_u32()
 * does: n = 0 means 2^64, and `reject` is 2^64 mod n.
 */
PHILOX_FN uint64_t philox_integer_u64(uint64_t w64, uint64_t n, uint64_t reject,
				      int *rejected)
{
	*rejected = w64 * n < reject;
	return n ? philox_mulhi_u64(w64, n) : w64;
}

/*
 * Return x rounded to a bf16 stochastically: to the neighbour of x that is next
 * in magnitude if w < floor(f 2^32).
 *
 * f is the fraction that rounding to nearest would use. A NaN keeps its sign
 * and becomes quiet.
 */
PHILOX_FN uint16_t philox_round_bf16(float x, uint32_t w)
{
	uint32_t bits = philox_f32_bits(x), away = w < bits << 16;

	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return PHILOX_CAST(uint16_t, bits >> 16 | 0x40u);
	return PHILOX_CAST(uint16_t, (bits >> 16) + away);
}

/*
 * Return x rounded to an f16 stochastically, as philox_round_bf16().
 *
 * Below 2^-14 the numbers of f16 are the multiples of 2^-24; |x| of 65536 and
 * more is infinite.
 */
PHILOX_FN uint16_t philox_round_f16(float x, uint32_t w)
{
	uint32_t bits = philox_f32_bits(x), size = bits & 0x7fffffffu;
	uint32_t sign = bits >> 16 & 0x8000u, normal, denormal;
	/* as a denormal: the integer part of |x| 2^24 and 32 bits after it */
	float small = size < 0x38800000u ? philox_f32_from_bits(size) : 0.0f;
	float scaled = philox_multiply(small, 16777216.0f);
	uint32_t whole = philox_whole(scaled);
	float rest = philox_multiply(
		philox_subtract(scaled, PHILOX_CAST(float, whole)),
		4294967296.0f);

	denormal = whole + (w < philox_whole(rest));
	normal = ((size - 0x38000000u) >> 13) + (w < size << 19);
	if (size > 0x7f800000u)
		return PHILOX_CAST(uint16_t,
				   sign | 0x7e00u | (size >> 13 & 0x3ffu));
	if (size >= 0x47800000u)
		return PHILOX_CAST(uint16_t, sign | 0x7c00u);
	return PHILOX_CAST(uint16_t,
			   sign | (size < 0x38800000u ? denormal : normal));
}

#ifdef __cplusplus
}
#endif
#endif
