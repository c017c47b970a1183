/*
 * tests/numbers/distributions.c - the rules of philox/fill.h for values and
 * ranges
 *
 * Words come from a fill of bits with the same state; their values are computed
 * here with the C library's functions, in wider arithmetic.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include "lib/base/base.h"
#include "tests/support/fills.h"

enum { N = 100000 };

static const struct philox_state state = {0xfeedface12345678, 40};

static void *values_of(struct fixture *f, struct philox_fill_desc fill)
{
	struct philox_rng rng = {.state = state};

	fill.size = sizeof(fill);
	fill.span = philox_span_elements(0, N);
	fill.out = make_memory(f, N * 8);
	OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	return fill.out;
}

#define DRAW(...) values_of(f, (struct philox_fill_desc){__VA_ARGS__})

static const uint32_t *words(struct fixture *f)
{
	return DRAW(.dist = PHILOX_DIST_BITS, .dtype = PHILOX_DTYPE_U32);
}

static const uint64_t *wide_words(struct fixture *f)
{
	return DRAW(.dist = PHILOX_DIST_BITS, .dtype = PHILOX_DTYPE_U64);
}

/* A value of 16 bits, from its definition. */
static double value16(uint16_t bits, int digits)
{
	int fraction_bits = digits - 1, power_bits = 15 - fraction_bits;
	int fraction = bits & ((1 << fraction_bits) - 1);
	int power = bits >> fraction_bits & ((1 << power_bits) - 1);
	int bias = (1 << (power_bits - 1)) - 1;
	double sign = bits >> 15 ? -1 : 1;

	if (power == (1 << power_bits) - 1)
		return fraction ? NAN : sign * INFINITY;
	if (!power)
		return sign * ldexp(fraction, 1 - bias - fraction_bits);
	return sign * ldexp(fraction + (1 << fraction_bits),
			    power - bias - fraction_bits);
}

static double real(const void *values, enum philox_dtype dtype, size_t i)
{
	switch (dtype) {
	case PHILOX_DTYPE_F32:
		return ((const float *)values)[i];
	case PHILOX_DTYPE_F64:
		return ((const double *)values)[i];
	case PHILOX_DTYPE_BF16:
		return value16(((const uint16_t *)values)[i], 8);
	default:
		return value16(((const uint16_t *)values)[i], 11);
	}
}

static const enum philox_dtype reals[] = {PHILOX_DTYPE_F32, PHILOX_DTYPE_F64,
					  PHILOX_DTYPE_BF16, PHILOX_DTYPE_F16};
/* half a unit in the last place, relatively, of each dtype */
static const double roundings[] = {[PHILOX_DTYPE_F32] = 0x1p-24,
				   [PHILOX_DTYPE_F64] = 0x1p-53,
				   [PHILOX_DTYPE_BF16] = 0x1p-8,
				   [PHILOX_DTYPE_F16] = 0x1p-11};

/* --- values --------------------------------------------------------------- */

/* The number v of (0, 1) from which element i of a dtype is made. */
static long double open_v(const uint32_t *w, const uint64_t *w64,
			  enum philox_dtype dtype, size_t i)
{
	return dtype == PHILOX_DTYPE_F64
		       ? ((long double)(w64[i] >> 11) + 0.5L) * 0x1p-53L
		       : (w[i] + 0.5L) * 0x1p-32L;
}

static void check_near(double got, double expected, enum philox_dtype dtype,
		       double ulps, const char *what, size_t i)
{
	double bound = fabs(expected) * roundings[dtype] * ulps;

	if (dtype == PHILOX_DTYPE_F16)
		bound += 0x1p-24;
	/* computed in f32 before it is rounded */
	if (dtype != PHILOX_DTYPE_F64)
		bound += fabs(expected) * 4e-7;
	cr_assert(fabs(got - expected) <= bound, "%s %zu: %a, not %a", what, i,
		  got, expected);
}

PROMISE(distributions, exponential_numbers_are_minus_the_logarithm_by_the_rate)
{
	const uint32_t *w = words(f);
	const uint64_t *w64 = wide_words(f);

	for (size_t k = 0; k < 4; k++) {
		const void *x = DRAW(.dist = PHILOX_DIST_EXPONENTIAL,
				     .dtype = reals[k], .rate = 0.25);

		for (size_t i = 0; i < N; i++)
			check_near(real(x, reals[k], i),
				   (double)(-4 * log1pl(-open_v(w, w64,
								reals[k], i))),
				   reals[k], 10, "exponential", i);
	}
}

PROMISE(distributions,
	gumbel_numbers_are_minus_the_logarithm_of_exponential_ones)
{
	const uint32_t *w = words(f);
	const uint64_t *w64 = wide_words(f);

	for (size_t k = 0; k < 4; k++) {
		const void *x =
			DRAW(.dist = PHILOX_DIST_GUMBEL, .dtype = reals[k]);

		for (size_t i = 0; i < N; i++) {
			double g = (double)-logl(
				-log1pl(-open_v(w, w64, reals[k], i)));
			double got = real(x, reals[k], i);
			double bound = fmax(1, fabs(g)) * roundings[reals[k]];

			cr_assert(fabs(got - g) <= 8 * bound,
				  "Gumbel %zu: %a, not %a", i, got, g);
		}
	}
}

PROMISE(distributions, normal_numbers_in_f64_are_those_of_box_and_muller)
{
	const uint64_t *w = wide_words(f);
	const double *x = DRAW(.dist = PHILOX_DIST_NORMAL,
			       .dtype = PHILOX_DTYPE_F64, .std = 1);

	for (size_t i = 0; i < N; i += 2) {
		double u = ((double)(w[i] >> 11) + 0.5) * 0x1p-53;
		long double turn =
			((long double)(w[i + 1] >> 11) + 0.5L) * 0x1p-53L;
		long double angle = turn * 6.283185307179586476925286766559L;
		double radius = sqrt(-2 * log(u));

		cr_assert(fabs(x[i] - radius * (double)sinl(angle)) <= 4e-15);
		cr_assert(fabs(x[i + 1] - radius * (double)cosl(angle)) <=
			  4e-15);
		cr_assert(fabs(x[i]) <= 8.67 && fabs(x[i + 1]) <= 8.67);
	}
}

PROMISE(distributions, mean_and_std_stretch_standard_normal_numbers)
{
	for (size_t k = 0; k < 4; k++) {
		enum philox_dtype dtype = reals[k];
		const void *z = DRAW(.dist = PHILOX_DIST_NORMAL, .dtype = dtype,
				     .std = 1);
		const void *x = DRAW(.dist = PHILOX_DIST_NORMAL, .dtype = dtype,
				     .mean = -3.5, .std = 0.25);

		for (size_t i = 0; i < N; i++) {
			double expected = real(z, dtype, i) * 0.25 - 3.5;

			cr_assert(fabs(real(x, dtype, i) - expected) <=
				  10 * roundings[dtype]);
		}
	}
}

PROMISE(distributions, log_normal_numbers_are_the_exponential_of_normal_ones)
{
	static const enum philox_dtype dtypes[] = {PHILOX_DTYPE_F32,
						   PHILOX_DTYPE_F64};

	for (size_t k = 0; k < 2; k++) {
		const void *z = DRAW(.dist = PHILOX_DIST_NORMAL,
				     .dtype = dtypes[k], .mean = 1, .std = 30);
		const void *x = DRAW(.dist = PHILOX_DIST_LOG_NORMAL,
				     .dtype = dtypes[k], .mean = 1, .std = 30);

		for (size_t i = 0; i < N; i++) {
			double y = exp(real(z, dtypes[k], i));
			double got = real(x, dtypes[k], i);

			if (dtypes[k] == PHILOX_DTYPE_F32 && y > FLT_MAX)
				cr_assert(isinf(got) || got >= 0x1.fffffcp127);
			else
				cr_assert(fabs(got - y) <=
						  y * 4 * roundings[dtypes[k]] +
							  0x1p-149,
					  "%a, not %a", got, y);
		}
	}
}

/* --- ranges --------------------------------------------------------------- */

PROMISE(distributions, uniform_numbers_are_never_outside_of_their_range)
{
	static const double ranges[][2] = {
		{0.1, 0.2},      {-1, 1},      {1, 1.0078125},     {-0.3, -0.1},
		{-60000, 60000}, {1e-7, 3e-7}, {0.999, 1.00390625}};

	for (size_t k = 0; k < 4; k++)
		for (size_t r = 0; r < 7; r++) {
			double low = ranges[r][0], high = ranges[r][1];
			const void *x = DRAW(.dist = PHILOX_DIST_UNIFORM,
					     .dtype = reals[k], .low = low,
					     .high = high);

			for (size_t i = 0; i < N; i++) {
				double y = real(x, reals[k], i);

				cr_assert(y >= low && y < high,
					  "%a is not in [%a, %a)", y, low,
					  high);
			}
		}
}

/* Whether a number has at most so many digits. */
static int has_digits(long double x, int digits)
{
	int exponent;
	long double scaled = ldexpl(frexpl(x, &exponent), digits);

	return scaled == floorl(scaled);
}

/* All numbers of the dtype in [low, high) are drawn, all multiples of `unit`. */
static void check_few(struct fixture *f, enum philox_dtype dtype, double low,
		      double high, double unit)
{
	const void *x = DRAW(.dist = PHILOX_DIST_UNIFORM, .dtype = dtype,
			     .low = low, .high = high);
	int digits = -ilogb(roundings[dtype]);
	unsigned n = 0;
	double number[16];
	unsigned drawn[16] = {0};

	for (long double y = ceill((long double)low / unit) * unit; y < high;
	     y += unit)
		if (has_digits(y, digits))
			number[n++] = (double)y;
	for (size_t i = 0; i < N; i++) {
		double y = real(x, dtype, i);
		unsigned k = 0;

		while (k < n && number[k] != y)
			k++;
		cr_assert_lt(k, n, "%a is no number of [%a, %a)", y, low, high);
		cr_assert(low < 0 || !signbit(y), "-0 of [%a, %a)", low, high);
		drawn[k]++;
	}
	for (unsigned k = 0; k < n; k++)
		cr_assert_gt(drawn[k], 0,
			     "%a of [%a, %a) is not drawn, dtype %d", number[k],
			     low, high, (int)dtype);
}

/* Of some denormals each, and of those around 1 and -1. */
static void check_few_of(struct fixture *f, enum philox_dtype dtype)
{
	static const double least[] = {[PHILOX_DTYPE_F32] = 0x1p-149,
				       [PHILOX_DTYPE_F64] = 0x1p-1074,
				       [PHILOX_DTYPE_BF16] = 0x1p-133,
				       [PHILOX_DTYPE_F16] = 0x1p-24};
	static const double ends[][2] = {{0, 1},  {0, 3}, {-0.0, 5}, {-3, 2},
					 {-4, 0}, {2, 4}, {-5, -1}};
	double unit = roundings[dtype]; /* that of [1/2, 1) */

	for (size_t i = 0; i < 7; i++)
		check_few(f, dtype, ends[i][0] * least[dtype],
			  ends[i][1] * least[dtype], least[dtype]);
	check_few(f, dtype, 1 - 3 * unit, 1, unit);
	check_few(f, dtype, 1 - 2 * unit, 1 + 2 * unit, unit);
	check_few(f, dtype, 1, 1 + 6 * unit, unit);
	check_few(f, dtype, -1 - 4 * unit, -1, unit);
	check_few(f, dtype, -1 - 4 * unit, 2 * unit - 1, unit);
}

/* Where numbers are closer below than above, and where they end. */
PROMISE(distributions, a_range_of_few_numbers_gives_them_all_and_no_other)
{
	FOR_EACH_SIMD(simd)
	{
		for (size_t k = 0; k < 4; k++)
			check_few_of(f, reals[k]);
	}
}

/* Ends that are no numbers of the dtype. */
PROMISE(distributions, a_range_between_numbers_gives_those_inside_of_it)
{
	for (size_t k = 0; k < 4; k++) {
		enum philox_dtype dtype = reals[k];
		double unit = roundings[dtype];

		if (dtype == PHILOX_DTYPE_F64)
			continue;
		check_few(f, dtype, 1 - 2.25 * unit, 1 - 0.25 * unit, unit);
		check_few(f, dtype, 1 + 0.5 * unit, 1 + 6.5 * unit, unit);
		check_few(f, dtype, -1 - 4.5 * unit, -1 - 0.5 * unit, unit);
	}
}

PROMISE(distributions, a_range_of_0_to_1_gives_the_words_bits_as_they_are)
{
	const uint32_t *w = words(f);
	const uint64_t *w64 = wide_words(f);

	for (size_t k = 0; k < 4; k++) {
		const void *x = DRAW(.dist = PHILOX_DIST_UNIFORM,
				     .dtype = reals[k], .high = 1);
		static const int bits[] = {24, 53, 8, 11};

		for (size_t i = 0; i < N; i++) {
			uint64_t w_i = k == 1 ? w64[i] : (uint64_t)w[i] << 32;

			cr_assert_eq(real(x, reals[k], i),
				     ldexp((double)(w_i >> (64 - bits[k])),
					   -bits[k]));
		}
	}
}

/* Ranges of a few denormals, where -0 and 0 meet at the ends. */
PROMISE(distributions, a_range_around_0_is_the_same_for_all_instruction_sets)
{
	static const double ends[][2] = {{-0x1p-149, 0x1p-149},
					 {-0x1p-149, 0x1p-148},
					 {-0x1p-1074, 0x1p-1074}};
	static const enum philox_dtype dtypes[] = {
		PHILOX_DTYPE_F32, PHILOX_DTYPE_F32, PHILOX_DTYPE_F64};

	for (size_t k = 0; k < 3; k++) {
		const void *first = NULL;

		for (enum simd simd = 0; simd < SIMD_COUNT; simd++) {
			const void *x;

			if (!simd_has(simd))
				continue;
			simd_use(simd);
			x = DRAW(.dist = PHILOX_DIST_UNIFORM,
				 .dtype = dtypes[k], .low = ends[k][0],
				 .high = ends[k][1]);
			first = first ? first : x;
			cr_assert(!memcmp(x, first, N * 4), "%s",
				  simd_name(simd));
		}
	}
}

/* --- dropout -------------------------------------------------------------- */

/* Of each dtype: NaNs that are loud, negative or have a payload, and the one. */
static const struct {
	enum philox_dtype dtype;
	uint64_t in[4], one;
} nans[] = {
	{PHILOX_DTYPE_F32,
	 {0x7f800001, 0xffc00000, 0x7fffffff, 0xff800001},
	 0x7fc00000},
	{PHILOX_DTYPE_F64,
	 {0x7ff0000000000001, 0xfff8000000000000, UINT64_MAX / 2,
	  0xfff0000000000001},
	 0x7ff8000000000000},
	{PHILOX_DTYPE_BF16, {0x7f81, 0xffc0, 0x7fff, 0xff81}, 0x7fc0},
	{PHILOX_DTYPE_F16, {0x7c01, 0xfe00, 0x7fff, 0xfc01}, 0x7e00},
};

PROMISE(distributions, a_nan_that_dropout_keeps_is_the_quiet_one)
{
	const uint32_t *w = words(f);

	for (size_t k = 0; k < 4; k++) {
		size_t size = k == 0 ? 4 : k == 1 ? 8 : 2;
		char *in = make_memory(f, N * 8);

		for (size_t i = 0; i < N; i++)
			memcpy(in + i * size, &nans[k].in[i % 4], size);
		FOR_EACH_SIMD(simd)
		{
			const char *y =
				DRAW(.dist = PHILOX_DIST_DROPOUT, .in = in,
				     .dtype = nans[k].dtype, .p = 0.5);

			for (size_t i = 0; i < N; i++) {
				uint64_t kept = w[i] >> 31 ? nans[k].one : 0;

				cr_assert_arr_eq(y + i * size, &kept, size,
						 "dtype %d, element %zu",
						 (int)nans[k].dtype, i);
			}
		}
	}
}

/* --- integers ------------------------------------------------------------- */

/* Chi-square of n counts that should be equal, in standard deviations. */
static double surprise(const unsigned *counts, size_t n, double expected)
{
	double chi = 0;

	for (size_t i = 0; i < n; i++)
		chi += (counts[i] - expected) * (counts[i] - expected) /
		       expected;
	return (chi - (double)(n - 1)) / sqrt(2.0 * (double)(n - 1));
}

PROMISE(distributions, integers_of_a_small_range_are_equally_likely)
{
	const uint32_t *x =
		DRAW(.dist = PHILOX_DIST_INTEGERS, .dtype = PHILOX_DTYPE_U32,
		     .from = 100, .to = 106);
	const int64_t *y =
		DRAW(.dist = PHILOX_DIST_INTEGERS, .dtype = PHILOX_DTYPE_I64,
		     .from = (uint64_t)-3, .to = 3);
	unsigned counts[7] = {0}, wide[7] = {0};

	for (size_t i = 0; i < N; i++) {
		cr_assert(x[i] >= 100 && x[i] <= 106);
		cr_assert(y[i] >= -3 && y[i] <= 3);
		counts[x[i] - 100]++;
		wide[y[i] + 3]++;
	}
	cr_assert_lt(surprise(counts, 7, N / 7.0), 6);
	cr_assert_lt(surprise(wide, 7, N / 7.0), 6);
}

/*
 * With n = 3 * 2^30 a quarter of the words must be drawn again: without, the
 * numbers 0, 1 and 2 (mod 3) would come as 2 : 1 : 1.
 */
PROMISE(distributions, rejection_takes_the_bias_out_of_wide_ranges)
{
	const uint32_t *x =
		DRAW(.dist = PHILOX_DIST_INTEGERS, .dtype = PHILOX_DTYPE_U32,
		     .to = ((uint64_t)3 << 30) - 1);
	const uint64_t *y =
		DRAW(.dist = PHILOX_DIST_INTEGERS, .dtype = PHILOX_DTYPE_U64,
		     .to = ((uint64_t)3 << 62) - 1);
	unsigned counts[3] = {0}, wide[3] = {0};

	for (size_t i = 0; i < N; i++) {
		cr_assert(x[i] < (uint32_t)3 << 30);
		cr_assert(y[i] < (uint64_t)3 << 62);
		counts[x[i] % 3]++;
		wide[y[i] % 3]++;
	}
	cr_assert_lt(surprise(counts, 3, N / 3.0), 6);
	cr_assert_lt(surprise(wide, 3, N / 3.0), 6);
}

PROMISE(distributions, all_integers_of_a_dtype_are_its_bits)
{
	const uint32_t *w = words(f);
	const uint64_t *w64 = wide_words(f);
	const uint32_t *x = DRAW(.dist = PHILOX_DIST_INTEGERS,
				 .dtype = PHILOX_DTYPE_U32, .to = UINT32_MAX);
	const uint64_t *y = DRAW(.dist = PHILOX_DIST_INTEGERS,
				 .dtype = PHILOX_DTYPE_U64, .to = UINT64_MAX);
	const int64_t *z =
		DRAW(.dist = PHILOX_DIST_INTEGERS, .dtype = PHILOX_DTYPE_I64,
		     .from = (uint64_t)INT64_MIN, .to = INT64_MAX);

	cr_assert_arr_eq(x, w, N * sizeof(*x));
	cr_assert_arr_eq(y, w64, N * sizeof(*y));
	for (size_t i = 0; i < N; i++)
		cr_assert_eq((uint64_t)z[i], w64[i] + ((uint64_t)1 << 63));
}

PROMISE(distributions, a_range_of_one_integer_gives_it)
{
	const int32_t *x =
		DRAW(.dist = PHILOX_DIST_INTEGERS, .dtype = PHILOX_DTYPE_I32,
		     .from = (uint64_t)INT32_MIN, .to = (uint64_t)INT32_MIN);

	for (size_t i = 0; i < N; i++)
		cr_assert_eq(x[i], INT32_MIN);
}

/* --- stochastic rounding -------------------------------------------------- */

static const uint16_t *round_all(struct fixture *f, const float *x,
				 enum philox_dtype dtype)
{
	return DRAW(.dist = PHILOX_DIST_STOCHASTIC_ROUND, .dtype = dtype,
		    .in = x);
}

/* Magnitudes 0 .. 0x7fff are the values in order. */
static void check_rounded(float x, uint16_t got, uint32_t w,
			  enum philox_dtype dtype)
{
	int digits = dtype == PHILOX_DTYPE_BF16 ? 8 : 11;
	uint16_t infinite = dtype == PHILOX_DTYPE_BF16 ? 0x7f80 : 0x7c00;
	uint16_t sign = signbit(x) ? 0x8000 : 0, a = 0, b = infinite;
	double low, high, size = fabs(x);

	if (isnan(x)) {
		cr_assert(isnan(value16(got, digits)));
		return;
	}
	while (b - a > 1) { /* a <= |x| < b */
		uint16_t middle = (uint16_t)((a + b) / 2);

		*(value16(middle, digits) <= size ? &a : &b) = middle;
	}
	low = value16(a, digits);
	high = b == infinite ? 2 * value16((uint16_t)(b - 1), digits) -
				       value16((uint16_t)(b - 2), digits)
			     : value16(b, digits);
	if (size >= high)
		a = infinite;
	else if (w < floor((size - low) / (high - low) * 0x1p32))
		a++;
	cr_assert_eq(got, sign | a, "%a with %08x: %04x, not %04x", x, w, got,
		     sign | a);
}

PROMISE(distributions, rounding_goes_up_as_often_as_the_rest_is_large)
{
	static const enum philox_dtype dtypes[] = {PHILOX_DTYPE_BF16,
						   PHILOX_DTYPE_F16};
	const uint32_t *w = words(f);
	float *x = make_memory(f, N * sizeof(*x));

	scatter(x, N * sizeof(*x));
	/* f16 has a small range: half of them go into it, and around 0 */
	for (size_t i = 0; i < N; i += 2)
		x[i] = ldexpf((float)(i % 4099) - 2000.3f, (int)(i % 47) - 40);
	for (size_t k = 0; k < 2; k++) {
		const uint16_t *y = round_all(f, x, dtypes[k]);

		for (size_t i = 0; i < N; i++)
			check_rounded(x[i], y[i], w[i], dtypes[k]);
	}
}

/* The f32 of a number of 16 bits; of a NaN, quiet or not, one with its bits. */
static float widened(uint16_t bits, enum philox_dtype dtype)
{
	int digits = dtype == PHILOX_DTYPE_BF16 ? 8 : 11;
	uint32_t fraction = bits & ((1u << (digits - 1)) - 1);
	uint32_t nan = (uint32_t)(bits >> 15) << 31 | 0x7f800000u |
		       fraction << (24 - digits);
	float x;

	if (!isnan(value16(bits, digits)))
		return (float)value16(bits, digits);
	memcpy(&x, &nan, sizeof(x));
	return x;
}

static void check_unrounded(uint16_t bits, uint16_t got, int digits)
{
	uint16_t quiet = (uint16_t)(1u << (digits - 2));
	uint16_t same = isnan(value16(bits, digits)) ? bits | quiet : bits;

	cr_assert_eq(got, same, "%04x of %04x", got, bits);
}

PROMISE(distributions, rounding_leaves_numbers_of_its_dtype_and_quiets_nans)
{
	static const enum philox_dtype dtypes[] = {PHILOX_DTYPE_BF16,
						   PHILOX_DTYPE_F16};

	for (size_t k = 0; k < 2; k++) {
		int digits = dtypes[k] == PHILOX_DTYPE_BF16 ? 8 : 11;
		float *x = make_memory(f, N * sizeof(*x));
		const uint16_t *y;

		for (size_t i = 0; i < N; i++) {
			float wide = widened((uint16_t)i, dtypes[k]);

			memcpy(&x[i], &wide, sizeof(wide));
		}
		FOR_EACH_SIMD(simd)
		{
			y = round_all(f, x, dtypes[k]);
			for (size_t i = 0; i < N; i++)
				check_unrounded((uint16_t)i, y[i], digits);
		}
	}
}

PROMISE(distributions, rounding_keeps_the_mean)
{
	static const enum philox_dtype dtypes[] = {PHILOX_DTYPE_BF16,
						   PHILOX_DTYPE_F16};
	const float value = 1.0009765f; /* between two of both dtypes */
	float *x = make_memory(f, N * sizeof(*x));

	for (size_t i = 0; i < N; i++)
		x[i] = value;
	for (size_t k = 0; k < 2; k++) {
		const uint16_t *y = round_all(f, x, dtypes[k]);
		int digits = dtypes[k] == PHILOX_DTYPE_BF16 ? 8 : 11;
		double sum = 0;

		for (size_t i = 0; i < N; i++)
			sum += value16(y[i], digits);
		/* six deviations of the mean of N, each at most half a step */
		cr_assert_lt(fabs(sum / N - value),
			     6 * ldexp(0.5, 1 - digits) / sqrt(N));
	}
}

/* --- bad input ------------------------------------------------------------ */

static void refuse(struct fixture *f, struct philox_fill_desc fill,
		   const char *word)
{
	static double out[4], in[4];
	struct philox_rng rng = {.state = state};
	uint64_t launches = philox_device_call_count(f->device, "launch");

	fill.size = sizeof(fill);
	fill.span = philox_span_elements(0, 4);
	fill.out = fill.out ? fill.out : out;
	fill.in = fill.in ? fill.in : in;
	FAILS(philox_rng_fill(f->device, f->stream, rng, &fill),
	      PHILOX_ERROR_INVALID);
	NAMES(word);
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
}

#define REFUSE(word, ...) \
	refuse(f, (struct philox_fill_desc){__VA_ARGS__}, word)

PROMISE(distributions, empty_reversed_and_endless_ranges_are_refused)
{
#define RANGE(word, ...)                                                     \
	REFUSE(word, .dist = PHILOX_DIST_UNIFORM, .dtype = PHILOX_DTYPE_F32, \
	       __VA_ARGS__)
	RANGE("empty", .low = 0, .high = 0);
	RANGE("empty", .low = 2, .high = 1);
	RANGE("low", .low = NAN, .high = 1);
	RANGE("high", .low = 0, .high = NAN);
	RANGE("low", .low = -INFINITY, .high = 1);
	RANGE("high", .low = 0, .high = INFINITY);
	RANGE("high", .low = 0, .high = 1e39);
	RANGE("high - low", .low = -3e38, .high = 3e38);
	RANGE("no number of dtype f32", .low = 1 + 0x1p-30,
	      .high = 1 + 0x1p-29);
	REFUSE("high", .dist = PHILOX_DIST_UNIFORM, .dtype = PHILOX_DTYPE_F16,
	       .low = 0, .high = 65505);
	REFUSE("high - low", .dist = PHILOX_DIST_UNIFORM,
	       .dtype = PHILOX_DTYPE_F64, .low = -DBL_MAX, .high = DBL_MAX);
	REFUSE("no number of dtype bf16", .dist = PHILOX_DIST_UNIFORM,
	       .dtype = PHILOX_DTYPE_BF16, .low = 1.001, .high = 1.002);
}

PROMISE(distributions, a_std_that_is_not_positive_is_refused)
{
	static const enum philox_dist dists[] = {PHILOX_DIST_NORMAL,
						 PHILOX_DIST_LOG_NORMAL};

	for (size_t k = 0; k < 2; k++) {
		REFUSE("std", .dist = dists[k], .dtype = PHILOX_DTYPE_F32);
		REFUSE("std", .dist = dists[k], .dtype = PHILOX_DTYPE_F32,
		       .std = -1);
		REFUSE("std", .dist = dists[k], .dtype = PHILOX_DTYPE_F32,
		       .std = NAN);
		REFUSE("std", .dist = dists[k], .dtype = PHILOX_DTYPE_F32,
		       .std = INFINITY);
		/* 0 in f32, and so a constant */
		REFUSE("std", .dist = dists[k], .dtype = PHILOX_DTYPE_F32,
		       .std = 1e-60);
		REFUSE("std", .dist = dists[k], .dtype = PHILOX_DTYPE_BF16,
		       .std = 0x1p-150);
		DRAW(.dist = dists[k], .dtype = PHILOX_DTYPE_F32,
		     .std = 0x1.1p-150);
		DRAW(.dist = dists[k], .dtype = PHILOX_DTYPE_F64, .std = 1e-60);
		REFUSE("mean", .dist = dists[k], .dtype = PHILOX_DTYPE_F32,
		       .std = 1, .mean = NAN);
		REFUSE("mean", .dist = dists[k], .dtype = PHILOX_DTYPE_F32,
		       .std = 1, .mean = -INFINITY);
		REFUSE("mean", .dist = dists[k], .dtype = PHILOX_DTYPE_BF16,
		       .std = 1, .mean = 1e39);
	}
}

PROMISE(distributions, a_rate_that_is_not_positive_is_refused)
{
	static const double rates[] = {0, -1, (double)NAN, (double)INFINITY,
				       1e-40};

	for (size_t k = 0; k < 5; k++)
		REFUSE("rate", .dist = PHILOX_DIST_EXPONENTIAL,
		       .dtype = PHILOX_DTYPE_F32, .rate = rates[k]);
}

/* In f64 those of f64; bf16 and f16 are computed in f32, and end at infinity. */
PROMISE(distributions, parameters_may_be_as_large_as_what_is_computed_in)
{
	static const enum philox_dtype dtypes[] = {
		PHILOX_DTYPE_F32, PHILOX_DTYPE_BF16, PHILOX_DTYPE_F16,
		PHILOX_DTYPE_F64};
	const uint16_t *x;

	for (size_t k = 0; k < 4; k++) {
		double most = k < 3 ? FLT_MAX : DBL_MAX;

		for (int sign = -1; sign <= 1; sign += 2)
			DRAW(.dist = PHILOX_DIST_NORMAL, .dtype = dtypes[k],
			     .mean = sign * most, .std = most);
		DRAW(.dist = PHILOX_DIST_LOG_NORMAL, .dtype = dtypes[k],
		     .mean = most, .std = most);
		DRAW(.dist = PHILOX_DIST_EXPONENTIAL, .dtype = dtypes[k],
		     .rate = most);
		DRAW(.dist = PHILOX_DIST_EXPONENTIAL, .dtype = dtypes[k],
		     .rate = nextafter(1 / most, 1));
	}
	x = DRAW(.dist = PHILOX_DIST_NORMAL, .dtype = PHILOX_DTYPE_F16,
		 .mean = 1e6, .std = 1);
	for (size_t i = 0; i < N; i++)
		cr_assert_eq(x[i], 0x7c00, "no infinity");
}

PROMISE(distributions, integers_that_do_not_fit_or_are_reversed_are_refused)
{
#define INTEGERS(word, type, ...) \
	REFUSE(word, .dist = PHILOX_DIST_INTEGERS, .dtype = type, __VA_ARGS__)
	INTEGERS("reversed", PHILOX_DTYPE_U32, .from = 2, .to = 1);
	INTEGERS("reversed", PHILOX_DTYPE_U64, .from = (uint64_t)-1, .to = 1);
	INTEGERS("reversed", PHILOX_DTYPE_I64, .from = 1, .to = (uint64_t)-1);
	INTEGERS("does not fit dtype u32", PHILOX_DTYPE_U32,
		 .to = (uint64_t)UINT32_MAX + 1);
	INTEGERS("does not fit dtype i32", PHILOX_DTYPE_I32,
		 .to = (uint64_t)INT32_MAX + 1);
	INTEGERS("does not fit dtype i32", PHILOX_DTYPE_I32,
		 .from = (uint64_t)INT32_MIN - 1);
}

PROMISE(distributions, rounding_in_place_is_refused)
{
	float *x = make_memory(f, 64);

	REFUSE("dtypes differ", .dist = PHILOX_DIST_STOCHASTIC_ROUND,
	       .dtype = PHILOX_DTYPE_BF16, .in = x, .out = x);
	REFUSE("overlap", .dist = PHILOX_DIST_STOCHASTIC_ROUND,
	       .dtype = PHILOX_DTYPE_BF16, .in = x, .out = (uint16_t *)x + 4);
	REFUSE("no dtype f32", .dist = PHILOX_DIST_STOCHASTIC_ROUND,
	       .dtype = PHILOX_DTYPE_F32, .in = x, .out = x);
}
