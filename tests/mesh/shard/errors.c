/*
 * tests/mesh/shard/errors.c - shards that are wrong are refused by name
 */
#include <inttypes.h>
#include "tests/support/ranks/shard.h"

static const uint64_t bounds[] = {0, 3, 3, 10};

/* A shard that is right: of three dimensions, the second is cut by bounds. */
static struct philox_shard_desc right(void)
{
	struct philox_shard_desc shard = PHILOX_INIT(struct philox_shard_desc);

	shard.n_dims = 3;
	shard.dims[0].extent = 4;
	shard.dims[1] = (struct philox_shard_dim){
		10, PHILOX_CUT_BOUNDS, 3, 2, 0, 0, bounds};
	shard.dims[2] = (struct philox_shard_dim){
		8, PHILOX_CUT_ZIGZAG, 2, 0, 0, 0, NULL};
	return shard;
}

/* Each function refuses it with this message, and writes nothing. */
static void refuse(const struct philox_shard_desc *shard, const char *message)
{
	const struct philox_span untouched = {1, 2, 3, 4};
	struct philox_span span = untouched;
	uint64_t n = 5;

	SAYS(philox_shard_spans(shard, 0, 1, &span, &n), PHILOX_ERROR_INVALID,
	     message);
	SAYS(philox_shard_extent(shard, 0, &n), PHILOX_ERROR_INVALID, message);
	SAYS(philox_shard_index(shard, 0, 0, &n), PHILOX_ERROR_INVALID,
	     message);
	cr_assert_eq(n, 5);
	cr_assert(!memcmp(&span, &untouched, sizeof(span)));
}

static void accept(const struct philox_shard_desc *shard)
{
	struct philox_span span;
	uint64_t n = 0;

	OK(philox_shard_spans(shard, 0, 1, &span, &n));
	OK(philox_shard_extent(shard, 0, &n));
	cr_assert_eq(n, 4);
	OK(philox_shard_index(shard, 0, 3, &n));
	cr_assert_eq(n, 3);
}

Test(shard_errors, of_the_struct_are_named)
{
	struct philox_shard_desc shard = right();

	accept(&shard);
	refuse(NULL, "shard is NULL");
	shard.size = 0;
	refuse(&shard, "shard: size is 0, not that of the struct (336): begin "
		       "with PHILOX_INIT()");
	shard.size = sizeof(shard) - 1;
	refuse(&shard,
	       "shard: size is 335, not that of the struct (336): begin "
	       "with PHILOX_INIT()");
	shard = right();
	shard.n_dims = 0;
	refuse(&shard, "shard: n_dims is 0, not 1 to 8");
	shard.n_dims = 9;
	refuse(&shard, "shard: n_dims is 9, not 1 to 8");
	shard.n_dims = UINT32_MAX;
	refuse(&shard, "shard: n_dims is 4294967295, not 1 to 8");
	shard = right();
	shard.reserved = 1;
	refuse(&shard, "shard: reserved is 0x1, not 0");
}

Test(shard_errors, of_a_later_version_are_named)
{
	struct {
		struct philox_shard_desc shard;
		uint64_t later;
	} new = {right(), 0};

	new.shard.size = sizeof(new);
	accept(&new.shard);
	new.later = 1;
	refuse(&new.shard,
	       "shard: size is 344 and byte 336 is set: a field that "
	       "this version does not know");
}

Test(shard_errors, of_a_dimension_are_named)
{
	struct philox_shard_desc shard = right();

	shard.dims[2].cut = (enum philox_shard_cut)6;
	refuse(&shard, "shard: dims[2].cut is 6, which is no cut");
	shard.dims[2].cut = (enum philox_shard_cut) - 1;
	refuse(&shard, "shard: dims[2].cut is 4294967295, which is no cut");
	shard = right();
	shard.dims[2].parts = 0;
	refuse(&shard, "shard: dims[2].parts is 0, not at least 1");
	shard = right();
	shard.dims[2].part = 2;
	refuse(&shard, "shard: dims[2].part is 2, not below parts 2");
	shard.dims[2].part = UINT32_MAX;
	refuse(&shard, "shard: dims[2].part is 4294967295, not below parts 2");
	shard = right();
	shard.dims[1].reserved = 16;
	refuse(&shard, "shard: dims[1].reserved is 0x10, not 0");
}

/* Of all cuts, even of an empty dimension */
Test(shard_errors, of_any_cut_are_named)
{
	for (int cut = PHILOX_CUT_BLOCK; cut <= PHILOX_CUT_ZIGZAG; cut++) {
		struct philox_shard_desc shard = right();

		shard.dims[0].cut = (enum philox_shard_cut)cut;
		shard.dims[0].extent = 0;
		refuse(&shard, "shard: dims[0].parts is 0, not at least 1");
		shard.dims[0].parts = 2;
		shard.dims[0].part = 3;
		refuse(&shard, "shard: dims[0].part is 3, not below parts 2");
		shard.dims[0].part = 0;
		shard.dims[0].reserved = 1;
		refuse(&shard, "shard: dims[0].reserved is 0x1, not 0");
	}
}

Test(shard_errors, of_bounds_are_named)
{
	struct philox_shard_desc shard = right();
	uint64_t wrong[] = {0, 3, 3, 10};

	shard.dims[1].bounds = NULL;
	refuse(&shard, "shard: dims[1].bounds is NULL");
	shard.dims[1].bounds = wrong;
	accept(&shard);
	wrong[0] = 1;
	refuse(&shard, "shard: dims[1].bounds[0] is 1, not 0");
	wrong[0] = 0;
	wrong[2] = 2;
	refuse(&shard, "shard: dims[1].bounds[2] is 2, below 3 before it");
	wrong[2] = 11;
	refuse(&shard, "shard: dims[1].bounds[3] is 10, below 11 before it");
	wrong[2] = 3;
	wrong[3] = 9;
	refuse(&shard, "shard: dims[1].bounds[3], the last, is 9, not extent "
		       "10");
	wrong[3] = 11;
	refuse(&shard, "shard: dims[1].bounds[3], the last, is 11, not extent "
		       "10");
	/* Those of other parts are wrong for this one, too */
	shard.dims[1].part = 0;
	refuse(&shard, "shard: dims[1].bounds[3], the last, is 11, not extent "
		       "10");
}

Test(shard_errors, are_not_looked_for_in_what_is_ignored)
{
	struct philox_shard_desc shard = right();

	shard.dims[0] = (struct philox_shard_dim){
		4, PHILOX_CUT_WHOLE, 0, 5, 6, 7, (const uint64_t *)8};
	memset(&shard.dims[3], 0xff, 5 * sizeof(shard.dims[3]));
	accept(&shard);
}

Test(shard_errors, of_arguments_are_named)
{
	struct philox_shard_desc shard = right();
	struct philox_span span;
	uint64_t n = 5;

	SAYS(philox_shard_spans(&shard, 0, 1, NULL, &n), PHILOX_ERROR_INVALID,
	     "shard: spans is NULL");
	SAYS(philox_shard_spans(&shard, 0, 1, &span, NULL),
	     PHILOX_ERROR_INVALID, "shard: n_spans is NULL");
	SAYS(philox_shard_extent(&shard, 0, NULL), PHILOX_ERROR_INVALID,
	     "shard: extent is NULL");
	SAYS(philox_shard_index(&shard, 0, 0, NULL), PHILOX_ERROR_INVALID,
	     "shard: index is NULL");
	SAYS(philox_shard_extent(&shard, 3, &n), PHILOX_ERROR_INVALID,
	     "shard: dim is 3, not below n_dims 3");
	SAYS(philox_shard_index(&shard, UINT32_MAX, 0, &n),
	     PHILOX_ERROR_INVALID,
	     "shard: dim is 4294967295, not below n_dims 3");
	SAYS(philox_shard_index(&shard, 1, 7, &n), PHILOX_ERROR_INVALID,
	     "shard: i is 7, but the part has 7 of the indices of dims[1]");
	SAYS(philox_shard_index(&shard, 2, UINT64_MAX, &n),
	     PHILOX_ERROR_INVALID,
	     "shard: i is 18446744073709551615, but the part has 4 of the "
	     "indices of dims[2]");
	cr_assert_eq(n, 5);
}

static void too_large(const struct philox_shard_desc *shard,
		      const char *message)
{
	struct philox_span span = {1, 2, 3, 4};
	uint64_t n = 5;

	SAYS(philox_shard_spans(shard, 0, 1, &span, &n), PHILOX_ERROR_OVERFLOW,
	     message);
	cr_assert_eq(n, 5);
	cr_assert_eq(span.first, 1);
}

Test(shard_errors, of_tensors_past_2_to_the_64_name_the_dimension)
{
	struct philox_shard_desc shard = PHILOX_INIT(struct philox_shard_desc);
	struct philox_span span;
	uint64_t n;

	shard.n_dims = 3;
	shard.dims[0] = (struct philox_shard_dim){
		UINT64_C(1) << 62, PHILOX_CUT_BLOCK, 4, 3, 0, 0, NULL};
	shard.dims[1].extent = 4;
	shard.dims[2].extent = 1;
	too_large(&shard, "shard: dims[0].extent is 4611686018427387904: the "
			  "tensor has more than 2^64 - 1 elements");
	shard.dims[2].extent = UINT64_MAX;
	too_large(&shard, "shard: dims[1].extent is 4: the tensor has more "
			  "than 2^64 - 1 elements");
	/* Its own dimensions can be asked for all the same */
	OK(philox_shard_extent(&shard, 0, &n));
	cr_assert_eq(n, UINT64_C(1) << 60);
	/* An empty part of a tensor that is too large */
	shard.dims[0].parts = UINT32_MAX;
	shard.dims[1].cut = PHILOX_CUT_BLOCK;
	shard.dims[1].parts = 5;
	shard.dims[1].part = 4;
	too_large(&shard, "shard: dims[1].extent is 4: the tensor has more "
			  "than 2^64 - 1 elements");
	/* One without elements, whatever the other dimensions */
	shard.dims[1].extent = 0;
	OK(philox_shard_spans(&shard, 0, 1, &span, &n));
	cr_assert_eq(n, 0);
	shard.dims[1].extent = 4;
	shard.dims[0].extent = 0;
	OK(philox_shard_spans(&shard, 0, 1, &span, &n));
	cr_assert_eq(n, 0);
	/* The largest there is */
	shard.dims[0].extent = (UINT64_C(1) << 32) - 1;
	shard.dims[1] =
		(struct philox_shard_dim){.extent = (UINT64_C(1) << 32) + 1};
	shard.dims[2].extent = 1;
	shard.dims[0].cut = PHILOX_CUT_WHOLE;
	OK(philox_shard_spans(&shard, 0, 1, &span, &n));
	cr_assert_eq(n, 1);
	cr_assert_eq(span.first, 0);
	cr_assert_eq(span.count, UINT64_MAX);
}
