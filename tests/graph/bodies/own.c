/*
 * tests/graph/bodies/own.c - conditional nodes that the caller adds to the
 * graph, as with cudaGraphAddNode() and cudaStreamBeginCaptureToGraph()
 */
#include "lib/device/device.h"
#include "tests/support/loops.h"

enum { LIMIT = 5 };

/* A node of the caller's own, told to philox. */
struct own {
	struct philox_conditional node;
	device_condition condition;
	philox_native_graph bodies[4];
};

static void begin_own(struct fixture *f, philox_stream stream,
		      enum philox_conditional_kind kind, uint32_t bodies,
		      uint32_t limit, struct tape tape, struct own *own)
{
	static const enum conditional_kind kinds[] = {
		CONDITIONAL_IF, CONDITIONAL_WHILE, CONDITIONAL_SWITCH};
	struct philox_conditional_desc options = {.size = sizeof(options),
						  .kind = kind,
						  .bodies = bodies,
						  .limit = limit,
						  .own = 1};
	struct conditional what = {0, kinds[kind], bodies};
	device_node tips[8], node;
	struct capture_info info;
	size_t n = 8;

	OK(philox_conditional_begin(f->context, stream, &options, &own->node));
	cr_assert_eq(own->node.condition, 0);
	OK(device_capture_info(f->device, stream, &info));
	OK(device_condition_create(f->device, info.graph, 0, 0,
				   &own->condition));
	take_word(f, stream, tape);
	OK(device_condition_record(f->device, stream, own->condition,
				   tape.word));
	OK(device_capture_tips(f->device, stream, tips, &n));
	what.condition = own->condition;
	OK(device_graph_add_conditional(f->device, info.graph, tips, n, &what,
					&node, own->bodies));
	OK(device_capture_after(f->device, stream, node));
}

static void begin_own_body(struct fixture *f, struct own *own, uint32_t body,
			   philox_stream inner)
{
	OK(device_capture_begin_to(f->device, inner, own->bodies[body],
				   PHILOX_CAPTURE_RELAXED));
	OK(philox_conditional_body(&own->node, body, inner));
}

static void end_own_body(struct fixture *f, struct own *own, uint32_t body,
			 philox_stream inner)
{
	philox_native_graph ended;

	OK(philox_stream_end_capture(f->device, inner, &ended));
	cr_assert_eq(ended, own->bodies[body]);
}

/* Asks again at the end of a WHILE's body. */
static void ask_again(struct fixture *f, struct own *own, philox_stream inner,
		      struct tape tape)
{
	take_word(f, inner, tape);
	OK(device_condition_record(f->device, inner, own->condition,
				   tape.word));
}

/* --- numbers -------------------------------------------------------------- */

GRAPH_PROMISE(own_nodes, a_while_draws_iteration_after_iteration)
{
	static const unsigned counts[] = {3, 0, 5, 1};
	struct philox_region *region = make_wide(f, "layer", 0);
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	const uint32_t *iteration;
	struct own own;
	struct log log, numbers;

	make_log(f, &log);
	make_log(f, &numbers);
	record_begin(f);
	begin_own(f, f->stream, PHILOX_CONDITIONAL_WHILE, 1, LIMIT, tape, &own);
	begin_own_body(f, &own, 0, f->side);
	OK(philox_conditional_iteration(&own.node, 0, &iteration));
	copy_to_log(f, f->side, &numbers, iteration, 4);
	forward_in(f, region, f->side, &log);
	ask_again(f, &own, f->side, tape);
	end_own_body(f, &own, 0, f->side);
	OK(philox_conditional_end(&own.node));
	graph = record_end(f);
	set_counts(f, tape, counts, 4);
	for (uint64_t launch = 0; launch < 4; launch++) {
		struct philox_launch_pass use;

		clear_log(f, &log);
		clear_log(f, &numbers);
		use = launch_one(f, graph);
		read_log(f, &log);
		read_log(f, &numbers);
		LOGGED_IN_ALL(&log, counts[launch]);
		for (unsigned i = 0; i < counts[launch]; i++) {
			LOGGED(&log, i,
			       predict(0, "layer",
				       WIDE_ADVANCE * (LIMIT * launch + i)));
			cr_assert_eq(numbers.run[i].word[0], i);
		}
		SAME(iteration_of(f, region, use.ticket, 4),
		     predict(0, "layer", WIDE_ADVANCE * (LIMIT * launch + 4)),
		     "the ticket");
	}
	SAME(peek(f, region), predict(0, "layer", 4 * WIDE_ADVANCE * LIMIT),
	     "reserved");
	nothing_wrong(f);
}

GRAPH_PROMISE(own_nodes, a_switch_draws_in_the_body_that_runs)
{
	static const uint32_t words[] = {2, 0, 7, 1};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct philox_launch_pass uses[3] = {{{0, 0}, 0, 0}};
	struct own own;
	struct log logs[3];

	for (int i = 0; i < 3; i++)
		make_log(f, &logs[i]);
	record_begin(f);
	begin_own(f, f->stream, PHILOX_CONDITIONAL_SWITCH, 3, 0, tape, &own);
	for (uint32_t i = 0; i < 3; i++) {
		begin_own_body(f, &own, i, f->side);
		forward_in(f, region, f->side, &logs[i]);
		end_own_body(f, &own, i, f->side);
	}
	OK(philox_conditional_end(&own.node));
	graph = record_end(f);
	set_tape(f, tape, words, 4);
	for (uint64_t launch = 0; launch < 4; launch++) {
		OK(philox_graph_launch(graph, f->stream, uses, 3));
		for (uint32_t i = 0; i < 3; i++) {
			read_log(f, &logs[i]);
			LOGGED_IN_ALL(&logs[i], i == words[launch]);
			if (i == words[launch])
				LOGGED(&logs[i], 0,
				       predict(0, "layer",
					       4 * (3 * launch + i)));
			clear_log(f, &logs[i]);
		}
	}
	nothing_wrong(f);
}

/* A node of ours in the body of one of the caller's, and the other way. */
GRAPH_PROMISE(own_nodes, nest_with_nodes_of_philox)
{
	static const uint32_t words[] = {1, 1, 1, 0, 1, 1, 0, 1, 0, 0};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	philox_stream inmost;

	OK(philox_stream_create(f->device, 0, &inmost));
	for (int ours = 0; ours < 2; ours++) {
		struct philox_conditional loop;
		struct philox_graph *graph;
		struct philox_launch_pass use;
		struct own own;
		struct log log;

		make_log(f, &log);
		record_begin(f);
		if (ours) {
			begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
			begin_own(f, f->side, PHILOX_CONDITIONAL_WHILE, 1,
				  LIMIT, tape, &own);
			begin_own_body(f, &own, 0, inmost);
			forward_in(f, region, inmost, &log);
			ask_again(f, &own, inmost, tape);
			end_own_body(f, &own, 0, inmost);
			OK(philox_conditional_end(&own.node));
			end_while(f, f->side, tape, &loop);
		} else {
			begin_own(f, f->stream, PHILOX_CONDITIONAL_WHILE, 1,
				  LIMIT, tape, &own);
			begin_own_body(f, &own, 0, f->side);
			begin_while(f, f->side, inmost, LIMIT, tape, &loop);
			forward_in(f, region, inmost, &log);
			end_while(f, inmost, tape, &loop);
			ask_again(f, &own, f->side, tape);
			end_own_body(f, &own, 0, f->side);
			OK(philox_conditional_end(&own.node));
		}
		graph = record_end(f);
		set_tape(f, tape, words, 10); /* inner runs: 2, 1, 0 */
		use = launch_one(f, graph);
		read_log(f, &log);
		LOGGED_IN_ALL(&log, 3);
		for (unsigned i = 0; i < 3; i++)
			LOGGED(&log, i,
			       predict(0, "layer",
				       4 * (LIMIT * (uint64_t)ours + i)));
		OK(philox_ticket_release(region, f->stream, use.ticket));
	}
	nothing_wrong(f);
	OK(philox_stream_destroy(f->device, inmost));
}

GRAPH_PROMISE(own_nodes, runs_beyond_the_limit_are_poison)
{
	static const unsigned counts[] = {LIMIT + 2, 1};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct own own;
	struct log log;

	make_log(f, &log);
	record_begin(f);
	begin_own(f, f->stream, PHILOX_CONDITIONAL_WHILE, 1, LIMIT, tape, &own);
	begin_own_body(f, &own, 0, f->side);
	forward_in(f, region, f->side, &log);
	ask_again(f, &own, f->side, tape);
	end_own_body(f, &own, 0, f->side);
	OK(philox_conditional_end(&own.node));
	graph = record_end(f);
	set_counts(f, tape, counts, 2);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, LIMIT + 2);
	LOGGED(&log, LIMIT - 1, predict(0, "layer", 4 * (LIMIT - 1)));
	POISON_LOGGED(&log, LIMIT);
	POISON_LOGGED(&log, LIMIT + 1);
	beyond_limits(f, 2);
	clear_log(f, &log);
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 1);
	POISON_LOGGED(&log, 0);
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
}

/* --- bad input ------------------------------------------------------------ */

GRAPH_PROMISE(own_nodes, a_body_that_cannot_be_tied)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	const uint32_t words[] = {0, 1};
	struct own own;
	struct log logs[2];

	for (int i = 0; i < 2; i++)
		make_log(f, &logs[i]);
	record_begin(f);
	begin_own(f, f->stream, PHILOX_CONDITIONAL_SWITCH, 2, 0, tape, &own);
	FAILS(philox_conditional_body(&own.node, 0, f->side),
	      PHILOX_ERROR_STATE);
	runs(f, f->side);
	OK(device_capture_begin_to(f->device, f->side, own.bodies[0],
				   PHILOX_CAPTURE_RELAXED));
	FAILS(philox_conditional_body(&own.node, 2, f->side),
	      PHILOX_ERROR_INVALID);
	OK(philox_conditional_body(&own.node, 0, f->side));
	FAILS(philox_conditional_body(&own.node, 0, f->side),
	      PHILOX_ERROR_EXISTS);
	FAILS(philox_conditional_body(&own.node, 1, f->side),
	      PHILOX_ERROR_EXISTS);
	FAILS(philox_conditional_set(&own.node, f->side, tape.word),
	      PHILOX_ERROR_INVALID);
	forward_in(f, region, f->side, &logs[0]);
	end_own_body(f, &own, 0, f->side);
	begin_own_body(f, &own, 1, f->side);
	forward_in(f, region, f->side, &logs[1]);
	end_own_body(f, &own, 1, f->side);
	OK(philox_conditional_end(&own.node));
	graph = record_end(f);
	set_tape(f, tape, words, 2);
	for (int i = 0; i < 2; i++)
		OK(philox_graph_launch(graph, f->stream, uses, 2));
	for (int i = 0; i < 2; i++) {
		read_log(f, &logs[i]);
		LOGGED_IN_ALL(&logs[i], 1);
		LOGGED(&logs[i], 0, predict(0, "layer", (uint64_t)i * 12));
	}
	nothing_wrong(f);
}

/* Nothing can be drawn in a body before it is tied to its node. */
GRAPH_PROMISE(own_nodes, a_body_with_passes_before_it_is_tied)
{
	struct philox_region *region = make_region(f, "layer");
	struct ledger_view before = look(f, region);
	struct tape tape = make_tape(f);
	philox_native_graph ended;
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct own own;

	record_begin(f);
	begin_own(f, f->stream, PHILOX_CONDITIONAL_WHILE, 1, LIMIT, tape, &own);
	OK(device_capture_begin_to(f->device, f->side, own.bodies[0],
				   PHILOX_CAPTURE_RELAXED));
	if (philox_forward_begin(region, f->side, 0, &pass) == PHILOX_OK) {
		draw(&pass, f->scratch);
		OK(philox_pass_commit(&pass, 0, &ticket));
		FAILS(philox_conditional_body(&own.node, 0, f->side),
		      PHILOX_ERROR_STATE);
	}
	philox_stream_end_capture(f->device, f->side, &ended);
	OK(philox_conditional_end(
		&own.node)); /* a body may do without philox */
	FAILS_EITHER(record_end_failing(f), PHILOX_ERROR_STATE,
		     PHILOX_ERROR_INVALID);
	runs(f, f->side);
	unchanged(f, region, &before);
}
