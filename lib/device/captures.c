/*
 * lib/device/captures.c - see lib/device/captures.h
 */
#include "lib/device/captures.h"
#include "lib/base/status.h"

enum philox_status device_ask_capture(struct philox_device *device,
				      philox_stream stream,
				      struct capture_info *info)
{
	enum philox_status status = device_capture_info(device, stream, info);

	if (status != PHILOX_OK)
		return status;
	if (info->status == PHILOX_CAPTURE_INVALIDATED)
		return status_set(PHILOX_ERROR_CAPTURE_INVALIDATED,
				  "the capture on this stream was invalidated "
				  "and must be ended");
	if (info->status == PHILOX_CAPTURE_NONE)
		info->id = 0;
	return PHILOX_OK;
}

enum philox_status device_refuse_capture(struct philox_device *device,
					 philox_stream stream)
{
	struct capture_info info;
	enum philox_status status = device_capture_info(device, stream, &info);

	if (status != PHILOX_OK || info.status == PHILOX_CAPTURE_NONE)
		return status;
	return status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
			  "the stream is capturing");
}

/* --- relaxed mode --------------------------------------------------------- */

enum philox_status device_relaxed_begin(struct philox_device *device,
					enum philox_capture_mode *before)
{
	*before = PHILOX_CAPTURE_RELAXED;
	return philox_capture_exchange_mode(device, before);
}

/* A thread must not be left relaxed, so a failure is tried again. */
static enum philox_status put_back(struct philox_device *device,
				   enum philox_capture_mode before)
{
	enum philox_capture_mode mode = before;

	if (philox_capture_exchange_mode(device, &mode) == PHILOX_OK)
		return PHILOX_OK;
	return philox_capture_exchange_mode(device, &before);
}

enum philox_status device_relaxed_end(struct philox_device *device,
				      enum philox_capture_mode before,
				      enum philox_status status)
{
	struct status_message kept;

	if (status == PHILOX_OK)
		return put_back(device, before);
	status_keep(&kept);
	put_back(device, before);
	status_restore(&kept);
	return status;
}
