/*
 * tests/graph/capture/beside.c - what works while others capture on the device
 *
 * No call but a save or a load waits for the whole device, which would break
 * every capture on it.
 */
#include "tests/support/support.h"

enum { ROWS = 4, VALUES = 8 };

/* Every call about a table of rows that reaches the device. */
static void use_rows(struct fixture *f, struct philox_context *context,
		     uint32_t *out, int32_t *tokens)
{
	struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = ROWS};
	const struct philox_row_list list = {.size = sizeof(list),
					     .count = ROWS};
	const struct philox_row_fill_desc fill = {.size = sizeof(fill),
						  .dist = PHILOX_DIST_BITS,
						  .dtype = PHILOX_DTYPE_U32,
						  .count = VALUES,
						  .pitch = VALUES,
						  .out = out};
	struct philox_rows_report report =
		PHILOX_INIT(struct philox_rows_report);
	const struct philox_sample_desc sample = {.size = sizeof(sample),
						  .logits = out,
						  .dtype = PHILOX_DTYPE_F32,
						  .vocab = VALUES,
						  .pitch = VALUES,
						  .tokens = tokens};
	const uint32_t indices[] = {1, 2};
	const struct philox_state given[] = {{1, 0}, {2, 4}};
	struct philox_state states[ROWS];
	struct philox_rows *rows;

	OK(philox_rows_create(context, &options, &rows));
	OK(philox_rows_fill(rows, f->side, &list, &fill));
	OK(philox_rows_advance(rows, f->side, &list, 4));
	OK(philox_rows_get(rows, f->side, 0, ROWS, states));
	OK(philox_rows_set(rows, f->side, indices, given, 2));
	OK(philox_rows_restart(rows, f->side));
	OK(philox_sample_rows(rows, f->side, &list, &sample));
	OK(philox_stream_synchronize(f->device, f->side));
	OK(philox_rows_check(rows, &report));
	OK(philox_rows_destroy(rows));
}

/* Passes, a graph of one and its launches; then all of it is destroyed. */
static void use_graphs(struct fixture *f, struct philox_context *context,
		       uint32_t *out)
{
	struct philox_region *region = make_region_of(context, "b", 0, NULL);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_graph *graph;
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_capture_begin(context, f->side));
	OK(philox_forward_begin(region, f->side, 0, &pass));
	draw(&pass, out);
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_capture_end(context, f->side, &graph));
	OK(philox_graph_launch(graph, f->side, &use, 1));
	OK(philox_backward_begin(region, f->side, use.ticket, 0, &pass));
	draw(&pass, out);
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_context_check(context, &report));
	OK(philox_graph_destroy(graph));
	OK(philox_region_destroy(region));
}

PROMISE(beside, nothing_but_saves_and_loads_waits_for_the_device)
{
	uint64_t before = philox_device_call_count(f->device, "device_sync");
	uint32_t *out = make_memory(f, ROWS * VALUES * sizeof(*out));
	int32_t *tokens = make_memory(f, ROWS * sizeof(*tokens));
	struct philox_context *context;
	philox_native_graph graph;
	size_t nodes;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_RELAXED));
	OK(philox_memory_set(f->device, f->stream, f->scratch, 0, 4));
	OK(philox_context_create(f->device, &context));
	use_rows(f, context, out, tokens);
	use_graphs(f, context, f->scratch);
	philox_context_destroy(context);
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_node_count(f->device, graph, &nodes));
	cr_assert_eq(nodes, 1);
	OK(philox_native_graph_destroy(f->device, graph));
	cr_assert_eq(philox_device_call_count(f->device, "device_sync"),
		     before);
}
