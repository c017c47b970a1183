/*
 * lib/device/cuda/context.h - a GPU's primary context, made current
 *
 * With the runtime's own cudaSetDevice() there is no way back. To restore a
 * thread that had chosen no GPU means asking for GPU 0, which initialises that
 * GPU and takes hundreds of MiB there; a thread with a context from
 * cuCtxCreate() gets the primary one instead of its own. The driver's stack of
 * contexts restores whatever was current. Its functions come through the
 * runtime, so that nothing is linked with libcuda, which machines without a GPU
 * lack.
 *
 * A primary context is also the runtime's: objects made through driver or
 * runtime are known to both (CUDA Runtime API, "Interactions with the CUDA
 * Driver API"). It is retained while it is open, and stays the same context if
 * the GPU is reset meanwhile: what was made there is gone, the runtime begins
 * anew in it or reports that it is destroyed, and it can still be released
 * (CUDA Driver API, cuDevicePrimaryCtxReset).
 *
 * A context does not change while it is open, and any thread may use it. Which
 * one is current does not concern streams, so enter and leave are legal during
 * capture; opening and closing are not.
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
