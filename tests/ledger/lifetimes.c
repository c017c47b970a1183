/*
 * tests/ledger/lifetimes.c - passes, views and cells that outlive their pass,
 * their capture or the mode of their stream
 *
 * A pass is a value, so copies of it can be used at any time. Cells that have
 * gone to another pass by then must not be drawn from.
 */
#include "tests/support/support.h"

static const struct philox_span four = {.count = 4};

/* Whether a pass that no longer has numbers still gives any. */
static void draws_nothing(struct fixture *f, const struct philox_pass *pass)
{
	struct numbers before = read_numbers(f, f->scratch);
	const struct philox_state *states = NULL;
	struct philox_rng rng = {{5, 5}, NULL};
	struct philox_pass view;

	FAILS(philox_pass_bits(pass, 0, PHILOX_DTYPE_U32, four, f->scratch),
	      PHILOX_ERROR_STATE);
	NAMES("layer");
	FAILS(philox_pass_states(pass, &states), PHILOX_ERROR_STATE);
	FAILS(philox_pass_rng(pass, 0, 0, &rng), PHILOX_ERROR_STATE);
	cr_assert_null(states);
	cr_assert(rng.state.seed == 5 && rng.state.offset == 5 && !rng.cell);
	if (pass->capture_id)
		FAILS_EITHER(philox_pass_on(pass, f->side, &view),
			     PHILOX_ERROR_STATE, PHILOX_ERROR_MISMATCH);
	SAME(read_numbers(f, f->scratch), before, "something was drawn");
}

/* --- cells of eager passes ------------------------------------------------ */

PROMISE(lifetimes, a_view_ends_with_the_cells_of_its_pass)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass, copy, view, next;
	struct philox_ticket ticket;

	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_ON_DEVICE,
				&pass));
	OK(philox_pass_on(&pass, f->side, &view));
	copy = pass;
	OK(philox_stream_synchronize(f->device,
				     f->stream)); /* cells are full */
	draw(&view, f->scratch);
	SAME(read_numbers(f, f->scratch), predict(0, "layer", 0), "the view");
	OK(philox_pass_commit(&pass, 0, &ticket));
	draws_nothing(f, &view);
	draws_nothing(f, &copy);
	OK(philox_device_synchronize(f->device)); /* cells are free */
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_ON_DEVICE,
				&next));
	cr_assert_eq(next.states, copy.states, "the cells are its own now");
	draws_nothing(f, &view);
	draws_nothing(f, &copy);
	draw(&next, f->scratch);
	OK(philox_pass_commit(&next, 0, &ticket));
	SAME(read_numbers(f, f->scratch), predict(0, "layer", 4), "the next");
	draws_nothing(f, &view);
}

PROMISE(lifetimes, a_view_ends_with_an_aborted_pass)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass pass, view;

	OK(philox_backward_begin(region, f->stream, made.ticket,
				 PHILOX_PASS_ON_DEVICE, &pass));
	OK(philox_pass_on(&pass, f->side, &view));
	OK(philox_pass_abort(&pass));
	draws_nothing(f, &view);
	backward(f, &made, 0);
}

static unsigned lost;

static void count_lost(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	if (strcmp(entry->event, "cells lost") != 0)
		return;
	cr_assert_eq(entry->level, PHILOX_LOG_WARNING);
	cr_assert_str_eq(entry->region, "layer");
	lost++;
}

static void still_captures(struct fixture *f)
{
	enum philox_capture_status status;

	OK(philox_stream_capture_info(f->device, f->stream, &status, NULL));
	cr_assert_eq(status, PHILOX_CAPTURE_ACTIVE);
}

/* Recording there that its cells are no longer in use would do harm. */
GRAPH_PROMISE(lifetimes, an_eager_pass_that_ends_in_a_capture_does_it_no_harm)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass, copy, other;
	struct philox_ticket ticket, unused;
	struct philox_graph *graph;
	uint32_t *array = make_array(f);

	lost = 0;
	OK(philox_context_set_log(f->context, count_lost, NULL));
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_ON_DEVICE,
				&pass));
	draw(&pass, array);
	copy = pass;
	record_begin(f);
	OK(philox_pass_commit(&pass, 0, &ticket));
	cr_assert_eq(lost, 1);
	OK(philox_forward_begin(region, f->side, PHILOX_PASS_ON_DEVICE,
				&other));
	cr_assert_neq(other.states, copy.states, "cells still in use");
	still_captures(f);
	draw(&other, f->scratch);
	OK(philox_pass_commit(&other, 0, &unused));
	captured_forward(f, region, PHILOX_PASS_INFERENCE, array);
	graph = record_end(f);
	SAME(read_numbers(f, f->scratch), predict(0, "layer", 4), "beside");
	draws_nothing(f, &copy);
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 8), "the graph");
	SAME(backward_numbers(f, region, ticket, PHILOX_PASS_ON_DEVICE),
	     predict(0, "layer", 0), "its backward");
	cr_assert_eq(lost, 1);
	OK(philox_context_set_log(f->context, NULL, NULL));
}

/* --- streams that begin or end a capture ---------------------------------- */

/* Numbers by value in a graph would be the same in every replay. */
static void fills_of_an_eager_pass(struct fixture *f, unsigned flags)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f), *seen = make_array(f);
	struct philox_pass pass, view, late;
	struct philox_graph *graph;
	struct forward made = {.region = region};

	memset(seen, 0x5a, sizeof(struct numbers));
	OK(philox_forward_begin(region, f->stream, flags, &pass));
	OK(philox_pass_on(&pass, f->stream, &view));
	record_begin(f);
	FAILS(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32, four, seen),
	      PHILOX_ERROR_MISMATCH);
	NAMES("layer");
	FAILS(philox_pass_bits(&view, 0, PHILOX_DTYPE_U32, four, seen),
	      PHILOX_ERROR_MISMATCH);
	FAILS(philox_pass_on(&pass, f->stream, &late), PHILOX_ERROR_MISMATCH);
	captured_forward(f, region, 0, array);
	graph = record_end(f);
	draw(&pass, f->scratch);
	OK(philox_pass_commit(&pass, 0, &made.ticket));
	made.saw = read_numbers(f, f->scratch);
	SAME(made.saw, predict(0, "layer", 0), "once it is over");
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 4), "the graph");
	cr_assert_eq(seen[0], 0x5a5a5a5a, "something was drawn");
	backward(f, &made, 0);
}

GRAPH_PROMISE(lifetimes, no_number_by_value_gets_into_a_capture)
{
	fills_of_an_eager_pass(f, 0);
}

GRAPH_PROMISE(lifetimes, no_cell_of_an_eager_pass_gets_into_a_capture)
{
	fills_of_an_eager_pass(f, PHILOX_PASS_ON_DEVICE);
}

PROMISE(lifetimes, a_captured_pass_draws_in_its_own_capture_only)
{
	struct philox_region *region = make_region(f, "layer");
	struct ledger_view before = look(f, region);
	struct philox_pass pass;
	philox_native_graph graphs[2];

	for (unsigned i = 0; i < 2; i++) {
		OK(philox_stream_begin_capture(f->device, f->stream,
					       PHILOX_CAPTURE_THREAD_LOCAL));
		if (i == 0)
			OK(philox_forward_begin(region, f->stream, 0, &pass));
		else
			FAILS(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32, four,
					       f->scratch),
			      PHILOX_ERROR_MISMATCH);
		OK(philox_stream_end_capture(f->device, f->stream, &graphs[i]));
		FAILS(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32, four,
				       f->scratch),
		      PHILOX_ERROR_MISMATCH);
		NAMES("layer");
	}
	OK(philox_pass_abort(&pass));
	for (unsigned i = 0; i < 2; i++)
		OK(philox_native_graph_destroy(f->device, graphs[i]));
	unchanged(f, region, &before);
}

/* --- captures that are over ----------------------------------------------- */

GRAPH_PROMISE(lifetimes, a_pass_of_a_capture_that_failed_draws_nothing)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph;
	struct philox_pass pass, view;

	record_begin(f);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_on(&pass, f->stream, &view));
	cr_assert_eq(record_end_failing(f), PHILOX_ERROR_STATE);
	draws_nothing(f, &pass);
	graph = record_forward(f, region, 0, array);
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 0),
	     "another graph, of the same cells perhaps");
	draws_nothing(f, &pass);
	draws_nothing(f, &view);
	OK(philox_pass_abort(&pass));
	draws_nothing(f, &view);
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 4), "undisturbed");
	OK(philox_context_check(f->context, NULL));
}

GRAPH_PROMISE(lifetimes, a_view_ends_with_its_captured_pass)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	record_begin(f);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_on(&pass, f->stream, &view));
	draw(&view, array);
	OK(philox_pass_commit(&pass, 0, &ticket));
	FAILS(philox_pass_bits(&view, 0, PHILOX_DTYPE_U32, four, array),
	      PHILOX_ERROR_STATE);
	graph = record_end(f);
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 0), "the graph");
	draws_nothing(f, &view);
	OK(philox_graph_destroy(graph));
	draws_nothing(f, &view);
}
