/*
 * tools/bench/fills/cuda.cu - needs of a measurement on a GPU besides philox
 *
 * Events with times, which philox does not have, and a kernel that only reads
 * and writes memory: the limit for a dropout.
 */
#include <stdlib.h>
#include <string.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include "tools/bench/fills/cuda.h"
#include "tools/cli/gpu.h"

/* --- scale ---------------------------------------------------------------- */

#define THREADS    256
#define PER_THREAD 4 /* vectors of 16 bytes */
#define SCALE      1.25

static __device__ __forceinline__ void times(float x, float *y)
{
	*y = x * (float)SCALE;
}

static __device__ __forceinline__ void times(double x, double *y)
{
	*y = x * SCALE;
}

static __device__ __forceinline__ void times(__half x, __half *y)
{
	*y = __float2half_rn(__half2float(x) * (float)SCALE);
}

static __device__ __forceinline__ void times(float x, __half *y)
{
	*y = __float2half_rn(x * (float)SCALE);
}

static __device__ __forceinline__ void times(__nv_bfloat16 x, __nv_bfloat16 *y)
{
	*y = __float2bfloat16_rn(__bfloat162float(x) * (float)SCALE);
}

static __device__ __forceinline__ void times(float x, __nv_bfloat16 *y)
{
	*y = __float2bfloat16_rn(x * (float)SCALE);
}

/* The input of one vector of the output. */
template <typename From, typename To> struct group {
	static constexpr int elements = sizeof(uint4) / sizeof(To);
	static constexpr int vectors = sizeof(From) / sizeof(To);

	uint4 in[vectors];
};

template <typename From, typename To>
static __device__ __forceinline__ uint4 scaled(const group<From, To> &of)
{
	From x[group<From, To>::elements];
	To y[group<From, To>::elements];
	uint4 out;

	memcpy(x, of.in, sizeof(x));
#pragma unroll
	for (int i = 0; i < group<From, To>::elements; i++)
		times(x[i], &y[i]);
	memcpy(&out, y, sizeof(out));
	return out;
}

/* The loads of a thread come first: all of them are in flight at once. */
template <typename From, typename To>
static __global__ void __launch_bounds__(THREADS)
	scale(const group<From, To> *in, uint4 *out, size_t count)
{
	size_t at = blockIdx.x * (size_t)(THREADS * PER_THREAD) + threadIdx.x;
	group<From, To> x[PER_THREAD];

#pragma unroll
	for (int i = 0; i < PER_THREAD; i++)
		if (at + i * THREADS < count)
			x[i] = in[at + i * THREADS];
#pragma unroll
	for (int i = 0; i < PER_THREAD; i++)
		if (at + i * THREADS < count)
			out[at + i * THREADS] = scaled(x[i]);
}

static const struct {
	const char *from, *to;
	const void *kernel;
} scales[] = {
	{"f32", "f32", (const void *)scale<float, float>},
	{"f64", "f64", (const void *)scale<double, double>},
	{"f16", "f16", (const void *)scale<__half, __half>},
	{"bf16", "bf16", (const void *)scale<__nv_bfloat16, __nv_bfloat16>},
	{"f32", "f16", (const void *)scale<float, __half>},
	{"f32", "bf16", (const void *)scale<float, __nv_bfloat16>},
};

static int cuda_scale(struct bench_cuda *, philox_stream stream,
		      const char *from, const char *to, const void *in,
		      void *out, size_t bytes)
{
	const size_t per_block = THREADS * PER_THREAD;
	size_t count = bytes / sizeof(uint4);
	dim3 grid((unsigned)((count + per_block - 1) / per_block));
	void *parameters[] = {&in, &out, &count};

	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++)
		if (!strcmp(scales[i].from, from) && !strcmp(scales[i].to, to))
			return cudaLaunchKernel(scales[i].kernel, grid,
						dim3(THREADS), parameters, 0,
						stream);
	return cudaErrorInvalidValue;
}

/* --- events --------------------------------------------------------------- */

struct cuda_clock {
	struct bench_cuda base;
	cudaEvent_t from, to;
};

static int cuda_start(struct bench_cuda *base, philox_stream stream)
{
	return cudaEventRecord(((struct cuda_clock *)base)->from, stream);
}

static int cuda_stop(struct bench_cuda *base, philox_stream stream)
{
	return cudaEventRecord(((struct cuda_clock *)base)->to, stream);
}

static int cuda_elapsed(struct bench_cuda *base, double *elapsed)
{
	struct cuda_clock *clock = (struct cuda_clock *)base;
	float milliseconds;
	cudaError_t error = cudaEventSynchronize(clock->to);

	if (error == cudaSuccess)
		error = cudaEventElapsedTime(&milliseconds, clock->from,
					     clock->to);
	if (error == cudaSuccess)
		*elapsed = milliseconds * 1e6;
	return error;
}

static const char *cuda_message(int error)
{
	return cudaGetErrorString((cudaError_t)error);
}

static void cuda_close(struct bench_cuda *base)
{
	struct cuda_clock *clock = (struct cuda_clock *)base;

	if (clock->from)
		cudaEventDestroy(clock->from);
	if (clock->to)
		cudaEventDestroy(clock->to);
	free(clock);
}

struct bench_cuda *bench_cuda_open(struct philox_device *device,
				   const char **message)
{
	struct cuda_clock *clock =
		(struct cuda_clock *)calloc(1, sizeof(*clock));
	cudaError_t error;

	*message = "out of memory";
	if (!clock)
		return NULL;
	clock->base.start = cuda_start;
	clock->base.stop = cuda_stop;
	clock->base.elapsed = cuda_elapsed;
	clock->base.scale = cuda_scale;
	clock->base.message = cuda_message;
	clock->base.close = cuda_close;
	error = select_gpu(device);
	if (error == cudaSuccess)
		error = cudaEventCreate(&clock->from);
	if (error == cudaSuccess)
		error = cudaEventCreate(&clock->to);
	if (error == cudaSuccess)
		return &clock->base;
	*message = cudaGetErrorString(error);
	cuda_close(&clock->base);
	return NULL;
}
