/*
 * tests/mesh/shard/vast.c - parts of tensors of up to 2^64 - 1 elements
 *
 * The formulas of philox/mesh.h are computed in 128 bits.
 */
#include <inttypes.h>
#include "tests/support/ranks/shard.h"

__extension__ typedef unsigned __int128 u128;

/* --- one dimension -------------------------------------------------------- */

static u128 smaller(u128 a, u128 b)
{
	return a < b ? a : b;
}

/* Where part c begins; that of part p is the end. */
static uint64_t part_begin(const struct philox_shard_dim *dim, u128 p, u128 c)
{
	u128 n = dim->extent;

	if (dim->cut == PHILOX_CUT_CEIL)
		return (uint64_t)smaller(c * ((n + p - 1) / p), n);
	return (uint64_t)(c * (n / p) + smaller(c, n % p));
}

static void check_vast_interval(const struct philox_shard_desc *shard)
{
	const struct philox_shard_dim *dim = &shard->dims[0];
	uint64_t begin = part_begin(dim, dim->parts, dim->part);
	uint64_t end = part_begin(dim, dim->parts, (u128)dim->part + 1);

	cr_assert_eq(shard_extent(shard, 0), end - begin, "%s",
		     shard_say(shard));
	if (begin == end)
		return;
	cr_assert_eq(shard_index(shard, 0, 0), begin, "%s", shard_say(shard));
	cr_assert_eq(shard_index(shard, 0, end - begin - 1), end - 1, "%s",
		     shard_say(shard));
}

static void check_vast_zigzag(const struct philox_shard_desc *shard)
{
	const struct philox_shard_dim *dim = &shard->dims[0];
	u128 chunks = 2 * (u128)dim->parts, c[2] = {dim->part, 0};
	uint64_t at = 0;

	c[1] = chunks - 1 - c[0];
	for (int k = 0; k < 2; k++) {
		uint64_t begin = part_begin(dim, chunks, c[k]);
		uint64_t end = part_begin(dim, chunks, c[k] + 1);

		if (begin == end)
			continue;
		cr_assert_eq(shard_index(shard, 0, at), begin, "%s",
			     shard_say(shard));
		at += end - begin;
		cr_assert_eq(shard_index(shard, 0, at - 1), end - 1, "%s",
			     shard_say(shard));
	}
	cr_assert_eq(shard_extent(shard, 0), at, "%s", shard_say(shard));
}

/* Index k of the part: block k / b of it, which is number c + p (k / b) */
static void check_vast_strides(const struct philox_shard_desc *shard)
{
	const struct philox_shard_dim *dim = &shard->dims[0];
	u128 n = dim->extent, p = dim->parts, c = dim->part;
	u128 b = dim->block ? dim->block : 1, blocks = (n + b - 1) / b;
	u128 own = blocks > c ? (blocks - c - 1) / p + 1 : 0;
	u128 extent = own * b;

	if (own && (blocks - 1) % p == c)
		extent -= blocks * b - n;
	cr_assert_eq(shard_extent(shard, 0), (uint64_t)extent, "%s",
		     shard_say(shard));
	for (int i = 0; extent && i < 50; i++) {
		u128 k = i == 0   ? 0
			 : i == 1 ? extent - 1
				  : shard_random(1u << 31);

		if (i > 1)
			k = (k << 33 | shard_random(1u << 31)) % extent;
		cr_assert_eq(shard_index(shard, 0, (uint64_t)k),
			     (uint64_t)((c + p * (k / b)) * b + k % b), "%s",
			     shard_say(shard));
	}
}

/* The spans of one dimension have all of the part's indices: few, for all cuts */
static void check_vast_spans(const struct philox_shard_desc *shard)
{
	struct philox_span spans[3];
	uint64_t n, at = 0;

	OK(philox_shard_spans(shard, 0, 3, spans, &n));
	cr_assert_leq(n, 2, "%s: %" PRIu64, shard_say(shard), n);
	for (uint64_t k = 0; k < n; k++) {
		const struct philox_span *span = &spans[k];
		uint64_t last = span->rows * span->count - 1;

		cr_assert_eq(shard_index(shard, 0, at), span->first, "%s",
			     shard_say(shard));
		at += last;
		cr_assert_eq(shard_index(shard, 0, at),
			     span->first + (span->rows - 1) * span->row_stride +
				     span->count - 1,
			     "%s", shard_say(shard));
		at++;
	}
	cr_assert_eq(at, shard_extent(shard, 0), "%s", shard_say(shard));
}

static void check_vast(uint64_t n, uint32_t p, uint32_t c)
{
	const uint64_t top = UINT64_MAX;
	const uint64_t blocks[] = {
		0, 1, 2, 1000003, top / 2, top / 3, top / 2 + 1, top - 1, top};
	struct philox_shard_desc shard = shard_line(n, PHILOX_CUT_BLOCK, p, c);

	check_vast_interval(&shard);
	check_vast_spans(&shard);
	shard.dims[0].cut = PHILOX_CUT_CEIL;
	check_vast_interval(&shard);
	check_vast_spans(&shard);
	shard.dims[0].cut = PHILOX_CUT_ZIGZAG;
	check_vast_zigzag(&shard);
	check_vast_spans(&shard);
	shard.dims[0].cut = PHILOX_CUT_STRIDED;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		shard.dims[0].block = blocks[i];
		check_vast_strides(&shard);
		check_vast_spans(&shard);
	}
}

Test(shard_vast, dimensions_do_not_overflow)
{
	const uint64_t top = UINT64_MAX, extents[] = {0,
						      1,
						      UINT32_MAX,
						      (uint64_t)UINT32_MAX + 1,
						      top / 2,
						      top / 2 + 1,
						      top - UINT32_MAX,
						      top - 1,
						      top};
	const uint32_t parts[] = {1,
				  2,
				  3,
				  65535,
				  UINT32_MAX / 2,
				  UINT32_MAX / 2 + 1,
				  UINT32_MAX - 1,
				  UINT32_MAX};

	for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]); i++)
		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
			check_vast(extents[i], parts[k], 0);
			check_vast(extents[i], parts[k], parts[k] - 1);
			check_vast(extents[i], parts[k], parts[k] / 2);
			check_vast(extents[i], parts[k],
				   shard_random(parts[k]));
		}
}

/* --- several -------------------------------------------------------------- */

/* The index of the part that has index `whole`, by halving; it has one. */
static uint64_t part_index(const struct philox_shard_desc *shard, uint32_t dim,
			   uint64_t whole)
{
	uint64_t low = 0, high = shard_extent(shard, dim) - 1;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (shard_index(shard, dim, middle) < whole)
			low = middle + 1;
		else
			high = middle;
	}
	cr_assert_eq(shard_index(shard, dim, low), whole,
		     "%s: index %" PRIu64 " of dims[%" PRIu32
		     "] is not one of the part",
		     shard_say(shard), whole, dim);
	return low;
}

/* The element of the part that comes after `element`; `wraps`: it was the last */
static uint64_t next_element(const struct philox_shard_desc *shard,
			     uint64_t element, int *wraps)
{
	uint64_t next = 0, stride = 1;

	*wraps = 1;
	for (uint32_t d = shard->n_dims; d-- > 0;) {
		uint64_t extent = shard->dims[d].extent;
		uint64_t i = part_index(shard, d, element % extent);

		if (*wraps && ++i < shard_extent(shard, d))
			*wraps = 0;
		else if (*wraps)
			i = 0;
		next += shard_index(shard, d, i) * stride;
		stride *= extent;
		element /= extent;
	}
	return next;
}

static struct philox_span span_at(const struct philox_shard_desc *shard,
				  uint64_t k)
{
	struct philox_span span = {0};
	uint64_t n;

	OK(philox_shard_spans(shard, k, 1, &span, &n));
	cr_assert_lt(k, n, "%s", shard_say(shard));
	return span;
}

static uint64_t last_element(const struct philox_span *span)
{
	return span->first + (span->rows - 1) * span->row_stride + span->count -
	       1;
}

/* After the last element of a span comes the first of the next one */
static void check_neighbours(const struct philox_shard_desc *shard, uint64_t k,
			     uint64_t n)
{
	struct philox_span span = span_at(shard, k), next;
	uint64_t element;
	int wraps;

	element = next_element(shard, last_element(&span), &wraps);
	cr_assert_eq(wraps, k == n - 1, "%s: span %" PRIu64, shard_say(shard),
		     k);
	next = span_at(shard, wraps ? 0 : k + 1);
	cr_assert_eq(element, next.first, "%s: span %" PRIu64, shard_say(shard),
		     k);
}

/* Each span has elements of its own; together they are those of the part */
static uint64_t part_elements(const struct philox_shard_desc *shard)
{
	uint64_t n = 1;

	for (uint32_t d = 0; d < shard->n_dims; d++)
		n *= shard_extent(shard, d);
	return n;
}

Test(shard_vast, spans_of_several_dimensions_follow_each_other)
{
	static const uint64_t extents[][4] = {
		{UINT64_C(1) << 20, 4099, UINT64_C(1) << 20, 1021},
		{3, 5, UINT64_C(1) << 58, 3},
		{UINT32_MAX, 641, 6700417, 1},
		{7, UINT64_C(1) << 40, 1023, 251}};
	unsigned many = 0;

	for (unsigned i = 0; i < 4000; i++) {
		struct philox_shard_desc shard =
			PHILOX_INIT(struct philox_shard_desc);
		uint64_t n;

		shard.n_dims = 4;
		for (uint32_t d = 0; d < 4; d++) {
			uint32_t parts = 1 + shard_random(9);
			struct philox_shard_dim dim = {extents[i % 4][d],
						       PHILOX_CUT_WHOLE,
						       parts,
						       shard_random(parts),
						       0,
						       shard_random(1000),
						       NULL};

			dim.cut = (enum philox_shard_cut[]){
				PHILOX_CUT_WHOLE, PHILOX_CUT_BLOCK,
				PHILOX_CUT_CEIL, PHILOX_CUT_STRIDED,
				PHILOX_CUT_ZIGZAG}[shard_random(5)];
			shard.dims[d] = dim;
		}
		OK(philox_shard_spans(&shard, 0, 0, NULL, &n));
		if (!part_elements(&shard)) {
			cr_assert_eq(n, 0);
			continue;
		}
		many += n > UINT32_MAX;
		check_neighbours(&shard, 0, n);
		check_neighbours(&shard, n - 1, n);
		for (int k = 0; k < 4; k++)
			check_neighbours(
				&shard,
				((uint64_t)shard_random(1u << 31) << 33 |
				 shard_random(1u << 31)) %
					n,
				n);
	}
	cr_assert_gt(many, 100, "%u", many);
}
