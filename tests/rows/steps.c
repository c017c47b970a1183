/*
 * tests/rows/steps.c - entries at steps of their own draw what later calls
 * would, and rows advance by counts on the device
 *
 * The oracle is Philox written again (tests/support/models/rows.h).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <philox/rows.h>
#include "tests/support/models/rows.h"
#include "tests/support/support.h"

enum {
	ROWS = 4,
	ENTRIES = 9,
	VALUES = 150, /* so that the host's loops use a fill */
	VOCAB = 50
};

/* Rows at several steps, one of them twice; one that is no row; one masked. */
static const uint32_t indices[ENTRIES] = {2, 2, 2, 0, 2, 0, 9, 1, 3};
static const uint32_t steps[ENTRIES] = {0, 1, 3, 5, 1, 0, 1, 0, UINT32_MAX};
static const uint8_t mask[ENTRIES] = {1, 1, 1, 1, 1, 1, 1, 0, 1};

#define LAST (UINT64_MAX - 3) /* the last offset there is */

static struct philox_rows *make_rows(struct fixture *f)
{
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = ROWS};
	struct philox_rows *rows;

	OK(philox_rows_create(f->context, &options, &rows));
	return rows;
}

static void set_row(struct fixture *f, struct philox_rows *rows, uint32_t row,
		    uint64_t seed, uint64_t offset)
{
	const struct philox_state state = {seed, offset};

	OK(philox_rows_set(rows, f->stream, &row, &state, 1));
}

static void is_at(struct fixture *f, struct philox_rows *rows, uint32_t row,
		  uint64_t offset)
{
	struct philox_state state;

	OK(philox_rows_get(rows, f->stream, row, 1, &state));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert(state.offset == offset,
		  "row %u is at %" PRIu64 ", not at %" PRIu64, row,
		  state.offset, offset);
}

/* What launches since the last check reported. */
static void reports(struct fixture *f, struct philox_rows *rows,
		    uint64_t outside, uint64_t used_up)
{
	struct philox_rows_report report = {.size = sizeof(report)};
	enum philox_status status;

	OK(philox_stream_synchronize(f->device, f->stream));
	status = philox_rows_check(rows, &report);
	cr_assert_eq(status,
		     outside + used_up ? PHILOX_ERROR_OVERFLOW : PHILOX_OK);
	cr_assert_eq(report.size, sizeof(report));
	cr_assert(report.outside == outside && report.used_up == used_up,
		  "%d outside and %d used up, not %d and %d",
		  (int)report.outside, (int)report.used_up, (int)outside,
		  (int)used_up);
}

static struct philox_row_list stepped_list(struct fixture *f)
{
	return (struct philox_row_list){
		.size = sizeof(struct philox_row_list),
		.indices = upload(f, indices, sizeof(indices)),
		.mask = upload(f, mask, sizeof(mask)),
		.count = ENTRIES,
		.steps = upload(f, steps, sizeof(steps))};
}

static struct philox_row_fill_desc words(uint32_t *out)
{
	return (struct philox_row_fill_desc){
		.size = sizeof(struct philox_row_fill_desc),
		.dist = PHILOX_DIST_BITS,
		.dtype = PHILOX_DTYPE_U32,
		.count = VALUES,
		.pitch = VALUES,
		.out = out,
		.flags = PHILOX_ROWS_KEEP};
}

static uint32_t *make_words(struct fixture *f, uint32_t n)
{
	const size_t size = (size_t)n * VALUES * sizeof(uint32_t);
	uint32_t *out = make_memory(f, size);

	OK(philox_memory_set(f->device, f->stream, out, 0xee, size));
	return out;
}

/* --- draws ---------------------------------------------------------------- */

/* Entry i of the list above, whose rows are at 8. */
static void is_entry(const uint32_t *out, uint32_t i)
{
	struct philox_state state = {model_row_seed(0, "a", indices[i]),
				     8 + 4 * (uint64_t)steps[i]};
	int drawn = mask[i] && indices[i] < ROWS;

	for (uint32_t j = 0; j < VALUES; j++)
		cr_assert_eq(out[i * VALUES + j],
			     drawn ? model_word(state, j) : 0xeeeeeeee,
			     "entry %u, value %u", i, j);
}

PROMISE(steps, draw_what_later_calls_would)
{
	struct philox_rows *rows = make_rows(f);
	struct philox_row_list list = stepped_list(f);
	uint32_t *out = make_words(f, ENTRIES);
	struct philox_row_fill_desc fill = words(out);

	OK(philox_rows_advance(rows, f->stream, NULL, 8));
	for (int times = 0; times < 2; times++) {
		OK(philox_rows_fill(rows, f->stream, &list, &fill));
		reports(f, rows, 1, 0);
		for (uint32_t i = 0; i < ENTRIES; i++)
			is_entry(out, i);
	}
	for (uint32_t row = 0; row < ROWS; row++)
		is_at(f, rows, row, 8);
}

/* The same values by plain calls: one list, then the advance, and again. */
PROMISE(steps, agree_with_plain_calls_in_every_kind_of_number)
{
	static const struct {
		enum philox_dist dist;
		enum philox_dtype dtype;
		size_t size;
	} kinds[] = {{PHILOX_DIST_BITS, PHILOX_DTYPE_U32, 4},
		     {PHILOX_DIST_BITS, PHILOX_DTYPE_U64, 8},
		     {PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F32, 4},
		     {PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F64, 8},
		     {PHILOX_DIST_NORMAL, PHILOX_DTYPE_F32, 4}};
	static const uint32_t step_of[3 * ROWS] = {0, 0, 0, 0, 1, 1,
						   1, 1, 2, 2, 2, 2};
	static const uint32_t row_of[3 * ROWS] = {0, 1, 2, 3, 0, 1,
						  2, 3, 0, 1, 2, 3};
	struct philox_rows *rows = make_rows(f);
	const struct philox_row_list list = {
		.size = sizeof(list),
		.indices = upload(f, row_of, sizeof(row_of)),
		.count = 3 * ROWS,
		.steps = upload(f, step_of, sizeof(step_of))};
	char *out = make_memory(f, (size_t)6 * ROWS * VALUES * 8);
	struct philox_row_fill_desc fill = words((uint32_t *)out);

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		const size_t size = ROWS * VALUES * kinds[k].size;

		fill.dist = kinds[k].dist;
		fill.dtype = kinds[k].dtype;
		fill.first = k; /* any part of a draw */
		fill.flags = PHILOX_ROWS_KEEP;
		fill.out = out;
		OK(philox_rows_fill(rows, f->stream, &list, &fill));
		fill.flags = 0;
		for (size_t i = 3; i < 6; i++) {
			fill.out = out + i * size;
			OK(philox_rows_fill(rows, f->stream, NULL, &fill));
		}
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert(!memcmp(out, out + 3 * size, 3 * size), "kind %zu",
			  k);
	}
}

PROMISE(steps, past_the_end_of_a_row_are_used_up)
{
	static const uint32_t rows_of[4] = {0, 0, 1, 1};
	static const uint32_t step_of[4] = {1, 2, UINT32_MAX, UINT32_MAX - 1};
	struct philox_rows *rows = make_rows(f);
	const struct philox_row_list list = {
		.size = sizeof(list),
		.indices = upload(f, rows_of, sizeof(rows_of)),
		.count = 4,
		.steps = upload(f, step_of, sizeof(step_of))};
	uint32_t *out = make_words(f, 4);
	struct philox_row_fill_desc fill = words(out);

	set_row(f, rows, 0, 5, LAST - 4);
	set_row(f, rows, 1, 6, LAST - 4 * ((uint64_t)UINT32_MAX - 1));
	OK(philox_rows_fill(rows, f->stream, &list, &fill));
	reports(f, rows, 0, 2);
	for (uint32_t j = 0; j < VALUES; j++) {
		const struct philox_state last[2] = {{5, LAST}, {6, LAST}};

		cr_assert_eq(out[j], model_word(last[0], j));
		cr_assert_eq(out[VALUES + j], UINT32_MAX);
		cr_assert_eq(out[2 * VALUES + j], UINT32_MAX);
		cr_assert_eq(out[3 * VALUES + j], model_word(last[1], j));
	}
	is_at(f, rows, 0, LAST - 4);
}

PROMISE(steps, of_a_row_that_holds_poison_are_poison)
{
	struct philox_rows *rows = make_rows(f);
	struct philox_row_list list = stepped_list(f);
	uint32_t *out = make_words(f, ENTRIES);
	struct philox_row_fill_desc fill = words(out);
	struct philox_state *states;

	OK(philox_rows_states(rows, &states));
	OK(philox_stream_synchronize(f->device, f->stream));
	states[2].offset = 41;
	OK(philox_rows_fill(rows, f->stream, &list, &fill));
	reports(f, rows, 1, 4);
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(out[i * VALUES], UINT32_MAX);
}

PROMISE(steps, of_a_sample_give_the_tokens_of_later_calls)
{
	static const uint32_t step_of[ROWS] = {3, 0, 6, 1};
	struct philox_rows *rows = make_rows(f);
	const struct philox_row_list list = {
		.size = sizeof(list),
		.count = ROWS,
		.steps = upload(f, step_of, sizeof(step_of))};
	float *logits = make_memory(f, ROWS * VOCAB * sizeof(*logits));
	int32_t *tokens = make_memory(f, 8 * ROWS * sizeof(*tokens));
	struct philox_sample_desc sample = {.size = sizeof(sample),
					    .logits = logits,
					    .dtype = PHILOX_DTYPE_F32,
					    .vocab = VOCAB,
					    .pitch = VOCAB,
					    .temperature = 1,
					    .tokens = tokens,
					    .flags = PHILOX_ROWS_KEEP};
	int differ = 0;

	memset(logits, 0, ROWS * VOCAB * sizeof(*logits));
	OK(philox_sample_rows(rows, f->stream, &list, &sample));
	sample.flags = 0;
	for (int k = 0; k < 7; k++) {
		sample.tokens = tokens + (k + 1) * ROWS;
		OK(philox_sample_rows(rows, f->stream, NULL, &sample));
	}
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t i = 0; i < ROWS; i++) {
		cr_assert_eq(tokens[i], tokens[(step_of[i] + 1) * ROWS + i]);
		differ += tokens[i] != tokens[ROWS + i];
	}
	cr_assert_gt(differ, 1);
	/* past the end: no token, and a report */
	set_row(f, rows, 2, 1, LAST - 20);
	sample.flags = PHILOX_ROWS_KEEP;
	sample.tokens = tokens;
	OK(philox_sample_rows(rows, f->stream, &list, &sample));
	reports(f, rows, 0, 1);
	cr_assert_eq(tokens[2], -1);
}

PROMISE(steps, need_rows_that_are_kept)
{
	struct philox_rows *rows = make_rows(f);
	struct philox_row_list list = stepped_list(f);
	struct philox_row_fill_desc fill = words(make_words(f, ENTRIES));
	uint64_t launches = philox_device_call_count(f->device, "launch");

	fill.flags = 0;
	FAILS(philox_rows_fill(rows, f->stream, &list, &fill),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': fill: flags is 0 and the list has steps, which need "
	      "PHILOX_ROWS_KEEP");
	FAILS(philox_rows_advance(rows, f->stream, &list, 4),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': list: steps is not NULL");
	FAILS(philox_rows_advance_by(rows, f->stream, &list, 4, list.indices),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': list: steps is not NULL");
	fill.flags = PHILOX_ROWS_KEEP;
	list.steps = (uint32_t *)((char *)list.steps + 2);
	FAILS(philox_rows_fill(rows, f->stream, &list, &fill),
	      PHILOX_ERROR_INVALID);
	NAMES("list: steps (0x");
	NAMES("is not aligned to the 4 bytes of u32");
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
}

PROMISE(steps, are_in_a_list_that_knows_its_size)
{
	struct philox_rows *rows = make_rows(f);
	struct philox_row_list list = {.count = 1};
	struct {
		struct philox_row_list list;
		uint64_t later;
	} grown = {{.size = sizeof(grown), .count = 1}, 0};

	for (size_t size = 0; size < sizeof(list); size++) {
		list.size = size;
		FAILS(philox_rows_advance(rows, f->stream, &list, 4),
		      PHILOX_ERROR_INVALID);
		NAMES("rows 'a': list: size is ");
	}
	OK(philox_rows_advance(rows, f->stream, &grown.list, 4));
	grown.later = 1;
	FAILS(philox_rows_advance(rows, f->stream, &grown.list, 4),
	      PHILOX_ERROR_INVALID);
	NAMES("a field that this version does not know");
	is_at(f, rows, 0, 4);
}

PROMISE(steps, are_reported_in_a_report_that_knows_its_size)
{
	static const uint32_t outside[1] = {ROWS};
	struct philox_rows *rows = make_rows(f);
	const struct philox_row_list list = {
		.size = sizeof(list),
		.indices = upload(f, outside, sizeof(outside)),
		.count = 1};
	struct philox_rows_report report = {.launches = 77};

	OK(philox_rows_advance(rows, f->stream, &list, 4));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (size_t size = 0; size < sizeof(report); size++) {
		report.size = size;
		FAILS(philox_rows_check(rows, &report), PHILOX_ERROR_INVALID);
		NAMES("rows 'a': report: size is ");
		cr_assert_eq(report.launches, 77);
	}
	reports(f, rows, 1, 0); /* nothing was lost */
}

/* --- counts --------------------------------------------------------------- */

PROMISE(steps, are_taken_by_counts_on_the_device)
{
	static const uint32_t by_3[ROWS] = {3, 0, UINT32_MAX, 1};
	struct philox_rows *rows = make_rows(f);

	OK(philox_rows_advance_by(rows, f->stream, NULL, 4,
				  upload(f, by_3, sizeof(by_3))));
	is_at(f, rows, 0, 12);
	is_at(f, rows, 1, 0);
	is_at(f, rows, 2, 4 * (uint64_t)UINT32_MAX);
	is_at(f, rows, 3, 4);
	OK(philox_rows_advance_by(rows, f->stream, NULL, 400,
				  upload(f, by_3, sizeof(by_3))));
	is_at(f, rows, 0, 1212);
	is_at(f, rows, 2, 404 * (uint64_t)UINT32_MAX);
	OK(philox_rows_advance_by(rows, f->stream, NULL, 0,
				  upload(f, by_3, sizeof(by_3))));
	is_at(f, rows, 0, 1212);
	reports(f, rows, 0, 0);
}

/* In any order of the entries; what is masked or no row does not count. */
PROMISE(steps, of_a_row_listed_several_times_are_the_most_of_its_counts)
{
	static const uint32_t rows_of[8] = {1, 0, 1, 1, 7, 0, 2, 1};
	static const uint32_t counts[8] = {2, 1, 5, 3, 9, 0, 0, 8};
	static const uint8_t part[8] = {1, 1, 1, 1, 1, 1, 1, 0};
	uint32_t turned_rows[8], turned_counts[8];
	uint8_t turned_part[8];

	for (unsigned turn = 0; turn < 8; turn++) {
		struct philox_rows *rows = make_rows(f);
		struct philox_row_list list = {.size = sizeof(list),
					       .count = 8};

		for (unsigned i = 0; i < 8; i++) {
			turned_rows[i] = rows_of[(i + turn) % 8];
			turned_counts[i] = counts[(i + turn) % 8];
			turned_part[i] = part[(i + turn) % 8];
		}
		list.indices = upload(f, turned_rows, sizeof(turned_rows));
		list.mask = upload(f, turned_part, sizeof(turned_part));
		OK(philox_rows_advance_by(
			rows, f->stream, &list, 4,
			upload(f, turned_counts, sizeof(turned_counts))));
		is_at(f, rows, 0, 4);
		is_at(f, rows, 1, 20);
		is_at(f, rows, 2, 0);
		reports(f, rows, 1, 0);
		OK(philox_rows_destroy(rows));
	}
}

/* 2^62 x 4 words would be 0 of 64 bits. */
PROMISE(steps, that_a_row_has_not_left_are_not_taken)
{
	static const uint32_t fours[ROWS] = {4, 4, 3, 0};
	static const uint32_t thirds[3] = {0, 0, 0};
	static const uint32_t few_or_many[3] = {2, 3, 1};
	struct philox_rows *rows = make_rows(f);
	const struct philox_row_list first = {
		.size = sizeof(first),
		.indices = upload(f, thirds, sizeof(thirds)),
		.count = 3};

	set_row(f, rows, 2, 1, 4);
	set_row(f, rows, 3, 1, LAST);
	OK(philox_rows_advance_by(rows, f->stream, NULL, (uint64_t)1 << 62,
				  upload(f, fours, sizeof(fours))));
	reports(f, rows, 0, 2);
	is_at(f, rows, 0, 0);
	is_at(f, rows, 1, 0);
	is_at(f, rows, 2, 3 * ((uint64_t)1 << 62) + 4);
	is_at(f, rows, 3, LAST);
	/* 40 words are left: 2 x 20 fit, 3 x 20 do not */
	set_row(f, rows, 0, 1, LAST - 40);
	OK(philox_rows_advance_by(rows, f->stream, &first, 20,
				  upload(f, few_or_many, sizeof(few_or_many))));
	reports(f, rows, 0, 1);
	is_at(f, rows, 0, LAST);
}

PROMISE(steps, of_a_row_that_holds_poison_are_reported_not_taken)
{
	static const uint32_t counts[ROWS] = {1, 0, 1, 1};
	struct philox_rows *rows = make_rows(f);
	struct philox_state *states;

	OK(philox_rows_states(rows, &states));
	OK(philox_stream_synchronize(f->device, f->stream));
	states[0].offset = states[1].offset = PHILOX_POISON_OFFSET;
	OK(philox_rows_advance_by(rows, f->stream, NULL, 4,
				  upload(f, counts, sizeof(counts))));
	reports(f, rows, 0, 2);
	is_at(f, rows, 0, PHILOX_POISON_OFFSET);
	is_at(f, rows, 2, 4);
}

PROMISE(steps, are_taken_at_each_launch_by_the_counts_of_then)
{
	struct philox_rows *rows = make_rows(f);
	uint32_t *counts = make_memory(f, ROWS * sizeof(*counts));
	philox_native_graph graph;
	philox_native_exec exec;
	uint64_t at[ROWS] = {0};
	size_t nodes;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_rows_advance_by(rows, f->stream, NULL, 8, counts));
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_node_count(f->device, graph, &nodes));
	cr_assert_eq(nodes, 1);
	OK(philox_native_graph_instantiate(f->device, graph, &exec));
	for (uint32_t launch = 0; launch < 5; launch++) {
		for (uint32_t row = 0; row < ROWS; row++)
			at[row] += 8 * (counts[row] = (launch + row) % 3);
		OK(philox_native_exec_launch(f->device, f->stream, exec));
		for (uint32_t row = 0; row < ROWS; row++)
			is_at(f, rows, row, at[row]);
	}
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, graph));
}

PROMISE(steps, need_counts)
{
	struct philox_rows *rows = make_rows(f);
	uint32_t *counts = make_memory(f, ROWS * sizeof(*counts));
	const struct philox_row_list none = {.size = sizeof(none), .count = 0};
	uint64_t launches = philox_device_call_count(f->device, "launch");

	FAILS(philox_rows_advance_by(NULL, f->stream, NULL, 4, counts),
	      PHILOX_ERROR_INVALID);
	NAMES("rows is NULL");
	FAILS(philox_rows_advance_by(rows, f->stream, NULL, 4, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': advance: counts is NULL");
	FAILS(philox_rows_advance_by(rows, f->stream, NULL, 4,
				     (uint32_t *)((char *)counts + 1)),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': advance: counts (0x");
	FAILS(philox_rows_advance_by(rows, f->stream, NULL, 6, counts),
	      PHILOX_ERROR_INVALID);
	NAMES("rows 'a': words is 6, not a multiple of 4");
	OK(philox_rows_advance_by(rows, f->stream, &none, 4, NULL));
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
}
