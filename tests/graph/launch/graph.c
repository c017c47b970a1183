/*
 * tests/graph/launch/graph.c - captured passes: pairing and freshness of
 * replays
 *
 * The oracle of most tests is an eager run of the same seed: predict(). Each
 * runs with captures of the library and with the test's own captures, which are
 * adopted; launches that fail are in launch.c, captures that fail in capture.c.
 */
#include <stdio.h>
#include "tests/support/support.h"

/* --- pairing -------------------------------------------------------------- */

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

/*
 * Forward i is captured if bit i of `forths` is set, its backward if of
 * `backs`.
 */
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
		struct philox_launch_pass uses[2] = {{{1, 2}, 0, 0},
						     {{3, 4}, 0, 0}};

		OK(philox_graph_launch(step, f->stream, uses, 2));
		SAME(read_numbers(f, y), predict(0, "layer", 4 * i), "%u", i);
		SAME(read_numbers(f, dx), predict(0, "layer", 4 * i), "%u", i);
		cr_assert(uses[0].ticket.region_key == 0 &&
			  uses[0].ticket.serial == 0);
		cr_assert(uses[1].ticket.region_key == 3 &&
				  uses[1].ticket.serial == 4,
			  "a paired backward's entry is ignored");
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
	captured_backward(f, region, ticket, PHILOX_PASS_RETAIN, dx);
	step = record_end(f);
	for (unsigned i = 0; i < 3; i++) {
		struct philox_launch_pass uses[2] = {0};

		OK(philox_graph_launch(step, f->stream, uses, 2));
		made[i] = (struct forward){region, uses[0].ticket,
					   read_numbers(f, y)};
		SAME(read_numbers(f, dx), made[i].saw, "inside");
		PENDING(region, i + 1);
	}
	backward(f, &made[1], PHILOX_PASS_RETAIN);
	launch_backward(f, back, &made[2], 0, dx);
	launch_backward(f, back, &made[1], 0, dx);
	backward(f, &made[0], 0);
	PENDING(region, 0);
}

GRAPH_PROMISE(graph, recompute_and_backward_are_in_the_forwards_capture)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *y = make_array(f), *again = make_array(f);
	uint32_t *dx = make_array(f);
	struct philox_ticket ticket;
	struct philox_graph *step;
	struct philox_pass pass;

	record_begin(f);
	ticket = captured_forward(f, region, 0, y);
	OK(philox_backward_begin(region, f->stream, ticket, PHILOX_PASS_RETAIN,
				 &pass));
	draw(&pass, again);
	OK(philox_pass_commit(&pass, 0, NULL));
	captured_backward(f, region, ticket, 0, dx);
	step = record_end(f);
	for (unsigned i = 0; i < 3; i++) {
		struct philox_launch_pass uses[3] = {0};

		OK(philox_graph_launch(step, f->stream, uses, 3));
		SAME(read_numbers(f, y), predict(0, "layer", 4 * i), "%u", i);
		SAME(read_numbers(f, again), read_numbers(f, y), "recompute");
		SAME(read_numbers(f, dx), read_numbers(f, y), "backward");
		PENDING(region, 0);
	}
}

GRAPH_PROMISE(graph, recompute_and_backward_of_one_ticket_are_in_one_graph)
{
	const struct philox_ticket named_at_launch = {0, 0};
	struct philox_region *region = make_region(f, "layer");
	uint32_t *again = make_array(f), *dx = make_array(f);
	struct forward made[2];
	struct philox_graph *back;
	struct philox_pass pass;

	record_begin(f);
	OK(philox_backward_begin(region, f->stream, named_at_launch,
				 PHILOX_PASS_RETAIN, &pass));
	draw(&pass, again);
	OK(philox_pass_commit(&pass, 0, NULL));
	captured_backward(f, region, named_at_launch, 0, dx);
	back = record_end(f);
	made[0] = forward(f, region);
	made[1] = forward(f, region);
	for (unsigned i = 2; i-- > 0;) {
		struct philox_launch_pass uses[2] = {{made[i].ticket, 0, 0},
						     {made[i].ticket, 0, 0}};

		OK(philox_graph_launch(back, f->stream, uses, 2));
		SAME(read_numbers(f, again), made[i].saw, "recompute");
		SAME(read_numbers(f, dx), made[i].saw, "backward");
		PENDING(region, i);
	}
}

/* A stage's recompute has a layer's recompute and backward inside. */
GRAPH_PROMISE(graph, captured_recomputes_nest_in_other_regions_passes)
{
	struct philox_region *outer = make_region(f, "stage");
	struct philox_region *inner = make_region(f, "layer");
	uint32_t *stage = make_array(f), *layer = make_array(f);
	uint32_t *seen[4];
	struct philox_ticket of_stage, of_layer;
	struct philox_pass a, b;
	struct philox_launch_pass uses[6] = {0};
	struct philox_graph *step;

	for (unsigned i = 0; i < 4; i++)
		seen[i] = make_array(f);
	record_begin(f);
	of_stage = captured_forward(f, outer, 0, stage);
	of_layer = captured_forward(f, inner, 0, layer);
	OK(philox_backward_begin(outer, f->stream, of_stage, PHILOX_PASS_RETAIN,
				 &a));
	OK(philox_backward_begin(inner, f->stream, of_layer, PHILOX_PASS_RETAIN,
				 &b));
	draw(&a, seen[0]);
	draw(&b, seen[1]);
	OK(philox_pass_commit(&b, 0, NULL));
	captured_backward(f, inner, of_layer, 0, seen[2]);
	OK(philox_pass_commit(&a, 0, NULL));
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

GRAPH_PROMISE(graph, several_passes_of_one_region_fit_in_one_graph)
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
		struct philox_launch_pass uses[2 * N] = {0};

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

GRAPH_PROMISE(graph, many_regions_fit_in_one_graph)
{
	enum { N = 5 };
	struct philox_region *region[N];
	struct philox_launch_pass uses[N] = {0};
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
		struct philox_launch_pass backs[N] = {0};

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

/* Steady state of a pipeline: one graph has a backward, then a forward. */
GRAPH_PROMISE(graph, a_backward_of_an_old_forward_shares_a_graph_with_a_new_one)
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
		struct philox_launch_pass uses[2] = {{old[i % 3].ticket, 0, 0},
						     {{0, 0}, 0, 0}};

		OK(philox_graph_launch(step, f->stream, uses, 2));
		SAME(read_numbers(f, dx), old[i % 3].saw, "backward %u", i);
		old[i % 3].ticket = uses[1].ticket;
		old[i % 3].saw = read_numbers(f, y);
		SAME(old[i % 3].saw, predict(0, "layer", 4 * (3 + i)), "%u", i);
		PENDING(region, 3);
	}
}

/* --- retain, inference, warm-up ------------------------------------------- */

GRAPH_PROMISE(graph, the_launch_decides_whether_a_ticket_stays)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *forth = record_forward(f, region, 0, array);
	struct philox_graph *back = record_backward(f, region, array);
	struct forward one = launch_forward(f, forth, region, array);
	struct forward two = launch_forward(f, forth, region, array);
	struct philox_launch_pass use = {one.ticket, 0, 0};

	for (unsigned i = 0; i < 4; i++) {
		launch_backward(f, back, &one, PHILOX_PASS_RETAIN, array);
		launch_backward(f, back, &two, PHILOX_PASS_RETAIN, array);
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
		record_forward(f, region, PHILOX_PASS_INFERENCE, array);

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
		record_forward(f, region, PHILOX_PASS_WARMUP, array);

	for (unsigned i = 0; i < 3; i++) {
		struct forward first = launch_forward(f, warm, region, array);
		struct forward again = launch_forward(f, warm, region, array);

		cr_assert_eq(first.ticket.serial, 0);
		SAME(first.saw, again.saw, "reserves nothing");
		PENDING(region, i);
		SAME(forward(f, region).saw, first.saw, "the forward after it");
	}
}

/* --- seeds ---------------------------------------------------------------- */

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

/* --- your own kernels ----------------------------------------------------- */

GRAPH_PROMISE(graph, your_own_kernels_find_the_states_in_cells)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_state *forth = make_memory(f, 2 * SITES * sizeof(*forth));
	struct philox_state *back = forth + SITES;
	struct philox_ticket ticket;
	struct philox_pass pass;
	struct philox_graph *step;

	record_begin(f);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	read_cells(f, &pass, forth);
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	read_cells(f, &pass, back);
	OK(philox_pass_commit(&pass, 0, NULL));
	step = record_end(f);
	for (unsigned i = 0; i < 4; i++) {
		struct philox_state want =
			predict_cell(0, "layer", 2, 0, 4 * i);
		struct philox_launch_pass uses[2] = {0};

		OK(philox_graph_launch(step, f->stream, uses, 2));
		OK(philox_device_synchronize(f->device));
		cr_assert_eq(memcmp(&forth[3], &want, sizeof(want)), 0);
		cr_assert_eq(memcmp(forth, back, SITES * sizeof(*forth)), 0);
	}
}

/* --- saved contexts ------------------------------------------------------- */

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
	struct philox_launch_pass use = {made.ticket, 0, 0};
	philox_stream stream = NULL;

	released = 0;
	OK(philox_ticket_attach(region, made.ticket, &stream, count_release));
	launch_backward(f, back, &made, PHILOX_PASS_RETAIN, array);
	cr_assert_eq(released, 0);
	OK(philox_graph_launch(back, f->side, &use, 1));
	cr_assert_eq(released, 1);
	cr_assert_eq(stream, f->side);
}

struct next_launch {
	struct philox_graph *graph;
	struct philox_launch_pass use;
};

static void launch_again(void *saved, philox_stream stream)
{
	struct next_launch *next = saved;

	OK(philox_graph_launch(next->graph, stream, &next->use, 1));
	released++;
}

GRAPH_PROMISE(graph, releasing_a_saved_context_may_launch_again)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *back = record_backward(f, region, array);
	struct forward first = forward(f, region), second = forward(f, region);
	struct philox_launch_pass use = {first.ticket, 0, 0};
	struct next_launch next = {back, {second.ticket, 0, 0}};

	released = 0;
	OK(philox_ticket_attach(region, first.ticket, &next, launch_again));
	OK(philox_graph_launch(back, f->stream, &use, 1));
	cr_assert_eq(released, 1);
	SAME(read_numbers(f, array), second.saw, "the launch in the callback");
	PENDING(region, 0);
}
