/*
 * lib/dist/cell.cuh - a cell that a block reads once
 *
 * A captured kernel reads its state from a cell, past the caches of its
 * multiprocessor. If each warp did, a large fill would read the same 16 bytes
 * some 8,000 times, one after another: they have one place in the L2 cache.
 */
#ifndef LIB_DIST_CELL_CUH
#define LIB_DIST_CELL_CUH

#include <philox/state.h>

/*
 * The state that an argument of a kernel refers to; all threads of a block come
 * here, once. They read the copy as they would the cell: of a plain read, or of
 * a copy for each lane, nvcc makes slower loops.
 */
static __device__ __forceinline__ philox_state
block_state(const philox_rng &rng)
{
	__shared__ __attribute__((aligned(16))) philox_state copy;

	if (!rng.cell)
		return rng.state;
	if (threadIdx.x == 0)
		copy = philox_read_cell(rng.cell);
	__syncthreads();
	return philox_read_cell(&copy);
}

#endif
