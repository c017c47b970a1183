/*
 * lib/device/host/event.c - events: points of streams and of captures
 *
 * Recording puts an empty task on the stream and remembers it; waiting makes
 * another stream wait for the task remembered at that time. In a capture an
 * event remembers the capture's id and the stream's last nodes; the nodes are
 * looked at only while that capture is still in progress. Guarded by the
 * device's lock.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "lib/device/host/host.h"

static enum philox_status create_event(struct philox_device *base, int timed,
				       philox_event *handle)
{
	struct host_device *device = host_of(base);
	struct host_event *event = calloc(1, sizeof(*event));

	if (!event)
		return host_no_memory("an event");
	event->timed = timed;
	host_lock(device);
	host_register(device, &event->object, HOST_EVENT, event);
	host_unlock(device);
	*handle = (philox_event)event;
	return PHILOX_OK;
}

enum philox_status host_event_create(struct philox_device *base,
				     philox_event *handle)
{
	return create_event(base, 0, handle);
}

enum philox_status host_event_create_timed(struct philox_device *base,
					   philox_event *handle)
{
	return create_event(base, 1, handle);
}

void host_event_free(struct host_device *device, struct host_event *event)
{
	host_forget(device, &event->object);
	host_task_drop(device, event->task);
	host_nodes_free(&event->deps);
	free(event);
}

enum philox_status host_event_destroy(struct philox_device *base,
				      philox_event handle)
{
	struct host_device *device = host_enter(base);
	struct host_event *event;
	enum philox_status status;

	status =
		host_event_find(device, handle, "philox_event_destroy", &event);
	if (status == PHILOX_OK)
		host_event_free(device, event);
	return host_leave(device, status);
}

/* --- recording ------------------------------------------------------------ */

static enum philox_status record_point(struct host_device *device,
				       struct host_event *event,
				       struct host_stream *stream)
{
	struct host_work nothing = {.kind = HOST_NOTHING};
	struct host_task *task;
	enum philox_status status;

	status = host_submit(stream, &nothing, NULL, &task);
	if (status != PHILOX_OK)
		return status;
	host_task_drop(device, event->task);
	event->task = task;
	event->capture_id = 0;
	if (task)
		task->timed = event->timed; /* it ends with the lock */
	else
		event->ended = event->timed ? clock_now() : 0;
	return PHILOX_OK;
}

static enum philox_status record_capture(struct host_device *device,
					 struct host_event *event,
					 struct host_stream *stream,
					 const char *what)
{
	enum philox_status status = host_capture_check(stream->capture, what);

	if (status != PHILOX_OK)
		return status;
	if (!host_nodes_copy(&event->deps, &stream->deps))
		return host_no_memory("an event's nodes");
	host_task_drop(device, event->task);
	event->task = NULL;
	event->ended = 0;
	event->capture_id = stream->capture->id;
	return PHILOX_OK;
}

enum philox_status host_event_record(struct philox_device *base,
				     philox_event handle,
				     philox_stream stream_handle)
{
	static const char what[] = "philox_event_record";
	struct host_device *device = host_enter(base);
	struct host_stream *stream;
	struct host_event *event;
	enum philox_status status =
		host_event_find(device, handle, what, &event);

	if (status == PHILOX_OK)
		status = host_stream_find(device, stream_handle, what, &stream);
	if (status == PHILOX_OK)
		status = host_check_caller(what);
	if (status == PHILOX_OK)
		status = stream->capture
				 ? record_capture(device, event, stream, what)
				 : record_point(device, event, stream);
	return host_leave(device, status);
}

/* --- waiting on a stream -------------------------------------------------- */

/* A stream in a capture waits for a point of uncaptured work. */
static enum philox_status refuse_isolation(struct host_device *device,
					   struct host_stream *stream,
					   const char *what)
{
	enum philox_status status = host_capture_check(stream->capture, what);

	if (status != PHILOX_OK)
		return status;
	host_invalidate(device, stream->capture,
			"%s for an event that was not recorded in it", what);
	return status_set(PHILOX_ERROR_CAPTURE_ISOLATION,
			  "%s: a capturing stream cannot wait for an event "
			  "that was not recorded in its capture",
			  what);
}

/* An event of a capture that has ended no longer means anything. */
static enum philox_status refuse_ended(struct host_device *device,
				       struct host_stream *stream,
				       struct host_event *event,
				       const char *what)
{
	if (stream->capture)
		return refuse_isolation(device, stream, what);
	return status_set(PHILOX_ERROR_CAPTURED_EVENT,
			  "%s: the event was recorded in capture %" PRIu64
			  ", which "
			  "has ended",
			  what, event->capture_id);
}

static enum philox_status refuse_merge(struct host_device *device,
				       struct host_stream *stream,
				       struct host_capture *capture,
				       const char *what)
{
	enum philox_status status = host_capture_check(stream->capture, what);

	if (status != PHILOX_OK)
		return status;
	status = status_set(PHILOX_ERROR_CAPTURE_MERGE,
			    "%s: the stream is in capture %" PRIu64
			    ", the event in "
			    "capture %" PRIu64,
			    what, stream->capture->id, capture->id);
	host_invalidate(device, stream->capture,
			"%s for an event of another capture", what);
	host_invalidate(device, capture, "%s on a stream of another capture",
			what);
	return status;
}

static enum philox_status wait_captured(struct host_device *device,
					struct host_stream *stream,
					struct host_event *event,
					const char *what)
{
	struct host_capture *capture =
		host_capture_of(device, event->capture_id);

	if (!capture)
		return refuse_ended(device, stream, event, what);
	if (stream->capture && stream->capture != capture)
		return refuse_merge(device, stream, capture, what);
	return host_capture_join(device, stream, capture, &event->deps, what);
}

static enum philox_status wait_plain(struct host_device *device,
				     struct host_stream *stream,
				     struct host_event *event, const char *what)
{
	struct host_work nothing = {.kind = HOST_NOTHING};

	if (stream->capture)
		return refuse_isolation(device, stream, what);
	if (!event->task || event->task->done)
		return PHILOX_OK;
	return host_submit(stream, &nothing, event->task, NULL);
}

enum philox_status host_event_wait(struct philox_device *base,
				   philox_stream stream_handle,
				   philox_event handle)
{
	static const char what[] = "philox_event_wait";
	struct host_device *device = host_enter(base);
	struct host_stream *stream;
	struct host_event *event;
	enum philox_status status =
		host_event_find(device, handle, what, &event);

	if (status == PHILOX_OK)
		status = host_stream_find(device, stream_handle, what, &stream);
	if (status == PHILOX_OK)
		status = host_check_caller(what);
	if (status == PHILOX_OK)
		status = event->capture_id
				 ? wait_captured(device, stream, event, what)
				 : wait_plain(device, stream, event, what);
	return host_leave(device, status);
}

/* --- asking --------------------------------------------------------------- */

/* No thread can wait for an event of a capture: its nodes are not queued. */
static enum philox_status refuse_captured(struct host_device *device,
					  struct host_event *event,
					  const char *what)
{
	struct host_capture *capture;

	if (!event->capture_id)
		return PHILOX_OK;
	capture = host_capture_of(device, event->capture_id);
	if (capture)
		host_invalidate(device, capture,
				"%s on an event recorded in it", what);
	return status_set(PHILOX_ERROR_CAPTURED_EVENT,
			  "%s: the event was recorded in capture %" PRIu64,
			  what, event->capture_id);
}

enum philox_status host_event_sync(struct philox_device *base,
				   philox_event handle)
{
	static const char what[] = "philox_event_synchronize";
	struct host_device *device = host_enter(base);
	struct host_event *event;
	enum philox_status status =
		host_event_find(device, handle, what, &event);

	if (status == PHILOX_OK)
		status = refuse_captured(device, event, what);
	if (status == PHILOX_OK)
		status = host_check_caller(what);
	if (status == PHILOX_OK)
		host_task_wait(device, event->task);
	return host_leave(device, status);
}

enum philox_status host_event_query(struct philox_device *base,
				    philox_event handle)
{
	static const char what[] = "philox_event_query";
	struct host_device *device = host_enter(base);
	struct host_event *event;
	enum philox_status status =
		host_event_find(device, handle, what, &event);

	if (status == PHILOX_OK)
		status = refuse_captured(device, event, what);
	if (status == PHILOX_OK)
		status = host_unsafe(device, what);
	if (status == PHILOX_OK && event->task && !event->task->done)
		status = status_set(PHILOX_NOT_READY,
				    "%s: the event was not reached yet", what);
	return host_leave(device, status);
}

/* --- times ---------------------------------------------------------------- */

static enum philox_status when_reached(struct host_device *device,
				       philox_event handle, const char *what,
				       uint64_t *time)
{
	struct host_event *event;
	enum philox_status status =
		host_event_find(device, handle, what, &event);

	if (status == PHILOX_OK)
		status = refuse_captured(device, event, what);
	if (status != PHILOX_OK)
		return status;
	if (!event->timed || (!event->task && !event->ended))
		return status_set(PHILOX_ERROR_INVALID, "%s: the event %s",
				  what,
				  event->timed ? "was never recorded"
					       : "keeps no times");
	if (event->task && !event->task->done)
		return status_set(PHILOX_NOT_READY,
				  "%s: the event was not reached yet", what);
	*time = event->task ? event->task->ended : event->ended;
	return PHILOX_OK;
}

enum philox_status host_event_elapsed(struct philox_device *base,
				      philox_event begin, philox_event end,
				      uint64_t *nanoseconds)
{
	static const char what[] = "event_elapsed";
	struct host_device *device = host_enter(base);
	uint64_t from, to;
	enum philox_status status = when_reached(device, begin, what, &from);

	if (status == PHILOX_OK)
		status = when_reached(device, end, what, &to);
	if (status == PHILOX_OK)
		status = host_check_caller(what);
	if (status == PHILOX_OK)
		*nanoseconds = to > from ? to - from : 0;
	return host_leave(device, status);
}
