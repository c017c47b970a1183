/*
 * tests/graph/launch/failures.c - devices that fail, and launches in two halves
 */
#include <stdio.h>
#include "tests/support/scene.h"

/* --- failures of the device ----------------------------------------------- */

/* Launches with the n-th call of an operation failing; 0 if it succeeded. */
static int launch_with_failure(struct fixture *f, struct philox_graph *graph,
			       struct philox_launch_pass *uses, size_t n_uses,
			       const char *operation, uint64_t n)
{
	enum philox_status status;

	OK(philox_device_fail(f->device, operation, n, PHILOX_ERROR_DEVICE));
	status = philox_graph_launch(graph, f->stream, uses, n_uses);
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	cr_assert(status == PHILOX_OK || status == PHILOX_ERROR_DEVICE);
	return status != PHILOX_OK;
}

GRAPH_PROMISE(launch_failures, that_fails_anywhere_leaves_the_ledger_whole)
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
		/* the last round, NULL, means all operations */
		const char *operation = device_operations[i];
		uint64_t n = 1;

		for (;; n++) {
			struct philox_launch_pass uses[2] = {
				{rig.one.ticket, 0, 0}, {{6, 6}, 0, 0}};
			struct forward made = {.region = rig.region};

			if (launch_with_failure(f, graph, uses, 2, operation,
						n)) {
				failures++;
				cr_assert_eq(uses[1].ticket.serial, 6);
				PENDING(rig.region, 2);
				backward(f, &rig.one, PHILOX_PASS_RETAIN);
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
	OK(philox_context_check(f->context, NULL));
	block_set_free(seen);
}

/*
 * The message, or an unreported launch, may have reached the device.
 */
GRAPH_PROMISE(launch_failures, that_fails_burns_its_numbers)
{
	static const char *const late[] = {"exec_set_kernel", "exec_launch"};
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct philox_launch_pass use = {{0, 0}, 0, 0};

	f->injected = 1;
	for (unsigned i = 0; i < 4; i++) {
		cr_assert(
			launch_with_failure(f, graph, &use, 1, late[i % 2], 1));
		PENDING(region, i);
		SAME(launch_forward(f, graph, region, array).saw,
		     predict(0, "layer", 4 * (2 * i + 1)), "after %s",
		     late[i % 2]);
	}
}

/* A capture goes on if the call that asks for it or ends it fails. */
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
		struct philox_span span = {.count = 4};

		status = philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32, span,
					  array);
		if (status == PHILOX_OK)
			status = philox_pass_commit(&pass, 0, &ticket);
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

PROMISE(launch_failures, making_a_graph_may_fail_at_every_device_call)
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
	cr_assert_gt(n, 4, "few device calls were seen");
	rig_is_whole(f, &rig);
	f->injected = 1;
}

PROMISE(launch_failures, an_adoption_that_failed_may_be_tried_again)
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
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_graph_instantiate(f->device, native, &exec));
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

/* --- prologue and epilogue ------------------------------------------------ */

GRAPH_PROMISE(launch_failures, in_two_halves_is_a_launch)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass use = {{6, 6}, 0, 0};
	struct forward made = {.region = rig.region};

	OK(philox_graph_prologue(rig.forth, f->stream, &use, 1));
	cr_assert_eq(use.ticket.serial, 6, "written by the epilogue");
	OK(philox_native_exec_launch(f->device, f->stream,
				     native_exec(rig.forth)));
	OK(philox_graph_epilogue(rig.forth, PHILOX_OK));
	made.ticket = use.ticket;
	made.saw = read_numbers(f, rig.y);
	SAME(made.saw, rig.before.next, "forward");
	PENDING(rig.region, 3);
	use.ticket = rig.one.ticket;
	OK(philox_graph_prologue(rig.back, f->stream, &use, 1));
	OK(philox_native_exec_launch(f->device, f->stream,
				     native_exec(rig.back)));
	OK(philox_graph_epilogue(rig.back, PHILOX_OK));
	SAME(read_numbers(f, rig.dx), rig.one.saw, "backward");
	PENDING(rig.region, 2);
	backward(f, &made, 0);
	OK(philox_context_check(f->context, NULL));
}

GRAPH_PROMISE(launch_failures, whose_second_half_reports_failure_did_not_happen)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass use = {rig.one.ticket, 0, 0};
	struct philox_launch_pass fresh = {{6, 6}, 0, 0};

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
	OK(philox_context_check(f->context, NULL));
}

GRAPH_PROMISE(launch_failures, takes_the_graph_between_its_halves)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass use = {rig.one.ticket, 0, 0}, other = use;
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
	FAILS(philox_backward_begin(rig.region, f->stream, rig.one.ticket, 0,
				    &pass),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_backward_begin(rig.region, f->stream, rig.one.ticket,
				    PHILOX_PASS_RETAIN, &pass),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_ticket_release(rig.region, f->stream, rig.one.ticket),
	      PHILOX_ERROR_BUSY);
	SAME(forward(f, rig.region).saw, rig.before.next, "others go on");
	OK(philox_native_exec_launch(f->device, f->stream,
				     native_exec(rig.back)));
	OK(philox_graph_epilogue(rig.back, PHILOX_OK));
	FAILS(philox_graph_epilogue(rig.back, PHILOX_OK), PHILOX_ERROR_STATE);
	SAME(read_numbers(f, rig.dx), rig.one.saw, "backward");
	PENDING(rig.region, 2);
	OK(philox_graph_destroy(rig.back));
}

GRAPH_PROMISE(launch_failures, reserves_in_its_first_half)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass use = {0};
	struct numbers eager;

	OK(philox_graph_prologue(rig.forth, f->stream, &use, 1));
	PENDING(rig.region, 3);
	eager = forward(f, rig.region).saw;
	OK(philox_native_exec_launch(f->device, f->stream,
				     native_exec(rig.forth)));
	OK(philox_graph_epilogue(rig.forth, PHILOX_OK));
	SAME(read_numbers(f, rig.y), rig.before.next, "first come");
	FRESH(eager, rig.before.next, "the other is fresh");
	SAME(backward_numbers(f, rig.region, use.ticket, 0), rig.before.next,
	     "backward");
}

GRAPH_PROMISE(launch_failures, survives_its_region_between_its_halves)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass use = {rig.one.ticket, 0, 0};

	OK(philox_graph_prologue(rig.back, f->stream, &use, 1));
	OK(philox_region_destroy(rig.region));
	OK(philox_native_exec_launch(f->device, f->stream,
				     native_exec(rig.back)));
	/* The launch happened: which status it returns is up to it. */
	philox_graph_epilogue(rig.back, PHILOX_OK);
	SAME(read_numbers(f, rig.dx), rig.one.saw, "backward");
	FAILS(philox_graph_launch(rig.back, f->stream, &use, 1),
	      PHILOX_ERROR_STALE);
	OK(philox_graph_destroy(rig.back));
}

GRAPH_PROMISE(launch_failures,
	      that_failed_survives_its_region_between_its_halves)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass back = {rig.one.ticket, 0, 0}, forth = {0};
	struct ledger_view before;

	OK(philox_graph_prologue(rig.back, f->stream, &back, 1));
	OK(philox_graph_prologue(rig.forth, f->stream, &forth, 1));
	OK(philox_region_destroy(rig.region));
	philox_graph_epilogue(rig.back, PHILOX_ERROR_DEVICE);
	rig.region = make_region(f, "layer");
	rig.one = forward(f, rig.region);
	before = look(f, rig.region);
	philox_graph_epilogue(rig.forth, PHILOX_ERROR_DEVICE);
	unchanged(f, rig.region, &before);
	backward(f, &rig.one, 0);
	OK(philox_graph_destroy(rig.back));
	OK(philox_graph_destroy(rig.forth));
}

GRAPH_PROMISE(launch_failures, null_arguments_are_refused)
{
	struct rig rig = make_rig(f);
	struct philox_graph *graph;
	struct philox_graph_pass_info info = {.size = sizeof(info)};

	FAILS(philox_capture_begin(NULL, f->stream), PHILOX_ERROR_INVALID);
	FAILS(philox_capture_end(NULL, f->stream, &graph),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_capture_end(f->context, f->stream, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_prologue(NULL, f->stream, NULL, 0),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_epilogue(NULL, PHILOX_OK), PHILOX_ERROR_INVALID);
	FAILS(philox_graph_get_pass_info(NULL, 0, &info), PHILOX_ERROR_INVALID);
	FAILS(philox_graph_get_pass_info(rig.back, 0, NULL),
	      PHILOX_ERROR_INVALID);
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
