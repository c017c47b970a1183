/*
 * lib/mesh/cut.c - see lib/mesh/cut.h
 */
#include <inttypes.h>
#include "lib/base/status.h"
#include "lib/mesh/cut.h"

/* --- checks --------------------------------------------------------------- */

static enum philox_status check_bounds(uint32_t dim,
				       const struct philox_dim *given)
{
	const uint64_t *bounds = given->bounds;

	if (!bounds)
		return status_set(PHILOX_ERROR_INVALID,
				  "shard: dims[%" PRIu32 "].bounds is NULL",
				  dim);
	if (bounds[0])
		return status_set(PHILOX_ERROR_INVALID,
				  "shard: dims[%" PRIu32
				  "].bounds[0] is %" PRIu64 ", not 0",
				  dim, bounds[0]);
	for (uint64_t i = 1; i <= given->parts; i++)
		if (bounds[i] < bounds[i - 1])
			return status_set(PHILOX_ERROR_INVALID,
					  "shard: dims[%" PRIu32
					  "].bounds[%" PRIu64 "] is %" PRIu64
					  ", below %" PRIu64 " before it",
					  dim, i, bounds[i], bounds[i - 1]);
	if (bounds[given->parts] != given->extent)
		return status_set(
			PHILOX_ERROR_INVALID,
			"shard: dims[%" PRIu32 "].bounds[%" PRIu32
			"], the last, is %" PRIu64 ", not extent %" PRIu64,
			dim, given->parts, bounds[given->parts], given->extent);
	return PHILOX_OK;
}

static enum philox_status check_part(uint32_t dim,
				     const struct philox_dim *given)
{
	if (!given->parts)
		return status_set(PHILOX_ERROR_INVALID,
				  "shard: dims[%" PRIu32
				  "].parts is 0, not at least 1",
				  dim);
	if (given->part >= given->parts)
		return status_set(PHILOX_ERROR_INVALID,
				  "shard: dims[%" PRIu32 "].part is %" PRIu32
				  ", not below parts %" PRIu32,
				  dim, given->part, given->parts);
	if (given->reserved)
		return status_set(PHILOX_ERROR_INVALID,
				  "shard: dims[%" PRIu32
				  "].reserved is 0x%" PRIx32 ", not 0",
				  dim, given->reserved);
	return PHILOX_OK;
}

enum philox_status cut_check(uint32_t dim, const struct philox_dim *given)
{
	enum philox_status status;

	if (given->cut == PHILOX_CUT_WHOLE)
		return PHILOX_OK;
	if ((unsigned)given->cut > PHILOX_CUT_ZIGZAG)
		return status_set(PHILOX_ERROR_INVALID,
				  "shard: dims[%" PRIu32
				  "].cut is %u, which is no cut",
				  dim, (unsigned)given->cut);
	status = check_part(dim, given);
	if (status != PHILOX_OK || given->cut != PHILOX_CUT_BOUNDS)
		return status;
	return check_bounds(dim, given);
}

/* --- cuts: philox/shard.h has the formulas -------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct cut_piece interval(uint64_t begin, uint64_t end)
{
	return (struct cut_piece){begin, 1, 0, end - begin};
}

/* Where part c of p equal ones begins; no part has an index of its own twice. */
static uint64_t block_at(uint64_t n, uint64_t p, uint64_t c)
{
	return c * (n / p) + least(c, n % p);
}

static struct cut_piece block_of(uint64_t n, uint64_t p, uint64_t c)
{
	return interval(block_at(n, p, c), block_at(n, p, c + 1));
}

static uint64_t ceil_at(uint64_t n, uint64_t p, uint64_t c)
{
	uint64_t k = n / p + (n % p != 0);

	return k && c <= n / k ? c * k : n;
}

/*
 * Blocks are numbered: 0 .. whole - 1 are whole, and number `whole` is what is
 * left. Products are those of blocks within the dimension, so they fit.
 */
static struct cut strided(const struct philox_dim *dim)
{
	uint64_t b = dim->block ? dim->block : 1;
	uint64_t whole = dim->extent / b, c = dim->part, p = dim->parts;
	struct cut cut = {{{0}}};
	int n = 0;

	if (c < whole) {
		uint64_t blocks = (whole - c - 1) / p + 1;

		cut.piece[n++] = (struct cut_piece){c * b, blocks,
						    blocks > 1 ? p * b : 0, b};
	}
	if (whole % p == c)
		cut.piece[n] = interval(whole * b, dim->extent);
	return cut;
}

/* The first chunk is never the shorter one. */
static struct cut zigzag(const struct philox_dim *dim)
{
	uint64_t chunks = 2 * (uint64_t)dim->parts, c = dim->part;
	struct cut_piece a = block_of(dim->extent, chunks, c);
	struct cut_piece b = block_of(dim->extent, chunks, chunks - 1 - c);

	if (a.first + a.count == b.first)
		return (struct cut){{interval(a.first, b.first + b.count)}};
	if (a.count == b.count)
		return (struct cut){{{a.first, 2, b.first - a.first, a.count}}};
	return (struct cut){{a, b}};
}

struct cut cut_of(const struct philox_dim *dim)
{
	uint64_t n = dim->extent, p = dim->parts, c = dim->part;

	/* Strides of one part would be many adjacent blocks */
	if (dim->cut == PHILOX_CUT_WHOLE || p == 1)
		return (struct cut){{interval(0, n)}};
	switch (dim->cut) {
	case PHILOX_CUT_CEIL:
		return (struct cut){
			{interval(ceil_at(n, p, c), ceil_at(n, p, c + 1))}};
	case PHILOX_CUT_BOUNDS:
		return (struct cut){
			{interval(dim->bounds[c], dim->bounds[c + 1])}};
	case PHILOX_CUT_STRIDED:
		return strided(dim);
	case PHILOX_CUT_ZIGZAG:
		return zigzag(dim);
	default:
		return (struct cut){{block_of(n, p, c)}};
	}
}

/* --- a part's indices ----------------------------------------------------- */

static uint64_t piece_extent(const struct cut_piece *piece)
{
	return piece->blocks * piece->count;
}

uint64_t cut_extent(const struct cut *cut)
{
	return piece_extent(&cut->piece[0]) + piece_extent(&cut->piece[1]);
}

uint64_t cut_index(const struct cut *cut, uint64_t i)
{
	const struct cut_piece *piece = &cut->piece[0];

	if (i >= piece_extent(piece)) {
		i -= piece_extent(piece);
		piece++;
	}
	return piece->first + i / piece->count * piece->step + i % piece->count;
}
