/*
 * tests/graph/bodies/left.c - captures with bodies that cannot become a graph:
 * nothing is left of them, no stream is capturing, everything works
 */
#include "tests/support/loops.h"
#include "tests/support/scene.h"

enum { LIMIT = 4 };

/* A scene with a loop that is open, a forward in its body. */
struct open_loop {
	struct scene scene;
	struct tape tape;
	struct log log;
	struct philox_conditional loop;
	struct philox_ticket ticket;
	uint64_t body; /* id of the body's capture */
};

static void make_loop(struct fixture *f, struct open_loop *open)
{
	open->scene = make_scene(f);
	open->tape = make_tape(f);
	make_log(f, &open->log);
}

static void begin_loop(struct fixture *f, struct open_loop *open)
{
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, open->tape, &open->loop);
	OK(philox_stream_capture_info(f->device, f->side, NULL, &open->body));
	cr_assert_neq(open->body, f->capture_id);
	open->ticket = forward_in(f, open->scene.region, f->side, &open->log);
}

/* A loop works, and so does all the rest. */
static void loop_is_whole(struct fixture *f, struct open_loop *open)
{
	const unsigned count = 3;
	struct philox_graph *graph;
	struct philox_launch_pass use;

	runs(f, f->side);
	scene_is_whole(f, &open->scene);
	clear_log(f, &open->log);
	graph = record_while(f, open->scene.region, LIMIT, open->tape,
			     &open->log);
	set_counts(f, open->tape, &count, 1);
	use = launch_one(f, graph);
	read_log(f, &open->log);
	LOGGED_IN_ALL(&open->log, 3);
	LOGGED(&open->log, 0, open->scene.before.next);
	OK(philox_ticket_release(open->scene.region, f->stream, use.ticket));
	OK(philox_graph_destroy(graph));
	nothing_wrong(f);
	open->scene.before = look(f, open->scene.region);
}

static void end_loop(struct fixture *f, struct open_loop *open)
{
	loop_is_whole(f, open);
	end_scene(f, &open->scene);
}

/* --- ends ----------------------------------------------------------------- */

/* Our own end closes what is open; with a capture of the caller's, the node's
 * end does. */
GRAPH_PROMISE(bodies_left, a_body_left_open)
{
	struct open_loop open;

	make_loop(f, &open);
	for (int round = 0; round < 3; round++) {
		begin_loop(f, &open);
		if (f->own) {
			philox_native_graph native = NULL;
			enum philox_status ended = philox_stream_end_capture(
				f->device, f->stream, &native);

			philox_conditional_end(&open.loop);
			runs(f, f->side);
			if (ended == PHILOX_OK)
				OK(philox_native_graph_destroy(f->device,
							       native));
			FAILS_EITHER(
				philox_capture_drop(f->context, f->capture_id),
				PHILOX_OK, PHILOX_ERROR_NOT_FOUND);
		} else {
			cr_assert_neq(record_end_failing(f), PHILOX_OK);
			runs(f, f->side);
			FAILS(philox_conditional_end(&open.loop),
			      PHILOX_ERROR_STATE);
		}
		loop_is_whole(f, &open);
	}
	end_loop(f, &open);
}

PROMISE(bodies_left, bodies_nested_left_open)
{
	struct open_loop open;
	struct philox_conditional branch;
	struct philox_graph *graph = NULL;
	philox_stream inmost;

	OK(philox_stream_create(f->device, 0, &inmost));
	make_loop(f, &open);
	for (int round = 0; round < 2; round++) {
		begin_loop(f, &open);
		begin_if(f, f->side, inmost, open.tape, &branch);
		forward_in(f, open.scene.region, inmost, &open.log);
		if (round) {
			philox_conditional_end(&open.loop);
			cr_assert_null(open.loop.context);
			runs(f, inmost);
			runs(f, f->side);
		}
		FAILS(philox_capture_end(f->context, f->stream, &graph),
		      PHILOX_ERROR_STATE);
		cr_assert_null(graph);
		runs(f, inmost);
		runs(f, f->side);
		FAILS(philox_conditional_end(&branch), PHILOX_ERROR_STATE);
		FAILS(philox_conditional_end(&open.loop), PHILOX_ERROR_STATE);
		loop_is_whole(f, &open);
	}
	end_loop(f, &open);
	OK(philox_stream_destroy(f->device, inmost));
}

/*
 * The end of an outer node ends the bodies of nodes within: these are to be
 * ended all the same, or the capture is no graph.
 */
GRAPH_PROMISE(bodies_left, a_node_ended_around_an_open_one)
{
	static const uint32_t words[] = {1, 0, 1};
	struct open_loop open;
	struct philox_conditional branch;
	struct philox_graph *graph;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	philox_stream inmost;

	OK(philox_stream_create(f->device, 0, &inmost));
	make_loop(f, &open);
	for (int late = 0; late < 2; late++) {
		begin_loop(f, &open);
		take_word(f, f->side, open.tape);
		OK(philox_conditional_set(&open.loop, f->side, open.tape.word));
		begin_if(f, f->side, inmost, open.tape, &branch);
		forward_in(f, open.scene.region, inmost, &open.log);
		philox_conditional_end(&open.loop);
		cr_assert_null(open.loop.context);
		runs(f, inmost);
		runs(f, f->side);
		if (!late) {
			cr_assert_eq(record_end_failing(f), PHILOX_ERROR_STATE);
			/* CUDA says some time later that a graph has gone */
			FAILS_EITHER(philox_conditional_end(&branch),
				     PHILOX_ERROR_STATE,
				     f->own ? PHILOX_OK : PHILOX_ERROR_STATE);
			loop_is_whole(f, &open);
			continue;
		}
		if (philox_conditional_end(&branch) != PHILOX_OK) {
			record_end_failing(f);
			continue;
		}
		graph = record_end(f);
		clear_log(f, &open.log);
		set_tape(f, open.tape, words, 3);
		OK(philox_graph_launch(graph, f->stream, uses, 2));
		read_log(f, &open.log);
		LOGGED_IN_ALL(&open.log, 2);
		LOGGED(&open.log, 0, open.scene.before.next);
		for (int i = 0; i < 2; i++)
			OK(philox_ticket_release(open.scene.region, f->stream,
						 uses[i].ticket));
		open.scene.before = look(f, open.scene.region);
	}
	end_loop(f, &open);
	OK(philox_stream_destroy(f->device, inmost));
}

GRAPH_PROMISE(bodies_left, a_node_whose_bodies_were_not_all_captured)
{
	struct open_loop open;
	struct philox_conditional node;

	make_loop(f, &open);
	for (uint32_t captured = 0; captured < 3; captured++) {
		record_begin(f);
		begin_node(f, f->stream, PHILOX_CONDITIONAL_SWITCH, 3, 0,
			   open.tape, &node);
		for (uint32_t i = 0; i < captured; i++) {
			OK(philox_conditional_body(&node, 2 - i, f->side));
			forward_in(f, open.scene.region, f->side, &open.log);
		}
		FAILS(philox_conditional_end(&node), PHILOX_ERROR_STATE);
		NAMES("bod");
		runs(f, f->side);
		cr_assert_null(node.context);
		FAILS_EITHER(record_end_failing(f), PHILOX_ERROR_STATE,
			     PHILOX_ERROR_INVALID);
		loop_is_whole(f, &open);
	}
	end_loop(f, &open);
}

/* A capture ended while a node is open that has no body yet. */
PROMISE(bodies_left, a_node_without_a_body_left_open)
{
	struct open_loop open;
	struct philox_conditional node;
	struct philox_graph *graph = NULL;

	make_loop(f, &open);
	record_begin(f);
	begin_node(f, f->stream, PHILOX_CONDITIONAL_IF, 1, 0, open.tape, &node);
	FAILS(philox_capture_end(f->context, f->stream, &graph),
	      PHILOX_ERROR_STATE);
	cr_assert_null(graph);
	FAILS(philox_conditional_body(&node, 0, f->side), PHILOX_ERROR_STATE);
	runs(f, f->side);
	FAILS(philox_conditional_end(&node), PHILOX_ERROR_STATE);
	end_loop(f, &open);
}

/* The caller has ended the capture, and its graph has gone. */
PROMISE(bodies_left, a_node_whose_capture_is_over)
{
	struct open_loop open;
	struct philox_conditional node;
	philox_native_graph native = NULL;

	f->own = 1;
	make_loop(f, &open);
	for (int gone = 0; gone < 2; gone++) {
		record_begin(f);
		begin_node(f, f->stream, PHILOX_CONDITIONAL_IF, 1, 0, open.tape,
			   &node);
		OK(philox_stream_end_capture(f->device, f->stream, &native));
		if (gone)
			OK(philox_native_graph_destroy(f->device, native));
		FAILS(philox_conditional_body(&node, 0, f->side),
		      PHILOX_ERROR_STATE);
		runs(f, f->side);
		FAILS(philox_conditional_end(&node), PHILOX_ERROR_STATE);
		if (!gone)
			OK(philox_native_graph_destroy(f->device, native));
		FAILS_EITHER(philox_capture_drop(f->context, f->capture_id),
			     PHILOX_OK, PHILOX_ERROR_NOT_FOUND);
		loop_is_whole(f, &open);
	}
	end_loop(f, &open);
}

GRAPH_PROMISE(bodies_left, a_pass_left_open_in_a_body)
{
	struct open_loop open;
	struct philox_pass pass;

	make_loop(f, &open);
	begin_loop(f, &open);
	OK(philox_forward_begin(open.scene.region, f->side, 0, &pass));
	draw_to_log(f, &pass, &open.log);
	take_word(f, f->side, open.tape);
	OK(philox_conditional_set(&open.loop, f->side, open.tape.word));
	philox_conditional_end(&open.loop);
	runs(f, f->side);
	cr_assert_eq(record_end_failing(f), PHILOX_ERROR_STATE);
	FAILS_EITHER(philox_pass_abort(&pass), PHILOX_OK, PHILOX_ERROR_STATE);
	end_loop(f, &open);
}

GRAPH_PROMISE(bodies_left, a_pass_aborted_in_a_body)
{
	struct open_loop open;
	struct philox_pass pass;

	make_loop(f, &open);
	begin_loop(f, &open);
	OK(philox_forward_begin(open.scene.region, f->side, 0, &pass));
	OK(philox_pass_abort(&pass));
	end_while(f, f->side, open.tape, &open.loop);
	cr_assert_eq(record_end_failing(f), PHILOX_ERROR_STATE);
	end_loop(f, &open);
}

/* --- a body alone --------------------------------------------------------- */

/* Its id is no capture's that could become a graph. */
GRAPH_PROMISE(bodies_left, a_body_cannot_be_adopted_alone)
{
	struct open_loop open;
	struct philox_graph *graph = NULL, *whole;
	struct native other = capture_natively(f, NULL, NULL, NULL);
	const unsigned count = 2;

	make_loop(f, &open);
	begin_loop(f, &open);
	FAILS(philox_capture_drop(f->context, open.body), PHILOX_ERROR_INVALID);
	NAMES("body");
	cr_assert_neq(philox_capture_end(f->context, f->side, &graph),
		      PHILOX_OK);
	cr_assert_null(graph);
	end_while(f, f->side, open.tape, &open.loop);
	FAILS(philox_capture_drop(f->context, open.body), PHILOX_ERROR_INVALID);
	NAMES("body");
	whole = record_end(f);
	FAILS(philox_graph_adopt(f->context, open.body, other.graph, other.exec,
				 &graph),
	      PHILOX_ERROR_INVALID);
	NAMES("body");
	cr_assert_null(graph);
	set_counts(f, open.tape, &count, 1);
	launch_one(f, whole);
	read_log(f, &open.log);
	LOGGED_IN_ALL(&open.log, 2);
	LOGGED(&open.log, 0, open.scene.before.next);
	OK(philox_graph_destroy(whole));
	destroy_native(f, &other);
	open.scene.before = look(f, open.scene.region);
	end_loop(f, &open);
}

/* A body whose capture the caller ends. */
GRAPH_PROMISE(bodies_left, a_body_that_the_caller_ends)
{
	struct open_loop open;
	struct philox_graph *graph = NULL;
	philox_native_graph native = NULL;

	make_loop(f, &open);
	begin_loop(f, &open);
	philox_stream_end_capture(f->device, f->side, &native);
	philox_conditional_end(&open.loop);
	runs(f, f->side);
	if (f->own)
		philox_stream_end_capture(f->device, f->stream, &native);
	else
		philox_capture_end(f->context, f->stream, &graph);
	runs(f, f->stream);
	OK(philox_graph_destroy(graph));
	if (f->own) {
		philox_capture_drop(f->context, f->capture_id);
		philox_native_graph_destroy(f->device, native);
	}
	end_loop(f, &open);
}

GRAPH_PROMISE(bodies_left, a_capture_dropped_while_a_body_is_open)
{
	struct open_loop open;
	philox_native_graph native = NULL;

	if (!f->own)
		return;
	make_loop(f, &open);
	begin_loop(f, &open);
	OK(philox_capture_drop(f->context, f->capture_id));
	philox_conditional_end(&open.loop);
	cr_assert_null(open.loop.context);
	runs(f, f->side);
	if (philox_stream_end_capture(f->device, f->stream, &native) ==
	    PHILOX_OK)
		OK(philox_native_graph_destroy(f->device, native));
	end_loop(f, &open);
}

/* --- what breaks captures ------------------------------------------------- */

/* The wait breaks the body's capture, and its parent's with it. */
GRAPH_PROMISE(bodies_left, a_capture_invalidated_in_a_body)
{
	struct open_loop open;
	struct philox_pass pass;

	make_loop(f, &open);
	for (int round = 0; round < 3; round++) {
		begin_loop(f, &open);
		FAILS(philox_stream_synchronize(
			      f->device, round == 1 ? f->stream : f->side),
		      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
		FAILS(philox_forward_begin(open.scene.region, f->side, 0,
					   &pass),
		      PHILOX_ERROR_CAPTURE_INVALIDATED);
		FAILS(philox_conditional_set(&open.loop, f->side,
					     open.tape.word),
		      PHILOX_ERROR_CAPTURE_INVALIDATED);
		if (round < 2 || f->own)
			cr_assert_neq(philox_conditional_end(&open.loop),
				      PHILOX_OK);
		cr_assert_neq(record_end_failing(f), PHILOX_OK);
		runs(f, f->side);
		loop_is_whole(f, &open);
	}
	end_loop(f, &open);
}

GRAPH_PROMISE(bodies_left, a_node_in_a_capture_that_is_broken)
{
	struct open_loop open;
	struct philox_conditional node;
	struct philox_conditional_desc options =
		PHILOX_INIT(struct philox_conditional_desc);

	make_loop(f, &open);
	record_begin(f);
	captured_forward(f, open.scene.region, 0, open.scene.array);
	FAILS(philox_stream_synchronize(f->device, f->stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	FAILS(philox_conditional_begin(f->context, f->stream, &options, &node),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	cr_assert_null(node.context);
	record_end_failing(f);
	record_begin(f);
	begin_node(f, f->stream, PHILOX_CONDITIONAL_IF, 1, 0, open.tape, &node);
	FAILS(philox_stream_synchronize(f->device, f->stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	cr_assert_neq(philox_conditional_body(&node, 0, f->side), PHILOX_OK);
	runs(f, f->side);
	philox_conditional_end(&node);
	record_end_failing(f);
	end_loop(f, &open);
}

/* A stream that joined the body has not come back. */
GRAPH_PROMISE(bodies_left, a_fork_of_a_body_that_is_not_joined)
{
	struct open_loop open;
	philox_stream beside;
	philox_event out;

	OK(philox_stream_create(f->device, 0, &beside));
	OK(philox_event_create(f->device, &out));
	make_loop(f, &open);
	begin_loop(f, &open);
	OK(philox_event_record(f->device, f->side, out));
	OK(philox_event_wait(f->device, beside, out));
	OK(philox_memory_set(f->device, beside, open.scene.array, 0, 16));
	FAILS(philox_conditional_end(&open.loop),
	      PHILOX_ERROR_CAPTURE_UNJOINED);
	runs(f, f->side);
	runs(f, beside);
	record_end_failing(f);
	end_loop(f, &open);
	OK(philox_event_destroy(f->device, out));
	OK(philox_stream_destroy(f->device, beside));
}
