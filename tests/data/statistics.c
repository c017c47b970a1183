/*
 * tests/data/statistics.c - orders of data look random over seeds
 *
 * Written down before it was run. Of each of 20,000 seeds, for a mixture of
 * sources of 40 samples in one order, 30 samples in windows of 10, and one
 * more, with quotas of 3, 2 and 1 of blocks of 6:
 *
 *   place       of sample 7 of source 0, in its epoch 5: one of 40 draws
 *   in window   of sample 13 of source 1, in its epoch 2: one of 10 draws
 *   neighbours  the samples that draws 0 and 1 of source 0 are: one of 40 x 39
 *   epochs      the places of sample 0 of source 0 in epochs 0 and 1: 40 x 40
 *   windows     the first samples of windows 0 and 1 of source 1: 10 x 10
 *   sources     the samples of the first draws of sources 0 and 1: 40 x 10
 *   slots       which positions of block 3 have source 2: one of 6
 *   blocks      the same of blocks 3 and 4: 6 x 6
 *
 * Each gives one p-value of chi-squared, which must be in [1e-6, 1 - 1e-6].
 */
#include <math.h>
#include <stdlib.h>
#include "tests/support/support.h"

enum { SEEDS = 20000, KINDS = 8, CELLS_MOST = 1600 };

static const struct {
	const char *name;
	unsigned cells;
} kinds[KINDS] = {{"place", 40},    {"in window", 10}, {"neighbours", 1560},
		  {"epochs", 1600}, {"windows", 100},  {"sources", 400},
		  {"slots", 6},     {"blocks", 36}};

static const struct philox_mixture_source sources[] = {
	{40, 0, 3, 0}, {30, 10, 2, 3}, {100, 0, 1, 5}};

/* Wilson and Hilferty: a chi-squared of these degrees as a normal number. */
static double normal_of(double chi, double degrees)
{
	const double part = 2 / (9 * degrees);

	return (cbrt(chi / degrees) - (1 - part)) / sqrt(part);
}

static void check(const unsigned *counts, unsigned kind)
{
	const unsigned cells = kinds[kind].cells;
	const double mean = (double)SEEDS / cells;
	double chi = 0, p;

	for (unsigned i = 0; i < cells; i++)
		chi += (counts[i] - mean) * (counts[i] - mean) / mean;
	p = 0.5 * erfc(normal_of(chi, cells - 1) / sqrt(2));
	cr_assert(p >= 1e-6 && p <= 1 - 1e-6, "%s: p %g", kinds[kind].name, p);
}

/* The place of a sample in an epoch of its source. */
static unsigned place_of(const struct philox_mixture *mixture, uint32_t source,
			 uint64_t epoch, uint64_t sample)
{
	const struct philox_mixture_sample at = {epoch, sample, source, 0};

	return (unsigned)(philox_mixture_undraw(mixture, &at) %
			  sources[source].samples);
}

static unsigned sample_of(const struct philox_mixture *mixture, uint32_t source,
			  uint64_t draw)
{
	return (unsigned)philox_mixture_draw(mixture, source, draw).sample;
}

/* The slot of a block that source 2 has. */
static unsigned slot_of(const struct philox_mixture *mixture, uint64_t block)
{
	unsigned slot = 0;

	while (philox_mixture_at(mixture, 6 * block + slot).source != 2)
		slot++;
	return slot;
}

static void fill_cells(const struct philox_mixture *m, unsigned cell[KINDS])
{
	const unsigned a = sample_of(m, 0, 0), b = sample_of(m, 0, 1);
	const unsigned c = sample_of(m, 1, 0), d = sample_of(m, 1, 10) - 10;

	cell[0] = place_of(m, 0, 5, 7);
	cell[1] = place_of(m, 1, 2, 13) - 10;
	cell[2] = a * 39 + (b > a ? b - 1 : b);
	cell[3] = place_of(m, 0, 0, 0) * 40 + place_of(m, 0, 1, 0);
	cell[4] = c * 10 + d;
	cell[5] = a * 10 + c;
	cell[6] = slot_of(m, 3);
	cell[7] = cell[6] * 6 + slot_of(m, 4);
}

Test(data_statistics, orders_look_random_over_seeds, .timeout = 120)
{
	static unsigned counts[KINDS][CELLS_MOST];

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		const struct philox_mixture mixture = philox_mixture_of(
			(struct philox_state){seed, 0}, sources, 3);
		unsigned cell[KINDS];

		fill_cells(&mixture, cell);
		for (unsigned i = 0; i < KINDS; i++) {
			cr_assert_lt(cell[i], kinds[i].cells);
			counts[i][cell[i]]++;
		}
	}
	for (unsigned i = 0; i < KINDS; i++)
		check(counts[i], i);
}
