/*
 * tests/graph/capture/adopt.c - adopting and dropping captures, and their
 * contents
 */
#include <stdlib.h>
#include "tests/support/scene.h"

/* --- placeholders --------------------------------------------------------- */

GRAPH_PROMISE(adopt, placeholders_are_good_in_their_capture_only)
{
	struct scene scene = make_scene(f);
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct philox_graph *back;
	struct philox_launch_pass use = {0};
	void *saved;

	record_begin(f);
	ticket = captured_forward(f, scene.region, 0, scene.array);
	record_end(f);
	FAILS(philox_backward_begin(scene.region, f->stream, ticket, 0, &pass),
	      PHILOX_ERROR_MISMATCH);
	NAMES("placeholder");
	FAILS(philox_ticket_release(scene.region, f->stream, ticket),
	      PHILOX_ERROR_MISMATCH);
	FAILS(philox_ticket_context(scene.region, ticket, &saved),
	      PHILOX_ERROR_MISMATCH);
	record_begin(f);
	FAILS(philox_backward_begin(scene.region, f->stream, ticket, 0, &pass),
	      PHILOX_ERROR_MISMATCH);
	captured_backward(f, scene.region, (struct philox_ticket){0, 0}, 0,
			  scene.array);
	back = record_end(f);
	use.ticket = ticket;
	FAILS(philox_graph_launch(back, f->stream, &use, 1),
	      PHILOX_ERROR_MISMATCH);
	end_scene(f, &scene);
}

GRAPH_PROMISE(adopt, refuses_garbage_near_placeholders)
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
		cr_assert_neq(philox_backward_begin(scene.region, f->stream,
						    garbage, 0, &pass),
			      PHILOX_OK, "bit %u", bit);
		garbage = ticket;
		garbage.region_key ^= UINT64_C(1) << bit;
		FAILS(philox_backward_begin(scene.region, f->stream, garbage, 0,
					    &pass),
		      PHILOX_ERROR_MISMATCH);
	}
	graph = record_end(f);
	cr_assert_eq(philox_graph_pass_count(graph), 2);
	end_scene(f, &scene);
}

GRAPH_PROMISE(adopt, refuses_live_tickets)
{
	struct scene scene = make_scene(f);
	struct philox_ticket none = {scene.kept.ticket.region_key, 0};
	struct philox_pass pass;

	record_begin(f);
	FAILS(philox_backward_begin(scene.region, f->stream, none, 0, &pass),
	      PHILOX_ERROR_MISMATCH);
	FAILS(philox_backward_begin(scene.region, f->stream, scene.kept.ticket,
				    0, &pass),
	      PHILOX_ERROR_MISMATCH);
	NAMES("layer");
	captured_backward(f, scene.region, (struct philox_ticket){0, 0}, 0,
			  scene.array);
	launch_backward(f, record_end(f), &scene.kept, PHILOX_PASS_RETAIN,
			scene.array);
	end_scene(f, &scene);
}

GRAPH_PROMISE(adopt, a_placeholder_is_used_up_once)
{
	struct scene scene = make_scene(f);
	struct philox_region *other = make_region(f, "other");
	struct philox_ticket ticket;
	struct philox_pass open, pass;
	struct philox_graph *graph;
	struct philox_launch_pass uses[3] = {0};

	record_begin(f);
	OK(philox_forward_begin(scene.region, f->stream, 0, &open));
	draw(&open, scene.array);
	OK(philox_pass_commit(&open, 0, &ticket));
	FAILS(philox_backward_begin(other, f->stream, ticket, 0, &pass),
	      PHILOX_ERROR_MISMATCH);
	captured_backward(f, scene.region, ticket, PHILOX_PASS_RETAIN,
			  scene.array);
	OK(philox_backward_begin(scene.region, f->stream, ticket, 0, &open));
	FAILS(philox_backward_begin(scene.region, f->stream, ticket, 0, &pass),
	      PHILOX_ERROR_BUSY);
	draw(&open, scene.array);
	OK(philox_pass_commit(&open, 0, NULL));
	FAILS(philox_backward_begin(scene.region, f->stream, ticket, 0, &pass),
	      PHILOX_ERROR_RELEASED);
	graph = record_end(f);
	OK(philox_graph_launch(graph, f->stream, uses, 3));
	SAME(read_numbers(f, scene.array), scene.before.next, "launch");
	scene.before = look(f, scene.region);
	end_scene(f, &scene);
}

/* --- many passes ---------------------------------------------------------- */

GRAPH_PROMISE(adopt, holds_many_passes_and_says_when_it_is_full)
{
	struct scene scene = make_scene(f);
	enum philox_status status = PHILOX_OK;
	struct philox_graph *graph;
	struct philox_pass pass;
	struct philox_launch_pass *uses;
	unsigned n = 0;

	record_begin(f);
	for (; n < 4000; n++) {
		status = philox_forward_begin(scene.region, f->stream,
					      PHILOX_PASS_INFERENCE, &pass);
		if (status != PHILOX_OK)
			break;
		if (n % 500 == 7)
			draw(&pass, scene.array);
		OK(philox_pass_commit(&pass, 0, NULL));
	}
	cr_assert_eq(status, PHILOX_ERROR_LIMIT);
	cr_assert(n >= 1000, "%u passes fit", n);
	graph = record_end(f);
	cr_assert_eq(philox_graph_pass_count(graph), n);
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

/* --- adopt and drop ------------------------------------------------------- */

PROMISE(adopt, is_adopted_once)
{
	struct scene scene = make_scene(f);
	struct native native =
		capture_natively(f, scene.region, scene.array, NULL);
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

PROMISE(adopt, refuses_an_executable_graph_of_another_capture)
{
	struct scene scene = make_scene(f);
	struct native one =
		capture_natively(f, scene.region, scene.array, NULL);
	struct native two =
		capture_natively(f, scene.region, scene.array, NULL);
	struct philox_graph *graph = NULL;

	cr_assert_neq(philox_graph_adopt(f->context, one.id, one.graph,
					 two.exec, &graph),
		      PHILOX_OK);
	NAMES("not of this capture");
	cr_assert_null(graph);
	OK(philox_graph_adopt(f->context, one.id, one.graph, one.exec, &graph));
	SAME(launch_forward(f, graph, scene.region, scene.array).saw,
	     scene.before.next, "its own graph");
	OK(philox_graph_destroy(graph));
	destroy_native(f, &one);
	destroy_native(f, &two);
	scene.before = look(f, scene.region);
	end_scene(f, &scene);
}

PROMISE(adopt, without_a_pass_has_nothing_to_adopt)
{
	struct scene scene = make_scene(f);
	struct native native = capture_natively(f, NULL, NULL, NULL);
	struct philox_graph *graph;

	FAILS(philox_graph_adopt(f->context, native.id, native.graph,
				 native.exec, &graph),
	      PHILOX_ERROR_NOT_FOUND);
	FAILS(philox_capture_drop(f->context, native.id),
	      PHILOX_ERROR_NOT_FOUND);
	destroy_native(f, &native);
	end_scene(f, &scene);
}

PROMISE(adopt, once_dropped_is_forgotten)
{
	struct scene scene = make_scene(f);
	struct native native =
		capture_natively(f, scene.region, scene.array, NULL);
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

PROMISE(adopt, may_be_dropped_while_it_is_in_progress)
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
	return philox_device_call_count(f->device, "mem_alloc") -
	       philox_device_call_count(f->device, "mem_free") +
	       philox_device_call_count(f->device, "mapped_alloc") -
	       philox_device_call_count(f->device, "mapped_free");
}

PROMISE(adopt, once_abandoned_leaves_nothing_on_the_device)
{
	struct scene scene = make_scene(f);
	uint64_t held = 0;

	for (unsigned i = 0; i < 60; i++) {
		struct native native =
			capture_natively(f, scene.region, scene.array, NULL);

		destroy_native(f, &native);
		if (i == 20)
			held = memory_held(f);
	}
	cr_assert_leq(memory_held(f), held, "%d pieces, then %d", (int)held,
		      (int)memory_held(f));
	end_scene(f, &scene);
}

PROMISE(adopt, once_dropped_leaves_nothing_on_the_device)
{
	struct scene scene = make_scene(f);
	uint64_t held = 0;

	for (unsigned i = 0; i < 60; i++) {
		struct native native =
			capture_natively(f, scene.region, scene.array, NULL);

		OK(philox_capture_drop(f->context, native.id));
		destroy_native(f, &native);
		if (i == 20)
			held = memory_held(f);
	}
	cr_assert_leq(memory_held(f), held, "%d pieces, then %d", (int)held,
		      (int)memory_held(f));
	end_scene(f, &scene);
}

PROMISE(adopt, once_failed_leaves_nothing_on_the_device)
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

PROMISE(adopt, refuses_calls_that_are_not_allowed_in_it)
{
	struct scene scene = make_scene(f);
	struct native native =
		capture_natively(f, scene.region, scene.array, NULL);
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

GRAPH_PROMISE(adopt, a_region_may_be_made_in_it_and_seeded_after_it)
{
	struct scene scene = make_scene(f);
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_region *born;
	struct philox_graph *graph;

	record_begin(f);
	born = make_region(f, "born in a capture");
	captured_forward(f, born, 0, scene.array);
	OK(philox_generator_advance(root, 4, NULL));
	PENDING(born, 0);
	graph = record_end(f);
	OK(philox_generator_seed(root, 8));
	SAME(launch_forward(f, graph, born, scene.array).saw,
	     predict(8, "born in a capture", 0), "the seed at launch counts");
	scene.before = look(f, scene.region);
	end_scene(f, &scene);
}

GRAPH_PROMISE(adopt, a_region_destroyed_in_it_gives_no_good_graph)
{
	struct scene scene = make_scene(f);
	struct philox_region *doomed = make_region(f, "doomed");
	struct philox_launch_pass use = {0};
	struct philox_graph *graph = NULL;
	uint64_t i = f->n_natives;
	enum philox_status status;

	record_begin(f);
	captured_forward(f, doomed, 0, scene.array);
	OK(philox_region_destroy(doomed));
	if (f->own) {
		OK(philox_stream_end_capture(f->device, f->stream,
					     &f->natives[i]));
		OK(philox_native_graph_instantiate(f->device, f->natives[i],
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

/* --- handles -------------------------------------------------------------- */

PROMISE(adopt, refuses_handles_that_are_no_native_graphs)
{
	struct scene scene = make_scene(f);
	philox_native_graph native, other;
	philox_native_exec exec;
	struct philox_graph *ours, *adopted;
	uint64_t id;

	f->own = 0;
	record_begin(f);
	captured_forward(f, scene.region, 0, scene.array);
	ours = record_end(f);
	OK(philox_graph_set_name(ours, "step"));
	OK(philox_graph_native(ours, &other, NULL));
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	OK(philox_stream_capture_info(f->device, f->stream, NULL, &id));
	captured_forward(f, scene.region, 0, scene.array);
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_graph_instantiate(f->device, native, &exec));
	FAILS(philox_graph_adopt(f->context, id, (philox_native_graph)ours,
				 exec, &adopted),
	      PHILOX_ERROR_INVALID);
	NAMES("the native graph is a struct philox_graph, 'step'");
	FAILS(philox_graph_adopt(f->context, id, native,
				 (philox_native_exec)ours, &adopted),
	      PHILOX_ERROR_INVALID);
	NAMES("the executable graph is a struct philox_graph, 'step'");
	FAILS(philox_graph_adopt(f->context, id, (philox_native_graph)f->stream,
				 exec, &adopted),
	      PHILOX_ERROR_INVALID);
	NAMES("native graph of device");
	NAMES("it is a stream");
	FAILS(philox_graph_adopt(f->context, id, native,
				 (philox_native_exec)other, &adopted),
	      PHILOX_ERROR_INVALID);
	NAMES("it is a native graph");
	OK(philox_graph_adopt(f->context, id, native, exec, &adopted));
	OK(philox_graph_destroy(adopted));
	OK(philox_graph_destroy(ours));
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, native));
	end_scene(f, &scene);
}
