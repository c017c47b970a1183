/*
 * lib/device/captures.h - captures in progress: querying, working beside
 *
 * How code that uses devices deals with the captures of its callers. Errors do
 * not name an object: callers put their own name in front with status_prefix().
 */
#ifndef LIB_DEVICE_CAPTURES_H
#define LIB_DEVICE_CAPTURES_H

#include "lib/device/call.h"

/*
 * device_ask_capture() asks a stream for its capture, for a call that is legal
 * in a capture and outside one. *info is ACTIVE with id and graph, or NONE with
 * id 0. Errors: those of the operation capture_info, and
 * PHILOX_ERROR_CAPTURE_INVALIDATED. Legal during capture.
 */
enum philox_status device_ask_capture(struct philox_device *device,
				      philox_stream stream,
				      struct capture_info *info);

/*
 * device_refuse_capture() is for a call that is illegal on a capturing stream:
 * PHILOX_ERROR_CAPTURE_UNSUPPORTED if the stream is capturing, whether or not
 * its capture is still valid. Further errors: those of the operation
 * capture_info. Legal during capture; invalidates nothing.
 */
enum philox_status device_refuse_capture(struct philox_device *device,
					 philox_stream stream);

/*
 * Work that is unsafe during captures, done while some may be in progress:
 *
 *	status = device_relaxed_begin(device, &mode);
 *	if (status != PHILOX_OK)
 *		return status;
 *	status = work();
 *	return device_relaxed_end(device, mode, status);
 *
 * device_relaxed_begin() puts this thread into relaxed mode and writes the mode
 * it had; after an error the thread still has that mode. device_relaxed_end()
 * restores it and returns `status`, the outcome of the work, with its message;
 * if that is PHILOX_OK, the outcome of restoring the mode.
 */
enum philox_status device_relaxed_begin(struct philox_device *device,
					enum philox_capture_mode *before);
enum philox_status device_relaxed_end(struct philox_device *device,
				      enum philox_capture_mode before,
				      enum philox_status status);

#endif
