/*
 * lib/quantize/cuda.cuh - the kernel that rounds tensors, on the GPU
 */
#ifndef LIB_QUANTIZE_CUDA_CUH
#define LIB_QUANTIZE_CUDA_CUH

#include "lib/quantize/elements.h"

/* The thread's number in the grid, and how many there are. */
static __device__ __forceinline__ uint64_t quantize_thread(void)
{
	return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ uint64_t quantize_threads(void)
{
	return (uint64_t)gridDim.x * blockDim.x;
}

/* The tensor that a unit is of; `at` is that of one before it. */
template <typename args_of>
static __device__ __forceinline__ uint64_t find_item(const args_of &args,
						     uint64_t at, uint64_t unit)
{
	uint64_t low = at, high = args.n - 1;

	while (low < high) {
		const uint64_t middle = (low + high) / 2;

		if (unit < args.items[middle].end)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* A thread does all of its units of a tensor before it looks for another. */
template <typename args_of>
static __device__ __forceinline__ void quantize_run(const args_of &args)
{
	const uint64_t all = args.items[args.n - 1].end;
	uint64_t unit = quantize_thread(), at = 0;

	while (unit < all) {
		at = find_item(args, at, unit);
		const quantize_item *item = &args.items[at];
		const uint64_t begin = at ? args.items[at - 1].end : 0;
		quantize_job job =
			quantize_begin(item, philox_resolve(item->rng));

		for (; unit < item->end; unit += quantize_threads())
			quantize_unit(&job, unit - begin);
		quantize_end(&job);
	}
}

#endif
