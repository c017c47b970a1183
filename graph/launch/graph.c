/*
 * graph/launch/graph.c - graphs: made from captures, queried, destroyed
 *
 * Making a graph of a capture either succeeds or leaves the capture as it was.
 * The graph then owns the capture until it is destroyed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/launch/launch.h"
#include "graph/pool/pool.h"
#include "lib/containers/list.h"

/* The size of the struct's first version. */
#define INFO_SIZE_FIRST OPTIONS_FIRST(struct philox_graph_pass_info, iterations)
OPTIONS_NO_PADDING(struct philox_graph_pass_info, iterations);

enum philox_status graph_report(const struct philox_graph *graph,
				enum philox_status status,
				const struct philox_log_entry *about)
{
	struct philox_log_entry subject = {0};
	char name[sizeof(graph->name)];

	if (status == PHILOX_OK)
		return context_report(graph->context, PHILOX_OK, NULL);
	if (about)
		subject = *about;
	context_lock(graph->context);
	memcpy(name, graph->name, sizeof(name));
	context_unlock(graph->context);
	subject.graph = name;
	subject.capture_id = graph->capture_id;
	return context_report(graph->context, status, &subject);
}

enum philox_status graph_report_capture(struct philox_context *context,
					enum philox_status status, uint64_t id)
{
	struct philox_log_entry subject = {.capture_id = id};

	return context_report(context, status, &subject);
}

/* --- making --------------------------------------------------------------- */

/* The types differ, but a cast or a void pointer may have hidden it. */
enum philox_status graph_refuse(const struct graph_context *graphs,
				const void *handle, const char *noun)
{
	const struct philox_graph *graph = graphs->graphs;

	while (graph && (const void *)graph != handle)
		graph = graph->next;
	if (!graph)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "the %s is a struct philox_graph, '%s': see "
			  "philox_graph_native()",
			  noun, graph->name);
}

/* Sets a message that no launch uses, to check that exec has the node. */
static enum philox_status try_node(struct philox_graph *graph,
				   philox_native_exec exec)
{
	struct head *head = &graph->capture->head;
	struct kernel_call call;

	head_message_number(&graph->message, head, 0);
	call = head_call(head, &graph->message);
	return device_exec_set_kernel(graph->context->device, exec,
				      graph->capture->first.node, &call);
}

static void free_record(struct philox_graph *graph)
{
	head_message_finish(&graph->message);
	pthread_mutex_destroy(&graph->lock);
	free(graph->spare);
	free(graph);
}

static void write_times(const struct graph_times *times, char text[80])
{
	if (times->adopt)
		snprintf(text, 80, "adopt %" PRIu64, times->adopt);
	else
		snprintf(text, 80,
			 "capture end %" PRIu64 ", instantiate %" PRIu64,
			 times->end, times->instantiate);
}

static void post_adopted(const struct philox_graph *graph)
{
	const struct capture *capture = graph->capture;
	const struct graph_times *times = &graph->times;
	char regions[192], took[80];

	report_regions(capture, regions, sizeof(regions));
	write_times(times, took);
	journal_trace(graph->context, EVENT("capture-times", CAPTURE_TIMES),
		      journal_name(graph->name).text, times->end,
		      times->instantiate, times->adopt);
	log_post(graph->context, PHILOX_LOG_INFO, "capture adopted",
		 &(struct philox_log_entry){.graph = graph->name,
					    .capture_id = capture->id,
					    .nanoseconds = times->adopt +
							   times->end +
							   times->instantiate},
		 "capture %" PRIu64 " became '%s': %" PRIu32
		 " pass%s of %s (ns: %s)",
		 capture->id, graph->name, graph->n_uses,
		 status_es(graph->n_uses), regions, took);
}

static void write_params(struct philox_graph *graph)
{
	const struct capture *capture = graph->capture;

	for (uint32_t i = 0; i < capture->n_params; i++)
		graph->message.args->states[capture->params[i].slot] =
			capture->params[i].initial;
}

static enum philox_status seal_begin(struct philox_graph *graph)
{
	struct capture *capture = graph->capture;
	enum philox_status status = capture_seal_begin(capture);

	if (status != PHILOX_OK)
		return status;
	status = head_message_init(&graph->message, &capture->head,
				   capture->node_capacity);
	if (status == PHILOX_OK)
		write_params(graph);
	else
		capture_seal_end(capture, status);
	return status;
}

enum philox_status graph_begin(struct graph_context *graphs,
			       struct capture *capture, uint64_t id,
			       struct philox_graph **out)
{
	struct philox_graph *graph = calloc(1, sizeof(*graph));
	enum philox_status status = PHILOX_OK;

	if (!graph)
		return status_set(PHILOX_ERROR_MEMORY, "no memory for a graph");
	pthread_mutex_init(&graph->lock, NULL);
	graph->context = graphs->context;
	graph->capture = capture;
	graph->capture_id = id;
	if (capture)
		status = seal_begin(graph);
	if (status != PHILOX_OK) {
		free_record(graph);
		return status;
	}
	*out = graph;
	return PHILOX_OK;
}

/* Nothing tells of which template an executable graph is if that is gone. */
static enum philox_status try_exec(struct philox_graph *graph,
				   philox_native_exec exec)
{
	enum philox_status status;

	if (!graph->capture || graph_is_ahead(graph))
		return device_exec_check(graph->context->device, exec);
	status = try_node(graph, exec);
	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status,
			     "the executable graph is not of this capture: ");
}

enum philox_status graph_try(struct philox_graph *graph)
{
	enum philox_status status = try_exec(graph, graph->exec);

	if (status != PHILOX_OK || !graph_is_ahead(graph))
		return status;
	return head_prepare_ahead(graph->context->device,
				  &graph->capture->head);
}

static void enlist(struct philox_graph *graph)
{
	struct graph_context *graphs = graph->context->graphs;

	snprintf(graph->name, sizeof(graph->name), "graph %" PRIu64,
		 ++graphs->graph_count);
	LIST_ADD(&graphs->graphs, graph);
}

enum philox_status graph_end(struct philox_graph *graph,
			     enum philox_status status,
			     struct philox_graph **out)
{
	struct capture *capture = graph->capture;

	if (capture)
		status = capture_seal_end(capture, status);
	if (status != PHILOX_OK) {
		free_record(graph);
		return status;
	}
	enlist(graph);
	pools_attach(graph->context->graphs, graph->capture_id, graph->name,
		     &graph->pools);
	if (!graph->ours)
		pools_show(graph->pools);
	if (capture) {
		if (graph_is_ahead(graph))
			head_run_ahead(&capture->head);
		bodies_arm(capture, &graph->message);
		graph->n_uses = capture->n_passes;
		capture_adopt(capture, graph->name);
		journal_capture(capture);
		post_adopted(graph);
	}
	*out = graph;
	return PHILOX_OK;
}

/* Its capture, with the memory of its head and the cells that that fills. */
static uint64_t bytes_of_capture(const struct capture *capture)
{
	const struct head *head = &capture->head;

	return sizeof(*capture) +
	       capture->capacity * sizeof(struct captured_pass) +
	       capture->n_params * sizeof(struct captured_param) +
	       capture->program.room * sizeof(struct program_step) +
	       head->report.size + head->open.size + head->staged.size +
	       head->sealed.size + head->cells * sizeof(struct philox_state);
}

uint64_t graph_bytes(const struct philox_graph *graph)
{
	uint64_t bytes = sizeof(*graph) + sizeof(struct launch) +
			 graph->n_uses * sizeof(struct claim);

	return graph->capture ? bytes + bytes_of_capture(graph->capture)
			      : bytes;
}

void graph_free(struct philox_graph *graph)
{
	struct philox_device *device = graph->context->device;
	const struct status_message kept = status_kept();

	if (graph->ours) {
		philox_native_exec_destroy(device, graph->exec);
		philox_native_graph_destroy(device, graph->native);
	}
	free_record(graph);
	status_restore(&kept);
}

/* --- destroying and queries ----------------------------------------------- */

static enum philox_status unlink_graph(struct philox_graph *graph)
{
	int busy;

	pthread_mutex_lock(&graph->lock);
	busy = graph->open != NULL;
	pthread_mutex_unlock(&graph->lock);
	if (busy)
		return status_set(PHILOX_ERROR_BUSY,
				  "'%s' is between prologue and epilogue",
				  graph->name);
	context_lock(graph->context);
	LIST_REMOVE(graph);
	journal_write(graph->context, EVENT("graph-destroy", GRAPH),
		      journal_name(graph->name).text);
	if (graph->capture)
		capture_release(graph->capture);
	pools_detach(&graph->pools, graph->ours && !graph->shown);
	context_unlock(graph->context);
	return PHILOX_OK;
}

enum philox_status philox_graph_destroy(struct philox_graph *graph)
{
	struct philox_context *context;
	enum philox_status status;

	if (!graph)
		return PHILOX_OK;
	context = graph->context;
	NEED_PROCESS(context);
	status = unlink_graph(graph);
	if (status != PHILOX_OK)
		return graph_report(graph, status, NULL);
	graph_free(graph);
	context_lock(context);
	capture_reap(context->graphs);
	context_unlock(context);
	return context_report(context, PHILOX_OK, NULL);
}

size_t philox_graph_pass_count(const struct philox_graph *graph)
{
	return graph ? graph->n_uses : 0;
}

enum philox_status philox_graph_get_pass_info(
	const struct philox_graph *graph, size_t index,
	struct philox_graph_pass_info *info)
{
	const struct captured_pass *captured;
	struct philox_graph_pass_info found;
	enum philox_status status;

	if (!graph)
		return context_null(NULL, "graph");
	if (!info)
		return context_null(graph->context, "info");
	NEED_PROCESS(graph->context);
	status = options_check_room("info", info->size, INFO_SIZE_FIRST,
				    sizeof(*info));
	if (status != PHILOX_OK)
		return graph_report(graph, status, NULL);
	if (index >= graph->n_uses)
		return graph_report(graph,
				    status_set(PHILOX_ERROR_INVALID,
					       "'%s' has %" PRIu32
					       " pass%s: there is no pass %zu",
					       graph->name, graph->n_uses,
					       status_es(graph->n_uses), index),
				    NULL);
	captured = &graph->capture->passes[index];
	found = (struct philox_graph_pass_info){
		.region = captured->region->name,
		.flags = captured->flags,
		.backward = captured->backward,
		.named = (uint8_t)capture_is_named(captured),
		.forward = captured->source,
		.iterations = captured->iterations,
	};
	options_write(info, &found, sizeof(found));
	return PHILOX_OK;
}

/* A reader needs one of the two locks. */
enum philox_status philox_graph_set_name(struct philox_graph *graph,
					 const char *name)
{
	enum philox_status status;

	if (!graph)
		return context_null(NULL, "graph");
	if (!name)
		return context_null(graph->context, "name");
	NEED_PROCESS(graph->context);
	status = name_check(name, "'%s': its new name", graph->name);
	if (status != PHILOX_OK)
		return graph_report(graph, status, NULL);
	pthread_mutex_lock(&graph->lock);
	context_lock(graph->context);
	snprintf(graph->name, sizeof(graph->name), "%s", name);
	context_unlock(graph->context);
	pthread_mutex_unlock(&graph->lock);
	return PHILOX_OK;
}

const char *philox_graph_name(const struct philox_graph *graph)
{
	return graph ? graph->name : "";
}

static enum philox_status take_exec(struct philox_graph *graph,
				    philox_native_exec exec)
{
	enum philox_status status;

	if (graph->ours)
		return status_set(PHILOX_ERROR_STATE,
				  "'%s' is the library's, with its executable "
				  "graph",
				  graph->name);
	if (graph->open)
		return status_set(PHILOX_ERROR_BUSY,
				  "'%s' is between prologue and epilogue",
				  graph->name);
	context_lock(graph->context);
	status = graph_refuse(graph->context->graphs, exec, "executable graph");
	context_unlock(graph->context);
	if (status == PHILOX_OK)
		status = try_exec(graph, exec);
	if (status == PHILOX_OK)
		__atomic_store_n(&graph->exec, exec, __ATOMIC_RELEASE);
	return status;
}

enum philox_status philox_graph_set_exec(struct philox_graph *graph,
					 philox_native_exec exec)
{
	enum philox_status status;

	if (!graph)
		return context_null(NULL, "graph");
	if (!exec)
		return context_null(graph->context, "exec");
	NEED_PROCESS(graph->context);
	pthread_mutex_lock(&graph->lock);
	status = take_exec(graph, exec);
	pthread_mutex_unlock(&graph->lock);
	return graph_report(graph, status, NULL);
}

enum philox_status philox_graph_native(const struct philox_graph *graph,
				       philox_native_graph *native,
				       philox_native_exec *exec)
{
	/* the caller's const is about what it sees; graphs are ours */
	struct philox_graph *of = (struct philox_graph *)graph;

	if (!graph)
		return context_null(NULL, "graph");
	atomic_store(&of->shown, 1);
	pools_show(graph->pools);
	if (native)
		*native = graph->native;
	if (exec) /* without a lock, which a child of fork() might not get */
		*exec = __atomic_load_n(&of->exec, __ATOMIC_ACQUIRE);
	return PHILOX_OK;
}
