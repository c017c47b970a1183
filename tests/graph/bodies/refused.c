/*
 * tests/graph/bodies/refused.c - branches and loops that are refused, each by
 * name; the capture goes on unless its comment says otherwise
 */
#include "tests/support/loops.h"
#include "tests/support/scene.h"

enum { LIMIT = 4 };

static struct philox_conditional_desc plain_while(void)
{
	return (struct philox_conditional_desc){
		.size = sizeof(struct philox_conditional_desc),
		.kind = PHILOX_CONDITIONAL_WHILE,
		.limit = LIMIT};
}

/* A conditional that nothing has opened. */
static struct philox_conditional none(void)
{
	struct philox_conditional node;

	memset(&node, 0, sizeof(node));
	return node;
}

/* --- nodes ---------------------------------------------------------------- */

struct refusal {
	const char *field;
	struct philox_conditional_desc options;
};

static void begin_is_refused(struct fixture *f, const struct refusal *refusal)
{
	struct philox_conditional_desc options = refusal->options;
	struct philox_conditional node;

	memset(&node, 0x5a, sizeof(node));
	FAILS(philox_conditional_begin(f->context, f->stream, &options, &node),
	      PHILOX_ERROR_INVALID);
	NAMES(refusal->field);
	cr_assert_null(node.context);
	FAILS(philox_conditional_end(&node), PHILOX_ERROR_STATE);
}

GRAPH_PROMISE(bodies_refused, a_node_that_cannot_be)
{
	enum { S = sizeof(struct philox_conditional_desc) };
	uint32_t *word = make_memory(f, 16);
	const uint32_t *odd = (uint32_t *)((char *)word + 1),
		       *half = (uint32_t *)((char *)word + 2);
	const struct refusal refusals[] = {
		{"size", {.size = 0}},
		{"size", {.size = 8}},
		{"kind", {.size = S, .kind = (enum philox_conditional_kind)3}},
		{"kind", {.size = S, .kind = (enum philox_conditional_kind)99}},
		{"bodies",
		 {.size = S, .kind = PHILOX_CONDITIONAL_IF, .bodies = 3}},
		{"bodies",
		 {.size = S,
		  .kind = PHILOX_CONDITIONAL_WHILE,
		  .bodies = 2,
		  .limit = 1}},
		{"bodies",
		 {.size = S,
		  .kind = PHILOX_CONDITIONAL_SWITCH,
		  .bodies = 1025}},
		{"bodies",
		 {.size = S,
		  .kind = PHILOX_CONDITIONAL_SWITCH,
		  .bodies = UINT32_MAX}},
		{"limit", {.size = S, .kind = PHILOX_CONDITIONAL_WHILE}},
		{"own", {.size = S, .own = 2}},
		{"word", {.size = S, .own = 1, .word = word}},
		{"word", {.size = S, .word = odd}},
		{"word", {.size = S, .word = half}},
	};
	struct scene scene = make_scene(f);
	struct philox_conditional node;
	struct philox_conditional_desc options = plain_while();
	struct philox_graph *graph;

	record_begin(f);
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		begin_is_refused(f, &refusals[i]);
	FAILS(philox_conditional_begin(NULL, f->stream, &options, &node),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_conditional_begin(f->context, f->stream, NULL, &node),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_conditional_begin(f->context, f->stream, &options, NULL),
	      PHILOX_ERROR_INVALID);
	captured_forward(f, scene.region, 0, scene.array);
	graph = record_end(f);
	SAME(launch_forward(f, graph, scene.region, scene.array).saw,
	     scene.before.next, "the capture went on");
	scene.before = look(f, scene.region);
	end_scene(f, &scene);
}

PROMISE(bodies_refused, a_node_on_a_stream_that_does_not_capture)
{
	struct scene scene = make_scene(f);
	struct philox_conditional_desc options = plain_while();
	struct philox_conditional node;

	memset(&node, 0x5a, sizeof(node));
	FAILS(philox_conditional_begin(f->context, f->stream, &options, &node),
	      PHILOX_ERROR_STATE);
	NAMES("captur");
	cr_assert_null(node.context);
	FAILS(philox_conditional_begin(f->context, NULL, &options, &node),
	      PHILOX_ERROR_STATE);
	end_scene(f, &scene);
}

/* --- bodies --------------------------------------------------------------- */

GRAPH_PROMISE(bodies_refused, a_body_without_a_node)
{
	struct scene scene = make_scene(f);
	struct philox_conditional node = none();
	uint32_t *word = make_memory(f, 4);
	const uint32_t *iteration;

	FAILS(philox_conditional_body(&node, 0, f->side), PHILOX_ERROR_STATE);
	runs(f, f->side);
	FAILS(philox_conditional_body(NULL, 0, f->side), PHILOX_ERROR_INVALID);
	FAILS(philox_conditional_end(&node), PHILOX_ERROR_STATE);
	FAILS(philox_conditional_end(NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_conditional_iteration(&node, 0, &iteration),
	      PHILOX_ERROR_STATE);
	FAILS(philox_conditional_iteration(NULL, 0, &iteration),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_conditional_beyond(&node, 0, &iteration),
	      PHILOX_ERROR_STATE);
	FAILS(philox_conditional_beyond(NULL, 0, &iteration),
	      PHILOX_ERROR_INVALID);
	record_begin(f);
	FAILS(philox_conditional_set(&node, f->stream, word),
	      PHILOX_ERROR_STATE);
	FAILS(philox_conditional_set(NULL, f->stream, word),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_conditional_body(&node, 0, f->side), PHILOX_ERROR_STATE);
	OK(philox_graph_destroy(f->own ? NULL : record_end(f)));
	if (f->own)
		record_end_failing(f);
	runs(f, f->side);
	end_scene(f, &scene);
}

/* A node that has ended is not open any more. */
GRAPH_PROMISE(bodies_refused, a_node_that_has_ended)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_graph *graph;
	const uint32_t *iteration;
	struct log log;
	const unsigned count = 2;

	make_log(f, &log);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	forward_in(f, region, f->side, &log);
	end_while(f, f->side, tape, &loop);
	cr_assert_null(loop.context);
	FAILS(philox_conditional_end(&loop), PHILOX_ERROR_STATE);
	FAILS(philox_conditional_body(&loop, 0, f->side), PHILOX_ERROR_STATE);
	FAILS(philox_conditional_set(&loop, f->stream, tape.word),
	      PHILOX_ERROR_STATE);
	FAILS(philox_conditional_iteration(&loop, 0, &iteration),
	      PHILOX_ERROR_STATE);
	graph = record_end(f);
	set_counts(f, tape, &count, 1);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 2);
	nothing_wrong(f);
}

/* A refused body leaves none open; the node is, and takes its bodies then. */
GRAPH_PROMISE(bodies_refused, a_body_that_there_is_not_or_that_was)
{
	static const uint32_t words[] = {0, 1, 2};
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional node;
	struct philox_graph *graph;
	struct philox_launch_pass uses[3] = {{{0, 0}, 0, 0}};
	struct log logs[3];
	const uint32_t *iteration;
	philox_stream busy;

	OK(philox_stream_create(f->device, 0, &busy));
	for (int i = 0; i < 3; i++)
		make_log(f, &logs[i]);
	record_begin(f);
	begin_node(f, f->stream, PHILOX_CONDITIONAL_SWITCH, 3, 0, tape, &node);
	FAILS(philox_conditional_body(&node, 3, f->side), PHILOX_ERROR_INVALID);
	runs(f, f->side);
	FAILS(philox_conditional_body(&node, UINT32_MAX, f->side),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_conditional_iteration(&node, 0, &iteration),
	      PHILOX_ERROR_STATE);
	OK(philox_conditional_body(&node, 1, f->side));
	FAILS(philox_conditional_iteration(&node, 3, &iteration),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_conditional_iteration(&node, 0, &iteration),
	      PHILOX_ERROR_STATE);
	FAILS(philox_conditional_iteration(&node, 1, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("iteration is NULL");
	FAILS(philox_conditional_beyond(&node, 3, &iteration),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_conditional_beyond(&node, 0, &iteration),
	      PHILOX_ERROR_STATE);
	FAILS(philox_conditional_beyond(&node, 1, NULL), PHILOX_ERROR_INVALID);
	NAMES("beyond is NULL");
	OK(philox_conditional_iteration(&node, 1, &iteration));
	forward_in(f, region, f->side, &logs[1]);
	FAILS(philox_conditional_body(&node, 1, busy), PHILOX_ERROR_EXISTS);
	runs(f, busy);
	runs(f, f->side);
	OK(philox_conditional_body(&node, 2, f->side));
	forward_in(f, region, f->side, &logs[2]);
	FAILS(philox_conditional_body(&node, 3, busy), PHILOX_ERROR_INVALID);
	runs(f, busy);
	runs(f, f->side);
	OK(philox_conditional_body(&node, 0, f->side));
	forward_in(f, region, f->side, &logs[0]);
	OK(philox_conditional_end(&node));
	graph = record_end(f);
	set_tape(f, tape, words, 3);
	for (int i = 0; i < 3; i++)
		OK(philox_graph_launch(graph, f->stream, uses, 3));
	for (int i = 0; i < 3; i++) {
		read_log(f, &logs[i]);
		LOGGED_IN_ALL(&logs[i], 1);
	}
	/* in order of capture: 1, 2, 0 */
	LOGGED(&logs[0], 0, predict(0, "layer", 8));
	LOGGED(&logs[1], 0, predict(0, "layer", 12));
	LOGGED(&logs[2], 0, predict(0, "layer", 28));
	nothing_wrong(f);
	OK(philox_stream_destroy(f->device, busy));
}

/* The body's stream captures something else; that goes on. */
GRAPH_PROMISE(bodies_refused, a_body_on_a_stream_that_captures)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	enum philox_capture_status capture;
	philox_native_graph other;
	struct philox_graph *graph;
	struct log log;
	const unsigned count = 1;

	make_log(f, &log);
	OK(philox_stream_begin_capture(f->device, f->side,
				       PHILOX_CAPTURE_RELAXED));
	record_begin(f);
	begin_node(f, f->stream, PHILOX_CONDITIONAL_WHILE, 0, LIMIT, tape,
		   &loop);
	FAILS(philox_conditional_body(&loop, 0, f->side), PHILOX_ERROR_STATE);
	OK(philox_stream_capture_info(f->device, f->side, &capture, NULL));
	cr_assert_eq(capture, PHILOX_CAPTURE_ACTIVE);
	OK(philox_stream_end_capture(f->device, f->side, &other));
	FAILS(philox_conditional_body(&loop, 0, f->stream), PHILOX_ERROR_STATE);
	OK(philox_stream_capture_info(f->device, f->stream, &capture, NULL));
	cr_assert_eq(capture, PHILOX_CAPTURE_ACTIVE);
	OK(philox_conditional_body(&loop, 0, f->side));
	forward_in(f, region, f->side, &log);
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	OK(philox_native_graph_destroy(f->device, other));
	set_counts(f, tape, &count, 1);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 1);
	LOGGED(&log, 0, predict(0, "layer", 0));
	nothing_wrong(f);
}

/* Bodies take the room of passes in the head's message. */
GRAPH_PROMISE(bodies_refused, more_bodies_than_a_head_has_room_for)
{
	enum { MOST = 1024 };
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional_desc options = {
		.size = sizeof(options),
		.kind = PHILOX_CONDITIONAL_SWITCH,
		.bodies = MOST,
		.word = tape.word};
	struct philox_conditional node, other;
	struct philox_graph *graph;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	const uint32_t words[] = {MOST - 1, 3, MOST};
	struct log logs[2];

	for (int i = 0; i < 2; i++)
		make_log(f, &logs[i]);
	record_begin(f);
	take_word(f, f->stream, tape);
	OK(philox_conditional_begin(f->context, f->stream, &options, &node));
	FAILS(philox_conditional_begin(f->context, f->stream, &options, &other),
	      PHILOX_ERROR_LIMIT);
	cr_assert_null(other.context);
	for (uint32_t i = 0; i < MOST; i++) {
		OK(philox_conditional_body(&node, i, f->side));
		if (i == 3 || i == MOST - 1)
			forward_in(f, region, f->side, &logs[i == 3]);
	}
	OK(philox_conditional_end(&node));
	graph = record_end(f);
	set_tape(f, tape, words, 3);
	for (int i = 0; i < 3; i++)
		OK(philox_graph_launch(graph, f->stream, uses, 2));
	for (int i = 0; i < 2; i++) {
		read_log(f, &logs[i]);
		LOGGED_IN_ALL(&logs[i], 1);
	}
	LOGGED(&logs[0], 0, predict(0, "layer", 4));
	LOGGED(&logs[1], 0, predict(0, "layer", 8));
	nothing_wrong(f);
}

/* --- conditions ----------------------------------------------------------- */

GRAPH_PROMISE(bodies_refused, a_condition_set_where_it_cannot_be)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	philox_native_graph native;
	struct philox_graph *graph;
	philox_stream other;
	struct log log;
	const unsigned count = 2;

	OK(philox_stream_create(f->device, 0, &other));
	make_log(f, &log);
	record_begin(f);
	begin_node(f, f->stream, PHILOX_CONDITIONAL_WHILE, 0, LIMIT, tape,
		   &loop);
	FAILS(philox_conditional_set(&loop, f->side, tape.word),
	      PHILOX_ERROR_STATE);
	OK(philox_conditional_body(&loop, 0, f->side));
	FAILS(philox_conditional_set(&loop, f->stream, tape.word),
	      PHILOX_ERROR_MISMATCH);
	FAILS(philox_conditional_set(&loop, other, tape.word),
	      PHILOX_ERROR_STATE);
	OK(philox_stream_begin_capture(f->device, other,
				       PHILOX_CAPTURE_RELAXED));
	FAILS(philox_conditional_set(&loop, other, tape.word),
	      PHILOX_ERROR_MISMATCH);
	OK(philox_stream_end_capture(f->device, other, &native));
	FAILS(philox_conditional_set(&loop, f->side, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_conditional_set(&loop, f->side,
				     (uint32_t *)((char *)tape.word + 1)),
	      PHILOX_ERROR_INVALID);
	NAMES("aligned");
	forward_in(f, region, f->side, &log);
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	OK(philox_native_graph_destroy(f->device, native));
	set_counts(f, tape, &count, 1);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 2);
	nothing_wrong(f);
	OK(philox_stream_destroy(f->device, other));
}

/* --- passes --------------------------------------------------------------- */

GRAPH_PROMISE(bodies_refused, reversed_where_there_is_nothing_to_reverse)
{
	const struct philox_ticket named_at_launch = {0, 0};
	struct philox_region *region = make_region(f, "layer");
	struct forward kept = forward(f, region);
	struct ledger_view before = look(f, region);
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_ticket outside, ticket;
	struct philox_graph *graph;
	struct philox_pass pass;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	uint32_t *array = make_array(f);
	struct log log;

	make_log(f, &log);
	FAILS(philox_forward_begin(region, f->stream, PHILOX_PASS_REVERSED,
				   &pass),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_backward_begin(region, f->stream, kept.ticket,
				    PHILOX_PASS_REVERSED, &pass),
	      PHILOX_ERROR_INVALID);
	NAMES("REVERSED");
	unchanged(f, region, &before);
	record_begin(f);
	outside = captured_forward(f, region, 0, array);
	FAILS(philox_backward_begin(region, f->stream, outside,
				    PHILOX_PASS_REVERSED, &pass),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_backward_begin(region, f->stream, named_at_launch,
				    PHILOX_PASS_REVERSED, &pass),
	      PHILOX_ERROR_INVALID);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	FAILS(philox_forward_begin(region, f->side, PHILOX_PASS_REVERSED,
				   &pass),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_backward_begin(region, f->side, named_at_launch,
				    PHILOX_PASS_REVERSED, &pass),
	      PHILOX_ERROR_INVALID);
	NAMES("REVERSED");
	FAILS(philox_backward_begin(region, f->side, outside,
				    PHILOX_PASS_REVERSED, &pass),
	      PHILOX_ERROR_INVALID);
	ticket = forward_in(f, region, f->side, &log);
	FAILS(philox_backward_begin(region, f->side, ticket,
				    PHILOX_PASS_REVERSED, &pass),
	      PHILOX_ERROR_INVALID);
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	cr_assert_eq(philox_graph_pass_count(graph), 2);
	OK(philox_graph_launch(graph, f->stream, uses, 2));
	uses[1].flags = PHILOX_PASS_REVERSED;
	FAILS(philox_graph_launch(graph, f->stream, uses, 2),
	      PHILOX_ERROR_INVALID);
	nothing_wrong(f);
}

/* A backward that may only be reversed where its forward's loop has ended. */
static void try_reversed(struct fixture *f, struct philox_region *region,
			 struct philox_ticket ticket, philox_stream inner,
			 struct tape tape, enum philox_status expected)
{
	struct philox_conditional loop;
	struct philox_pass pass;

	begin_while(f, f->stream, inner, LIMIT, tape, &loop);
	if (expected == PHILOX_OK) {
		OK(philox_backward_begin(region, inner, ticket,
					 PHILOX_PASS_REVERSED, &pass));
		OK(philox_pass_commit(&pass, 0, NULL));
	} else {
		FAILS(philox_backward_begin(region, inner, ticket,
					    PHILOX_PASS_REVERSED, &pass),
		      expected);
		NAMES("a body that runs again");
	}
	end_while(f, inner, tape, &loop);
}

/* kind: of the node around both loops. */
static void reverse_within(struct fixture *f, enum philox_conditional_kind kind,
			   uint32_t limit, enum philox_status expected)
{
	struct philox_region *region = make_region(
		f, kind != PHILOX_CONDITIONAL_WHILE ? "in a branch"
		   : limit == 1                     ? "in a loop of one run"
						    : "in a loop");
	struct tape tape = make_tape(f);
	struct philox_conditional around, loop;
	philox_stream outer = f->stream, innermost;
	struct philox_ticket ticket;
	struct log log;

	make_log(f, &log);
	OK(philox_stream_create(f->device, 0, &innermost));
	record_begin(f);
	begin_node(f, outer, kind, 1,
		   kind == PHILOX_CONDITIONAL_WHILE ? limit : 0, tape, &around);
	OK(philox_conditional_body(&around, 0, f->side));
	f->stream = f->side;
	begin_while(f, f->stream, innermost, LIMIT, tape, &loop);
	ticket = forward_in(f, region, innermost, &log);
	end_while(f, innermost, tape, &loop);
	try_reversed(f, region, ticket, innermost, tape, expected);
	f->stream = outer;
	OK(philox_conditional_end(&around));
	record_end(f);
	OK(philox_stream_destroy(f->device, innermost));
}

GRAPH_PROMISE(bodies_refused, reversed_where_both_loops_run_again)
{
	reverse_within(f, PHILOX_CONDITIONAL_WHILE, LIMIT,
		       PHILOX_ERROR_INVALID);
	reverse_within(f, PHILOX_CONDITIONAL_WHILE, 1, PHILOX_ERROR_INVALID);
	reverse_within(f, PHILOX_CONDITIONAL_IF, 1, PHILOX_OK);
	nothing_wrong(f);
}

/* The forward's loop runs anew in each run of the backward. */
GRAPH_PROMISE(bodies_refused, reversed_around_the_loop_of_its_forward)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional around, loop;
	philox_stream innermost;
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct log log;

	make_log(f, &log);
	OK(philox_stream_create(f->device, 0, &innermost));
	record_begin(f);
	begin_while(f, f->stream, f->side, 1, tape, &around);
	begin_while(f, f->side, innermost, LIMIT, tape, &loop);
	ticket = forward_in(f, region, innermost, &log);
	end_while(f, innermost, tape, &loop);
	FAILS(philox_backward_begin(region, f->side, ticket,
				    PHILOX_PASS_REVERSED, &pass),
	      PHILOX_ERROR_INVALID);
	NAMES("layer");
	NAMES("its forward's loop is in its own body");
	backward_in(f, region, ticket, f->side, 0, &log);
	end_while(f, f->side, tape, &around);
	record_end(f);
	OK(philox_stream_destroy(f->device, innermost));
}

/* A loop that could reserve more than an offset holds. */
GRAPH_PROMISE(bodies_refused, a_limit_that_overflows_the_offset)
{
	const struct philox_op_desc op = {"huge", 1, (uint64_t)1 << 56};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "huge",
					     .ops = &op,
					     .n_ops = 1};
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_region *region;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct philox_pass pass;
	struct philox_launch_pass use = {{6, 6}, 0, 0};

	OK(philox_region_create(f->context, &options, &region));
	record_begin(f);
	begin_while(f, f->stream, f->side, 300, tape, &loop);
	FAILS(philox_forward_begin(region, f->side, 0, &pass),
	      PHILOX_ERROR_OVERFLOW);
	NAMES("huge");
	FAILS(philox_pass_abort(&pass), PHILOX_ERROR_STATE);
	end_while(f, f->side, tape, &loop);
	begin_while(f, f->stream, f->side, UINT32_MAX, tape, &loop);
	FAILS(philox_forward_begin(region, f->side, 0, &pass),
	      PHILOX_ERROR_OVERFLOW);
	end_while(f, f->side, tape, &loop);
	begin_while(f, f->stream, f->side, 100, tape, &loop);
	OK(philox_forward_begin(region, f->side, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	for (int i = 0; i < 2; i++) {
		OK(philox_graph_launch(graph, f->stream, &use, 1));
		OK(philox_ticket_release(region, f->stream, use.ticket));
	}
	use.ticket = (struct philox_ticket){6, 6};
	for (int i = 0; i < 3; i++) {
		FAILS(philox_graph_launch(graph, f->stream, &use, 1),
		      PHILOX_ERROR_OVERFLOW);
		NAMES("huge");
		cr_assert_eq(use.ticket.serial, 6);
		PENDING(region, 0);
	}
	OK(philox_forward_begin_loop(region, f->stream, 0, 55, &pass));
	OK(philox_pass_abort(&pass));
	nothing_wrong(f);
}

/* A view of a body's pass belongs to the body. */
GRAPH_PROMISE(bodies_refused, a_pass_of_a_body_outside_of_it)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_conditional loop;
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct log log;
	const unsigned count = 2;

	make_log(f, &log);
	record_begin(f);
	begin_while(f, f->stream, f->side, LIMIT, tape, &loop);
	OK(philox_forward_begin(region, f->side, 0, &pass));
	FAILS(philox_pass_on(&pass, f->stream, &view), PHILOX_ERROR_MISMATCH);
	draw_to_log(f, &pass, &log);
	OK(philox_pass_commit(&pass, 0, &ticket));
	end_while(f, f->side, tape, &loop);
	graph = record_end(f);
	set_counts(f, tape, &count, 1);
	launch_one(f, graph);
	read_log(f, &log);
	LOGGED_IN_ALL(&log, 2);
	nothing_wrong(f);
}
