/*
 * tests/simulated/runtime.h - shared by the files of the simulated runtime
 *
 * Each GPU is a host device that is private to the runtime: the program has
 * copies of lib/device/host for its own host devices, with names of their own.
 */
#ifndef TESTS_SIMULATED_RUNTIME_H
#define TESTS_SIMULATED_RUNTIME_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include "lib/device/host/host.h"

#define RUNTIME_GPUS    2
#define RUNTIME_FIRST    8 /* the driver's number of GPU 0: not the runtime's */
#define RUNTIME_MPS     2    /* multiprocessors: few, so that loops repeat */
#define RUNTIME_THREADS 1024 /* of a multiprocessor */
#define RUNTIME_PRIORITY (-5) /* the highest */
#define RUNTIME_MEMORY  ((size_t)1 << 32) /* of a GPU */
#define RUNTIME_UNIT    ((size_t)2 << 20) /* of what is mapped */

/*
 * The number of the GPU whose context is current on the thread. Without one the
 * primary context of the thread's device becomes current.
 */
int runtime_index(void);

/* The GPU of that number; NULL: there is no memory for it. */
struct philox_device *runtime_gpu(void);

/* A function of the driver for virtual memory, or NULL (runtime_space.c). */
void *runtime_space_function(const char *name);

/* Keeps an error for cudaGetLastError(). */
cudaError_t runtime_error(cudaError_t error);

/* [lost-fault] The error that every call on a GPU gives which is lost, or 0. */
cudaError_t runtime_lost(void);

/* [lost-reset] The primary context of a GPU is destroyed. */
void runtime_reset_context(int gpu);

/* The context that is current; NULL: the primary one of its GPU. */
CUcontext runtime_context(void);

/* The error for a status of the host device. */
cudaError_t runtime_said(enum philox_status status);

/*
 * [unsafe-calls] A call that a capture may forbid: it is refused then, and the
 * captures that forbid it are invalidated.
 */
cudaError_t runtime_unsafe(const char *what);

/* An operation of the current GPU. */
#define RUNTIME(name, ...)                                                \
	({                                                                \
		struct philox_device *gpu_ = runtime_gpu();               \
		cudaError_t lost_ = runtime_lost();                       \
                                                                          \
		lost_  ? lost_                                            \
		: gpu_ ? runtime_said(gpu_->ops->name(gpu_, __VA_ARGS__)) \
		       : runtime_error(cudaErrorMemoryAllocation);        \
	})

/* One that is such a call, which is legal on a host device. */
#define RUNTIME_UNSAFE(name, ...)                             \
	({                                                    \
		cudaError_t error_ = runtime_unsafe(#name);   \
                                                              \
		error_ ? error_ : RUNTIME(name, __VA_ARGS__); \
	})

/*
 * The handles of CUDA and of the host device are those of one type. A thread's
 * own stream is made when it is first named.
 */
philox_stream runtime_stream(cudaStream_t stream);

/* How many blocks a cluster of a launch has; 0: a launch cannot be so. */
unsigned runtime_cluster(const cudaLaunchConfig_t *config);

/* Those of the host devices that GPUs are. */
extern void (*const runtime_kernels[KERNEL_COUNT])(const void *args);

/* The version of the driver: SIMULATED_DRIVER, or that of the headers. */
int runtime_driver(void);

/* Loads a kernel, if it is not loaded on the current GPU. */
cudaError_t runtime_load(const void *function);

#endif
