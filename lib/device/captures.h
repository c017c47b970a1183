/*
 * lib/device/captures.h - captures that are under way: asked for, worked beside
 *
 * What code that uses devices does around the captures of its callers. Errors
 * name no object: callers put their own name in front with status_prefix().
 */
#ifndef LIB_DEVICE_CAPTURES_H
#define LIB_DEVICE_CAPTURES_H

#include "lib/device/call.h"

/*
 * device_ask_capture() asks a stream for its capture, for a call that is right
 * in a capture and without one. *info is ACTIVE with id and graph, or NONE with
 * id 0. Errors: those of the operation capture_info, and
 * PHILOX_ERROR_CAPTURE_INVALIDATED. Legal during capture.
 */
enum philox_status device_ask_capture(struct philox_device *device,
				      philox_stream stream,
				      struct capture_info *info);

/*
 * device_refuse_capture() is for a call that is wrong on a stream that is
 * capturing: PHILOX_ERROR_CAPTURE_UNSUPPORTED if it is, whether or not its
 * capture is still whole. Further errors: those of the operation capture_info.
 * Legal during capture; invalidates nothing.
 */
enum philox_status device_refuse_capture(struct philox_device *device,
					 philox_stream stream);

/*
 * Work that is unsafe during captures, done while there may be some:
 *
 *	status = device_relaxed_begin(device, &mode);
 *	if (status != PHILOX_OK)
 *		return status;
 *	status = work();
 *	return device_relaxed_end(device, mode, status);
 *
 * device_relaxed_begin() puts this thread into relaxed mode and writes the mode
 * it had; after an error the thread has it still. device_relaxed_end() puts it
 * back and returns `status`, the outcome of the work, with its message; if that
 * is PHILOX_OK, what putting the mode back returned.
 */
enum philox_status device_relaxed_begin(struct philox_device *device,
					enum philox_capture_mode *before);
enum philox_status device_relaxed_end(struct philox_device *device,
				      enum philox_capture_mode before,
				      enum philox_status status);

#endif
