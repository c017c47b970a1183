/*
 * lib/rows/cuda.cuh - what the kernels of tables and of samples have in common
 */
#ifndef LIB_ROWS_CUDA_CUH
#define LIB_ROWS_CUDA_CUH

#include "lib/rows/elements.h"

/* The thread's number in the grid, and how many there are. */
static __device__ __forceinline__ uint64_t thread_number(void)
{
	return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ uint64_t thread_count(void)
{
	return (uint64_t)gridDim.x * blockDim.x;
}

/*
 * Called by all threads of a block when they are done: the last block ends the
 * launch.
 */
static __device__ __forceinline__ void end_launch(rows_control *control)
{
	__syncthreads();
	if (threadIdx.x != 0 || ROWS_ARRIVE(&control->done) != gridDim.x - 1)
		return;
	control->done = 0;
	rows_end(control);
}

/*
 * Where the last block has more to do: is_last_block() says so to all of its
 * threads, when all blocks are done; end_last_block() ends the launch.
 */
static __device__ __forceinline__ int is_last_block(rows_control *control)
{
	__shared__ int is_last;

	__syncthreads();
	if (threadIdx.x == 0)
		is_last = ROWS_ARRIVE(&control->done) == gridDim.x - 1;
	__syncthreads();
	return is_last;
}

static __device__ __forceinline__ void end_last_block(rows_control *control)
{
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	control->done = 0;
	rows_end(control);
}

#endif
