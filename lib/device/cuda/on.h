/*
 * lib/device/cuda/on.h - how a call of the CUDA runtime is made
 *
 * ON() is how every call of the CUDA runtime is made. It does two things. The
 * call acts on the device it is given, whatever context is current on the
 * thread, and leaves the current one as it found it
 * (lib/device/cuda/context.h). And a failing call becomes one status with the
 * call's name and CUDA's own words, and the runtime's last error is cleared, so
 * that it cannot appear in one of the caller's own checks.
 */
#ifndef LIB_DEVICE_CUDA_ON_H
#define LIB_DEVICE_CUDA_ON_H

#include "lib/device/cuda/context.h"
#include "lib/device/cuda/compat.h"
#include "lib/device/cuda/space.h"
#include "lib/device/contract.h"

struct cuda_device {
	struct philox_device base;
	struct cuda_context context;
	struct cuda_spaces spaces;
	int index;
	int driver; /* CUDA's version that it is of, as CUDART_VERSION */
	unsigned multiprocessors;
	char condition_why[160]; /* why no kernel sets conditions; or "" */
	unsigned most_blocks[];  /* of each kernel, that run at once */
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

/* Whether the stream is capturing; an invalidated capture counts. */
enum philox_status cuda_is_capturing(struct philox_device *device,
				     philox_stream stream, int *capturing);

#endif
