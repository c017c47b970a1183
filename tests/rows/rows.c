/*
 * tests/rows/rows.c - rows are independent states that live on the device
 *
 * The oracle is Philox written again from the paper
 * (tests/support/models/rows.h).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/models/rows.h"
#include "tests/support/fills.h"
#include "tests/support/support.h"
#include "lib/dist/dist.h"

enum { ROWS = 300, VALUES = 7, PITCH = 9 };

static struct philox_rows *make_rows(struct fixture *f, const char *name,
				     uint32_t count)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = name, .count = count};
	struct philox_rows *rows;

	OK(philox_rows_create(f->context, &options, &rows));
	return rows;
}

static struct philox_state state_of(struct fixture *f, struct philox_rows *rows,
				    uint32_t row)
{
	struct philox_state state;

	OK(philox_rows_get(rows, f->stream, row, 1, &state));
	OK(philox_stream_synchronize(f->device, f->stream));
	return state;
}

static void is_state(struct fixture *f, struct philox_rows *rows, uint32_t row,
		     struct philox_state expected)
{
	struct philox_state state = state_of(f, rows, row);

	cr_assert(
		state.seed == expected.seed && state.offset == expected.offset,
		"row %u is at %016" PRIx64 " %" PRIu64 ", not at %016" PRIx64
		" %" PRIu64,
		row, state.seed, state.offset, expected.seed, expected.offset);
}

static void is_at(struct fixture *f, struct philox_rows *rows, uint32_t row,
		  uint64_t offset)
{
	struct philox_state state = {
		model_row_seed(0, philox_rows_name(rows), row), offset};

	is_state(f, rows, row, state);
}

static struct philox_row_fill_desc bits(uint32_t *out)
{
	return (struct philox_row_fill_desc){
		.size = sizeof(struct philox_row_fill_desc),
		.dist = PHILOX_DIST_BITS,
		.dtype = PHILOX_DTYPE_U32,
		.count = VALUES,
		.pitch = PITCH,
		.out = out};
}

/*
 * --- the numbers of rows
 * -------------------------------------------------------
 */

/* Entry i holds VALUES words of the state, and PITCH - VALUES untouched. */
static void are_words(const uint32_t *out, uint32_t entry,
		      struct philox_state state)
{
	for (uint32_t j = 0; j < PITCH; j++) {
		uint32_t expected =
			j < VALUES ? model_word(state, j) : 0xeeeeeeee;

		cr_assert(out[entry * PITCH + j] == expected,
			  "entry %u, value %u is %08x, not %08x", entry, j,
			  out[entry * PITCH + j], expected);
	}
}

static uint32_t *new_output(struct fixture *f, uint32_t entries)
{
	size_t size = entries * PITCH * sizeof(uint32_t);
	uint32_t *out = make_memory(f, size);

	OK(philox_memory_set(f->device, f->stream, out, 0xee, size));
	return out;
}

PROMISE(rows, begin_apart_and_at_offset_0)
{
	struct philox_rows *rows = make_rows(f, "a", ROWS);
	struct philox_state *states;

	OK(philox_rows_states(rows, &states));
	for (uint32_t row = 0; row < ROWS; row++) {
		is_at(f, rows, row, 0);
		for (uint32_t other = 0; other < row; other++)
			cr_assert(states[row].seed != states[other].seed);
	}
	cr_assert_eq(philox_rows_count(rows), ROWS);
	cr_assert_str_eq(philox_rows_name(rows), "a");
}

PROMISE(rows, of_another_table_are_others)
{
	struct philox_generator *generator;
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "b", .count = 2};
	struct philox_rows *rows;

	OK(philox_generator_create(f->context, 77, &generator));
	options.generator = generator;
	OK(philox_rows_create(f->context, &options, &rows));
	is_state(f, rows, 1,
		 (struct philox_state){model_row_seed(77, "b", 1), 0});
}

PROMISE(rows, draw_their_words_and_advance_by_4)
{
	struct philox_rows *rows = make_rows(f, "a", ROWS);
	uint32_t *out = new_output(f, ROWS);
	struct philox_row_fill_desc fill = bits(out);

	for (uint64_t launch = 0; launch < 3; launch++) {
		OK(philox_rows_fill(rows, f->stream, NULL, &fill));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t row = 0; row < ROWS; row++)
			are_words(out, row,
				  (struct philox_state){
					  model_row_seed(0, "a", row),
					  4 * launch});
	}
	is_at(f, rows, 0, 12);
	is_at(f, rows, ROWS - 1, 12);
	OK(philox_rows_check(rows, NULL));
}

/* The bytes that philox_rng_fill() makes from a row's state. */
static void like_rng_fill(struct fixture *f, enum philox_dist dist,
			  enum philox_dtype dtype, size_t size, uint64_t first)
{
	struct philox_rows *rows = make_rows(f, "like", 5);
	unsigned char *out = make_memory(f, 5 * VALUES * size);
	unsigned char *one = make_memory(f, VALUES * size);
	struct philox_row_fill_desc fill = {.size = sizeof(fill),
					    .dist = dist,
					    .dtype = dtype,
					    .first = first,
					    .count = VALUES,
					    .pitch = VALUES,
					    .out = out,
					    .flags = PHILOX_ROWS_KEEP};
	struct philox_fill_desc same = {
		.size = sizeof(same),
		.dist = dist,
		.dtype = dtype,
		.span = philox_span_elements(first, VALUES),
		.high = 1,
		.std = 1,
		.out = one};
	struct philox_state *states;

	OK(philox_rows_states(rows, &states));
	OK(philox_rows_fill(rows, f->stream, NULL, &fill));
	for (uint32_t row = 0; row < 5; row++) {
		struct philox_rng rng = {.cell = states + row};

		OK(philox_rng_fill(f->device, f->stream, rng, &same));
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert(memcmp(out + row * VALUES * size, one,
				 VALUES * size) == 0,
			  "dist %d, dtype %d, row %u", dist, dtype, row);
	}
	OK(philox_rows_destroy(rows));
}

PROMISE(rows, draw_what_a_fill_from_their_cell_draws)
{
	static const uint64_t firsts[] = {0, 1, 6, UINT64_MAX - VALUES + 1};

	for (size_t i = 0; i < 4; i++) {
		like_rng_fill(f, PHILOX_DIST_BITS, PHILOX_DTYPE_U32, 4,
			      firsts[i]);
		like_rng_fill(f, PHILOX_DIST_BITS, PHILOX_DTYPE_U64, 8,
			      firsts[i]);
		like_rng_fill(f, PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F32, 4,
			      firsts[i]);
		like_rng_fill(f, PHILOX_DIST_NORMAL, PHILOX_DTYPE_F32, 4,
			      firsts[i]);
	}
}

PROMISE(rows, draw_uniforms_of_53_bits)
{
	struct philox_rows *rows = make_rows(f, "u", 3);
	double *out = make_memory(f, 3 * VALUES * sizeof(*out));
	struct philox_row_fill_desc fill = {.size = sizeof(fill),
					    .dist = PHILOX_DIST_UNIFORM,
					    .dtype = PHILOX_DTYPE_F64,
					    .first = 1,
					    .count = VALUES,
					    .pitch = VALUES,
					    .out = out};

	OK(philox_rows_fill(rows, f->stream, NULL, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t i = 0; i < 3 * VALUES; i++) {
		struct philox_state state = {model_row_seed(0, "u", i / VALUES),
					     0};
		uint64_t e = 1 + i % VALUES;
		uint64_t word = (uint64_t)model_word(state, 2 * e + 1) << 32 |
				model_word(state, 2 * e);

		cr_assert(out[i] == ldexp((double)(word >> 11), -53));
	}
}

/* --- lists ---------------------------------------------------------------- */

PROMISE(rows, draw_the_same_whatever_is_beside_them)
{
	static const uint32_t lists[3][5] = {
		{7, 3, 250, 0, 299}, {0, 250, 7, 11, 12}, {250, 1, 2, 3, 7}};
	struct philox_rows *rows = make_rows(f, "a", ROWS);
	uint32_t *out = new_output(f, 5);
	struct philox_row_fill_desc fill = bits(out);

	fill.flags = PHILOX_ROWS_KEEP;
	for (int k = 0; k < 3; k++)
		for (uint32_t n = 1; n <= 5; n++) {
			struct philox_row_list list = {
				.size = sizeof(list),
				.indices = upload(f, lists[k], n * 4),
				.count = n};

			OK(philox_rows_fill(rows, f->stream, &list, &fill));
			OK(philox_stream_synchronize(f->device, f->stream));
			for (uint32_t i = 0; i < n; i++)
				are_words(out, i,
					  (struct philox_state){
						  model_row_seed(0, "a",
								 lists[k][i]),
						  0});
		}
	is_at(f, rows, 7, 0);
}

/* A batch that became empty: its arrays are not used and may be NULL. */
PROMISE(rows, that_no_entry_names_are_left_alone)
{
	struct philox_rows *rows = make_rows(f, "a", 3);
	struct philox_row_list none = {.size = sizeof(none), .count = 0};
	uint32_t *out = new_output(f, 3);
	struct philox_row_fill_desc fill = bits(out);
	uint64_t launches = philox_device_call_count(f->device, "launch");

	for (int i = 0; i < 2; i++) {
		OK(philox_rows_fill(rows, f->stream, &none, &fill));
		OK(philox_rows_advance(rows, f->stream, &none, 4));
		none.indices = out;
	}
	fill.out = NULL;
	OK(philox_rows_fill(rows, f->stream, &none, &fill));
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t i = 0; i < 3 * PITCH; i++)
		cr_assert_eq(out[i], 0xeeeeeeee);
	for (uint32_t row = 0; row < 3; row++)
		is_at(f, rows, row, 0);
	OK(philox_rows_check(rows, NULL));
	fill.flags = 2;
	FAILS(philox_rows_fill(rows, f->stream, &none, &fill),
	      PHILOX_ERROR_INVALID);
	NAMES("flags");
}

PROMISE(rows, that_a_mask_leaves_out_neither_draw_nor_advance)
{
	static const uint32_t indices[4] = {5, 2, 9, 0};
	static const uint8_t mask[10] = {1, 0, 255, 0, 1, 1, 0, 0, 1, 0};
	struct philox_rows *rows = make_rows(f, "a", 10);
	struct philox_row_list list = {
		.size = sizeof(list), .mask = upload(f, mask, 10), .count = 10};
	uint32_t *out = new_output(f, 10);
	struct philox_row_fill_desc fill = bits(out);

	OK(philox_rows_fill(rows, f->stream, &list, &fill));
	for (uint32_t row = 0; row < 10; row++) {
		is_at(f, rows, row, mask[row] ? 4 : 0);
		if (mask[row])
			are_words(out, row,
				  (struct philox_state){
					  model_row_seed(0, "a", row), 0});
		else
			cr_assert_eq(out[row * PITCH], 0xeeeeeeee);
	}
	list.indices = upload(f, indices, sizeof(indices));
	list.count = 4;
	OK(philox_rows_fill(rows, f->stream, &list, &fill));
	is_at(f, rows, 5, 8); /* mask[0] */
	is_at(f, rows, 2, 4); /* mask[1] */
	is_at(f, rows, 9, 4); /* mask[2] */
	is_at(f, rows, 0, 4); /* mask[3] */
}

PROMISE(rows, named_twice_draw_the_same_and_advance_once)
{
	static const uint32_t indices[6] = {4, 1, 4, 4, 2, 1};
	struct philox_rows *rows = make_rows(f, "a", 5);
	struct philox_row_list list = {
		.size = sizeof(list),
		.indices = upload(f, indices, sizeof(indices)),
		.count = 6};
	uint32_t *out = new_output(f, 6);
	struct philox_row_fill_desc fill = bits(out);

	for (uint64_t launch = 0; launch < 3; launch++) {
		OK(philox_rows_fill(rows, f->stream, &list, &fill));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t i = 0; i < 6; i++)
			are_words(out, i,
				  (struct philox_state){
					  model_row_seed(0, "a", indices[i]),
					  4 * launch});
	}
	is_at(f, rows, 4, 12);
	is_at(f, rows, 2, 12);
	is_at(f, rows, 0, 0);
}

PROMISE(rows, take_at_most_the_count_of_their_entry)
{
	static const uint32_t counts[4] = {0, 3, VALUES, 100};
	struct philox_rows *rows = make_rows(f, "a", 4);
	uint32_t *out = new_output(f, 4);
	struct philox_row_fill_desc fill = bits(out);

	fill.counts = upload(f, counts, sizeof(counts));
	OK(philox_rows_fill(rows, f->stream, NULL, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t row = 0; row < 4; row++) {
		struct philox_state state = {model_row_seed(0, "a", row), 0};

		for (uint32_t j = 0; j < PITCH; j++) {
			int drawn = j < counts[row] && j < VALUES;

			cr_assert_eq(out[row * PITCH + j],
				     drawn ? model_word(state, j) : 0xeeeeeeee);
		}
		is_at(f, rows, row, 4);
	}
}

/*
 * Philox blocks that are not needed are not computed: this ends. No allocation
 * holds the values that are not drawn.
 */
Test(rows, may_take_few_of_very_many_values, .timeout = 120)
{
	static const uint32_t counts[1] = {5};
	struct philox_state state = {model_row_seed(0, "a", 0), 0};
	struct philox_row_fill_desc fill;
	struct philox_rows *rows;
	uint32_t out[PITCH];
	struct fixture f;

	fixture_open(&f, "host");
	rows = make_rows(&f, "a", 1);
	memset(out, 0xee, sizeof(out));
	fill = bits(out);
	fill.first = 3;
	fill.count = (uint64_t)1 << 50;
	fill.pitch = fill.count;
	fill.counts = upload(&f, counts, sizeof(counts));
	OK(philox_rows_fill(rows, f.stream, NULL, &fill));
	OK(philox_stream_synchronize(f.device, f.stream));
	for (uint32_t j = 0; j < PITCH; j++)
		cr_assert_eq(out[j],
			     j < 5 ? model_word(state, 3 + j) : 0xeeeeeeee);
	is_at(&f, rows, 0, 4);
	fixture_close(&f);
}

PROMISE(rows, that_do_not_exist_are_left_out_and_reported_once)
{
	static const uint32_t indices[5] = {1, 2, 0, UINT32_MAX, 2};
	struct philox_rows *rows = make_rows(f, "few", 2);
	struct philox_row_list list = {
		.size = sizeof(list),
		.indices = upload(f, indices, sizeof(indices)),
		.count = 5};
	uint32_t *out = new_output(f, 5);
	struct philox_row_fill_desc fill = bits(out);
	struct philox_rows_report report = {.size = sizeof(report)};

	OK(philox_rows_check(rows, &report));
	cr_assert(!report.launches && !report.outside && !report.used_up);
	OK(philox_rows_fill(rows, f->stream, &list, &fill));
	OK(philox_rows_advance(rows, f->stream, &list, 8));
	OK(philox_rows_fill(rows, f->stream, NULL, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(out[3 * PITCH], 0xeeeeeeee);
	FAILS(philox_rows_check(rows, &report), PHILOX_ERROR_OVERFLOW);
	NAMES("few");
	cr_assert_eq(report.launches, 2);
	cr_assert_eq(report.outside, 6);
	cr_assert_eq(report.used_up, 0);
	OK(philox_rows_check(rows, NULL));
	is_at(f, rows, 0, 16);
	is_at(f, rows, 1, 16);
}

/* --- the end of a row ----------------------------------------------------- */

static void set_row(struct fixture *f, struct philox_rows *rows, uint32_t row,
		    struct philox_state state)
{
	OK(philox_rows_set(rows, f->stream, &row, &state, 1));
}

PROMISE(rows, that_are_used_up_give_poison_and_stay)
{
	const struct philox_state last = {5, UINT64_MAX - 3},
				  before = {5, UINT64_MAX - 7};
	struct philox_rows *rows = make_rows(f, "a", 2);
	uint32_t *out = new_output(f, 2);
	struct philox_row_fill_desc fill = bits(out);
	struct philox_rows_report report = {.size = sizeof(report)};

	set_row(f, rows, 0, before);
	OK(philox_rows_fill(rows, f->stream, NULL, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	are_words(out, 0, before);
	is_state(f, rows, 0, last);
	for (int i = 0; i < 2; i++) {
		OK(philox_rows_fill(rows, f->stream, NULL, &fill));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t j = 0; j < VALUES; j++)
			cr_assert_eq(out[j], UINT32_MAX);
		is_state(f, rows, 0, last);
	}
	is_at(f, rows, 1, 12);
	FAILS(philox_rows_check(rows, &report), PHILOX_ERROR_OVERFLOW);
	cr_assert_eq(report.launches, 2);
	cr_assert_eq(report.used_up, 2);
	cr_assert_eq(report.outside, 0);
	fill.flags = PHILOX_ROWS_KEEP;
	OK(philox_rows_fill(rows, f->stream, NULL, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	are_words(out, 0, last);
	OK(philox_rows_check(rows, NULL));
}

/* What is reserved may have a meaning in a later version. */
PROMISE(rows, refuse_reserved_members_that_are_set)
{
	struct philox_rows *rows = make_rows(f, "a", 1);
	struct philox_row_fill_desc fill = bits(new_output(f, 1));
	struct philox_sample_desc sample = {.size = sizeof(sample),
					    .reserved = 1};
	struct philox_seed_list slots = {.size = sizeof(slots), .reserved = 1};

	fill.reserved = 1;
	FAILS(philox_rows_fill(rows, f->stream, NULL, &fill),
	      PHILOX_ERROR_INVALID);
	NAMES("fill: reserved is 0x1");
	FAILS(philox_sample_rows(rows, f->stream, NULL, &sample),
	      PHILOX_ERROR_INVALID);
	NAMES("sample: reserved is 0x1");
	sample.reserved = 0;
	FAILS(philox_sample_seeds(f->device, f->stream, &slots, NULL, &sample),
	      PHILOX_ERROR_INVALID);
	NAMES("slots: reserved is 0x1");
}

PROMISE(rows, give_nan_where_poison_is_a_real_number)
{
	const struct philox_state last = {5, UINT64_MAX - 3};
	struct philox_rows *rows = make_rows(f, "a", 1);
	float *x = make_memory(f, sizeof(*x));
	double *y = make_memory(f, sizeof(*y));
	struct philox_row_fill_desc fill = {.size = sizeof(fill),
					    .dist = PHILOX_DIST_UNIFORM,
					    .dtype = PHILOX_DTYPE_F32,
					    .count = 1,
					    .out = x};

	set_row(f, rows, 0, last);
	OK(philox_rows_fill(rows, f->stream, NULL, &fill));
	fill.dtype = PHILOX_DTYPE_F64;
	fill.out = y;
	OK(philox_rows_fill(rows, f->stream, NULL, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert(isnan(*x) && isnan(*y));
}

PROMISE(rows, advance_without_a_draw)
{
	static const uint32_t indices[3] = {1, 1, 0};
	struct philox_rows *rows = make_rows(f, "a", 3);
	struct philox_row_list list = {.size = sizeof(list),
				       .indices = upload(f, indices, 12),
				       .count = 3};

	OK(philox_rows_advance(rows, f->stream, &list, 400));
	OK(philox_rows_advance(rows, f->stream, NULL, 4));
	is_at(f, rows, 0, 404);
	is_at(f, rows, 1, 404);
	is_at(f, rows, 2, 4);
	set_row(f, rows, 2, (struct philox_state){1, UINT64_MAX - 103});
	OK(philox_rows_advance(rows, f->stream, NULL, 104));
	is_state(f, rows, 2, (struct philox_state){1, UINT64_MAX - 103});
	FAILS(philox_rows_check(rows, NULL), PHILOX_ERROR_OVERFLOW);
	OK(philox_rows_advance(rows, f->stream, NULL, 100));
	is_state(f, rows, 2, (struct philox_state){1, UINT64_MAX - 3});
	FAILS(philox_rows_advance(rows, f->stream, NULL, 6),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': words is 6, not a multiple of 4");
}

/* --- setting and reading -------------------------------------------------- */

PROMISE(rows, are_set_in_batches_whose_arrays_are_free_at_once)
{
	enum { N = 1000 };
	struct philox_rows *rows = make_rows(f, "a", 2 * N);
	struct philox_state *states = calloc(2 * N, sizeof(*states));
	uint32_t *indices = calloc(N, sizeof(*indices));

	for (uint32_t i = 0; i < N; i++) {
		indices[i] = 2 * (N - 1 - i);
		states[i] = (struct philox_state){i, 4 * i};
	}
	OK(philox_rows_set(rows, f->stream, indices, states, N));
	memset(indices, 0xff, N * sizeof(*indices));
	memset(states, 0xff, N * sizeof(*states));
	OK(philox_rows_get(rows, f->stream, 0, 2 * N, states));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t i = 0; i < N; i++) {
		cr_assert_eq(states[2 * (N - 1 - i)].seed, i);
		cr_assert_eq(states[2 * (N - 1 - i)].offset, 4 * i);
		cr_assert_eq(states[2 * i + 1].seed,
			     model_row_seed(0, "a", 2 * i + 1));
	}
	free(states);
	free(indices);
}

PROMISE(rows, are_set_from_0_on_without_indices)
{
	const struct philox_state states[2] = {{8, 12}, {9, 16}};
	struct philox_rows *rows = make_rows(f, "a", 3);

	OK(philox_rows_set(rows, f->stream, NULL, states, 2));
	is_state(f, rows, 0, states[0]);
	is_state(f, rows, 1, states[1]);
	is_at(f, rows, 2, 0);
}

static void refuses_batch(struct fixture *f, struct philox_rows *rows,
			  const uint32_t *indices,
			  const struct philox_state *states, size_t n,
			  const char *names)
{
	uint64_t launches = philox_device_call_count(f->device, "launch");

	FAILS(philox_rows_set(rows, f->stream, indices, states, n),
	      PHILOX_ERROR_INVALID);
	NAMES(names);
	NAMES("rows 'a': ");
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
	for (uint32_t row = 0; row < 8; row++)
		is_at(f, rows, row, 0);
}

PROMISE(rows, are_not_set_by_a_batch_with_a_bad_entry)
{
	static const uint32_t twice[4] = {3, 1, 6, 1}, out[2] = {2, 8},
			      good[2] = {7, 3};
	const struct philox_state states[4] = {{1, 4}, {2, 8}, {3, 0}, {4, 0}};
	const struct philox_state odd[2] = {{1, 4}, {2, 6}};
	struct philox_rows *rows = make_rows(f, "a", 8);

	refuses_batch(f, rows, twice, states, 4, "indices[3] is 1");
	refuses_batch(f, rows, out, states, 2, "indices[1] is 8");
	refuses_batch(f, rows, good, odd, 2,
		      "states[1].offset is 6, not a multiple of 4 (row 3)");
	refuses_batch(f, rows, good, states, 0, "n_rows is 0");
	refuses_batch(f, rows, NULL, states, 9, "n_rows is 9");
	refuses_batch(f, rows, good, NULL, 2, "states is NULL");
	/* nothing of a refused batch is remembered */
	OK(philox_rows_set(rows, f->stream, (uint32_t[]){1, 3, 6}, states, 3));
	is_state(f, rows, 3, states[1]);
}

PROMISE(rows, that_are_read_must_exist)
{
	struct philox_rows *rows = make_rows(f, "a", 4);
	struct philox_state states[4];

	FAILS(philox_rows_get(rows, f->stream, 4, 1, states),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': first 4 + n_rows 1 is past its 4 rows");
	FAILS(philox_rows_get(rows, f->stream, 2, 3, states),
	      PHILOX_ERROR_INVALID);
	NAMES("first 2 + n_rows 3");
	FAILS(philox_rows_get(rows, f->stream, 0, 0, states),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': n_rows is 0");
	FAILS(philox_rows_get(rows, f->stream, 0, 1, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': states is NULL");
}

struct writing {
	struct philox_state *to, state;
};

static void write_state(const void *args)
{
	const struct writing *writing = args;

	*writing->to = writing->state;
}

PROMISE(rows, may_be_written_by_your_own_kernel)
{
	struct philox_rows *rows = make_rows(f, "a", 2);
	uint32_t *out = new_output(f, 2);
	struct philox_row_fill_desc fill = bits(out);
	struct writing writing = {.state = {123, 40}};

	OK(philox_rows_states(rows, &writing.to));
	OK(philox_rows_fill(rows, f->stream, NULL, &fill));
	OK(philox_stream_launch_host(f->device, f->stream, write_state,
				     &writing, sizeof(writing)));
	OK(philox_rows_fill(rows, f->stream, NULL, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	are_words(out, 0, writing.state);
	is_state(f, rows, 0, (struct philox_state){123, 44});
}

/* --- the generator -------------------------------------------------------- */

PROMISE(rows, stay_when_the_generator_is_seeded_until_they_are_restarted)
{
	struct philox_rows *rows = make_rows(f, "a", 3);

	OK(philox_rows_advance(rows, f->stream, NULL, 8));
	OK(philox_generator_seed(philox_context_generator(f->context), 42));
	is_at(f, rows, 1, 8);
	OK(philox_rows_restart(rows, f->stream));
	for (uint32_t row = 0; row < 3; row++)
		is_state(
			f, rows, row,
			(struct philox_state){model_row_seed(42, "a", row), 0});
}

PROMISE(rows, keep_their_generator_alive)
{
	struct philox_generator *generator;
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = 1};
	struct philox_rows *rows;

	OK(philox_generator_create(f->context, 1, &generator));
	options.generator = generator;
	OK(philox_rows_create(f->context, &options, &rows));
	FAILS(philox_generator_destroy(generator), PHILOX_ERROR_BUSY);
	OK(philox_rows_destroy(rows));
	OK(philox_generator_destroy(generator));
}

/* 2^24 entries, none of which takes part: no index is read. */
PROMISE(rows, may_be_listed_in_as_many_entries_as_there_may_be_rows)
{
	struct philox_rows *rows = make_rows(f, "a", 1);
	struct philox_row_list list = {.size = sizeof(list), .count = 1u << 24};

	list.indices = make_memory(f, list.count * sizeof(*list.indices));
	list.mask = make_memory(f, list.count);
	OK(philox_memory_set(f->device, f->stream, (void *)list.mask, 0,
			     list.count));
	OK(philox_rows_advance(rows, f->stream, &list, 4));
	OK(philox_stream_synchronize(f->device, f->stream));
	is_at(f, rows, 0, 0);
}

/* --- names and options ---------------------------------------------------- */

PROMISE(rows, have_a_name_of_their_own)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = 1};
	struct philox_rows *rows = make_rows(f, "a", 1), *again = NULL;

	make_region(f, "a"); /* regions have their own names */
	FAILS(philox_rows_create(f->context, &options, &again),
	      PHILOX_ERROR_EXISTS);
	NAMES("'a'");
	cr_assert_null(again);
	OK(philox_rows_advance(rows, f->stream, NULL, 4));
	OK(philox_device_synchronize(f->device));
	OK(philox_rows_destroy(rows));
	OK(philox_rows_create(f->context, &options, &again));
	is_at(f, again, 0, 0);
}

/* Their rows would draw the same numbers. */
PROMISE(rows, of_a_name_with_the_hash_of_another_are_refused)
{
	struct philox_rows_desc options = {.size = sizeof(options),
					   .name = "GReLUrM4wMqfg9yzV3KQ",
					   .count = 1};
	struct philox_rows *rows = make_rows(f, "8yn0iYCKYHlIj4-BwPqk", 1);
	struct philox_rows *other = NULL;

	FAILS(philox_rows_create(f->context, &options, &other),
	      PHILOX_ERROR_EXISTS);
	NAMES("'GReLUrM4wMqfg9yzV3KQ': rows '8yn0iYCKYHlIj4-BwPqk' has its");
	cr_assert_null(other);
	OK(philox_rows_destroy(rows));
	OK(philox_rows_create(f->context, &options, &other));
}

PROMISE(rows, are_not_made_of_bad_options)
{
	struct philox_context *other;
	struct philox_rows_desc good = {
		.size = sizeof(good), .name = "a", .count = 1};
	struct philox_rows_desc bad = good;
	struct philox_rows *rows = NULL;

	OK(philox_context_create(f->device, &other));
	bad.name = "";
	FAILS(philox_rows_create(f->context, &bad, &rows),
	      PHILOX_ERROR_INVALID);
	NAMES("rows options: name is empty");
	bad.name = NULL;
	FAILS(philox_rows_create(f->context, &bad, &rows),
	      PHILOX_ERROR_INVALID);
	NAMES("rows options: name is NULL");
	bad = good;
	bad.count = 0;
	FAILS(philox_rows_create(f->context, &bad, &rows),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': count is 0");
	bad.count = (1 << 24) + 1;
	FAILS(philox_rows_create(f->context, &bad, &rows),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': count is 16777217, not in 1 .. 2^24");
	bad = good;
	bad.generator = philox_context_generator(other);
	FAILS(philox_rows_create(f->context, &bad, &rows),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': generator is of another context");
	for (size_t size = 0; size < sizeof(good); size++) {
		bad = good;
		bad.size = size;
		FAILS(philox_rows_create(f->context, &bad, &rows),
		      PHILOX_ERROR_INVALID);
	}
	FAILS(philox_rows_create(NULL, &good, &rows), PHILOX_ERROR_INVALID);
	FAILS(philox_rows_create(f->context, NULL, &rows),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_rows_create(f->context, &good, NULL),
	      PHILOX_ERROR_INVALID);
	cr_assert_null(rows);
	OK(philox_rows_destroy(NULL));
	philox_context_destroy(other);
}

static void refuses_fill(struct fixture *f, struct philox_rows *rows,
			 const struct philox_row_list *list,
			 struct philox_row_fill_desc fill,
			 enum philox_status status, const char *names)
{
	uint64_t launches = philox_device_call_count(f->device, "launch");

	FAILS(philox_rows_fill(rows, f->stream, list, &fill), status);
	NAMES(names);
	NAMES("rows 'a': ");
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
}

PROMISE(rows, refuse_a_draw_that_is_wrong)
{
	struct philox_rows *rows = make_rows(f, "a", 4);
	uint32_t *out = new_output(f, 4);
	const struct philox_row_fill_desc good = bits(out);
	struct philox_row_fill_desc bad = good;
	struct philox_row_list list = {.size = sizeof(list), .count = 5};

	refuses_fill(f, rows, &list, good, PHILOX_ERROR_INVALID,
		     "list: count is 5 without indices, there are 4 rows");
	list.count = (1 << 24) + 1;
	list.indices = out;
	refuses_fill(f, rows, &list, good, PHILOX_ERROR_INVALID,
		     "list: count is 16777217, above 2^24");
	list.count = 1;
	list.indices = (uint32_t *)((char *)out + 1);
	refuses_fill(f, rows, &list, good, PHILOX_ERROR_INVALID,
		     "list: indices (0x");
	NAMES("is not aligned to the 4 bytes of u32");
	bad.pitch = VALUES - 1;
	refuses_fill(f, rows, NULL, bad, PHILOX_ERROR_INVALID,
		     "fill: pitch is 6, below count 7");
	bad = good;
	bad.first = UINT64_MAX - VALUES + 2;
	refuses_fill(f, rows, NULL, bad, PHILOX_ERROR_OVERFLOW,
		     "fill: first 18446744073709551610 + count 7 is past 2^64");
	bad = good;
	bad.pitch = UINT64_MAX / 8;
	refuses_fill(f, rows, NULL, bad, PHILOX_ERROR_OVERFLOW,
		     "fill: 4 entries of count 7, pitch 2305843009213693951, "
		     "of dtype u32 are past 2^64 bytes");
	bad = good;
	bad.out = NULL;
	refuses_fill(f, rows, NULL, bad, PHILOX_ERROR_INVALID,
		     "fill: out is NULL");
	bad.out = (char *)out + 2;
	refuses_fill(f, rows, NULL, bad, PHILOX_ERROR_INVALID, "fill: out (0x");
	NAMES("is not aligned to the 4 bytes of u32");
	bad = good;
	bad.counts = (uint32_t *)((char *)out + 3);
	refuses_fill(f, rows, NULL, bad, PHILOX_ERROR_INVALID,
		     "fill: counts (0x");
	bad = good;
	bad.flags = 2;
	refuses_fill(f, rows, NULL, bad, PHILOX_ERROR_INVALID,
		     "fill: flags is 0x2");
	bad = good;
	bad.size = offsetof(struct philox_row_fill_desc, flags) + 3;
	refuses_fill(f, rows, NULL, bad, PHILOX_ERROR_INVALID, "size");
	FAILS(philox_rows_fill(rows, f->stream, NULL, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_rows_fill(NULL, f->stream, NULL, &good),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_rows_advance(NULL, f->stream, NULL, 4),
	      PHILOX_ERROR_INVALID);
	is_at(f, rows, 0, 0);
}

/* The pairs that a table offers, and the error for every other pair. */
static int offers(unsigned dist, unsigned dtype)
{
	switch (dist) {
	case PHILOX_DIST_BITS:
		return dtype == PHILOX_DTYPE_U32 || dtype == PHILOX_DTYPE_U64;
	case PHILOX_DIST_UNIFORM:
		return dtype == PHILOX_DTYPE_F32 || dtype == PHILOX_DTYPE_F64;
	default:
		return dist == PHILOX_DIST_NORMAL && dtype == PHILOX_DTYPE_F32;
	}
}

PROMISE(rows, that_do_not_offer_a_draw_say_so_by_name)
{
	static const char *const dtypes[] = {"u32",
					     "u64",
					     "f32",
					     "bf16",
					     "f16",
					     "f64",
					     "i32",
					     "i64",
					     "dtype 8 is unknown",
					     "dtype 9 is unknown"};
	struct philox_rows *rows = make_rows(f, "a", 4);
	struct philox_row_fill_desc bad = bits(new_output(f, 4));

	for (unsigned dist = 0; dist < SOME_DISTS; dist++)
		for (unsigned dtype = 0; dtype < 10; dtype++) {
			const char *known = fill_dist_name(dist);
			char text[64];

			if (offers(dist, dtype))
				continue;
			if (known)
				snprintf(text, sizeof(text), "dist %s ", known);
			else
				snprintf(text, sizeof(text),
					 "dist %u is unknown", dist);
			bad.dist = (enum philox_dist)dist;
			bad.dtype = (enum philox_dtype)dtype;
			refuses_fill(f, rows, NULL, bad, PHILOX_ERROR_INVALID,
				     dtype < 8 || !known ? text
							 : dtypes[dtype]);
			if (dist <= 2)
				NAMES(dtypes[dtype]);
		}
}

PROMISE(rows, are_named_in_the_journal)
{
	char path[] = "/tmp/philox-rows-XXXXXX", text[4096] = "";
	int descriptor = mkstemp(path);
	FILE *file;

	cr_assert(descriptor >= 0);
	OK(philox_context_set_journal(f->context, path));
	OK(philox_rows_destroy(make_rows(f, "slots", 12)));
	OK(philox_context_set_journal(f->context, NULL));
	file = fdopen(descriptor, "r");
	cr_assert(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	remove(path);
	cr_assert(strstr(text, "rows-create rows \"slots\" generator 0 count "
			       "12 seed "),
		  "%s", text);
	cr_assert(strstr(text, "rows-destroy rows \"slots\""), "%s", text);
}
