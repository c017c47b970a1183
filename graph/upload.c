/*
 * graph/upload.c - see graph/upload.h
 */
#include "graph/upload.h"

/* Runs set-up work in relaxed mode: other threads may be capturing. */
static enum philox_status with_relaxed_mode(
	struct graph_context *graphs,
	enum philox_status (*work)(struct graph_context *, void *, const void *,
				   size_t),
	void *device, const void *host, size_t size)
{
	struct philox_device *on = graphs->context->device;
	enum philox_capture_mode mode;
	enum philox_status restored, status = device_relax(on, &mode);

	if (status != PHILOX_OK)
		return status;
	status = work(graphs, device, host, size);
	restored = device_unrelax(on, mode);
	return status != PHILOX_OK ? status : restored;
}

/* Queued work uses the caller's memory: if a wait fails, it is retried. */
static enum philox_status wait(struct graph_context *graphs)
{
	struct philox_device *on = graphs->context->device;
	enum philox_status status;

	status = philox_stream_synchronize(on, graphs->stream);
	if (status != PHILOX_OK &&
	    philox_stream_synchronize(on, graphs->stream) != PHILOX_OK)
		status_prefix(status, "set-up work is still queued: ");
	return status;
}

static enum philox_status copy_and_wait(struct graph_context *graphs,
					void *device, const void *host,
					size_t size)
{
	struct philox_device *on = graphs->context->device;
	enum philox_status status;

	status = philox_memory_copy(on, device, host, size, graphs->stream);
	return status == PHILOX_OK ? wait(graphs) : status;
}

/* Poison: every odd offset, so all bits set. */
static enum philox_status poison_and_wait(struct graph_context *graphs,
					  void *device, const void *host,
					  size_t size)
{
	struct philox_device *on = graphs->context->device;
	enum philox_status status;

	(void)host;
	status = philox_memory_set(on, device, 0xff, size, graphs->stream);
	return status == PHILOX_OK ? wait(graphs) : status;
}

enum philox_status upload_copy(struct graph_context *graphs, void *device,
			       const void *host, size_t size)
{
	return with_relaxed_mode(graphs, copy_and_wait, device, host, size);
}

enum philox_status upload_poison(struct graph_context *graphs, void *device,
				 size_t size)
{
	return with_relaxed_mode(graphs, poison_and_wait, device, NULL, size);
}
