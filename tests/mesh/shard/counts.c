/*
 * tests/mesh/shard/counts.c - a part has as few spans as philox/mesh.h says
 */
#include <inttypes.h>
#include "tests/support/ranks/shard.h"

static struct model model;
static struct shard_bounds bounds;
static struct philox_span spans[MODEL_ELEMENTS];

Test(shard_counts, no_spans_of_whole_indices_are_fewer, .timeout = 120)
{
	FOR_EACH_TENSOR(shard, &bounds, 4000, 90)
	{
		do {
			uint64_t n = shard_spans(&shard, spans);

			model_part(&shard, &model);
			cr_assert_eq(n, model_fewest_of_indices(&model),
				     "%s: %" PRIu64 " spans, not %zu",
				     shard_say(&shard), n,
				     model_fewest_of_indices(&model));
		} while (shard_next_part(&shard));
	}
}

Test(shard_counts,
     no_spans_of_any_kind_are_fewer_for_equal_pieces_without_both_ends,
     .timeout = 120)
{
	unsigned plain = 0, fewer = 0;

	FOR_EACH_TENSOR(shard, &bounds, 4000, 90)
	{
		do {
			uint64_t n = shard_spans(&shard, spans);
			size_t least;

			model_part(&shard, &model);
			least = model_fewest_anywhere(&model);
			if (!model_has_equal_pieces(&shard) ||
			    model_has_both_ends(&shard)) {
				fewer += least < n;
				continue;
			}
			plain++;
			cr_assert_eq(n, least, "%s: %" PRIu64 " spans, not %zu",
				     shard_say(&shard), n, least);
		} while (shard_next_part(&shard));
	}
	cr_assert(plain > 10000 && fewer, "%u %u", plain, fewer);
}

/* The last dimension of which the part has not all, or -1 */
static int last_cut(const struct philox_shard_desc *shard)
{
	int last = (int)shard->n_dims - 1;

	while (last >= 0 && model.extent[last] == shard->dims[last].extent)
		last--;
	return last;
}

/* Pieces of the part in a dimension: those of indices that follow each other */
static int has_a_shorter_piece(const struct philox_shard_dim *dim)
{
	struct philox_shard_desc shard = PHILOX_INIT(struct philox_shard_desc);

	shard.n_dims = 1;
	shard.dims[0] = *dim;
	return !model_has_equal_pieces(&shard);
}

Test(shard_counts, spans_are_at_most_two_for_each_index_before_the_last_cut)
{
	FOR_EACH_TENSOR(shard, &bounds, 4000, 600)
	{
		do {
			uint64_t n = shard_spans(&shard, spans), most = 1;
			int last;

			model_part(&shard, &model);
			last = last_cut(&shard);
			for (int d = 0; d < last; d++)
				most *= model.extent[d];
			if (last >= 0 && has_a_shorter_piece(&shard.dims[last]))
				most *= 2;
			cr_assert_leq(n, most, "%s: %" PRIu64 " spans",
				      shard_say(&shard), n);
		} while (shard_next_part(&shard));
	}
}

/* --- how many, for the tensors of programs -------------------------------- */

static struct philox_shard_dim whole(uint64_t extent)
{
	return (struct philox_shard_dim){.extent = extent};
}

static struct philox_shard_dim cut(uint64_t extent, enum philox_shard_cut how,
				   uint32_t parts, uint32_t part)
{
	return (struct philox_shard_dim){extent, how, parts, part, 0, 0, NULL};
}

static struct philox_shard_desc shard_of(uint32_t n, struct philox_shard_dim a,
					 struct philox_shard_dim b,
					 struct philox_shard_dim c,
					 struct philox_shard_dim d)
{
	struct philox_shard_desc shard = PHILOX_INIT(struct philox_shard_desc);

	shard.n_dims = n;
	shard.dims[0] = a;
	shard.dims[1] = b;
	shard.dims[2] = c;
	shard.dims[3] = d;
	return shard;
}

static void has_spans(uint64_t expected, const struct philox_shard_desc *shard)
{
	cr_assert_eq(shard_spans(shard, spans), expected,
		     "%s: %" PRIu64 " spans", shard_say(shard),
		     shard_spans(shard, spans));
}

static void is_one_span(const struct philox_shard_desc *shard, uint64_t first,
			uint64_t rows, uint64_t count, uint64_t row_stride)
{
	struct philox_span span =
		philox_span_rows(first, rows, count, row_stride);

	has_spans(1, shard);
	cr_assert(!memcmp(&spans[0], &span, sizeof(span)), "%s",
		  shard_say(shard));
}

Test(shard_counts, blocks_along_one_dimension_are_one_span)
{
	const struct philox_shard_dim none = {0};
	struct philox_shard_desc shard;

	shard = shard_of(3, cut(8, PHILOX_CUT_BLOCK, 4, 1), whole(6), whole(10),
			 none);
	is_one_span(&shard, 120, 1, 120, 120);
	shard = shard_of(3, whole(8), cut(6, PHILOX_CUT_BLOCK, 4, 1), whole(10),
			 none);
	is_one_span(&shard, 20, 8, 20, 60);
	shard = shard_of(3, whole(8), whole(6), cut(10, PHILOX_CUT_CEIL, 3, 2),
			 none);
	is_one_span(&shard, 8, 48, 2, 10);
	shard = shard_of(3, cut(8, PHILOX_CUT_BLOCK, 4, 1), whole(6),
			 cut(10, PHILOX_CUT_BLOCK, 2, 1), none);
	is_one_span(&shard, 125, 12, 5, 10);
	shard = shard_of(4, whole(3), cut(8, PHILOX_CUT_BLOCK, 4, 1), whole(6),
			 cut(10, PHILOX_CUT_BLOCK, 2, 1));
	has_spans(3, &shard);
}

Test(shard_counts, strides_that_divide_a_dimension_are_one_span)
{
	struct philox_shard_dim strided = cut(12, PHILOX_CUT_STRIDED, 3, 1);
	struct philox_shard_desc shard;

	strided.block = 2;
	shard = shard_of(3, whole(5), strided, whole(7), whole(0));
	is_one_span(&shard, 14, 10, 14, 42);
	strided.extent = 11; /* blocks of 2 and 2 */
	shard.dims[1] = strided;
	has_spans(5, &shard);
	strided.extent = 9; /* blocks of 2 and 1 */
	shard.dims[1] = strided;
	has_spans(10, &shard);
}

Test(shard_counts, zigzag_is_a_span_or_two_for_each_index_before)
{
	struct philox_shard_desc shard;

	shard = shard_of(3, whole(2), whole(5),
			 cut(16, PHILOX_CUT_ZIGZAG, 4, 1), whole(0));
	shard.n_dims = 4;
	shard.dims[3] = whole(7);
	has_spans(10, &shard);
	cr_assert_eq(spans[0].rows, 2);
	shard.dims[2].extent = 13; /* chunks of 2 and 1 */
	has_spans(20, &shard);
	cr_assert_eq(spans[0].rows, 1);
	shard.dims[2].part = 3; /* they meet in the middle */
	has_spans(1, &shard);
}

Test(shard_counts, an_empty_part_has_no_spans)
{
	struct philox_shard_desc shard =
		shard_of(2, cut(3, PHILOX_CUT_BLOCK, 5, 4), whole(7), whole(0),
			 whole(0));

	has_spans(0, &shard);
	shard.dims[0] = whole(0);
	has_spans(0, &shard);
}
