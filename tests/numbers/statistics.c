/*
 * tests/numbers/statistics.c - moments, distribution and correlations of fills
 *
 * Four million numbers are drawn as a program would: 64 elements of each of
 * 4096 operators in each of 16 forwards of one region. Every bound comes from
 * theory and is met by independent numbers of the distribution with probability
 * 1 - 10^-9; seed and numbers are the same in every run.
 */
#include <math.h>
#include "tests/support/support.h"

enum {
	ELEMENTS = 64,
	STAT_OPS = 4096,
	FORWARDS = 16,
	NUMBERS = ELEMENTS * STAT_OPS * FORWARDS,
	BINS = 256,
	SIDE = 16, /* of a table of pairs: 256 cells, too */
	LAGS = 4
};

/* Standard normal numbers exceed it, either way, with probability 10^-9. */
#define SIGMAS 6.11

/* The same for chi-squared of 255 degrees of freedom, either way: 2 * 10^-9. */
#define CHI_LEAST 141.9
#define CHI_MOST  414.5

struct moments {
	double mean, deviation;
};

struct kind {
	enum philox_dist dist;
	struct moments of[5]; /* of the first powers, from 1 on */
};

/* E u^k = 1 / (k + 1), and the variance of u^k is 1 / (2k + 1) - E^2 */
static struct kind uniform_kind(void)
{
	struct kind kind = {.dist = PHILOX_DIST_UNIFORM};

	for (int k = 1; k <= 4; k++) {
		kind.of[k].mean = 1.0 / (k + 1);
		kind.of[k].deviation =
			sqrt(1.0 / (2 * k + 1) - 1.0 / ((k + 1) * (k + 1)));
	}
	return kind;
}

/* E x^2k is 1, 3, 15, 105 for k of 1 .. 4, and that of odd powers 0 */
static struct kind normal_kind(void)
{
	struct kind kind = {.dist = PHILOX_DIST_NORMAL,
			    .of = {{0, 0},
				   {0, 1},
				   {1, sqrt(3 - 1)},
				   {0, sqrt(15)},
				   {3, sqrt(105 - 9)}}};

	return kind;
}

/* --- drawing -------------------------------------------------------------- */

/* In order of forward, then operator, then element. */
static void draw_forward(struct fixture *f, struct philox_region *region,
			 enum philox_dist dist, float *out)
{
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = dist,
					.dtype = PHILOX_DTYPE_F32,
					.high = 1,
					.std = 1,
					.span = {.count = ELEMENTS}};
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	for (uint32_t op = 0; op < STAT_OPS; op++) {
		fill.out = out + op * ELEMENTS;
		OK(philox_pass_fill(&pass, op, 0, &fill));
	}
	OK(philox_pass_commit(&pass, 0, NULL));
}

static const float *draw_all(struct fixture *f, enum philox_dist dist)
{
	static const struct philox_op_desc ops[STAT_OPS];
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = ops,
					     .n_ops = STAT_OPS};
	float *numbers = make_memory(f, NUMBERS * sizeof(*numbers));
	struct philox_region *region;

	OK(philox_generator_seed(philox_context_generator(f->context), 2026));
	OK(philox_region_create(f->context, &options, &region));
	for (size_t i = 0; i < FORWARDS; i++)
		draw_forward(f, region, dist,
			     numbers + i * STAT_OPS * ELEMENTS);
	OK(philox_device_synchronize(f->device));
	return numbers;
}

/* Runs a check on both kinds of numbers. */
static void on_both(void (*check)(const struct kind *kind,
				  const float *numbers))
{
	const struct kind kinds[] = {uniform_kind(), normal_kind()};

	for (int i = 0; i < 2; i++) {
		struct fixture f;

		fixture_open(&f, "host:sync");
		check(&kinds[i], draw_all(&f, kinds[i].dist));
		fixture_close(&f);
	}
}

/* --- moments -------------------------------------------------------------- */

static void check_moments(const struct kind *kind, const float *numbers)
{
	double sum[5] = {0};

	for (size_t i = 0; i < NUMBERS; i++) {
		double power = 1;

		for (int k = 1; k <= 4; k++)
			sum[k] += power *= numbers[i];
	}
	for (int k = 1; k <= 4; k++) {
		double z = (sum[k] / NUMBERS - kind->of[k].mean) *
			   sqrt(NUMBERS) / kind->of[k].deviation;

		cr_assert(fabs(z) < SIGMAS, "dist %d, power %d: %g sigmas",
			  (int)kind->dist, k, z);
	}
}

Test(statistics, four_moments_are_those_of_the_distribution, .timeout = 60)
{
	on_both(check_moments);
}

/* --- the distribution ----------------------------------------------------- */

/* The value of the distribution function, times n: a class of n. */
static int class_of(const struct kind *kind, float x, int n)
{
	double p =
		kind->dist == PHILOX_DIST_UNIFORM ? x : erfc(-x / sqrt(2)) / 2;

	return (int)fmin(p * n, n - 1);
}

static void check_chi_squared(const unsigned count[BINS], double n,
			      const char *what, const struct kind *kind)
{
	double chi_squared = 0;

	for (int i = 0; i < BINS; i++)
		chi_squared += (count[i] - n / BINS) * (count[i] - n / BINS) /
			       (n / BINS);
	cr_assert(chi_squared > CHI_LEAST && chi_squared < CHI_MOST,
		  "dist %d, %s: chi-squared is %g", (int)kind->dist, what,
		  chi_squared);
}

static void check_classes(const struct kind *kind, const float *numbers)
{
	unsigned count[BINS] = {0};

	for (size_t i = 0; i < NUMBERS; i++)
		count[class_of(kind, numbers[i], BINS)]++;
	check_chi_squared(count, NUMBERS, "numbers", kind);
}

Test(statistics, numbers_are_spread_over_256_classes, .timeout = 60)
{
	on_both(check_classes);
}

/* --- neighbours ----------------------------------------------------------- */

static const struct axis {
	const char *name;
	size_t length, stride;
} axes[] = {{"elements", ELEMENTS, 1},
	    {"operators", STAT_OPS, ELEMENTS},
	    {"forwards", FORWARDS, ELEMENTS *STAT_OPS}};

enum { AXES = sizeof(axes) / sizeof(axes[0]) };

static size_t place(const struct axis *axis, size_t i)
{
	return i / axis->stride % axis->length;
}

/* Number i and the next one along an axis, for each i of an even place. */
static void check_pairs(const struct kind *kind, const float *numbers)
{
	for (int a = 0; a < AXES; a++) {
		unsigned count[BINS] = {0};

		for (size_t i = 0; i < NUMBERS; i++) {
			float next;

			if (place(&axes[a], i) % 2)
				continue;
			next = numbers[i + axes[a].stride];
			count[class_of(kind, numbers[i], SIDE) * SIDE +
			      class_of(kind, next, SIDE)]++;
		}
		check_chi_squared(count, NUMBERS / 2, axes[a].name, kind);
	}
}

Test(statistics, pairs_along_every_axis_are_spread_over_256_cells,
     .timeout = 60)
{
	on_both(check_pairs);
}

/*
 * The mean of n products of independent numbers, both of mean 0 and variance 1,
 * has deviation 1 / sqrt(n); so has that of products along a chain, which are
 * uncorrelated. The squares show dependence that the numbers themselves do not.
 */
static double correlation(const float *numbers, const struct axis *axis,
			  size_t lag, int power, struct moments of)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < NUMBERS; i++) {
		double x = numbers[i], y;

		if (place(axis, i) + lag >= axis->length)
			continue;
		y = numbers[i + lag * axis->stride];
		if (power == 2) {
			x *= x;
			y *= y;
		}
		sum += (x - of.mean) * (y - of.mean);
		n++;
	}
	return sum / (of.deviation * of.deviation) / sqrt(n);
}

static void check_correlations(const struct kind *kind, const float *numbers)
{
	for (int a = 0; a < AXES; a++)
		for (size_t lag = 1; lag <= LAGS; lag++)
			for (int power = 1; power <= 2; power++) {
				double z = correlation(numbers, &axes[a], lag,
						       power, kind->of[power]);

				cr_assert(fabs(z) < SIGMAS,
					  "dist %d, %s, lag %zu, power %d: %g "
					  "sigmas",
					  (int)kind->dist, axes[a].name, lag,
					  power, z);
			}
}

Test(statistics, neighbours_along_every_axis_are_uncorrelated, .timeout = 60)
{
	on_both(check_correlations);
}
