/*
 * tests/numbers/weights/sums.c - integer weights of real ones
 *
 * tests/numbers/weights/known.txt has weights and their sums; known.py makes it
 * in fractions and shares nothing with the library.
 */
#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <philox/weights.h>
#include "tests/support/support.h"

#define PATH "tests/numbers/weights/known.txt"

enum { MOST = 200, LINE = 16384 };

/* --- known answers -------------------------------------------------------- */

/* Reads a line; returns how many weights it has. */
static size_t read_line(char *line, double weights[MOST], uint64_t sums[MOST])
{
	char *at = line;
	size_t count = 0;

	while (*(at += strspn(at, " ")) != ':') {
		cr_assert(count < MOST);
		weights[count++] = strtod(at, &at);
	}
	at++;
	for (size_t i = 0; i < count; i++)
		sums[i] = strtoull(at, &at, 10);
	cr_assert_eq(*at, '\n', "%s", line);
	return count;
}

static void check_line(char *line)
{
	double weights[MOST];
	uint64_t wanted[MOST], sums[MOST + 1];
	size_t count = read_line(line, weights, wanted);

	sums[count] = 0x5eed;
	OK(philox_weight_sums(weights, count, sums));
	for (size_t i = 0; i < count; i++)
		cr_assert_eq(sums[i], wanted[i],
			     "sum %zu is %" PRIu64 ", not %" PRIu64 ", of %s",
			     i, sums[i], wanted[i], line);
	cr_assert_eq(sums[count], 0x5eed);
}

static unsigned check_file(void)
{
	FILE *file = fopen(PATH, "r");
	static char line[LINE];
	unsigned lines = 0;

	cr_assert_not_null(file, "%s: run the tests from the top of the tree",
			   PATH);
	for (; fgets(line, sizeof(line), file); lines++)
		check_line(line);
	fclose(file);
	return lines;
}

Test(weights, sums_are_those_of_the_definition_in_fractions)
{
	cr_assert_geq(check_file(), 250);
}

Test(weights, sums_do_not_depend_on_how_a_thread_rounds)
{
	static const int modes[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
	const int before = fegetround();

	for (int i = 0; i < 3; i++) {
		cr_assert_eq(fesetround(modes[i]), 0);
		check_file();
		fesetround(before);
	}
}

/* --- properties ----------------------------------------------------------- */

Test(weights, a_weight_of_0_stays_0_and_no_other_becomes_0)
{
	enum { COUNT = 100000 };
	double *weights = malloc(COUNT * sizeof(*weights));
	uint64_t *sums = malloc(COUNT * sizeof(*sums)), before = 0;

	cr_assert(weights && sums);
	for (int i = 0; i < COUNT; i++)
		weights[i] = i % 5 ? ldexp(1 + i % 9, -i % 1000) : 0;
	OK(philox_weight_sums(weights, COUNT, sums));
	for (int i = 0; i < COUNT; i++) {
		cr_assert_eq(sums[i] != before, weights[i] != 0, "%d", i);
		cr_assert_geq(sums[i], before);
		before = sums[i];
	}
	cr_assert_lt(before, (uint64_t)1 << 63);
	cr_assert_geq(before, (uint64_t)1 << 61);
	free(weights);
	free(sums);
}

/* As is said of whole numbers: exact ratios, up to the last one. */
Test(weights, whole_numbers_have_their_exact_ratios)
{
	enum { COUNT = 1000000 };
	double *weights = malloc(COUNT * sizeof(*weights));
	uint64_t *sums = malloc(COUNT * sizeof(*sums)), sum = 0;

	cr_assert(weights && sums);
	for (uint64_t i = 0; i < COUNT; i++)
		weights[i] = (double)(i * 2654435761u % 1000003);
	OK(philox_weight_sums(weights, COUNT, sums));
	for (uint64_t i = 0; i < COUNT; i++) {
		sum += (uint64_t)weights[i];
		cr_assert_eq(sums[i], sum << 23, "%" PRIu64, i);
	}
	free(weights);
	free(sums);
}

/* --- refusals ------------------------------------------------------------- */

static void refuse(const double *weights, size_t count, const char *said)
{
	uint64_t sums[8];

	memset(sums, 0xa5, sizeof(sums));
	FAILS(philox_weight_sums(weights, count, sums), PHILOX_ERROR_INVALID);
	NAMES(said);
	for (size_t i = 0; i < 8; i++)
		cr_assert_eq(sums[i], 0xa5a5a5a5a5a5a5a5, "%s", said);
}

Test(weights, bad_ones_are_named_and_nothing_is_written)
{
	static const struct {
		double bad;
		const char *said;
	} rows[] = {{-1, "is -1"},
		    {-5e-324, "is -4.94066e-324"},
		    {INFINITY, "is inf"},
		    {-INFINITY, "is -inf"},
		    {NAN, "nan"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t k = 0; k < 8; k++) {
			double weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
			char said[32];

			weights[k] = rows[i].bad;
			snprintf(said, sizeof(said), "weight %zu is", k);
			refuse(weights, 8, said);
			NAMES(rows[i].said);
		}
}

Test(weights, lists_without_a_weight_are_refused)
{
	const double zeros[8] = {0, -0.0};
	uint64_t sums[1];

	refuse(zeros, 8, "all weights are 0");
	refuse(zeros, 0, "count is 0");
	refuse(NULL, 8, "weights is NULL");
	FAILS(philox_weight_sums(zeros, 1, NULL), PHILOX_ERROR_INVALID);
	NAMES("sums is NULL");
	FAILS(philox_weight_sums(zeros, 1, sums), PHILOX_ERROR_INVALID);
}
