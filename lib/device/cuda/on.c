/*
 * lib/device/cuda/on.c - how a call of the CUDA runtime is made
 */
#include "lib/base/base.h"
#include "lib/device/cuda/cuda.h"

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

cudaError_t cuda_unrelaxed(enum cudaStreamCaptureMode mode, cudaError_t error)
{
	cudaError_t restored = cudaThreadExchangeStreamCaptureMode(&mode);

	return error == cudaSuccess ? restored : error;
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

/* --- context: a GPU's primary context, made current ----------------------- */

/* The driver's errors have the same numbers as the runtime's. */
#define SAME(driver, runtime) \
	_Static_assert((int)(driver) == (int)(runtime), #driver " is " #runtime)
SAME(CUDA_ERROR_INVALID_VALUE, cudaErrorInvalidValue);
SAME(CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation);
SAME(CUDA_ERROR_NOT_INITIALIZED, cudaErrorInitializationError);
SAME(CUDA_ERROR_DEINITIALIZED, cudaErrorCudartUnloading);
SAME(CUDA_ERROR_STUB_LIBRARY, cudaErrorStubLibrary);
SAME(CUDA_ERROR_DEVICE_UNAVAILABLE, cudaErrorDevicesUnavailable);
SAME(CUDA_ERROR_NO_DEVICE, cudaErrorNoDevice);
SAME(CUDA_ERROR_INVALID_DEVICE, cudaErrorInvalidDevice);
SAME(CUDA_ERROR_INVALID_CONTEXT, cudaErrorDeviceUninitialized);
SAME(CUDA_ERROR_CONTEXT_IS_DESTROYED, cudaErrorContextIsDestroyed);
SAME(CUDA_ERROR_SYSTEM_NOT_READY, cudaErrorSystemNotReady);
SAME(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, cudaErrorSystemDriverMismatch);
SAME(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
     cudaErrorCompatNotSupportedOnDevice);
SAME(CUDA_ERROR_UNKNOWN, cudaErrorUnknown);
#undef SAME

static cudaError_t find_driver(struct cuda_context *context, const char **call)
{
	cudaError_t error;

#define FIND(member, name, version)                                       \
	*call = #name;                                                    \
	error = compat_driver_function(#name, (void **)&context->member); \
	if (error != cudaSuccess)                                         \
		return error;
	CONTEXT_DRIVER_LIST(FIND)
#undef FIND
	return cudaSuccess;
}

cudaError_t cuda_context_open(struct cuda_context *context, int index,
			      const char **call)
{
	cudaError_t error = find_driver(context, call);

	if (error != cudaSuccess)
		return error;
	*call = "cuInit"; /* the runtime may not have done it yet */
	error = (cudaError_t)context->init(0);
	if (error != cudaSuccess)
		return error;
	*call = "cuDeviceGet";
	error = (cudaError_t)context->find(&context->gpu, index);
	if (error != cudaSuccess)
		return error;
	*call = "cuDevicePrimaryCtxRetain";
	return (cudaError_t)context->retain(&context->primary, context->gpu);
}

void cuda_context_close(const struct cuda_context *context)
{
	/* It fails if the driver is already gone, as the process ends. */
	(void)context->release(context->gpu);
}

cudaError_t cuda_context_enter(const struct cuda_context *context, int *pushed)
{
	CUcontext current;
	cudaError_t error;

	*pushed = 0;
	if (context->current(&current) == CUDA_SUCCESS &&
	    current == context->primary)
		return cudaSuccess;
	error = (cudaError_t)context->push(context->primary);
	*pushed = error == cudaSuccess;
	return error;
}

void cuda_context_leave(const struct cuda_context *context, int pushed)
{
	CUcontext popped;

	/* It fails as the process ends, when the stack is gone. */
	if (pushed)
		(void)context->pop(&popped);
}
