/*
 * lib/kernels/cuda/cuda.cu - the library's kernels on the GPU, and their table
 *
 * Each kernel takes one parameter, its arguments by value, and calls the same
 * inline functions as the loops of lib/kernels/host/host.c. Results do not
 * depend on the number of blocks or threads. lib/device/cuda/graph.c decides
 * how many there are and on which stream; it launches with cudaLaunchKernel(), since
 * nvcc's own launch syntax would need the C++ library.
 */
#include <stddef.h>
#include "lib/fill/cuda.cuh"
#include "lib/device/cuda/kernels.h"
#include "lib/kernels/cuda/cuda.h"
#include "lib/kernels/cuda/head.cuh"
#include "lib/kernels/cuda/pieces.cuh"
#include "lib/kernels/head/body_elements.h"
#include "lib/fill/layout/cuda.cuh"

/* --- fills ---------------------------------------------------------------- */

FILL_LIST(FILL_KERNEL)
LAYOUT_LIST(LAYOUT_KERNEL)

/*
 * --- the head: the large ones are in lib/kernels/cuda/heads.cu
 * -----------------
 */

HEAD_SMALL_LIST(HEAD_KERNEL)

#define HEAD_ELSEWHERE(capacity)                           \
	extern "C" __global__ void philox_head_##capacity( \
		__grid_constant__ const head_message<capacity>);
HEAD_LARGE_LIST(HEAD_ELSEWHERE)
#undef HEAD_ELSEWHERE

/* --- one state ------------------------------------------------------------ */

extern "C" __global__ void philox_store(__grid_constant__ const store_args args)
{
	*args.to = args.state;
}

/* --- bodies of conditional nodes ------------------------------------------ */

/*
 * One block, since all of it must have read the control before that is counted,
 * and as large as blocks are: of 4,096 cells a thread has four to wait for, one
 * after another.
 */
#define BODY_THREADS 1024

extern "C" __global__ void __launch_bounds__(BODY_THREADS)
	philox_body(__grid_constant__ const body_args args)
{
	const philox_state control = philox_read_cell(args.control);
	const body_map *map = body_map_of(control);

	if (!map) {
		if (threadIdx.x == 0)
			body_poison_run(args.control);
		return;
	}
	const body_cell *cells = reinterpret_cast<const body_cell *>(map + 1);

	for (uint64_t k = threadIdx.x; k < map->cells; k += BODY_THREADS)
		body_move(map, &cells[k], body_runs(control));
	__syncthreads(); /* all have read the control */
	if (threadIdx.x == 0)
		body_count(&args, map, control);
}

#define AT_THREADS 256

extern "C" __global__ void __launch_bounds__(AT_THREADS)
	philox_at(__grid_constant__ const at_args args)
{
	const uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	const uint64_t index = *args.word;

	for (uint64_t k = thread; k < args.n;
	     k += (uint64_t)gridDim.x * blockDim.x)
		at_fill(&args, index, k);
	if (thread == 0 && at_is_missing(&args, index))
		body_report(args.report, args.number);
}

/* --- many copies and comparisons: lib/kernels/cuda/pieces.cuh -------------- */

extern "C" __global__ void __launch_bounds__(COPIES_THREADS)
	philox_copies(__grid_constant__ const copies_args args)
{
	do_pieces(args);
}

extern "C" __global__ void __launch_bounds__(COPIES_THREADS)
	philox_compare(__grid_constant__ const compare_args args)
{
	do_pieces(args);
}

/*
 * --- conditions of graphs: lib/kernels/cuda/condition.cu
 * ------------------------
 */

extern "C" __global__ void philox_condition(
	__grid_constant__ const condition_args);

/* --- tables of rows, and samples: lib/rows, lib/sample, lib/accept, lib/split */

#define ROWS_KERNEL(name, args, threads)                 \
	extern "C" __global__ void philox_kernel_##name( \
		__grid_constant__ const args);
ROWS_KERNEL_LIST(ROWS_KERNEL)
#undef ROWS_KERNEL

/* --- the table ------------------------------------------------------------ */

#define ROW(kernel, args, function, threads)                                \
	{                                                                   \
		kernel, sizeof(args), (const void *)function, threads, 1, 0 \
	}
#define HEAD_ROW(capacity)                     \
	{KERNEL_HEAD,                          \
	 sizeof(head_message<capacity>),       \
	 (const void *)philox_head_##capacity, \
	 HEAD_THREADS,                         \
	 HEAD_EACH,                            \
	 1},
#define FILL_ROW(name, out, in, n, traits) \
	ROW(KERNEL_##name, fill_args, philox_fill_##name, FILL_THREADS),
#define LAYOUT_ROW(type)                                             \
	ROW(KERNEL_layout_##type, layout_args, philox_layout_##type, \
	    LAYOUT_THREADS),
#define ROWS_ROW(name, args, threads) \
	ROW(KERNEL_##name, args, philox_kernel_##name, threads),

/* The heads come first, the small before the large: one is looked up at every
 * replay, and opening skips those that cannot be loaded. So it does with the one
 * of conditions, and learns from the last whether the device works. */
static const kernel_cuda table[] = {
	HEAD_CAPACITY_LIST(HEAD_ROW) FILL_LIST(FILL_ROW) LAYOUT_LIST(LAYOUT_ROW)
		ROWS_KERNEL_LIST(ROWS_ROW) ROW(KERNEL_CONDITION, condition_args,
					       philox_condition, 1),
	ROW(KERNEL_BODY, body_args, philox_body, BODY_THREADS),
	ROW(KERNEL_AT, at_args, philox_at, AT_THREADS),
	ROW(KERNEL_COPIES, copies_args, philox_copies, COPIES_THREADS),
	ROW(KERNEL_COMPARE, compare_args, philox_compare, COPIES_THREADS),
	ROW(KERNEL_STORE, store_args, philox_store, 1),
};
const struct kernels_cuda kernels_cuda = {table,
					  sizeof(table) / sizeof(table[0])};
