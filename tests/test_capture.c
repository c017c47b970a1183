/*
 * tests/test_capture.c - captures that fail, are dropped or end badly
 *
 * Whatever goes wrong in a capture, afterwards the stream runs, the ledger is
 * as before, nothing is left on the device, and the next capture works.
 */
#include <stdlib.h>
#include "support.h"

struct scene {
	struct philox_region *region;
	struct forward kept;
	struct ledger_view before;
	uint32_t *array;
	philox_event outside; /* recorded before the capture */
	void *memory;
};

static struct scene make_scene(struct fixture *f)
{
	struct scene scene;

	scene.region = make_region(f, "layer");
	scene.array = make_array(f);
	scene.kept = forward(f, scene.region);
	scene.before = look(f, scene.region);
	OK(philox_event_create(f->device, &scene.outside));
	OK(philox_event_record(f->device, scene.outside, f->side));
	OK(philox_memory_alloc(f->device, 64, &scene.memory));
	return scene;
}

/* Nothing is left of what went wrong. */
static void scene_is_whole(struct fixture *f, struct scene *scene)
{
	enum philox_capture_status capture;
	struct philox_graph *graph;

	OK(philox_stream_capture_info(f->device, f->stream, &capture, NULL));
	cr_assert_eq(capture, PHILOX_CAPTURE_NONE);
	unchanged(f, scene->region, &scene->before);
	backward(f, &scene->kept, PHILOX_RETAIN);
	SAME(forward(f, scene->region).saw, scene->before.next, "eager");
	graph = record_forward(f, scene->region, 0, scene->array);
	launch_forward(f, graph, scene->region, scene->array);
	graph = record_backward(f, scene->region, scene->array);
	launch_backward(f, graph, &scene->kept, PHILOX_RETAIN, scene->array);
	OK(philox_check(f->context, NULL));
	scene->before = look(f, scene->region);
}

static void end_scene(struct fixture *f, struct scene *scene)
{
	scene_is_whole(f, scene);
	OK(philox_event_destroy(f->device, scene->outside));
	OK(philox_memory_free(f->device, scene->memory));
}

/* --- capture rules, each broken once ------------------------------------------ */

static enum philox_status sync_device(struct fixture *f, struct scene *scene)
{
	(void)scene;
	return philox_device_synchronize(f->device);
}

static enum philox_status sync_stream(struct fixture *f, struct scene *scene)
{
	(void)scene;
	return philox_stream_synchronize(f->device, f->stream);
}

static enum philox_status query_stream(struct fixture *f, struct scene *scene)
{
	(void)scene;
	return philox_stream_query(f->device, f->stream);
}

static enum philox_status allocate(struct fixture *f, struct scene *scene)
{
	void *memory;

	(void)scene;
	return philox_memory_alloc(f->device, 64, &memory);
}

static enum philox_status free_memory(struct fixture *f, struct scene *scene)
{
	return philox_memory_free(f->device, scene->memory);
}

static enum philox_status use_legacy_stream(struct fixture *f,
					    struct scene *scene)
{
	return philox_memory_set(f->device, scene->memory, 0, 64, NULL);
}

static enum philox_status query_event(struct fixture *f, struct scene *scene)
{
	return philox_event_query(f->device, scene->outside);
}

static enum philox_status wait_for_outside(struct fixture *f,
					   struct scene *scene)
{
	return philox_event_wait(f->device, f->stream, scene->outside);
}

static enum philox_status sync_captured_event(struct fixture *f,
					      struct scene *scene)
{
	enum philox_status status;
	philox_event event;

	(void)scene;
	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, event, f->stream));
	status = philox_event_synchronize(f->device, event);
	OK(philox_event_destroy(f->device, event));
	return status;
}

static enum philox_status destroy_stream(struct fixture *f, struct scene *scene)
{
	(void)scene;
	return philox_stream_destroy(f->device, f->stream);
}

static const struct {
	const char *name;
	enum philox_status (*break_it)(struct fixture *, struct scene *);
	enum philox_status expected;
} rules[] = {
	{"device_synchronize", sync_device, PHILOX_ERROR_CAPTURE_UNSUPPORTED},
	{"stream_synchronize", sync_stream, PHILOX_ERROR_CAPTURE_UNSUPPORTED},
	{"stream_query", query_stream, PHILOX_ERROR_CAPTURE_UNSUPPORTED},
	{"memory_alloc", allocate, PHILOX_ERROR_CAPTURE_UNSUPPORTED},
	{"memory_free", free_memory, PHILOX_ERROR_CAPTURE_UNSUPPORTED},
	{"event_query", query_event, PHILOX_ERROR_CAPTURE_UNSUPPORTED},
	{"legacy stream", use_legacy_stream, PHILOX_ERROR_CAPTURE_IMPLICIT},
	{"event_wait", wait_for_outside, PHILOX_ERROR_CAPTURE_ISOLATION},
	{"event_synchronize", sync_captured_event, PHILOX_ERROR_CAPTURED_EVENT},
	{"stream_destroy", destroy_stream, PHILOX_ERROR_CAPTURE_UNSUPPORTED},
};

enum { RULES = sizeof(rules) / sizeof(rules[0]) };

GRAPH_PROMISE(capture, a_rule_broken_after_a_pass_leaves_everything_whole)
{
	struct scene scene = make_scene(f);

	for (size_t i = 0; i < RULES; i++) {
		struct philox_pass pass;

		record_begin(f);
		captured_forward(f, scene.region, 0, scene.array);
		cr_assert_eq(rules[i].break_it(f, &scene), rules[i].expected,
			     "%s: %s", rules[i].name, philox_error_message());
		FAILS(philox_forward_begin(scene.region, f->stream, 0, &pass),
		      PHILOX_ERROR_CAPTURE_INVALIDATED);
		FAILS(philox_backward_begin(scene.region,
					    (struct philox_ticket){0, 0},
					    f->stream, 0, &pass),
		      PHILOX_ERROR_CAPTURE_INVALIDATED);
		PENDING(scene.region, scene.before.pending);
		record_end_failing(f);
		scene_is_whole(f, &scene);
	}
	end_scene(f, &scene);
}

GRAPH_PROMISE(capture, a_rule_broken_inside_a_pass_leaves_everything_whole)
{
	struct scene scene = make_scene(f);

	for (size_t i = 0; i < RULES; i++) {
		struct philox_pass pass;
		struct philox_span span = {0, 4};

		record_begin(f);
		OK(philox_forward_begin(scene.region, f->stream, 0, &pass));
		draw(&pass, scene.array);
		cr_assert_eq(rules[i].break_it(f, &scene), rules[i].expected,
			     "%s: %s", rules[i].name, philox_error_message());
		cr_assert_neq(
			philox_bits(&pass, 0, PHILOX_U32, span, scene.array),
			PHILOX_OK);
		OK(philox_pass_abort(&pass));
		record_end_failing(f);
		scene_is_whole(f, &scene);
	}
	end_scene(f, &scene);
}

GRAPH_PROMISE(capture, a_pass_left_open_in_a_broken_capture_can_be_ended)
{
	struct scene scene = make_scene(f);
	struct philox_pass pass;

	record_begin(f);
	OK(philox_forward_begin(scene.region, f->stream, 0, &pass));
	FAILS(philox_stream_synchronize(f->device, f->stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	record_end_failing(f);
	FAILS_EITHER(philox_pass_abort(&pass), PHILOX_OK, PHILOX_ERROR_STATE);
	end_scene(f, &scene);
}

GRAPH_PROMISE(capture, a_rule_broken_before_any_pass_refuses_passes)
{
	struct scene scene = make_scene(f);
	struct philox_pass pass;

	record_begin(f);
	FAILS(philox_stream_synchronize(f->device, f->stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	FAILS(philox_forward_begin(scene.region, f->stream, 0, &pass),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	NAMES("layer");
	record_end_failing(f);
	end_scene(f, &scene);
}

GRAPH_PROMISE(capture, a_pass_on_the_legacy_stream_meanwhile_is_refused)
{
	struct scene scene = make_scene(f);
	struct philox_pass pass = {0};

	record_begin(f);
	captured_forward(f, scene.region, 0, scene.array);
	FAILS(philox_forward_begin(scene.region, NULL, 0, &pass),
	      PHILOX_ERROR_CAPTURE_IMPLICIT);
	FAILS_EITHER(philox_backward_begin(scene.region, scene.kept.ticket,
					   NULL, 0, &pass),
		     PHILOX_ERROR_CAPTURE_IMPLICIT, PHILOX_OK);
	if (pass.region)
		OK(philox_pass_abort(&pass));
	record_end_failing(f);
	end_scene(f, &scene);
}

PROMISE(capture, the_message_says_which_call_found_it_broken)
{
	struct scene scene = make_scene(f);
	struct philox_graph *graph = NULL;
	struct philox_pass pass;

	record_begin(f);
	captured_forward(f, scene.region, 0, scene.array);
	FAILS(philox_stream_synchronize(f->device, f->stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	FAILS(philox_backward_begin(scene.region, (struct philox_ticket){0, 0},
				    f->stream, 0, &pass),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	FAILS(philox_capture_end(f->context, f->stream, &graph),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	NAMES("philox_backward_begin");
	cr_assert_null(graph);
	end_scene(f, &scene);
}

/* --- forks ----------------------------------------------------------------------- */

static void fork_to_side(struct fixture *f)
{
	philox_event event;

	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, event, f->stream));
	OK(philox_event_wait(f->device, f->side, event));
	OK(philox_event_destroy(f->device, event));
}

static void join_side(struct fixture *f)
{
	philox_event event;

	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, event, f->side));
	OK(philox_event_wait(f->device, f->stream, event));
	OK(philox_event_destroy(f->device, event));
}

GRAPH_PROMISE(capture, an_unjoined_fork_leaves_everything_whole)
{
	struct scene scene = make_scene(f);
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	enum philox_capture_status capture;

	record_begin(f);
	OK(philox_forward_begin(scene.region, f->stream, 0, &pass));
	fork_to_side(f);
	OK(philox_pass_on(&pass, f->side, &view));
	draw(&view, scene.array);
	OK(philox_forward_commit(&pass, &ticket));
	cr_assert_eq(record_end_failing(f), PHILOX_ERROR_CAPTURE_UNJOINED);
	OK(philox_stream_capture_info(f->device, f->side, &capture, NULL));
	cr_assert_eq(capture, PHILOX_CAPTURE_NONE);
	end_scene(f, &scene);
}

PROMISE(capture, ended_on_a_fork_goes_on)
{
	struct scene scene = make_scene(f);
	struct philox_graph *graph = NULL;

	record_begin(f);
	captured_forward(f, scene.region, 0, scene.array);
	fork_to_side(f);
	FAILS(philox_capture_end(f->context, f->side, &graph),
	      PHILOX_ERROR_CAPTURE_UNMATCHED);
	cr_assert_null(graph);
	join_side(f);
	graph = record_end(f);
	SAME(launch_forward(f, graph, scene.region, scene.array).saw,
	     scene.before.next, "the graph is good");
	scene.before = look(f, scene.region);
	end_scene(f, &scene);
}

PROMISE(capture, ended_natively_on_a_fork_is_lost_and_leaves_all_whole)
{
	struct scene scene = make_scene(f);
	philox_native_graph native = NULL;

	f->own = 1;
	record_begin(f);
	captured_forward(f, scene.region, 0, scene.array);
	fork_to_side(f);
	FAILS(philox_stream_end_capture(f->device, f->side, &native),
	      PHILOX_ERROR_CAPTURE_UNMATCHED);
	record_end_failing(f);
	end_scene(f, &scene);
}

PROMISE(capture, ending_none_is_refused)
{
	struct scene scene = make_scene(f);
	struct philox_graph *graph = NULL;

	FAILS(philox_capture_end(f->context, f->stream, &graph),
	      PHILOX_ERROR_STATE);
	FAILS(philox_capture_end(f->context, f->side, &graph),
	      PHILOX_ERROR_STATE);
	cr_assert_null(graph);
	end_scene(f, &scene);
}

PROMISE(capture, begun_where_none_can_is_refused)
{
	struct scene scene = make_scene(f);
	struct philox_graph *graph;

	cr_assert_neq(philox_capture_begin(f->context, NULL), PHILOX_OK);
	record_begin(f);
	captured_forward(f, scene.region, 0, scene.array);
	cr_assert_neq(philox_capture_begin(f->context, f->stream), PHILOX_OK);
	if (philox_capture_end(f->context, f->stream, &graph) == PHILOX_OK)
		OK(philox_graph_destroy(graph));
	end_scene(f, &scene);
}

/* --- aborted and open passes ----------------------------------------------------------- */

GRAPH_PROMISE(capture, with_an_aborted_pass_gives_no_graph)
{
	struct scene scene = make_scene(f);
	struct philox_pass pass;

	for (unsigned kind = 0; kind < 2; kind++) {
		const struct philox_ticket named_at_launch = {0, 0};

		record_begin(f);
		captured_forward(f, scene.region, 0, scene.array);
		if (kind == 0)
			OK(philox_forward_begin(scene.region, f->stream, 0,
						&pass));
		else
			OK(philox_backward_begin(scene.region, named_at_launch,
						 f->stream, 0, &pass));
		draw(&pass, scene.array);
		OK(philox_pass_abort(&pass));
		cr_assert_eq(record_end_failing(f), PHILOX_ERROR_STATE);
		cr_assert(strstr(f->message, "layer"), "%s", f->message);
		scene_is_whole(f, &scene);
	}
	end_scene(f, &scene);
}

GRAPH_PROMISE(capture, with_an_open_pass_gives_no_graph)
{
	struct scene scene = make_scene(f);
	struct philox_pass pass;

	record_begin(f);
	captured_forward(f, scene.region, 0, scene.array);
	OK(philox_forward_begin(scene.region, f->stream, 0, &pass));
	draw(&pass, scene.array);
	cr_assert_eq(record_end_failing(f), PHILOX_ERROR_STATE);
	FAILS_EITHER(philox_pass_abort(&pass), PHILOX_OK, PHILOX_ERROR_STATE);
	end_scene(f, &scene);
}

/* --- placeholders ------------------------------------------------------------------------ */

GRAPH_PROMISE(capture, placeholders_are_good_in_their_capture_only)
{
	struct scene scene = make_scene(f);
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct philox_graph *back;
	struct philox_use use = {0};

	record_begin(f);
	ticket = captured_forward(f, scene.region, 0, scene.array);
	record_end(f);
	cr_assert_neq(philox_backward_begin(scene.region, ticket, f->stream, 0,
					    &pass),
		      PHILOX_OK, "eager");
	cr_assert_neq(philox_ticket_release(scene.region, ticket, f->stream),
		      PHILOX_OK);
	record_begin(f);
	FAILS(philox_backward_begin(scene.region, ticket, f->stream, 0, &pass),
	      PHILOX_ERROR_MISMATCH);
	captured_backward(f, scene.region, (struct philox_ticket){0, 0}, 0,
			  scene.array);
	back = record_end(f);
	use.ticket = ticket;
	cr_assert_neq(philox_graph_launch(back, f->stream, &use, 1), PHILOX_OK,
		      "at launch");
	end_scene(f, &scene);
}

GRAPH_PROMISE(capture, refuses_garbage_near_placeholders)
{
	struct scene scene = make_scene(f);
	struct philox_ticket ticket, garbage;
	struct philox_pass pass;
	struct philox_graph *graph;

	record_begin(f);
	ticket = captured_forward(f, scene.region, 0, scene.array);
	captured_backward(f, scene.region, (struct philox_ticket){0, 0}, 0,
			  scene.array);
	for (unsigned bit = 0; bit < 64; bit++) {
		garbage = ticket;
		garbage.serial ^= UINT64_C(1) << bit;
		cr_assert_neq(philox_backward_begin(scene.region, garbage,
						    f->stream, 0, &pass),
			      PHILOX_OK, "bit %u", bit);
		garbage = ticket;
		garbage.region_key ^= UINT64_C(1) << bit;
		FAILS(philox_backward_begin(scene.region, garbage, f->stream, 0,
					    &pass),
		      PHILOX_ERROR_MISMATCH);
	}
	graph = record_end(f);
	cr_assert_eq(philox_graph_uses(graph), 2);
	end_scene(f, &scene);
}

GRAPH_PROMISE(capture, refuses_live_tickets)
{
	struct scene scene = make_scene(f);
	struct philox_pass pass;

	record_begin(f);
	FAILS(philox_backward_begin(scene.region, scene.kept.ticket, f->stream,
				    0, &pass),
	      PHILOX_ERROR_MISMATCH);
	NAMES("layer");
	captured_backward(f, scene.region, (struct philox_ticket){0, 0}, 0,
			  scene.array);
	launch_backward(f, record_end(f), &scene.kept, PHILOX_RETAIN,
			scene.array);
	end_scene(f, &scene);
}

GRAPH_PROMISE(capture, a_placeholder_is_used_up_once)
{
	struct scene scene = make_scene(f);
	struct philox_region *other = make_region(f, "other");
	struct philox_ticket ticket;
	struct philox_pass open, pass;
	struct philox_graph *graph;
	struct philox_use uses[3] = {0};

	record_begin(f);
	OK(philox_forward_begin(scene.region, f->stream, 0, &open));
	draw(&open, scene.array);
	OK(philox_forward_commit(&open, &ticket));
	FAILS(philox_backward_begin(other, ticket, f->stream, 0, &pass),
	      PHILOX_ERROR_MISMATCH);
	captured_backward(f, scene.region, ticket, PHILOX_RETAIN, scene.array);
	OK(philox_backward_begin(scene.region, ticket, f->stream, 0, &open));
	FAILS(philox_backward_begin(scene.region, ticket, f->stream, 0, &pass),
	      PHILOX_ERROR_BUSY);
	draw(&open, scene.array);
	OK(philox_backward_commit(&open, 0));
	FAILS(philox_backward_begin(scene.region, ticket, f->stream, 0, &pass),
	      PHILOX_ERROR_RELEASED);
	graph = record_end(f);
	OK(philox_graph_launch(graph, f->stream, uses, 3));
	SAME(read_numbers(f, scene.array), scene.before.next, "launch");
	scene.before = look(f, scene.region);
	end_scene(f, &scene);
}

/* --- many passes ---------------------------------------------------------------------------- */

GRAPH_PROMISE(capture, holds_many_passes_and_says_when_it_is_full)
{
	struct scene scene = make_scene(f);
	enum philox_status status = PHILOX_OK;
	struct philox_graph *graph;
	struct philox_pass pass;
	struct philox_use *uses;
	unsigned n = 0;

	record_begin(f);
	for (; n < 4000; n++) {
		status = philox_forward_begin(scene.region, f->stream,
					      PHILOX_INFERENCE, &pass);
		if (status != PHILOX_OK)
			break;
		if (n % 500 == 7)
			draw(&pass, scene.array);
		OK(philox_forward_commit(&pass, NULL));
	}
	cr_assert_eq(status, PHILOX_ERROR_LIMIT);
	cr_assert(n >= 1000, "%u passes fit", n);
	graph = record_end(f);
	cr_assert_eq(philox_graph_uses(graph), n);
	uses = calloc(n, sizeof(*uses));
	cr_assert_not_null(uses);
	OK(philox_graph_launch(graph, f->stream, uses, n));
	SAME(read_numbers(f, scene.array),
	     predict(0, "layer", 4 * (1 + (n - 8) / 500 * 500 + 7)), "last");
	PENDING(scene.region, 1);
	free(uses);
	scene.before = look(f, scene.region);
	end_scene(f, &scene);
}

/* --- adopt and drop ------------------------------------------------------------------------------ */

struct native {
	uint64_t id;
	philox_native_graph graph;
	philox_native_exec exec;
};

static struct native capture_natively(struct fixture *f,
				      struct philox_region *region,
				      uint32_t *array)
{
	struct native native;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	OK(philox_stream_capture_info(f->device, f->stream, NULL, &native.id));
	if (region)
		captured_forward(f, region, 0, array);
	OK(philox_stream_end_capture(f->device, f->stream, &native.graph));
	OK(philox_native_instantiate(f->device, native.graph, &native.exec));
	return native;
}

static void destroy_native(struct fixture *f, struct native *native)
{
	OK(philox_native_exec_destroy(f->device, native->exec));
	OK(philox_native_graph_destroy(f->device, native->graph));
}

PROMISE(capture, is_adopted_once)
{
	struct scene scene = make_scene(f);
	struct native native = capture_natively(f, scene.region, scene.array);
	struct philox_graph *graph, *second = NULL;
	struct philox_context *other;

	OK(philox_context_create(f->device, &other));
	FAILS(philox_graph_adopt(other, native.id, native.graph, native.exec,
				 &second),
	      PHILOX_ERROR_NOT_FOUND);
	FAILS(philox_graph_adopt(f->context, native.id + 1000, native.graph,
				 native.exec, &second),
	      PHILOX_ERROR_NOT_FOUND);
	OK(philox_graph_adopt(f->context, native.id, native.graph, native.exec,
			      &graph));
	FAILS(philox_graph_adopt(f->context, native.id, native.graph,
				 native.exec, &second),
	      PHILOX_ERROR_EXISTS);
	FAILS(philox_capture_drop(f->context, native.id), PHILOX_ERROR_STATE);
	cr_assert_null(second);
	SAME(launch_forward(f, graph, scene.region, scene.array).saw,
	     scene.before.next, "still good");
	OK(philox_graph_destroy(graph));
	philox_context_destroy(other);
	destroy_native(f, &native);
	scene.before = look(f, scene.region);
	end_scene(f, &scene);
}

PROMISE(capture, without_a_pass_has_nothing_to_adopt)
{
	struct scene scene = make_scene(f);
	struct native native = capture_natively(f, NULL, NULL);
	struct philox_graph *graph;

	FAILS(philox_graph_adopt(f->context, native.id, native.graph,
				 native.exec, &graph),
	      PHILOX_ERROR_NOT_FOUND);
	FAILS(philox_capture_drop(f->context, native.id),
	      PHILOX_ERROR_NOT_FOUND);
	destroy_native(f, &native);
	end_scene(f, &scene);
}

PROMISE(capture, once_dropped_is_forgotten)
{
	struct scene scene = make_scene(f);
	struct native native = capture_natively(f, scene.region, scene.array);
	struct philox_graph *graph;

	OK(philox_capture_drop(f->context, native.id));
	FAILS(philox_graph_adopt(f->context, native.id, native.graph,
				 native.exec, &graph),
	      PHILOX_ERROR_NOT_FOUND);
	FAILS(philox_capture_drop(f->context, native.id),
	      PHILOX_ERROR_NOT_FOUND);
	destroy_native(f, &native);
	end_scene(f, &scene);
}

PROMISE(capture, may_be_dropped_while_it_is_under_way)
{
	struct scene scene = make_scene(f);
	philox_native_graph native = NULL;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_stream_capture_info(f->device, f->stream, NULL,
				      &f->capture_id));
	captured_forward(f, scene.region, 0, scene.array);
	OK(philox_capture_drop(f->context, f->capture_id));
	if (philox_stream_end_capture(f->device, f->stream, &native) ==
	    PHILOX_OK)
		OK(philox_native_graph_destroy(f->device, native));
	end_scene(f, &scene);
}

static uint64_t memory_held(struct fixture *f)
{
	return philox_device_calls(f->device, "mem_alloc") -
	       philox_device_calls(f->device, "mem_free") +
	       philox_device_calls(f->device, "mapped_alloc") -
	       philox_device_calls(f->device, "mapped_free");
}

PROMISE(capture, once_abandoned_leaves_nothing_on_the_device)
{
	struct scene scene = make_scene(f);
	uint64_t held = 0;

	for (unsigned i = 0; i < 60; i++) {
		struct native native =
			capture_natively(f, scene.region, scene.array);

		destroy_native(f, &native);
		if (i == 20)
			held = memory_held(f);
	}
	cr_assert_leq(memory_held(f), held, "%d pieces, then %d", (int)held,
		      (int)memory_held(f));
	end_scene(f, &scene);
}

PROMISE(capture, once_dropped_leaves_nothing_on_the_device)
{
	struct scene scene = make_scene(f);
	uint64_t held = 0;

	for (unsigned i = 0; i < 60; i++) {
		struct native native =
			capture_natively(f, scene.region, scene.array);

		OK(philox_capture_drop(f->context, native.id));
		destroy_native(f, &native);
		if (i == 20)
			held = memory_held(f);
	}
	cr_assert_leq(memory_held(f), held, "%d pieces, then %d", (int)held,
		      (int)memory_held(f));
	end_scene(f, &scene);
}

PROMISE(capture, once_failed_leaves_nothing_on_the_device)
{
	struct scene scene = make_scene(f);
	uint64_t held = 0;

	for (unsigned i = 0; i < 60; i++) {
		record_begin(f);
		captured_forward(f, scene.region, 0, scene.array);
		FAILS(philox_stream_query(f->device, f->stream),
		      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
		record_end_failing(f);
		if (i == 20)
			held = memory_held(f);
	}
	cr_assert_leq(memory_held(f), held, "%d pieces, then %d", (int)held,
		      (int)memory_held(f));
	end_scene(f, &scene);
}

PROMISE(capture, refuses_what_may_not_be_called_in_it)
{
	struct scene scene = make_scene(f);
	struct native native = capture_natively(f, scene.region, scene.array);
	struct philox_graph *graph = NULL, *old;

	old = record_forward(f, scene.region, 0, scene.array);
	record_begin(f);
	captured_forward(f, scene.region, 0, scene.array);
	FAILS_EITHER(philox_graph_adopt(f->context, native.id, native.graph,
					native.exec, &graph),
		     PHILOX_ERROR_CAPTURE_UNSUPPORTED, PHILOX_OK);
	if (philox_capture_end(f->context, f->stream, &graph) == PHILOX_OK)
		OK(philox_graph_destroy(graph));
	record_begin(f);
	captured_forward(f, scene.region, 0, scene.array);
	FAILS_EITHER(philox_graph_destroy(old),
		     PHILOX_ERROR_CAPTURE_UNSUPPORTED, PHILOX_OK);
	if (philox_capture_end(f->context, f->stream, &graph) == PHILOX_OK)
		OK(philox_graph_destroy(graph));
	scene_is_whole(f, &scene);
	OK(philox_device_synchronize(f->device));
	philox_context_destroy(f->context);
	destroy_native(f, &native);
	OK(philox_context_create(f->device, &f->context));
	scene.region = make_region(f, "layer");
	scene.kept = forward(f, scene.region);
	scene.before = look(f, scene.region);
	end_scene(f, &scene);
}

GRAPH_PROMISE(capture, a_region_may_be_made_and_seeded_in_it)
{
	struct scene scene = make_scene(f);
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_region *born;
	struct philox_graph *graph;

	record_begin(f);
	born = make_region(f, "born in a capture");
	captured_forward(f, born, 0, scene.array);
	OK(philox_generator_seed(root, 8));
	OK(philox_generator_advance(root, 4, NULL));
	PENDING(born, 0);
	graph = record_end(f);
	SAME(launch_forward(f, graph, born, scene.array).saw,
	     predict(8, "born in a capture", 0), "the seed at launch counts");
	scene.before = look(f, scene.region);
	end_scene(f, &scene);
}

GRAPH_PROMISE(capture, a_region_destroyed_in_it_gives_no_good_graph)
{
	struct scene scene = make_scene(f);
	struct philox_region *doomed = make_region(f, "doomed");
	struct philox_use use = {0};
	struct philox_graph *graph = NULL;
	uint64_t i = f->n_natives;
	enum philox_status status;

	record_begin(f);
	captured_forward(f, doomed, 0, scene.array);
	OK(philox_region_destroy(doomed));
	if (f->own) {
		OK(philox_stream_end_capture(f->device, f->stream,
					     &f->natives[i]));
		OK(philox_native_instantiate(f->device, f->natives[i],
					     &f->execs[i]));
		f->n_natives++;
		status = philox_graph_adopt(f->context, f->capture_id,
					    f->natives[i], f->execs[i], &graph);
	} else {
		status = philox_capture_end(f->context, f->stream, &graph);
	}
	if (status == PHILOX_OK)
		status = philox_graph_launch(graph, f->stream, &use, 1);
	cr_assert_eq(status, PHILOX_ERROR_STALE);
	NAMES("doomed");
	end_scene(f, &scene);
}
