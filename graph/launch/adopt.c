/*
 * graph/launch/adopt.c - captures made by the caller: adopted, or dropped
 */
#include <inttypes.h>
#include "graph/launch/graph.h"
#include "graph/pool/turns.h"

static enum philox_status find_unadopted(struct graph_context *graphs,
					 uint64_t id, struct capture **capture)
{
	enum philox_status status;

	capture_reap(graphs);
	status = capture_refuse_body(graphs, id);
	if (status != PHILOX_OK)
		return status;
	*capture = capture_find(graphs, id);
	if (!*capture)
		return status_set(
			PHILOX_ERROR_NOT_FOUND,
			"capture %" PRIu64
			" is not known: it had no philox pass and no session "
			"in a pool, or it was dropped or destroyed",
			id);
	if ((*capture)->graph)
		return status_set(PHILOX_ERROR_EXISTS,
				  "capture %" PRIu64 " was adopted as '%s'", id,
				  (*capture)->graph);
	return PHILOX_OK;
}

/* --- adopting ------------------------------------------------------------- */

/* The types differ, but a cast or a void pointer may have hidden it. */
static enum philox_status refuse_ours(const struct graph_context *graphs,
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

/*
 * An executable graph is tried with a new message. Of the native graph nothing
 * is needed but that it lives: the host device knows, and CUDA would follow the
 * pointer.
 */
static enum philox_status check_handles(const struct philox_context *context,
					philox_native_graph native,
					philox_native_exec exec)
{
	enum philox_status status =
		refuse_ours(context->graphs, native, "native graph");
	size_t nodes;

	if (status == PHILOX_OK)
		status = refuse_ours(context->graphs, exec, "executable graph");
	if (status != PHILOX_OK || !philox_device_is_host(context->device))
		return status;
	return philox_native_graph_nodes(context->device, native, &nodes);
}

/* A capture without a pass may have had a session in a pool. */
static enum philox_status find_session(struct graph_context *graphs,
				       uint64_t id)
{
	struct status_message kept;
	enum philox_status status;

	status_keep(&kept);
	status = pools_know(graphs, id);
	if (status == PHILOX_ERROR_NOT_FOUND)
		status_restore(&kept);
	return status;
}

static enum philox_status begin_adopting(struct philox_context *context,
					 uint64_t id,
					 philox_native_graph native,
					 philox_native_exec exec,
					 struct philox_graph **made)
{
	struct capture *capture;
	enum philox_status status;

	context_lock(context);
	status = find_unadopted(context->graphs, id, &capture);
	if (status == PHILOX_ERROR_NOT_FOUND &&
	    !capture_was_dropped(context->graphs, id))
		status = find_session(context->graphs, id);
	if (status == PHILOX_OK)
		status = check_handles(context, native, exec);
	if (status == PHILOX_OK)
		status = graph_begin(context->graphs, capture, id, made);
	context_unlock(context);
	return status;
}

static enum philox_status adopt(struct philox_context *context, uint64_t id,
				philox_native_graph native,
				philox_native_exec exec,
				struct philox_graph **graph)
{
	struct philox_graph *made;
	enum philox_status status =
		begin_adopting(context, id, native, exec, &made);

	if (status != PHILOX_OK)
		return status;
	made->native = native;
	made->exec = exec;
	status = graph_try(made);
	context_lock(context);
	if (status == PHILOX_OK && !made->capture)
		status = find_session(context->graphs, id); /* still */
	status = graph_end(made, status, graph);
	context_unlock(context);
	return status;
}

enum philox_status philox_graph_adopt(struct philox_context *context,
				      uint64_t capture_id,
				      philox_native_graph native,
				      philox_native_exec exec,
				      struct philox_graph **graph)
{
	enum philox_status status;

	if (!context)
		return context_null(NULL, "context");
	if (!native || !exec || !graph) {
		status = status_set(PHILOX_ERROR_INVALID,
				    "capture %" PRIu64 ": %s is NULL",
				    capture_id,
				    !native ? "native"
				    : !exec ? "exec"
					    : "graph");
		return graph_report_capture(context, status, capture_id);
	}
	NEED_PROCESS(context);
	status = adopt(context, capture_id, native, exec, graph);
	return graph_report_capture(context, status, capture_id);
}

/* --- dropping ------------------------------------------------------------- */

static enum philox_status refuse_session(struct graph_context *graphs,
					 uint64_t id)
{
	enum philox_status status = find_session(graphs, id);

	if (status != PHILOX_OK)
		return status;
	return status_set(PHILOX_ERROR_STATE,
			  "capture %" PRIu64
			  " has a session in a pool and nothing else to drop: "
			  "see philox_pool_end()",
			  id);
}

enum philox_status philox_capture_drop(struct philox_context *context,
				       uint64_t capture_id)
{
	struct capture *capture;
	enum philox_status status;

	if (!context)
		return context_null(NULL, "context");
	NEED_PROCESS(context);
	context_lock(context);
	status = find_unadopted(context->graphs, capture_id, &capture);
	if (status == PHILOX_ERROR_NOT_FOUND)
		status = refuse_session(context->graphs, capture_id);
	if (status == PHILOX_ERROR_EXISTS)
		status = status_set(PHILOX_ERROR_STATE,
				    "capture %" PRIu64
				    " was adopted: destroy its "
				    "graph",
				    capture_id);
	if (status == PHILOX_OK)
		status = capture_check_sealing(capture);
	if (status == PHILOX_OK)
		capture_drop(capture);
	context_unlock(context);
	return graph_report_capture(context, status, capture_id);
}
