/*
 * lib/device_cuda.h - what the files of the CUDA device share
 *
 * ON() is how every call of the CUDA runtime is made. It sees to two things:
 * the call acts on the device it is given, whatever device is current on the
 * thread, and leaves the current device as it found it; and a failing call
 * becomes one status with the call's name and CUDA's own words, while the
 * runtime's last error is cleared, so that it cannot surface in somebody
 * else's check.
 */
#ifndef DEVICE_CUDA_H
#define DEVICE_CUDA_H

#include "cuda_compat.h"
#include "device.h"

struct cuda_device {
	struct philox_device base;
	int index;
	unsigned max_threads; /* that the device runs at once */
};

/* Makes the device current; *previous is the one that was, or -1: the same. */
cudaError_t cuda_enter(const struct philox_device *device, int *previous);

/* Undoes cuda_enter() and says how `call` went. */
enum philox_status cuda_leave(int previous, cudaError_t error,
			      const char *call);

/* The status of one call, made with `device` current. */
#define ON_AS(device, name, call)                                        \
	({                                                               \
		int on_previous;                                         \
		const char *on_name = "cudaSetDevice";                   \
		cudaError_t on_error = cuda_enter(device, &on_previous); \
                                                                         \
		if (on_error == cudaSuccess) {                           \
			on_name = name;                                  \
			on_error = call;                                 \
		}                                                        \
		cuda_leave(on_previous, on_error, on_name);              \
	})
#define ON(device, function, ...) \
	ON_AS(device, #function, function(__VA_ARGS__))

/* Whether the stream is capturing; an invalidated capture counts. */
enum philox_status cuda_is_capturing(struct philox_device *device,
				     philox_stream stream, int *capturing);

/* The operations of the contract, but for launch_host, which CUDA lacks. */
#define CUDA_OP_DECLARE(name, arguments) \
	enum philox_status cuda_##name arguments;
DEVICE_OP_LIST(CUDA_OP_DECLARE)
#undef CUDA_OP_DECLARE

#endif
