/*
 * tests/graph/launch/graph_streams.c - forks, queues and overlaps of captured
 * passes
 *
 * If an edge is missing, in some order of the nodes a draw comes before the
 * head and gives poison or old numbers: see in_many_orders().
 */
#include <stdio.h>
#include "tests/support/support.h"

/* Work of `to` comes after the work that is on `from` now. */
static void order(struct fixture *f, philox_stream from, philox_stream to)
{
	philox_event event;

	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, from, event));
	OK(philox_event_wait(f->device, to, event));
	OK(philox_event_destroy(f->device, event));
}

/* Runs a test with nodes in many orders, where a missing edge shows. */
static void in_many_orders(struct fixture *f,
			   void (*test)(struct fixture *f, unsigned n))
{
	for (f->order = 0; f->order < 24; f->order++)
		test(f, f->order);
}

static struct philox_region *make_numbered(struct fixture *f, const char *name,
					   unsigned n, char full[32])
{
	snprintf(full, 32, "%s %u", name, n);
	return make_region(f, full);
}

static void fork_of_a_pass(struct fixture *f, unsigned n)
{
	char name[32];
	struct philox_region *region = make_numbered(f, "layer", n, name);
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
	FAILS(philox_pass_commit(&view, 0, &ticket), PHILOX_ERROR_STATE);
	OK(philox_pass_commit(&pass, 0, &ticket));
	order(f, f->side, f->stream);
	graph = record_end(f);
	for (unsigned i = 0; i < 4; i++) {
		struct forward made = launch_forward(f, graph, region, here);

		SAME(made.saw, predict(0, name, 4 * i), "main %u", i);
		SAME(read_numbers(f, there), made.saw, "fork %u", i);
	}
}

GRAPH_PROMISE(graph_streams, a_fork_draws_the_numbers_of_its_pass)
{
	in_many_orders(f, fork_of_a_pass);
}

/*
 * The side stream joins the capture before the head exists, so that nothing
 * but the library can make its draws wait for the head.
 */
static void older_fork(struct fixture *f, unsigned n)
{
	char name_one[32], name_two[32];
	struct philox_region *one = make_numbered(f, "one", n, name_one);
	struct philox_region *two = make_numbered(f, "two", n, name_two);
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
	OK(philox_pass_commit(&other, 0, &ticket));
	OK(philox_pass_commit(&pass, 0, &ticket));
	order(f, f->side, f->stream);
	graph = record_end(f);
	for (unsigned i = 0; i < 4; i++) {
		struct philox_launch_pass uses[2] = {0};

		OK(philox_graph_launch(graph, f->stream, uses, 2));
		SAME(read_numbers(f, seen_one), predict(0, name_one, 4 * i),
		     "pass %u", i);
		SAME(read_numbers(f, seen_view), predict(0, name_one, 4 * i),
		     "view %u", i);
		SAME(read_numbers(f, seen_two), predict(0, name_two, 4 * i),
		     "pass on the fork %u", i);
	}
}

GRAPH_PROMISE(graph_streams,
	      a_fork_older_than_the_first_pass_waits_for_the_head_too)
{
	in_many_orders(f, older_fork);
}

/* A fork older than the pass, on which a view of it is the only draw. */
static void older_fork_with_a_view(struct fixture *f, unsigned n)
{
	char name[32];
	struct philox_region *region = make_numbered(f, "layer", n, name);
	uint32_t *seen = make_array(f);
	struct philox_pass pass, view;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	record_begin(f);
	order(f, f->stream, f->side);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_on(&pass, f->side, &view));
	draw(&view, seen);
	OK(philox_pass_commit(&pass, 0, &ticket));
	order(f, f->side, f->stream);
	graph = record_end(f);
	for (unsigned i = 0; i < 4; i++)
		SAME(launch_forward(f, graph, region, seen).saw,
		     predict(0, name, 4 * i), "view %u", i);
}

GRAPH_PROMISE(graph_streams, a_view_on_an_older_fork_waits_for_the_head_too)
{
	in_many_orders(f, older_fork_with_a_view);
}

static void backward_on_a_fork(struct fixture *f, unsigned n)
{
	char name[32];
	struct philox_region *region = make_numbered(f, "layer", n, name);
	uint32_t *y = make_array(f), *dx = make_array(f);
	struct philox_pass pass;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	record_begin(f);
	order(f, f->stream, f->side);
	ticket = captured_forward(f, region, 0, y);
	OK(philox_backward_begin(region, f->side, ticket, 0, &pass));
	draw(&pass, dx);
	OK(philox_pass_commit(&pass, 0, NULL));
	order(f, f->side, f->stream);
	graph = record_end(f);
	for (unsigned i = 0; i < 4; i++) {
		struct philox_launch_pass uses[2] = {0};

		OK(philox_graph_launch(graph, f->stream, uses, 2));
		SAME(read_numbers(f, y), predict(0, name, 4 * i), "%u", i);
		SAME(read_numbers(f, dx), predict(0, name, 4 * i), "%u", i);
	}
}

GRAPH_PROMISE(graph_streams, a_backward_runs_on_a_fork)
{
	in_many_orders(f, backward_on_a_fork);
}

static void plain_pair(struct fixture *f, unsigned n)
{
	char name[32];
	struct philox_region *region = make_numbered(f, "layer", n, name);
	uint32_t *y = make_array(f), *dx = make_array(f);
	struct philox_graph *graph = record_pair(f, region, y, dx);

	for (unsigned i = 0; i < 4; i++) {
		struct philox_launch_pass uses[2] = {0};

		OK(philox_graph_launch(graph, f->stream, uses, 2));
		SAME(read_numbers(f, y), predict(0, name, 4 * i), "%u", i);
		SAME(read_numbers(f, dx), predict(0, name, 4 * i), "%u", i);
	}
}

GRAPH_PROMISE(graph_streams, all_draws_wait_for_the_head)
{
	in_many_orders(f, plain_pair);
}

GRAPH_PROMISE(graph_streams, a_view_must_be_in_the_capture_of_its_pass)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass eager, captured, view = {0};
	uint32_t *array = make_array(f);
	struct philox_graph *graph;
	struct philox_ticket ticket;

	OK(philox_backward_begin(region, f->side, made.ticket,
				 PHILOX_PASS_RETAIN, &eager));
	record_begin(f);
	OK(philox_forward_begin(region, f->stream, 0, &captured));
	FAILS(philox_pass_on(&captured, f->side, &view), PHILOX_ERROR_MISMATCH);
	FAILS(philox_pass_on(&eager, f->stream, &view), PHILOX_ERROR_MISMATCH);
	cr_assert_null(view.region, "outputs are written on success only");
	draw(&captured, array);
	OK(philox_pass_commit(&captured, 0, &ticket));
	graph = record_end(f);
	OK(philox_pass_commit(&eager, 0, NULL));
	SAME(launch_forward(f, graph, region, array).saw,
	     predict(0, "layer", 4), "undisturbed");
	backward(f, &made, 0);
}

/* Launches follow each other without a wait; each takes its own message. */
GRAPH_PROMISE(graph_streams, launches_queue_up_with_a_message_each)
{
	enum { N = 30 };
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	uint32_t *seen = make_memory(f, 2 * N * sizeof(struct numbers));
	struct philox_graph *forth = record_forward(f, region, 0, array);
	struct philox_graph *back = record_backward(f, region, array);
	struct philox_launch_pass use[N] = {0};

	for (unsigned i = 0; i < 2 * N; i++) {
		struct philox_graph *graph = i < N ? forth : back;

		OK(philox_graph_launch(graph, f->stream,
				       &use[i < N ? i : 2 * N - 1 - i], 1));
		OK(philox_memory_copy(f->device, f->stream, seen + i * WORDS,
				      array, sizeof(struct numbers)));
	}
	for (unsigned i = 0; i < N; i++) {
		struct numbers want = predict(0, "layer", 4 * i);

		SAME(read_numbers(f, seen + i * WORDS), want, "forward %u", i);
		SAME(read_numbers(f, seen + (2 * N - 1 - i) * WORDS), want,
		     "backward %u", i);
	}
}

GRAPH_PROMISE(graph_streams, two_graphs_of_one_region_run_side_by_side)
{
	enum { N = 20 };
	struct philox_region *region = make_region(f, "layer");
	uint32_t *one = make_array(f), *two = make_array(f);
	uint32_t *seen = make_memory(f, 2 * N * sizeof(struct numbers));
	struct philox_graph *first = record_forward(f, region, 0, one);
	struct philox_graph *second = record_forward(f, region, 0, two);
	struct philox_launch_pass use = {0};

	for (unsigned i = 0; i < N; i++) {
		OK(philox_graph_launch(first, f->stream, &use, 1));
		OK(philox_memory_copy(f->device, f->stream,
				      seen + 2 * i * WORDS, one,
				      sizeof(struct numbers)));
		OK(philox_graph_launch(second, f->side, &use, 1));
		OK(philox_memory_copy(f->device, f->side,
				      seen + (2 * i + 1) * WORDS, two,
				      sizeof(struct numbers)));
	}
	for (unsigned i = 0; i < 2 * N; i++)
		SAME(read_numbers(f, seen + i * WORDS),
		     predict(0, "layer", 4 * i), "launch %u", i);
}

PROMISE(graph_streams, captures_overlap)
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
	OK(philox_forward_begin(region, third, PHILOX_PASS_INFERENCE, &eager));
	draw(&eager, f->scratch);
	OK(philox_pass_commit(&eager, 0, NULL));
	draw(&pass, one);
	draw(&other, two);
	OK(philox_pass_commit(&pass, 0, &ticket));
	FAILS(philox_backward_begin(region, f->side, ticket, 0, &eager),
	      PHILOX_ERROR_MISMATCH);
	OK(philox_pass_commit(&other, 0, &strange));
	FAILS(philox_backward_begin(region, f->stream, strange, 0, &eager),
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
