/*
 * tests/graph/capture/lives.c - captures that do not end as planned, and those
 * that they use: generators, contexts
 */
#include <stdlib.h>
#include "tests/support/support.h"

static void begin_natively(struct fixture *f)
{
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_THREAD_LOCAL));
	OK(philox_stream_capture_info(f->device, f->stream, NULL,
				      &f->capture_id));
}

static struct native end_natively(struct fixture *f)
{
	struct native native = {.id = f->capture_id};

	OK(philox_stream_end_capture(f->device, f->stream, &native.graph));
	OK(philox_native_graph_instantiate(f->device, native.graph,
					   &native.exec));
	return native;
}

/* A new graph of the region draws the numbers at this offset. */
static void a_new_graph_draws(struct fixture *f, struct philox_region *region,
			      uint64_t offset)
{
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);

	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", offset), "a new graph");
	OK(philox_context_check(f->context, NULL));
}

/* --- generators ----------------------------------------------------------- */

static struct native copy_natively(struct fixture *f,
				   struct philox_generator *generator)
{
	begin_natively(f);
	OK(philox_generator_copy_state(generator, f->stream,
				       (struct philox_state *)f->scratch));
	return end_natively(f);
}

PROMISE(capture_lives, a_generator_is_free_when_the_native_graph_is_gone)
{
	struct philox_generator *generator;
	struct native native;

	OK(philox_generator_create(f->context, 1, &generator));
	native = copy_natively(f, generator);
	FAILS(philox_generator_destroy(generator), PHILOX_ERROR_BUSY);
	destroy_native(f, &native);
	OK_ONCE_RELEASED(f, philox_generator_destroy(generator));
}

PROMISE(capture_lives, a_generator_is_free_when_its_adopted_graph_is_gone)
{
	struct philox_generator *generator;
	struct philox_graph *graph;
	struct native native;

	OK(philox_generator_create(f->context, 1, &generator));
	native = copy_natively(f, generator);
	OK(philox_graph_adopt(f->context, native.id, native.graph, native.exec,
			      &graph));
	OK(philox_graph_destroy(graph));
	FAILS(philox_generator_destroy(generator), PHILOX_ERROR_BUSY);
	destroy_native(f, &native);
	OK_ONCE_RELEASED(f, philox_generator_destroy(generator));
}

/* --- our captures that others end ----------------------------------------- */

PROMISE(capture_lives, a_capture_ended_behind_our_back_is_forgotten)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graph = NULL;
	philox_native_graph native;
	char *text;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_graph_destroy(f->device, native));
	FAILS(philox_capture_end(f->context, f->stream, &graph),
	      PHILOX_ERROR_STATE);
	cr_assert_null(graph);
	OK(philox_context_save_text(f->context, &text, NULL));
	free(text);
	a_new_graph_draws(f, region, 0);
}

PROMISE(capture_lives, a_capture_of_others_is_not_taken_for_ours)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = NULL;
	philox_native_graph ours;
	struct native native;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_stream_end_capture(f->device, f->stream, &ours));
	OK(philox_native_graph_destroy(f->device, ours));
	begin_natively(f);
	captured_forward(f, region, 0, array);
	for (unsigned i = 0; i < 2; i++)
		FAILS(philox_capture_end(f->context, f->stream, &graph),
		      PHILOX_ERROR_CAPTURE_UNMATCHED);
	cr_assert_null(graph);
	native = end_natively(f);
	OK(philox_graph_adopt(f->context, native.id, native.graph, native.exec,
			      &graph));
	cr_assert_eq(philox_graph_pass_count(graph), 1);
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 0), "the graph");
	OK(philox_context_check(f->context, NULL));
	OK(philox_graph_destroy(graph));
	destroy_native(f, &native);
	a_new_graph_draws(f, region, 4);
}

PROMISE(capture_lives, a_capture_dropped_on_the_way_gives_no_graph)
{
	struct philox_region *region = make_region(f, "layer");
	enum philox_capture_status status;
	struct philox_graph *graph = NULL;

	record_begin(f);
	captured_forward(f, region, 0, f->scratch);
	OK(philox_capture_drop(f->context, f->capture_id));
	FAILS(philox_capture_end(f->context, f->stream, &graph),
	      PHILOX_ERROR_STATE);
	NAMES("dropped");
	cr_assert_null(graph);
	OK(philox_stream_capture_info(f->device, f->stream, &status, NULL));
	cr_assert_eq(status, PHILOX_CAPTURE_NONE);
	a_new_graph_draws(f, region, 0);
}

PROMISE(capture_lives, no_pass_joins_a_capture_that_was_dropped)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graph = NULL;
	struct philox_pass pass;

	record_begin(f);
	captured_forward(f, region, 0, f->scratch);
	OK(philox_capture_drop(f->context, f->capture_id));
	FAILS(philox_forward_begin(region, f->stream, 0, &pass),
	      PHILOX_ERROR_STATE);
	NAMES("dropped");
	FAILS(philox_capture_end(f->context, f->stream, &graph),
	      PHILOX_ERROR_STATE);
	a_new_graph_draws(f, region, 0);
}

/* --- failures on the way -------------------------------------------------- */

/* A first pass that failed leaves work in the graph that is not a launch. */
PROMISE(capture_lives, a_first_pass_that_failed_is_never_reported)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass;
	struct native native;
	char *text;

	f->injected = 1;
	begin_natively(f);
	OK(philox_device_fail(f->device, "capture_after", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(philox_forward_begin(region, f->stream, 0, &pass),
	      PHILOX_ERROR_DEVICE);
	native = end_natively(f);
	OK(philox_native_exec_launch(f->device, f->stream, native.exec));
	OK(philox_device_synchronize(f->device));
	OK(philox_context_check(f->context, NULL));
	OK(philox_capture_drop(f->context, native.id));
	OK(philox_context_save_text(f->context, &text, NULL));
	free(text);
	destroy_native(f, &native);
	a_new_graph_draws(f, region, 0);
}

GRAPH_PROMISE(capture_lives, a_first_pass_that_failed_can_be_begun_again)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph;
	struct philox_pass pass;

	f->injected = 1;
	record_begin(f);
	OK(philox_device_fail(f->device, "capture_after", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(philox_forward_begin(region, f->stream, 0, &pass),
	      PHILOX_ERROR_DEVICE);
	captured_forward(f, region, 0, array);
	graph = record_end(f);
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 0), "the graph");
	OK(philox_context_check(f->context, NULL));
}

/* --- adoptions that fail -------------------------------------------------- */

enum { OTHERS = 24 };

/* Passes with their own cells, which take all the memory they can get. */
static void take_cells(struct fixture *f, struct philox_region *region,
		       struct philox_pass passes[OTHERS])
{
	for (unsigned i = 0; i < OTHERS; i++)
		OK(philox_forward_begin(region, f->stream,
					PHILOX_PASS_INFERENCE |
						PHILOX_PASS_ON_DEVICE,
					&passes[i]));
	OK(philox_device_synchronize(f->device));
}

static void give_cells(struct fixture *f, struct philox_pass passes[OTHERS])
{
	for (unsigned i = 0; i < OTHERS; i++) {
		draw(&passes[i], f->scratch);
		SAME(read_numbers(f, f->scratch), predict(0, "other", 4 * i),
		     "cells of pass %u", i);
		OK(philox_pass_commit(&passes[i], 0, NULL));
	}
}

/* Adopts with the n-th call of an operation failing, if there is one. */
static enum philox_status adopt_failing(struct fixture *f,
					const struct native *native,
					const char *operation, unsigned n,
					struct philox_graph **graph)
{
	enum philox_status status;

	OK(philox_device_fail(f->device, operation, n, PHILOX_ERROR_DEVICE));
	status = philox_graph_adopt(f->context, native->id, native->graph,
				    native->exec, graph);
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	return status;
}

/* The device keeps whatever it may already have been told. */
static void survives(struct fixture *f, const char *operation, unsigned n)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_region *other = make_region(f, "other");
	uint32_t *array = make_array(f);
	struct native native = capture_natively(f, region, array, NULL);
	struct philox_pass passes[OTHERS];
	struct philox_graph *graph = NULL;
	struct numbers saw;

	FAILS(adopt_failing(f, &native, operation, n, &graph),
	      PHILOX_ERROR_DEVICE);
	cr_assert_null(graph);
	take_cells(f, other, passes);
	OK(philox_native_exec_launch(f->device, f->stream, native.exec));
	saw = read_numbers(f, array);
	cr_assert(all_poison(&saw));
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
	give_cells(f, passes);
	OK(philox_graph_adopt(f->context, native.id, native.graph, native.exec,
			      &graph));
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 0), "adopted at last");
	OK(philox_context_check(f->context, NULL));
	OK(philox_graph_destroy(graph));
	destroy_native(f, &native);
}

/* Runs it in its own context, for the names. */
static void survives_alone(struct fixture *f, const char *operation, unsigned n)
{
	struct philox_context *kept = f->context;

	OK(philox_context_create(f->device, &f->context));
	survives(f, operation, n);
	philox_context_destroy(f->context);
	f->context = kept;
}

PROMISE(capture_lives, an_adoption_that_failed_does_no_harm)
{
	f->injected = 1;
	survives_alone(f, "exec_set_kernel", 1);
}
