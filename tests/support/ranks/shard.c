/*
 * tests/support/ranks/shard.c - see tests/support/ranks/shard.h
 */
#include <inttypes.h>
#include <stdio.h>
#include "tests/support/ranks/shard.h"

/* --- random tensors ------------------------------------------------------- */

uint32_t shard_random(uint32_t n)
{
	static uint64_t x = 20260;

	x = x * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((x >> 32) * n >> 32);
}

static void make_bounds(struct philox_shard_dim *dim, uint64_t bounds[])
{
	bounds[0] = 0;
	bounds[dim->parts] = dim->extent;
	for (uint32_t i = 1; i < dim->parts; i++) {
		uint64_t left = dim->extent - bounds[i - 1];

		bounds[i] = bounds[i - 1] + shard_random((uint32_t)left + 1);
	}
	dim->bounds = bounds;
}

static void cut_dim(struct philox_shard_dim *dim, uint32_t parts,
		    uint64_t bounds[])
{
	dim->cut = (enum philox_shard_cut)shard_random(PHILOX_CUT_ZIGZAG + 1);
	dim->parts = 1 + shard_random(parts);
	if (dim->cut == PHILOX_CUT_WHOLE) /* nothing else is looked at */
		*dim = (struct philox_shard_dim){
			dim->extent, PHILOX_CUT_WHOLE, 0, 77, 88, 99, NULL};
	if (dim->cut == PHILOX_CUT_BOUNDS)
		make_bounds(dim, bounds);
	if (dim->cut == PHILOX_CUT_STRIDED)
		dim->block = shard_random(5);
}

/* Few dimensions are long ones, as in programs; at most 64 parts in all */
struct philox_shard_desc shard_tensor(uint32_t n_dims, uint64_t elements,
				      struct shard_bounds *bounds)
{
	struct philox_shard_desc shard = PHILOX_INIT(struct philox_shard_desc);
	uint64_t left = elements;
	uint32_t parts = 64;

	shard.n_dims = n_dims;
	for (uint32_t k = 0, d = shard_random(n_dims); k < n_dims; k++) {
		struct philox_shard_dim *dim = &shard.dims[d];
		uint32_t most = left < 24 ? (uint32_t)left : 24;

		dim->extent = 1 + shard_random(most);
		if (!shard_random(200))
			dim->extent = 0;
		cut_dim(dim, parts < SHARD_PARTS ? parts : SHARD_PARTS,
			bounds->bound[d]);
		left /= dim->extent ? dim->extent : 1;
		parts /= dim->parts ? dim->parts : 1;
		d = (d + 1) % n_dims;
	}
	return shard;
}

int shard_next_part(struct philox_shard_desc *shard)
{
	for (uint32_t d = 0; d < shard->n_dims; d++) {
		struct philox_shard_dim *dim = &shard->dims[d];

		if (dim->cut == PHILOX_CUT_WHOLE)
			continue;
		if (++dim->part < dim->parts)
			return 1;
		dim->part = 0;
	}
	return 0;
}

const char *shard_say(const struct philox_shard_desc *shard)
{
	static const char *const cuts[] = {"whole",  "block",   "ceil",
					   "bounds", "strided", "zigzag"};
	static char text[512];
	size_t at = 0;

	for (uint32_t d = 0; d < shard->n_dims && at < sizeof(text); d++) {
		const struct philox_shard_dim *dim = &shard->dims[d];

		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "[%" PRIu64 " %s %" PRIu32 "/%" PRIu32
				       " b%" PRIu64 "]",
				       dim->extent, cuts[dim->cut], dim->part,
				       dim->parts, dim->block);
	}
	return text;
}

/* --- what philox says ----------------------------------------------------- */

uint64_t shard_spans(const struct philox_shard_desc *shard,
		     struct philox_span spans[])
{
	uint64_t n = UINT64_MAX;

	OK(philox_shard_spans(shard, 0, MODEL_ELEMENTS, spans, &n));
	cr_assert_leq(n, MODEL_ELEMENTS, "%s: %" PRIu64 " spans",
		      shard_say(shard), n);
	return n;
}

uint64_t shard_extent(const struct philox_shard_desc *shard, uint32_t dim)
{
	uint64_t extent;

	OK(philox_shard_extent(shard, dim, &extent));
	return extent;
}

uint64_t shard_index(const struct philox_shard_desc *shard, uint32_t dim,
		     uint64_t i)
{
	uint64_t index;

	OK(philox_shard_index(shard, dim, i, &index));
	return index;
}

struct philox_shard_desc shard_line(uint64_t extent, enum philox_shard_cut cut,
				    uint32_t parts, uint32_t part)
{
	struct philox_shard_desc shard = PHILOX_INIT(struct philox_shard_desc);

	shard.n_dims = 1;
	shard.dims[0].extent = extent;
	shard.dims[0].cut = cut;
	shard.dims[0].parts = parts;
	shard.dims[0].part = part;
	return shard;
}
