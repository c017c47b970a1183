/*
 * tests/test_launch.c - launches that are refused or fail change nothing
 *
 * A rig has a region, graphs of its forward, its backward and both, and two
 * pending forwards. After each refusal its ledger must be as before, both
 * tickets must still be good, and the next launch must work.
 */
#include <stdio.h>
#include "support.h"

struct rig {
	struct philox_region *region;
	uint32_t *y, *dx;
	struct philox_graph *forth, *back, *pair;
	struct forward one, two;
	struct ledger_view before;
};

static struct rig make_rig(struct fixture *f)
{
	struct rig rig;

	rig.region = make_region_of(f->context, "layer", 4, NULL);
	rig.y = make_array(f);
	rig.dx = make_array(f);
	rig.forth = record_forward(f, rig.region, 0, rig.y);
	rig.back = record_backward(f, rig.region, rig.dx);
	rig.pair = record_pair(f, rig.region, rig.y, rig.dx);
	rig.one = launch_forward(f, rig.forth, rig.region, rig.y);
	rig.two = forward(f, rig.region);
	rig.before = look(f, rig.region);
	return rig;
}

/* Nothing happened, and everything still works. */
static void rig_is_whole(struct fixture *f, struct rig *rig)
{
	struct forward made;

	unchanged(f, rig->region, &rig->before);
	backward(f, &rig->one, PHILOX_RETAIN);
	launch_backward(f, rig->back, &rig->two, PHILOX_RETAIN, rig->dx);
	made = launch_forward(f, rig->forth, rig->region, rig->y);
	SAME(made.saw, rig->before.next, "the next launch");
	launch_backward(f, rig->back, &made, 0, rig->dx);
	OK(philox_check(f->context, NULL));
	rig->before = look(f, rig->region);
}

/* --- arguments ---------------------------------------------------------------- */

GRAPH_PROMISE(launch, refuses_a_wrong_number_of_uses)
{
	struct rig rig = make_rig(f);
	struct philox_use uses[3] = {{rig.one.ticket, 0, 0}};
	uint64_t launches = philox_device_calls(f->device, "exec_launch");

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
	cr_assert_eq(philox_device_calls(f->device, "exec_launch"), launches);
	rig_is_whole(f, &rig);
}

GRAPH_PROMISE(launch, refuses_reserved_fields_and_unknown_flags)
{
	struct rig rig = make_rig(f);
	const struct philox_use bad[] = {
		{rig.one.ticket, 0, 1},
		{rig.one.ticket, PHILOX_INFERENCE, 0},
		{rig.one.ticket, 16, 0},
		{rig.one.ticket, 1u << 31, 0},
		{rig.one.ticket, PHILOX_RETAIN | PHILOX_WARMUP, 0},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct philox_use use = bad[i];

		FAILS(philox_graph_launch(rig.back, f->stream, &use, 1),
		      PHILOX_ERROR_INVALID);
	}
	rig_is_whole(f, &rig);
}

/* --- tickets ------------------------------------------------------------------- */

static void back_refuses(struct fixture *f, struct rig *rig,
			 struct philox_ticket ticket, enum philox_status one,
			 enum philox_status other)
{
	for (unsigned flags = 0; flags <= PHILOX_RETAIN;
	     flags += PHILOX_RETAIN) {
		struct philox_use use = {ticket, flags, 0};

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
	OK(philox_forward_commit(&pass, &ticket));
	OK(philox_ticket_release(rig.region, ticket, f->stream));
	rig.before = look(f, rig.region);
	rig_is_whole(f, &rig);
}

GRAPH_PROMISE(launch, refuses_a_ticket_that_a_backward_is_consuming)
{
	struct rig rig = make_rig(f);
	struct philox_use use = {rig.one.ticket, 0, 0};
	struct philox_pass pass;

	OK(philox_backward_begin(rig.region, rig.one.ticket, f->stream, 0,
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
	struct philox_use both[2] = {{rig.one.ticket, 0, 0},
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
	both[1].flags = PHILOX_RETAIN;
	FAILS_EITHER(philox_graph_launch(back_back, f->stream, both, 2),
		     PHILOX_ERROR_RELEASED, PHILOX_ERROR_BUSY);
	both[0].flags = PHILOX_RETAIN;
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
	struct philox_use uses[3] = {
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

GRAPH_PROMISE(launch, into_a_full_table_changes_nothing)
{
	struct rig rig = make_rig(f);
	struct philox_use uses[3] = {0};
	struct forward three = forward(f, rig.region);
	struct forward four = forward(f, rig.region);
	struct philox_graph *two_at_once;
	uint64_t launches;

	record_begin(f);
	captured_forward(f, rig.region, 0, rig.y);
	captured_forward(f, rig.region, 0, rig.dx);
	two_at_once = record_end(f);
	launches = philox_device_calls(f->device, "exec_launch");
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
	cr_assert_eq(philox_device_calls(f->device, "exec_launch"), launches);
	backward(f, &three, 0);
	OK(philox_graph_launch(two_at_once, f->stream, uses, 2));
	PENDING(rig.region, 4);
	OK(philox_ticket_release(rig.region, uses[0].ticket, f->stream));
	OK(philox_ticket_release(rig.region, uses[1].ticket, f->stream));
}

Test(launch, refuses_offsets_past_the_end, .timeout = 120)
{
	enum { PASSES = 1 << 10, LAUNCHES = 1 << 14 };
	static struct philox_use uses[PASSES];
	const struct philox_op op = {"huge", 1, UINT64_C(1) << 40};
	struct philox_region_options options = {.size = sizeof(options),
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
		OK(philox_forward_begin(region, f.stream, PHILOX_INFERENCE,
					&pass));
		OK(philox_forward_commit(&pass, NULL));
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
	/* what is left, less than a launch, is still there */
	if (made < LAUNCHES) {
		OK(philox_forward_begin(region, f.stream, PHILOX_INFERENCE,
					&pass));
		cr_assert_eq(pass.state.offset,
			     (uint64_t)(LAUNCHES - 1) * PASSES << 40);
		OK(philox_forward_commit(&pass, NULL));
	}
	fixture_close(&f);
}

/* --- streams ---------------------------------------------------------------------- */

GRAPH_PROMISE(launch, refuses_a_stream_that_is_capturing)
{
	struct rig rig = make_rig(f);
	struct philox_use use = {rig.one.ticket, 0, 0};

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
	struct philox_use use = {rig.one.ticket, 0, 0};
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

/* --- regions -------------------------------------------------------------------------- */

GRAPH_PROMISE(launch, of_a_destroyed_region_is_refused_by_name)
{
	struct rig rig = make_rig(f);
	struct philox_region *doomed = make_region(f, "doomed");
	struct forward old = forward(f, doomed);
	struct philox_graph *graph;
	struct philox_use uses[2] = {{rig.one.ticket, 0, 0},
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

/* --- failures of the device ----------------------------------------------------------------- */

/* The launch with the n-th call of an operation failing; 0 when it held. */
static int launch_with_failure(struct fixture *f, struct philox_graph *graph,
			       struct philox_use *uses, size_t n_uses,
			       const char *operation, uint64_t n)
{
	enum philox_status status;

	OK(philox_device_fail(f->device, operation, n, PHILOX_ERROR_DEVICE));
	status = philox_graph_launch(graph, f->stream, uses, n_uses);
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	cr_assert(status == PHILOX_OK || status == PHILOX_ERROR_DEVICE);
	return status != PHILOX_OK;
}

GRAPH_PROMISE(launch, that_fails_anywhere_leaves_the_ledger_whole)
{
	const struct philox_ticket named_at_launch = {0, 0};
	struct rig rig = make_rig(f);
	struct block_set *seen = block_set_new();
	struct philox_graph *graph;
	unsigned failures = 0;

	f->injected = 1;
	block_set_add(seen, &rig.one.saw);
	block_set_add(seen, &rig.two.saw);
	record_begin(f);
	captured_backward(f, rig.region, named_at_launch, 0, rig.dx);
	captured_forward(f, rig.region, 0, rig.y);
	graph = record_end(f);
	for (size_t i = 0; i == 0 || device_operations[i - 1]; i++) {
		/* the last round, NULL, stands for all operations */
		const char *operation = device_operations[i];
		uint64_t n = 1;

		for (;; n++) {
			struct philox_use uses[2] = {{rig.one.ticket, 0, 0},
						     {{6, 6}, 0, 0}};
			struct forward made = {.region = rig.region};

			if (launch_with_failure(f, graph, uses, 2, operation,
						n)) {
				failures++;
				cr_assert_eq(uses[1].ticket.serial, 6);
				PENDING(rig.region, 2);
				backward(f, &rig.one, PHILOX_RETAIN);
				OK(philox_graph_launch(graph, f->stream, uses,
						       2));
			}
			made.ticket = uses[1].ticket;
			made.saw = read_numbers(f, rig.y);
			SAME(read_numbers(f, rig.dx), rig.one.saw, "backward");
			cr_assert_eq(block_set_add(seen, &made.saw), 0);
			PENDING(rig.region, 2);
			rig.one = made;
			if (!operation ? n == 4 : n == 3)
				break;
		}
	}
	cr_assert_geq(failures, 6, "%u failures", failures);
	OK(philox_check(f->context, NULL));
	block_set_free(seen);
}

/* A capture goes on if the very call that asks for it or ends it fails. */
static void end_whatever_is_left(struct fixture *f)
{
	enum philox_capture_status capture;
	struct philox_graph *graph = NULL;
	philox_native_graph native = NULL;

	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	OK(philox_stream_capture_info(f->device, f->stream, &capture, NULL));
	if (capture == PHILOX_CAPTURE_NONE)
		return;
	philox_capture_end(f->context, f->stream, &graph);
	OK(philox_graph_destroy(graph));
	OK(philox_stream_capture_info(f->device, f->stream, &capture, NULL));
	if (capture == PHILOX_CAPTURE_NONE)
		return;
	philox_stream_end_capture(f->device, f->stream, &native);
	OK(philox_native_graph_destroy(f->device, native));
}

/* Each device call of making a graph fails once. */
static int making_fails(struct fixture *f, struct philox_region *region,
			uint32_t *array, uint64_t n)
{
	struct philox_graph *graph = NULL;
	struct philox_pass pass;
	struct philox_ticket ticket;
	enum philox_status status;

	OK(philox_device_fail(f->device, NULL, n, PHILOX_ERROR_MEMORY));
	status = philox_capture_begin(f->context, f->stream);
	if (status != PHILOX_OK)
		return 1;
	status = philox_forward_begin(region, f->stream, 0, &pass);
	if (status == PHILOX_OK) {
		struct philox_span span = {0, 4};

		status = philox_bits(&pass, 0, PHILOX_U32, span, array);
		if (status == PHILOX_OK)
			status = philox_forward_commit(&pass, &ticket);
		if (status != PHILOX_OK)
			OK(philox_pass_abort(&pass));
	}
	if (status != PHILOX_OK) {
		end_whatever_is_left(f);
		return 1;
	}
	status = philox_capture_end(f->context, f->stream, &graph);
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	if (status == PHILOX_OK)
		OK(philox_graph_destroy(graph));
	else
		cr_assert_null(graph);
	if (status != PHILOX_OK)
		end_whatever_is_left(f);
	return status != PHILOX_OK;
}

PROMISE(launch, making_a_graph_may_fail_at_every_device_call)
{
	struct rig rig = make_rig(f);
	uint64_t n = 1;

	while (making_fails(f, rig.region, rig.y, n)) {
		enum philox_capture_status capture;

		OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
		OK(philox_stream_capture_info(f->device, f->stream, &capture,
					      NULL));
		cr_assert_eq(capture, PHILOX_CAPTURE_NONE, "call %d", (int)n);
		unchanged(f, rig.region, &rig.before);
		cr_assert_lt(n++, 100);
	}
	cr_assert_gt(n, 5, "few device calls were seen");
	rig_is_whole(f, &rig);
	f->injected = 1;
}

PROMISE(launch, an_adoption_that_failed_may_be_tried_again)
{
	struct rig rig = make_rig(f);
	struct philox_graph *graph = NULL;
	struct philox_pass pass;
	struct philox_ticket ticket;
	philox_native_graph native;
	philox_native_exec exec;
	uint64_t id, n = 1;
	enum philox_status status;

	f->injected = 1;
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_stream_capture_info(f->device, f->stream, NULL, &id));
	OK(philox_forward_begin(rig.region, f->stream, 0, &pass));
	draw(&pass, rig.y);
	OK(philox_forward_commit(&pass, &ticket));
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_instantiate(f->device, native, &exec));
	for (;; n++) {
		OK(philox_device_fail(f->device, NULL, n, PHILOX_ERROR_DEVICE));
		status = philox_graph_adopt(f->context, id, native, exec,
					    &graph);
		OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
		if (status == PHILOX_OK)
			break;
		cr_assert_eq(status, PHILOX_ERROR_DEVICE);
		cr_assert_null(graph);
		cr_assert_lt(n, 100);
	}
	SAME(launch_forward(f, graph, rig.region, rig.y).saw, rig.before.next,
	     "the adopted graph");
	OK(philox_graph_destroy(graph));
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, native));
}

/* --- prologue and epilogue --------------------------------------------------------------------- */

GRAPH_PROMISE(launch, in_two_halves_is_a_launch)
{
	struct rig rig = make_rig(f);
	struct philox_use use = {{6, 6}, 0, 0};
	struct forward made = {.region = rig.region};

	OK(philox_graph_prologue(rig.forth, f->stream, &use, 1));
	cr_assert_eq(use.ticket.serial, 6, "written by the epilogue");
	OK(philox_native_launch(f->device, native_exec(rig.forth), f->stream));
	OK(philox_graph_epilogue(rig.forth, PHILOX_OK));
	made.ticket = use.ticket;
	made.saw = read_numbers(f, rig.y);
	SAME(made.saw, rig.before.next, "forward");
	PENDING(rig.region, 3);
	use.ticket = rig.one.ticket;
	OK(philox_graph_prologue(rig.back, f->stream, &use, 1));
	OK(philox_native_launch(f->device, native_exec(rig.back), f->stream));
	OK(philox_graph_epilogue(rig.back, PHILOX_OK));
	SAME(read_numbers(f, rig.dx), rig.one.saw, "backward");
	PENDING(rig.region, 2);
	backward(f, &made, 0);
	OK(philox_check(f->context, NULL));
}

GRAPH_PROMISE(launch, whose_second_half_says_it_failed_was_none)
{
	struct rig rig = make_rig(f);
	struct philox_use use = {rig.one.ticket, 0, 0};
	struct philox_use fresh = {{6, 6}, 0, 0};

	OK(philox_graph_prologue(rig.back, f->stream, &use, 1));
	OK(philox_graph_epilogue(rig.back, PHILOX_ERROR_DEVICE));
	OK(philox_graph_prologue(rig.forth, f->stream, &fresh, 1));
	OK(philox_graph_epilogue(rig.forth, PHILOX_ERROR_MEMORY));
	cr_assert_eq(fresh.ticket.serial, 6);
	PENDING(rig.region, 2);
	launch_backward(f, rig.back, &rig.one, 0, rig.dx);
	FRESH(launch_forward(f, rig.forth, rig.region, rig.y).saw, rig.one.saw,
	      "fresh");
	backward(f, &rig.two, 0);
	OK(philox_check(f->context, NULL));
}

GRAPH_PROMISE(launch, takes_the_graph_between_its_halves)
{
	struct rig rig = make_rig(f);
	struct philox_use use = {rig.one.ticket, 0, 0}, other = use;
	struct philox_pass pass;

	FAILS(philox_graph_epilogue(rig.back, PHILOX_OK), PHILOX_ERROR_STATE);
	OK(philox_graph_prologue(rig.back, f->stream, &use, 1));
	other.ticket = rig.two.ticket;
	FAILS(philox_graph_launch(rig.back, f->stream, &other, 1),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_graph_prologue(rig.back, f->stream, &other, 1),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_graph_destroy(rig.back), PHILOX_ERROR_BUSY);
	NAMES("graph");
	FAILS(philox_backward_begin(rig.region, rig.one.ticket, f->stream, 0,
				    &pass),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_ticket_release(rig.region, rig.one.ticket, f->stream),
	      PHILOX_ERROR_BUSY);
	SAME(forward(f, rig.region).saw, rig.before.next, "others go on");
	OK(philox_native_launch(f->device, native_exec(rig.back), f->stream));
	OK(philox_graph_epilogue(rig.back, PHILOX_OK));
	FAILS(philox_graph_epilogue(rig.back, PHILOX_OK), PHILOX_ERROR_STATE);
	SAME(read_numbers(f, rig.dx), rig.one.saw, "backward");
	PENDING(rig.region, 2);
	OK(philox_graph_destroy(rig.back));
}

GRAPH_PROMISE(launch, reserves_in_its_first_half)
{
	struct rig rig = make_rig(f);
	struct philox_use use = {0};
	struct numbers eager;

	OK(philox_graph_prologue(rig.forth, f->stream, &use, 1));
	PENDING(rig.region, 3);
	eager = forward(f, rig.region).saw;
	OK(philox_native_launch(f->device, native_exec(rig.forth), f->stream));
	OK(philox_graph_epilogue(rig.forth, PHILOX_OK));
	SAME(read_numbers(f, rig.y), rig.before.next, "first come");
	FRESH(eager, rig.before.next, "the other is fresh");
	SAME(backward_numbers(f, rig.region, use.ticket, 0), rig.before.next,
	     "backward");
}

GRAPH_PROMISE(launch, survives_its_region_between_its_halves)
{
	struct rig rig = make_rig(f);
	struct philox_use use = {rig.one.ticket, 0, 0};

	OK(philox_graph_prologue(rig.back, f->stream, &use, 1));
	OK(philox_region_destroy(rig.region));
	OK(philox_native_launch(f->device, native_exec(rig.back), f->stream));
	/* The launch happened: what it says of the ledger is up to it. */
	philox_graph_epilogue(rig.back, PHILOX_OK);
	SAME(read_numbers(f, rig.dx), rig.one.saw, "backward");
	FAILS(philox_graph_launch(rig.back, f->stream, &use, 1),
	      PHILOX_ERROR_STALE);
	OK(philox_graph_destroy(rig.back));
}

GRAPH_PROMISE(launch, null_arguments_are_refused)
{
	struct rig rig = make_rig(f);
	struct philox_graph *graph;
	struct philox_use_info info;

	FAILS(philox_capture_begin(NULL, f->stream), PHILOX_ERROR_INVALID);
	FAILS(philox_capture_end(NULL, f->stream, &graph),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_capture_end(f->context, f->stream, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_prologue(NULL, f->stream, NULL, 0),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_epilogue(NULL, PHILOX_OK), PHILOX_ERROR_INVALID);
	FAILS(philox_graph_use_info(NULL, 0, &info), PHILOX_ERROR_INVALID);
	FAILS(philox_graph_use_info(rig.back, 0, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_graph_set_name(NULL, "x"), PHILOX_ERROR_INVALID);
	FAILS(philox_graph_set_name(rig.back, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_graph_native(NULL, NULL, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_graph_adopt(NULL, 1, NULL, NULL, &graph),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_adopt(f->context, 1, NULL, NULL, &graph),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_capture_drop(NULL, 1), PHILOX_ERROR_INVALID);
	rig_is_whole(f, &rig);
}
