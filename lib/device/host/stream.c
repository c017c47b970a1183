/*
 * lib/device/host/stream.c - creating, querying and destroying streams
 *
 * The queue of a stream and its thread are in lib/device/host/queue.c. The
 * legacy stream is a stream like the others, but its tasks wait for all
 * blocking streams, and theirs for it; so a query of it also queries them.
 * Guarded by the device's lock.
 */
#include <stdlib.h>
#include "lib/device/host/host.h"

/* A stream that is capturing has no state to query. */
static enum philox_status refuse_capturing(struct host_device *device,
					   struct host_stream *stream,
					   const char *what)
{
	enum philox_status status;

	if (!stream->capture)
		return PHILOX_OK;
	status = host_capture_check(stream->capture, what);
	if (status != PHILOX_OK)
		return status;
	host_invalidate(device, stream->capture, "%s on a capturing stream",
			what);
	return status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
			  "%s: the stream is capturing", what);
}

static enum philox_status wait_stream(struct host_device *device,
				      struct host_stream *stream)
{
	struct host_work nothing = {.kind = HOST_NOTHING};
	struct host_task *task;
	enum philox_status status;

	if (stream != &device->legacy) {
		host_task_wait(device, stream->tail);
		return PHILOX_OK;
	}
	status = host_submit(stream, &nothing, NULL, &task);
	if (status != PHILOX_OK)
		return status;
	host_task_wait(device, task);
	host_task_drop(device, task);
	return PHILOX_OK;
}

enum philox_status host_stream_sync(struct philox_device *base,
				    philox_stream handle)
{
	static const char what[] = "philox_stream_synchronize";
	struct host_device *device = host_enter(base);
	struct host_stream *stream;
	enum philox_status status =
		host_stream_find(device, handle, what, &stream);

	if (status == PHILOX_OK)
		status = refuse_capturing(device, stream, what);
	if (status == PHILOX_OK)
		status = host_check_caller(what);
	if (status == PHILOX_OK)
		status = wait_stream(device, stream);
	return host_leave(device, status);
}

static int is_busy(const struct host_device *device,
		   const struct host_stream *stream)
{
	if (stream->head)
		return 1;
	if (stream != &device->legacy)
		return 0;
	for (struct host_stream *other = device->blocking; other;
	     other = other->next_blocking)
		if (other->head)
			return 1;
	return 0;
}

enum philox_status host_stream_query(struct philox_device *base,
				     philox_stream handle)
{
	static const char what[] = "philox_stream_query";
	struct host_device *device = host_enter(base);
	struct host_stream *stream;
	enum philox_status status =
		host_stream_find(device, handle, what, &stream);

	if (status == PHILOX_OK)
		status = refuse_capturing(device, stream, what);
	if (status == PHILOX_OK && is_busy(device, stream))
		status = status_set(PHILOX_NOT_READY,
				    "%s: the stream has work to run", what);
	return host_leave(device, status);
}

/*
 * A device is a handle that encompasses its captures, so synchronizing it is
 * invalid during any (CUDA Programming Guide, "Prohibited and Unhandled
 * Operations"), in all modes: TensorRT issue 2888, llama.cpp pull request 14033.
 */
enum philox_status host_device_sync(struct philox_device *base)
{
	struct host_device *device = host_enter(base);
	enum philox_status status =
		host_unsafe_always(device, "philox_device_synchronize");

	if (status == PHILOX_OK)
		status = host_check_caller("philox_device_synchronize");
	if (status == PHILOX_OK)
		host_wait_idle(device);
	return host_leave(device, status);
}

/* --- making and destroying streams ---------------------------------------- */

void host_stream_init(struct host_device *device, struct host_stream *stream,
		      int blocking)
{
	stream->device = device;
	stream->blocking = blocking;
	pthread_cond_init(&stream->wake, NULL);
	LIST_ADD(&device->streams, stream);
	if (blocking)
		LIST_ADD_AS(&device->blocking, stream, next_blocking,
			    link_blocking);
}

void host_stream_free(struct host_device *device, struct host_stream *stream)
{
	stream->stopping = 1;
	pthread_cond_signal(&stream->wake);
	if (stream->has_thread) {
		host_unlock(device);
		pthread_join(stream->thread, NULL);
		host_lock(device);
	}
	LIST_REMOVE(stream);
	if (stream->blocking)
		LIST_REMOVE_AS(stream, next_blocking, link_blocking);
	host_task_drop(device, stream->tail);
	host_nodes_free(&stream->deps);
	pthread_cond_destroy(&stream->wake);
}

enum philox_status host_stream_create(struct philox_device *base,
				      unsigned flags, philox_stream *handle)
{
	struct host_device *device = host_of(base);
	struct host_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return host_no_memory("a stream");
	host_lock(device);
	host_stream_init(device, stream, flags & PHILOX_STREAM_BLOCKING);
	host_register(device, &stream->object, HOST_STREAM, stream);
	host_unlock(device);
	*handle = (philox_stream)stream;
	return PHILOX_OK;
}

enum philox_status host_stream_destroy(struct philox_device *base,
				       philox_stream handle)
{
	static const char what[] = "philox_stream_destroy";
	struct host_device *device = host_enter(base);
	struct host_stream *stream;
	enum philox_status status =
		host_stream_find(device, handle, what, &stream);

	if (status != PHILOX_OK)
		goto unlock;
	if (stream->capture) {
		host_invalidate(device, stream->capture,
				"%s on a capturing stream", what);
		status = status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
				    "%s: the stream is capturing", what);
		goto unlock;
	}
	status = host_check_caller(what);
	if (status != PHILOX_OK)
		goto unlock;
	host_forget(device, &stream->object);
	host_stream_free(device, stream);
	free(stream);
unlock:
	return host_leave(device, status);
}
