/*
 * lib/device/cuda/on.c - see lib/device/cuda/on.h
 */
#include "lib/device/cuda/on.h"
#include "lib/base/status.h"

static enum philox_status status_of(cudaError_t error)
{
	switch (error) {
	case cudaSuccess:
		return PHILOX_OK;
	case cudaErrorNotReady:
		return PHILOX_NOT_READY;
	case cudaErrorMemoryAllocation:
		return PHILOX_ERROR_MEMORY;
	case cudaErrorInvalidValue:
	case cudaErrorInvalidResourceHandle:
		return PHILOX_ERROR_INVALID;
	case cudaErrorIllegalState:
		return PHILOX_ERROR_STATE;
	case cudaErrorNoDevice:
	case cudaErrorInvalidDevice:
	case cudaErrorInsufficientDriver:
	case cudaErrorInitializationError:
	case cudaErrorStubLibrary:
	case cudaErrorDevicesUnavailable:
	case cudaErrorSystemNotReady:
	case cudaErrorSystemDriverMismatch:
	case cudaErrorCompatNotSupportedOnDevice:
		return PHILOX_ERROR_NO_DEVICE;
	case cudaErrorNotSupported:
	case cudaErrorCallRequiresNewerDriver:
	case cudaErrorInvalidDeviceFunction:
	case cudaErrorNoKernelImageForDevice:
	case cudaErrorUnsupportedPtxVersion:
	case cudaErrorJitCompilerNotFound:
	case cudaErrorJitCompilationDisabled:
		return PHILOX_ERROR_UNSUPPORTED;
	case cudaErrorStreamCaptureUnsupported:
		return PHILOX_ERROR_CAPTURE_UNSUPPORTED;
	case cudaErrorStreamCaptureInvalidated:
		return PHILOX_ERROR_CAPTURE_INVALIDATED;
	case cudaErrorStreamCaptureMerge:
		return PHILOX_ERROR_CAPTURE_MERGE;
	case cudaErrorStreamCaptureUnmatched:
		return PHILOX_ERROR_CAPTURE_UNMATCHED;
	case cudaErrorStreamCaptureUnjoined:
		return PHILOX_ERROR_CAPTURE_UNJOINED;
	case cudaErrorStreamCaptureIsolation:
		return PHILOX_ERROR_CAPTURE_ISOLATION;
	case cudaErrorStreamCaptureImplicit:
		return PHILOX_ERROR_CAPTURE_IMPLICIT;
	case cudaErrorCapturedEvent:
		return PHILOX_ERROR_CAPTURED_EVENT;
	case cudaErrorStreamCaptureWrongThread:
		return PHILOX_ERROR_CAPTURE_WRONG_THREAD;
	default:
		return PHILOX_ERROR_DEVICE;
	}
}

/* The last error is cleared in the context in which the call was made. */
enum philox_status cuda_leave(const struct cuda_context *context, int pushed,
			      cudaError_t error, const char *call)
{
	if (error != cudaSuccess)
		cudaGetLastError();
	cuda_context_leave(context, pushed);
	if (error == cudaSuccess)
		return PHILOX_OK;
	return status_set(status_of(error), "%s: %s", call,
			  cudaGetErrorString(error));
}

enum philox_status cuda_is_capturing(struct philox_device *device,
				     philox_stream stream, int *capturing)
{
	enum cudaStreamCaptureStatus capture;
	enum philox_status status =
		ON(device, cudaStreamIsCapturing, stream, &capture);

	if (status == PHILOX_OK)
		*capturing = capture != cudaStreamCaptureStatusNone;
	return status;
}
