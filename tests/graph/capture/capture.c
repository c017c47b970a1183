/*
 * tests/graph/capture/capture.c - captures that fail, are dropped or end with
 * errors
 *
 * After anything that goes wrong in a capture the stream runs, the ledger is as
 * it was, nothing is left on the device, and the next capture works.
 */
#include "tests/support/scene.h"

/* --- capture rules, each broken once -------------------------------------- */

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
	return philox_memory_set(f->device, NULL, scene->memory, 0, 64);
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
	OK(philox_event_record(f->device, f->stream, event));
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
		FAILS(philox_backward_begin(scene.region, f->stream,
					    (struct philox_ticket){0, 0}, 0,
					    &pass),
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
		struct philox_span span = {.count = 4};

		record_begin(f);
		OK(philox_forward_begin(scene.region, f->stream, 0, &pass));
		draw(&pass, scene.array);
		cr_assert_eq(rules[i].break_it(f, &scene), rules[i].expected,
			     "%s: %s", rules[i].name, philox_error_message());
		cr_assert_neq(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32, span,
					       scene.array),
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
	FAILS(philox_backward_begin(scene.region, NULL, scene.kept.ticket, 0,
				    &pass),
	      PHILOX_ERROR_CAPTURE_IMPLICIT);
	OK(philox_graph_destroy(record_end(f)));
	scene_is_whole(f, &scene);
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
	FAILS(philox_backward_begin(scene.region, f->stream,
				    (struct philox_ticket){0, 0}, 0, &pass),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	FAILS(philox_capture_end(f->context, f->stream, &graph),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	NAMES("philox_backward_begin");
	cr_assert_null(graph);
	end_scene(f, &scene);
}

/* --- forks ---------------------------------------------------------------- */

static void fork_to_side(struct fixture *f)
{
	philox_event event;

	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, f->stream, event));
	OK(philox_event_wait(f->device, f->side, event));
	OK(philox_event_destroy(f->device, event));
}

static void join_side(struct fixture *f)
{
	philox_event event;

	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, f->side, event));
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
	OK(philox_pass_commit(&pass, 0, &ticket));
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

PROMISE(capture, ending_before_it_begins_is_refused)
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

PROMISE(capture, begun_without_a_stream_or_in_another_is_refused)
{
	struct scene scene = make_scene(f);
	struct philox_graph *graph;
	size_t size;
	char *text;

	cr_assert_neq(philox_capture_begin(f->context, NULL), PHILOX_OK);
	/* which nothing that captures forbid notices */
	OK(philox_context_save_text(f->context, &text, &size));
	free(text);
	record_begin(f);
	captured_forward(f, scene.region, 0, scene.array);
	cr_assert_neq(philox_capture_begin(f->context, f->stream), PHILOX_OK);
	if (philox_capture_end(f->context, f->stream, &graph) == PHILOX_OK)
		OK(philox_graph_destroy(graph));
	end_scene(f, &scene);
}

GRAPH_PROMISE(capture, ended_by_the_device_does_not_stop_the_next)
{
	struct scene scene = make_scene(f);
	philox_native_graph native;
	struct philox_graph *graph;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_graph_destroy(f->device, native));
	OK(philox_capture_begin(f->context, f->stream));
	captured_forward(f, scene.region, 0, scene.array);
	OK(philox_capture_end(f->context, f->stream, &graph));
	OK(philox_graph_destroy(graph));
	end_scene(f, &scene);
}

/* --- aborted and open passes ---------------------------------------------- */

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
			OK(philox_backward_begin(scene.region, f->stream,
						 named_at_launch, 0, &pass));
		draw(&pass, scene.array);
		OK(philox_pass_abort(&pass));
		cr_assert_eq(record_end_failing(f), PHILOX_ERROR_STATE);
		cr_assert(strstr(f->message, "layer"), "%s", f->message);
		scene_is_whole(f, &scene);
	}
	end_scene(f, &scene);
}

GRAPH_PROMISE(capture, an_aborted_backward_leaves_its_forward_as_it_was)
{
	struct scene scene = make_scene(f);
	struct philox_ticket ticket;
	struct philox_pass pass;

	record_begin(f);
	ticket = captured_forward(f, scene.region, 0, scene.array);
	OK(philox_backward_begin(scene.region, f->stream, ticket, 0, &pass));
	OK(philox_pass_abort(&pass));
	captured_backward(f, scene.region, ticket, PHILOX_PASS_RETAIN,
			  scene.array);
	OK(philox_backward_begin(scene.region, f->stream, ticket, 0, &pass));
	draw(&pass, scene.array);
	OK(philox_pass_commit(&pass, 0, NULL));
	cr_assert_eq(record_end_failing(f), PHILOX_ERROR_STATE);
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
