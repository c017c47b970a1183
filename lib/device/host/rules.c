/*
 * lib/device/host/rules.c - what a capture permits, and what breaks it
 *
 * The rules are CUDA's, each with a status of its own. A capture that broke one
 * is invalidated: its graph is freed at once, the reason is kept for later
 * errors, and its streams stay in it until it is ended. Guarded by the device's
 * lock, except for the mode of each thread, which only that thread uses.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/device/enter.h"
#include "lib/device/host/host.h"

static atomic_uint_fast64_t last_thread_number;

static _Thread_local uint64_t thread_number;
static _Thread_local enum philox_capture_mode thread_mode =
	PHILOX_CAPTURE_GLOBAL;

uint64_t host_thread_number(void)
{
	if (!thread_number)
		thread_number = atomic_fetch_add(&last_thread_number, 1) + 1;
	return thread_number;
}

struct host_capture *host_capture_of(struct host_device *device, uint64_t id)
{
	struct host_capture *capture = device->captures;

	while (capture && capture->id != id)
		capture = capture->next;
	return capture;
}

/* --- invalidation --------------------------------------------------------- */

void host_forget_nodes(struct host_device *device, struct host_capture *capture)
{
	for (struct host_stream *stream = device->streams; stream;
	     stream = stream->next)
		if (stream->capture == capture)
			stream->deps.count = 0;
}

void host_invalidate(struct host_device *device, struct host_capture *capture,
		     const char *reason, ...)
{
	va_list arguments;

	if (!capture->graph)
		return;
	va_start(arguments, reason);
	vsnprintf(capture->reason, sizeof(capture->reason), reason, arguments);
	va_end(arguments);
	host_forget_nodes(device, capture);
	capture->graph->broken = 1;
	capture->graph->capturing = 0;
	if (!capture->into)
		host_graph_free(device, capture->graph);
	capture->graph = NULL;
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
	if (capture->thread == host_thread_number())
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
	stream->capture = capture;
	for (size_t i = 0; i < deps->count; i++)
		host_nodes_add(&stream->deps, deps->items[i]);
	return PHILOX_OK;
}

/* The capturing stream of a handle, whose capture must be valid. */
static enum philox_status find_capturing(struct host_device *device,
					 philox_stream handle, const char *what,
					 struct host_stream **stream)
{
	enum philox_status status =
		host_stream_ask(device, handle, what, stream);

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
	struct host_device *device = host_of(base);
	struct host_stream *stream;
	struct host_node *node;
	enum philox_status status;

	host_lock(device);
	status = find_capturing(device, handle, what, &stream);
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
	host_unlock(device);
	return status;
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
	struct host_device *device = host_of(base);
	struct host_stream *stream;
	enum philox_status status;

	host_lock(device);
	status = find_capturing(device, handle, "capture_tips", &stream);
	if (status == PHILOX_OK)
		host_nodes_show(&stream->deps, nodes, n);
	host_unlock(device);
	return status;
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
