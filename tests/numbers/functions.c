/*
 * tests/numbers/functions.c - logarithm, exp, sine, cosine against the C
 * library
 *
 * The oracle is the same function in long double, whose last place is 2^-64;
 * where long double is no wider than double nothing can be tested. The
 * functions behind f32 normal numbers are in tests/numbers/normal.c.
 */
#include <criterion/criterion.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <philox/kernel.h>

#if LDBL_MANT_DIG >= 64

static const uint64_t end_a = (uint64_t)1 << 53;
static const long double quarter_turn = 1.57079632679489661923132169163975144L;

/* 53 bits: every other number is near one of the two ends. */
static uint64_t sample(uint32_t stream, uint64_t i)
{
	struct philox_words w = philox_block(stream, i, 0);
	uint64_t a = ((uint64_t)w.w[0] << 32 | w.w[1]) >> 11;

	if (w.w[2] & 1)
		a >>= w.w[3] % 53;
	return w.w[2] & 2 ? end_a - 1 - a : a;
}

/* [low, high) */
static double between(uint32_t stream, uint64_t i, double low, double high)
{
	struct philox_words w = philox_block(stream, i, 0);
	double u = philox_uniform_f64((uint64_t)w.w[0] << 32 | w.w[1]);

	return low + (high - low) * u;
}

static void check_relative(long double got, long double exact,
			   long double bound, double of)
{
	cr_assert(fabsl(got - exact) <= bound * fabsl(exact),
		  "of %a: %La, not %La", of, got, exact);
}

/* The last place of the f32 or f64 that is nearest to |exact| */
static long double place(long double exact, int digits, int lowest)
{
	int power;

	frexpl(exact, &power);
	return ldexpl(1, (power < lowest ? lowest : power) - digits);
}

static void check_places(long double got, long double exact, long double place,
			 long double places, double of)
{
	cr_assert(fabsl(got - exact) <= places * place, "of %a: %La, not %La",
		  of, got, exact);
}

/* --- f32 ------------------------------------------------------------------ */

static void check_minus_ln1m_f32(uint32_t w)
{
	long double v = (w + 0.5L) * 0x1p-32L;
	float got = philox_minus_ln1m_f32(w);

	cr_assert(got > 0, "%x", w);
	check_relative(got, -log1pl(-v), 1.8e-7L, w);
}

Test(functions, minus_ln1m_f32_is_good_to_a_float_on_a_dense_sample)
{
	for (uint64_t w = 0; w < (uint64_t)1 << 32; w += 1021)
		check_minus_ln1m_f32((uint32_t)w);
	for (uint64_t i = 0; i < 300000; i++) {
		uint64_t a = sample(21, i);

		check_minus_ln1m_f32((uint32_t)(i % 2 ? a : a >> 21));
	}
}

Test(functions, minus_ln1m_f32_is_good_at_its_edges)
{
	static const uint32_t edge[] = {0,          0x007fffff, 0x01000000,
					0x55555480, 0x7fffffff, 0xaaaaaaaa,
					0xd5555555, 0xffffff00, 0xffffffff};

	for (size_t i = 0; i < sizeof(edge) / sizeof(edge[0]); i++)
		for (uint32_t j = 0; j < 4096; j++)
			check_minus_ln1m_f32(edge[i] + j - 2048);
	cr_assert_eq(philox_minus_ln1m_f32(0), 0x1p-33f);
	cr_assert_float_eq(philox_minus_ln1m_f32(0xffffffff), 33 * logl(2),
			   2e-6);
}

/* In small steps where the formula changes, and where u's power of two does. */
Test(functions, minus_ln1m_never_decreases)
{
	const uint64_t third = 0xaaaaaaaaaaaaa;

	for (uint64_t w = 0; w < 0xffffffff - 509; w += 509)
		cr_assert(philox_minus_ln1m_f32((uint32_t)w) <=
				  philox_minus_ln1m_f32((uint32_t)w + 509),
			  "%" PRIx64, w);
	for (int k = 0; k < 32; k++) {
		uint32_t w = ~(0xaaaaaaaau >> k) - 2000;

		for (int i = 0; i < 4000 && w != 0xffffffff; i++, w++)
			cr_assert(philox_minus_ln1m_f32(w) <=
					  philox_minus_ln1m_f32(w + 1),
				  "%x", w);
	}
	for (int i = -2000; i < 2000; i++)
		cr_assert(philox_minus_ln1m_f64(third + i) <=
				  philox_minus_ln1m_f64(third + i + 1),
			  "%d", i);
}

static void check_ln_f32(float x)
{
	long double exact = logl(x);

	check_relative(philox_ln_f32(x), exact, 1.08e-7L, x);
}

Test(functions, ln_f32_is_good_to_a_float)
{
	for (uint32_t bits = 0x00800000; bits < 0x7f800000; bits += 1021)
		check_ln_f32(philox_f32_from_bits(bits));
	for (uint32_t bits = 0x3f000000; bits < 0x40000000; bits += 17)
		check_ln_f32(philox_f32_from_bits(bits));
	for (int i = -4096; i < 4096; i++)
		check_ln_f32(philox_f32_from_bits(0x3f800000u + (uint32_t)i));
	check_ln_f32(FLT_MIN);
	check_ln_f32(FLT_MAX);
	cr_assert_eq(philox_f32_bits(philox_ln_f32(1)), 0);
}

static void check_exp_f32(float x)
{
	long double exact = expl(x);
	float got = philox_exp_f32(x);

	/* from half a last place above the largest float on */
	if (exact >= 0x1.ffffffp127L)
		cr_assert(got == INFINITY, "of %a: %a", x, got);
	else
		check_places(got, exact, place(exact, 24, -125), 0.9L, x);
}

Test(functions, exp_f32_is_within_9_tenths_of_a_last_place)
{
	for (uint32_t bits = 0; bits <= 0x7f800000; bits += 2039) {
		check_exp_f32(philox_f32_from_bits(bits));
		check_exp_f32(philox_f32_from_bits(bits | 0x80000000u));
	}
	for (uint64_t i = 0; i < 1000000; i++)
		check_exp_f32((float)between(22, i, -106, 90));
}

Test(functions, exp_f32_is_good_at_its_edges)
{
	/* ln of 2^128, 2^-126, 2^-149 and 2^-150, and the ends of [-104, 89] */
	static const float edge[] = {88.7228394f,  -87.3365479f, -103.278931f,
				     -103.972076f, -103.9f,      88.72f,
				     89,           -104,         0};

	for (size_t i = 0; i < sizeof(edge) / sizeof(edge[0]); i++)
		for (int j = -4096; j < 4096; j++)
			check_exp_f32(edge[i] + (float)j * 0x1p-17f);
	cr_assert_eq(philox_exp_f32(0), 1);
	cr_assert_eq(philox_exp_f32(-0.0f), 1);
	cr_assert_eq(philox_exp_f32(INFINITY), INFINITY);
	cr_assert_eq(philox_exp_f32(FLT_MAX), INFINITY);
	cr_assert_eq(philox_f32_bits(philox_exp_f32(-INFINITY)), 0);
	cr_assert_eq(philox_f32_bits(philox_exp_f32(-FLT_MAX)), 0);
	cr_assert(isnan(philox_exp_f32(NAN)));
}

/* --- f64 ------------------------------------------------------------------ */

static long double exact_v(uint64_t a)
{
	return ((long double)a + 0.5L) * 0x1p-53L;
}

static void check_logarithms_f64(uint64_t a)
{
	double u = (double)exact_v(a), got = philox_minus_ln1m_f64(a);

	cr_assert(got > 0, "%" PRIx64, a);
	check_relative(got, -log1pl(-exact_v(a)), 3.9e-16L, u);
	check_relative(philox_minus_2_ln_f64(a), -2 * logl(u), 2.1e-16L, u);
}

Test(functions, logarithms_of_uniform_numbers_are_good_to_a_double)
{
	for (uint64_t i = 0; i < 1000000; i++)
		check_logarithms_f64(sample(23, i));
}

Test(functions, logarithms_of_uniform_numbers_are_good_at_their_edges)
{
	static const uint64_t edge[] = {0,
					(uint64_t)1 << 52,
					(uint64_t)1 << 51,
					0xaaaaaaaaaaaaa,
					0x15555555555555,
					((uint64_t)1 << 53) - 1};

	for (size_t i = 0; i < sizeof(edge) / sizeof(edge[0]); i++)
		for (uint64_t j = 0; j < 4096; j++) {
			uint64_t a = edge[i] + j - 2048;

			if (a < end_a)
				check_logarithms_f64(a);
		}
	cr_assert_eq(philox_minus_ln1m_f64(0), 0x1p-54);
	cr_assert_float_eq(philox_minus_ln1m_f64(end_a - 1), 54 * logl(2),
			   1e-14);
	cr_assert_eq(philox_minus_2_ln_f64(end_a - 1), 0);
}

static void check_ln_f64(double x)
{
	check_relative(philox_ln_f64(x), logl(x), 2.1e-16L, x);
}

Test(functions, ln_f64_is_good_to_a_double)
{
	const uint64_t first = 0x10000000000000, end = 0x7ff0000000000000;

	for (uint64_t i = 0; i < 500000; i++) {
		struct philox_words w = philox_block(24, i, 0);
		uint64_t bits = (uint64_t)w.w[0] << 32 | w.w[1];

		check_ln_f64(
			philox_f64_from_bits(first + bits % (end - first)));
		check_ln_f64(between(25, i, 0.5, 2));
	}
	for (int i = -4096; i < 4096; i++)
		check_ln_f64(1 + i * DBL_EPSILON);
	check_ln_f64(DBL_MIN);
	check_ln_f64(DBL_MAX);
	cr_assert_eq(philox_f64_bits(philox_ln_f64(1)), 0);
}

static void check_exp_f64(double x)
{
	long double exact = expl(x);
	double got = philox_exp_f64(x);

	if (exact >= 0x1.fffffffffffffcp1023L)
		cr_assert(got == INFINITY, "of %a: %a", x, got);
	else
		check_places(got, exact, place(exact, 53, -1021), 1.05L, x);
}

Test(functions, exp_f64_is_within_a_last_place_or_little_more)
{
	for (uint64_t i = 0; i < 500000; i++) {
		check_exp_f64(between(26, i, -750, 715));
		check_exp_f64(between(27, i, -1, 1));
		/* denormal results */
		check_exp_f64(between(28, i, -745.2, -708.3));
	}
}

Test(functions, exp_f64_is_good_at_its_edges)
{
	/* ln of 2^1024, 2^-1022, 2^-1074 and 2^-1075 */
	static const double edge[] = {709.78271289338397,
				      -708.39641853226408,
				      -744.44007192138122,
				      -745.13321910194122,
				      -746,
				      710,
				      0};

	for (size_t i = 0; i < sizeof(edge) / sizeof(edge[0]); i++)
		for (int j = -4096; j < 4096; j++) {
			check_exp_f64(edge[i] + j * 0x1p-43);
			check_exp_f64(edge[i] + j * 0x1p-12);
		}
	cr_assert_eq(philox_exp_f64(0), 1);
	cr_assert_eq(philox_exp_f64(INFINITY), INFINITY);
	cr_assert_eq(philox_exp_f64(DBL_MAX), INFINITY);
	cr_assert_eq(philox_f64_bits(philox_exp_f64(-INFINITY)), 0);
	cr_assert_eq(philox_f64_bits(philox_exp_f64(-DBL_MAX)), 0);
	cr_assert(isnan(philox_exp_f64(NAN)));
}

/* The quadrant is found by comparison, and the rest is exact in long double. */
static void exact_sin_cos(uint64_t a, long double *sine, long double *cosine)
{
	long double turns = exact_v(a), s, c;
	int q = turns < 0.125L   ? 0
		: turns < 0.375L ? 1
		: turns < 0.625L ? 2
		: turns < 0.875L ? 3
				 : 4;

	s = sinl((turns - q * 0.25L) * 4 * quarter_turn);
	c = cosl((turns - q * 0.25L) * 4 * quarter_turn);
	*sine = q % 2 ? c : s;
	*cosine = q % 2 ? -s : c;
	if (q % 4 >= 2) {
		*sine = -*sine;
		*cosine = -*cosine;
	}
}

static void check_sin_cos_f64(uint64_t a)
{
	long double exact_sine, exact_cosine;
	double sine, cosine;

	exact_sin_cos(a, &exact_sine, &exact_cosine);
	philox_sin_cos_f64(a, &sine, &cosine);
	check_relative(sine, exact_sine, 2.6e-16L, (double)exact_v(a));
	check_relative(cosine, exact_cosine, 2.6e-16L, (double)exact_v(a));
}

Test(functions, sine_and_cosine_f64_are_good_to_a_double)
{
	for (uint64_t i = 0; i < 500000; i++) {
		struct philox_words w = philox_block(29, i, 0);

		check_sin_cos_f64(sample(30, i));
		check_sin_cos_f64(((uint64_t)w.w[0] << 32 | w.w[1]) >> 11);
	}
}

Test(functions, sine_and_cosine_f64_are_good_at_every_eighth_of_a_turn)
{
	for (uint64_t eighth = 0; eighth <= 8; eighth++)
		for (uint64_t j = 0; j < 4096; j++) {
			uint64_t a = (eighth << 50) + j - 2048;

			if (a < end_a)
				check_sin_cos_f64(a);
		}
}

Test(functions, opposite_angles_differ_by_the_sign_alone_in_f64_too)
{
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t a = sample(31, i);
		double sine, cosine, other_sine, other_cosine;

		philox_sin_cos_f64(a, &sine, &cosine);
		philox_sin_cos_f64(a ^ end_a / 2, &other_sine, &other_cosine);
		cr_assert_eq(sine, -other_sine);
		cr_assert_eq(cosine, -other_cosine);
		philox_sin_cos_f64(end_a - 1 - a, &other_sine, &other_cosine);
		cr_assert_eq(sine, -other_sine);
		cr_assert_eq(cosine, other_cosine);
	}
}

#else

Test(functions, are_good)
{
	cr_skip("long double is no wider than double");
}

#endif

/* Where an exponential number is 1, whose logarithm is 0. */
Test(functions, no_gumbel_number_is_minus_0)
{
	const double share = 1 - exp(-1);
	const uint32_t w = (uint32_t)(share * 0x1p32);
	const uint64_t a = (uint64_t)(share * 0x1p53);
	unsigned zeros = 0, zeros_f64 = 0;

	for (uint32_t i = w - 500; i < w + 500; i++) {
		float x = philox_gumbel_of((struct philox_state){0, 0}, 0, i);

		zeros += x == 0;
		cr_assert(x != 0 || !signbit(x), "word %08x", i);
	}
	for (uint64_t i = a - 500; i < a + 500; i++) {
		double x = philox_gumbel_f64(i << 11);

		zeros_f64 += x == 0;
		cr_assert(x != 0 || !signbit(x), "%llx", (unsigned long long)i);
	}
	cr_assert_gt(zeros, 0);
	cr_assert_gt(zeros_f64, 0);
}
