/*
 * tools/matrix/launch.c - graphs: capturing them when needed, launching them
 */
#include <string.h>
#include "tools/matrix/bed.h"

/* --- capturing ------------------------------------------------------------ */

/* In a capture: keeps what the pass draws. */
static int keep_captured(struct matrix_bed *bed, struct graph *graph,
			 const struct philox_pass *pass)
{
	struct matrix_numbers *numbers = &graph->seen[graph->passes++];

	if (bed_copy_cells(bed, pass, numbers))
		return -1;
	if (!bed->shape.draw)
		return 0;
	return bed_draw_words(bed, pass, &numbers->word[0][0]);
}

static int capture_forward(struct matrix_bed *bed, struct site *site,
			   struct graph *graph, unsigned flags,
			   struct philox_ticket *ticket)
{
	struct philox_pass pass;

	TRY(bed,
	    philox_forward_begin(site->region, site->stream, flags, &pass));
	if (keep_captured(bed, graph, &pass))
		return -1;
	TRY(bed, philox_forward_commit(&pass, ticket));
	return 0;
}

static int capture_backward(struct matrix_bed *bed, struct site *site,
			    struct graph *graph, unsigned flags,
			    struct philox_ticket ticket, philox_stream stream)
{
	struct philox_pass pass;

	TRY(bed,
	    philox_backward_begin(site->region, ticket, stream, flags, &pass));
	if (keep_captured(bed, graph, &pass))
		return -1;
	TRY(bed, philox_backward_commit(&pass, 0));
	return 0;
}

static int capture_passes(struct matrix_bed *bed, struct site *site,
			  struct graph *graph, unsigned kind)
{
	struct philox_ticket ticket = {0}, none = {0};
	philox_stream stream = site->stream;

	switch (kind) {
	case GRAPH_FORWARD:
		return capture_forward(bed, site, graph, 0, &ticket);
	case GRAPH_INFERENCE:
		return capture_forward(bed, site, graph, PHILOX_INFERENCE,
				       &ticket);
	case GRAPH_WARMUP:
		return capture_forward(bed, site, graph, PHILOX_WARMUP,
				       &ticket);
	case GRAPH_BACKWARD:
		return capture_backward(bed, site, graph, 0, none, stream);
	case GRAPH_RECOMPUTE:
		return capture_backward(bed, site, graph, PHILOX_RETAIN, none,
					stream);
	case GRAPH_DOUBLE:
		return capture_backward(bed, site, graph, 0, none, stream) ||
		       capture_backward(bed, site, graph, 0, none, stream);
	case GRAPH_PAIR:
	case GRAPH_KEEP:
		return capture_forward(bed, site, graph, 0, &ticket) ||
		       capture_backward(bed, site, graph,
					kind == GRAPH_KEEP ? PHILOX_RETAIN : 0,
					ticket, stream);
	default:
		return capture_forward(bed, site, graph, 0, &ticket) ||
		       capture_backward(bed, &bed->sites[kind - GRAPH_EXCHANGE],
					graph, 0, none, stream);
	}
}

static int record(struct matrix_bed *bed, struct site *site, unsigned kind)
{
	struct graph *graph = &site->graphs[kind];
	struct philox_graph *made;

	graph->passes = 0;
	if (!graph->seen)
		TRY(bed, philox_memory_alloc(bed->device,
					     PASSES * sizeof(*graph->seen),
					     (void **)&graph->seen));
	TRY(bed, philox_capture_begin(bed->context, site->stream));
	if (capture_passes(bed, site, graph, kind))
		return -1;
	TRY(bed, philox_capture_end(bed->context, site->stream, &made));
	graph->graph = made;
	return 0;
}

static struct graph *need_graph(struct matrix_bed *bed, unsigned region,
				unsigned kind)
{
	struct site *site = &bed->sites[region];

	if (!site->graphs[kind].graph && record(bed, site, kind))
		return NULL;
	return &site->graphs[kind];
}

int bed_drop_graph(struct matrix_bed *bed, struct graph *graph)
{
	struct philox_graph *old = graph->graph;

	graph->graph = NULL;
	if (old)
		TRY(bed, philox_graph_destroy(old));
	return 0;
}

/* --- launching ------------------------------------------------------------ */

static unsigned graph_of(const struct matrix_bed *bed,
			 const struct matrix_event *event)
{
	static const uint8_t kinds[MATRIX_KINDS] = {
		[MATRIX_FORWARD] = GRAPH_FORWARD,
		[MATRIX_INFERENCE] = GRAPH_INFERENCE,
		[MATRIX_WARMUP] = GRAPH_WARMUP,
		[MATRIX_BACKWARD] = GRAPH_BACKWARD,
		[MATRIX_RECOMPUTE] = GRAPH_RECOMPUTE,
		[MATRIX_PAIR] = GRAPH_PAIR,
		[MATRIX_KEEP] = GRAPH_KEEP,
		[MATRIX_DOUBLE] = GRAPH_DOUBLE,
	};

	struct matrix_view view;

	if (event->kind != MATRIX_EXCHANGE)
		return kinds[event->kind];
	matrix_look(&bed->run, &view);
	return GRAPH_EXCHANGE + view.of[event->other].region;
}

static void fill_uses(const struct matrix_bed *bed,
		      const struct matrix_event *event, struct philox_use *uses)
{
	uint32_t retain = event->fate == MATRIX_KEPT ? PHILOX_RETAIN : 0;

	memset(uses, 0, PASSES * sizeof(*uses));
	if (event->kind == MATRIX_EXCHANGE) {
		uses[1].ticket = bed->tickets[event->other];
		uses[1].flags = retain;
	} else if (bed_role(event) == MATRIX_REPEAT ||
		   event->kind == MATRIX_DOUBLE) {
		uses[0].ticket = bed->tickets[event->ticket];
		uses[0].flags = retain;
	}
	if (event->kind == MATRIX_DOUBLE)
		uses[1].ticket = bed->tickets[event->other];
}

/* Notes the numbers of a launch that was made, and the tickets it gave. */
static int take_launch(struct matrix_bed *bed, const struct matrix_event *event,
		       const struct graph *graph, const struct philox_use *uses)
{
	philox_stream stream = bed->sites[event->region].stream;
	enum matrix_role role = bed_role(event);
	unsigned second = event->ticket;

	if (event->kind == MATRIX_DOUBLE)
		role = MATRIX_REPEAT;
	if (event->kind == MATRIX_DOUBLE || event->kind == MATRIX_EXCHANGE)
		second = event->other;
	if (bed_see_graph(bed, graph, 0, role, event->ticket, event->region,
			  stream))
		return -1;
	if (graph->passes > 1 && bed_see_graph(bed, graph, 1, MATRIX_REPEAT,
					       second, event->region, stream))
		return -1;
	if (event->kind == MATRIX_FORWARD || event->kind == MATRIX_KEEP ||
	    event->kind == MATRIX_EXCHANGE)
		return bed_keep_ticket(bed, event->ticket, event->region,
				       uses[0].ticket);
	if (role == MATRIX_REPEAT)
		return 0;
	if (uses[0].ticket.region_key || uses[0].ticket.serial)
		return bed_complain(bed,
				    "a ticket for a forward that owes nothing");
	return 0;
}

/* Launches, and counts what that asks of the device. */
static enum philox_status launch(struct matrix_bed *bed,
				 const struct matrix_event *event,
				 const struct graph *graph,
				 struct philox_use *uses)
{
	uint64_t calls = philox_device_calls(bed->device, NULL);
	enum philox_status status;

	status = philox_graph_launch(graph->graph,
				     bed->sites[event->region].stream, uses,
				     graph->passes);
	bed->calls += philox_device_calls(bed->device, NULL) - calls;
	bed->launches++;
	return status;
}

static int do_launch(struct matrix_bed *bed, const struct matrix_event *event,
		     struct graph *graph)
{
	struct philox_use uses[PASSES];
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
	struct philox_use uses[PASSES];

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
	TRY(bed, philox_native_launch(bed->device, exec,
				      bed->sites[event->region].stream));
	TRY(bed, philox_graph_epilogue(graph->graph, PHILOX_OK));
	return take_launch(bed, event, graph, &half->use);
}

int bed_do_graph(struct matrix_bed *bed, const struct matrix_event *event)
{
	struct graph *graph =
		need_graph(bed, event->region, graph_of(bed, event));

	if (!graph)
		return -1;
	if (event->part == MATRIX_WHOLE)
		return do_launch(bed, event, graph);
	return event->part == MATRIX_BEGIN ? do_prologue(bed, event, graph)
					   : do_epilogue(bed, event, graph);
}
