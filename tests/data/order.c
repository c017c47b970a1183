/*
 * tests/data/order.c - what is read at each position, compared with a run that
 * keeps every array (tests/support/models/data.h)
 */
#include <inttypes.h>
#include <stdlib.h>
#include "tests/support/models/data.h"
#include "tests/support/support.h"

enum { CASES = 300, POSITIONS = 1500 };

/* Random sources, as both see them. */
struct run {
	struct philox_source_desc sources[DATA_SOURCES];
	struct philox_mixture_source made[DATA_SOURCES];
	unsigned n;
	uint64_t block;
	struct philox_state state;
	struct philox_mixture mixture;
};

static void make_quotas(const struct philox_source_desc *sources, unsigned n,
			uint64_t block, struct philox_mixture_source *made)
{
	struct philox_data_desc options = {.size = sizeof(options),
					   .sources = sources,
					   .n_sources = n,
					   .source_size = sizeof(*sources),
					   .block = block};

	OK(philox_data_quotas(&options, made));
}

static void open_run(struct run *run, uint64_t number)
{
	run->n = model_data_draw(number, run->sources, &run->block);
	run->state = (struct philox_state){number * 0x9e3779b97f4a7c15ULL,
					   number % 3 * 4};
	make_quotas(run->sources, run->n, run->block, run->made);
	run->mixture = philox_mixture_of(run->state, run->made, run->n);
	if (run->n == 1)
		run->block = 1;
	cr_assert_eq(run->mixture.block, run->block);
}

static int same(const struct philox_mixture_sample *a,
		const struct philox_mixture_sample *b)
{
	return a->source == b->source && a->epoch == b->epoch &&
	       a->sample == b->sample;
}

static void check_position(const struct run *run, uint64_t number,
			   uint64_t position,
			   const struct philox_mixture_sample *expected)
{
	struct philox_mixture_sample at =
		philox_mixture_at(&run->mixture, position);

	cr_assert(same(&at, expected),
		  "case %" PRIu64 ", position %" PRIu64 ": source %u, epoch "
		  "%" PRIu64 ", sample %" PRIu64 ", not %u, %" PRIu64
		  ", %" PRIu64,
		  number, position, at.source, at.epoch, at.sample,
		  expected->source, expected->epoch, expected->sample);
	cr_assert_eq(at.reserved, 0);
	cr_assert_eq(philox_mixture_find(&run->mixture, expected), position,
		     "case %" PRIu64 ": position %" PRIu64 " is found at "
		     "%" PRIu64,
		     number, position,
		     philox_mixture_find(&run->mixture, expected));
}

Test(data_order, positions_are_those_of_a_run_that_keeps_its_arrays,
     .timeout = 120)
{
	for (uint64_t number = 0; number < CASES; number++) {
		struct data_model model;
		struct run run;

		open_run(&run, number);
		model_data_open(&model, run.state, run.sources, run.n,
				run.block);
		for (uint64_t i = 0; i < POSITIONS; i++) {
			struct philox_mixture_sample next =
				model_data_next(&model);

			check_position(&run, number, i, &next);
		}
		model_data_close(&model);
	}
}

Test(data_order, quotas_are_those_of_the_largest_remainders)
{
	for (uint64_t number = 0; number < 3000; number++) {
		uint64_t quotas[DATA_SOURCES], sum = 0;
		struct run run;

		open_run(&run, number);
		model_data_quotas(run.sources, run.n, run.block, quotas);
		for (unsigned i = 0; i < run.n; i++) {
			cr_assert_eq(run.made[i].quota, quotas[i],
				     "case %" PRIu64 ", source %u: quota "
				     "%" PRIu64 ", not %" PRIu64,
				     number, i, run.made[i].quota, quotas[i]);
			cr_assert_eq(run.made[i].first, sum);
			cr_assert_eq(run.made[i].samples,
				     run.sources[i].samples);
			sum += quotas[i];
		}
		cr_assert_eq(sum, run.block);
	}
}

/* Equal remainders: the lowest sources first. */
Test(data_order, a_tie_goes_to_the_lower_source)
{
	const struct philox_source_desc sources[] = {
		{9, 1, 0}, {9, 1, 0}, {9, 1, 0}};
	struct philox_mixture_source made[3];

	make_quotas(sources, 3, 5, made);
	cr_assert_eq(made[0].quota, 2);
	cr_assert_eq(made[1].quota, 2);
	cr_assert_eq(made[2].quota, 1);
}

Test(data_order, each_block_has_the_quota_of_each_source)
{
	for (uint64_t number = 0; number < 100; number++) {
		struct run run;

		open_run(&run, number);
		for (uint64_t b = 0; b < 8; b++) {
			uint64_t counts[DATA_SOURCES] = {0};

			for (uint64_t i = 0; i < run.block; i++)
				counts[philox_mixture_at(&run.mixture,
							 (b << 40) * run.block +
								 i)
					       .source]++;
			for (unsigned i = 0; i < run.n; i++)
				cr_assert_eq(counts[i], run.made[i].quota);
		}
	}
}

/* --- epochs and windows --------------------------------------------------- */

/* All draws of an epoch, at the positions that the inverse finds. */
static void check_epoch(const struct run *run, uint32_t source, uint64_t epoch)
{
	const uint64_t samples = run->made[source].samples;
	const uint64_t window = run->sources[source].window
					? run->sources[source].window
					: samples;
	unsigned char *seen = calloc(samples, 1);

	for (uint64_t place = 0; place < samples; place++) {
		struct philox_mixture_sample at = philox_mixture_draw(
			&run->mixture, source, epoch * samples + place);

		cr_assert_eq(at.epoch, epoch);
		cr_assert_lt(at.sample, samples);
		cr_assert(!seen[at.sample], "sample %" PRIu64 " comes twice",
			  at.sample);
		cr_assert_eq(at.sample / window, place / window,
			     "sample %" PRIu64 " has left its window",
			     at.sample);
		if (window == 1)
			cr_assert_eq(at.sample, place);
		seen[at.sample] = 1;
	}
	free(seen);
}

Test(data_order, each_epoch_has_each_sample_once_and_windows_keep_theirs)
{
	for (uint64_t number = 0; number < CASES; number++) {
		struct run run;

		open_run(&run, number);
		for (uint32_t i = 0; i < run.n; i++)
			for (uint64_t epoch = 0; epoch < 6; epoch++)
				check_epoch(&run, i, epoch << 8 * epoch);
	}
}

/* --- the ends ------------------------------------------------------------- */

static int is_none(struct philox_mixture_sample at)
{
	return at.epoch == PHILOX_MIXTURE_NONE &&
	       at.sample == PHILOX_MIXTURE_NONE && at.source == UINT32_MAX &&
	       !at.reserved;
}

Test(data_order, the_last_position_is_found_again_and_none_comes_after)
{
	const uint64_t end = UINT64_C(1) << 63;

	for (uint64_t number = 0; number < CASES; number++) {
		struct run run;

		open_run(&run, number);
		for (uint64_t back = 1; back < 50; back++) {
			struct philox_mixture_sample at =
				philox_mixture_at(&run.mixture, end - back);

			cr_assert_not(is_none(at));
			cr_assert_eq(philox_mixture_find(&run.mixture, &at),
				     end - back);
		}
		cr_assert(is_none(philox_mixture_at(&run.mixture, end)));
		cr_assert(is_none(philox_mixture_at(&run.mixture, UINT64_MAX)));
	}
}

/* Each draw of a source from some place on: found exactly below 2^63. */
Test(data_order, what_is_read_at_no_position_is_not_found)
{
	const struct philox_source_desc sources[] = {
		{1, 1, 0}, {3, 2, 0}, {UINT64_C(1) << 63, 4, 1000}};
	struct philox_mixture_source made[3];
	struct philox_mixture mixture;
	struct philox_mixture_sample at = {0};

	make_quotas(sources, 3, 7, made);
	mixture = philox_mixture_of((struct philox_state){5, 0}, made, 3);
	for (uint64_t i = 0; i < 100; i++) {
		/* source 0 is in each block once */
		at.epoch = (UINT64_C(1) << 63) / 7 - 50 + i;
		uint64_t found = philox_mixture_find(&mixture, &at);

		if (found != PHILOX_MIXTURE_NONE) {
			struct philox_mixture_sample back =
				philox_mixture_at(&mixture, found);

			cr_assert(same(&back, &at));
			cr_assert_eq(found / 7, at.epoch);
		} else {
			cr_assert_geq(at.epoch, (UINT64_C(1) << 63) / 7);
		}
	}
	at = (struct philox_mixture_sample){.epoch = UINT64_MAX};
	cr_assert_eq(philox_mixture_find(&mixture, &at), PHILOX_MIXTURE_NONE);
	at = (struct philox_mixture_sample){.epoch = 1, .source = 2};
	cr_assert_eq(philox_mixture_find(&mixture, &at), PHILOX_MIXTURE_NONE);
	at = (struct philox_mixture_sample){.sample = 3, .source = 1};
	cr_assert_eq(philox_mixture_find(&mixture, &at), PHILOX_MIXTURE_NONE);
	at = (struct philox_mixture_sample){.source = 3};
	cr_assert_eq(philox_mixture_find(&mixture, &at), PHILOX_MIXTURE_NONE);
	at = (struct philox_mixture_sample){.source = UINT32_MAX};
	cr_assert_eq(philox_mixture_find(&mixture, &at), PHILOX_MIXTURE_NONE);
}

/* Draws of the last blocks, whose places are permuted, may be 2^63 and more. */
Test(data_order, the_last_positions_are_found)
{
	const struct philox_source_desc sources[] = {{1, 1000, 0}, {1, 1, 0}};
	const uint64_t blocks[] = {(UINT64_C(1) << 62) - 1, UINT64_C(1) << 62,
				   (UINT64_C(1) << 62) - 12345, 1001};

	for (unsigned i = 0; i < 4; i++) {
		struct philox_mixture_source made[2];
		struct philox_mixture mixture;

		make_quotas(sources, 2, blocks[i], made);
		for (uint64_t seed = 0; seed < 50; seed++) {
			mixture = philox_mixture_of(
				(struct philox_state){seed, 0}, made, 2);
			for (uint64_t k = 1; k <= 40; k++) {
				uint64_t at = (UINT64_C(1) << 63) - k;
				struct philox_mixture_sample sample =
					philox_mixture_at(&mixture, at);

				cr_assert_eq(
					philox_mixture_find(&mixture, &sample),
					at);
			}
		}
	}
}

Test(data_order, poison_gives_all_ones)
{
	struct run run;
	struct philox_mixture_sample first;
	struct philox_permutation order;

	open_run(&run, 3);
	first = philox_mixture_at(&run.mixture, 0);
	run.mixture = philox_mixture_of(
		(struct philox_state){run.state.seed, PHILOX_POISON_OFFSET},
		run.made, run.n);
	cr_assert(is_none(philox_mixture_at(&run.mixture, 0)));
	order = philox_mixture_block(&run.mixture, 1);
	cr_assert_eq(philox_permuted(&order, 0), UINT64_MAX);
	cr_assert(is_none(philox_mixture_in_block(&run.mixture, &order,
						  run.mixture.block)));
	cr_assert(is_none(philox_mixture_draw(&run.mixture, 0, 0)));
	cr_assert_eq(philox_mixture_find(&run.mixture, &first),
		     PHILOX_MIXTURE_NONE);
}
