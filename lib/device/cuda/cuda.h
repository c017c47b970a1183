/*
 * lib/device/cuda/cuda.h - shared by the files of CUDA devices
 */
#ifndef LIB_DEVICE_CUDA_CUDA_H
#define LIB_DEVICE_CUDA_CUDA_H

#include <cudaTypedefs.h>
#include <pthread.h>
#include <stddef.h>
#include "lib/device/contract.h"
#include "lib/device/cuda/compat.h"
#include "lib/device/cuda/kernels.h"
#include "lib/device/device.h"
#include "lib/device/kernels.h"

/* --- on.c: a GPU's primary context, made current -------------------------- */

/*
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

/* --- space: spaces: the driver's virtual memory management ---------------- */

/*
 * The runtime has none of it, so the driver's functions are looked up as those
 * of contexts are (lib/device/cuda/cuda.h). A device without them, or a GPU
 * that says that it has no virtual memory management, can do all else: its
 * spaces are unsupported, by name.
 */

/* The driver's functions that are needed, and the version of their form. */
#define SPACE_DRIVER_LIST(X)                          \
	X(attribute, cuDeviceGetAttribute, 2000)      \
	X(unit, cuMemGetAllocationGranularity, 10020) \
	X(reserve, cuMemAddressReserve, 10020)        \
	X(release, cuMemAddressFree, 10020)           \
	X(create, cuMemCreate, 10020)                 \
	X(drop, cuMemRelease, 10020)                  \
	X(map, cuMemMap, 10020)                       \
	X(allow, cuMemSetAccess, 10020)               \
	X(unmap, cuMemUnmap, 10020)

#define SPACE_PEERS_MAX 63 /* GPUs beside this one that get access */

struct cuda_spaces {
#define SPACE_MEMBER(member, name, version) PFN_##name##_v##version member;
	SPACE_DRIVER_LIST(SPACE_MEMBER)
#undef SPACE_MEMBER
	char lacking[160];    /* why there are no spaces; "": there are */
	pthread_mutex_t lock; /* of what follows, and of calls that change it */
	struct spaces records;
};

struct cuda_device;

/* Asks driver and GPU for spaces, in the device's context; cannot fail. */
void cuda_spaces_open(struct cuda_device *cuda);

/* Frees the records; addresses and memory are the primary context's. */
void cuda_spaces_close(struct cuda_device *cuda);

/* --- on: how a call of the CUDA runtime is made --------------------------- */

/*
 * ON() is how every call of the CUDA runtime is made. It does two things. The
 * call acts on the device it is given, whatever context is current on the
 * thread, and leaves the current one as it found it
 * (lib/device/cuda/cuda.h). And a failing call becomes one status with the
 * call's name and CUDA's own words, and the runtime's last error is cleared, so
 * that it cannot appear in one of the caller's own checks.
 */

/* What of a kernel the GPU runs at once. */
struct cuda_room {
	unsigned blocks;
	unsigned cluster; /* the most blocks of one, a power of 2 */
};

struct cuda_device {
	struct philox_device base;
	const struct kernels_cuda *kernels;
	struct cuda_context context;
	struct cuda_spaces spaces;
	int index;
	int driver; /* CUDA's version that it is of, as CUDART_VERSION */
	unsigned multiprocessors;
	int major;               /* of its compute capability */
	char condition_why[160]; /* why no kernel sets conditions; or "" */
	struct cuda_room room[]; /* for each of `kernels` */
};

/* Leaves the context, if it was pushed, and returns the status of `call`. */
enum philox_status cuda_leave(const struct cuda_context *context, int pushed,
			      cudaError_t error, const char *call);

/* The status of one call, made with `device` current. */
#define ON_AS(device, name, call)                                         \
	({                                                                \
		const struct cuda_context *on_context =                   \
			&((const struct cuda_device *)(device))->context; \
		int on_pushed;                                            \
		const char *on_name = "cuCtxPushCurrent";                 \
		cudaError_t on_error =                                    \
			cuda_context_enter(on_context, &on_pushed);       \
                                                                          \
		if (on_error == cudaSuccess) {                            \
			on_name = name;                                   \
			on_error = call;                                  \
		}                                                         \
		cuda_leave(on_context, on_pushed, on_error, on_name);     \
	})
#define ON(device, function, ...) \
	ON_AS(device, #function, function(__VA_ARGS__))

/*
 * One call that CUDA refuses during captures, though it does them no harm, and
 * that the contract has as legal: it is made in relaxed mode. Not even there
 * does CUDA let a thread wait for a stream or an event of a capture.
 */
#define ON_RELAXED(device, function, ...)                                    \
	ON_AS(device, #function, ({                                          \
		      enum cudaStreamCaptureMode on_mode =                   \
			      cudaStreamCaptureModeRelaxed;                  \
		      cudaError_t on_relaxed =                               \
			      cudaThreadExchangeStreamCaptureMode(&on_mode); \
                                                                             \
		      if (on_relaxed == cudaSuccess)                         \
			      on_relaxed = cuda_unrelaxed(                   \
				      on_mode, function(__VA_ARGS__));       \
		      on_relaxed;                                            \
	      }))

/* The thread's mode is `mode` again. Returns `error`, or why that failed. */
cudaError_t cuda_unrelaxed(enum cudaStreamCaptureMode mode, cudaError_t error);

/* Whether the stream is capturing; an invalidated capture counts. */
enum philox_status cuda_is_capturing(struct philox_device *device,
				     philox_stream stream, int *capturing);

/* --- device: the operations of the CUDA device ---------------------------- */

/* The operations of the contract, except launch_host: a kernel is launched. */
#define CUDA_OP_DECLARE(name, arguments) \
	enum philox_status cuda_##name arguments;
DEVICE_NEEDED_LIST(CUDA_OP_DECLARE)
#undef CUDA_OP_DECLARE
int cuda_is_memory(struct philox_device *device, const void *address);
enum philox_status cuda_conditional_check(struct philox_device *device,
					  const struct conditional *what);
enum philox_status cuda_graph_list(struct philox_device *device,
				   philox_native_graph graph,
				   void (*each)(void *user,
						enum device_node_kind kind,
						const char *name),
				   void *user);

#endif
