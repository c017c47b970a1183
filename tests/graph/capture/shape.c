/*
 * tests/graph/capture/shape.c - the head keeps the shape of a captured graph
 *
 * A straight capture stays one line, and a branch gets one edge from the head
 * at most. The nodes and edges are counted through the device contract, back
 * from where a capture ends.
 */
#include "lib/device/device.h"
#include "tests/support/support.h"

enum { MOST = 256 };

struct shape {
	device_node nodes[MOST];
	size_t n, edges, most_deps, roots;
};

static void add_node(struct shape *shape, device_node node)
{
	for (size_t i = 0; i < shape->n; i++)
		if (shape->nodes[i] == node)
			return;
	cr_assert_lt(shape->n, MOST);
	shape->nodes[shape->n++] = node;
}

/* The shape of what comes before the next node of the recording's stream. */
static struct shape look_back(struct fixture *f)
{
	struct shape shape = {.n = 0};
	device_node nodes[MOST];
	size_t n = MOST;

	OK(device_capture_tips(f->device, f->stream, nodes, &n));
	for (size_t i = 0; i < n; i++)
		add_node(&shape, nodes[i]);
	for (size_t i = 0; i < shape.n; i++) {
		n = MOST;
		OK(device_node_deps(f->device, shape.nodes[i], nodes, &n));
		shape.edges += n;
		shape.roots += !n;
		if (n > shape.most_deps)
			shape.most_deps = n;
		for (size_t k = 0; k < n; k++)
			add_node(&shape, nodes[k]);
	}
	return shape;
}

static void set_some(struct fixture *f, uint32_t *array, philox_stream stream)
{
	OK(philox_memory_set(f->device, stream, array, 0, 16));
}

static void is_one_line(const struct shape *shape)
{
	cr_assert_eq(shape->most_deps, 1);
	cr_assert_eq(shape->edges, shape->n - 1, "%zu edges of %zu nodes",
		     shape->edges, shape->n);
}

static void one_draw(struct philox_region *region, philox_stream stream,
		     uint32_t *array)
{
	struct philox_pass pass;
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = {.count = 4},
					.out = array};

	OK(philox_forward_begin(region, stream, PHILOX_PASS_INFERENCE, &pass));
	OK(philox_pass_fill(&pass, 0, 0, &fill));
	OK(philox_pass_commit(&pass, 0, NULL));
}

GRAPH_PROMISE(shape, a_straight_capture_stays_one_line)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct shape shape;

	for (unsigned before = 0; before < 3; before++) {
		record_begin(f);
		for (unsigned i = 0; i < before; i++)
			set_some(f, array, f->stream);
		for (unsigned i = 0; i < 20; i++) {
			one_draw(region, f->stream, array);
			set_some(f, array, f->stream);
		}
		shape = look_back(f);
		OK(philox_graph_destroy(record_end(f)));
		cr_assert_eq(shape.n, before + 1 + 40);
		is_one_line(&shape);
	}
}

/* One that is straight, but for philox not knowing the nodes in between. */
GRAPH_PROMISE(shape, a_long_stretch_between_passes_stays_one_line)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct shape shape;

	record_begin(f);
	for (unsigned i = 0; i < 3; i++) {
		one_draw(region, f->stream, array);
		for (unsigned k = 0; k < 70; k++)
			set_some(f, array, f->stream);
	}
	shape = look_back(f);
	OK(philox_graph_destroy(record_end(f)));
	cr_assert_eq(shape.n, 1 + 3 * 71);
	is_one_line(&shape);
}

static void fork_to(struct fixture *f, philox_event event, philox_stream from,
		    philox_stream to)
{
	OK(philox_event_record(f->device, from, event));
	OK(philox_event_wait(f->device, to, event));
}

/* Two branches that were there before the head: an edge for each. */
GRAPH_PROMISE(shape, a_branch_that_began_before_the_head_gets_one_edge)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *left = make_array(f), *right = make_array(f);
	philox_event event;
	struct shape shape;

	OK(philox_event_create(f->device, &event));
	record_begin(f);
	set_some(f, left, f->stream);
	fork_to(f, event, f->stream, f->side);
	set_some(f, left, f->stream);
	set_some(f, right, f->side);
	for (unsigned i = 0; i < 3; i++) {
		one_draw(region, f->stream, left);
		one_draw(region, f->side, right);
	}
	fork_to(f, event, f->side, f->stream);
	shape = look_back(f);
	OK(philox_graph_destroy(record_end(f)));
	/* the fork's two, the lines' six, two from the head */
	cr_assert_eq(shape.n, 3 + 1 + 6);
	cr_assert_eq(shape.edges, 2 + 6 + 2);
	cr_assert_eq(shape.roots, 2, "no branch waits for the other");
	OK(philox_event_destroy(f->device, event));
}

GRAPH_PROMISE(shape, a_branch_that_began_after_the_head_needs_no_edge)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *left = make_array(f), *right = make_array(f);
	philox_event event;
	struct shape shape;

	OK(philox_event_create(f->device, &event));
	record_begin(f);
	set_some(f, left, f->stream);
	one_draw(region, f->stream, left);
	fork_to(f, event, f->stream, f->side);
	one_draw(region, f->stream, left);
	one_draw(region, f->side, right);
	fork_to(f, event, f->side, f->stream);
	one_draw(region, f->stream, left);
	shape = look_back(f);
	OK(philox_graph_destroy(record_end(f)));
	cr_assert_eq(shape.n, 1 + 1 + 4);
	cr_assert_eq(shape.edges, 1 + 1 + 2 + 2);
	OK(philox_event_destroy(f->device, event));
}

/* The head goes after the fork, whose branches then both come after it. */
GRAPH_PROMISE(shape, branches_that_wait_for_what_the_head_waits_for_follow_it)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *left = make_array(f), *right = make_array(f);
	philox_event event;
	struct shape shape;

	OK(philox_event_create(f->device, &event));
	record_begin(f);
	set_some(f, left, f->stream);
	fork_to(f, event, f->stream, f->side);
	one_draw(region, f->stream, left);
	one_draw(region, f->side, right);
	fork_to(f, event, f->side, f->stream);
	shape = look_back(f);
	OK(philox_graph_destroy(record_end(f)));
	cr_assert_eq(shape.n, 1 + 1 + 2);
	cr_assert_eq(shape.edges, 1 + 2);
	cr_assert_eq(shape.most_deps, 1);
	OK(philox_event_destroy(f->device, event));
}

/* Whatever the order in which the nodes run, each branch has its numbers. */
GRAPH_PROMISE(shape, every_branch_comes_after_the_head)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *left = make_array(f), *right = make_array(f);
	struct philox_launch_pass uses[4] = {{{0, 0}, 0, 0}};
	struct philox_graph *graph;
	philox_event event;

	OK(philox_event_create(f->device, &event));
	for (unsigned order = 0; order < 6; order++) {
		f->order = order;
		record_begin(f);
		set_some(f, left, f->stream);
		fork_to(f, event, f->stream, f->side);
		set_some(f, right, f->side);
		one_draw(region, f->side, right);
		one_draw(region, f->stream, left);
		one_draw(region, f->side, right + 4);
		fork_to(f, event, f->side, f->stream);
		one_draw(region, f->stream, left + 4);
		graph = record_end(f);
		OK(philox_graph_launch(graph, f->stream, uses, 4));
		OK(philox_stream_synchronize(f->device, f->stream));
		OK(philox_context_check(f->context, NULL));
		for (unsigned i = 0; i < 2; i++) {
			uint32_t words[2][4];

			OK(philox_memory_copy(f->device, f->stream, words[0],
					      left + 4 * i, 16));
			OK(philox_memory_copy(f->device, f->stream, words[1],
					      right + 4 * i, 16));
			OK(philox_stream_synchronize(f->device, f->stream));
			for (unsigned k = 0; k < 2; k++) {
				/* uses are in order of begin */
				unsigned use = k ? 2 * i : 1 + 2 * i;
				struct philox_state state = predict_cell(
					0, "layer", 0, 0, 16 * order + 4 * use);
				struct philox_words must =
					philox_draw4(state, 0);

				cr_assert_eq(memcmp(words[k], must.w, 16), 0,
					     "order %u, use %u", order, use);
			}
		}
		OK(philox_graph_destroy(graph));
	}
	OK(philox_event_destroy(f->device, event));
}

/* A walk that cannot be finished is no reason to leave an edge out. */
GRAPH_PROMISE(shape, an_edge_is_added_when_the_graph_cannot_be_asked)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	struct philox_graph *graph;
	struct shape shape;

	record_begin(f);
	one_draw(region, f->stream, array);
	set_some(f, f->scratch, f->stream);
	OK(philox_device_fail(f->device, "node_deps", 1, PHILOX_ERROR_DEVICE));
	f->injected = 1;
	one_draw(region, f->stream, array + 4);
	shape = look_back(f);
	graph = record_end(f);
	cr_assert_eq(shape.most_deps, 2);
	OK(philox_graph_launch(graph, f->stream, uses, 2));
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_graph_destroy(graph));
}
