/*
 * tests/graph/launch/launch.c - launches that are refused change nothing
 *
 * After each refusal the rig's ledger must be as before, both its tickets must
 * still be good, and the next launch must work.
 */
#include <stdio.h>
#include "tests/support/scene.h"

/* --- arguments ------------------------------------------------------------ */

GRAPH_PROMISE(launch, refuses_a_wrong_number_of_uses)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass uses[3] = {{rig.one.ticket, 0, 0}};
	uint64_t launches = philox_device_call_count(f->device, "exec_launch");

	FAILS(philox_graph_launch(rig.back, f->stream, uses, 0),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_launch(rig.back, f->stream, uses, 2),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_launch(rig.pair, f->stream, uses, 1),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_launch(rig.pair, f->stream, uses, 3),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_launch(rig.forth, f->stream, NULL, 1),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_launch(NULL, f->stream, uses, 1),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_prologue(rig.back, f->stream, uses, 2),
	      PHILOX_ERROR_INVALID);
	cr_assert_eq(philox_device_call_count(f->device, "exec_launch"),
		     launches);
	rig_is_whole(f, &rig);
}

GRAPH_PROMISE(launch, refuses_reserved_fields_and_unknown_flags)
{
	struct rig rig = make_rig(f);
	const struct philox_launch_pass bad[] = {
		{rig.one.ticket, 0, 1},
		{rig.one.ticket, PHILOX_PASS_INFERENCE, 0},
		{rig.one.ticket, 16, 0},
		{rig.one.ticket, 1u << 31, 0},
		{rig.one.ticket, PHILOX_PASS_RETAIN | PHILOX_PASS_WARMUP, 0},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct philox_launch_pass use = bad[i];

		FAILS(philox_graph_launch(rig.back, f->stream, &use, 1),
		      PHILOX_ERROR_INVALID);
	}
	rig_is_whole(f, &rig);
}

/* --- tickets -------------------------------------------------------------- */

static void back_refuses(struct fixture *f, struct rig *rig,
			 struct philox_ticket ticket, enum philox_status one,
			 enum philox_status other)
{
	for (unsigned flags = 0; flags <= PHILOX_PASS_RETAIN;
	     flags += PHILOX_PASS_RETAIN) {
		struct philox_launch_pass use = {ticket, flags, 0};

		FAILS_EITHER(philox_graph_launch(rig->back, f->stream, &use, 1),
			     one, other);
		NAMES("layer");
		FAILS_EITHER(
			philox_graph_prologue(rig->back, f->stream, &use, 1),
			one, other);
	}
}

GRAPH_PROMISE(launch, refuses_wrong_tickets)
{
	struct rig rig = make_rig(f);
	struct philox_region *region = make_region(f, "other");
	struct forward strange = forward(f, region);
	const struct philox_ticket zero = {0, 0}, garbage = {1234, 5678};
	struct philox_ticket never = {rig.one.ticket.region_key, 777};
	struct forward used = forward(f, rig.region);

	backward(f, &used, 0);
	rig.before = look(f, rig.region);
	back_refuses(f, &rig, used.ticket, PHILOX_ERROR_RELEASED,
		     PHILOX_ERROR_RELEASED);
	back_refuses(f, &rig, never, PHILOX_ERROR_RELEASED,
		     PHILOX_ERROR_RELEASED);
	back_refuses(f, &rig, strange.ticket, PHILOX_ERROR_MISMATCH,
		     PHILOX_ERROR_MISMATCH);
	back_refuses(f, &rig, garbage, PHILOX_ERROR_MISMATCH,
		     PHILOX_ERROR_MISMATCH);
	back_refuses(f, &rig, zero, PHILOX_ERROR_MISMATCH,
		     PHILOX_ERROR_RELEASED);
	PENDING(region, 1);
	rig_is_whole(f, &rig);
	backward(f, &strange, 0);
}

GRAPH_PROMISE(launch, refuses_a_ticket_whose_forward_is_open)
{
	struct rig rig = make_rig(f);
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(rig.region, f->stream, 0, &pass));
	back_refuses(f, &rig, pass.ticket, PHILOX_ERROR_STATE,
		     PHILOX_ERROR_STATE);
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_ticket_release(rig.region, f->stream, ticket));
	rig.before = look(f, rig.region);
	rig_is_whole(f, &rig);
}

GRAPH_PROMISE(launch, refuses_a_ticket_that_a_backward_is_consuming)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass use = {rig.one.ticket, 0, 0};
	struct philox_pass pass;

	OK(philox_backward_begin(rig.region, f->stream, rig.one.ticket, 0,
				 &pass));
	FAILS(philox_graph_launch(rig.back, f->stream, &use, 1),
	      PHILOX_ERROR_BUSY);
	NAMES("layer");
	OK(philox_pass_abort(&pass));
	rig_is_whole(f, &rig);
}

GRAPH_PROMISE(launch, uses_one_ticket_up_only_once)
{
	const struct philox_ticket named_at_launch = {0, 0};
	struct rig rig = make_rig(f);
	struct philox_launch_pass both[2] = {{rig.one.ticket, 0, 0},
					     {rig.one.ticket, 0, 0}};
	uint32_t *again = make_array(f);
	struct philox_graph *back_back;

	record_begin(f);
	captured_backward(f, rig.region, named_at_launch, 0, rig.dx);
	captured_backward(f, rig.region, named_at_launch, 0, again);
	back_back = record_end(f);
	FAILS_EITHER(philox_graph_launch(back_back, f->stream, both, 2),
		     PHILOX_ERROR_RELEASED, PHILOX_ERROR_BUSY);
	NAMES("layer");
	rig_is_whole(f, &rig);
	both[1].flags = PHILOX_PASS_RETAIN;
	FAILS_EITHER(philox_graph_launch(back_back, f->stream, both, 2),
		     PHILOX_ERROR_RELEASED, PHILOX_ERROR_BUSY);
	both[0].flags = PHILOX_PASS_RETAIN;
	OK(philox_graph_launch(back_back, f->stream, both, 2));
	SAME(read_numbers(f, rig.dx), rig.one.saw, "retained");
	PENDING(rig.region, 2);
	both[1].flags = 0;
	OK(philox_graph_launch(back_back, f->stream, both, 2));
	SAME(read_numbers(f, again), rig.one.saw, "used up");
	PENDING(rig.region, 1);
}

GRAPH_PROMISE(launch, with_one_bad_use_among_good_ones_changes_nothing)
{
	const struct philox_ticket named_at_launch = {0, 0};
	struct rig rig = make_rig(f);
	struct philox_region *region = make_region(f, "other");
	struct forward other = forward(f, region);
	struct philox_launch_pass uses[3] = {
		{rig.one.ticket, 0, 0}, {{5, 5}, 0, 0}, {rig.two.ticket, 0, 0}};
	struct philox_graph *graph;

	record_begin(f);
	captured_backward(f, rig.region, named_at_launch, 0, rig.dx);
	captured_forward(f, rig.region, 0, rig.y);
	captured_backward(f, region, named_at_launch, 0, f->scratch);
	graph = record_end(f);
	FAILS(philox_graph_launch(graph, f->stream, uses, 3),
	      PHILOX_ERROR_MISMATCH);
	NAMES("other");
	cr_assert_eq(uses[1].ticket.serial, 5, "written on success only");
	PENDING(region, 1);
	rig_is_whole(f, &rig);
	uses[2].ticket = other.ticket;
	OK(philox_graph_launch(graph, f->stream, uses, 3));
	PENDING(region, 0);
	PENDING(rig.region, 2);
}

/* Passes of each kind come before the refused one. */
GRAPH_PROMISE(launch, that_is_refused_gives_everything_back)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass uses[6] = {
		[4] = {rig.one.ticket, 0, 0}, [5] = {{0, 0}, 0, 0}};
	struct philox_ticket ticket;
	struct philox_graph *graph;

	uses[5].ticket = (struct philox_ticket){rig.one.ticket.region_key, 77};
	record_begin(f);
	captured_forward(f, rig.region, PHILOX_PASS_WARMUP, rig.y);
	captured_forward(f, rig.region, PHILOX_PASS_INFERENCE, rig.y);
	ticket = captured_forward(f, rig.region, 0, rig.y);
	captured_backward(f, rig.region, ticket, 0, rig.dx);
	captured_backward(f, rig.region, (struct philox_ticket){0, 0}, 0,
			  rig.dx);
	captured_backward(f, rig.region, (struct philox_ticket){0, 0}, 0,
			  rig.dx);
	graph = record_end(f);
	FAILS(philox_graph_launch(graph, f->stream, uses, 6),
	      PHILOX_ERROR_RELEASED);
	NAMES("pass 5");
	NAMES("layer");
	NAMES("77");
	rig_is_whole(f, &rig);
	OK(philox_graph_destroy(graph));
}

GRAPH_PROMISE(launch, of_inference_needs_no_place_in_the_table)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 1, NULL);
	uint32_t *array = make_array(f);
	struct philox_graph *graph =
		record_forward(f, region, PHILOX_PASS_INFERENCE, array);
	struct forward made = forward(f, region);

	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 4), "beside a full table");
	backward(f, &made, 0);
}

GRAPH_PROMISE(launch, into_a_full_table_changes_nothing)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass uses[3] = {0};
	struct forward three = forward(f, rig.region);
	struct forward four = forward(f, rig.region);
	struct philox_graph *two_at_once;
	uint64_t launches;

	record_begin(f);
	captured_forward(f, rig.region, 0, rig.y);
	captured_forward(f, rig.region, 0, rig.dx);
	two_at_once = record_end(f);
	launches = philox_device_call_count(f->device, "exec_launch");
	rig.before = look(f, rig.region);
	FAILS(philox_graph_launch(rig.forth, f->stream, uses, 1),
	      PHILOX_ERROR_LIMIT);
	NAMES("layer");
	backward(f, &four, 0);
	PENDING(rig.region, 3);
	FAILS(philox_graph_launch(two_at_once, f->stream, uses, 2),
	      PHILOX_ERROR_LIMIT);
	PENDING(rig.region, 3);
	SAME(peek(f, rig.region), rig.before.next, "nothing was reserved");
	cr_assert_eq(philox_device_call_count(f->device, "exec_launch"),
		     launches);
	backward(f, &three, 0);
	OK(philox_graph_launch(two_at_once, f->stream, uses, 2));
	PENDING(rig.region, 4);
	OK(philox_ticket_release(rig.region, f->stream, uses[0].ticket));
	OK(philox_ticket_release(rig.region, f->stream, uses[1].ticket));
}

Test(launch, refuses_offsets_past_the_end)
{
	enum { PASSES = 1 << 4, LAUNCHES = 1 << 4 };
	static struct philox_launch_pass uses[PASSES];
	const struct philox_op_desc op = {"huge", 1, UINT64_C(1) << 56};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "huge",
					     .ops = &op,
					     .n_ops = 1};
	struct philox_region *region;
	struct philox_pass pass;
	struct philox_graph *graph;
	enum philox_status status = PHILOX_OK;
	struct fixture f;
	unsigned made = 0;

	fixture_open(&f, "host:sync");
	OK(philox_region_create(f.context, &options, &region));
	record_begin(&f);
	for (unsigned i = 0; i < PASSES; i++) {
		OK(philox_forward_begin(region, f.stream, PHILOX_PASS_INFERENCE,
					&pass));
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	graph = record_end(&f);
	for (; made <= LAUNCHES; made++) {
		status = philox_graph_launch(graph, f.stream, uses, PASSES);
		if (status != PHILOX_OK)
			break;
	}
	cr_assert_eq(status, PHILOX_ERROR_OVERFLOW);
	NAMES("huge");
	cr_assert(made == LAUNCHES || made == LAUNCHES - 1, "%u launches",
		  made);
	/* the rest, which is less than a launch needs, is still there */
	if (made < LAUNCHES) {
		OK(philox_forward_begin(region, f.stream, PHILOX_PASS_INFERENCE,
					&pass));
		cr_assert_eq(pass.state.offset,
			     (uint64_t)(LAUNCHES - 1) * PASSES << 56);
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	fixture_close(&f);
}

/* --- streams -------------------------------------------------------------- */

GRAPH_PROMISE(launch, refuses_a_stream_that_is_capturing)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass use = {rig.one.ticket, 0, 0};

	OK(philox_stream_begin_capture(f->device, f->side,
				       PHILOX_CAPTURE_RELAXED));
	FAILS(philox_graph_launch(rig.back, f->side, &use, 1),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	NAMES("graph");
	PENDING(rig.region, 2);
	FAILS_EITHER(philox_graph_prologue(rig.back, f->side, &use, 1),
		     PHILOX_ERROR_CAPTURE_UNSUPPORTED,
		     PHILOX_ERROR_CAPTURE_INVALIDATED);
	{
		philox_native_graph graph = NULL;

		if (philox_stream_end_capture(f->device, f->side, &graph) ==
		    PHILOX_OK)
			OK(philox_native_graph_destroy(f->device, graph));
	}
	OK(philox_graph_launch(rig.back, f->side, &use, 1));
	SAME(read_numbers(f, rig.dx), rig.one.saw, "afterwards");
}

GRAPH_PROMISE(launch, works_while_another_stream_captures)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass use = {rig.one.ticket, 0, 0};
	philox_native_graph graph;

	OK(philox_stream_begin_capture(f->device, f->side,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_graph_launch(rig.back, f->stream, &use, 1));
	OK(philox_graph_launch(rig.forth, f->stream, &use, 1));
	OK(philox_stream_end_capture(f->device, f->side, &graph));
	OK(philox_native_graph_destroy(f->device, graph));
	SAME(read_numbers(f, rig.dx), rig.one.saw, "backward");
	SAME(read_numbers(f, rig.y), rig.before.next, "forward");
}

/* --- regions -------------------------------------------------------------- */

GRAPH_PROMISE(launch, of_any_forward_of_a_destroyed_region_is_refused)
{
	const unsigned flags[] = {0, PHILOX_PASS_INFERENCE, PHILOX_PASS_WARMUP};
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct numbers next;

	for (unsigned i = 0; i < 3; i++) {
		struct philox_region *region = make_region(f, "doomed");
		struct philox_graph *graph =
			record_forward(f, region, flags[i], make_array(f));

		next = peek(f, region);
		OK(philox_region_destroy(region));
		FAILS(philox_graph_launch(graph, f->stream, &use, 1),
		      PHILOX_ERROR_STALE);
		NAMES("doomed");
		region = make_region(f, "doomed");
		FAILS(philox_graph_launch(graph, f->stream, &use, 1),
		      PHILOX_ERROR_STALE);
		SAME(peek(f, region), next, "nothing was reserved");
		OK(philox_region_destroy(region));
		OK(philox_graph_destroy(graph));
	}
}

GRAPH_PROMISE(launch, of_a_destroyed_region_is_refused_by_name)
{
	struct rig rig = make_rig(f);
	struct philox_region *doomed = make_region(f, "doomed");
	struct forward old = forward(f, doomed);
	struct philox_graph *graph;
	struct philox_launch_pass uses[2] = {{rig.one.ticket, 0, 0},
					     {old.ticket, 0, 0}};

	record_begin(f);
	captured_backward(f, rig.region, (struct philox_ticket){0, 0}, 0,
			  rig.dx);
	captured_backward(f, doomed, (struct philox_ticket){0, 0}, 0, rig.y);
	graph = record_end(f);
	OK(philox_region_destroy(doomed));
	FAILS(philox_graph_launch(graph, f->stream, uses, 2),
	      PHILOX_ERROR_STALE);
	NAMES("doomed");
	doomed = make_region(f, "doomed");
	uses[1].ticket = forward(f, doomed).ticket;
	FAILS(philox_graph_launch(graph, f->stream, uses, 2),
	      PHILOX_ERROR_STALE);
	NAMES("doomed");
	PENDING(doomed, 1);
	rig_is_whole(f, &rig);
	OK(philox_graph_destroy(graph));
	rig_is_whole(f, &rig);
}
