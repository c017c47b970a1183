/*
 * lib/device/host/capture.c - beginning, ending and querying captures
 *
 * A capture is a graph that grows at the ends of its streams: each stream in it
 * has the set of nodes that its next node will depend on. Guarded by the
 * device's lock; ids are unique in the process.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/device/device.h"
#include "lib/device/host/host.h"

static atomic_uint_fast64_t last_capture_id;
static atomic_uint_fast64_t last_thread_number;
static _Thread_local uint64_t thread_number;

/* A number for each thread, unlike pthread_self() never used again. */
static uint64_t this_thread(void)
{
	if (!thread_number)
		thread_number = atomic_fetch_add(&last_thread_number, 1) + 1;
	return thread_number;
}

/* --- the stream of a handle ----------------------------------------------- */

/*
 * The legacy stream would wait for every blocking stream, captures included.
 * Work on it breaks those; a question does not, as cudaStreamIsCapturing() says
 * in CUDA's header.
 */
static enum philox_status legacy_is_free(struct host_device *device,
					 const char *what, int work)
{
	enum philox_status status = PHILOX_OK;

	for (struct host_stream *stream = device->blocking; stream;
	     stream = stream->next_blocking) {
		if (!stream->capture)
			continue;
		if (work)
			host_invalidate(device, stream->capture,
					"%s on the legacy stream, which waits "
					"for all blocking streams",
					what);
		status = PHILOX_ERROR_CAPTURE_IMPLICIT;
	}
	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_set(status,
			  "%s: the legacy stream would wait for a blocking "
			  "stream that is capturing",
			  what);
}

static enum philox_status find_stream(struct host_device *device,
				      philox_stream handle, const char *what,
				      int work, struct host_stream **stream)
{
	struct host_object *object;
	enum philox_status status;

	if (handle) {
		object = host_find(device, HOST_STREAM, handle);
		if (!object)
			return host_not_alive(device, handle, what, "stream");
		*stream = (struct host_stream *)object;
		return PHILOX_OK;
	}
	status = legacy_is_free(device, what, work);
	if (status != PHILOX_OK)
		return status;
	*stream = &device->legacy;
	return PHILOX_OK;
}

enum philox_status host_stream_find(struct host_device *device,
				    philox_stream handle, const char *what,
				    struct host_stream **stream)
{
	return find_stream(device, handle, what, 1, stream);
}

/* --- beginning and ending ----------------------------------------------- */

static void enter_capture(struct host_stream *stream,
			  struct host_capture *capture)
{
	if (stream->capture == capture)
		return;
	stream->capture = capture;
	stream->also = capture->streams;
	capture->streams = stream;
}

/* Into a graph that is there, or a new one if that is NULL. */
static enum philox_status capture_open(struct host_device *device,
				       struct host_stream *stream,
				       struct host_graph *into,
				       enum philox_capture_mode mode)
{
	struct host_capture *capture = calloc(1, sizeof(*capture));

	if (!capture || !map_reserve(&device->captures_by_id,
				     device->captures_by_id.count + 1)) {
		free(capture);
		return host_no_memory("a capture");
	}
	capture->into = into != NULL;
	capture->graph = into ? into : host_graph_create(device);
	if (!capture->graph) {
		free(capture);
		return host_no_memory("a graph");
	}
	capture->graph->capturing = 1;
	capture->id = atomic_fetch_add(&last_capture_id, 1) + 1;
	capture->mode = mode;
	capture->thread = this_thread();
	capture->origin = stream;
	LIST_ADD(&device->captures, capture);
	map_put(&device->captures_by_id, capture->id, capture);
	enter_capture(stream, capture);
	return PHILOX_OK;
}

/* The stream of a handle, on which a capture may begin. */
static enum philox_status find_idle(struct host_device *device,
				    philox_stream handle, const char *what,
				    struct host_stream **stream)
{
	enum philox_status status;

	if (!handle)
		return status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
				  "%s: the legacy stream cannot capture", what);
	status = host_stream_find(device, handle, what, stream);
	if (status == PHILOX_OK && (*stream)->capture)
		status = status_set(PHILOX_ERROR_STATE,
				    "%s: the stream is in capture %" PRIu64
				    " already",
				    what, (*stream)->capture->id);
	return status;
}

enum philox_status host_capture_begin(struct philox_device *base,
				      philox_stream handle,
				      enum philox_capture_mode mode)
{
	static const char what[] = "philox_stream_begin_capture";
	struct host_device *device = host_enter(base);
	struct host_stream *stream;
	enum philox_status status = find_idle(device, handle, what, &stream);

	if (status == PHILOX_OK)
		status = capture_open(device, stream, NULL, mode);
	return host_leave(device, status);
}

/* CUDA does not say which graphs it adds a second capture to. */
static enum philox_status check_can_grow(const struct host_graph *graph,
					 const char *what)
{
	if (graph->capturing)
		return status_set(PHILOX_ERROR_STATE,
				  "%s: the graph is being captured already",
				  what);
	if (graph->broken)
		return status_set(PHILOX_ERROR_STATE,
				  "%s: a capture into this graph was "
				  "invalidated before",
				  what);
	return PHILOX_OK;
}

enum philox_status host_capture_begin_to(struct philox_device *base,
					 philox_stream handle,
					 philox_native_graph graph_handle,
					 enum philox_capture_mode mode)
{
	static const char what[] = "capture_begin_to";
	struct host_device *device = host_enter(base);
	struct host_stream *stream;
	struct host_graph *graph;
	enum philox_status status = find_idle(device, handle, what, &stream);

	if (status == PHILOX_OK)
		status = host_graph_find(device, graph_handle, what, &graph);
	if (status == PHILOX_OK)
		status = check_can_grow(graph, what);
	if (status == PHILOX_OK)
		status = capture_open(device, stream, graph, mode);
	return host_leave(device, status);
}

void host_capture_over(struct host_device *device, struct host_capture *capture)
{
	host_forget_nodes(capture);
	for (struct host_stream *stream = capture->streams; stream;
	     stream = stream->also)
		stream->capture = NULL;
	LIST_REMOVE(capture);
	map_remove(&device->captures_by_id, capture->id, capture);
	free(capture);
}

/* Errors after which the capture continues. */
static enum philox_status check_can_end(struct host_device *device,
					struct host_stream *stream,
					const char *what)
{
	struct host_capture *capture = stream->capture;

	if (!capture)
		return status_set(PHILOX_ERROR_STATE,
				  "%s: the stream is not capturing", what);
	if (capture->mode != PHILOX_CAPTURE_RELAXED &&
	    capture->thread != this_thread())
		return status_set(PHILOX_ERROR_CAPTURE_WRONG_THREAD,
				  "%s: capture %" PRIu64
				  " began on another thread",
				  what, capture->id);
	if (capture->origin == stream)
		return PHILOX_OK;
	host_invalidate(device, capture, "%s on a stream it did not begin on",
			what);
	return status_set(PHILOX_ERROR_CAPTURE_UNMATCHED,
			  "%s: capture %" PRIu64 " began on another stream",
			  what, capture->id);
}

/* Marks `nodes` and all that they depend on. */
static void mark_ancestors(const struct host_graph *graph,
			   const struct host_nodes *nodes, unsigned char *mark)
{
	for (size_t i = 0; i < nodes->count; i++)
		mark[nodes->items[i]->index] = 1;
	/* Edges lead to higher indices only, so one sweep down is enough. */
	for (size_t i = graph->nodes.count; i-- > 0;) {
		const struct host_nodes *deps = &graph->nodes.items[i]->deps;

		for (size_t k = 0; mark[i] && k < deps->count; k++)
			mark[deps->items[k]->index] = 1;
	}
}

static int all_marked(const struct host_nodes *nodes, const unsigned char *mark)
{
	for (size_t i = 0; i < nodes->count; i++)
		if (!mark[nodes->items[i]->index])
			return 0;
	return 1;
}

/* A fork is joined when the origin depends on all of its last nodes. */
static enum philox_status check_joined(const struct host_capture *capture,
				       const char *what)
{
	unsigned char *mark = calloc(capture->graph->nodes.count + 1, 1);
	enum philox_status status = PHILOX_OK;

	if (!mark)
		return host_no_memory("the check of forks");
	mark_ancestors(capture->graph, &capture->origin->deps, mark);
	for (struct host_stream *stream = capture->streams; stream;
	     stream = stream->also)
		if (!all_marked(&stream->deps, mark))
			status = status_set(
				PHILOX_ERROR_CAPTURE_UNJOINED,
				"%s: stream %p was forked from capture %" PRIu64
				" and not joined to it",
				what, (void *)stream, capture->id);
	free(mark);
	return status;
}

enum philox_status host_capture_end(struct philox_device *base,
				    philox_stream handle,
				    philox_native_graph *result)
{
	static const char what[] = "philox_stream_end_capture";
	struct host_device *device = host_of(base);
	struct host_capture *capture;
	struct host_stream *stream;
	struct host_graph *graph;
	enum philox_status status;
	int into;

	if (!handle)
		return status_set(PHILOX_ERROR_STATE,
				  "%s: the legacy stream never captures", what);
	host_lock(device);
	status = host_stream_find(device, handle, what, &stream);
	if (status == PHILOX_OK)
		status = check_can_end(device, stream, what);
	if (status != PHILOX_OK)
		goto unlock;
	capture = stream->capture;
	graph = capture->graph;
	into = capture->into;
	status = host_capture_check(capture, what);
	if (status == PHILOX_OK)
		status = check_joined(capture, what);
	host_capture_over(device, capture);
	if (graph) {
		graph->capturing = 0;
		graph->broken = status != PHILOX_OK;
	}
	if (status == PHILOX_OK)
		*result = (philox_native_graph)graph;
	else if (graph && !into)
		host_graph_free(device, graph);
unlock:
	return host_leave(device, status);
}

/* --- asking --------------------------------------------------------------- */

static void describe(const struct host_stream *stream,
		     struct capture_info *info)
{
	const struct host_capture *capture = stream->capture;

	info->status = PHILOX_CAPTURE_NONE;
	info->id = 0;
	info->graph = NULL;
	if (!capture)
		return;
	info->status = capture->graph ? PHILOX_CAPTURE_ACTIVE
				      : PHILOX_CAPTURE_INVALIDATED;
	info->id = capture->id;
	info->graph = (philox_native_graph)capture->graph;
	info->tips.n = CAPTURE_TIPS;
	if (capture->graph)
		host_nodes_show(&stream->deps, info->tips.nodes, &info->tips.n);
}

enum philox_status host_capture_info(struct philox_device *base,
				     philox_stream handle,
				     struct capture_info *info)
{
	struct host_device *device = host_enter(base);
	struct host_stream *stream;
	enum philox_status status = find_stream(
		device, handle, "philox_stream_capture_info", 0, &stream);

	if (status == PHILOX_OK)
		describe(stream, info);
	host_unlock(device);
	return status;
}

/* --- rules: what a capture permits, and what breaks it -------------------- */

/*
 * The rules are CUDA's, each with a status of its own. A capture that broke one
 * is invalidated: its graph is freed at once, the reason is kept for later
 * errors, and its streams stay in it until it is ended. Guarded by the device's
 * lock, except for the mode of each thread, which only that thread uses.
 */

static _Thread_local enum philox_capture_mode thread_mode =
	PHILOX_CAPTURE_GLOBAL;

struct host_capture *host_capture_of(struct host_device *device, uint64_t id)
{
	return map_value(&device->captures_by_id, id);
}

enum philox_status host_capture_check(const struct host_capture *capture,
				      const char *what)
{
	if (capture->graph)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_CAPTURE_INVALIDATED,
			  "%s: capture %" PRIu64 " was invalidated by %s", what,
			  capture->id, capture->reason);
}

static int forbids_unsafe(const struct host_capture *capture)
{
	if (thread_mode == PHILOX_CAPTURE_RELAXED ||
	    capture->mode == PHILOX_CAPTURE_RELAXED)
		return 0;
	if (capture->thread == this_thread())
		return 1;
	return thread_mode == PHILOX_CAPTURE_GLOBAL &&
	       capture->mode == PHILOX_CAPTURE_GLOBAL;
}

static int forbids_always(const struct host_capture *capture)
{
	(void)capture;
	return 1;
}

static enum philox_status refuse_unsafe(
	struct host_device *device, const char *what,
	int (*forbids)(const struct host_capture *capture))
{
	uint64_t id = 0;

	if (thread_mode == PHILOX_CAPTURE_RELAXED && forbids == forbids_unsafe)
		return PHILOX_OK;
	for (struct host_capture *capture = device->captures; capture;
	     capture = capture->next) {
		if (!forbids(capture))
			continue;
		host_invalidate(device, capture,
				"%s, which is unsafe during it",
				device_caller(what));
		id = capture->id;
	}
	if (!id)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
			  "%s: not permitted while capture %" PRIu64
			  " is in progress",
			  what, id);
}

enum philox_status host_unsafe(struct host_device *device, const char *what)
{
	return refuse_unsafe(device, what, forbids_unsafe);
}

enum philox_status host_unsafe_always(struct host_device *device,
				      const char *what)
{
	return refuse_unsafe(device, what, forbids_always);
}

/* --- growing a capture ---------------------------------------------------- */

enum philox_status host_record(struct host_device *device,
			       struct host_stream *stream,
			       struct host_work *work, const char *what)
{
	enum philox_status status = host_capture_check(stream->capture, what);
	struct host_node *node;

	if (status == PHILOX_OK)
		status = host_condition_check(device, work,
					      stream->capture->graph);
	if (status != PHILOX_OK)
		return status;
	if (!host_nodes_reserve(&stream->deps, 1))
		return host_no_memory("a stream's nodes");
	node = host_graph_add(device, stream->capture->graph, work,
			      &stream->deps);
	if (!node)
		return host_no_memory("a node");
	node->priority = stream->priority;
	stream->deps.count = 0;
	host_nodes_add(&stream->deps, node);
	return PHILOX_OK;
}

enum philox_status host_capture_join(struct host_device *device,
				     struct host_stream *stream,
				     struct host_capture *capture,
				     const struct host_nodes *deps,
				     const char *what)
{
	/* CUDA's answer when an idle stream meets an invalidated capture. */
	if (!stream->capture && !capture->graph)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: the event's capture %" PRIu64 " was "
				  "invalidated by %s",
				  what, capture->id, capture->reason);
	if (!capture->graph)
		return host_capture_check(capture, what);
	if (stream == &device->legacy) {
		host_invalidate(device, capture,
				"%s on the legacy stream for its event", what);
		return status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
				  "%s: the legacy stream cannot join a capture",
				  what);
	}
	if (!host_nodes_reserve(&stream->deps, deps->count))
		return host_no_memory("a stream's nodes");
	enter_capture(stream, capture);
	for (size_t i = 0; i < deps->count; i++)
		host_nodes_add(&stream->deps, deps->items[i]);
	return PHILOX_OK;
}

enum philox_status host_stream_priority(struct philox_device *base,
					philox_stream handle, int *priority)
{
	struct host_device *device = host_enter(base);
	struct host_stream *stream;
	enum philox_status status =
		find_stream(device, handle, "stream_priority", 0, &stream);

	if (status == PHILOX_OK)
		*priority = stream->priority;
	return host_leave(device, status);
}

/* The capturing stream of a handle, whose capture must be valid. */
static enum philox_status find_capturing(struct host_device *device,
					 philox_stream handle, const char *what,
					 struct host_stream **stream)
{
	enum philox_status status =
		find_stream(device, handle, what, 0, stream);

	if (status != PHILOX_OK)
		return status;
	if (!(*stream)->capture)
		return status_set(PHILOX_ERROR_STATE,
				  "%s: the stream is not capturing", what);
	return host_capture_check((*stream)->capture, what);
}

/* The stream's next node depends on a node, and on nothing else if `only`. */
static enum philox_status depend(struct philox_device *base,
				 philox_stream handle, device_node node_handle,
				 const char *what, int only)
{
	struct host_device *device = host_enter(base);
	struct host_stream *stream;
	struct host_node *node;
	enum philox_status status =
		find_capturing(device, handle, what, &stream);

	if (status == PHILOX_OK)
		status = host_node_find(device, node_handle, what, &node);
	if (status != PHILOX_OK)
		goto unlock;
	if (node->graph != stream->capture->graph) {
		status = status_set(PHILOX_ERROR_INVALID,
				    "%s: the node is of another graph", what);
	} else if (!host_nodes_reserve(&stream->deps, 1)) {
		status = host_no_memory("a stream's nodes");
	} else {
		if (only)
			stream->deps.count = 0;
		host_nodes_add(&stream->deps, node);
	}
unlock:
	return host_leave(device, status);
}

enum philox_status host_capture_depend(struct philox_device *base,
				       philox_stream stream, device_node node)
{
	return depend(base, stream, node, "capture_depend", 0);
}

enum philox_status host_capture_after(struct philox_device *base,
				      philox_stream stream, device_node node)
{
	return depend(base, stream, node, "capture_after", 1);
}

enum philox_status host_capture_tips(struct philox_device *base,
				     philox_stream handle, device_node *nodes,
				     size_t *n)
{
	struct host_device *device = host_enter(base);
	struct host_stream *stream;
	enum philox_status status =
		find_capturing(device, handle, "capture_tips", &stream);

	if (status == PHILOX_OK)
		host_nodes_show(&stream->deps, nodes, n);
	return host_leave(device, status);
}

enum philox_status host_capture_mode(struct philox_device *base,
				     enum philox_capture_mode *mode)
{
	enum philox_capture_mode before = thread_mode;

	(void)base;
	thread_mode = *mode;
	*mode = before;
	return PHILOX_OK;
}
