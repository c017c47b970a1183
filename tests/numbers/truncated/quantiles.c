/*
 * tests/numbers/truncated/quantiles.c - truncated normal numbers, one by one
 *
 * tests/numbers/truncated/known.txt has exact quantiles; known.py makes it with
 * mpmath, and shares nothing with the library.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <philox/truncated.h>
#include "tests/support/support.h"

#define PATH "tests/numbers/truncated/known.txt"

struct interval {
	double mean, std, low, high;
};

static const struct interval intervals[] = {
	{0, 1, -2, 2},          {0, 1, -1e300, 1e300},  {0, 1, -5, 1e-3},
	{0, 1, -1e-20, 1},      {0, 1, -1e-9, 1e-9},    {0, 1, 0, 1},
	{0, 1, -1e300, 0},      {0, 1, 1e-3, 2e-3},     {0, 1, 7, 1e300},
	{0, 1, -9, -8},         {0, 1, 38, 50},         {0, 1, 1e3, 1e4},
	{0, 1, -1e300, -1e10},  {0, 1, 1, 1 + 0x1p-40}, {0, 1, 0.5, 0.515},
	{0, 0.02, -0.04, 0.04}, {-3, 0.1, -2, 0},       {10, 3, -1e300, 9},
	{5, 1e20, 0, 1},        {0.25, 0.5, 0.1, 0.7},  {0, 1, -20, 1e-30}};

enum { INTERVALS = sizeof(intervals) / sizeof(intervals[0]) };

static struct philox_truncated of_interval(struct interval i)
{
	return philox_truncated_of(i.mean, i.std, i.low, i.high);
}

static uint64_t random_bits(void)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

/* Near 0 and near 2^64 as often as in the middle. */
static uint64_t random_word(void)
{
	uint64_t w = random_bits() >> random_bits() % 64;

	return random_bits() % 2 ? w : ~w;
}

/* --- known answers -------------------------------------------------------- */

static double ulp_f32(double x)
{
	int power = 0;

	frexp(x, &power);
	return ldexp(1, power - 24 < -149 ? -149 : power - 24);
}

/* z has 37 bits from the end that is nearer to 0, or from 0. */
static void check_z(const struct philox_truncated *d, uint64_t w,
		    long double exact)
{
	double z = philox_truncated_z(d, w);
	long double from = fabsl(exact) - (d->side != 0 ? d->base : 0);
	long double most =
		0x1.2p-38L * fabsl(from) + 0x1p-52L * fabsl(exact) + 0x1p-100L;

	cr_assert(fabsl(z - exact) <= most,
		  "[%a, %a], %" PRIx64 ": z is %a, not %.20Lg", d->low, d->high,
		  w, z, exact);
}

static void check_f32(const struct philox_truncated *d, uint64_t w,
		      long double exact)
{
	double x = (double)philox_truncated_f32(d, w);
	double most = 4 * ulp_f32((double)exact);

	most = most > 0x1p-95 ? most : 0x1p-95;
	cr_assert(fabsl(x - exact) <= most,
		  "[%a, %a], %" PRIx64 ": it is %a, not %.20Lg", d->low,
		  d->high, w, x, exact);
}

static unsigned check_points(const struct philox_truncated *d,
			     const char *points)
{
	unsigned done = 0;
	long double exact;
	uint64_t w;
	int used;

	for (; sscanf(points, " %" SCNx64 " %Lf%n", &w, &exact, &used) == 2;
	     points += used + (points[used] == ',')) {
		check_z(d, w, exact);
		if (d->mean == 0 && d->std == 1)
			check_f32(d, w, exact);
		done++;
	}
	return done;
}

Test(truncated, quantiles_are_the_known_ones)
{
	static char line[8192];
	FILE *file = fopen(PATH, "r");
	struct interval i;
	unsigned done = 0;
	int at;

	cr_assert_not_null(file, "%s: run the tests from the top of the tree",
			   PATH);
	while (fgets(line, sizeof(line), file)) {
		struct philox_truncated d;

		if (sscanf(line, "%la %la %la %la:%n", &i.mean, &i.std, &i.low,
			   &i.high, &at) != 4)
			continue;
		d = of_interval(i);
		done += check_points(&d, line + at);
	}
	fclose(file);
	cr_assert_eq(done, 3697, "%u", done);
}

/* --- order ---------------------------------------------------------------- */

static void check_order(const struct philox_truncated *d, uint64_t w,
			uint64_t next)
{
	double z = philox_truncated_z(d, w),
	       after = philox_truncated_z(d, next);

	cr_assert(w >= next || z <= after,
		  "[%a, %a]: z is %a at %" PRIx64 ", %a at %" PRIx64, d->low,
		  d->high, z, w, after, next);
}

/* The first word of those from w on, below `end`, whose z is another. */
static uint64_t find_change(const struct philox_truncated *d, uint64_t w,
			    uint64_t end)
{
	const double z = philox_truncated_z(d, w);

	while (end - w > 1) {
		uint64_t middle = w + (end - w) / 2;

		if (philox_truncated_z(d, middle) == z)
			w = middle;
		else
			end = middle;
	}
	return end;
}

/* From a word on: the next ones, then changes of z, one after the other. */
static void check_from(const struct philox_truncated *d, uint64_t w)
{
	for (uint64_t i = 0; i < 40 && w + i < UINT64_MAX; i++)
		check_order(d, w + i, w + i + 1);
	for (int i = 0; i < 40 && w < UINT64_MAX; i++) {
		uint64_t next = find_change(d, w, UINT64_MAX);

		check_order(d, w, next);
		check_order(d, next - 1, next);
		w = next;
	}
}

/* The word that gives a part of the mass, and those before it. */
static void check_around(const struct philox_truncated *d, double part)
{
	if (part > 0 && part < 1)
		check_from(d, (uint64_t)(part * 0x1p64) - 50);
	if (part > 0 && part < 1)
		check_from(d, (uint64_t)(part * 0x1p64) - 0x1p38);
}

Test(truncated, more_mass_below_is_never_a_smaller_number, .timeout = 120)
{
	for (int i = 0; i < INTERVALS; i++) {
		struct philox_truncated d = of_interval(intervals[i]);
		double below = d.below.high, all = below + d.above.high;

		for (int k = 0; k < 40; k++)
			check_from(&d, random_word());
		for (int k = 0; k < 1000; k++)
			check_order(&d, random_word(), random_word());
		/* where another way begins: masses of 1/64 and 1/2, and 0 */
		for (int k = 1; k <= 64; k *= 2) {
			double part = 1.0 / k;

			check_around(&d, d.side < 0 ? 1 - part / d.mass
						    : part / d.mass);
			check_around(&d, (below + part / 2) / all);
			check_around(&d, (below - part / 2) / all);
		}
		check_around(&d, below / all);
	}
}

/* --- symmetry ------------------------------------------------------------- */

Test(truncated, the_mirrored_interval_gives_the_negative_numbers)
{
	for (int i = 0; i < INTERVALS; i++) {
		struct interval other = {-intervals[i].mean, intervals[i].std,
					 -intervals[i].high, -intervals[i].low};
		struct philox_truncated d = of_interval(intervals[i]);
		struct philox_truncated e = of_interval(other);

		for (int k = 0; k < 1000; k++) {
			uint64_t w = random_word();

			cr_assert(philox_truncated_z(&d, w) ==
				  -philox_truncated_z(&e, ~w));
			cr_assert(philox_truncated_f32(&d, w) ==
				  -philox_truncated_f32(&e, ~w));
			cr_assert(((philox_truncated_bf16(&d, w) ^
				    philox_truncated_bf16(&e, ~w)) &
				   0x7fff) == 0);
			cr_assert(((philox_truncated_f16(&d, w) ^
				    philox_truncated_f16(&e, ~w)) &
				   0x7fff) == 0);
		}
	}
}

/* --- rounding and ends ---------------------------------------------------- */

struct type {
	const char *name;
	uint32_t sign, largest;
	double (*value)(uint32_t bits);
	uint32_t (*draw)(const struct philox_truncated *d, uint64_t w);
};

/* A sign, a power and a fraction, written out. */
static double value_of(uint32_t bits, int power_bits, int fraction_bits)
{
	uint32_t fraction = bits & ((1u << fraction_bits) - 1);
	uint32_t power = bits >> fraction_bits & ((1u << power_bits) - 1);
	int bias = (1 << (power_bits - 1)) - 1 + fraction_bits;
	double x = power ? ldexp(fraction + (1u << fraction_bits),
				 (int)power - bias)
			 : ldexp(fraction, 1 - bias);

	cr_assert_lt(power, (1u << power_bits) - 1, "infinite, or a NaN");
	return bits >> (power_bits + fraction_bits) & 1 ? -x : x;
}

static double f32_value(uint32_t bits)
{
	return value_of(bits, 8, 23);
}

static double bf16_value(uint32_t bits)
{
	return value_of(bits, 8, 7);
}

static double f16_value(uint32_t bits)
{
	return value_of(bits, 5, 10);
}

static uint32_t f32_draw(const struct philox_truncated *d, uint64_t w)
{
	return philox_f32_bits(philox_truncated_f32(d, w));
}

static uint32_t bf16_draw(const struct philox_truncated *d, uint64_t w)
{
	return philox_truncated_bf16(d, w);
}

static uint32_t f16_draw(const struct philox_truncated *d, uint64_t w)
{
	return philox_truncated_f16(d, w);
}

static const struct type types[] = {
	{"f32", 1u << 31, 0x7f7fffff, f32_value, f32_draw},
	{"bf16", 1u << 15, 0x7f7f, bf16_value, bf16_draw},
	{"f16", 1u << 15, 0x7bff, f16_value, f16_draw}};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

/* Another number of the type is no nearer to x, unless it is outside. */
static void check_other(const struct type *type, uint32_t bits, uint32_t other,
			const struct philox_truncated *d, double x)
{
	double here = fabs(type->value(bits) - x), there;

	if ((other & ~type->sign) > type->largest)
		return;
	there = fabs(type->value(other) - x);
	if (type->value(other) < d->low || type->value(other) > d->high)
		return;
	cr_assert(here < there || (here == there && !(bits & 1)),
		  "%s: of %a it makes %x, not %x", type->name, x, bits, other);
}

static void check_rounding(const struct type *type,
			   const struct philox_truncated *d, uint64_t w)
{
	const double x = philox_truncated_of_word(d, w);
	const uint32_t bits = type->draw(d, w);
	const uint32_t rest = bits & ~type->sign;
	const double value = type->value(bits);

	cr_assert(value >= d->low && value <= d->high,
		  "%s: %a is outside of [%a, %a]", type->name, value, d->low,
		  d->high);
	cr_assert(x >= d->low && x <= d->high);
	if (fabs(x) > type->value(type->largest)) {
		cr_assert_eq(rest, type->largest);
		return;
	}
	check_other(type, bits, bits + 1, d, x);
	check_other(type, bits, rest ? bits - 1 : (bits ^ type->sign) + 1, d,
		    x);
}

/*
 * Every interval has a number of every type. Numbers of the last two are next to
 * the middle between two of bf16, or f16, which is an f32.
 */
static const struct interval odd_ends[] = {
	{0, 1, 0.1, 0.2},          {0, 1, -0.3, 0.7},
	{0, 1, -1e-50, 1e-50},     {0, 1, 0, 1e-50},
	{0, 1, -1e-50, 0},         {0, 1, 1 - 0x1p-40, 1 + 0x1p-40},
	{0, 1, -1 - 0x1p-50, -1},  {0, 1, 1 - 0x1p-30, 1.001},
	{0, 1, 0x1.ffcp15, 1e300}, {0, 1, -1e300, -65504},
	{0, 1e39, -1e300, 1e300},  {1e300, 1e300, -1e300, 1e308},
	{0, 1e-44, -1, 1},         {0, 1e-39, -1e-39, 3e-39},
	{0, 1e-6, -1e-6, 1e-7},    {0, 1e-300, -1e300, 1e300},
	{0, 1e-300, 1, 2},         {3, 1e-300, 1, 2},
	{0, 1e-10, 5, 1e300},      {1 + 0x1p-8, 1e-9, 0, 2},
	{1 + 0x1p-11, 1e-9, 0, 2}};

Test(truncated, numbers_are_the_nearest_of_their_type_between_the_ends)
{
	for (size_t i = 0; i < sizeof(odd_ends) / sizeof(odd_ends[0]); i++) {
		struct philox_truncated d = of_interval(odd_ends[i]);

		for (int k = 0; k < 3000; k++)
			check_rounding(&types[k % TYPES], &d, random_word());
	}
	for (int i = 0; i < INTERVALS; i++) {
		struct philox_truncated d = of_interval(intervals[i]);

		if (d.low > 65504 || d.high < -65504)
			continue;
		for (int k = 0; k < 3000; k++)
			check_rounding(&types[k % TYPES], &d, random_word());
	}
}

/* alpha and beta are equal, or both overflow. */
Test(truncated, an_interval_that_rounds_to_one_number_gives_one)
{
	static const struct {
		struct interval of;
		double least, most;
	} some[] = {{{-1e20, 1, 1, 1000}, 1, 1000},
		    {{0, 1e-300, 1e10, 2e10}, 1e10, 1e10},
		    {{1e10, 1e-300, -2, -1}, -1, -1}};

	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		struct philox_truncated d = of_interval(some[i].of);
		double first = philox_truncated_of_word(&d, 0);

		cr_assert(first >= some[i].least && first <= some[i].most);
		for (int k = 0; k < 100; k++)
			cr_assert_eq(
				philox_truncated_of_word(&d, random_word()),
				first);
	}
}
