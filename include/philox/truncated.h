/*
 * philox/truncated.h - normal numbers of an interval
 *
 *   struct philox_truncated t = philox_truncated_of(0, 0.02, -0.04, 0.04);
 *   float x = philox_truncated_at(state, e, &t);
 *
 * x has the normal distribution of `mean` and `std`, truncated to [low, high],
 * as weights are often initialised. It takes no rejections: an element's 64-bit
 * draw w64 gives u = (w64 + 1/2) 2^-64, and z is the number below which u of
 * the standard normal distribution's mass between alpha = (low - mean) / std
 * and beta = (high - mean) / std lies. Each of these four operations is rounded
 * to f64 once. The result is mean + std z by one f64 fused multiply-add, then
 * low or high if it is beyond, then the nearest number of the type, ties to
 * even; should that be outside of [low, high], it is the next number inwards.
 * So a result is in [low, high] whatever the ends are, and never infinite.
 *
 * For mean 0 and std 1 an f32 result is within 4 units in the last place, or
 * within 2^-95 where that is more, of the exact quantile: for any low < high,
 * with 0 between them or far out on one side. As a function of w64 the results
 * never go down. The distribution of (-mean, std, -high, -low) gives at ~w64
 * the negative of what (mean, std, low, high) gives at w64; zeros may have
 * either sign.
 *
 * mean, std, low and high are finite numbers of f64, and so are low - mean and
 * high - mean; std is above 0, and low is below high. A number of the type is
 * in [low, high], or the result is none that is. alpha and beta may still be
 * equal when rounded; then z is always alpha, so all results are the same: low,
 * high or a number between them. One that overflows becomes the largest number
 * of its sign: then no mass is seen beyond low or high, and results are that
 * end.
 *
 * An element takes two 32-bit words, as f64 numbers do: w64 is
 * philox_word64_at(state, e). A poisoned state gives NaN.
 *
 * How it is done: let Q be the normal distribution's upper tail, phi its
 * density and R = Q / phi (Mills' ratio). An interval on one side is mirrored
 * to the right, to [l, h] with l >= 0. v = Q(z) / Q(l) is 1 - u (1 - Q(h) /
 * Q(l)), and with t = z - l
 *
 *   -ln(v) = t (l + t / 2) - ln(R(l + t) / R(l)),
 *
 * which is solved for t, so nothing underflows. In an interval with 0 inside,
 * the mass between 0 and z is p = u A(beta) - (1 - u) A(-alpha) with A(x) the
 * mass between 0 and x, in sums of two f64 numbers, so that p has digits of its
 * own where it is nearly 0. Then |z| has v = 1 - 2 |p| and l = 0. What is
 * solved has 38 bits: it advances by steps that are far larger than the errors
 * of the arithmetic, and so do the results.
 *
 * During capture: all functions here are legal.
 * Threads: any, at any time.
 */
#ifndef PHILOX_TRUNCATED_H
#define PHILOX_TRUNCATED_H

#include <philox/draw.h>
#include <philox/real.h>
#include <philox/state.h>
#include <philox/values.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- arithmetic that no option changes ------------------------------------ */

/*
 * Hide a number x from a host's compiler, together with y: where y is another,
 * so is x for all that the compiler knows.
 */
#if defined(__x86_64__)
#define PHILOX_HIDE_F64(x, y) __asm__("" : "+x"(x) : "x"(y))
#elif defined(__aarch64__)
#define PHILOX_HIDE_F64(x, y) __asm__("" : "+w"(x) : "w"(y))
#else
#define PHILOX_HIDE_F64(x, y) __asm__("" : "+m"(x) : "m"(y))
#endif

/* Return a + b, rounded once. */
PHILOX_FN double philox_sum_f64(double a, double b)
{
#ifdef __CUDA_ARCH__
	return __dadd_rn(a, b);
#else
	double sum = a + b;

	PHILOX_HIDE_F64(sum, a);
	return sum;
#endif
}

/* Return a / b, rounded once. */
PHILOX_FN double philox_quotient_f64(double a, double b)
{
#ifdef __CUDA_ARCH__
	return __ddiv_rn(a, b);
#else
	double quotient;

	/* options let two quotients by one b be products with 1 / b */
	PHILOX_HIDE_F64(b, a);
	quotient = a / b;
	PHILOX_HIDE_F64(quotient, a);
	return quotient;
#endif
}

/* Return an f32 as f64; exact, and no denormal becomes 0. */
PHILOX_FN double philox_f64_of(float a)
{
#ifdef __CUDA_ARCH__
	double result;

	asm("cvt.f64.f32 %0, %1;" : "=d"(result) : "f"(a));
	return result;
#else
	return PHILOX_CAST(double, a);
#endif
}

/* Return |x| with its last 15 bits replaced by their middle: 38 bits stay. */
PHILOX_FN double philox_step_of(double x)
{
	return philox_f64_from_bits(
		(philox_f64_bits(x) & 0x7fffffffffff8000u) | 0x4000u);
}

/* --- sums of two numbers -------------------------------------------------- */

/* high + low, where high is the sum rounded. */
struct philox_long {
	double high, low;
};

/* Return a + b; exact. */
PHILOX_FN struct philox_long philox_long_of(double a, double b)
{
	struct philox_long sum;
	double of_b, of_a;

	sum.high = philox_sum_f64(a, b);
	of_b = philox_sum_f64(sum.high, -a);
	of_a = philox_sum_f64(sum.high, -of_b);
	sum.low = philox_sum_f64(philox_sum_f64(a, -of_a),
				 philox_sum_f64(b, -of_b));
	return sum;
}

/* Return x + y. */
PHILOX_FN struct philox_long philox_long_sum(struct philox_long x,
					     struct philox_long y)
{
	struct philox_long high = philox_long_of(x.high, y.high);
	struct philox_long low = philox_long_of(x.low, y.low);

	high = philox_long_of(high.high, philox_sum_f64(high.low, low.high));
	return philox_long_of(high.high, philox_sum_f64(high.low, low.low));
}

/* Return -x. */
PHILOX_FN struct philox_long philox_long_minus(struct philox_long x)
{
	struct philox_long minus = {-x.high, -x.low};

	return minus;
}

/* Return x y. */
PHILOX_FN struct philox_long philox_long_product(struct philox_long x,
						 struct philox_long y)
{
	double high = philox_multiply_f64(x.high, y.high);
	double low = philox_multiply_add_f64(x.high, y.high, -high);

	low = philox_multiply_add_f64(x.high, y.low, low);
	low = philox_multiply_add_f64(x.low, y.high, low);
	return philox_long_of(high, low);
}

/* Return x / d. */
PHILOX_FN struct philox_long philox_long_quotient(struct philox_long x,
						  double d)
{
	double high = philox_quotient_f64(x.high, d);
	double rest = philox_multiply_add_f64(-high, d, x.high);

	return philox_long_of(
		high, philox_quotient_f64(philox_sum_f64(rest, x.low), d));
}

/* Return 1 + x y / d, a step of a series. */
PHILOX_FN struct philox_long philox_long_step(struct philox_long x,
					      struct philox_long y, double d)
{
	const struct philox_long one = {1.0, 0.0};

	return philox_long_sum(
		one, philox_long_quotient(philox_long_product(x, y), d));
}

/* Return exp(-x) for 0 <= x <= 72. */
PHILOX_FN struct philox_long philox_long_exp(struct philox_long x)
{
	/* ln(2) in three parts, two of them with 45 bits */
	const double parts[3] = {0.6931471805599187, 2.65575207566794e-14,
				 3.031172921141066e-28};
	const double magic = 6755399441055744.0; /* 1.5 2^52 */
	double n = philox_sum_f64(
		philox_multiply_add_f64(x.high, 1.4426950408889634, magic),
		-magic);
	struct philox_long part = {philox_multiply_f64(n, parts[2]), 0.0};
	struct philox_long r, y = {1.0, 0.0};
	double power = philox_f64_from_bits(
		PHILOX_CAST(uint64_t, 1023 - PHILOX_CAST(int, n)) << 52);

	r = philox_long_of(philox_multiply_f64(n, parts[0]),
			   philox_multiply_f64(n, parts[1]));
	r = philox_long_sum(philox_long_sum(r, philox_long_minus(x)), part);
	for (int k = 26; k > 0; k--)
		y = philox_long_step(r, y, k);
	y.high = philox_multiply_f64(y.high, power);
	y.low = philox_multiply_f64(y.low, power);
	return y;
}

/*
 * Return the mass between 0 and x >= 0 of the standard normal distribution.
 *
 * The error is at most 2^-98 of it. From x = 12 on it is 1/2 (Q(12) is
 * 2^-108.8).
 *
 * It is phi(x) x (1 + x^2/3 (1 + x^2/5 (1 + ...))): Abramowitz and Stegun,
 * 26.2.11.
 */
PHILOX_FN struct philox_long philox_central_mass(double x)
{
	const struct philox_long by_root_2_pi = {0.3989422804014327,
						 -2.49232720227773e-17};
	struct philox_long from = {x, 0.0}, sum = {1.0, 0.0}, square, half;

	if (x >= 12.0) {
		half.high = 0.5;
		half.low = 0.0;
		return half;
	}
	square = philox_long_product(from, from);
	for (int k = 40 +
		     PHILOX_CAST(int, philox_multiply_f64(1.5, square.high));
	     k > 0; k--)
		sum = philox_long_step(square, sum, 2 * k + 1);
	half.high = philox_multiply_f64(0.5, square.high);
	half.low = philox_multiply_f64(0.5, square.low);
	sum = philox_long_product(sum, philox_long_exp(half));
	sum = philox_long_product(sum, by_root_2_pi);
	return philox_long_product(from, sum);
}

/* --- one tail ------------------------------------------------------------- */

/* clang-format off */
/* (x + 3/4) R(x), of s = (x - 4) / (x + 4); tests/numbers/fit_real.py */
#define PHILOX_MILLS_F64_FIRST -3.7643045707083749e-09
#define PHILOX_MILLS_F64_TERMS(X) \
	X(4.5740290008457891e-09) X(4.3580980863949656e-08) \
	X(-2.6387801303689383e-08) X(-2.8187156183495078e-07) \
	X(-7.0767207796524114e-09) X(1.4390628578441538e-06) \
	X(9.2356094282024481e-07) X(-6.9609430364297629e-06) \
	X(-8.1057756899035866e-06) X(3.6852660245542225e-05) \
	X(5.0371966634990201e-05) X(-0.00023816740590572029) \
	X(-0.0002081562769611406) X(0.0018591489645752156) \
	X(-0.0011162678490874345) X(-0.012857170966072473) \
	X(0.050280760716025628) X(-0.10004965734590926) \
	X(0.11662643488561926) X(-0.042851259317969688) \
	X(-0.13561873383030335) X(1.1240988188394132)
/* clang-format on */

/* Return Mills' ratio R(x) = Q(x) / phi(x) for 0 <= x < 2^40, within 1e-15. */
PHILOX_FN double philox_mills_f64(double r)
{
	const double x = philox_quotient_f64(philox_sum_f64(r, -4.0),
					     philox_sum_f64(r, 4.0));
	double p = PHILOX_MILLS_F64_FIRST;

	PHILOX_MILLS_F64_TERMS(PHILOX_HORNER_F64)
	return philox_quotient_f64(p, philox_sum_f64(r, 0.75));
}

/*
 * Return -ln(Q(base + t) / Q(base)).
 *
 *   base   at least 0
 *   mills  R(base)
 *   t      at least 0
 *   at     R(base + t)
 */
PHILOX_FN double philox_tail_log(double base, double mills, double t, double at)
{
	double area = philox_multiply_f64(
		t, philox_multiply_add_f64(0.5, t, base));

	return philox_sum_f64(area,
			      -philox_ln_f64(philox_quotient_f64(at, mills)));
}

/*
 * Return the t of which philox_tail_log() is `tail`, above 1/64.
 *
 * It begins where the hazard 1 / R would grow like x, and takes steps with
 * three derivatives of t: R, R R' and R (R R'' + R'^2).
 */
PHILOX_FN double philox_tail_solve(double base, double mills, double tail)
{
	double hazard = philox_quotient_f64(1.0, mills);
	double square = philox_multiply_add_f64(
		2.0, tail, philox_multiply_f64(hazard, hazard));
	double t = philox_quotient_f64(
		philox_multiply_f64(2.0, tail),
		philox_sum_f64(hazard, philox_root_f64(square)));

	for (int i = 0; i < 2; i++) {
		double x = philox_sum_f64(base, t), r = philox_mills_f64(x);
		double r1 = philox_multiply_add_f64(x, r, -1.0);
		double r2 = philox_multiply_add_f64(x, r1, r);
		double c = philox_multiply_add_f64(
			r, r2, philox_multiply_f64(r1, r1));
		double rest = philox_sum_f64(
			tail, -philox_tail_log(base, mills, t, r));

		c = philox_multiply_f64(c, 0.16666666666666666);
		c = philox_multiply_add_f64(rest, c,
					    philox_multiply_f64(0.5, r1));
		c = philox_multiply_add_f64(rest, c, 1.0);
		t = philox_multiply_add_f64(philox_multiply_f64(r, rest), c, t);
	}
	return t;
}

/*
 * Return the t of which 1 - Q(base + t) / Q(base) is `mass`, below 1/64: the
 * series of t in y = mass R(base), up to y^7.
 */
PHILOX_FN double philox_tail_begin(double base, double mills, double mass)
{
	double y = philox_multiply_f64(mass, mills);
	double a = philox_multiply_f64(base, y), b = philox_multiply_f64(y, y);
	double p0 = 0.14285714285714285, p1 = 0.50714285714285712;
	double p2 = 0.34523809523809523;

	p0 = philox_multiply_add_f64(p0, a, 0.16666666666666666);
	p0 = philox_multiply_add_f64(p0, a, 0.2);
	p0 = philox_multiply_add_f64(p0, a, 0.25);
	p0 = philox_multiply_add_f64(p0, a, 0.33333333333333331);
	p0 = philox_multiply_add_f64(p0, a, 0.5);
	p0 = philox_multiply_add_f64(p0, a, 1.0);
	p1 = philox_multiply_add_f64(p1, a, 0.45277777777777778);
	p1 = philox_multiply_add_f64(p1, a, 0.38333333333333336);
	p1 = philox_multiply_add_f64(p1, a, 0.29166666666666669);
	p1 = philox_multiply_add_f64(p1, a, 0.16666666666666666);
	p2 = philox_multiply_add_f64(p2, a, 0.17638888888888887);
	p2 = philox_multiply_add_f64(p2, a, 0.058333333333333334);
	p2 = philox_multiply_add_f64(b, 0.025198412698412699, p2);
	p1 = philox_multiply_add_f64(p2, b, p1);
	return philox_multiply_f64(y, philox_multiply_add_f64(p1, b, p0));
}

/*
 * Return the x at least `base` with Q(x) / Q(base) = rest = 1 - mass.
 *
 *   base   at least 0
 *   mills  R(base)
 *   mass   it is looked at below 1/2
 *   rest   and it otherwise
 */
PHILOX_FN double philox_tail_quantile(double base, double mills, double mass,
				      double rest)
{
	const double below_half = 0.49999999999999994;
	double t;

	if (mass < 0.5)
		mass = philox_step_of(mass);
	if (mass < 0.015625) {
		t = philox_tail_begin(base, mills, mass);
	} else {
		rest = mass < 0.5 ? philox_sum_f64(1.0, -mass)
				  : philox_step_of(rest < 0.5 ? rest
							      : below_half);
		t = philox_tail_solve(base, mills, -philox_ln_f64(rest));
	}
	return philox_sum_f64(base, t);
}

/* --- an interval ---------------------------------------------------------- */

/* An interval's distribution, made by philox_truncated_of(). */
struct philox_truncated {
	double mean, std;
	double low, high; /* what results are kept within */
	/* where 0 is inside: the masses between alpha and 0, and 0 and beta */
	struct philox_long below, above;
	double side;  /* 0: 0 is inside; 1: it is below; -1: mirrored */
	double base;  /* the end that is nearer to 0, as a magnitude; or 0 */
	double mills; /* R(base) */
	double mass;  /* 1 - Q(other end) / Q(base), and */
	double rest;  /* Q(other end) / Q(base) */
};

/* Return x, or the largest number of its sign instead of infinity. */
PHILOX_FN double philox_finite_f64(double x)
{
	uint64_t bits = philox_f64_bits(x);

	if ((bits & 0x7fffffffffffffffu) < 0x7ff0000000000000u)
		return x;
	return philox_f64_from_bits((bits & 0x8000000000000000u) |
				    0x7fefffffffffffffu);
}

/*
 * Return 1 - Q(base + t) / Q(base) where t / R(base) is at most 1/64: the
 * integral of exp(-base s - s^2 / 2) from 0 to t, by its series.
 */
PHILOX_FN double philox_tail_mass(double base, double mills, double t)
{
	double a = philox_multiply_f64(base, t), b = philox_multiply_f64(t, t);
	double last = 0.0, term = 1.0, by = 1.0, sum = 0.0;

	for (int n = 0; n < 8; n++) {
		double next = philox_multiply_f64(
			philox_multiply_f64(n, b), -last);

		sum = philox_multiply_add_f64(term, by, sum);
		next = philox_multiply_add_f64(a, term, next);
		last = term;
		term = next;
		by = philox_quotient_f64(-by, n + 2);
	}
	return philox_multiply_f64(philox_quotient_f64(t, mills), sum);
}

/* Set what is known of an interval on one side, [base, end] with base >= 0. */
PHILOX_FN void philox_truncate_side(struct philox_truncated *d, double base,
				    double end)
{
	double t = philox_sum_f64(end, -base);

	d->base = base;
	d->mills = 1.0;
	d->mass = 0.0;
	d->rest = 1.0;
	if (base >= 1073741824.0) /* z - base is below half a last place */
		return;
	d->mills = philox_mills_f64(base);
	if (t <= philox_multiply_f64(d->mills, 0.015625)) {
		d->mass = philox_tail_mass(base, d->mills, t);
		d->rest = philox_sum_f64(1.0, -d->mass);
		return;
	}
	d->rest = 0.0;
	if (t < 40.0)
		d->rest = philox_exp_f64(
			-philox_tail_log(base, d->mills, t,
					 philox_mills_f64(philox_sum_f64(
						 base, t))));
	d->mass = philox_sum_f64(1.0, -d->rest);
}

/*
 * Return the normal distribution of an interval.
 *
 *   mean, std  of the normal distribution
 *   low, high  the interval's ends, low < high
 *
 * It takes some microseconds: compute it once, on the host or in a kernel. The
 * result is the same on all. The head of this file says what is valid; nothing
 * is checked here.
 */
PHILOX_FN struct philox_truncated philox_truncated_of(double mean, double std,
						      double low, double high)
{
	double alpha = philox_finite_f64(
		philox_quotient_f64(philox_sum_f64(low, -mean), std));
	double beta = philox_finite_f64(
		philox_quotient_f64(philox_sum_f64(high, -mean), std));
	const struct philox_long none = {0.0, 0.0};
	struct philox_truncated d;

	d.mean = mean;
	d.std = std;
	d.low = low;
	d.high = high;
	d.below = d.above = none;
	d.side = alpha >= 0.0 ? 1.0 : beta <= 0.0 ? -1.0 : 0.0;
	if (d.side > 0.0) {
		philox_truncate_side(&d, alpha, beta);
	} else if (d.side < 0.0) {
		philox_truncate_side(&d, -beta, -alpha);
	} else {
		philox_truncate_side(&d, 0.0, beta);
		d.below = philox_central_mass(-alpha);
		d.above = philox_central_mass(beta);
	}
	return d;
}

/* Return (w64 + 1/2) 2^-64; exact. */
PHILOX_FN struct philox_long philox_open_long(uint64_t w64)
{
	long long high = PHILOX_CAST(long long, w64 >> 11);
	long long low = PHILOX_CAST(long long, (w64 & 0x7ffu) * 2u + 1u);

	return philox_long_of(philox_multiply_f64(PHILOX_CAST(double, high),
						  1.1102230246251565e-16),
			      philox_multiply_f64(PHILOX_CAST(double, low),
						  2.7105054312137611e-20));
}

/* Return z of an interval with 0 inside. */
PHILOX_FN double philox_truncated_inside(const struct philox_truncated *d,
					 uint64_t w64)
{
	struct philox_long p = philox_long_sum(
		philox_long_product(philox_open_long(w64), d->above),
		philox_long_minus(
			philox_long_product(philox_open_long(~w64), d->below)));
	double sign = p.high < 0.0 ? -1.0 : 1.0;
	double high = philox_multiply_f64(2.0 * sign, p.high);
	double low = philox_multiply_f64(2.0 * sign, p.low);

	return philox_multiply_f64(
		sign,
		philox_tail_quantile(
			0.0, d->mills, high,
			philox_sum_f64(philox_sum_f64(1.0, -high), -low)));
}

/* Return the standardised number z that a 64-bit draw gives. */
PHILOX_FN double philox_truncated_z(const struct philox_truncated *d,
				    uint64_t w64)
{
	uint64_t w = d->side < 0.0 ? ~w64 : w64;

	if (d->side == 0.0)
		return philox_truncated_inside(d, w64);
	return philox_multiply_f64(
		d->side,
		philox_tail_quantile(
			d->base, d->mills,
			philox_multiply_f64(philox_open_long(w).high, d->mass),
			philox_multiply_add_f64(philox_open_long(~w).high,
						d->mass, d->rest)));
}

/* Return the number that a 64-bit draw gives, in f64, between low and high. */
PHILOX_FN double philox_truncated_of_word(const struct philox_truncated *d,
					  uint64_t w64)
{
	double x = philox_multiply_add_f64(d->std, philox_truncated_z(d, w64),
					   d->mean);

	return x < d->low ? d->low : x > d->high ? d->high : x;
}

/* --- f32, bf16 and f16 ---------------------------------------------------- */

/*
 * Return the bits of the number that follows another, upwards or downwards; for
 * f32, bf16 and f16, whose sign bit is given.
 */
PHILOX_FN uint32_t philox_next_bits(uint32_t bits, uint32_t sign, int upwards)
{
	if ((bits & ~sign) == 0)
		return upwards ? 1u : sign | 1u;
	return ((bits & sign) != 0) == upwards ? bits - 1 : bits + 1;
}

/*
 * Return the bits of a number that is between the distribution's ends: those
 * given, or the next inwards.
 *
 *   d      the distribution
 *   bits   of a number of the type
 *   sign   the type's sign bit
 *   value  that number
 */
PHILOX_FN uint32_t philox_truncated_inwards(const struct philox_truncated *d,
					    uint32_t bits, uint32_t sign,
					    double value)
{
	if (value < d->low)
		return philox_next_bits(bits, sign, 1);
	return value > d->high ? philox_next_bits(bits, sign, 0) : bits;
}

/*
 * Return x as f32, rounded to odd: one of its two neighbours, that whose last
 * bit is 1, unless x is an f32. So rounding it again to a shorter type is
 * rounding x.
 */
PHILOX_FN float philox_odd_f32(double x)
{
	float nearest = philox_f32_of(x);
	double back = philox_f64_of(nearest);
	uint32_t bits = philox_f32_bits(nearest);
	int is_beyond = x < 0.0 ? back < x : back > x;

	if (back == x)
		return nearest;
	return philox_f32_from_bits((bits - (is_beyond ? 1u : 0u)) | 1u);
}

/* Return the f32 that a 64-bit draw gives. */
PHILOX_FN float philox_truncated_f32(const struct philox_truncated *d,
				     uint64_t w64)
{
	float x = philox_f32_of(philox_truncated_of_word(d, w64));

	return philox_f32_from_bits(philox_truncated_inwards(
		d, philox_f32_bits(x), 1u << 31, philox_f64_of(x)));
}

/* Return the bf16 that a 64-bit draw gives. */
PHILOX_FN uint16_t philox_truncated_bf16(const struct philox_truncated *d,
					 uint64_t w64)
{
	uint16_t x = philox_number_to_bf16(
		philox_odd_f32(philox_truncated_of_word(d, w64)));

	return PHILOX_CAST(
		uint16_t,
		philox_truncated_inwards(d, x, 1u << 15,
					 philox_f64_of(philox_bf16_to_f32(x))));
}

/* Return the f16 that a 64-bit draw gives. */
PHILOX_FN uint16_t philox_truncated_f16(const struct philox_truncated *d,
					uint64_t w64)
{
	uint16_t x = philox_number_to_f16(
		philox_odd_f32(philox_truncated_of_word(d, w64)));

	return PHILOX_CAST(uint16_t,
			   philox_truncated_inwards(
				   d, x, 1u << 15,
				   philox_f64_of(philox_number_from_f16(x))));
}

/* --- elements ------------------------------------------------------------- */

/* Return an element's number, in f32. */
PHILOX_FN float philox_truncated_at(struct philox_state state, uint64_t element,
				    const struct philox_truncated *d)
{
	return philox_or_poison(
		state,
		philox_truncated_f32(d, philox_word64_at(state, element)));
}

/* Return an element's number, in bf16. */
PHILOX_FN uint16_t philox_truncated_bf16_at(struct philox_state state,
					    uint64_t element,
					    const struct philox_truncated *d)
{
	uint64_t w64 = philox_word64_at(state, element);

	return philox_is_poison(state) ? 0x7fc0u
				       : philox_truncated_bf16(d, w64);
}

/* Return an element's number, in f16. */
PHILOX_FN uint16_t philox_truncated_f16_at(struct philox_state state,
					   uint64_t element,
					   const struct philox_truncated *d)
{
	uint64_t w64 = philox_word64_at(state, element);

	return philox_is_poison(state) ? 0x7e00u : philox_truncated_f16(d, w64);
}

#ifdef __cplusplus
}
#endif
#endif
