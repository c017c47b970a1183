/*
 * tests/numbers/permute/orders.c - the orders of philox/permute.h
 *
 * tests/numbers/permute/known.txt has items of orders; known.py makes it from
 * the header's comment and shares nothing with the library.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/support.h"

#define PATH "tests/numbers/permute/known.txt"

/* Places whose items are looked at, of n too large for all. */
enum { SOME = 2000 };

static struct philox_state state_of(uint64_t seed)
{
	struct philox_state state = {seed, 4 * seed};

	return state;
}

/* --- known answers -------------------------------------------------------- */

/* Checks the pairs "place item, place item ..." of a line. */
static unsigned check_pairs(const char *line, struct philox_state state,
			    uint64_t n)
{
	const struct philox_permutation p = philox_permutation_of(state, n);
	uint64_t place, item;
	unsigned pairs = 0;
	int used;

	for (; sscanf(line, " %" SCNu64 " %" SCNu64 "%n", &place, &item,
		      &used) == 2;
	     line += used + (line[used] == ','), pairs++) {
		cr_assert_eq(philox_permute(state, n, place), item,
			     "place %" PRIu64 " of n %" PRIu64 ", seed %" PRIx64
			     ", has %" PRIu64 ", not %" PRIu64,
			     place, n, state.seed,
			     philox_permute(state, n, place), item);
		cr_assert_eq(philox_permute_inverse(state, n, item), place,
			     "item %" PRIu64 " of n %" PRIu64 ", seed %" PRIx64,
			     item, n, state.seed);
		cr_assert_eq(philox_permuted(&p, place), item);
		cr_assert_eq(philox_permuted_inverse(&p, item), place);
	}
	return pairs;
}

Test(permute, items_and_places_are_those_of_the_comment)
{
	FILE *file = fopen(PATH, "r");
	struct philox_state state;
	unsigned pairs = 0, lines = 0;
	char line[2048];
	uint64_t n;
	int used;

	cr_assert_not_null(file, "%s: run the tests from the top of the tree",
			   PATH);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 " %" SCNu64 " %" SCNu64 ":%n",
			   &state.seed, &state.offset, &n, &used) != 3)
			continue;
		lines++;
		pairs += check_pairs(line + used, state, n);
	}
	fclose(file);
	cr_assert_geq(lines, 160);
	cr_assert_geq(pairs, 3000);
}

/* --- an order ------------------------------------------------------------- */

/* Every item once, and the inverse leads back. */
static void check_whole(struct philox_state state, uint64_t n)
{
	const struct philox_permutation p = philox_permutation_of(state, n);
	unsigned char *seen = calloc(n + 1, 1);

	for (uint64_t place = 0; place < n; place++) {
		uint64_t item = philox_permuted(&p, place);

		cr_assert_lt(item, n);
		cr_assert_not(seen[item], "n %" PRIu64 ": %" PRIu64 " twice", n,
			      item);
		seen[item] = 1;
		cr_assert_eq(philox_permuted_inverse(&p, item), place,
			     "n %" PRIu64 ", item %" PRIu64, n, item);
	}
	free(seen);
}

Test(permute, every_item_comes_once_and_its_place_is_found)
{
	static const uint64_t large[] = {1023,  1024,  1025,  4095,   4096,
					 65535, 65536, 65537, 1000003};

	for (uint64_t n = 0; n <= 300; n++)
		for (uint64_t seed = 0; seed < 20; seed++)
			check_whole(state_of(seed), n);
	for (size_t k = 0; k < sizeof(large) / sizeof(large[0]); k++)
		check_whole(state_of(k), large[k]);
}

/* Of n that are too large to try all: up to 2^63. */
Test(permute, items_of_large_orders_are_below_n_and_lead_back)
{
	for (unsigned bits = 20; bits <= 63; bits++)
		for (int beside = -1; beside <= 1 - (bits == 63); beside++) {
			uint64_t n = ((uint64_t)1 << bits) + (uint64_t)beside;
			struct philox_state state = state_of(bits);
			struct philox_permutation p =
				philox_permutation_of(state, n);

			for (uint64_t k = 0; k < SOME; k++) {
				uint64_t place = k % 2 ? n - k : k;
				uint64_t item = philox_permuted(&p, place);

				cr_assert_lt(item, n);
				cr_assert_eq(philox_permuted_inverse(&p, item),
					     place);
			}
		}
}

Test(permute, places_outside_stay_and_poison_gives_ones)
{
	static const uint64_t ns[] = {0, 1, 6, 16, 17, 100, 1000003};
	struct philox_state poison = {7, PHILOX_POISON_OFFSET};

	for (size_t k = 0; k < sizeof(ns) / sizeof(ns[0]); k++) {
		const uint64_t outside[] = {ns[k], ns[k] + 1, ns[k] + 3,
					    UINT64_MAX};

		for (int i = 0; i < 4; i++) {
			cr_assert_eq(
				philox_permute(state_of(k), ns[k], outside[i]),
				outside[i]);
			cr_assert_eq(philox_permute_inverse(state_of(k), ns[k],
							    outside[i]),
				     outside[i]);
		}
		for (uint64_t i = 0; i < 40; i++) {
			cr_assert_eq(philox_permute(poison, ns[k], i),
				     UINT64_MAX);
			cr_assert_eq(philox_permute_inverse(poison, ns[k], i),
				     UINT64_MAX);
		}
	}
}

/* Of places that two orders have, a share of 1 / n agrees by chance. */
static double agreement(struct philox_state a, uint64_t n,
			struct philox_state b, uint64_t m)
{
	struct philox_permutation p = philox_permutation_of(a, n);
	struct philox_permutation q = philox_permutation_of(b, m);
	double same = 0;

	for (uint64_t i = 0; i < n; i++)
		same += philox_permuted(&p, i) == philox_permuted(&q, i);
	return same;
}

Test(permute, another_offset_seed_or_n_is_another_order)
{
	const struct philox_state state = {9, 400}, next = {9, 404};
	const struct philox_state other = {10, 400};

	/* the number that agree is Poisson of mean 1: 14 or more, 1e-11 */
	cr_assert_lt(agreement(state, 1000, next, 1000), 14);
	cr_assert_lt(agreement(state, 1000, other, 1000), 14);
	cr_assert_lt(agreement(state, 1000, state, 1001), 14);
	cr_assert_lt(agreement(state, 1000, state, 1024), 14);
	cr_assert_eq(agreement(state, 1000, state, 1000), 1000);
}

/* --- what it costs -------------------------------------------------------- */

/* All turns of an order pass each cell of its grid once at most. */
Test(permute, all_items_together_take_less_than_122_turns_for_100)
{
	for (uint64_t n = 17; n < 1500; n++) {
		struct philox_permutation p =
			philox_permutation_of(state_of(n), n);
		uint64_t turns = 0, back = 0, cell;

		for (uint64_t i = 0; i < n; i++) {
			for (cell = i, turns++;
			     (cell = philox_permutation_turn(&p, cell)) >= n;)
				turns++;
			for (cell = i, back++;
			     (cell = philox_permutation_unturn(&p, cell)) >= n;)
				back++;
		}
		cr_assert_leq(turns, (uint64_t)p.rows << p.shift);
		cr_assert_eq(turns, back);
		cr_assert_lt((double)turns, 1.22 * (double)n);
		cr_assert_lt(
			(double)(((uint64_t)p.rows << p.shift) - n) *
				(double)(((uint64_t)p.rows << p.shift) - n),
			4.0 * (double)n);
	}
}

/* --- all orders ----------------------------------------------------------- */

/* The number of an order of n <= 7 items, by its inversions. */
static unsigned number_of(const uint64_t *items, uint64_t n)
{
	unsigned number = 0;

	for (uint64_t i = 0; i < n; i++) {
		unsigned less = 0;

		for (uint64_t k = i + 1; k < n; k++)
			less += items[k] < items[i];
		number = number * (unsigned)(n - i) + less;
	}
	return number;
}

/*
 * With probability exp(-x) at most, chi-squared of d degrees of freedom is above
 * d + 2 sqrt(d x) + 2 x, and likewise below d - 2 sqrt(d x) (Laurent and
 * Massart, "Adaptive estimation of a quadratic functional", 2000). Here x = 18.
 */
Test(permute, all_orders_of_up_to_7_items_are_equally_likely)
{
	unsigned orders = 1;

	for (uint64_t n = 2; n <= 7; n++) {
		unsigned seeds = 200 * (orders *= (unsigned)n);
		unsigned *count = calloc(orders, sizeof(*count));
		double chi = 0, d = orders - 1;

		for (unsigned seed = 0; seed < seeds; seed++) {
			struct philox_state state = {seed, 8};
			uint64_t items[7];

			for (uint64_t i = 0; i < n; i++)
				items[i] = philox_permute(state, n, i);
			count[number_of(items, n)]++;
		}
		for (unsigned i = 0; i < orders; i++)
			chi += (count[i] - 200.0) * (count[i] - 200.0) / 200;
		cr_assert(chi < d + 2 * __builtin_sqrt(18 * d) + 36 &&
				  chi > d - 2 * __builtin_sqrt(18 * d),
			  "n %" PRIu64 ": %g of %g", n, chi, d);
		free(count);
	}
}

/* A rank that began with small ones only would leave the last places alone. */
Test(permute, all_ranks_of_16_items_can_come)
{
	double last = 0;

	for (uint64_t seed = 0; seed < 160000; seed++)
		last += philox_permute(state_of(seed), 16, 15) == 15;
	/* mean 10000, standard deviation 97 */
	cr_assert_float_eq(last, 10000, 600);
}
