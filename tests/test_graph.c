/*
 * tests/test_graph.c - captured passes: pairing and freshness of replays
 *
 * The oracle of most tests is an eager run of the same seed: predict(). Each
 * runs with captures of the library and with captures of one's own, which are
 * adopted; launches that fail stand in test_launch.c, captures that fail in
 * test_capture.c.
 */
#include <stdio.h>
#include "support.h"

/* --- pairing ---------------------------------------------------------------- */

GRAPH_PROMISE(graph, replays_draw_what_an_eager_run_would)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);

	PENDING(region, 0);
	for (unsigned i = 0; i < 10; i++) {
		struct forward made = launch_forward(f, graph, region, array);

		SAME(made.saw, predict(0, "layer", 4 * i), "replay %u", i);
		cr_assert_eq(made.ticket.region_key, fnv1a("layer"));
		cr_assert_eq(made.ticket.serial, i + 1);
		PENDING(region, i + 1);
	}
}

GRAPH_PROMISE(graph, a_capture_draws_nothing_and_makes_no_ticket)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward kept = forward(f, region);
	struct ledger_view before = look(f, region);
	uint32_t *array = make_array(f);

	memset(array, 0x11, sizeof(struct numbers));
	record_pair(f, region, array, f->scratch);
	cr_assert_eq(read_numbers(f, array).word[0], 0x11111111);
	unchanged(f, region, &before);
	backward(f, &kept, 0);
}

GRAPH_PROMISE(graph, four_captured_backwards_pair_in_all_orders)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *forth = record_forward(f, region, 0, array);
	struct philox_graph *back = record_backward(f, region, array);

	for (unsigned k = 0; k < factorial(4); k++) {
		struct forward made[4];
		unsigned order[4];

		permutation(k, 4, order);
		for (unsigned i = 0; i < 4; i++)
			made[i] = launch_forward(f, forth, region, array);
		for (unsigned i = 0; i < 4; i++)
			launch_backward(f, back, &made[order[i]], 0, array);
		PENDING(region, 0);
	}
}

/* Forward i is captured if bit i of `forths` is set, its backward of `backs`. */
static void mixed_round(struct fixture *f, struct philox_region *region,
			struct philox_graph *forth, struct philox_graph *back,
			uint32_t *array, unsigned forths, unsigned backs,
			const unsigned order[3])
{
	struct forward made[3];

	for (unsigned i = 0; i < 3; i++)
		made[i] = forths >> i & 1
				  ? launch_forward(f, forth, region, array)
				  : forward(f, region);
	for (unsigned i = 0; i < 3; i++) {
		if (backs >> order[i] & 1)
			launch_backward(f, back, &made[order[i]], 0, array);
		else
			backward(f, &made[order[i]], 0);
	}
	PENDING(region, 0);
}

GRAPH_PROMISE(graph, eager_and_captured_mix_on_every_call_in_all_orders)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *forth = record_forward(f, region, 0, array);
	struct philox_graph *back = record_backward(f, region, array);
	unsigned order[3];

	for (unsigned k = 0; k < factorial(3); k++) {
		permutation(k, 3, order);
		for (unsigned forths = 0; forths < 8; forths++) {
			for (unsigned backs = 0; backs < 8; backs++)
				mixed_round(f, region, forth, back, array,
					    forths, backs, order);
		}
	}
}

GRAPH_PROMISE(graph, forward_and_backward_of_one_capture_pair_by_themselves)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *y = make_array(f), *dx = make_array(f);
	struct philox_graph *step = record_pair(f, region, y, dx);

	for (unsigned i = 0; i < 6; i++) {
		struct philox_use uses[2] = {{{1, 2}, 0, 0}, {{3, 4}, 0, 0}};

		OK(philox_graph_launch(step, f->stream, uses, 2));
		SAME(read_numbers(f, y), predict(0, "layer", 4 * i), "%u", i);
		SAME(read_numbers(f, dx), predict(0, "layer", 4 * i), "%u", i);
		cr_assert(uses[0].ticket.region_key == 0 &&
			  uses[0].ticket.serial == 0);
		PENDING(region, 0);
	}
}

GRAPH_PROMISE(graph, a_retaining_backward_of_the_same_capture_leaves_a_ticket)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *y = make_array(f), *dx = make_array(f);
	struct philox_graph *step, *back = record_backward(f, region, dx);
	struct forward made[3];
	struct philox_ticket ticket;

	record_begin(f);
	ticket = captured_forward(f, region, 0, y);
	captured_backward(f, region, ticket, PHILOX_RETAIN, dx);
	step = record_end(f);
	for (unsigned i = 0; i < 3; i++) {
		struct philox_use uses[2] = {0};

		OK(philox_graph_launch(step, f->stream, uses, 2));
		made[i] = (struct forward){region, uses[0].ticket,
					   read_numbers(f, y)};
		SAME(read_numbers(f, dx), made[i].saw, "inside");
		PENDING(region, i + 1);
	}
	backward(f, &made[1], PHILOX_RETAIN);
	launch_backward(f, back, &made[2], 0, dx);
	launch_backward(f, back, &made[1], 0, dx);
	backward(f, &made[0], 0);
	PENDING(region, 0);
}

GRAPH_PROMISE(graph, recompute_and_backward_lie_in_the_forwards_capture)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *y = make_array(f), *again = make_array(f);
	uint32_t *dx = make_array(f);
	struct philox_ticket ticket;
	struct philox_graph *step;
	struct philox_pass pass;

	record_begin(f);
	ticket = captured_forward(f, region, 0, y);
	OK(philox_recompute_begin(region, ticket, f->stream, 0, &pass));
	draw(&pass, again);
	OK(philox_backward_commit(&pass, 0));
	captured_backward(f, region, ticket, 0, dx);
	step = record_end(f);
	for (unsigned i = 0; i < 3; i++) {
		struct philox_use uses[3] = {0};

		OK(philox_graph_launch(step, f->stream, uses, 3));
		SAME(read_numbers(f, y), predict(0, "layer", 4 * i), "%u", i);
		SAME(read_numbers(f, again), read_numbers(f, y), "recompute");
		SAME(read_numbers(f, dx), read_numbers(f, y), "backward");
		PENDING(region, 0);
	}
}

GRAPH_PROMISE(graph, recompute_and_backward_of_one_ticket_lie_in_one_graph)
{
	const struct philox_ticket named_at_launch = {0, 0};
	struct philox_region *region = make_region(f, "layer");
	uint32_t *again = make_array(f), *dx = make_array(f);
	struct forward made[2];
	struct philox_graph *back;
	struct philox_pass pass;

	record_begin(f);
	OK(philox_recompute_begin(region, named_at_launch, f->stream, 0,
				  &pass));
	draw(&pass, again);
	OK(philox_backward_commit(&pass, 0));
	captured_backward(f, region, named_at_launch, 0, dx);
	back = record_end(f);
	made[0] = forward(f, region);
	made[1] = forward(f, region);
	for (unsigned i = 2; i-- > 0;) {
		struct philox_use uses[2] = {{made[i].ticket, 0, 0},
					     {made[i].ticket, 0, 0}};

		OK(philox_graph_launch(back, f->stream, uses, 2));
		SAME(read_numbers(f, again), made[i].saw, "recompute");
		SAME(read_numbers(f, dx), made[i].saw, "backward");
		PENDING(region, i);
	}
}

/* A stage is recomputed with, inside, a recompute and a backward of a layer. */
GRAPH_PROMISE(graph, captured_recomputes_nest_in_other_regions_passes)
{
	struct philox_region *outer = make_region(f, "stage");
	struct philox_region *inner = make_region(f, "layer");
	uint32_t *stage = make_array(f), *layer = make_array(f);
	uint32_t *seen[4];
	struct philox_ticket of_stage, of_layer;
	struct philox_pass a, b;
	struct philox_use uses[6] = {0};
	struct philox_graph *step;

	for (unsigned i = 0; i < 4; i++)
		seen[i] = make_array(f);
	record_begin(f);
	of_stage = captured_forward(f, outer, 0, stage);
	of_layer = captured_forward(f, inner, 0, layer);
	OK(philox_recompute_begin(outer, of_stage, f->stream, 0, &a));
	OK(philox_recompute_begin(inner, of_layer, f->stream, 0, &b));
	draw(&a, seen[0]);
	draw(&b, seen[1]);
	OK(philox_backward_commit(&b, 0));
	captured_backward(f, inner, of_layer, 0, seen[2]);
	OK(philox_backward_commit(&a, 0));
	captured_backward(f, outer, of_stage, 0, seen[3]);
	step = record_end(f);
	for (unsigned i = 0; i < 3; i++) {
		OK(philox_graph_launch(step, f->stream, uses, 6));
		SAME(read_numbers(f, stage), predict(0, "stage", 4 * i), "%u",
		     i);
		SAME(read_numbers(f, layer), predict(0, "layer", 4 * i), "%u",
		     i);
		SAME(read_numbers(f, seen[0]), read_numbers(f, stage), "0");
		SAME(read_numbers(f, seen[1]), read_numbers(f, layer), "1");
		SAME(read_numbers(f, seen[2]), read_numbers(f, layer), "2");
		SAME(read_numbers(f, seen[3]), read_numbers(f, stage), "3");
		PENDING(outer, 0);
		PENDING(inner, 0);
	}
}

GRAPH_PROMISE(graph, several_passes_of_one_region_lie_in_one_graph)
{
	enum { N = 4 };
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket[N];
	uint32_t *y[N], *dx[N];
	struct philox_graph *step;

	for (unsigned i = 0; i < N; i++) {
		y[i] = make_array(f);
		dx[i] = make_array(f);
	}
	record_begin(f);
	for (unsigned i = 0; i < N; i++)
		ticket[i] = captured_forward(f, region, 0, y[i]);
	for (unsigned i = N; i-- > 0;)
		captured_backward(f, region, ticket[i], 0, dx[i]);
	step = record_end(f);
	for (unsigned k = 0; k < 5; k++) {
		struct philox_use uses[2 * N] = {0};

		OK(philox_graph_launch(step, f->stream, uses, 2 * N));
		for (unsigned i = 0; i < N; i++) {
			SAME(read_numbers(f, y[i]),
			     predict(0, "layer", 4 * (k * N + i)),
			     "launch %u, forward %u", k, i);
			SAME(read_numbers(f, dx[i]), read_numbers(f, y[i]),
			     "launch %u, backward %u", k, i);
		}
		PENDING(region, 0);
	}
}

GRAPH_PROMISE(graph, many_regions_lie_in_one_graph)
{
	enum { N = 5 };
	struct philox_region *region[N];
	struct philox_use uses[N] = {0};
	struct philox_graph *forth, *back;
	uint32_t *array[N];
	char name[16];

	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "layer %u", i);
		region[i] = make_region(f, name);
		array[i] = make_array(f);
	}
	record_begin(f);
	for (unsigned i = 0; i < N; i++)
		captured_forward(f, region[i], 0, array[i]);
	forth = record_end(f);
	record_begin(f);
	for (unsigned i = N; i-- > 0;)
		captured_backward(f, region[i], (struct philox_ticket){0, 0}, 0,
				  array[i]);
	back = record_end(f);
	for (unsigned k = 0; k < 4; k++) {
		struct philox_use backs[N] = {0};

		OK(philox_graph_launch(forth, f->stream, uses, N));
		for (unsigned i = 0; i < N; i++) {
			snprintf(name, sizeof(name), "layer %u", i);
			SAME(read_numbers(f, array[i]), predict(0, name, 4 * k),
			     "%s", name);
			memset(array[i], 0, sizeof(struct numbers));
			backs[N - 1 - i].ticket = uses[i].ticket;
		}
		OK(philox_graph_launch(back, f->stream, backs, N));
		for (unsigned i = 0; i < N; i++) {
			snprintf(name, sizeof(name), "layer %u", i);
			SAME(read_numbers(f, array[i]), predict(0, name, 4 * k),
			     "%s back", name);
			PENDING(region[i], 0);
		}
	}
}

/* Steady state of a pipeline: one graph does a backward, then a forward. */
GRAPH_PROMISE(graph, a_backward_of_an_old_forward_lies_beside_a_new_one)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *y = make_array(f), *dx = make_array(f);
	struct philox_graph *step;
	struct forward old[3];

	record_begin(f);
	captured_backward(f, region, (struct philox_ticket){0, 0}, 0, dx);
	captured_forward(f, region, 0, y);
	step = record_end(f);
	for (unsigned i = 0; i < 3; i++)
		old[i] = forward(f, region);
	for (unsigned i = 0; i < 12; i++) {
		struct philox_use uses[2] = {{old[i % 3].ticket, 0, 0},
					     {{0, 0}, 0, 0}};

		OK(philox_graph_launch(step, f->stream, uses, 2));
		SAME(read_numbers(f, dx), old[i % 3].saw, "backward %u", i);
		old[i % 3].ticket = uses[1].ticket;
		old[i % 3].saw = read_numbers(f, y);
		SAME(old[i % 3].saw, predict(0, "layer", 4 * (3 + i)), "%u", i);
		PENDING(region, 3);
	}
}

/* --- retain, inference, warm-up -------------------------------------------------- */

GRAPH_PROMISE(graph, the_launch_decides_whether_a_ticket_stays)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *forth = record_forward(f, region, 0, array);
	struct philox_graph *back = record_backward(f, region, array);
	struct forward one = launch_forward(f, forth, region, array);
	struct forward two = launch_forward(f, forth, region, array);
	struct philox_use use = {one.ticket, 0, 0};

	for (unsigned i = 0; i < 4; i++) {
		launch_backward(f, back, &one, PHILOX_RETAIN, array);
		launch_backward(f, back, &two, PHILOX_RETAIN, array);
		PENDING(region, 2);
	}
	launch_backward(f, back, &one, 0, array);
	FAILS(philox_graph_launch(back, f->stream, &use, 1),
	      PHILOX_ERROR_RELEASED);
	backward(f, &two, 0);
	PENDING(region, 0);
}

GRAPH_PROMISE(graph, captured_inference_is_fresh_and_owes_nothing)
{
	struct philox_region *region = make_region(f, "sampler");
	uint32_t *array = make_array(f);
	struct philox_graph *graph =
		record_forward(f, region, PHILOX_INFERENCE, array);

	for (unsigned i = 0; i < 200; i++) {
		struct forward made = launch_forward(f, graph, region, array);

		SAME(made.saw, predict(0, "sampler", 4 * i), "replay %u", i);
		cr_assert_eq(made.ticket.serial, 0);
		cr_assert_eq(made.ticket.region_key, 0);
		PENDING(region, 0);
	}
}

GRAPH_PROMISE(graph, a_captured_warm_up_draws_what_the_next_forward_draws)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *warm =
		record_forward(f, region, PHILOX_WARMUP, array);

	for (unsigned i = 0; i < 3; i++) {
		struct forward first = launch_forward(f, warm, region, array);
		struct forward again = launch_forward(f, warm, region, array);

		cr_assert_eq(first.ticket.serial, 0);
		SAME(first.saw, again.saw, "reserves nothing");
		PENDING(region, i);
		SAME(forward(f, region).saw, first.saw, "the forward after it");
	}
}

/* --- seeds ------------------------------------------------------------------------ */

GRAPH_PROMISE(graph, a_new_seed_reaches_the_next_launch)
{
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *forth = record_forward(f, region, 0, array);
	struct philox_graph *back = record_backward(f, region, array);
	struct forward old[4];

	for (unsigned i = 0; i < 4; i++) {
		OK(philox_generator_seed(root, 40 + i % 3));
		launch_forward(f, forth, region, array);
		old[i] = launch_forward(f, forth, region, array);
		SAME(old[i].saw, predict(40 + i % 3, "layer", 4), "%u", i);
	}
	for (unsigned i = 0; i < 4; i++)
		launch_backward(f, back, &old[i ^ 1], 0, array);
	PENDING(region, 4);
}

GRAPH_PROMISE(graph, eager_and_captured_forwards_share_one_sequence)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *forth = record_forward(f, region, 0, array);

	for (unsigned i = 0; i < 20; i++) {
		struct forward made =
			i % 3 ? forward(f, region)
			      : launch_forward(f, forth, region, array);

		SAME(made.saw, predict(0, "layer", 4 * i), "forward %u", i);
	}
}

/* --- streams ------------------------------------------------------------------------ */

/* Work of `to` comes after what is on `from` now. */
static void order(struct fixture *f, philox_stream from, philox_stream to)
{
	philox_event event;

	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, event, from));
	OK(philox_event_wait(f->device, to, event));
	OK(philox_event_destroy(f->device, event));
}

GRAPH_PROMISE(graph, a_fork_draws_the_numbers_of_its_pass)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *here = make_array(f), *there = make_array(f);
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	record_begin(f);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	order(f, f->stream, f->side);
	OK(philox_pass_on(&pass, f->side, &view));
	draw(&view, there);
	draw(&pass, here);
	FAILS(philox_forward_commit(&view, &ticket), PHILOX_ERROR_STATE);
	OK(philox_forward_commit(&pass, &ticket));
	order(f, f->side, f->stream);
	graph = record_end(f);
	for (unsigned i = 0; i < 40; i++) {
		struct forward made = launch_forward(f, graph, region, here);

		SAME(made.saw, predict(0, "layer", 4 * i), "main %u", i);
		SAME(read_numbers(f, there), made.saw, "fork %u", i);
	}
}

/*
 * The side stream joins the capture before the head exists, so that nothing
 * but the library can make its draws wait for the head.
 */
GRAPH_PROMISE(graph, a_fork_older_than_the_first_pass_waits_for_the_head_too)
{
	struct philox_region *one = make_region(f, "one");
	struct philox_region *two = make_region(f, "two");
	uint32_t *seen_one = make_array(f), *seen_view = make_array(f);
	uint32_t *seen_two = make_array(f);
	struct philox_pass pass, view, other;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	record_begin(f);
	order(f, f->stream, f->side);
	OK(philox_forward_begin(one, f->stream, 0, &pass));
	OK(philox_pass_on(&pass, f->side, &view));
	draw(&view, seen_view);
	draw(&pass, seen_one);
	OK(philox_forward_begin(two, f->side, 0, &other));
	draw(&other, seen_two);
	OK(philox_forward_commit(&other, &ticket));
	OK(philox_forward_commit(&pass, &ticket));
	order(f, f->side, f->stream);
	graph = record_end(f);
	for (unsigned i = 0; i < 40; i++) {
		struct philox_use uses[2] = {0};

		OK(philox_graph_launch(graph, f->stream, uses, 2));
		SAME(read_numbers(f, seen_one), predict(0, "one", 4 * i),
		     "pass %u", i);
		SAME(read_numbers(f, seen_view), predict(0, "one", 4 * i),
		     "view %u", i);
		SAME(read_numbers(f, seen_two), predict(0, "two", 4 * i),
		     "pass on the fork %u", i);
	}
}

GRAPH_PROMISE(graph, a_pass_ends_on_the_fork_and_its_backward_begins_there)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *y = make_array(f), *dx = make_array(f);
	struct philox_pass pass;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	record_begin(f);
	ticket = captured_forward(f, region, 0, y);
	order(f, f->stream, f->side);
	OK(philox_backward_begin(region, ticket, f->side, 0, &pass));
	draw(&pass, dx);
	OK(philox_backward_commit(&pass, 0));
	order(f, f->side, f->stream);
	graph = record_end(f);
	for (unsigned i = 0; i < 40; i++) {
		struct philox_use uses[2] = {0};

		OK(philox_graph_launch(graph, f->stream, uses, 2));
		SAME(read_numbers(f, y), predict(0, "layer", 4 * i), "%u", i);
		SAME(read_numbers(f, dx), predict(0, "layer", 4 * i), "%u", i);
	}
}

GRAPH_PROMISE(graph, a_view_must_be_in_the_capture_of_its_pass)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass eager, captured, view = {0};
	uint32_t *array = make_array(f);
	struct philox_graph *graph;
	struct philox_ticket ticket;

	OK(philox_recompute_begin(region, made.ticket, f->side, 0, &eager));
	record_begin(f);
	OK(philox_forward_begin(region, f->stream, 0, &captured));
	FAILS(philox_pass_on(&captured, f->side, &view), PHILOX_ERROR_MISMATCH);
	FAILS(philox_pass_on(&eager, f->stream, &view), PHILOX_ERROR_MISMATCH);
	cr_assert_null(view.region, "outputs are written on success only");
	draw(&captured, array);
	OK(philox_forward_commit(&captured, &ticket));
	graph = record_end(f);
	OK(philox_backward_commit(&eager, 0));
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 4), "undisturbed");
	backward(f, &made, 0);
}

/* Launches follow each other without waiting; each takes its own message. */
GRAPH_PROMISE(graph, launches_queue_up_with_a_message_each)
{
	enum { N = 30 };
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	uint32_t *seen = make_memory(f, 2 * N * sizeof(struct numbers));
	struct philox_graph *forth = record_forward(f, region, 0, array);
	struct philox_graph *back = record_backward(f, region, array);
	struct philox_use use[N] = {0};

	for (unsigned i = 0; i < 2 * N; i++) {
		struct philox_graph *graph = i < N ? forth : back;

		OK(philox_graph_launch(graph, f->stream,
				       &use[i < N ? i : 2 * N - 1 - i], 1));
		OK(philox_memory_copy(f->device, seen + i * WORDS, array,
				      sizeof(struct numbers), f->stream));
	}
	for (unsigned i = 0; i < N; i++) {
		struct numbers want = predict(0, "layer", 4 * i);

		SAME(read_numbers(f, seen + i * WORDS), want, "forward %u", i);
		SAME(read_numbers(f, seen + (2 * N - 1 - i) * WORDS), want,
		     "backward %u", i);
	}
}

GRAPH_PROMISE(graph, two_graphs_of_one_region_run_side_by_side)
{
	enum { N = 20 };
	struct philox_region *region = make_region(f, "layer");
	uint32_t *one = make_array(f), *two = make_array(f);
	uint32_t *seen = make_memory(f, 2 * N * sizeof(struct numbers));
	struct philox_graph *first = record_forward(f, region, 0, one);
	struct philox_graph *second = record_forward(f, region, 0, two);
	struct philox_use use = {0};

	for (unsigned i = 0; i < N; i++) {
		OK(philox_graph_launch(first, f->stream, &use, 1));
		OK(philox_memory_copy(f->device, seen + 2 * i * WORDS, one,
				      sizeof(struct numbers), f->stream));
		OK(philox_graph_launch(second, f->side, &use, 1));
		OK(philox_memory_copy(f->device, seen + (2 * i + 1) * WORDS,
				      two, sizeof(struct numbers), f->side));
	}
	for (unsigned i = 0; i < 2 * N; i++)
		SAME(read_numbers(f, seen + i * WORDS),
		     predict(0, "layer", 4 * i), "launch %u", i);
}

PROMISE(graph, captures_overlap)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *one = make_array(f), *two = make_array(f);
	struct philox_graph *first, *second;
	struct philox_pass pass, other, eager;
	struct philox_ticket ticket, strange;
	philox_stream third;
	struct numbers saw;

	OK(philox_stream_create(f->device, 0, &third));
	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_capture_begin(f->context, f->side));
	OK(philox_forward_begin(region, f->side, 0, &other));
	OK(philox_forward_begin(region, third, PHILOX_INFERENCE, &eager));
	draw(&eager, f->scratch);
	OK(philox_forward_commit(&eager, NULL));
	draw(&pass, one);
	draw(&other, two);
	OK(philox_forward_commit(&pass, &ticket));
	FAILS(philox_backward_begin(region, ticket, f->side, 0, &eager),
	      PHILOX_ERROR_MISMATCH);
	OK(philox_forward_commit(&other, &strange));
	FAILS(philox_backward_begin(region, strange, f->stream, 0, &eager),
	      PHILOX_ERROR_MISMATCH);
	OK(philox_capture_end(f->context, f->stream, &first));
	OK(philox_capture_end(f->context, f->side, &second));
	saw = read_numbers(f, f->scratch);
	SAME(saw, predict(0, "layer", 0), "eager beside captures");
	SAME(launch_forward(f, second, region, two).saw, predict(0, "layer", 4),
	     "second");
	SAME(launch_forward(f, first, region, one).saw, predict(0, "layer", 8),
	     "first");
	OK(philox_stream_destroy(f->device, third));
}

/* --- kernels of one's own -------------------------------------------------------------- */

struct copy_cells {
	const struct philox_state *from;
	struct philox_state *to;
};

static void copy_cells(const void *args)
{
	const struct copy_cells *copy = args;

	memcpy(copy->to, copy->from, SITES * sizeof(*copy->to));
}

static void capture_cells(struct fixture *f, const struct philox_pass *pass,
			  struct philox_state *to)
{
	struct copy_cells copy = {NULL, to};
	struct philox_rng rng;

	OK(philox_pass_states(pass, &copy.from));
	OK(philox_pass_rng(pass, 1, 1, &rng));
	cr_assert_eq(rng.cell, copy.from + 2);
	OK(philox_launch_host(f->device, f->stream, copy_cells, &copy,
			      sizeof(copy)));
}

GRAPH_PROMISE(graph, kernels_of_ones_own_find_the_states_in_cells)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_state *forth = make_memory(f, 2 * SITES * sizeof(*forth));
	struct philox_state *back = forth + SITES;
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct philox_graph *step;

	record_begin(f);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	capture_cells(f, &pass, forth);
	OK(philox_forward_commit(&pass, &ticket));
	OK(philox_backward_begin(region, ticket, f->stream, 0, &pass));
	capture_cells(f, &pass, back);
	OK(philox_backward_commit(&pass, 0));
	step = record_end(f);
	for (unsigned i = 0; i < 4; i++) {
		struct philox_state want =
			predict_cell(0, "layer", 2, 0, 4 * i);
		struct philox_use uses[2] = {0};

		OK(philox_graph_launch(step, f->stream, uses, 2));
		OK(philox_device_synchronize(f->device));
		cr_assert_eq(memcmp(&forth[3], &want, sizeof(want)), 0);
		cr_assert_eq(memcmp(forth, back, SITES * sizeof(*forth)), 0);
	}
}

/* --- saved contexts --------------------------------------------------------------------- */

static unsigned released;

static void count_release(void *saved, philox_stream stream)
{
	*(philox_stream *)saved = stream;
	released++;
}

GRAPH_PROMISE(graph, a_consuming_launch_releases_the_saved_context_once)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *forth = record_forward(f, region, 0, array);
	struct philox_graph *back = record_backward(f, region, array);
	struct forward made = launch_forward(f, forth, region, array);
	struct philox_use use = {made.ticket, 0, 0};
	philox_stream stream = NULL;

	released = 0;
	OK(philox_ticket_attach(region, made.ticket, &stream, count_release));
	launch_backward(f, back, &made, PHILOX_RETAIN, array);
	cr_assert_eq(released, 0);
	OK(philox_graph_launch(back, f->side, &use, 1));
	cr_assert_eq(released, 1);
	cr_assert_eq(stream, f->side);
}

/* --- looking ------------------------------------------------------------------------------ */

GRAPH_PROMISE(graph, uses_are_described)
{
	struct philox_region *one = make_region(f, "one");
	struct philox_region *two = make_region(f, "two");
	struct philox_use_info info = {0};
	struct philox_ticket ticket;
	struct philox_graph *graph;

	record_begin(f);
	captured_forward(f, two, PHILOX_INFERENCE, f->scratch);
	ticket = captured_forward(f, one, 0, f->scratch);
	captured_backward(f, two, (struct philox_ticket){0, 0}, 0, f->scratch);
	captured_backward(f, one, ticket, PHILOX_RETAIN, f->scratch);
	graph = record_end(f);
	cr_assert_eq(philox_graph_uses(graph), 4);
	OK(philox_graph_use_info(graph, 0, &info));
	cr_assert_str_eq(info.region, "two");
	cr_assert(!info.backward && info.flags & PHILOX_INFERENCE);
	OK(philox_graph_use_info(graph, 1, &info));
	cr_assert_str_eq(info.region, "one");
	cr_assert(!info.backward && !info.named && info.flags == 0);
	OK(philox_graph_use_info(graph, 2, &info));
	cr_assert_str_eq(info.region, "two");
	cr_assert(info.backward && info.named);
	OK(philox_graph_use_info(graph, 3, &info));
	cr_assert(info.backward && !info.named && info.forward == 1);
	cr_assert(info.flags & PHILOX_RETAIN);
	FAILS(philox_graph_use_info(graph, 4, &info), PHILOX_ERROR_INVALID);
	FAILS(philox_graph_use_info(graph, SIZE_MAX, &info),
	      PHILOX_ERROR_INVALID);
	cr_assert_eq(info.forward, 1, "outputs are written on success only");
}

GRAPH_PROMISE(graph, graphs_have_names)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *first = record_forward(f, region, 0, f->scratch);
	struct philox_graph *second = record_backward(f, region, f->scratch);
	char longer[100];

	memset(longer, 'x', sizeof(longer));
	longer[99] = '\0';
	cr_assert_str_eq(philox_graph_name(first), "graph 1");
	cr_assert_str_eq(philox_graph_name(second), "graph 2");
	OK(philox_graph_set_name(first, "step"));
	cr_assert_str_eq(philox_graph_name(first), "step");
	OK(philox_graph_set_name(second, longer));
	cr_assert_eq(strlen(philox_graph_name(second)), 63);
}

GRAPH_PROMISE(graph, native_handles_can_be_had)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graph = record_forward(f, region, 0, f->scratch);
	philox_native_graph native = NULL;
	philox_native_exec exec = NULL;
	size_t nodes = 0;

	OK(philox_graph_native(graph, &native, NULL));
	OK(philox_graph_native(graph, NULL, &exec));
	cr_assert(native && exec);
	if (f->own)
		cr_assert(native == f->natives[0] && exec == f->execs[0]);
	OK(philox_native_graph_nodes(f->device, native, &nodes));
	cr_assert_eq(nodes, 1 + SITES);
}

PROMISE(graph, a_capture_without_a_pass_gives_a_graph_without_uses)
{
	struct philox_graph *graph;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_memory_set(f->device, f->scratch, 7, 16, f->stream));
	OK(philox_capture_end(f->context, f->stream, &graph));
	cr_assert_eq(philox_graph_uses(graph), 0);
	memset(f->scratch, 0, 16);
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_device_synchronize(f->device));
	cr_assert_eq(f->scratch[0], 0x07070707);
	OK(philox_check(f->context, NULL));
	OK(philox_graph_destroy(graph));
}

/* --- lives --------------------------------------------------------------------------------- */

GRAPH_PROMISE(graph, graphs_come_and_go)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);

	for (unsigned i = 0; i < 20; i++) {
		struct philox_graph *forth =
			record_forward(f, region, 0, array);
		struct philox_graph *back = record_backward(f, region, array);
		struct forward made = launch_forward(f, forth, region, array);

		SAME(made.saw, predict(0, "layer", 4 * i), "graph %u", i);
		OK(philox_graph_destroy(forth));
		launch_backward(f, back, &made, 0, array);
		OK(philox_graph_destroy(back));
	}
	OK(philox_graph_destroy(NULL));
	PENDING(region, 0);
}

GRAPH_PROMISE(graph, tickets_outlive_the_graph_that_made_them)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *forth = record_forward(f, region, 0, array);
	struct forward one = launch_forward(f, forth, region, array);
	struct forward two = launch_forward(f, forth, region, array);

	OK(philox_graph_destroy(forth));
	PENDING(region, 2);
	backward(f, &one, 0);
	launch_backward(f, record_backward(f, region, array), &two, 0, array);
}

/* Nodes, cells and reports of a graph live until graph and context are gone. */
PROMISE(graph, a_context_may_go_before_its_graphs)
{
	struct philox_context *other;
	struct philox_region *region;
	struct philox_graph *ours, *adopted;
	struct philox_pass pass;
	struct philox_ticket ticket;
	struct philox_use use = {0};
	philox_native_graph native;
	philox_native_exec exec;
	uint64_t id;

	OK(philox_context_create(f->device, &other));
	region = make_region_of(other, "layer", 0, NULL);
	OK(philox_capture_begin(other, f->stream));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_forward_commit(&pass, &ticket));
	OK(philox_capture_end(other, f->stream, &ours));
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_RELAXED));
	OK(philox_stream_capture_info(f->device, f->stream, NULL, &id));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	draw(&pass, f->scratch);
	OK(philox_forward_commit(&pass, &ticket));
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_instantiate(f->device, native, &exec));
	OK(philox_graph_adopt(other, id, native, exec, &adopted));
	OK(philox_graph_launch(adopted, f->stream, &use, 1));
	OK(philox_graph_launch(ours, f->stream, &use, 1));
	OK(philox_device_synchronize(f->device));
	philox_context_destroy(other);
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, native));
	forward(f, make_region(f, "layer"));
}
