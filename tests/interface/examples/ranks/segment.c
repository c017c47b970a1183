/*
 * examples/ranks/segment.c - a piece of work between two communications
 */
#include "segment.h"
#include "world.h"

static struct philox_graph *capture(struct model *model, segment_body *body,
				    void *work)
{
	struct philox_ticket named_at_launch = {0, 0};
	struct philox_graph *graph;

	TRY(philox_capture_begin(model->context, model->stream));
	body(model, work, &named_at_launch);
	TRY(philox_capture_end(model->context, model->stream, &graph));
	model->graphs++;
	return graph;
}

void segment_run(struct model *model, struct philox_graph **graph,
		 segment_body *body, void *work, struct philox_ticket *ticket)
{
	struct philox_use uses[SEGMENT_PASSES] = {{*ticket, 0, 0}};

	if (model->options->eager) {
		body(model, work, ticket);
		return;
	}
	if (!*graph)
		*graph = capture(model, body, work);
	TRY(philox_graph_launch(*graph, model->stream, uses,
				philox_graph_uses(*graph)));
	*ticket = uses[0].ticket;
	model->launches++;
}
