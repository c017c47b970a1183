/*
 * lib/device/cuda/context.h - a GPU's primary context, made current
 *
 * The runtime's own cudaSetDevice() cannot be undone. Restoring a thread that
 * had chosen no GPU would mean choosing GPU 0, which initialises that GPU and
 * takes hundreds of MiB there; a thread with a context from cuCtxCreate() gets
 * the primary one instead of its own. The driver's stack of contexts restores
 * whatever was current. Its functions are looked up through the runtime, so
 * that nothing is linked with libcuda, which machines without a GPU lack.
 *
 * A primary context is also the runtime's: objects made through driver or
 * runtime are known to both (CUDA Runtime API, "Interactions with the CUDA
 * Driver API"). It is retained while it is open, and stays the same context if
 * the GPU is reset: everything made in it is gone, the runtime starts again in
 * it or reports that it is destroyed, and it can still be released (CUDA Driver
 * API, cuDevicePrimaryCtxReset).
 *
 * A context does not change while it is open, and any thread may use it. Which
 * one is current does not matter to streams, so enter and leave are legal
 * during capture; opening and closing are not.
 */
#ifndef LIB_DEVICE_CUDA_CONTEXT_H
#define LIB_DEVICE_CUDA_CONTEXT_H

#include <cudaTypedefs.h>
#include "lib/device/cuda/compat.h"

/* The driver's functions that are needed, and the version of their form. */
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
 * failure nothing is retained, and *call is the name of the call that failed.
 */
cudaError_t cuda_context_open(struct cuda_context *context, int index,
			      const char **call);

/* Releases it. */
void cuda_context_close(const struct cuda_context *context);

/*
 * Makes it current on the thread. *pushed is for cuda_context_leave(): whether
 * another context, or none, was current. Errors are those of cuCtxPushCurrent.
 */
cudaError_t cuda_context_enter(const struct cuda_context *context, int *pushed);

/* Makes the context that was current before current again. */
void cuda_context_leave(const struct cuda_context *context, int pushed);

#endif
