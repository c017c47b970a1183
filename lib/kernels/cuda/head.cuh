/*
 * lib/kernels/cuda/head.cuh - the kernels of the head
 *
 * Those whose parameters every driver takes are in lib/kernels/cuda/cuda.cu,
 * the others in lib/kernels/cuda/heads.cu, a module of its own
 * (lib/device/kernels.h).
 */
#ifndef LIB_KERNELS_CUDA_HEAD_CUH
#define LIB_KERNELS_CUDA_HEAD_CUH

#include <stddef.h>
#include "lib/kernels/head/head_elements.h"

/* Most of a block: a head of few cells runs with a warp. */
#define HEAD_THREADS 128

/* struct head_args with room for a number of states: a parameter by value. */
template <uint32_t capacity> struct head_message {
	head_control *control;
	uint64_t sequence;
	philox_state states[capacity];
};

#define HEAD_LAYOUT(capacity)                                                \
	static_assert(                                                       \
		sizeof(head_message<capacity>) ==                            \
			sizeof(head_args) + capacity * sizeof(philox_state), \
		"a message of " #capacity " states is head_args_size()");    \
	static_assert(sizeof(head_message<capacity>) <= 32764,               \
		      "a message of " #capacity " states fits a parameter");
HEAD_CAPACITY_LIST(HEAD_LAYOUT)
#undef HEAD_LAYOUT
static_assert(offsetof(head_message<1>, control) ==
		      offsetof(head_args, control),
	      "control is where head_args has it");
static_assert(offsetof(head_message<1>, sequence) ==
		      offsetof(head_args, sequence),
	      "sequence is where head_args has it");
static_assert(offsetof(head_message<1>, states) == offsetof(head_args, states),
	      "states are where head_args has them");

#define HEAD_EACH (HEAD_PART / 32)

/* A thread's cells of a part, of which `left` are there. */
static __device__ __forceinline__ void fill_cells(const head_args *args,
						  const head_cell *entries,
						  uint64_t left, int taken)
{
#pragma unroll
	for (unsigned k = 0; k < HEAD_EACH; k++)
		if (threadIdx.x % 32 + 32 * k < left)
			head_fill_cell(args, &entries[k], taken);
}

/*
 * A warp's part of the cells. The entries are read before it is known whether
 * they are needed, while the atomic operation is under way.
 */
static __device__ __forceinline__ void run_part(const head_args *args,
						const head_cells *cells,
						uint64_t part)
{
	const unsigned lane = threadIdx.x % 32;
	const uint64_t left = cells->count - part * HEAD_PART;
	const head_cell *map = cells->map + part * HEAD_PART + lane;
	head_cell entries[HEAD_EACH];
	int taken = 0;

#pragma unroll
	for (unsigned k = 0; k < HEAD_EACH; k++)
		if (lane + 32 * k < left)
			entries[k] = HEAD_ENTRY(map + 32 * k);
	if (lane == 0)
		taken = head_takes(args, cells, part);
	if (__shfl_sync(0xffffffffu, taken, 0)) {
		if (!cells->follows)
			fill_cells(args, entries, left, 1);
		if (part == 0 && lane == 0)
			head_leads(args);
	} else {
		fill_cells(args, entries, left, 0);
		if (part == 0 && lane == 0)
			head_report(args->control);
	}
}

/* The work of a head. A block has whole warps. */
static __device__ __forceinline__ void run_head(const head_args *args)
{
	const head_cells cells = head_find_cells(args);
	const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
	const unsigned warps = gridDim.x * blockDim.x / 32;

	for (uint64_t part = thread / 32; part < cells.parts; part += warps)
		run_part(args, &cells, part);
}

#define HEAD_KERNEL(capacity)                                            \
	extern "C" __global__ void                                       \
	__launch_bounds__(HEAD_THREADS) philox_head_##capacity(          \
		__grid_constant__ const head_message<capacity> message)  \
	{                                                                \
		run_head(reinterpret_cast<const head_args *>(&message)); \
	}

#endif
