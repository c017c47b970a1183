/*
 * tests/numbers/permute/statistics.c - orders of more than 16 items look random
 *
 * Written down before the number of rounds was chosen. For each n of the list
 * below, the state {seed, 0} of each seed 0, 1, ... has one order. Then, with
 * c = 2^s, the columns of its grid:
 *
 *   pairs        items at places (0, 1), (0, c), (0, c + 1), (1, n / 2), (2, 2 +
 *                2 c), (n - 2, n - 1), in K x K cells, K = n up to 32, else 16
 *   differences  (item - item) mod n of the same places, in up to 256 bins
 *   triples      items at 0, 1 and 2, for n up to 32, all n (n - 1) (n - 2)
 *   neighbours   |item - item| at places (i, i + 1), i = seed mod (n - 1)
 *   fixed points how many: P(k) = D(n - k) / (k! (n - k)!), D(n) derangements
 *   cycles       mean H(n), variance H(n) - H2(n), sums of 1 / i and 1 / i^2
 *   inversions   mean n (n - 1) / 4, variance n (n - 1) (2 n + 5) / 72
 *   parity       odd with probability 1/2
 *
 * Each gives one p-value, of chi-squared or of a normal sum, which must be in
 * [1e-6, 1 - 1e-6]. Here pairs, differences, triples and neighbours are of
 * 100,000 seeds, the others of so many that a million items are made.
 *
 *   PERMUTE_SEEDS=10000000 philox-tests --filter 'permute_statistics/...'
 *
 * is the same for as many seeds, and of a thousand times as many items. With
 * 10^7 seeds n = 17 .. 32 took 6 pairs of rounds to pass; with 3 10^6 seeds 100
 * took 4, and 1000 and more took 3. philox_permutation_pairs() has at least
 * twice as many.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/support.h"

enum { PLACES = 6, CELLS_MOST = 32 * 32, BINS = 256, FIXED = 8 };

static const uint64_t sizes[] = {17, 20, 32, 64, 100, 1000, 65536, 1000003};

/* --- p-values ------------------------------------------------------------- */

/* The upper tail of chi-squared by its series or continued fraction. */
static double tail_by_series(double a, double x)
{
	double term = 1 / a, sum = term;

	for (int k = 1; term > sum * 1e-17; k++)
		sum += term *= x / (a + k);
	return 1 - sum * exp(-x + a * log(x) - lgamma(a));
}

static double tail_by_fraction(double a, double x)
{
	double b = x + 1 - a, c = 1e300, d = 1 / b, h = d, change = 0;

	for (int i = 1; fabs(change - 1) > 1e-15 && i < 1000000; i++) {
		double step = -i * (i - a);

		b += 2;
		d = 1 / (step * d + b);
		c = b + step / c;
		h *= change = d * c;
	}
	return exp(-x + a * log(x) - lgamma(a)) * h;
}

static double chi_tail(double chi, double degrees)
{
	double a = degrees / 2, x = chi / 2;

	return x < a + 1 ? tail_by_series(a, x) : tail_by_fraction(a, x);
}

static void check_p(const char *what, uint64_t n, double p)
{
	if (getenv("PERMUTE_SEEDS"))
		printf("n %8llu  %-14s p %.3g\n", (unsigned long long)n, what,
		       p);
	cr_assert(p >= 1e-6 && p <= 1 - 1e-6, "%s of n %llu: p %g", what,
		  (unsigned long long)n, p);
}

static void check_normal(const char *what, uint64_t n, double z)
{
	check_p(what, n, 0.5 * erfc(z / sqrt(2)));
}

/* Counts against what is expected of each, which must be above 0 or be so. */
static void check_counts(const char *what, uint64_t n, const uint64_t *counts,
			 const double *expected, size_t cells)
{
	double chi = 0, degrees = -1, count = 0, mean = 0;

	for (size_t i = 0; i < cells; i++) {
		cr_assert(expected[i] > 0 || !counts[i], "%s of n %llu", what,
			  (unsigned long long)n);
		count += (double)counts[i];
		mean += expected[i];
		if (mean < 10 && i + 1 < cells)
			continue; /* so few are one with the next */
		if (mean > 0) {
			chi += (count - mean) * (count - mean) / mean;
			degrees++;
		}
		count = mean = 0;
	}
	check_p(what, n, chi_tail(chi, degrees));
}

/* --- two places ----------------------------------------------------------- */

/* The numbers below n that are x in a scale of `parts`. */
static uint64_t begin_of(uint64_t n, uint64_t parts, uint64_t x)
{
	return (x * n + parts - 1) / parts;
}

static double share_of(uint64_t n, uint64_t parts, uint64_t x)
{
	return (double)(begin_of(n, parts, x + 1) - begin_of(n, parts, x));
}

struct places {
	uint64_t seeds, n, side, bins;
	uint64_t at[PLACES][2];
	uint64_t cells[PLACES][CELLS_MOST];
	uint64_t differences[PLACES][BINS];
	uint64_t neighbours[BINS];
	uint64_t *triples;
};

static void set_places(struct places *of)
{
	struct philox_state state = {0, 0};
	uint64_t n = of->n, c = 1ull << philox_permutation_of(state, n).shift;
	const uint64_t at[PLACES][2] = {{0, 1},         {0, c},
					{0, c + 1},     {1, n / 2},
					{2, 2 + 2 * c}, {n - 2, n - 1}};

	memcpy(of->at, at, sizeof(at));
	of->side = n <= 32 ? n : 16;
	of->bins = n - 1 < BINS ? n - 1 : BINS;
	of->triples = n <= 32 ? calloc(n * n * n, sizeof(uint64_t)) : NULL;
}

static void count_neighbours(struct places *of,
			     const struct philox_permutation *p, uint64_t seed)
{
	uint64_t place = seed % (of->n - 1);
	uint64_t a = philox_permuted(p, place);
	uint64_t b = philox_permuted(p, place + 1);

	of->neighbours[((a > b ? a - b : b - a) - 1) * of->bins /
		       (of->n - 1)]++;
}

static void count_seed(struct places *of, uint64_t seed)
{
	struct philox_state state = {seed, 0};
	struct philox_permutation p = philox_permutation_of(state, of->n);
	uint64_t n = of->n, a = 0, b = 0, first[2] = {0, 0};

	for (int k = 0; k < PLACES; k++) {
		a = philox_permuted(&p, of->at[k][0]);
		b = philox_permuted(&p, of->at[k][1]);
		if (k == 0)
			first[0] = a, first[1] = b;
		of->cells[k][a * of->side / n * of->side + b * of->side / n]++;
		of->differences[k]
			       [((b + n - a) % n - 1) * of->bins / (n - 1)]++;
	}
	count_neighbours(of, &p, seed);
	if (of->triples)
		of->triples[(first[0] * n + first[1]) * n +
			    philox_permuted(&p, 2)]++;
}

static void check_pairs(const struct places *of)
{
	double expected[CELLS_MOST];

	for (uint64_t u = 0; u < of->side; u++)
		for (uint64_t v = 0; v < of->side; v++)
			expected[u * of->side + v] =
				(double)of->seeds *
				share_of(of->n, of->side, u) *
				(share_of(of->n, of->side, v) - (u == v)) /
				((double)of->n * (double)(of->n - 1));
	for (int k = 0; k < PLACES; k++)
		check_counts("pairs", of->n, of->cells[k], expected,
			     of->side * of->side);
}

static void check_differences(const struct places *of)
{
	double expected[BINS], m = (double)(of->n - 1), n = (double)of->n;

	for (uint64_t u = 0; u < of->bins; u++)
		expected[u] = (double)of->seeds *
			      share_of(of->n - 1, of->bins, u) / m;
	for (int k = 0; k < PLACES; k++)
		check_counts("differences", of->n, of->differences[k], expected,
			     of->bins);
	/* of the distance d there are 2 (n - d) in n (n - 1), d from 1 on */
	for (uint64_t u = 0; u < of->bins; u++) {
		double from = (double)begin_of(of->n - 1, of->bins, u) + 1;
		double share = share_of(of->n - 1, of->bins, u);

		expected[u] = (double)of->seeds *
			      (2 * n - 2 * from - share + 1) * share / n / m;
	}
	check_counts("neighbours", of->n, of->neighbours, expected, of->bins);
}

/* All triples of different items, one after the other. */
static void check_triples(struct places *of)
{
	uint64_t n = of->n, all = n * (n - 1) * (n - 2), i = 0;
	double *expected = malloc(all * sizeof(*expected));

	for (uint64_t k = 0; k < n * n * n; k++) {
		uint64_t a = k / n / n, b = k / n % n, c = k % n;

		if (a == b || b == c || a == c) {
			cr_assert_eq(of->triples[k], 0);
			continue;
		}
		of->triples[i] = of->triples[k];
		expected[i++] = (double)of->seeds / (double)all;
	}
	check_counts("triples", n, of->triples, expected, all);
	free(expected);
}

static void check_places(uint64_t n, uint64_t seeds)
{
	struct places *of = calloc(1, sizeof(*of));

	of->n = n;
	of->seeds = seeds;
	set_places(of);
	for (uint64_t seed = 0; seed < seeds; seed++)
		count_seed(of, seed);
	check_pairs(of);
	check_differences(of);
	if (of->triples)
		check_triples(of);
	free(of->triples);
	free(of);
}

static uint64_t seeds_or(uint64_t seeds)
{
	const char *asked = getenv("PERMUTE_SEEDS");

	return asked ? strtoull(asked, NULL, 0) : seeds;
}

Test(permute_statistics, few_places_have_any_items)
{
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
		check_places(sizes[k], seeds_or(100000));
}

/* --- whole orders --------------------------------------------------------- */

struct whole {
	uint64_t n, orders;
	uint32_t *items, *sorted, *room;
	unsigned char *seen;
	uint64_t fixed[FIXED + 1];
	double cycles, inversions, odd;
};

static uint64_t count_cycles(const struct whole *of)
{
	uint64_t cycles = 0;

	memset(of->seen, 0, of->n);
	for (uint64_t i = 0; i < of->n; i++) {
		cycles += !of->seen[i];
		for (uint64_t k = i; !of->seen[k]; k = of->items[k])
			of->seen[k] = 1;
	}
	return cycles;
}

/* Merges [low, middle) and [middle, high): how many are moved past others. */
static uint64_t merge(struct whole *of, uint64_t low, uint64_t middle,
		      uint64_t high)
{
	const uint32_t *from = of->sorted;
	uint64_t i = low, k = middle, moved = 0;

	for (uint64_t to = low; to < high; to++)
		if (k >= high || (i < middle && from[i] < from[k])) {
			of->room[to] = from[i++];
		} else {
			moved += middle - i;
			of->room[to] = from[k++];
		}
	memcpy(of->sorted + low, of->room + low, (high - low) * 4);
	return moved;
}

static uint64_t count_inversions(struct whole *of)
{
	uint64_t n = of->n, inversions = 0;

	memcpy(of->sorted, of->items, n * 4);
	for (uint64_t half = 1; half < n; half *= 2)
		for (uint64_t low = 0; low + half < n; low += 2 * half)
			inversions +=
				merge(of, low, low + half,
				      low + 2 * half < n ? low + 2 * half : n);
	return inversions;
}

static void count_order(struct whole *of, uint64_t seed)
{
	struct philox_state state = {seed, 0};
	struct philox_permutation p = philox_permutation_of(state, of->n);
	uint64_t fixed = 0, cycles;

	for (uint64_t i = 0; i < of->n; i++) {
		of->items[i] = (uint32_t)philox_permuted(&p, i);
		fixed += of->items[i] == i;
	}
	cycles = count_cycles(of);
	of->fixed[fixed < FIXED ? fixed : FIXED]++;
	of->cycles += (double)cycles;
	of->odd += (double)((of->n - cycles) % 2);
	of->inversions += (double)count_inversions(of);
}

static void check_fixed(const struct whole *of)
{
	double expected[FIXED + 1], rest = 1, factorial = 1;

	for (unsigned k = 0; k < FIXED; k++) {
		double sum = 0, term = 1;

		for (unsigned j = 0; j <= of->n - k && j < 60; j++) {
			sum += term;
			term /= -(double)(j + 1);
		}
		factorial *= k ? k : 1;
		expected[k] = (double)of->orders * sum / factorial;
		rest -= sum / factorial;
	}
	expected[FIXED] = (double)of->orders * rest;
	check_counts("fixed points", of->n, of->fixed, expected, FIXED + 1);
}

static void check_moments(const struct whole *of)
{
	double n = (double)of->n, orders = (double)of->orders;
	double sum = 0, squares = 0;

	for (double i = 1; i <= n; i++) {
		sum += 1 / i;
		squares += 1 / (i * i);
	}
	check_normal("cycles", of->n,
		     (of->cycles - orders * sum) /
			     sqrt(orders * (sum - squares)));
	check_normal("inversions", of->n,
		     (of->inversions - orders * n * (n - 1) / 4) /
			     sqrt(orders * n * (n - 1) * (2 * n + 5) / 72));
	check_normal("parity", of->n,
		     (of->odd - orders / 2) / sqrt(orders / 4));
}

static struct whole count_orders(uint64_t n, uint64_t orders)
{
	struct whole of = {.n = n,
			   .orders = orders,
			   .items = malloc(n * 4),
			   .sorted = malloc(n * 4),
			   .room = malloc(n * 4),
			   .seen = malloc(n)};

	for (uint64_t seed = 0; seed < orders; seed++)
		count_order(&of, seed);
	free(of.items);
	free(of.sorted);
	free(of.room);
	free(of.seen);
	of.items = of.sorted = of.room = NULL;
	of.seen = NULL;
	return of;
}

static void check_orders(uint64_t n, uint64_t orders)
{
	struct whole of = count_orders(n, orders);

	if (orders >= 100)
		check_fixed(&of);
	check_moments(&of);
}

/* The last size is for a run by hand: a single order says little. */
Test(permute_statistics, cycles_inversions_and_parity_are_those_of_any_order)
{
	const uint64_t items = getenv("PERMUTE_SEEDS") ? 1000000000 : 1000000;

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		uint64_t orders = items / sizes[k];

		if (orders >= 10)
			check_orders(sizes[k], orders < seeds_or(orders)
						       ? orders
						       : seeds_or(orders));
	}
}

/* Rounds that xor would make even ones only. */
Test(permute_statistics, orders_of_a_power_of_2_are_odd_as_often_as_even)
{
	static const uint64_t powers[] = {32, 64, 128, 256, 1024};

	for (size_t k = 0; k < sizeof(powers) / sizeof(powers[0]); k++) {
		struct whole of = count_orders(powers[k], 2000);

		/* six standard deviations of 22 */
		cr_assert_float_eq(of.odd, 1000, 135, "n %llu: %g",
				   (unsigned long long)powers[k], of.odd);
	}
}
