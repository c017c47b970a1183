/*
 * lib/fill/layout/cuda.cuh - fills in other libraries' layouts on a GPU
 *
 * One thread makes one element at a time. Results do not depend on the grid.
 */
#ifndef LIB_FILL_LAYOUT_CUDA_CUH
#define LIB_FILL_LAYOUT_CUDA_CUH

#include "lib/dist/elements.h"
#include "lib/dist/cell.cuh"
#include "lib/fill/layout/elements.h"

#define LAYOUT_THREADS 256

/* The element that out[i] holds, counted through the rows of a shard. */
static __device__ __forceinline__ uint64_t layout_element(const fill_args &args,
							  uint64_t i)
{
	return args.first + i / args.count * args.row_stride + i % args.count;
}

#define LAYOUT_KERNEL(type)                                                    \
	extern "C" __global__ void __launch_bounds__(LAYOUT_THREADS)           \
		philox_layout_##type(__grid_constant__ const layout_args args) \
	{                                                                      \
		const philox_state state = block_state(args.fill.rng);         \
		const bool poison = philox_is_poison(state);                   \
		const fill_##type *in = (const fill_##type *)args.fill.in;     \
		fill_##type *out = (fill_##type *)args.fill.out;               \
		const uint64_t all = args.fill.rows * args.fill.count;         \
		const uint64_t threads = (uint64_t)gridDim.x * blockDim.x;     \
		uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;  \
                                                                               \
		for (; i < all; i += threads)                                  \
			out[i] = poison ? fill_poison_##type()                 \
					: layout_##type(                       \
						  &args, state,                \
						  layout_element(args.fill,    \
								 i),           \
						  in ? in[i]                   \
						     : (fill_##type)0);        \
	}

#endif
