/*
 * tools/matrix/bed/launch.c - launching graphs, at once or in two halves
 */
#include <string.h>
#include "tools/matrix/bed/bed.h"

/*
 * The first backward named at launch retains its ticket if the event says so.
 */
static void fill_uses(const struct matrix_bed *bed,
		      const struct matrix_event *event,
		      struct philox_launch_pass *uses)
{
	uint32_t retain = event->fate == MATRIX_KEPT ? PHILOX_PASS_RETAIN : 0;
	struct captured passes[PASSES];
	unsigned n = bed_captured(bed, event, passes);

	memset(uses, 0, PASSES * sizeof(*uses));
	for (unsigned i = 0; i < n; i++) {
		if (!passes[i].named)
			continue;
		uses[i].ticket = bed->tickets[passes[i].ticket];
		uses[i].flags = retain;
		retain = 0;
	}
}

int bed_take_ticket(struct matrix_bed *bed, const struct captured *pass,
		    struct philox_ticket ticket)
{
	if (pass->role == MATRIX_REPEAT)
		return 0;
	if (pass->ticket != MATRIX_NONE)
		return bed_keep_ticket(bed, pass->ticket, pass->region, ticket);
	if (ticket.region_key || ticket.serial)
		return bed_complain(
			bed, "a ticket for a forward without a backward");
	return 0;
}

/* Notes the numbers and the tickets of a launch. */
static int take_launch(struct matrix_bed *bed, const struct matrix_event *event,
		       const struct graph *graph,
		       const struct philox_launch_pass *uses)
{
	philox_stream stream = bed->sites[event->region].stream;
	struct captured passes[PASSES];
	unsigned n = bed_captured(bed, event, passes);

	for (unsigned i = 0; i < n; i++)
		if (bed_see_device(bed, &passes[i], &graph->seen[i], NULL,
				   stream) ||
		    bed_take_ticket(bed, &passes[i], uses[i].ticket))
			return -1;
	return 0;
}

/* Launches, and counts the device calls. */
static enum philox_status launch(struct matrix_bed *bed,
				 const struct matrix_event *event,
				 struct graph *graph,
				 struct philox_launch_pass *uses)
{
	uint64_t calls = philox_device_call_count(bed->device, NULL);
	enum philox_status status;

	status = philox_graph_launch(graph->graph,
				     bed->sites[event->region].stream, uses,
				     graph->passes);
	if (graph->launched) {
		bed->calls +=
			philox_device_call_count(bed->device, NULL) - calls;
		bed->launches++;
	}
	graph->launched |= status == PHILOX_OK;
	return status;
}

static int do_launch(struct matrix_bed *bed, const struct matrix_event *event,
		     struct graph *graph)
{
	struct philox_launch_pass uses[PASSES];
	enum philox_status status;

	fill_uses(bed, event, uses);
	if (event->fate == MATRIX_ABORTED)
		bed_order_failure(bed, "exec_launch");
	if (event->fate == MATRIX_BROKEN)
		bed_order_failure(bed, "exec_set_kernel");
	status = launch(bed, event, graph, uses);
	bed_cancel_failure(bed);
	if (bed_check_status(bed, event, status))
		return -1;
	return status == PHILOX_OK ? take_launch(bed, event, graph, uses) : 0;
}

static int do_prologue(struct matrix_bed *bed, const struct matrix_event *event,
		       struct graph *graph)
{
	struct half *half = bed_half(bed, event);
	struct philox_launch_pass uses[PASSES];

	fill_uses(bed, event, uses);
	half->use = uses[0];
	return bed_check_status(
		bed, event,
		philox_graph_prologue(graph->graph,
				      bed->sites[event->region].stream,
				      &half->use, graph->passes));
}

static int do_epilogue(struct matrix_bed *bed, const struct matrix_event *event,
		       struct graph *graph)
{
	struct half *half = bed_half(bed, event);
	philox_native_exec exec;

	if (event->fate == MATRIX_ABORTED) {
		TRY(bed,
		    philox_graph_epilogue(graph->graph, PHILOX_ERROR_DEVICE));
		return 0;
	}
	TRY(bed, philox_graph_native(graph->graph, NULL, &exec));
	TRY(bed, philox_native_exec_launch(
			 bed->device, bed->sites[event->region].stream, exec));
	TRY(bed, philox_graph_epilogue(graph->graph, PHILOX_OK));
	return take_launch(bed, event, graph, &half->use);
}

int bed_do_graph(struct matrix_bed *bed, const struct matrix_event *event)
{
	struct graph *graph = bed_need_graph(bed, event);

	if (!graph)
		return -1;
	if (event->part == MATRIX_WHOLE)
		return do_launch(bed, event, graph);
	return event->part == MATRIX_BEGIN ? do_prologue(bed, event, graph)
					   : do_epilogue(bed, event, graph);
}
