/*
 * tests/numbers/normal.c - normal numbers against their formula in double
 *
 * The formula is Box-Muller on u = (w0 + 1/2) 2^-32, rounded to float, and the
 * angle 2 pi (w1 + 1/2) 2^-32. The logarithm was once compared for all 2^32
 * words (worst relative error 7.9e-8), sine and cosine for every eighth word
 * (worst absolute error 1.03e-7); here are samples and the special words.
 */
#include <criterion/criterion.h>
#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <philox/kernel.h>

static const uint32_t special[] = {
	0,          1,          2,          3,          4,          127,
	128,        255,        0x1fffffff, 0x20000000, 0x20000001, 0x3fffffff,
	0x40000000, 0x40000001, 0x5fffffff, 0x60000000, 0x7fffffff, 0x80000000,
	0x80000001, 0x9fffffff, 0xa0000000, 0xaaaaaaaa, 0xaaaaaaab, 0xbfffffff,
	0xc0000000, 0xdfffffff, 0xe0000000, 0xfffffeff, 0xffffff00, 0xffffff7f,
	0xffffff80, 0xfffffffe, 0xffffffff, 0x555c00c0, 0x55555555};

#define N_SPECIAL (sizeof(special) / sizeof(special[0]))

/* The word is rounded to float before the half is added, then the sum. */
static double exact_radius(uint32_t w)
{
	float u = (float)((double)(float)w * 0x1p-32 + 0x1p-33);

	return sqrt(-2 * log((double)u));
}

static double exact_angle(uint32_t w)
{
	return 2 * 3.14159265358979323846 * ((w + 0.5) * 0x1p-32);
}

/* Numbers of 4 and above have a last place of 4.8e-7. */
static void check_pair(uint32_t w0, uint32_t w1)
{
	double radius = exact_radius(w0), angle = exact_angle(w1);
	double bound = radius < 4 ? 7e-7 : 1.2e-6;
	float x, y;

	philox_normal_pair(w0, w1, &x, &y);
	cr_assert(fabs(x - radius * sin(angle)) <= bound,
		  "words %x %x: x is %a, not %a", w0, w1, x,
		  radius * sin(angle));
	cr_assert(fabs(y - radius * cos(angle)) <= bound,
		  "words %x %x: y is %a, not %a", w0, w1, y,
		  radius * cos(angle));
}

Test(normal, is_within_7e_7_of_the_formula)
{
	for (uint64_t i = 0; i < 1000000; i++) {
		struct philox_words w = philox_block(11, i, 0);

		check_pair(w.w[0], w.w[1]);
		check_pair(w.w[2], w.w[3]);
	}
}

/* Large radii come from small first words. */
Test(normal, is_as_close_to_the_formula_in_the_tails)
{
	for (uint64_t i = 0; i < 1000000; i++) {
		struct philox_words w = philox_block(12, i, 0);

		check_pair(w.w[0] >> (w.w[2] % 32), w.w[1]);
	}
}

Test(normal, is_as_close_to_the_formula_for_special_words)
{
	for (size_t i = 0; i < N_SPECIAL; i++)
		for (size_t j = 0; j < N_SPECIAL; j++)
			check_pair(special[i], special[j]);
}

Test(normal, the_logarithm_is_good_to_a_float_on_a_dense_sample)
{
	for (uint64_t w = 0; w < (uint64_t)1 << 32; w += 1021) {
		double radius = exact_radius((uint32_t)w);
		double exact = radius * radius;
		float got = philox_minus_2_ln((uint32_t)w);

		cr_assert(got >= 0, "%" PRIx64, w);
		cr_assert(fabs(got - exact) <= 8.0e-8 * exact, "%" PRIx64, w);
	}
}

/* Every exponent and both ends of every interval are among the samples. */
static void check_radius(uint32_t w)
{
	float want = philox_root(philox_minus_2_ln(w));
	float got = philox_radius(w);

	cr_assert(got == want, "%" PRIx32 ": %a, not %a", w, (double)got,
		  (double)want);
}

Test(normal, the_radius_is_the_root_of_the_logarithm_bit_for_bit)
{
	for (uint64_t w = 0; w < (uint64_t)1 << 32; w += 1021)
		check_radius((uint32_t)w);
	for (uint32_t i = 0; i < 1 << 16; i++) {
		check_radius(i);
		check_radius(0xffffffffu - i);
		check_radius(0xaaaaaaaau - (1u << 15) + i);
		check_radius(0x55555555u - (1u << 15) + i);
	}
}

/* How many of all approximations of 1 / root(x) within 2^-22.9 are mended to
 * another number than the rounded root. */
static unsigned wrong_roots(float x)
{
	const double most = 0x1.1274ep-23;
	double exact = 1 / sqrt((double)x);
	float want = philox_root(x);
	float inverse = (float)(exact * (1 - most));
	unsigned wrong = 0, tried = 0;

	for (; inverse <= exact * (1 + most);
	     inverse = nextafterf(inverse, INFINITY)) {
		struct philox_f32x2 got;

		if (inverse < exact * (1 - most))
			continue;
		got = philox_mend_roots(philox_two(x), philox_two(inverse));
		wrong += got.v[0] != want || got.v[1] != want;
		tried++;
	}
	cr_assert(tried >= 2 && tried <= 5, "%a: %u tried", (double)x, tried);
	return wrong;
}

/* Whether the root is within 2^-10 last places of the middle of two floats. */
static int is_hard(float x)
{
	double root = sqrt((double)x);
	uint64_t bits = philox_f64_bits(root) & 0x1fffffff;

	return bits - 0x10000000 + 0x80000 < 0x100000;
}

/*
 * The number of words whose roots are tried: whatever float a word gives is the
 * least such word, which `step` leads to. Only a root that is close to the
 * middle of two floats can be rounded to the wrong one; of the others every
 * 16th is tried. Builds without optimisation try fewer.
 */
static unsigned wrong_roots_of_words(uint64_t first, uint64_t end,
				     uint64_t step)
{
#ifdef __OPTIMIZE__
	const unsigned often = 1;
#else
	const unsigned often = 16;
#endif
	unsigned wrong = 0;

	for (uint64_t w = first; w < end; w += step * often) {
		float x = philox_radius_square((uint32_t)w, 0).v[0];

		if (w / step % (16 * often) == 0 || is_hard(x))
			wrong += wrong_roots(x);
	}
	return wrong;
}

Test(normal, a_mended_root_is_the_rounded_one_for_all_words_and_approximations)
{
	unsigned wrong = wrong_roots_of_words(0, 1 << 24, 1);

	for (int power = 24; power < 32; power++)
		wrong += wrong_roots_of_words((uint64_t)1 << power,
					      (uint64_t)2 << power,
					      (uint64_t)1 << (power - 23));
	cr_assert(wrong == 0, "%u are wrong", wrong);
}

Test(normal, a_mended_root_of_0_is_0)
{
	struct philox_f32x2 zero = philox_two(0.0f);
	struct philox_f32x2 got = philox_mend_roots(zero, philox_two(INFINITY));

	cr_assert_eq(philox_f32_bits(philox_radius_square(~0u, 0).v[0]), 0);
	cr_assert_eq(philox_f32_bits(got.v[0]), 0);
	cr_assert_eq(philox_f32_bits(got.v[1]), 0);
}

/* The CPU rounds down, too. */
static float rounded_down(float a, float b, float c)
{
	volatile float x = a, result;

	fesetround(FE_DOWNWARD);
	result = fmaf(x, b, c);
	fesetround(FE_TONEAREST);
	return result;
}

Test(normal, a_product_is_rounded_down_as_the_cpu_does)
{
	for (uint64_t i = 0; i < 100000; i++) {
		struct philox_words w = philox_block(16, i, 0);
		float a = (float)(int32_t)w.w[0], b = (float)w.w[1];
		float c = w.w[2] % 2 ? 0.0f : a * b * 0.75f;
		float got = philox_multiply_add_down(a, b, c);

		cr_assert_eq(got, rounded_down(a, b, c), "%a %a %a", (double)a,
			     (double)b, (double)c);
	}
}

Test(normal, a_sum_is_clipped_to_0_and_1_and_a_nan_to_0)
{
	cr_assert_eq(philox_multiply_add_clipped(2, 3, -7), 0);
	cr_assert_eq(philox_multiply_add_clipped(2, 3, -5.5f), 0.5f);
	cr_assert_eq(philox_multiply_add_clipped(2, 3, 1), 1);
	cr_assert_eq(philox_multiply_add_clipped(INFINITY, 1, 0), 1);
	cr_assert_eq(philox_multiply_add_clipped(0, INFINITY, 1), 0);
	cr_assert_eq(philox_multiply_add_clipped(NAN, 1, 1), 0);
}

Test(normal, two_numbers_of_a_register_keep_their_bits_and_order)
{
	struct philox_f32x2 x = {{-0.0f, 1.5f}};
	uint64_t pair = philox_two_pack(x);

	cr_assert_eq(pair, 0x3fc0000080000000);
	x = philox_two_unpack(pair);
	cr_assert_eq(philox_f32_bits(x.v[0]), 0x80000000);
	cr_assert_eq(x.v[1], 1.5f);
}

Test(normal, four_numbers_are_those_of_two_pairs)
{
	for (uint64_t i = 0; i < 100000; i++) {
		struct philox_words w = philox_block(17, i, 0);
		float four[4], x, y;

		w.w[i % 4] = special[i % N_SPECIAL];
		philox_normal_pairs(w, four);
		for (int k = 0; k < 4; k += 2) {
			philox_normal_pair(w.w[k], w.w[k + 1], &x, &y);
			cr_assert_eq(four[k], x);
			cr_assert_eq(four[k + 1], y);
		}
	}
}

Test(normal, sine_and_cosine_are_good_to_a_float_on_a_dense_sample)
{
	for (uint64_t w = 0; w < (uint64_t)1 << 32; w += 2039) {
		double angle = exact_angle((uint32_t)w);
		float sine, cosine;

		philox_sin_cos((uint32_t)w, &sine, &cosine);
		cr_assert(fabs(sine - sin(angle)) <= 1.05e-7, "%" PRIx64, w);
		cr_assert(fabs(cosine - cos(angle)) <= 1.05e-7, "%" PRIx64, w);
	}
}

Test(normal, never_exceeds_its_bound_and_is_never_minus_0)
{
	for (size_t i = 0; i < N_SPECIAL; i++)
		for (size_t j = 0; j < N_SPECIAL; j++) {
			float v[2];

			philox_normal_pair(special[i], special[j], &v[0],
					   &v[1]);
			for (int k = 0; k < 2; k++) {
				cr_assert(fabsf(v[k]) <= 6.77f);
				cr_assert(v[k] != 0 || !signbit(v[k]));
			}
		}
	/* the words that mean u = 1, whose logarithm is 0 */
	for (uint32_t w = 0xffffff80; w; w++) {
		float x, y;

		philox_normal_pair(w, 0x90000000, &x, &y);
		cr_assert_eq(philox_f32_bits(x), 0);
		cr_assert_eq(philox_f32_bits(y), 0);
	}
}

/*
 * Half a turn negates both, and the reflection ~w negates the sine alone: the
 * other bits of a negated number are the same.
 */
Test(normal, opposite_angles_differ_by_the_sign_alone)
{
	for (uint64_t i = 0; i < 100000; i++) {
		struct philox_words w = philox_block(13, i, 0);
		uint32_t angle = i < N_SPECIAL ? special[i] : w.w[0];
		float sine, cosine, other_sine, other_cosine;

		philox_sin_cos(angle, &sine, &cosine);
		philox_sin_cos(angle + 0x80000000, &other_sine, &other_cosine);
		cr_assert_eq(sine, -other_sine, "%x", angle);
		cr_assert_eq(cosine, -other_cosine, "%x", angle);
		philox_sin_cos(~angle, &other_sine, &other_cosine);
		cr_assert_eq(sine, -other_sine, "%x", angle);
		cr_assert_eq(cosine, other_cosine, "%x", angle);
	}
}

/*
 * Standard deviations of the estimates at n = 4e6: 5e-4, 7e-4, 1.2e-3, 4.9e-3
 */
Test(normal, has_the_moments_of_the_normal_distribution)
{
	const double n = 4e6;
	double sum[5] = {0}, product = 0;

	for (uint64_t i = 0; i < 1000000; i++) {
		struct philox_words w = philox_block(14, i, 0);
		float v[4];

		philox_normal_pair(w.w[0], w.w[1], &v[0], &v[1]);
		philox_normal_pair(w.w[2], w.w[3], &v[2], &v[3]);
		for (int k = 0; k < 4; k++)
			for (int power = 1; power <= 4; power++)
				sum[power] += pow(v[k], power);
		product += v[0] * (double)v[1] + v[2] * (double)v[3];
	}
	cr_assert_float_eq(sum[1] / n, 0, 2.5e-3);
	cr_assert_float_eq(sum[2] / n, 1, 3.5e-3);
	cr_assert_float_eq(sum[3] / n, 0, 1e-2);
	cr_assert_float_eq(sum[4] / n, 3, 2.5e-2);
	cr_assert_float_eq(product / (n / 2), 0, 3.5e-3);
}

/* Chi-squared over 40 intervals that are equally likely. */
Test(normal, has_the_distribution_function_of_the_normal_distribution)
{
	enum { BINS = 40 };
	const unsigned n = 1000000;
	unsigned count[BINS] = {0};
	double chi_squared = 0;

	for (uint64_t i = 0; i < n / 2; i++) {
		struct philox_words w = philox_block(15, i, 0);
		float v[2];

		philox_normal_pair(w.w[0], w.w[1], &v[0], &v[1]);
		for (int k = 0; k < 2; k++) {
			double p = erfc(-v[k] / sqrt(2)) / 2;

			count[(int)fmin(p * BINS, BINS - 1)]++;
		}
	}
	for (int i = 0; i < BINS; i++) {
		double off = count[i] - (double)n / BINS;

		chi_squared += off * off / ((double)n / BINS);
	}
	/* 39 degrees of freedom: exceeded by chance once in 10^6 */
	cr_assert_lt(chi_squared, 96);
}
