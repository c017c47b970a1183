/*
 * lib/device/cuda/context.c - a GPU's primary context, made current
 */
#include "lib/device/cuda/context.h"

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
