/*
 * tools/bench/fills/cuda.h - needs of a measurement on a GPU besides philox
 *
 * All return 0, or CUDA's error; its words are at message(). In a build without
 * CUDA no device is a GPU and bench_cuda_open() is missing.
 */
#ifndef TOOLS_BENCH_FILLS_CUDA_H
#define TOOLS_BENCH_FILLS_CUDA_H

#include <stddef.h>
#include <philox.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bench_cuda {
	/* A start and a stop on a stream. */
	int (*start)(struct bench_cuda *cuda, philox_stream stream);
	int (*stop)(struct bench_cuda *cuda, philox_stream stream);
	/* Waits for the stop; the GPU's nanoseconds from start to stop. */
	int (*elapsed)(struct bench_cuda *cuda, double *elapsed);
	/*
	 * Puts on a stream: out = in times a constant. Of dtypes f32, f64, f16
	 * and bf16, both the same, or from f32 to one of the last two; `bytes`,
	 * a multiple of 16, is that of the output, and both are aligned to 16.
	 */
	int (*scale)(struct bench_cuda *cuda, philox_stream stream,
		     const char *from, const char *to, const void *in,
		     void *out, size_t bytes);
	const char *(*message)(int error);
	void (*close)(struct bench_cuda *cuda);
};

/*
 * bench_cuda_open() makes the device's GPU the thread's current one, as
 * libraries on CUDA expect it. NULL with *message.
 */
struct bench_cuda *bench_cuda_open(struct philox_device *device,
				   const char **message);

#ifdef __cplusplus
}
#endif
#endif
