/*
 * tests/rows/rows_graph.c - rows in captured graphs: fresh at every replay,
 * without the host
 */
#include <sched.h>
#include <stdlib.h>
#include "tests/support/models/rows.h"
#include "tests/support/support.h"

enum { ROWS = 5, LIST = 4, VALUES = 6 };

/* A table, a list of LIST entries in device memory, and their numbers. */
struct scene {
	struct philox_rows *rows;
	struct philox_row_list list;
	uint32_t *indices;
	uint8_t *mask;
	uint32_t *out;
	struct philox_row_fill_desc fill;
};

static void open_scene(struct fixture *f, struct scene *s)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = ROWS};

	memset(s, 0, sizeof(*s));
	OK(philox_rows_create(f->context, &options, &s->rows));
	s->indices = make_memory(f, LIST * sizeof(*s->indices));
	s->mask = make_memory(f, LIST);
	s->out = make_memory(f, LIST * VALUES * sizeof(*s->out));
	s->list = (struct philox_row_list){.size = sizeof(s->list),
					   .indices = s->indices,
					   .mask = s->mask,
					   .count = LIST};
	s->fill = (struct philox_row_fill_desc){.size = sizeof(s->fill),
						.dist = PHILOX_DIST_BITS,
						.dtype = PHILOX_DTYPE_U32,
						.count = VALUES,
						.pitch = VALUES,
						.out = s->out};
}

/* Lists for a sequence of steps: rows come and go, some occur twice. */
static void write_list(struct fixture *f, struct scene *s, unsigned step)
{
	uint32_t indices[LIST];
	uint8_t mask[LIST];

	for (unsigned i = 0; i < LIST; i++) {
		indices[i] = (i * i + step) % ROWS;
		mask[i] = (step + i) % 3 != 0;
	}
	OK(philox_memory_copy(f->device, f->stream, s->indices, indices,
			      sizeof(indices)));
	OK(philox_memory_copy(f->device, f->stream, s->mask, mask,
			      sizeof(mask)));
	OK(philox_memory_set(f->device, f->stream, s->out, 0xee,
			     LIST * VALUES * sizeof(*s->out)));
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* The numbers a step must draw, with the rows' offsets, which it advances. */
static void check_step(struct fixture *f, struct scene *s, unsigned step,
		       uint64_t offsets[ROWS])
{
	int moved[ROWS] = {0};

	OK(philox_device_synchronize(f->device));
	for (unsigned i = 0; i < LIST; i++) {
		uint32_t row = (i * i + step) % ROWS;
		struct philox_state state = {model_row_seed(0, "a", row),
					     offsets[row]};
		int drawn = (step + i) % 3 != 0;

		for (unsigned j = 0; j < VALUES; j++)
			cr_assert_eq(s->out[i * VALUES + j],
				     drawn ? model_word(state, j) : 0xeeeeeeee,
				     "step %u, entry %u, value %u", step, i, j);
		moved[row] |= drawn;
	}
	for (unsigned row = 0; row < ROWS; row++)
		offsets[row] += 4 * (uint64_t)moved[row];
}

struct capture {
	philox_native_graph graph;
	philox_native_exec exec;
};

static void begin(struct fixture *f)
{
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
}

/* The nodes are counted on the way. */
static struct capture end(struct fixture *f, size_t expected)
{
	struct capture made;
	size_t nodes;

	OK(philox_stream_end_capture(f->device, f->stream, &made.graph));
	OK(philox_native_graph_instantiate(f->device, made.graph, &made.exec));
	OK(philox_native_graph_node_count(f->device, made.graph, &nodes));
	cr_assert_eq(nodes, expected, "%zu nodes", nodes);
	return made;
}

static void destroy(struct fixture *f, struct capture *made)
{
	OK(philox_device_synchronize(f->device));
	OK(philox_native_exec_destroy(f->device, made->exec));
	OK(philox_native_graph_destroy(f->device, made->graph));
}

static void launch(struct fixture *f, const struct capture *made)
{
	OK(philox_native_exec_launch(f->device, f->stream, made->exec));
}

PROMISE(rows_graph, a_replay_draws_what_the_next_eager_call_would)
{
	uint64_t offsets[ROWS] = {0};
	struct capture made;
	struct scene s;

	open_scene(f, &s);
	write_list(f, &s, 0);
	begin(f);
	OK(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill));
	made = end(f, 1);
	for (unsigned step = 0; step < 12; step++) {
		write_list(f, &s, step);
		if (step % 4 == 3)
			OK(philox_rows_fill(s.rows, f->stream, &s.list,
					    &s.fill));
		else
			launch(f, &made);
		check_step(f, &s, step, offsets);
	}
	destroy(f, &made);
}

PROMISE(rows_graph, launches_that_nobody_waits_for_advance_too)
{
	uint64_t offsets[ROWS] = {0};
	struct capture made;
	struct scene s;

	open_scene(f, &s);
	begin(f);
	OK(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill));
	OK(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill));
	made = end(f, 2);
	write_list(f, &s, 1);
	for (unsigned i = 0; i < 50; i++)
		launch(f, &made);
	OK(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill));
	for (unsigned i = 0; i < LIST; i++)
		if ((1 + i) % 3 != 0)
			offsets[(i * i + 1) % ROWS] = 400;
	check_step(f, &s, 1, offsets);
	destroy(f, &made);
}

GRAPH_PROMISE(rows_graph, draw_beside_passes_in_a_graph_of_philox)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	uint64_t offsets[ROWS] = {0};
	struct philox_graph *graph;
	struct scene s;

	open_scene(f, &s);
	write_list(f, &s, 0);
	record_begin(f);
	captured_forward(f, region, 0, array);
	OK(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill));
	graph = record_end(f);
	for (unsigned step = 0; step < 6; step++) {
		struct philox_launch_pass use = {{0}, 0, 0};

		write_list(f, &s, step);
		OK(philox_graph_launch(graph, f->stream, &use, 1));
		check_step(f, &s, step, offsets);
		SAME(read_numbers(f, array), predict(0, "layer", 4 * step),
		     "the pass drew other numbers");
		OK(philox_ticket_release(region, f->stream, use.ticket));
	}
}

PROMISE(rows_graph, setting_reading_and_restarting_are_recorded)
{
	const struct philox_state set = {7, 400};
	struct philox_state *to;
	const uint32_t row = 2;
	struct capture made;
	struct scene s;

	open_scene(f, &s);
	to = make_memory(f, ROWS * sizeof(*to));
	OK(philox_rows_advance(s.rows, f->stream, NULL, 40));
	OK(philox_stream_synchronize(f->device, f->stream));
	begin(f);
	OK(philox_rows_set(s.rows, f->stream, &row, &set, 1));
	OK(philox_rows_advance(s.rows, f->stream, NULL, 4));
	OK(philox_rows_get(s.rows, f->stream, 0, ROWS, to));
	OK(philox_rows_restart(s.rows, f->stream));
	made = end(f, 4);
	for (int i = 0; i < 2; i++) {
		launch(f, &made);
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert(to[2].seed == 7 && to[2].offset == 404);
		cr_assert(to[1].seed == model_row_seed(0, "a", 1));
		cr_assert_eq(to[1].offset, i ? 4 : 44);
	}
	destroy(f, &made);
}

PROMISE(rows_graph, a_list_without_entries_is_no_node)
{
	const struct philox_row_list none = {.size = sizeof(none), .count = 0};
	struct philox_state *states;
	struct capture made;
	struct scene s;

	open_scene(f, &s);
	begin(f);
	OK(philox_rows_fill(s.rows, f->stream, &none, &s.fill));
	OK(philox_rows_advance(s.rows, f->stream, &none, 4));
	made = end(f, 0);
	launch(f, &made);
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_rows_states(s.rows, &states));
	cr_assert_eq(states[0].offset, 0);
	destroy(f, &made);
}

/* --- lives ---------------------------------------------------------------- */

PROMISE(rows_graph, a_table_stays_on_the_device_while_a_graph_uses_it)
{
	uint64_t freed = philox_device_call_count(f->device, "mem_free");
	uint64_t offsets[ROWS] = {0};
	struct capture made;
	struct scene s;

	open_scene(f, &s);
	begin(f);
	OK(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill));
	made = end(f, 1);
	OK(philox_rows_destroy(s.rows));
	for (unsigned step = 0; step < 3; step++) {
		write_list(f, &s, step);
		launch(f, &made);
		check_step(f, &s, step, offsets);
	}
	cr_assert_eq(philox_device_call_count(f->device, "mem_free"), freed);
	destroy(f, &made);
	open_scene(f, &s); /* the name is free */
	cr_assert_eq(philox_device_call_count(f->device, "mem_free"),
		     freed + 1);
	OK(philox_rows_destroy(s.rows));
	cr_assert_eq(philox_device_call_count(f->device, "mem_free"),
		     freed + 2);
}

static struct capture capture_fill(struct fixture *f, struct scene *s)
{
	begin(f);
	OK(philox_rows_fill(s->rows, f->stream, &s->list, &s->fill));
	return end(f, 1);
}

PROMISE(rows_graph, a_table_stays_until_the_last_of_its_graphs_is_gone)
{
	uint64_t freed = philox_device_call_count(f->device, "mem_free");
	uint64_t offsets[ROWS] = {0};
	struct capture first, last;
	struct scene s;

	open_scene(f, &s);
	first = capture_fill(f, &s);
	last = capture_fill(f, &s);
	destroy(f, &first);
	OK(philox_rows_destroy(s.rows));
	cr_assert_eq(philox_device_call_count(f->device, "mem_free"), freed);
	for (unsigned step = 0; step < 2; step++) {
		write_list(f, &s, step);
		launch(f, &last);
		check_step(f, &s, step, offsets);
	}
	destroy(f, &last);
	open_scene(f, &s);
	cr_assert_eq(philox_device_call_count(f->device, "mem_free"),
		     freed + 1);
	OK(philox_rows_destroy(s.rows));
}

/* A graph that could not take a reference does not use the table. */
PROMISE(rows_graph, a_reference_that_fails_does_not_keep_the_table)
{
	uint64_t freed = philox_device_call_count(f->device, "mem_free");
	struct capture made;
	struct scene s;

	open_scene(f, &s);
	begin(f);
	OK(philox_device_fail(f->device, "graph_retain", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill),
	      PHILOX_ERROR_DEVICE);
	NAMES("rows 'a'");
	made = end(f, 0);
	destroy(f, &made);
	OK(philox_rows_destroy(s.rows));
	cr_assert_eq(philox_device_call_count(f->device, "mem_free"),
		     freed + 1);
	f->injected = 1;
}

/* The call fails, and the next one of the same capture takes the reference. */
PROMISE(rows_graph, a_reference_that_failed_is_taken_by_the_next_call)
{
	uint64_t freed = philox_device_call_count(f->device, "mem_free");
	struct capture made;
	struct scene s;

	open_scene(f, &s);
	begin(f);
	OK(philox_device_fail(f->device, "graph_retain", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill),
	      PHILOX_ERROR_DEVICE);
	OK(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill));
	made = end(f, 1);
	OK(philox_rows_destroy(s.rows));
	cr_assert_eq(philox_device_call_count(f->device, "mem_free"), freed);
	destroy(f, &made);
	f->injected = 1;
}

PROMISE(rows_graph, a_graph_may_outlive_table_and_context)
{
	struct philox_context *context = f->context;
	struct capture made;
	struct scene s;

	OK(philox_context_create(f->device, &f->context));
	open_scene(f, &s);
	begin(f);
	OK(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill));
	made = end(f, 1);
	philox_context_destroy(f->context);
	f->context = context;
	destroy(f, &made);
}

PROMISE(rows_graph, a_table_can_be_made_during_a_capture)
{
	uint64_t offsets[ROWS] = {0};
	struct capture made;
	struct scene s;

	open_scene(f, &s);
	OK(philox_rows_destroy(s.rows));
	begin(f);
	OK(philox_rows_create(f->context,
			      &(struct philox_rows_desc){
				      .size = sizeof(struct philox_rows_desc),
				      .name = "a",
				      .count = ROWS},
			      &s.rows));
	OK(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill));
	made = end(f, 1);
	write_list(f, &s, 0);
	launch(f, &made);
	check_step(f, &s, 0, offsets);
	destroy(f, &made);
}

PROMISE(rows_graph, a_broken_capture_is_reported)
{
	philox_native_graph graph;
	struct philox_state state = {1, 4};
	struct scene s;

	open_scene(f, &s);
	begin(f);
	FAILS(philox_stream_synchronize(f->device, f->stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	FAILS(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	FAILS(philox_rows_set(s.rows, f->stream, NULL, &state, 1),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	FAILS(philox_rows_restart(s.rows, f->stream),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	NAMES("rows 'a'");
	FAILS(philox_stream_end_capture(f->device, f->stream, &graph),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	OK(philox_rows_restart(s.rows, f->stream));
}

static uint64_t held(struct fixture *f)
{
	return philox_device_call_count(f->device, "mem_alloc") +
	       philox_device_call_count(f->device, "mapped_alloc") -
	       philox_device_call_count(f->device, "mem_free") -
	       philox_device_call_count(f->device, "mapped_free");
}

/* Each device call fails in turn; some are then tried again. */
PROMISE(rows_graph, a_device_that_fails_leaves_no_table_behind)
{
	static const char *const operations[] = {
		"mem_alloc",     "mapped_alloc", "capture_mode",
		"stream_create", "copy",         "set",
		"launch",        "stream_sync",  "stream_destroy"};
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = ROWS};

	for (size_t i = 0; i < 9; i++) {
		struct philox_rows *rows = NULL;
		/* an allocation that failed was counted, too */
		uint64_t expected = held(f) + (i < 2);

		OK(philox_device_fail(f->device, operations[i], 1,
				      PHILOX_ERROR_DEVICE));
		FAILS(philox_rows_create(f->context, &options, &rows),
		      PHILOX_ERROR_DEVICE);
		cr_assert_null(rows);
		cr_assert_eq(held(f), expected, "%s: memory is left",
			     operations[i]);
		OK(philox_rows_create(f->context, &options, &rows));
		OK(philox_rows_destroy(rows));
	}
	f->injected = f->unfreed = 1;
}

/* A table's device calls, and which of several is to fail. */
static const struct {
	const char *operation;
	uint64_t n;
} needed[] = {{"mem_alloc", 1},     {"mapped_alloc", 1}, {"capture_mode", 1},
	      {"capture_mode", 3},  {"copy", 1},         {"set", 1},
	      {"stream_create", 1}, {"launch", 1},       {"stream_sync", 1},
	      {"stream_destroy", 1}};

PROMISE(rows_graph, a_table_that_fails_during_a_capture_does_not_break_it)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "b", .count = ROWS};
	uint64_t offsets[ROWS] = {0};
	struct scene s;

	open_scene(f, &s);
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		struct philox_rows *rows = NULL;
		struct capture made;
		uint64_t expected = held(f) + (i < 2); /* counted, but failed */

		write_list(f, &s, (unsigned)i);
		begin(f);
		OK(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill));
		OK(philox_device_fail(f->device, needed[i].operation,
				      needed[i].n, PHILOX_ERROR_DEVICE));
		FAILS(philox_rows_create(f->context, &options, &rows),
		      PHILOX_ERROR_DEVICE);
		NAMES(needed[i].operation);
		NAMES("rows 'b'");
		cr_assert_null(rows);
		cr_assert_eq(held(f), expected, "%s: memory is left",
			     needed[i].operation);
		made = end(f, 1);
		launch(f, &made);
		check_step(f, &s, (unsigned)i, offsets);
		destroy(f, &made);
	}
	f->injected = f->unfreed = 1;
}

/* A destroyed table that no graph holds any longer is freed by either call. */
PROMISE(rows_graph, memory_that_a_graph_held_is_freed_during_a_capture_too)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "b", .count = ROWS};
	uint64_t expected = held(f);
	struct philox_rows *rows;
	struct capture made;

	OK(philox_rows_create(f->context, &options, &rows));
	begin(f);
	OK(philox_rows_restart(rows, f->stream));
	made = end(f, 1);
	OK(philox_rows_destroy(rows));
	destroy(f, &made);
	cr_assert_eq(held(f), expected + 2);
	begin(f);
	OK(philox_rows_create(f->context, &options, &rows));
	cr_assert_eq(held(f), expected + 2);
	made = end(f, 0);
	destroy(f, &made);
	OK(philox_rows_destroy(rows));
	cr_assert_eq(held(f), expected);
}

/* --- the lock ------------------------------------------------------------- */

/* For a function of the host while a table is being destroyed. */
struct visit {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_rows *rows;
	uint64_t freed; /* calls before the one to wait for */
	uint64_t *digest;
	enum philox_status *status;
};

static void visit(const void *args)
{
	const struct visit *v = args;

	while (philox_device_call_count(v->device, "mem_free") == v->freed)
		sched_yield();
	*v->status = philox_rows_check(v->rows, NULL);
	philox_context_digest(v->context, v->digest);
}

/* The free waits for the function, and the function for the free to begin. */
Test(rows_graph, destroying_a_table_does_not_wait_with_the_lock_held,
     .timeout = 60)
{
	enum philox_status status = PHILOX_ERROR_DEVICE;
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "b", .count = ROWS};
	struct philox_rows *rows;
	uint64_t during, after;
	struct visit args;
	struct fixture f;
	struct scene s;

	fixture_open(&f, "host:strict");
	open_scene(&f, &s);
	OK(philox_rows_create(f.context, &options, &rows));
	args = (struct visit){.device = f.device,
			      .context = f.context,
			      .rows = s.rows,
			      .digest = &during,
			      .status = &status};
	args.freed = philox_device_call_count(f.device, "mem_free");
	OK(philox_stream_launch_host(f.device, f.stream, visit, &args,
				     sizeof(args)));
	OK(philox_rows_destroy(rows));
	OK(philox_stream_synchronize(f.device, f.stream));
	OK(status);
	OK(philox_context_digest(f.context, &after));
	cr_assert_eq(during, after, "a table being freed is still listed");
	fixture_close(&f);
}

PROMISE(rows_graph, a_table_may_go_during_a_capture_if_a_graph_uses_it)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "unused", .count = ROWS};
	struct philox_rows *unused;
	philox_native_graph graph;
	struct capture made;
	uint64_t offsets[ROWS] = {0};
	struct scene s;

	open_scene(f, &s);
	OK(philox_rows_create(f->context, &options, &unused));
	begin(f);
	OK(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill));
	OK(philox_rows_destroy(s.rows));
	made = end(f, 1);
	write_list(f, &s, 0);
	launch(f, &made);
	check_step(f, &s, 0, offsets);
	begin(f);
	FAILS(philox_rows_destroy(unused), PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	FAILS(philox_stream_end_capture(f->device, f->stream, &graph),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	OK(philox_rows_advance(unused, f->stream, NULL, 4));
	OK(philox_rows_destroy(unused));
	destroy(f, &made);
	f->injected = 1; /* one free was refused */
}

PROMISE(rows_graph, a_table_that_cannot_be_freed_stays)
{
	struct philox_rows *again;
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = ROWS};
	uint64_t before, after, offsets[ROWS] = {0};
	struct scene s;

	open_scene(f, &s);
	OK(philox_context_digest(f->context, &before));
	OK(philox_device_fail(f->device, "mem_free", 1, PHILOX_ERROR_DEVICE));
	FAILS(philox_rows_destroy(s.rows), PHILOX_ERROR_DEVICE);
	NAMES("rows 'a': ");
	OK(philox_context_digest(f->context, &after));
	cr_assert_eq(before, after);
	FAILS(philox_rows_create(f->context, &options, &again),
	      PHILOX_ERROR_EXISTS);
	write_list(f, &s, 0);
	OK(philox_rows_fill(s.rows, f->stream, &s.list, &s.fill));
	check_step(f, &s, 0, offsets);
	OK(philox_rows_destroy(s.rows));
	OK(philox_rows_create(f->context, &options, &again));
	f->injected = 1;
}
