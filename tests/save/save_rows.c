/*
 * tests/save/save_rows.c - tables of rows are saved and go on where they were
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/models/rows.h"
#include "tests/support/support.h"

enum { ROWS = 250, VALUES = 4 };

/* A context with two tables. */
struct world {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_generator *generator;
	struct philox_rows *requests, *spare;
	uint32_t *out; /* ROWS * VALUES words of device memory */
};

static struct philox_rows *make_rows(struct philox_context *context,
				     const char *name, uint32_t count,
				     struct philox_generator *generator)
{
	struct philox_rows_desc options = {.size = sizeof(options),
					   .name = name,
					   .count = count,
					   .generator = generator};
	struct philox_rows *rows;

	OK(philox_rows_create(context, &options, &rows));
	return rows;
}

static void open_world(struct fixture *f, struct world *w, int other_order)
{
	w->device = f->device;
	OK(philox_context_create(w->device, &w->context));
	OK(philox_generator_create(w->context, 9, &w->generator));
	if (other_order)
		w->spare = make_rows(w->context, "spare", 3, w->generator);
	w->requests = make_rows(w->context, "requests", ROWS, NULL);
	if (!other_order)
		w->spare = make_rows(w->context, "spare", 3, w->generator);
	w->out = make_memory(f, ROWS * VALUES * sizeof(*w->out));
}

static void draw_rows(struct world *w, uint32_t *values)
{
	struct philox_row_fill_desc fill = {.size = sizeof(fill),
					    .dist = PHILOX_DIST_BITS,
					    .dtype = PHILOX_DTYPE_U32,
					    .count = VALUES,
					    .pitch = VALUES,
					    .out = w->out};

	OK(philox_rows_fill(w->requests, NULL, NULL, &fill));
	OK(philox_device_synchronize(w->device));
	memcpy(values, w->out, ROWS * VALUES * sizeof(*values));
}

/* Rows get their own states and are at different offsets. */
static void history(struct world *w)
{
	const struct philox_state set[2] = {{0xfedcba9876543210, 44}, {5, 0}};
	struct philox_row_list half = {.size = sizeof(half), .count = ROWS / 2};
	uint32_t values[ROWS * VALUES];

	OK(philox_rows_set(w->requests, NULL, (uint32_t[]){7, 240}, set, 2));
	OK(philox_rows_advance(w->requests, NULL, &half, 400));
	OK(philox_rows_advance(w->spare, NULL, NULL, 8));
	draw_rows(w, values);
}

static char *text_of(struct philox_context *context)
{
	char *text;

	OK(philox_context_save_text(context, &text, NULL));
	return text;
}

static void is_text(struct philox_context *context, const char *expected)
{
	char *text = text_of(context);

	cr_assert_str_eq(text, expected);
	free(text);
}

/* A text of a world with a history. */
static char *good_text(struct fixture *f)
{
	struct world w;
	char *text;

	open_world(f, &w, 0);
	history(&w);
	text = text_of(w.context);
	philox_context_destroy(w.context);
	return text;
}

PROMISE(save_rows, the_text_is_what_its_note_says)
{
	static const char format[] =
		"philox context 2\n"
		"generator 0 state 0000000000000000 0000000000000000\n"
		"rows \"a \\x22b\\x22\" generator 0 count 2\n"
		"row %016llx 000000000000000c\n"
		"row 0000000000000011 0000000000000014\n";
	const struct philox_state set = {17, 20};
	struct philox_rows *rows = make_rows(f->context, "a \"b\"", 2, NULL);
	char text[1024];
	int size =
		snprintf(text, sizeof(text), format,
			 (unsigned long long)model_row_seed(0, "a \"b\"", 0));

	snprintf(text + size, sizeof(text) - (size_t)size,
		 "checksum %016" PRIx64 " bytes %d\n", fnv1a(text), size);
	OK(philox_rows_advance(rows, f->stream, NULL, 12));
	OK(philox_rows_set(rows, f->stream, (uint32_t[]){1}, &set, 1));
	is_text(f->context, text);
}

/* On a device of another name; the graph was captured before the load. */
static void goes_on_elsewhere(struct fixture *f, const char *text,
			      const uint32_t *expected)
{
	const char *name = philox_device_name(f->device);
	uint32_t values[ROWS * VALUES];
	struct fixture other;
	struct world w;

	fixture_open(&other,
		     strcmp(name, "host:sync") ? "host:sync" : "host:strict");
	open_world(&other, &w, 1);
	OK(philox_context_load_text(w.context, text, strlen(text)));
	is_text(w.context, text);
	for (int i = 0; i < 3; i++) {
		draw_rows(&w, values);
		cr_assert(!memcmp(values, expected + i * ROWS * VALUES,
				  sizeof(values)),
			  "draw %d is another", i);
	}
	philox_context_destroy(w.context);
	fixture_close(&other);
}

PROMISE(save_rows, a_loaded_context_draws_on_where_the_saved_one_was)
{
	static uint32_t values[3 * ROWS * VALUES];
	struct world w;
	char *text;

	open_world(f, &w, 0);
	history(&w);
	text = text_of(w.context);
	for (int i = 0; i < 3; i++)
		draw_rows(&w, values + i * ROWS * VALUES);
	goes_on_elsewhere(f, text, values);
	philox_context_destroy(w.context);
	free(text);
}

PROMISE(save_rows, a_graph_follows_a_load)
{
	char *text = good_text(f);
	struct philox_state *states, *to;
	philox_native_graph graph;
	philox_native_exec exec;
	struct world w;

	open_world(f, &w, 0);
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_rows_advance(w.requests, f->stream, NULL, 4));
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_instantiate(f->device, graph, &exec));
	OK(philox_native_exec_launch(f->device, f->stream, exec));
	OK(philox_rows_states(w.requests, &states));
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_context_load_text(w.context, text, strlen(text)));
	OK(philox_native_exec_launch(f->device, f->stream, exec));
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_rows_states(w.requests, &to));
	cr_assert_eq(to, states);
	cr_assert(states[7].seed == 0xfedcba9876543210);
	cr_assert_eq(states[7].offset, 44 + 400 + 4 + 4);
	cr_assert_eq(states[ROWS - 1].offset, 4 + 4);
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, graph));
	philox_context_destroy(w.context);
	free(text);
}

/* --- another shape -------------------------------------------------------- */

static void refuses(struct philox_context *context, const char *text,
		    enum philox_status status, const char *names)
{
	char *before = text_of(context);

	FAILS(philox_context_load_text(context, text, strlen(text)), status);
	NAMES(names);
	is_text(context, before);
	free(before);
}

PROMISE(save_rows, a_load_names_the_first_difference_of_shape)
{
	char *text = good_text(f), *none;
	struct world w;

	open_world(f, &w, 0);
	OK(philox_rows_destroy(w.spare));
	refuses(w.context, text, PHILOX_ERROR_MISMATCH,
		"rows 'spare' of the text are not in the context");
	make_rows(w.context, "spare", 4, w.generator);
	refuses(w.context, text, PHILOX_ERROR_MISMATCH,
		"rows 'spare': count is 3 in the text, 4 in the context");
	philox_context_destroy(w.context);

	open_world(f, &w, 0);
	OK(philox_rows_destroy(w.spare));
	w.spare = make_rows(w.context, "spare", 3, NULL);
	refuses(w.context, text, PHILOX_ERROR_MISMATCH,
		"rows 'spare': generator is 1 in the text, 0 in the context");
	OK(philox_rows_destroy(w.spare));
	w.spare = make_rows(w.context, "spare", 3, w.generator);
	make_rows(w.context, "more", 1, NULL);
	refuses(w.context, text, PHILOX_ERROR_MISMATCH,
		"rows 'more' of the context are not in the text");
	philox_context_destroy(w.context);

	none = text_of(f->context);
	cr_assert(!strncmp(none, "philox context 1\n", 17));
	make_rows(f->context, "a", 1, NULL);
	refuses(f->context, none, PHILOX_ERROR_MISMATCH,
		"rows 'a' of the context are not in the text");
	free(none);
	free(text);
}

/* --- malformed lines ------------------------------------------------------ */

static void sign(char *text, size_t room)
{
	char *last = strstr(text, "checksum ");
	size_t size = last ? (size_t)(last - text) : strlen(text);

	text[size] = '\0';
	snprintf(text + size, room - size,
		 "checksum %016" PRIx64 " bytes %zu\n", fnv1a(text), size);
}

static const struct {
	const char *from, *to, *named;
} damages[] = {
	{"context 2", "context 1", "line 4: version 1 has no rows"},
	{"rows \"b\"", "rows b", "line 7: '\"'"},
	{"rows \"b\"", "rows \"\"", "line 7: rows without a name"},
	{"rows \"b\"", "rows \"a\"", "line 7: rows 'a' come twice"},
	{"rows \"b\"", "rows \"A\"", "line 7: rows 'A' come twice or not in"},
	{"generator 1 count", "generator 2 count", "no generator 2"},
	{"generator 1 count", "generator none count", "line 7: a number"},
	{"count 1", "count 0", "line 7: 0 is too small"},
	{"count 1", "count 16777217", "line 7: no further digit"},
	{"count 1", "count 2", "rows 'b' above has 1 row, not 2"},
	{"count 2", "count 3", "line 7: rows 'a' above has 2 rows, not 3"},
	{"count 2", "count 1", "line 6: a row too many"},
	{"count 1\nrow", "count 1\nrow 0000000000000001 0000000000000000\nrow",
	 "line 9: a row too many"},
	{"rows \"a\" generator 0 count 2\n", "", "line 4: a row too many"},
	{"0000000000000008\nrows", "0000000000000006\nrows",
	 "line 6: offset 0000000000000006 is not a multiple of 4"},
	{"0000000000000008\nrows", "0000000000000008 \nrows",
	 "line 6: the end"},
	{"checksum",
	 "generator 2 state 0000000000000000 0000000000000000\n"
	 "checksum",
	 "line 9: a row or a table"},
	{"checksum", "region \"x\" checksum", "line 9: a row or a table"},
};

PROMISE(save_rows, a_load_refuses_malformed_lines)
{
	struct philox_generator *generator;
	struct philox_rows *rows;
	char *text, changed[2048];

	OK(philox_generator_create(f->context, 3, &generator));
	rows = make_rows(f->context, "a", 2, NULL);
	make_rows(f->context, "b", 1, generator);
	OK(philox_rows_advance(rows, f->stream, NULL, 8));
	text = text_of(f->context);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		const char *at = strstr(text, damages[i].from);

		cr_assert(at, "'%s' is not in the text", damages[i].from);
		snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text),
			 text, damages[i].to, at + strlen(damages[i].from));
		sign(changed, sizeof(changed));
		refuses(f->context, changed, PHILOX_ERROR_INVALID,
			damages[i].named);
	}
	snprintf(changed, sizeof(changed),
		 "philox context 2\ngenerator 0 state 0000000000000000 "
		 "0000000000000000\n");
	sign(changed, sizeof(changed));
	refuses(f->context, changed, PHILOX_ERROR_INVALID,
		"a text without rows has version 1");
	free(text);
}

/* --- failures ------------------------------------------------------------- */

/* Two tables are read, then written; each needs a copy and a wait for it. */
static void load_fails_at(struct world *w, const char *text, const char *what)
{
	char *before = text_of(w->context);

	for (uint64_t n = 1; n <= 4; n++) {
		OK(philox_device_fail(w->device, what, n, PHILOX_ERROR_DEVICE));
		FAILS(philox_context_load_text(w->context, text, strlen(text)),
		      PHILOX_ERROR_DEVICE);
		NAMES("rows '");
		OK(philox_device_fail(w->device, NULL, 0, PHILOX_OK));
		is_text(w->context, before);
	}
	free(before);
}

PROMISE(save_rows, a_load_that_the_device_fails_changes_nothing)
{
	char *text = good_text(f), *none = NULL;
	struct world w;

	open_world(f, &w, 0);
	load_fails_at(&w, text, "copy");
	load_fails_at(&w, text, "stream_sync");
	OK(philox_context_load_text(w.context, text, strlen(text)));
	is_text(w.context, text);
	OK(philox_device_fail(f->device, "copy", 2, PHILOX_ERROR_DEVICE));
	FAILS(philox_context_save_text(w.context, &none, NULL),
	      PHILOX_ERROR_DEVICE);
	NAMES("rows 'spare'");
	cr_assert_null(none);
	philox_context_destroy(w.context);
	free(text);
}

/* A copy that is still queued would use memory that is freed. */
PROMISE(save_rows, a_load_waits_again_if_waiting_failed)
{
	char *text = good_text(f);
	struct world w;
	uint64_t before;

	open_world(f, &w, 0);
	before = philox_device_call_count(w.device, "stream_sync");
	OK(philox_device_fail(w.device, "stream_sync", 1, PHILOX_ERROR_DEVICE));
	FAILS(philox_context_load_text(w.context, text, strlen(text)),
	      PHILOX_ERROR_DEVICE);
	cr_assert_eq(philox_device_call_count(w.device, "stream_sync"),
		     before + 2);
	philox_context_destroy(w.context);
	free(text);
}

PROMISE(save_rows, a_row_with_an_odd_offset_is_not_saved)
{
	static const uint64_t odd[] = {1, 2, 3, 6, UINT64_MAX - 1};
	struct philox_rows *rows = make_rows(f->context, "a", 5, NULL);
	struct philox_state *states;
	char *text = NULL;

	OK(philox_rows_states(rows, &states));
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct philox_state state = {9, odd[i]};

		OK(philox_memory_copy(f->device, f->stream, &states[3], &state,
				      sizeof(state)));
		OK(philox_stream_synchronize(f->device, f->stream));
		FAILS(philox_context_save_text(f->context, &text, NULL),
		      PHILOX_ERROR_STATE);
		NAMES("rows 'a': row 3");
		cr_assert_null(text);
	}
}

PROMISE(save_rows, a_row_that_holds_poison_is_not_saved)
{
	struct philox_rows *rows = make_rows(f->context, "a", 5, NULL);
	struct philox_state *states;
	char *text = NULL;

	OK(philox_rows_states(rows, &states));
	OK(philox_memory_set(f->device, f->stream, &states[3], 0xff,
			     sizeof(*states)));
	FAILS(philox_context_save_text(f->context, &text, NULL),
	      PHILOX_ERROR_STATE);
	NAMES("rows 'a': row 3");
	cr_assert_null(text);
}

PROMISE(save_rows, the_digest_knows_the_tables_but_not_their_rows)
{
	struct philox_rows *rows;
	uint64_t bare, one, other;

	OK(philox_context_digest(f->context, &bare));
	rows = make_rows(f->context, "a", 5, NULL);
	OK(philox_context_digest(f->context, &one));
	OK(philox_rows_advance(rows, f->stream, NULL, 4));
	OK(philox_context_digest(f->context, &other));
	cr_assert(one != bare && one == other);
	OK(philox_rows_destroy(rows));
	OK(philox_context_digest(f->context, &other));
	cr_assert_eq(other, bare);
	rows = make_rows(f->context, "a", 6, NULL);
	OK(philox_context_digest(f->context, &other));
	cr_assert(other != one && other != bare);
	OK(philox_rows_destroy(rows));
	rows = make_rows(f->context, "b", 5, NULL);
	OK(philox_context_digest(f->context, &other));
	cr_assert(other != one && other != bare);
}

PROMISE(save_rows, the_digest_knows_the_generators_of_tables)
{
	struct philox_generator *generator;
	struct philox_rows *rows;
	uint64_t one, other;

	OK(philox_generator_create(f->context, 9, &generator));
	rows = make_rows(f->context, "a", 5, NULL);
	OK(philox_context_digest(f->context, &one));
	OK(philox_rows_destroy(rows));
	make_rows(f->context, "a", 5, generator);
	OK(philox_context_digest(f->context, &other));
	cr_assert_neq(other, one);
}
