/*
 * lib/rows_cuda.cu - the kernels of lib/rows_kernels.h on the GPU
 *
 * Each takes its arguments by value and calls the inline functions that the
 * loops of lib/rows_host.c call. Those that draw from a table end with
 * end_launch(): see Note [Rows that advance once] in lib/rows_kernels.h.
 */
#include "rows_elements.h"

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
 * Called by all threads of a block when they are done. The last block to be
 * done has seen the others' fences: all is written, nobody reads any more.
 */
static __device__ __forceinline__ void end_launch(rows_control *control)
{
	__threadfence();
	__syncthreads();
	if (threadIdx.x != 0 || atomicAdd(&control->done, 1) != gridDim.x - 1)
		return;
	__threadfence();
	control->done = 0;
	rows_end(control);
}

/* --- rows ----------------------------------------------------------------- */

extern "C" __global__ void philox_kernel_rows_seed(
	__grid_constant__ const rows_seed_args args)
{
	for (uint64_t i = thread_number(); i < args.count; i += thread_count())
		args.states[i] = rows_derive(args.seed, i);
}

extern "C" __global__ void philox_kernel_rows_set(
	__grid_constant__ const rows_set_args args)
{
	for (uint64_t i = thread_number(); i < args.n; i += thread_count())
		rows_set(&args, i);
}

extern "C" __global__ void philox_kernel_rows_advance(
	__grid_constant__ const rows_draw_args args)
{
	const uint64_t launch = rows_launch(&args.table);

	for (uint64_t i = thread_number(); i < args.list.n; i += thread_count())
		rows_advance_entry(&args, launch, i);
	end_launch(args.table.control);
}

/* --- draws ---------------------------------------------------------------- */

#define DRAW_KERNEL(name, type, size)                                          \
	extern "C" __global__ void philox_kernel_rows_##name(                  \
		__grid_constant__ const rows_draw_args args)                   \
	{                                                                      \
		const uint64_t launch = rows_launch(&args.table);              \
		const uint64_t units = args.list.n * rows_blocks(&args, size); \
                                                                               \
		for (uint64_t i = thread_number(); i < units;                  \
		     i += thread_count())                                      \
			rows_##name##_unit(&args, launch, i);                  \
		end_launch(args.table.control);                                \
	}
ROWS_DRAW_LIST(DRAW_KERNEL)
#undef DRAW_KERNEL
