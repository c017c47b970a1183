/*
 * tests/mesh/shard/shard.c - the spans of parts of tensors
 *
 * Random tensors in which any dimensions are cut in any way, against a model
 * that goes through them index by index.
 */
#include <inttypes.h>
#include "tests/support/ranks/shard.h"

static struct model model;
static struct shard_bounds bounds;
static struct philox_span spans[MODEL_ELEMENTS];

/* The spans have the model's elements, in its order. */
static void check_elements(const struct philox_shard_desc *shard, uint64_t n)
{
	size_t at = 0;

	for (uint64_t k = 0; k < n; k++) {
		const struct philox_span *span = &spans[k];

		cr_assert(span->count && span->rows &&
				  span->row_stride >= span->count,
			  "%s: span %" PRIu64, shard_say(shard), k);
		for (uint64_t i = 0; i < span->rows * span->count; i++, at++)
			cr_assert(
				at < model.n &&
					model.element[at] ==
						span->first +
							i / span->count *
								span->row_stride +
							i % span->count,
				"%s: span %" PRIu64 " of %" PRIu64
				": first %" PRIu64 ", count %" PRIu64
				", rows %" PRIu64 ", stride %" PRIu64,
				shard_say(shard), k, n, span->first,
				span->count, span->rows, span->row_stride);
	}
	cr_assert_eq(at, model.n, "%s: %zu elements of %zu", shard_say(shard),
		     at, model.n);
}

Test(shard, spans_are_the_elements_of_the_part_in_the_order_of_its_array)
{
	uint64_t most = 0, several = 0;

	FOR_EACH_TENSOR(shard, &bounds, 20000, 600)
	{
		do {
			uint64_t n = shard_spans(&shard, spans);

			model_part(&shard, &model);
			check_elements(&shard, n);
			most = n > most ? n : most;
			several += n > 1;
		} while (shard_next_part(&shard));
	}
	cr_assert(most > 100 && several > 10000, "%" PRIu64 " %" PRIu64, most,
		  several);
}

Test(shard, each_element_of_a_tensor_is_in_one_part)
{
	static unsigned char owners[MODEL_ELEMENTS];

	FOR_EACH_TENSOR(shard, &bounds, 4000, 2000)
	{
		memset(owners, 0, sizeof(owners));
		do {
			uint64_t n = shard_spans(&shard, spans);

			for (uint64_t k = 0; k < n; k++)
				for (uint64_t r = 0; r < spans[k].rows; r++)
					for (uint64_t i = 0; i < spans[k].count;
					     i++)
						owners[spans[k].first +
						       r * spans[k].row_stride +
						       i]++;
		} while (shard_next_part(&shard));
		for (uint64_t i = 0; i < MODEL_ELEMENTS; i++)
			cr_assert_eq(owners[i], i < model_whole(&shard),
				     "%s: element %" PRIu64 " is in %d parts",
				     shard_say(&shard), i, owners[i]);
	}
}

Test(shard, extents_and_indices_of_a_part_are_those_of_the_formulas)
{
	static uint64_t indices[MODEL_ELEMENTS];

	FOR_EACH_TENSOR(shard, &bounds, 4000, 600)
	{
		do {
			for (uint32_t d = 0; d < shard.n_dims; d++) {
				size_t n =
					model_indices(&shard.dims[d], indices);
				uint64_t got = UINT64_MAX;

				OK(philox_shard_extent(&shard, d, &got));
				cr_assert_eq(got, n, "%s: dims[%" PRIu32 "]",
					     shard_say(&shard), d);
				for (size_t i = 0; i < n; i++) {
					OK(philox_shard_index(&shard, d, i,
							      &got));
					cr_assert_eq(got, indices[i],
						     "%s: dims[%" PRIu32
						     "], index %zu",
						     shard_say(&shard), d, i);
				}
				FAILS(philox_shard_index(&shard, d, n, &got),
				      PHILOX_ERROR_INVALID);
			}
		} while (shard_next_part(&shard));
	}
}

Test(shard, any_span_may_be_asked_for_by_itself)
{
	FOR_EACH_TENSOR(shard, &bounds, 1000, 300)
	{
		do {
			uint64_t n = shard_spans(&shard, spans),
				 again = UINT64_MAX;

			OK(philox_shard_spans(&shard, 0, 0, NULL, &again));
			cr_assert_eq(again, n);
			for (uint64_t from = 0; from < n + 3; from++) {
				struct philox_span got[3];
				uint64_t left = from < n ? n - from : 0;

				left = left < 2 ? left : 2;
				memset(got, 0xa5, sizeof(got));
				OK(philox_shard_spans(&shard, from, 2, got,
						      &again));
				cr_assert_eq(again, n);
				cr_assert(!memcmp(got, spans + from,
						  left * sizeof(got[0])),
					  "%s: span %" PRIu64,
					  shard_say(&shard), from);
				for (uint64_t i = left; i < 3; i++)
					cr_assert_eq(got[i].first,
						     0xa5a5a5a5a5a5a5a5,
						     "%s: written beyond",
						     shard_say(&shard));
			}
		} while (shard_next_part(&shard));
	}
}
