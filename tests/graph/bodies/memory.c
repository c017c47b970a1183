/*
 * tests/graph/bodies/memory.c - what bodies hold besides passes: values, rows,
 * and what they may not
 */
#include <philox/pool.h>
#include "tests/support/loops.h"
#include "tests/support/models/rows.h"
#include "tests/support/scene.h"

enum { LIMIT = 5, ROWS = 3, VALUES = 4 };

/* --- values --------------------------------------------------------------- */

/* One from outside, one made in the body; each launch has its own, queued or
 * not. */
GRAPH_PROMISE(bodies_memory, values_are_those_of_the_launch_in_each_run)
{
	static const unsigned counts[] = {2, 0, 3, 1};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_graph *graph;
	struct log ins, outs, log;
	void *out, *in, *third;
	uint64_t value = 1;
	unsigned entry = 0;
	size_t index;

	make_log(f, &ins);
	make_log(f, &outs);
	make_log(f, &log);
	record_begin(f);
	OK(philox_capture_param(f->context, f->stream, "out", &value, 8, &out));
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_capture_param(f->context, f->side, "in", &value, 8, &in));
	FAILS(philox_capture_param(f->context, f->side, "out", &value, 8,
				   &third),
	      PHILOX_ERROR_EXISTS);
	copy_to_log(f, f->side, &ins, in, 16);
	copy_to_log(f, f->side, &outs, out, 16);
	forward_in(f, region, f->side, &log);
	end_while(f, f->side, tape, &loop);
	FAILS(philox_capture_param(f->context, f->stream, "in", &value, 8,
				   &third),
	      PHILOX_ERROR_EXISTS);
	graph = record_end(f);
	cr_assert_eq(philox_graph_param_count(graph), 2);
	set_counts(f, tape, counts, 4);
	for (uint64_t launch = 0; launch < 4; launch++) {
		value = 1000 + launch;
		OK(philox_graph_param_index(graph, "in", &index));
		OK(philox_graph_set_param(graph, index, &value, 8));
		value = (2000 + launch) << 32;
		OK(philox_graph_param_index(graph, "out", &index));
		OK(philox_graph_set_param(graph, index, &value, 8));
		launch_one(f, graph);
	}
	read_log(f, &ins);
	read_log(f, &outs);
	LOGGED_IN_ALL(&ins, 6);
	for (unsigned launch = 0; launch < 4; launch++) {
		for (unsigned i = 0; i < counts[launch]; i++, entry++) {
			cr_assert_eq(ins.run[entry].word[0], 1000 + launch);
			cr_assert_eq(outs.run[entry].word[0], 0);
			cr_assert_eq(outs.run[entry].word[1], 2000 + launch);
			cr_assert_eq(outs.run[entry].word[2], 0);
		}
	}
	nothing_wrong(f);
	set_counts(f, tape, counts, 1);
	clear_log(f, &ins);
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	read_log(f, &ins);
	LOGGED_IN_ALL(&ins, 1);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(ins.run[0].word[i], UINT32_MAX);
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
}

/* --- rows ----------------------------------------------------------------- */

static struct philox_rows *make_rows(struct fixture *f)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "table", .count = ROWS};
	struct philox_rows *rows;

	OK(philox_rows_create(f->context, &options, &rows));
	return rows;
}

/* Records a draw of all rows as a log's next entry. */
static void draw_rows(struct fixture *f, struct philox_rows *rows,
		      philox_stream stream, uint32_t *array, struct log *log)
{
	struct philox_row_fill_desc fill = {.size = sizeof(fill),
					    .dist = PHILOX_DIST_BITS,
					    .dtype = PHILOX_DTYPE_U32,
					    .count = VALUES,
					    .pitch = VALUES,
					    .out = array};

	OK(philox_rows_fill(rows, stream, NULL, &fill));
	copy_to_log(f, stream, log, array, ROWS * VALUES * sizeof(*array));
}

static void drew_rows(const struct log *log, unsigned entry, uint64_t calls)
{
	cr_assert_lt(entry, log->n);
	for (uint32_t row = 0; row < ROWS; row++) {
		struct philox_state state = {model_row_seed(0, "table", row),
					     4 * calls};

		for (uint32_t i = 0; i < VALUES; i++)
			cr_assert_eq(log->run[entry].word[row * VALUES + i],
				     model_word(state, i),
				     "entry %u, row %u, value %u", entry, row,
				     i);
	}
}

/* Rows advance on the device, run after run and launch after launch. */
static void rows_in_a_body(struct fixture *f, int with_pass, int destroyed)
{
	static const unsigned counts[] = {2, 0, 5, 1};
	struct philox_region *region = make_region(f, "layer");
	struct philox_rows *rows = make_rows(f);
	struct tape tape = make_tape(f);
	uint32_t *array = make_array(f);
	struct philox_conditional loop;
	struct philox_graph *graph;
	struct log log, passes;
	unsigned calls = 0;

	make_log(f, &log);
	make_log(f, &passes);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	draw_rows(f, rows, f->side, array, &log);
	if (with_pass)
		forward_in(f, region, f->side, &passes);
	end_while(f, f->side, tape, &loop);
	if (destroyed == 1)
		OK(philox_rows_destroy(rows));
	graph = record_end(f);
	cr_assert_eq(philox_graph_pass_count(graph), with_pass ? 1 : 0);
	if (destroyed == 2)
		OK(philox_rows_destroy(rows));
	set_counts(f, tape, counts, 4);
	for (int i = 0; i < 4; i++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};

		OK(philox_graph_launch(graph, f->stream, &use,
				       with_pass ? 1 : 0));
		calls += counts[i];
	}
	read_log(f, &log);
	LOGGED_IN_ALL(&log, calls);
	for (unsigned i = 0; i < calls; i++)
		drew_rows(&log, i, i);
	nothing_wrong(f);
	OK(philox_graph_destroy(graph));
	if (!destroyed)
		OK(philox_rows_destroy(rows));
	OK(philox_region_destroy(region));
}

GRAPH_PROMISE(bodies_memory, rows_advance_with_each_run)
{
	rows_in_a_body(f, 1, 0);
}

PROMISE(bodies_memory, a_body_may_hold_rows_only)
{
	rows_in_a_body(f, 0, 0);
}

GRAPH_PROMISE(bodies_memory, a_table_lives_as_long_as_the_graph)
{
	rows_in_a_body(f, 1, 1);
	rows_in_a_body(f, 1, 2);
}

PROMISE(bodies_memory, a_table_of_rows_only_lives_as_long_as_the_graph)
{
	rows_in_a_body(f, 0, 1);
	rows_in_a_body(f, 0, 2);
}

/* The memory of a table that has gone is given back with the graph. */
PROMISE(bodies_memory, a_table_goes_with_the_graph)
{
	struct philox_rows *rows = make_rows(f), *next;
	struct tape tape = make_tape(f);
	uint32_t *array = make_array(f);
	struct philox_conditional branch;
	struct philox_graph *graph;
	uint64_t freed;
	struct log log;

	make_log(f, &log);
	OK(philox_capture_begin(f->context, f->stream));
	begin_if(f, f->stream, f->side, tape, &branch);
	draw_rows(f, rows, f->side, array, &log);
	OK(philox_conditional_end(&branch));
	OK(philox_capture_end(f->context, f->stream, &graph));
	OK(philox_rows_destroy(rows));
	freed = philox_device_call_count(f->device, "mem_free");
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_device_synchronize(f->device));
	next = make_rows(f);
	cr_assert_eq(philox_device_call_count(f->device, "mem_free"), freed);
	OK(philox_graph_destroy(graph));
	for (unsigned waits = 0;
	     philox_device_call_count(f->device, "mem_free") == freed;
	     waits++) {
		OK(philox_rows_destroy(next));
		next = make_rows(f);
		cr_assert(waits < 2 || wait_for_release(f, waits));
	}
}

/* --- states of generators ------------------------------------------------- */

/* Where the body runs again the copy would be the same each time. */
GRAPH_PROMISE(bodies_memory, a_state_is_not_copied_where_a_body_runs_again)
{
	struct philox_generator *generator =
		philox_context_generator(f->context);
	struct philox_region *region =
		make_wide(f, "layer", PHILOX_REGION_SHARED);
	struct philox_state *state = make_memory(f, sizeof(*state)), found;
	struct tape tape = make_tape(f);
	struct philox_conditional loop, branch;
	struct philox_graph *graph;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	philox_stream inmost;
	struct log log;
	const uint32_t words[] = {1, 0, 0, 1};

	OK(philox_stream_create(f->device, 0, &inmost));
	make_log(f, &log);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	FAILS(philox_generator_copy_state(generator, f->side, state),
	      PHILOX_ERROR_UNSUPPORTED);
	NAMES("generator");
	begin_if(f, f->side, inmost, tape, &branch);
	FAILS(philox_generator_copy_state(generator, inmost, state),
	      PHILOX_ERROR_UNSUPPORTED);
	OK(philox_conditional_end(&branch));
	forward_in(f, region, f->side, &log);
	end_while(f, f->side, tape, &loop);
	begin_if(f, f->stream, f->side, tape, &branch);
	OK(philox_generator_copy_state(generator, f->side, state));
	OK(philox_conditional_end(&branch));
	graph = record_end(f);
	/* a run of the loop without its branch; the branch after it */
	set_tape(f, tape, words, 4);
	OK(philox_graph_launch(graph, f->stream, uses,
			       philox_graph_pass_count(graph)));
	OK(philox_device_synchronize(f->device));
	memcpy(&found, state, sizeof(found));
	cr_assert_eq(found.seed, 0);
	cr_assert_eq(found.offset, WIDE_SUM * LIMIT, "after the whole loop");
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 1);
	nothing_wrong(f);
	OK(philox_stream_destroy(f->device, inmost));
}

/* --- pools ---------------------------------------------------------------- */

GRAPH_PROMISE(bodies_memory, a_session_of_a_pool_is_refused_in_a_body)
{
	struct scene scene = make_scene(f);
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_pool_session *session = NULL;
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_graph *graph;
	struct philox_pool *pool;
	struct log log;
	const unsigned count = 2;

	options.name = "pool";
	OK(philox_pool_create(f->context, &options, &pool));
	make_log(f, &log);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	FAILS(philox_pool_session_begin(pool, f->side, &session),
	      PHILOX_ERROR_UNSUPPORTED);
	NAMES("pool");
	cr_assert_null(session);
	forward_in(f, scene.region, f->side, &log);
	end_while(f, f->side, tape, &loop);
	OK(philox_pool_session_begin(pool, f->stream, &session));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	graph = record_end(f);
	set_counts(f, tape, &count, 1);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 2);
	LOGGED(&log, 0, scene.before.next);
	OK(philox_graph_destroy(graph));
	OK(philox_device_synchronize(f->device));
	scene.before = look(f, scene.region);
	end_scene(f, &scene);
}
