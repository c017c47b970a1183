/*
 * tests/support/models/shard.c - see tests/support/models/shard.h
 */
#include <inttypes.h>
#include "tests/support/models/shard.h"

/* --- what the formulas say ------------------------------------------------ */

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* first = c (n / p) + min(c, n % p), and count, as the header has them */
static int in_block(uint64_t i, uint64_t n, uint64_t p, uint64_t c)
{
	uint64_t first = c * (n / p) + smaller(c, n % p);
	uint64_t count = n / p + (c < n % p ? 1 : 0);

	return i >= first && i < first + count;
}

static int in_ceil(uint64_t i, uint64_t n, uint64_t p, uint64_t c)
{
	uint64_t k = (n + p - 1) / p;

	return i >= smaller(c * k, n) && i < smaller((c + 1) * k, n);
}

static int in_part(const struct philox_shard_dim *dim, uint64_t i)
{
	uint64_t n = dim->extent, p = dim->parts, c = dim->part;

	switch (dim->cut) {
	case PHILOX_CUT_WHOLE:
		return 1;
	case PHILOX_CUT_BLOCK:
		return in_block(i, n, p, c);
	case PHILOX_CUT_CEIL:
		return in_ceil(i, n, p, c);
	case PHILOX_CUT_BOUNDS:
		return i >= dim->bounds[c] && i < dim->bounds[c + 1];
	case PHILOX_CUT_STRIDED:
		return i / (dim->block ? dim->block : 1) % p == c;
	default:
		cr_assert_fail("the model has no cut %d", (int)dim->cut);
		return 0;
	}
}

/* The chunk c first, then 2 p - 1 - c */
static size_t zigzag_indices(const struct philox_shard_dim *dim,
			     uint64_t indices[])
{
	uint64_t chunks = 2 * (uint64_t)dim->parts;
	uint64_t chunk[2] = {dim->part, chunks - 1 - dim->part};
	size_t n = 0;

	for (int k = 0; k < 2; k++)
		for (uint64_t i = 0; i < dim->extent; i++)
			if (in_block(i, dim->extent, chunks, chunk[k]))
				indices[n++] = i;
	return n;
}

size_t model_indices(const struct philox_shard_dim *dim, uint64_t indices[])
{
	size_t n = 0;

	if (dim->cut == PHILOX_CUT_ZIGZAG)
		return zigzag_indices(dim, indices);
	for (uint64_t i = 0; i < dim->extent; i++)
		if (in_part(dim, i))
			indices[n++] = i;
	return n;
}

/* Dimension by dimension: an element and an index of the next make a new one */
void model_part(const struct philox_shard_desc *shard, struct model *model)
{
	static uint64_t before[MODEL_ELEMENTS], indices[MODEL_ELEMENTS];

	model->n_dims = shard->n_dims;
	model->n = 1;
	model->element[0] = 0;
	for (size_t d = 0; d < shard->n_dims; d++) {
		size_t n = model_indices(&shard->dims[d], indices);
		size_t n_before = model->n;

		memcpy(before, model->element, n_before * sizeof(before[0]));
		model->extent[d] = n;
		model->n = 0;
		for (size_t a = 0; a < n_before; a++)
			for (size_t b = 0; b < n; b++)
				model->element[model->n++] =
					before[a] * shard->dims[d].extent +
					indices[b];
	}
}

uint64_t model_whole(const struct philox_shard_desc *shard)
{
	uint64_t n = 1;

	for (uint32_t d = 0; d < shard->n_dims; d++)
		n *= shard->dims[d].extent;
	return n;
}

/* --- the fewest spans ----------------------------------------------------- */

/* Whether the elements begin .. end - 1 are those of one span. */
static int is_span(const struct model *model, size_t begin, size_t end)
{
	const uint64_t *e = model->element;
	size_t count = 1;

	while (begin + count < end && e[begin + count] == e[begin] + count)
		count++;
	if ((end - begin) % count)
		return 0;
	for (size_t i = begin; i < end; i++) {
		size_t row = (i - begin) / count, column = (i - begin) % count;
		uint64_t stride =
			end - begin == count ? 0 : e[begin + count] - e[begin];

		if (e[i] != e[begin] + row * stride + column)
			return 0;
	}
	return 1;
}

/*
 * Whether they are one index of a dimension, or several that follow each other,
 * with all of the dimensions after it.
 */
static int is_of_indices(const struct model *model, size_t begin, size_t end)
{
	size_t inner = 1;

	for (size_t d = model->n_dims; d-- > 0;) {
		size_t outer = inner * model->extent[d];

		if (begin % inner == 0 && end % inner == 0 &&
		    begin / outer == (end - 1) / outer)
			return 1;
		inner = outer;
	}
	return 0;
}

static size_t fewest(const struct model *model,
		     int (*may)(const struct model *model, size_t begin,
				size_t end))
{
	static size_t least[MODEL_ELEMENTS + 1];

	least[0] = 0;
	for (size_t end = 1; end <= model->n; end++) {
		least[end] = SIZE_MAX;
		for (size_t begin = 0; begin < end; begin++)
			if (least[begin] + 1 < least[end] &&
			    (!may || may(model, begin, end)) &&
			    is_span(model, begin, end))
				least[end] = least[begin] + 1;
	}
	return least[model->n];
}

size_t model_fewest_anywhere(const struct model *model)
{
	return fewest(model, NULL);
}

size_t model_fewest_of_indices(const struct model *model)
{
	return fewest(model, is_of_indices);
}

/* Whether all pieces of indices that follow each other have one length. */
static int equal_pieces(const uint64_t indices[], size_t n)
{
	size_t first = 0, length = 0;

	for (size_t i = 0; i < n; i++) {
		length++;
		if (i + 1 < n && indices[i + 1] == indices[i] + 1)
			continue;
		if (first && length != first)
			return 0;
		first = length;
		length = 0;
	}
	return 1;
}

int model_has_equal_pieces(const struct philox_shard_desc *shard)
{
	static uint64_t indices[MODEL_ELEMENTS];

	for (uint32_t d = 0; d < shard->n_dims; d++)
		if (!equal_pieces(indices,
				  model_indices(&shard->dims[d], indices)))
			return 0;
	return 1;
}

int model_has_both_ends(const struct philox_shard_desc *shard)
{
	static uint64_t indices[MODEL_ELEMENTS];

	for (uint32_t d = 0; d < shard->n_dims; d++) {
		uint64_t extent = shard->dims[d].extent;
		size_t n = model_indices(&shard->dims[d], indices);

		if (n && n < extent && indices[0] == 0 &&
		    indices[n - 1] == extent - 1)
			return 1;
	}
	return 0;
}
