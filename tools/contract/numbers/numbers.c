/*
 * tools/contract/numbers/numbers.c - checks that a device draws the host's
 * numbers
 *
 * The reference is the loops of lib/kernels/host/host.c, called into plain
 * memory. Every trial compares a whole buffer, with bytes on both sides of the
 * span that a fill must not touch.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/fill.h>
#include "tools/contract/contract.h"
#include "tools/cli/cli.h"
#include "lib/dist/dist.h"
#include "lib/fill/fill.h"

/* Untouched elements around a span, and their bytes. */
#define MARGIN      16
#define MARGIN_BYTE 0xa5

#define ONES        0xffffffffffffffff

/* One fill: `shift` elements into a buffer aligned to 256 bytes. */
struct trial {
	const struct fill_kind *kind;
	struct philox_state state;
	const struct philox_state *cell; /* device address, or NULL */
	struct philox_fill_desc fill;    /* parameters and span */
	size_t shift;
	int in_place;
	int every_input; /* not random ones: see make_every_input() */
};

/* The memory of a trial: of the host, then of the device. */
struct buffers {
	size_t size;
	unsigned char *input, *expected, *got;
	uint64_t *sums; /* of categories, as many as the fill's n */
	void *in, *out, *device_sums;
	philox_stream stream;
};

/* --- one trial ------------------------------------------------------------ */

static uint64_t elements(const struct trial *t)
{
	const struct philox_span *span = &t->fill.span;

	return span->count * (span->rows ? span->rows : 1);
}

/* Random bytes: as floats they include NaN, infinities and denormals. */
static void make_input(struct buffers *b)
{
	struct fill_args args = {.rng = {.state = {.seed = 0x5eed}},
				 .count = b->size / 4,
				 .rows = 1,
				 .threads = 1,
				 .out = b->input};

	fill_host_plain(KERNEL_bits_u32, &args);
}

/*
 * All 16-bit patterns; as upper halves of an f32, with lower halves near ties.
 */
static void make_every_input(const struct trial *t, struct buffers *b)
{
	static const uint32_t low[] = {0,      1,      0x0fff, 0x1000,
				       0x1001, 0x7fff, 0x8000, 0x8001};
	uint32_t *words = (uint32_t *)b->input;
	uint16_t *halves = (uint16_t *)b->input;

	for (size_t i = 0; i < b->size / t->kind->in_size; i++)
		if (t->kind->in_size == 2)
			halves[i] = (uint16_t)i;
		else
			words[i] = (uint32_t)(i / 8) << 16 | low[i % 8];
}

static int has_sums(const struct trial *t)
{
	return t->kind->dist == PHILOX_DIST_CATEGORICAL;
}

/* Of integer weights of which a third are 0, in a total of 2^63 or more. */
static void make_sums(const struct trial *t, struct buffers *b)
{
	const uint64_t share = ONES / t->fill.n;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < t->fill.n; i++) {
		sum += i % 3 == 1 ? 0 : share - (i * 0x9e3779b9 & share >> 2);
		b->sums[i] = sum;
	}
}

static void prepare_sums(struct contract *c, const struct trial *t,
			 struct buffers *b)
{
	const size_t size = t->fill.n * sizeof(*b->sums);

	b->sums = malloc(size);
	EXPECT(b->sums);
	make_sums(t, b);
	EXPECT_OK(contract_memory(c, size, &b->device_sums));
	EXPECT_OK(contract_copy(c, b->device_sums, b->sums, size, b->stream));
}

/* The fill of a trial, from and to these buffers. */
static struct philox_fill_desc fill_of(const struct trial *t, const void *in,
				       const void *sums, void *out)
{
	struct philox_fill_desc fill = t->fill;
	size_t start = MARGIN + t->shift;

	fill.in = has_sums(t) ? sums
			      : (const char *)in + start * t->kind->in_size;
	fill.out = (char *)out + start * t->kind->size;
	return fill;
}

static void make_expected(const struct trial *t, struct buffers *b)
{
	struct philox_rng rng = {.state = t->state};
	struct philox_fill_desc fill =
		fill_of(t, b->input, b->sums, b->expected);
	struct fill_args args;

	if (t->kind->reads && t->in_place)
		memcpy(b->expected, b->input, b->size);
	else
		memset(b->expected, MARGIN_BYTE, b->size);
	fill_args(&fill, rng, &args);
	fill_host_plain(fill_form(fill.dist, fill.dtype)->kernel, &args);
}

static enum philox_status fill_device(struct contract *c, const struct trial *t,
				      struct buffers *b)
{
	struct philox_rng rng = {.state = t->state, .cell = t->cell};
	struct philox_fill_desc fill =
		fill_of(t, b->in, b->device_sums, t->in_place ? b->in : b->out);

	return philox_rng_fill(c->device, b->stream, rng, &fill);
}

static void compare_fills(struct contract *c, const struct trial *t,
			  const struct buffers *b)
{
	size_t size = t->kind->size, i = 0;

	while (i < b->size && b->got[i] == b->expected[i])
		i++;
	EXPECT_TEXT(i == b->size,
		    "%s %s, first %" PRIu64 ", count %" PRIu64 ", rows %" PRIu64
		    ", shift %zu, p %g: "
		    "byte %zu of the buffer (its span begins at %zu) is %02x, "
		    "not %02x",
		    t->kind->dist_name, t->kind->dtype_name, t->fill.span.first,
		    t->fill.span.count, t->fill.span.rows, t->shift, t->fill.p,
		    i, (MARGIN + t->shift) * size, b->got[i], b->expected[i]);
}

static void prepare(struct contract *c, const struct trial *t,
		    struct buffers *b)
{
	b->size = (elements(t) + t->shift + 2 * MARGIN) * t->kind->in_size;
	EXPECT_OK(contract_stream(c, 0, &b->stream));
	EXPECT_OK(contract_memory(c, b->size, &b->in));
	EXPECT_OK(contract_memory(c, b->size, &b->out));
	b->input = malloc(b->size);
	b->expected = malloc(b->size);
	b->got = malloc(b->size);
	EXPECT(b->input && b->expected && b->got);
	if (has_sums(t))
		EXPECT_PART(prepare_sums(c, t, b));
	if (t->every_input)
		make_every_input(t, b);
	else
		make_input(b);
	make_expected(t, b);
}

static void fill_and_compare(struct contract *c, const struct trial *t,
			     struct buffers *b)
{
	EXPECT_OK(contract_copy(c, b->in, b->input, b->size, b->stream));
	EXPECT_OK(contract_set(c, b->out, MARGIN_BYTE, b->size, b->stream));
	EXPECT_OK(fill_device(c, t, b));
	EXPECT_OK(contract_read(c, b->stream, t->in_place ? b->in : b->out,
				b->got, b->size));
	compare_fills(c, t, b);
}

static void release(struct contract *c, struct buffers *b)
{
	philox_stream_synchronize(c->device, b->stream);
	free(b->input);
	free(b->expected);
	free(b->got);
	free(b->sums);
}

static void try_fill(struct contract *c, const struct trial *t)
{
	struct buffers b = {0};

	prepare(c, t, &b);
	if (!c->failure[0])
		fill_and_compare(c, t, &b);
	release(c, &b);
}

static const struct philox_state plain_state = {0x0123456789abcdef, 4096};

static struct trial new_trial(const struct fill_kind *kind)
{
	struct trial t = {.kind = kind,
			  .state = plain_state,
			  .fill = {.size = sizeof(t.fill),
				   .dist = kind->dist,
				   .dtype = kind->dtype,
				   .span = {.count = 1000},
				   .p = 0.3,
				   .high = 1,
				   .std = 1,
				   .rate = 1,
				   .to = 999,
				   .n = 1000003}};

	if (has_sums(&t))
		t.fill.n = 1001;
	return t;
}

/*
 * Whether a trial's dist has its elements: an order that is long enough, which
 * it then gets; signs as bits that are of elements.
 */
static int has_elements(struct trial *t)
{
	const uint64_t end = t->fill.span.first + t->fill.span.count;
	const int bits = 8 * (int)t->kind->size - 1;

	if (t->kind->dist == PHILOX_DIST_SIGNS &&
	    t->kind->dtype == PHILOX_DTYPE_U32)
		return end && end <= (uint64_t)1 << 59;
	if (t->kind->dist != PHILOX_DIST_PERMUTATION)
		return 1;
	t->fill.n = end + 5;
	return end && end + 5 <= (uint64_t)1 << bits;
}

/* --- checks --------------------------------------------------------------- */

static void every_fill(struct contract *c)
{
	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++) {
		struct trial t = new_trial(kind);

		t.fill.span.count = 100003;
		EXPECT_PART(try_fill(c, &t));
	}
}

/*
 * Enough for each thread of a GPU to have tiles of units (lib/fill/cuda.cuh),
 * and units after them: 200 multiprocessors at most, with 2048 threads, which
 * have 64 bytes of a tile each. Half of all integers are drawn again.
 */
#define MANY_BYTES (40 << 20)

static void many_elements(struct contract *c)
{
	static const struct {
		enum philox_dist dist;
		enum philox_dtype dtype;
		uint64_t from, to, first, count; /* 0: forty megabytes */
		double low;
	} fills[] = {
		{PHILOX_DIST_NORMAL, PHILOX_DTYPE_F32, 0, 0, 0, 0, 0},
		{PHILOX_DIST_DROPOUT, PHILOX_DTYPE_BF16, 0, 0, 0, 0, 0},
		{PHILOX_DIST_INTEGERS, PHILOX_DTYPE_U32, 7,
		 ((uint64_t)1 << 31) + 7, 0, 0, 0},
		{PHILOX_DIST_INTEGERS, PHILOX_DTYPE_I64,
		 (uint64_t)(INT64_MIN / 2), INT64_MAX / 2 + 1, 0, 0, 0},
		/* these have two small words, 39,894,912 and 41,030,319 */
		{PHILOX_DIST_EXPONENTIAL, PHILOX_DTYPE_F32, 0, 0, 38100003,
		 3000000, 0},
		{PHILOX_DIST_GUMBEL, PHILOX_DTYPE_F32, 0, 0, 38100001, 3000000,
		 0},
		{PHILOX_DIST_GUMBEL, PHILOX_DTYPE_BF16, 0, 0, 38100000, 3000000,
		 0},
		/* plain ones, and ranges of either form */
		{PHILOX_DIST_UNIFORM, PHILOX_DTYPE_BF16, 0, 0, 0, 200000, 0},
		{PHILOX_DIST_UNIFORM, PHILOX_DTYPE_BF16, 0, 0, 0, 200000, -1},
		{PHILOX_DIST_UNIFORM, PHILOX_DTYPE_BF16, 0, 0, 0, 200000, -9},
		{PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F16, 0, 0, 0, 200000, -1},
		{PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F32, 0, 0, 0, 200000, -1},
		/* units of 32 bytes */
		{PHILOX_DIST_BERNOULLI, PHILOX_DTYPE_F64, 0, 0, 0, 200000, 0},
		{PHILOX_DIST_BERNOULLI, PHILOX_DTYPE_F64, 0, 0, 6, 200000, 0},
		{PHILOX_DIST_DROPOUT, PHILOX_DTYPE_F64, 0, 0, 6, 200000, 0}};

	for (size_t k = 0; k < sizeof(fills) / sizeof(fills[0]); k++) {
		struct trial t =
			new_trial(fill_kind_of(fills[k].dist, fills[k].dtype));

		t.fill.from = fills[k].from;
		t.fill.to = fills[k].to;
		t.fill.low = fills[k].low;
		t.fill.span.first = fills[k].first;
		t.fill.span.count = fills[k].count
					    ? fills[k].count
					    : MANY_BYTES / t.kind->size + 5;
		EXPECT_PART(try_fill(c, &t));
	}
}

/* Elements of plain_state whose words are below 256 (philox/draw.h). */
static void small_words(struct contract *c)
{
	static const uint64_t elements[] = {39894912, 41030319, 51519799,
					    55109696};

	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (uint64_t k = 0; k < 4; k++) {
			struct trial t = new_trial(kind);

			if (t.fill.dist != PHILOX_DIST_EXPONENTIAL &&
			    t.fill.dist != PHILOX_DIST_GUMBEL)
				continue;
			t.fill.span.first = elements[k] - 1 - 300 * k;
			t.fill.span.count = 1000;
			EXPECT_PART(try_fill(c, &t));
			t.fill.span.first = elements[k] - 2 * 45 - k;
			t.fill.span.count = 30;
			t.fill.span.rows = 7;
			t.fill.span.row_stride = 45;
			EXPECT_PART(try_fill(c, &t));
		}
}

static void every_probability(struct contract *c)
{
	static const double ps[] = {0, 1e-12, 0.5, 0.999, 1 - 1e-12, 1};

	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (size_t k = 0; k < sizeof(ps) / sizeof(ps[0]); k++) {
			struct trial t = new_trial(kind);

			if (t.kind->dist != PHILOX_DIST_BERNOULLI &&
			    t.kind->dist != PHILOX_DIST_DROPOUT)
				break;
			t.fill.p = ps[k];
			EXPECT_PART(try_fill(c, &t));
		}
}

/* Dropout of f32 is one of them, with a scale of 1 and of 2. */
static void every_conversion(struct contract *c)
{
	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (int k = 0; k < 2; k++) {
			struct trial t = new_trial(kind);

			if (!t.kind->reads || t.kind->in_size == 8)
				break;
			t.fill.p = k * 0.5;
			t.fill.span.count = 1
					    << (t.kind->in_size == 2 ? 16 : 19);
			t.every_input = 1;
			EXPECT_PART(try_fill(c, &t));
		}
}

/* The end of a range of integers, as far as the dtype allows. */
static uint64_t largest_end(const struct fill_kind *kind, uint64_t to)
{
	return kind->dtype == PHILOX_DTYPE_I32 && to > INT32_MAX ? INT32_MAX
								 : to;
}

/* Each kind uses those it has. */
static void every_parameter(struct contract *c)
{
	static const struct philox_fill_desc sets[] = {
		{.low = -3.7, .high = 11, .mean = -2, .std = 3, .rate = 0.01},
		{.low = 0.1,
		 .high = 0.2,
		 .mean = 300,
		 .std = 5000,
		 .rate = 1000,
		 .to = UINT32_MAX},
		{.low = -60000,
		 .high = 1,
		 .mean = 1e-3,
		 .std = 1e-6,
		 .rate = 3,
		 .from = 7,
		 .to = ((uint64_t)1 << 31) + 7},
		/* -0 before it is rounded to bf16 */
		{.low = -0x1p-133,
		 .high = 0x1.01p-141,
		 .std = 1,
		 .rate = 1,
		 .to = 9},
		{.low = -3, .high = 0x1p-140, .std = 1, .rate = 1, .to = 9}};

	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (size_t k = 0; k < sizeof(sets) / sizeof(sets[0]); k++) {
			struct trial t = new_trial(kind);

			t.fill.low = sets[k].low;
			t.fill.high = sets[k].high;
			t.fill.mean = sets[k].mean;
			t.fill.std = sets[k].std;
			t.fill.rate = sets[k].rate;
			t.fill.from = sets[k].from;
			t.fill.to = largest_end(kind, sets[k].to);
			EXPECT_PART(try_fill(c, &t));
		}
}

/* Half of all draws are rejected; with all 2^64 none is. */
static void wide_ranges(struct contract *c)
{
	static const uint64_t ranges[][2] = {
		{(uint64_t)INT64_MIN, INT64_MAX},
		{(uint64_t)(INT64_MIN / 2), INT64_MAX / 2 + 1},
		{(uint64_t)-5, 5}};

	for (size_t k = 0; k < sizeof(ranges) / sizeof(ranges[0]); k++) {
		struct trial t = new_trial(
			fill_kind_of(PHILOX_DIST_INTEGERS, PHILOX_DTYPE_I64));

		t.fill.from = ranges[k][0];
		t.fill.to = ranges[k][1];
		EXPECT_PART(try_fill(c, &t));
	}
}

/* Of each way to make an order, whole: by its rank, 24 rounds and 12. */
static void every_order(struct contract *c)
{
	static const uint64_t ns[] = {1, 2, 7, 16, 17, 64, 1000, 1025, 300000};

	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (size_t k = 0; k < sizeof(ns) / sizeof(ns[0]); k++) {
			struct trial t = new_trial(kind);

			if (t.kind->dist != PHILOX_DIST_PERMUTATION)
				break;
			t.fill.n = t.fill.span.count = ns[k];
			EXPECT_PART(try_fill(c, &t));
			if (ns[k] < 7)
				continue;
			t.fill.span =
				philox_span_rows(1, 3, ns[k] / 7, ns[k] / 4);
			t.shift = k % 3;
			EXPECT_PART(try_fill(c, &t));
		}
}

/* Of one category and of numbers around powers of two, up to a million. */
static void every_count(struct contract *c)
{
	static const uint64_t ns[] = {1, 2, 3, 4, 5, 31, 32, 33, 1000, 1000003};

	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (size_t k = 0; k < sizeof(ns) / sizeof(ns[0]); k++) {
			struct trial t = new_trial(kind);

			if (!has_sums(&t))
				break;
			t.fill.n = ns[k];
			t.fill.span.first = k;
			t.shift = k % 3;
			EXPECT_PART(try_fill(c, &t));
		}
}

/* 0 inside, far out on either side, tiny, wide, and odd ends. */
static void every_interval(struct contract *c)
{
	static const double ends[][2] = {
		{-2, 2},    {-1e300, 1e300}, {-3, 1e-5},    {-0x1p-60, 30},
		{0, 3},     {38, 1e3},       {-1e10, -1e3}, {1, 1 + 0x1p-40},
		{0.1, 0.2}, {-7, -0.3}};

	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
			struct trial t = new_trial(kind);

			if (t.kind->dist != PHILOX_DIST_TRUNCATED_NORMAL)
				break;
			t.fill.low = ends[k][0];
			t.fill.high = ends[k][1];
			t.fill.mean = k % 2 ? 0 : 0.25;
			EXPECT_PART(try_fill(c, &t));
		}
}

static void every_shard(struct contract *c)
{
	static const struct philox_span shards[] = {{0, 64, 33, 256},
						    {5, 1, 100, 7},
						    {3, 37, 21, 1001},
						    {8, 128, 5, 128},
						    {1, 3000, 3, 4096}};

	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (size_t k = 0; k < sizeof(shards) / sizeof(shards[0]);
		     k++) {
			struct trial t = new_trial(kind);

			t.fill.span = shards[k];
			t.shift = k % 2;
			EXPECT_PART(try_fill(c, &t));
		}
}

static void every_short_span(struct contract *c)
{
	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (uint64_t first = 0; first < 5; first++)
			for (uint64_t count = 1; count < 10; count++) {
				struct trial t = new_trial(kind);

				t.fill.span.first = first;
				t.fill.span.count = count;
				EXPECT_PART(try_fill(c, &t));
			}
}

static void large_elements(struct contract *c)
{
	static const uint64_t firsts[] = {
		((uint64_t)1 << 32) - 33, ((uint64_t)1 << 33) - 34,
		((uint64_t)1 << 34) - 35, ((uint64_t)1 << 62) - 36,
		((uint64_t)1 << 63) - 37, UINT64_MAX - 63};

	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (size_t k = 0; k < sizeof(firsts) / sizeof(firsts[0]);
		     k++) {
			struct trial t = new_trial(kind);

			t.fill.span.first = firsts[k];
			t.fill.span.count = 64;
			if (has_elements(&t))
				EXPECT_PART(try_fill(c, &t));
		}
}

static void large_offsets(struct contract *c)
{
	static const uint64_t offsets[] = {((uint64_t)1 << 34) - 4,
					   (uint64_t)1 << 34, UINT64_MAX - 3};

	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (size_t k = 0; k < sizeof(offsets) / sizeof(offsets[0]);
		     k++) {
			struct trial t = new_trial(kind);

			t.state.offset = offsets[k];
			EXPECT_PART(try_fill(c, &t));
		}
}

static void every_alignment(struct contract *c)
{
	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (size_t shift = 0; shift < 8; shift++) {
			struct trial t = new_trial(kind);

			t.fill.span.first = 3 * shift;
			t.shift = shift;
			EXPECT_PART(try_fill(c, &t));
		}
}

static void in_place(struct contract *c)
{
	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++)
		for (size_t shift = 0; shift < 4; shift++) {
			struct trial t = new_trial(kind);

			if (t.kind->dist != PHILOX_DIST_DROPOUT)
				break;
			t.in_place = 1;
			t.fill.span.first = 2;
			t.shift = shift;
			EXPECT_PART(try_fill(c, &t));
		}
}

static void write_cell(struct contract *c, philox_stream stream, void *cell,
		       const struct philox_state *state)
{
	EXPECT_OK(contract_copy(c, cell, state, sizeof(*state), stream));
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
}

static void from_a_cell(struct contract *c)
{
	philox_stream stream;
	void *cell;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, sizeof(plain_state), &cell));
	EXPECT_PART(write_cell(c, stream, cell, &plain_state));
	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++) {
		struct trial t = new_trial(kind);

		t.cell = cell;
		EXPECT_PART(try_fill(c, &t));
	}
}

/* The value of an element of a dtype if its state is poisoned. */
static uint64_t poison_of(enum philox_dtype dtype)
{
	switch (dtype) {
	case PHILOX_DTYPE_F32:
		return 0x7fc00000;
	case PHILOX_DTYPE_F64:
		return 0x7ff8000000000000;
	case PHILOX_DTYPE_BF16:
		return 0x7fc0;
	case PHILOX_DTYPE_F16:
		return 0x7e00;
	default:
		return ONES;
	}
}

/* The reference is the poison itself, element for element. */
static void poison_is(struct contract *c, const struct fill_kind *kind,
		      struct philox_state state, void *cell)
{
	struct trial t = new_trial(kind);
	struct buffers b = {0};
	uint64_t element = poison_of(kind->dtype);
	size_t size = kind->size;

	t.state = state;
	t.cell = cell;
	t.fill.span.count = 37;
	t.fill.span.first = 1;
	prepare(c, &t, &b);
	if (!c->failure[0]) {
		for (size_t i = 0; i < t.fill.span.count; i++)
			memcpy(b.expected + (MARGIN + i) * size, &element,
			       size);
		fill_and_compare(c, &t, &b);
	}
	release(c, &b);
}

static void poison(struct contract *c)
{
	static const struct philox_state states[] = {
		{ONES, PHILOX_POISON_OFFSET}, {7, 1}};
	philox_stream stream;
	void *cell;

	EXPECT_OK(contract_stream(c, 0, &stream));
	EXPECT_OK(contract_memory(c, sizeof(states[0]), &cell));
	for (size_t k = 0; k < 2; k++) {
		EXPECT_PART(write_cell(c, stream, cell, &states[k]));
		for (const struct fill_kind *kind = fill_kinds(); kind->size;
		     kind++)
			EXPECT_PART(poison_is(c, kind, states[k], cell));
	}
}

/* A captured fill reads its cell at each launch; nothing runs before. */
static void record_fill(struct contract *c, const struct trial *t,
			struct buffers *b, philox_native_exec *exec)
{
	philox_native_graph graph;
	size_t nodes;

	EXPECT_OK(contract_begin(c, b->stream));
	EXPECT_OK(fill_device(c, t, b));
	EXPECT_OK(contract_end_capture(c, b->stream, &graph));
	EXPECT_OK(philox_native_graph_node_count(c->device, graph, &nodes));
	EXPECT_TEXT(nodes == 1, "%s %s: a fill made %zu nodes",
		    t->kind->dist_name, t->kind->dtype_name, nodes);
	EXPECT_OK(contract_instantiate(c, graph, exec));
	EXPECT_OK(contract_read(c, b->stream, b->out, b->got, b->size));
	for (size_t i = 0; i < b->size; i++)
		EXPECT(b->got[i] == MARGIN_BYTE);
}

static void replay_fill(struct contract *c, struct trial *t, struct buffers *b,
			void *cell)
{
	philox_native_exec exec;

	EXPECT_OK(contract_copy(c, b->in, b->input, b->size, b->stream));
	EXPECT_OK(contract_set(c, b->out, MARGIN_BYTE, b->size, b->stream));
	EXPECT_OK(philox_stream_synchronize(c->device, b->stream));
	EXPECT_PART(record_fill(c, t, b, &exec));
	for (int i = 0; i < 3; i++) {
		t->state.offset += 4;
		make_expected(t, b);
		EXPECT_PART(write_cell(c, b->stream, cell, &t->state));
		EXPECT_OK(
			philox_native_exec_launch(c->device, b->stream, exec));
		EXPECT_OK(contract_read(c, b->stream, b->out, b->got, b->size));
		EXPECT_PART(compare_fills(c, t, b));
	}
}

static void replayed(struct contract *c)
{
	void *cell;

	EXPECT_OK(contract_memory(c, sizeof(plain_state), &cell));
	for (const struct fill_kind *kind = fill_kinds(); kind->size; kind++) {
		struct trial t = new_trial(kind);
		struct buffers b = {0};

		t.cell = cell;
		prepare(c, &t, &b);
		if (!c->failure[0])
			replay_fill(c, &t, &b, cell);
		release(c, &b);
		if (c->failure[0])
			return;
	}
}

const struct contract_check contract_numbers[] = {
	{"every fill gives the host's bits", .run = every_fill},
	{"megabytes of numbers are the host's", .run = many_elements},
	{"small words are refined as on the host", .run = small_words},
	{"p of 0, 1 and between decides as on the host",
	 .run = every_probability},
	{"every f16 and bf16 is converted as on the host",
	 .run = every_conversion},
	{"ranges, means and rates give the host's bits",
	 .run = every_parameter},
	{"integers of wide ranges are the host's", .run = wide_ranges},
	{"orders of few and many items are the host's", .run = every_order},
	{"categories of few and many are the host's", .run = every_count},
	{"normal numbers of every kind of interval are the host's",
	 .run = every_interval},
	{"a shard draws what the whole has there", .run = every_shard},
	{"a span draws what the whole has there", .run = every_short_span},
	{"elements up to 2^64 - 1 are drawn", .run = large_elements},
	{"offsets up to 2^64 - 4 are drawn from", .run = large_offsets},
	{"arrays may be aligned to the dtype only", .run = every_alignment},
	{"dropout works in place", .run = in_place},
	{"a state is read from its cell", .run = from_a_cell},
	{"a poisoned cell gives NaN or all-ones", .run = poison},
	{"a captured fill reads its cell at each replay", .run = replayed},
	{0},
};
