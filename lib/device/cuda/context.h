/*
 * lib/device/cuda/context.h - a GPU's primary context, current while it is needed
 *
 * The runtime's own way to a GPU does not lead back. A thread that had chosen
 * none asks cudaSetDevice() for GPU 0 afterwards, which initialises that GPU
 * and takes hundreds of MiB there; a thread with a context from cuCtxCreate()
 * is given the primary one instead of its own. The driver's stack of contexts
 * leads back to whatever was there. Its functions come through the runtime, so
 * that nothing is linked with libcuda, which machines without a GPU lack.
 *
 * A primary context is the runtime's, too: what was made through the one is
 * known to the other (CUDA Runtime API, "Interactions with the CUDA Driver
 * API"). It is retained while it is open, and remains what it is if somebody
 * resets the GPU meanwhile: what was made there is gone, the runtime begins
 * anew in it or says that it is destroyed, and it can still be released (CUDA
 * Driver API, cuDevicePrimaryCtxReset).
 *
 * A context does not change while it is open: it is used from any thread. Which
 * one is current is no stream's business, so enter and leave are legal during
 * capture; opening and closing are not.
 */
#ifndef LIB_DEVICE_CUDA_CONTEXT_H
#define LIB_DEVICE_CUDA_CONTEXT_H

#include <cudaTypedefs.h>
#include "lib/device/cuda/compat.h"

/* What is needed of the driver, and the version in which it came to be so. */
#define CONTEXT_DRIVER_LIST(X)                       \
	X(init, cuInit, 2000)                        \
	X(find, cuDeviceGet, 2000)                   \
	X(retain, cuDevicePrimaryCtxRetain, 7000)    \
	X(release, cuDevicePrimaryCtxRelease, 11000) \
	X(current, cuCtxGetCurrent, 4000)            \
	X(push, cuCtxPushCurrent, 4000)              \
	X(pop, cuCtxPopCurrent, 4000)

struct cuda_context {
	CUcontext primary;
	CUdevice gpu;
#define CONTEXT_MEMBER(member, name, version) PFN_##name##_v##version member;
	CONTEXT_DRIVER_LIST(CONTEXT_MEMBER)
#undef CONTEXT_MEMBER
};

/*
 * Retains the primary context of the GPU that the runtime calls `index`. On
 * failure nothing is retained, and *call is the name of what failed.
 */
cudaError_t cuda_context_open(struct cuda_context *context, int index,
			      const char **call);

/* Releases it. */
void cuda_context_close(const struct cuda_context *context);

/*
 * Makes it current on the thread. *pushed is what cuda_context_leave() takes:
 * whether another one, or none, was. Fails with the words of cuCtxPushCurrent.
 */
cudaError_t cuda_context_enter(const struct cuda_context *context, int *pushed);

/* Makes current again what was before. */
void cuda_context_leave(const struct cuda_context *context, int pushed);

#endif
