/*
 * graph/upload.c - see graph/upload.h
 */
#include "graph/upload.h"
#include "lib/device/captures.h"

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

enum philox_status upload_copy(struct graph_context *graphs, void *device,
			       const void *host, size_t size)
{
	struct philox_device *on = graphs->context->device;
	enum philox_capture_mode mode;
	enum philox_status status = device_relaxed_begin(on, &mode);

	if (status != PHILOX_OK)
		return status;
	status = philox_memory_copy(on, device, host, size, graphs->stream);
	if (status == PHILOX_OK)
		status = wait(graphs);
	return device_relaxed_end(on, mode, status);
}

/* Poison: every odd offset, so all bits set. */
enum philox_status upload_poison(struct graph_context *graphs, void *device,
				 size_t size)
{
	struct philox_device *on = graphs->context->device;
	enum philox_capture_mode mode;
	enum philox_status status = device_relaxed_begin(on, &mode);

	if (status != PHILOX_OK)
		return status;
	status = philox_memory_set(on, device, 0xff, size, graphs->stream);
	if (status == PHILOX_OK)
		status = wait(graphs);
	return device_relaxed_end(on, mode, status);
}
