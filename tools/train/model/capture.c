/*
 * tools/train/model/capture.c - a part of a step as a graph, with philox and
 * without
 *
 * A graph remembers where the tickets of its passes are kept, in order of
 * begin; a replay passes them in and takes new ones out. During a capture those
 * places hold placeholders, or nothing: then the forward is named at launch.
 */
#include <string.h>
#include "tools/train/model/model.h"

void train_note(struct train_model *model, enum train_kind kind,
		struct philox_ticket *ticket)
{
	struct train_graph *graph = model->recording;

	if (!graph)
		return;
	graph->passes[graph->n_passes].kind = kind;
	graph->passes[graph->n_passes].ticket = ticket;
	graph->n_passes++;
}

/* --- native captures ------------------------------------------------------ */

static int begin_native(struct train_model *model)
{
	if (!model->status)
		train_check(model, philox_stream_begin_capture(
					   model->device, model->stream,
					   PHILOX_CAPTURE_THREAD_LOCAL));
	return !model->status;
}

/* A capture is always ended, as the stream must run again. */
static void end_native(struct train_model *model, philox_native_graph *graph)
{
	*graph = NULL;
	train_check(model, philox_stream_end_capture(model->device,
						     model->stream, graph));
}

static void instantiate(struct train_model *model, struct train_graph *graph)
{
	if (!model->status)
		train_check(model, philox_native_graph_instantiate(
					   model->device, graph->native,
					   &graph->exec));
}

static size_t count_nodes(struct train_model *model, philox_native_graph graph)
{
	size_t nodes = 0;

	if (!model->status)
		train_check(model, philox_native_graph_node_count(
					   model->device, graph, &nodes));
	return nodes;
}

/* --- without philox ------------------------------------------------------- */

static void capture_baked(struct train_model *model, unsigned flags,
			  train_body body, unsigned slot,
			  philox_native_graph *graph)
{
	if (!begin_native(model))
		return;
	train_pool_begin(model);
	train_bake_begin(model, flags);
	body(model, slot);
	train_bake_end(model);
	train_pool_end(model, PHILOX_ERROR_STATE); /* it is never launched */
	end_native(model, graph);
}

/* The number of nodes of the same work with states by value. */
static size_t nodes_without(struct train_model *model, train_body body,
			    unsigned slot)
{
	philox_native_graph graph = NULL;
	size_t nodes;

	capture_baked(model, PHILOX_PASS_WARMUP, body, slot, &graph);
	nodes = count_nodes(model, graph);
	train_check(model, philox_native_graph_destroy(model->device, graph));
	return nodes;
}

void train_capture_baked(struct train_model *model, train_body body,
			 struct train_graph *graph)
{
	memset(graph, 0, sizeof(*graph));
	capture_baked(model, PHILOX_PASS_INFERENCE, body, 0, &graph->native);
	instantiate(model, graph);
}

/* --- with philox ---------------------------------------------------------- */

static void capture_ours(struct train_model *model, train_body body,
			 unsigned slot, struct train_graph *graph)
{
	enum philox_status status;

	if (model->status)
		return;
	train_check(model, philox_capture_begin(model->context, model->stream));
	if (model->status)
		return;
	train_pool_begin(model);
	body(model, slot);
	train_pool_end(model, model->status);
	status = philox_capture_end(model->context, model->stream,
				    &graph->graph);
	train_check(model, status);
}

static void capture_callers(struct train_model *model, train_body body,
			    unsigned slot, struct train_graph *graph)
{
	uint64_t id = 0;

	if (!begin_native(model))
		return;
	train_check(model, philox_stream_capture_info(
				   model->device, model->stream, NULL, &id));
	train_pool_begin(model);
	body(model, slot);
	train_pool_end(model, model->status);
	end_native(model, &graph->native);
	instantiate(model, graph);
	if (!model->status)
		train_check(model, philox_graph_adopt(
					   model->context, id, graph->native,
					   graph->exec, &graph->graph));
}

static void count_added(struct train_model *model, size_t without,
			struct train_graph *graph)
{
	philox_native_graph native = NULL;

	if (model->status)
		return;
	train_check(model, philox_graph_native(graph->graph, &native, NULL));
	graph->nodes_added = count_nodes(model, native) - without;
}

void train_capture(struct train_model *model, enum train_capturer capturer,
		   train_body body, unsigned slot, struct train_graph *graph)
{
	size_t without = nodes_without(model, body, slot);

	memset(graph, 0, sizeof(*graph));
	memset(model->tickets, 0, sizeof(model->tickets));
	model->recording = graph;
	if (capturer == TRAIN_OURS)
		capture_ours(model, body, slot, graph);
	else
		capture_callers(model, body, slot, graph);
	model->recording = NULL;
	memset(model->tickets, 0, sizeof(model->tickets));
	count_added(model, without, graph);
}

void train_graph_close(struct train_model *model, struct train_graph *graph)
{
	train_check(model, philox_graph_destroy(graph->graph));
	train_check(model,
		    philox_native_exec_destroy(model->device, graph->exec));
	train_check(model,
		    philox_native_graph_destroy(model->device, graph->native));
	memset(graph, 0, sizeof(*graph));
}

/* --- replay --------------------------------------------------------------- */

void train_replay(struct train_model *model, struct train_graph *graph,
		  unsigned flags)
{
	struct philox_launch_pass uses[TRAIN_PASSES_MAX] = {0};
	enum philox_status status;

	if (model->status)
		return;
	for (size_t i = 0; i < graph->n_passes; i++) {
		if (graph->passes[i].kind == TRAIN_FORWARD ||
		    graph->passes[i].kind == TRAIN_UPDATE)
			continue;
		uses[i].ticket = *graph->passes[i].ticket;
		uses[i].flags = graph->passes[i].kind == TRAIN_RECOMPUTE
					? (unsigned)PHILOX_PASS_RETAIN
					: flags;
	}
	status = philox_graph_launch(graph->graph, model->stream, uses,
				     graph->n_passes);
	train_check(model, status);
	for (size_t i = 0; i < graph->n_passes && !model->status; i++)
		if (graph->passes[i].kind == TRAIN_FORWARD)
			*graph->passes[i].ticket = uses[i].ticket;
}
