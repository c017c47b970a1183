/*
 * lib/mesh/shard.c - a part of a tensor as spans
 *
 * The elements of a part are those of nested loops, one or two for each
 * dimension. A loop that only goes on where the one within it ends is the same
 * loop; of what remains the innermost loop is a span's row, the next its rows,
 * and there is a span for each turn of the others.
 *
 * A dimension of two pieces is two such nests, one after the other, for each
 * index of the dimensions before it. Only the last one of two pieces matters:
 * before it nothing can be joined.
 */
#include <inttypes.h>
#include "lib/mesh/mesh.h"

#define SHARD_SIZE_FIRST OPTIONS_FIRST(struct philox_shard_desc, dims)
OPTIONS_NO_PADDING(struct philox_shard_desc, dims);
OPTIONS_NO_PADDING(struct philox_shard_dim, bounds);

/* --- cut: the indices that a part has of one dimension -------------------- */

/*
 * Whatever the cut, a part's indices rise and are at most two pieces, each of
 * equal blocks at equal distances: a block or even strides are one piece,
 * uneven strides have a shorter block at their end, and zigzag is one piece of
 * two blocks if its chunks are equal, else two pieces.
 */

/* Index i of a piece is first + i / count * step + i % count. */
struct cut_piece {
	uint64_t first;
	uint64_t blocks; /* at least 1 */
	uint64_t step;   /* from block to block; 0 if there is one */
	uint64_t count;  /* indices of a block */
};

/* The second piece has a count of 0 if one is enough, as the first if empty. */
struct cut {
	struct cut_piece piece[2];
};

static enum philox_status check_bounds(uint32_t dim,
				       const struct philox_shard_dim *given)
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
				     const struct philox_shard_dim *given)
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

/* Of dimension number `dim`. All that follows needs one that was checked. */
static enum philox_status cut_check(uint32_t dim,
				    const struct philox_shard_dim *given)
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

/* philox/mesh.h has the formulas. */
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
static struct cut strided(const struct philox_shard_dim *dim)
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
static struct cut zigzag(const struct philox_shard_dim *dim)
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

static struct cut cut_of(const struct philox_shard_dim *dim)
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

static uint64_t piece_extent(const struct cut_piece *piece)
{
	return piece->blocks * piece->count;
}

static uint64_t cut_extent(const struct cut *cut)
{
	return piece_extent(&cut->piece[0]) + piece_extent(&cut->piece[1]);
}

/* The dimension's index of index `i`, below cut_extent(). */
static uint64_t cut_index(const struct cut *cut, uint64_t i)
{
	const struct cut_piece *piece = &cut->piece[0];

	if (i >= piece_extent(piece)) {
		i -= piece_extent(piece);
		piece++;
	}
	return piece->first + i / piece->count * piece->step + i % piece->count;
}

/* --- nests of loops -------------------------------------------------------- */

/* Two for each dimension, and a row of one element */
enum { MAX_LOOPS = 2 * PHILOX_SHARD_DIMS + 1 };

struct loop {
	uint64_t count, stride;
};

struct nest {
	uint64_t first; /* element */
	unsigned n;     /* loops, the innermost first: its stride is 1 */
	struct loop loop[MAX_LOOPS];
	uint64_t spans;
};

struct nests {
	uint32_t n_dims;
	struct cut cut[PHILOX_SHARD_DIMS];
	uint64_t stride[PHILOX_SHARD_DIMS]; /* elements from index to index */
	uint32_t outer; /* dimensions before those of the nests */
	struct nest nest[2];
	uint64_t spans;
};

/* --- checks --------------------------------------------------------------- */

static enum philox_status take_shard(const struct philox_shard_desc *given,
				     struct philox_shard_desc *shard)
{
	enum philox_status status;

	if (!given)
		return status_set(PHILOX_ERROR_INVALID, "shard is NULL");
	status = options_copy("shard", given, given->size, SHARD_SIZE_FIRST,
			      sizeof(*shard), shard);
	if (status == PHILOX_OK)
		status = options_check_reserved("shard", shard->reserved);
	if (status != PHILOX_OK)
		return status;
	if (shard->n_dims < 1 || shard->n_dims > PHILOX_SHARD_DIMS)
		return status_set(PHILOX_ERROR_INVALID,
				  "shard: n_dims is %" PRIu32 ", not 1 to %d",
				  shard->n_dims, PHILOX_SHARD_DIMS);
	for (uint32_t d = 0; d < shard->n_dims && status == PHILOX_OK; d++)
		status = cut_check(d, &shard->dims[d]);
	return status;
}

static enum philox_status take_dim(const struct philox_shard_desc *given,
				   uint32_t dim, struct cut *cut)
{
	struct philox_shard_desc shard;
	enum philox_status status = take_shard(given, &shard);

	if (status != PHILOX_OK)
		return status;
	if (dim >= shard.n_dims)
		return status_set(PHILOX_ERROR_INVALID,
				  "shard: dim is %" PRIu32
				  ", not below n_dims %" PRIu32,
				  dim, shard.n_dims);
	*cut = cut_of(&shard.dims[dim]);
	return PHILOX_OK;
}

static enum philox_status no_place(const char *what)
{
	return status_set(PHILOX_ERROR_INVALID, "shard: %s is NULL", what);
}

/* --- loops ---------------------------------------------------------------- */

/* Puts a loop around the others. */
static void add_loop(struct nest *nest, uint64_t count, uint64_t stride)
{
	struct loop *inner = &nest->loop[nest->n - 1];

	if (count == 1)
		return;
	if (stride % inner->stride == 0 &&
	    stride / inner->stride == inner->count)
		inner->count *= count;
	else
		nest->loop[nest->n++] = (struct loop){count, stride};
}

static void add_piece(struct nest *nest, const struct cut_piece *piece,
		      uint64_t stride)
{
	nest->first += piece->first * stride;
	add_loop(nest, piece->count, stride);
	add_loop(nest, piece->blocks, piece->step * stride);
}

/* The elements of one piece of dimension `outer` and of all after it. */
static struct nest nest_of(const struct nests *nests, int piece)
{
	struct nest nest = {.n = 1, .loop = {{1, 1}}, .spans = 1};

	for (uint32_t d = nests->n_dims; d-- > nests->outer;)
		add_piece(&nest,
			  &nests->cut[d].piece[d == nests->outer && piece],
			  nests->stride[d]);
	for (unsigned i = 2; i < nest.n; i++)
		nest.spans *= nest.loop[i].count;
	return nest;
}

static struct philox_span span_of(const struct nest *nest, uint64_t first,
				  uint64_t k)
{
	struct loop row = nest->loop[0], rows = {1, row.count};

	if (nest->n > 1)
		rows = nest->loop[1];
	first += nest->first;
	for (unsigned i = 2; i < nest->n; i++) {
		first += k % nest->loop[i].count * nest->loop[i].stride;
		k /= nest->loop[i].count;
	}
	return philox_span_rows(first, rows.count, row.count, rows.stride);
}

/* --- all of a part -------------------------------------------------------- */

static enum philox_status measure(const struct philox_shard_desc *shard,
				  struct nests *nests)
{
	uint64_t elements = 1;

	for (uint32_t d = shard->n_dims; d-- > 0;) {
		nests->stride[d] = elements;
		if (__builtin_mul_overflow(elements, shard->dims[d].extent,
					   &elements))
			return status_set(PHILOX_ERROR_OVERFLOW,
					  "shard: dims[%" PRIu32
					  "].extent is %" PRIu64
					  ": the tensor has more than 2^64 - 1 "
					  "elements",
					  d, shard->dims[d].extent);
	}
	return PHILOX_OK;
}

static int is_empty(const struct nests *nests)
{
	for (uint32_t d = 0; d < nests->n_dims; d++)
		if (!cut_extent(&nests->cut[d]))
			return 1;
	return 0;
}

/* A tensor with an empty dimension has none, however large the others are. */
static int has_no_elements(const struct philox_shard_desc *shard)
{
	for (uint32_t d = 0; d < shard->n_dims; d++)
		if (!shard->dims[d].extent)
			return 1;
	return 0;
}

static void nest_dims(struct nests *nests)
{
	uint64_t indices = 1;

	nests->outer = nests->n_dims - 1;
	while (nests->outer > 0 && !nests->cut[nests->outer].piece[1].count)
		nests->outer--;
	for (uint32_t d = 0; d < nests->outer; d++)
		indices *= cut_extent(&nests->cut[d]);
	for (int i = 0; i < 2; i++)
		if (nests->cut[nests->outer].piece[i].count)
			nests->nest[i] = nest_of(nests, i);
	nests->spans = indices * (nests->nest[0].spans + nests->nest[1].spans);
}

static enum philox_status find_nests(const struct philox_shard_desc *shard,
				     struct nests *nests)
{
	enum philox_status status = PHILOX_OK;

	*nests = (struct nests){.n_dims = shard->n_dims};
	for (uint32_t d = 0; d < shard->n_dims; d++)
		nests->cut[d] = cut_of(&shard->dims[d]);
	if (!has_no_elements(shard))
		status = measure(shard, nests);
	if (status == PHILOX_OK && !is_empty(nests))
		nest_dims(nests);
	return status;
}

static struct philox_span span_number(const struct nests *nests, uint64_t k)
{
	uint64_t a = nests->nest[0].spans, each = a + nests->nest[1].spans;
	uint64_t within = k % each, first = 0;

	k /= each;
	for (uint32_t d = nests->outer; d-- > 0;) {
		uint64_t extent = cut_extent(&nests->cut[d]);

		first += cut_index(&nests->cut[d], k % extent) *
			 nests->stride[d];
		k /= extent;
	}
	return within < a ? span_of(&nests->nest[0], first, within)
			  : span_of(&nests->nest[1], first, within - a);
}

/* --- the public functions ------------------------------------------------- */

enum philox_status philox_shard_spans(const struct philox_shard_desc *given,
				      uint64_t from, size_t capacity,
				      struct philox_span *spans,
				      uint64_t *n_spans)
{
	struct philox_shard_desc shard;
	struct nests nests;
	enum philox_status status = take_shard(given, &shard);

	if (status == PHILOX_OK && capacity && !spans)
		status = no_place("spans");
	if (status == PHILOX_OK && !n_spans)
		status = no_place("n_spans");
	if (status == PHILOX_OK)
		status = find_nests(&shard, &nests);
	if (status != PHILOX_OK)
		return status;
	for (size_t i = 0; i < capacity && from < nests.spans; i++)
		spans[i] = span_number(&nests, from++);
	*n_spans = nests.spans;
	return PHILOX_OK;
}

enum philox_status philox_shard_extent(const struct philox_shard_desc *shard,
				       uint32_t dim, uint64_t *extent)
{
	struct cut cut;
	enum philox_status status = take_dim(shard, dim, &cut);

	if (status == PHILOX_OK && !extent)
		status = no_place("extent");
	if (status == PHILOX_OK)
		*extent = cut_extent(&cut);
	return status;
}

enum philox_status philox_shard_index(const struct philox_shard_desc *shard,
				      uint32_t dim, uint64_t i, uint64_t *index)
{
	struct cut cut;
	enum philox_status status = take_dim(shard, dim, &cut);

	if (status == PHILOX_OK && !index)
		status = no_place("index");
	if (status == PHILOX_OK && i >= cut_extent(&cut))
		status = status_set(PHILOX_ERROR_INVALID,
				    "shard: i is %" PRIu64 ", but the part has "
				    "%" PRIu64
				    " of the indices of dims[%" PRIu32 "]",
				    i, cut_extent(&cut), dim);
	if (status == PHILOX_OK)
		*index = cut_index(&cut, i);
	return status;
}
