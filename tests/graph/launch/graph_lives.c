/*
 * tests/graph/launch/graph_lives.c - how a graph describes itself, and how it
 * ends
 */
#include "tests/support/support.h"

/* --- looking -------------------------------------------------------------- */

GRAPH_PROMISE(graph_lives, uses_are_described)
{
	struct philox_region *one = make_region(f, "one");
	struct philox_region *two = make_region(f, "two");
	struct philox_graph_pass_info info = {.size = sizeof(info)};
	struct philox_ticket ticket;
	struct philox_graph *graph;

	record_begin(f);
	captured_forward(f, two, PHILOX_PASS_INFERENCE, f->scratch);
	ticket = captured_forward(f, one, 0, f->scratch);
	captured_backward(f, two, (struct philox_ticket){0, 0}, 0, f->scratch);
	captured_backward(f, one, ticket, PHILOX_PASS_RETAIN, f->scratch);
	graph = record_end(f);
	cr_assert_eq(philox_graph_pass_count(graph), 4);
	OK(philox_graph_get_pass_info(graph, 0, &info));
	cr_assert_str_eq(info.region, "two");
	cr_assert(!info.backward && info.flags & PHILOX_PASS_INFERENCE);
	OK(philox_graph_get_pass_info(graph, 1, &info));
	cr_assert_str_eq(info.region, "one");
	cr_assert(!info.backward && !info.named && info.flags == 0);
	OK(philox_graph_get_pass_info(graph, 2, &info));
	cr_assert_str_eq(info.region, "two");
	cr_assert(info.backward && info.named);
	OK(philox_graph_get_pass_info(graph, 3, &info));
	cr_assert(info.backward && !info.named && info.forward == 1);
	cr_assert(info.flags & PHILOX_PASS_RETAIN);
	FAILS(philox_graph_get_pass_info(graph, 4, &info),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_graph_get_pass_info(graph, SIZE_MAX, &info),
	      PHILOX_ERROR_INVALID);
	cr_assert_eq(info.forward, 1, "outputs are written on success only");
}

/* A caller's struct may be of another version. */
PROMISE(graph_lives, a_description_has_the_size_that_the_caller_has)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graph = record_backward(f, region, f->scratch);
	struct {
		struct philox_graph_pass_info info;
		unsigned char more[16];
	} later;
	struct philox_graph_pass_info *info = &later.info;

	memset(&later, 0xee, sizeof(later));
	info->size = sizeof(later);
	OK(philox_graph_get_pass_info(graph, 0, info));
	cr_assert(info->size == sizeof(later) && info->named && info->backward);
	for (unsigned i = 0; i < sizeof(later.more); i++)
		cr_assert_eq(later.more[i], 0, "what it does not know is 0");
	memset(&later, 0xee, sizeof(later));
	info->size = 8;
	FAILS(philox_graph_get_pass_info(graph, 0, info), PHILOX_ERROR_INVALID);
	NAMES("info: size is 8");
	cr_assert_eq(info->flags, 0xeeeeeeee, "written on success only");
	info->size = 0;
	FAILS(philox_graph_get_pass_info(graph, 0, info), PHILOX_ERROR_INVALID);
	OK(philox_graph_destroy(graph));
}

GRAPH_PROMISE(graph_lives, graphs_have_names)
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

GRAPH_PROMISE(graph_lives, native_handles_can_be_had)
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
	OK(philox_native_graph_node_count(f->device, native, &nodes));
	cr_assert_eq(nodes, 1 + SITES);
}

PROMISE(graph_lives, a_capture_without_a_pass_gives_a_graph_without_uses)
{
	struct philox_graph *graph;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_memory_set(f->device, f->stream, f->scratch, 7, 16));
	OK(philox_capture_end(f->context, f->stream, &graph));
	cr_assert_eq(philox_graph_pass_count(graph), 0);
	memset(f->scratch, 0, 16);
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_device_synchronize(f->device));
	cr_assert_eq(f->scratch[0], 0x07070707);
	OK(philox_context_check(f->context, NULL));
	OK(philox_graph_destroy(graph));
}

/* --- lives ---------------------------------------------------------------- */

GRAPH_PROMISE(graph_lives, graphs_come_and_go)
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

GRAPH_PROMISE(graph_lives, tickets_outlive_the_graph_that_made_them)
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

/* A graph's nodes, cells and reports live until graph and context are gone. */
PROMISE(graph_lives, a_context_may_go_before_its_graphs)
{
	struct philox_context *other;
	struct philox_region *region;
	struct philox_graph *ours, *adopted;
	struct philox_pass pass;
	struct philox_ticket ticket;
	struct philox_launch_pass use = {0};
	philox_native_graph native;
	philox_native_exec exec;
	uint64_t id;

	OK(philox_context_create(f->device, &other));
	region = make_region_of(other, "layer", 0, NULL);
	OK(philox_capture_begin(other, f->stream));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_capture_end(other, f->stream, &ours));
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_RELAXED));
	OK(philox_stream_capture_info(f->device, f->stream, NULL, &id));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	draw(&pass, f->scratch);
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_graph_instantiate(f->device, native, &exec));
	OK(philox_graph_adopt(other, id, native, exec, &adopted));
	OK(philox_graph_launch(adopted, f->stream, &use, 1));
	OK(philox_graph_launch(ours, f->stream, &use, 1));
	OK(philox_device_synchronize(f->device));
	philox_context_destroy(other);
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, native));
	forward(f, make_region(f, "layer"));
}
