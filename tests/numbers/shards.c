/*
 * tests/numbers/shards.c - any cut of a tensor draws the whole tensor's numbers
 *
 * The whole is drawn once by the plain loop, and a part must equal its span of
 * it, element by element. Parts are drawn with every instruction set of this
 * CPU.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include "lib/dist/dist.h"
#include "lib/fill/fill.h"
#include "lib/base/base.h"
#include "tests/support/fills.h"

enum { MARGIN = 16, MARGIN_BYTE = 0xa5 };

static const struct philox_state state = {0x0123456789abcdef, 4096};

/* The numbers of a plain span, by the plain loop. */
static void draw_whole(struct philox_fill_desc fill, uint64_t first,
		       uint64_t count, const void *in, void *out)
{
	struct fill_args args;

	fill.span = philox_span_elements(first, count);
	fill.in = fill.dist == PHILOX_DIST_CATEGORICAL ? plain_sums() : in;
	fill.out = out;
	fill_args(&fill, (struct philox_rng){.state = state}, &args);
	fill_host_plain(fill_form(fill.dist, fill.dtype)->kernel, &args);
}

/* Where parts are put: memory of the device with bytes around. */
struct place {
	char *in, *out;
	size_t size;
};

static struct place make_place(struct fixture *f, size_t elements)
{
	size_t size = (elements + 2 * MARGIN + 8) * 8;

	return (struct place){make_memory(f, size), make_memory(f, size), size};
}

static void draw_part(struct fixture *f, const struct fill_name *name,
		      struct philox_span span, const struct place *place,
		      size_t shift)
{
	struct philox_fill_desc fill = plain_fill(name);

	memset(place->out, MARGIN_BYTE, place->size);
	fill.span = span;
	fill.in = place->in + (MARGIN + shift) * name->in_size;
	give_sums(f, &fill);
	fill.out = place->out + (MARGIN + shift) * name->size;
	OK(philox_rng_fill(f->device, f->stream,
			   (struct philox_rng){.state = state}, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
}

static void check_margin(const struct fill_name *name,
			 const struct place *place, size_t begin, size_t end)
{
	for (size_t i = 0; i < place->size; i++)
		if (i < begin || i >= end)
			cr_assert_eq((unsigned char)place->out[i], MARGIN_BYTE,
				     "%s: byte %zu beside a span is written",
				     name->name, i);
}

/*
 * Draws a part and compares it row by row with the whole, which begins with
 * element `first` and is drawn from inputs in the same layout.
 */
static void check_part(struct fixture *f, const struct fill_name *name,
		       struct philox_span span, uint64_t first,
		       const char *whole_in, const char *whole_out,
		       const struct place *place, size_t shift)
{
	uint64_t rows = span.rows ? span.rows : 1;
	size_t row_in = span.count * name->in_size;
	size_t row_out = span.count * name->size;
	char *in = place->in + (MARGIN + shift) * name->in_size;
	char *out = place->out + (MARGIN + shift) * name->size;

	for (uint64_t r = 0; r < rows; r++)
		memcpy(in + r * row_in,
		       whole_in + (span.first + r * span.row_stride - first) *
					  name->in_size,
		       row_in);
	draw_part(f, name, span, place, shift);
	for (uint64_t r = 0; r < rows; r++)
		cr_assert(!memcmp(out + r * row_out,
				  whole_out + (span.first +
					       r * span.row_stride - first) *
						      name->size,
				  row_out),
			  "%s: row %" PRIu64 " of first %" PRIu64
			  ", count %" PRIu64 ", rows %" PRIu64 ", "
			  "stride %" PRIu64 ", shift %zu",
			  name->name, r, span.first, span.count, span.rows,
			  span.row_stride, shift);
	check_margin(name, place, (size_t)(out - place->out),
		     (size_t)(out - place->out) + rows * row_out);
}

/* A whole and a place for its parts. */
struct tensor {
	uint64_t first, count;
	char *in, *out;
	struct place place;
};

static struct tensor make_tensor(struct fixture *f, uint64_t count)
{
	struct tensor t = {.count = count,
			   .in = malloc(count * 8),
			   .out = malloc(count * 8),
			   .place = make_place(f, count)};

	cr_assert(t.in && t.out);
	scatter(t.in, count * 8);
	return t;
}

static void draw_tensor(struct tensor *t, const struct fill_name *name,
			uint64_t first)
{
	t->first = first;
	draw_whole(plain_fill(name), first, t->count, t->in, t->out);
}

static void free_tensor(struct tensor *t)
{
	free(t->in);
	free(t->out);
}

static void check(struct fixture *f, const struct fill_name *name,
		  const struct tensor *t, struct philox_span span, size_t shift)
{
	check_part(f, name, span, t->first, t->in, t->out, &t->place, shift);
}

static uint32_t below(uint32_t n)
{
	static uint32_t x = 12345;

	x = x * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(x >> 8) * n >> 24);
}

PROMISE(shards, spans_of_0_to_200_elements_are_those_of_the_whole)
{
	struct tensor t = make_tensor(f, 256);

	FOR_EACH_SIMD(simd)
	{
		for (size_t k = 0; k < n_fill_names; k++) {
			draw_tensor(&t, &fill_names[k], 0);
			for (uint64_t count = 0; count <= 200; count++)
				check(f, &fill_names[k], &t,
				      philox_span_elements(count % 7, count),
				      count % 5);
		}
	}
	free_tensor(&t);
}

/* Signs as bits have 2^59 elements, a 32nd of the others'. */
static uint64_t edge_of(const struct fill_name *name, uint64_t edge)
{
	if (name->dist != PHILOX_DIST_SIGNS || name->dtype != PHILOX_DTYPE_U32)
		return edge;
	return edge ? edge >> 5 : (uint64_t)1 << 59;
}

PROMISE(shards, spans_around_large_elements_are_those_of_the_whole)
{
	static const uint64_t edges[] = {(uint64_t)1 << 32, (uint64_t)1 << 33,
					 (uint64_t)1 << 34, (uint64_t)1 << 62,
					 (uint64_t)1 << 63, 0};
	struct tensor t = make_tensor(f, 600);

	FOR_EACH_SIMD(simd)
	{
		for (size_t k = 0; k < n_fill_names; k++)
			for (size_t i = 0; i < 6; i++) {
				uint64_t last = edges[i] ? 300 : 600;

				if (!has_element(&fill_names[k],
						 edges[i] - last + 599))
					continue;
				draw_tensor(&t, &fill_names[k],
					    edge_of(&fill_names[k], edges[i]) -
						    last);
				check(f, &fill_names[k], &t,
				      philox_span_elements(t.first + i, 590),
				      i);
			}
	}
	free_tensor(&t);
}

/* A corner, rows and columns inside rows x columns, drawn as a shard. */
static struct philox_span random_shard(uint64_t first, uint32_t rows,
				       uint32_t columns)
{
	uint32_t row = below(rows), column = below(columns);
	uint32_t n_rows = 1 + below(rows - row);
	uint32_t n_columns = 1 + below(columns - column);

	return philox_span_rows(first + (uint64_t)row * columns + column,
				n_rows, n_columns, columns);
}

PROMISE(shards, random_shards_are_those_of_the_whole)
{
	enum { ROWS = 23, COLUMNS = 211 };
	struct tensor t = make_tensor(f, ROWS * COLUMNS);

	FOR_EACH_SIMD(simd)
	{
		for (size_t k = 0; k < n_fill_names; k++) {
			uint64_t first = ((uint64_t)1 << 32) - 1000 + below(9);

			if (!has_element(&fill_names[k], first + t.count))
				first %= 1 << 20;
			draw_tensor(&t, &fill_names[k], first);
			for (int i = 0; i < 20; i++)
				check(f, &fill_names[k], &t,
				      random_shard(t.first, ROWS, COLUMNS),
				      below(4));
		}
	}
	free_tensor(&t);
}

/* Every element is in one part, and the parts together are the whole. */
PROMISE(shards, a_matrix_cut_into_columns_is_put_together_again)
{
	enum { ROWS = 8, COLUMNS = 96, RANKS = 4, PART = COLUMNS / RANKS };
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32};
	struct philox_rng rng = {.state = state};
	uint32_t *whole = make_memory(f, ROWS * COLUMNS * 4);
	uint32_t *part = make_memory(f, ROWS * PART * 4);

	fill.span = philox_span_elements(0, ROWS * COLUMNS);
	fill.out = whole;
	OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	for (uint64_t rank = 0; rank < RANKS; rank++) {
		fill.span = philox_span_rows(rank * PART, ROWS, PART, COLUMNS);
		fill.out = part;
		OK(philox_rng_fill(f->device, f->stream, rng, &fill));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint64_t i = 0; i < ROWS * PART; i++)
			cr_assert_eq(part[i], whole[i / PART * COLUMNS +
						    rank * PART + i % PART]);
	}
}

/* Long rows, rows of about a part's length, and many short ones. */
PROMISE(shards, threads_change_nothing)
{
	const struct philox_span spans[] = {
		philox_span_elements(3, (1 << 20) + 300017),
		philox_span_rows(1, 2, 650001, 650007),
		philox_span_rows(5, 13, 100000, 100003),
		philox_span_rows(7, 300007, 4, 5)};
	static const unsigned threads[] = {2, 3, 5, 256};
	struct tensor t = make_tensor(f, 300007 * 5 + 7);

	for (size_t k = 0; k < n_fill_names; k += 7) {
		draw_tensor(&t, &fill_names[k], 0);
		for (size_t i = 0; i < 16; i++) {
			OK(philox_device_set_threads(f->device,
						     threads[i / 4]));
			check(f, &fill_names[k], &t, spans[i % 4], i % 3);
		}
	}
	free_tensor(&t);
}

/* Returns the size that stacks of threads had. */
static size_t set_stacks(size_t size)
{
	pthread_attr_t attributes;
	size_t before;

	cr_assert_eq(pthread_getattr_default_np(&attributes), 0);
	cr_assert_eq(pthread_attr_getstacksize(&attributes, &before), 0);
	cr_assert_eq(pthread_attr_setstacksize(&attributes, size), 0);
	cr_assert_eq(pthread_setattr_default_np(&attributes), 0);
	pthread_attr_destroy(&attributes);
	return before;
}

static void *never_runs(void *unused)
{
	return unused;
}

/* No address space has room for such a stack. */
PROMISE(shards, a_fill_is_whole_where_no_thread_can_be_started)
{
	struct tensor t = make_tensor(f, 4 << 18);
	pthread_t thread;
	size_t before;

	draw_tensor(&t, &fill_names[0], 0);
	check(f, &fill_names[0], &t, philox_span_elements(0, 5), 0);
	OK(philox_device_set_threads(f->device, 4));
	before = set_stacks((size_t)1 << 60);
	cr_assert_neq(pthread_create(&thread, NULL, never_runs, NULL), 0);
	check(f, &fill_names[0], &t, philox_span_elements(0, t.count), 0);
	set_stacks(before);
	free_tensor(&t);
}

/* Parts follow each other, cover everything, and have their share of units. */
static void check_cut(uint64_t elements, unsigned n)
{
	uint64_t units = (elements - 1) / FILL_PART_UNIT + 1, at = 0;

	for (unsigned i = 0; i < n; i++) {
		struct fill_part part = fill_host_part(elements, i, n);
		uint64_t length = part.end - part.begin;
		uint64_t own = (length + FILL_PART_UNIT - 1) / FILL_PART_UNIT;

		cr_assert_eq(part.begin, at);
		cr_assert_gt(part.end, part.begin);
		cr_assert(own == units / n || own == units / n + 1,
			  "part %u of %u: %" PRIu64 " units of %" PRIu64, i, n,
			  own, units);
		at = part.end;
	}
	cr_assert_eq(at, elements);
}

Test(shards, parts_for_threads_are_equal_and_cover_everything_once)
{
	for (unsigned n = 1; n <= 256; n++) {
		for (uint64_t more = 0; more < 3 * n; more += 1 + n / 7) {
			uint64_t units = n + more;

			check_cut((units - 1) * FILL_PART_UNIT + 1, n);
			check_cut(units * FILL_PART_UNIT, n);
		}
		check_cut(UINT64_MAX / 2, n);
	}
}

Test(shards, few_long_rows_are_cut_for_all_threads)
{
	struct fill_args args = {.rows = 2, .count = 1 << 20, .threads = 2};

	cr_assert_eq(fill_host_parts(KERNEL_bits_u32, &args), 2);
	args.threads = 16;
	cr_assert_eq(fill_host_parts(KERNEL_bits_u32, &args), 8);
	args.threads = 5;
	cr_assert_eq(fill_host_parts(KERNEL_bits_u32, &args), 5);
	args.count = (1 << 17) - 1;
	cr_assert_eq(fill_host_parts(KERNEL_bits_u32, &args), 0);
}

PROMISE(shards, a_number_of_threads_out_of_range_is_refused)
{
	FAILS(philox_device_set_threads(f->device, 0), PHILOX_ERROR_INVALID);
	NAMES("threads is 0");
	FAILS(philox_device_set_threads(f->device, 257), PHILOX_ERROR_INVALID);
	NAMES("257");
	FAILS(philox_device_set_threads(NULL, 1), PHILOX_ERROR_INVALID);
}

static void refuse(struct fixture *f, struct philox_span span,
		   enum philox_status expected, const char *word)
{
	static uint32_t out[4];
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = span,
					.out = out};
	uint64_t launches = philox_device_call_count(f->device, "launch");

	FAILS(philox_rng_fill(f->device, f->stream,
			      (struct philox_rng){.state = state}, &fill),
	      expected);
	NAMES(word);
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
}

PROMISE(shards, rows_that_overlap_or_pass_2_to_the_64_are_refused)
{
	const uint64_t half = (uint64_t)1 << 63;

	refuse(f, philox_span_rows(0, 2, 10, 9), PHILOX_ERROR_INVALID,
	       "row_stride 9 is below count 10");
	refuse(f, philox_span_rows(half, 2, 10, half), PHILOX_ERROR_OVERFLOW,
	       "past 2^64");
	refuse(f, philox_span_rows(0, 3, 1, half), PHILOX_ERROR_OVERFLOW,
	       "past 2^64");
	refuse(f, philox_span_rows(0, half, 1, half), PHILOX_ERROR_OVERFLOW,
	       "past 2^64");
	refuse(f, philox_span_rows(0, half / 2, 2, 2), PHILOX_ERROR_OVERFLOW,
	       "bytes");
}

/* A single row has no stride; rows may follow each other. */
PROMISE(shards, a_stride_matters_between_rows_alone)
{
	const struct philox_span spans[] = {
		{7, 12, 0, 0}, {7, 12, 1, 0}, {7, 12, 1, 5}, {7, 6, 2, 6}};
	uint32_t *whole = make_memory(f, 48), *part = make_memory(f, 48);
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = philox_span_elements(7, 12),
					.out = whole};
	struct philox_rng rng = {.state = state};

	OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	fill.out = part;
	for (size_t i = 0; i < 4; i++) {
		fill.span = spans[i];
		OK(philox_memory_set(f->device, f->stream, part, 0, 48));
		OK(philox_rng_fill(f->device, f->stream, rng, &fill));
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert_arr_eq(part, whole, 48, "span %zu", i);
	}
}

PROMISE(shards, an_empty_shard_draws_nothing)
{
	struct philox_fill_desc fill = {
		.size = sizeof(fill),
		.dist = PHILOX_DIST_BITS,
		.dtype = PHILOX_DTYPE_U32,
		.span = philox_span_rows(7, 1000, 0, 5)};
	uint64_t launches = philox_device_call_count(f->device, "launch");

	OK(philox_rng_fill(f->device, f->stream,
			   (struct philox_rng){.state = state}, &fill));
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
}
