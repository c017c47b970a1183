/*
 * graph/launch/capture_end.c - captures that the library itself begins and
 * ends
 *
 * The streams on which they began are remembered, so that ending a capture on
 * another stream is refused before it does harm. Guarded by the context's lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "graph/launch/launch.h"
#include "graph/pool/pool.h"
#include "lib/containers/list.h"

/* A capture that philox_capture_begin() began. */
struct own_capture {
	struct own_capture *next, **link;
	philox_stream stream;
	pthread_t thread; /* one handle may mean a stream per thread */
	uint64_t id;      /* the device's */
	int begun;
	char broken[128]; /* the first call that found it invalidated */
};

/* The capture begun on a stream by this thread, which alone can end it. */
static struct own_capture *find_own(const struct graph_context *graphs,
				    philox_stream stream)
{
	const struct map *map = &graphs->own_by_stream;
	const struct map_entry *entry = map_find(map, (uintptr_t)stream);
	struct own_capture *own = NULL;

	for (; entry; entry = map_find_next(map, entry)) {
		own = entry->value;
		if (pthread_equal(own->thread, pthread_self()))
			return own;
	}
	return NULL;
}

static void drop_entry(struct graph_context *graphs, struct own_capture *own)
{
	LIST_REMOVE(own);
	map_remove(&graphs->own_by_stream, (uintptr_t)own->stream, own);
	graphs->own_begun -= (size_t)own->begun;
	free(own);
}

static void forget_own(struct graph_context *graphs, philox_stream stream)
{
	struct own_capture *own = find_own(graphs, stream);

	if (own)
		drop_entry(graphs, own);
}

void own_note_broken(struct philox_context *context, philox_stream stream,
		     const char *call)
{
	struct own_capture *own = find_own(context->graphs, stream);

	if (own && !own->broken[0])
		snprintf(own->broken, sizeof(own->broken), "%s", call);
}

void own_finish(struct graph_context *graphs)
{
	struct own_capture *own;

	while ((own = graphs->own)) {
		graphs->own = own->next;
		free(own);
	}
	map_finish(&graphs->own_by_stream);
}

/* Begins a capture and asks for its id, which is lost on invalidation. */
static enum philox_status begin(struct philox_device *device,
				philox_stream stream, uint64_t *id)
{
	struct capture_info info;
	philox_native_graph native;
	enum philox_status status;

	status = philox_stream_begin_capture(device, stream,
					     PHILOX_CAPTURE_THREAD_LOCAL);
	if (status != PHILOX_OK)
		return status;
	status = device_capture_info(device, stream, &info);
	if (status == PHILOX_OK) {
		*id = info.id;
		return PHILOX_OK;
	}
	if (philox_stream_end_capture(device, stream, &native) == PHILOX_OK)
		philox_native_graph_destroy(device, native);
	return status;
}

static void list_own(struct graph_context *graphs, struct own_capture *own)
{
	LIST_ADD(&graphs->own, own);
	map_put(&graphs->own_by_stream, (uintptr_t)own->stream, own);
}

/* Listed before it begins: nothing may fail once the stream captures. */
static struct own_capture *make_own_capture(struct philox_context *context,
					    philox_stream stream)
{
	struct graph_context *graphs = context->graphs;
	struct own_capture *own = calloc(1, sizeof(*own));

	if (!own)
		return NULL;
	own->stream = stream;
	own->thread = pthread_self();
	context_lock(context);
	if (map_reserve(&graphs->own_by_stream,
			graphs->own_by_stream.count + 1)) {
		list_own(graphs, own);
	} else {
		free(own);
		own = NULL;
	}
	context_unlock(context);
	return own;
}

/* If it has begun, one before it on the stream has ended without us. */
static void settle_own(struct philox_context *context, struct own_capture *own,
		       int begun)
{
	struct own_capture *first;

	context_lock(context);
	first = find_own(context->graphs, own->stream);
	own->begun = begun;
	context->graphs->own_begun += (size_t)begun;
	if (!begun)
		drop_entry(context->graphs, own);
	else if (first != own)
		drop_entry(context->graphs, first);
	context_unlock(context);
}

enum philox_status own_begin(struct philox_context *context,
			     philox_stream stream, uint64_t *id)
{
	struct own_capture *own = make_own_capture(context, stream);
	enum philox_status status;

	if (!own)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a capture");
	status = begin(context->device, stream, &own->id);
	if (status == PHILOX_OK)
		*id = own->id;
	settle_own(context, own, status == PHILOX_OK);
	return status;
}

enum philox_status philox_capture_begin(struct philox_context *context,
					philox_stream stream)
{
	enum philox_status status;
	uint64_t id;

	if (!context)
		return context_null(NULL, "context");
	NEED_PROCESS(context);
	status = own_begin(context, stream, &id);
	return status == PHILOX_OK ? PHILOX_OK
				   : context_report(context, status, NULL);
}

/* One that ended without us must not be mistaken for the current one. */
static int has_ended(const struct own_capture *own,
		     const struct capture_info *info)
{
	return info->status == PHILOX_CAPTURE_NONE ||
	       (info->status == PHILOX_CAPTURE_ACTIVE && own->id != info->id);
}

static int is_recording(struct philox_device *device,
			const struct own_capture *own)
{
	const struct status_message kept = status_kept();
	struct capture_info info;
	int records = pthread_equal(own->thread, pthread_self()) &&
		      device_capture_info(device, own->stream, &info) ==
			      PHILOX_OK &&
		      !has_ended(own, &info);

	status_restore(&kept);
	return records;
}

uint64_t own_here(struct philox_context *context)
{
	const struct own_capture *own = context->graphs->own;

	while (own && !is_recording(context->device, own))
		own = own->next;
	return own ? own->id : 0;
}

static enum philox_status find_origin(struct graph_context *graphs,
				      philox_stream stream,
				      const struct capture_info *info,
				      uint64_t *id)
{
	struct own_capture *own = find_own(graphs, stream);

	if (own && has_ended(own, info)) {
		forget_own(graphs, stream);
		own = NULL;
	}
	if (info->status == PHILOX_CAPTURE_NONE)
		return status_set(PHILOX_ERROR_STATE,
				  "the stream is not capturing");
	if (!own && capture_refuse_body(graphs, info->id) != PHILOX_OK)
		return status_set(PHILOX_ERROR_CAPTURE_UNMATCHED,
				  "the stream captures the body of a "
				  "conditional node, which "
				  "philox_conditional_end() ends");
	if (!own)
		return status_set(PHILOX_ERROR_CAPTURE_UNMATCHED,
				  "the capture began on another stream or "
				  "thread, or not by philox_capture_begin(); "
				  "it continues");
	*id = own->id;
	return PHILOX_OK;
}

/* Whether a capture of ours began on this stream, and which. */
static enum philox_status check_origin(struct philox_context *context,
				       philox_stream stream, uint64_t *id)
{
	struct capture_info info;
	enum philox_status status;

	status = device_capture_info(context->device, stream, &info);
	if (status != PHILOX_OK)
		return status;
	context_lock(context);
	status = find_origin(context->graphs, stream, &info, id);
	context_unlock(context);
	return status;
}

/* Adds what is known about a capture that gave no graph to the message. */
static void drop_failed(struct graph_context *graphs, philox_stream stream,
			uint64_t id)
{
	const struct own_capture *own = find_own(graphs, stream);
	struct capture *capture = capture_find(graphs, id);

	if (capture && capture->last[0])
		status_prefix(PHILOX_OK, "still valid at %s; ", capture->last);
	if (own && own->broken[0])
		status_prefix(PHILOX_OK, "found invalidated by %s; ",
			      own->broken);
	if (capture)
		capture_drop(capture);
}

static enum philox_status begin_graph(struct philox_context *context,
				      uint64_t id, struct capture **capture,
				      struct philox_graph **made)
{
	enum philox_status status;

	context_lock(context);
	*capture = capture_find(context->graphs, id);
	if (!*capture && capture_was_dropped(context->graphs, id))
		status = status_set(PHILOX_ERROR_STATE,
				    "capture %" PRIu64 " was dropped", id);
	else
		status = graph_begin(context->graphs, *capture, id, made);
	context_unlock(context);
	return status;
}

#define INSTANTIATE_ALL \
	(PHILOX_INSTANTIATE_AUTO_FREE | PHILOX_INSTANTIATE_NODE_PRIORITY)

enum philox_status philox_context_set_instantiate(
	struct philox_context *context, uint32_t flags)
{
	if (!context)
		return context_null(NULL, "context");
	NEED_PROCESS(context);
	if (flags & ~(uint32_t)INSTANTIATE_ALL)
		return context_report(context,
				      status_set(PHILOX_ERROR_INVALID,
						 "flags %#" PRIx32 ": not of "
						 "enum philox_instantiate",
						 flags),
				      NULL);
	context_lock(context);
	context->graphs->instantiate = flags;
	context_unlock(context);
	return context_report(context, PHILOX_OK, NULL);
}

static uint32_t flags_now(struct philox_context *context)
{
	uint32_t flags;

	context_lock(context);
	flags = context->graphs->instantiate;
	context_unlock(context);
	return flags;
}

/* Makes a graph; a native graph of which none was made goes with its capture. */
static enum philox_status make_own(struct philox_context *context,
				   struct philox_graph *made,
				   philox_native_graph native,
				   struct philox_graph **graph)
{
	struct philox_device *device = context->device;
	philox_native_exec exec = NULL;
	const uint64_t began = clock_now();
	enum philox_status status;

	status = device_exec_create(device, native, flags_now(context), &exec);
	made->times.instantiate = clock_now() - began;
	made->native = native;
	made->exec = exec;
	if (status == PHILOX_OK)
		status = graph_try(made);
	context_lock(context);
	made->ours = 1;
	status = graph_end(made, status, graph);
	context_unlock(context);
	if (status != PHILOX_OK && exec)
		philox_native_exec_destroy(device, exec);
	return status;
}

static void drop_own(struct philox_context *context, uint64_t id)
{
	struct capture *capture;

	context_lock(context);
	capture = capture_find(context->graphs, id);
	if (capture && capture_check_sealing(capture) == PHILOX_OK)
		capture_drop(capture);
	context_unlock(context);
}

/*
 * Instantiating takes long and may wait for the device, so the context is not
 * locked meanwhile.
 */
static enum philox_status end_own(struct philox_context *context, uint64_t id,
				  philox_native_graph native, uint64_t took,
				  struct philox_graph **graph)
{
	struct philox_graph *made;
	struct capture *capture;
	enum philox_status status = begin_graph(context, id, &capture, &made);

	if (status == PHILOX_OK) {
		made->times.end = took;
		status = make_own(context, made, native, graph);
	}
	if (status != PHILOX_OK) {
		const struct status_message kept = status_kept();

		philox_native_graph_destroy(context->device, native);
		if (capture)
			drop_own(context, id);
		status_restore(&kept);
	}
	return status;
}

/* Whether a capture that could not be ended is still in progress. */
static int goes_on(struct philox_context *context, philox_stream stream,
		   enum philox_status status)
{
	const struct status_message kept = status_kept();
	struct capture_info info = {.status = PHILOX_CAPTURE_NONE};

	if (device_capture_info(context->device, stream, &info) != PHILOX_OK)
		info.status = PHILOX_CAPTURE_NONE;
	status_restore(&kept);
	return status == PHILOX_ERROR_CAPTURE_WRONG_THREAD ||
	       info.status != PHILOX_CAPTURE_NONE;
}

/* Those that were left open prevent the graph, but keep no stream. */
static void close_bodies(struct philox_context *context, uint64_t id)
{
	struct capture *capture;

	context_lock(context);
	capture = capture_find(context->graphs, id);
	if (capture)
		bodies_close(capture, CAPTURED_NO_BODY);
	context_unlock(context);
}

enum philox_status own_end(struct philox_context *context, philox_stream stream,
			   struct philox_graph **graph, uint64_t *id)
{
	philox_native_graph native = NULL;
	const uint64_t began = clock_now();
	enum philox_status status = check_origin(context, stream, id);

	if (status != PHILOX_OK)
		return status;
	close_bodies(context, *id);
	status = philox_stream_end_capture(context->device, stream, &native);
	if (status != PHILOX_OK && goes_on(context, stream, status))
		return status;
	if (status == PHILOX_OK)
		status = end_own(context, *id, native, clock_now() - began,
				 graph);
	context_lock(context);
	if (!native)
		drop_failed(context->graphs, stream, *id);
	if (status != PHILOX_OK) {
		bodies_give_up(context->graphs, *id);
		pools_drop(context->graphs, *id);
	}
	forget_own(context->graphs, stream);
	context_unlock(context);
	return status;
}

void own_cancel(struct philox_context *context, philox_stream stream)
{
	philox_native_graph native = NULL;
	struct capture *capture;
	enum philox_status status;
	uint64_t id;

	if (check_origin(context, stream, &id) != PHILOX_OK)
		return;
	close_bodies(context, id);
	status = philox_stream_end_capture(context->device, stream, &native);
	if (status == PHILOX_OK)
		philox_native_graph_destroy(context->device, native);
	else if (goes_on(context, stream, status))
		return; /* to be tried again */
	context_lock(context);
	bodies_give_up(context->graphs, id);
	capture = capture_find(context->graphs, id);
	if (capture)
		capture_drop(capture);
	pools_drop(context->graphs, id);
	forget_own(context->graphs, stream);
	context_unlock(context);
}

enum philox_status philox_capture_end(struct philox_context *context,
				      philox_stream stream,
				      struct philox_graph **graph)
{
	enum philox_status status;
	uint64_t id = 0;

	if (!context)
		return context_null(NULL, "context");
	if (!graph)
		return context_null(context, "graph");
	status = own_end(context, stream, graph, &id);
	return graph_report_capture(context, status, id);
}

/* --- adopt: captures made by the caller: adopted, or dropped -------------- */

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

/*
 * An executable graph is tried with a new message. Of the native graph nothing
 * is needed but that it lives: the host device knows, and CUDA would follow the
 * pointer.
 */
static enum philox_status check_handles(const struct philox_context *context,
					philox_native_graph native,
					philox_native_exec exec)
{
	enum philox_status status = PHILOX_OK;
	size_t nodes;

	if (native)
		status = graph_refuse(context->graphs, native, "native graph");
	if (status == PHILOX_OK)
		status =
			graph_refuse(context->graphs, exec, "executable graph");
	if (status != PHILOX_OK || !native ||
	    !philox_device_is_host(context->device))
		return status;
	return philox_native_graph_node_count(context->device, native, &nodes);
}

/* A capture without a pass may have had a session in a pool. */
static enum philox_status find_session(struct graph_context *graphs,
				       uint64_t id)
{
	const struct status_message kept = status_kept();
	const enum philox_status status = pools_know(graphs, id);

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
	const struct status_message kept = status_kept();
	struct capture *capture;
	enum philox_status status;

	context_lock(context);
	status = find_unadopted(context->graphs, id, &capture);
	if (status == PHILOX_ERROR_NOT_FOUND &&
	    !capture_was_dropped(context->graphs, id)) {
		status = find_session(context->graphs, id);
		if (status == PHILOX_OK)
			status_restore(&kept);
	}
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
	const uint64_t began = clock_now();
	enum philox_status status =
		begin_adopting(context, id, native, exec, &made);

	if (status != PHILOX_OK)
		return status;
	made->native = native;
	made->exec = exec;
	status = graph_try(made);
	made->times.adopt = clock_now() - began;
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
	if (!exec || !graph) {
		status = status_set(PHILOX_ERROR_INVALID,
				    "capture %" PRIu64 ": %s is NULL",
				    capture_id, !exec ? "exec" : "graph");
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
			  "see philox_pool_session_end()",
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
