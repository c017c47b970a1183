/*
 * lib/kernels/cuda.cu - the library's kernels on the GPU, and their table
 *
 * Each kernel takes one parameter, its arguments by value, and calls the same
 * inline functions as the loops of lib/kernels/host.c. Results do not depend on
 * the number of blocks or threads. lib/device/cuda/graph.c decides how many
 * there are and on which stream; it launches with cudaLaunchKernel(), since
 * nvcc's own launch syntax would need the C++ library.
 */
#include <stddef.h>
#include "lib/fill/cuda.cuh"
#include "graph/head_elements.h"
#include "lib/device/cuda/kernels.h"
#include "lib/fill/layout/cuda.cuh"

#define HEAD_THREADS 1024

/* --- fills ---------------------------------------------------------------- */

FILL_LIST(FILL_KERNEL)
LAYOUT_LIST(LAYOUT_KERNEL)

/* --- the head ------------------------------------------------------------- */

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

/*
 * Reports an unannounced launch to the host. Nothing else writes the report,
 * and the host reads the count first: the payload must be there before it.
 */
static __device__ void report_repeat(volatile head_report *report,
				     uint64_t sequence)
{
	report->sequence = sequence;
	__threadfence_system();
	report->count = report->count + 1;
}

/*
 * The work of a head's only block. All threads must have seen the control's old
 * sequence number before thread 0 stores the new one.
 */
static __device__ __forceinline__ void run_head(const head_args *args)
{
	head_control *control = args->control;
	const uint64_t cells = control->cells;
	const int accepted = head_accepts(args);

	for (uint64_t i = threadIdx.x; i < cells; i += blockDim.x)
		head_fill_cell(args, i, accepted);
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	if (accepted)
		control->sequence = args->sequence;
	else
		report_repeat(control->report, control->sequence);
}

#define HEAD_KERNEL(capacity)                                            \
	extern "C" __global__ void                                       \
	__launch_bounds__(HEAD_THREADS) philox_head_##capacity(          \
		__grid_constant__ const head_message<capacity> message)  \
	{                                                                \
		run_head(reinterpret_cast<const head_args *>(&message)); \
	}
HEAD_CAPACITY_LIST(HEAD_KERNEL)
#undef HEAD_KERNEL

/* --- one state ------------------------------------------------------------ */

extern "C" __global__ void philox_store(__grid_constant__ const store_args args)
{
	*args.to = args.state;
}

/* --- tables of rows: lib/rows/cuda.cu ------------------------------------- */

#define ROWS_KERNEL(name, args, threads)                 \
	extern "C" __global__ void philox_kernel_##name( \
		__grid_constant__ const args);
ROWS_KERNEL_LIST(ROWS_KERNEL)
#undef ROWS_KERNEL

/* --- the table ------------------------------------------------------------ */

#define HEAD_ROW(capacity)                            \
	{KERNEL_HEAD, sizeof(head_message<capacity>), \
	 (const void *)philox_head_##capacity, HEAD_THREADS, 1},
#define FILL_ROW(name, out, in, n, traits)                                   \
	{KERNEL_##name, sizeof(fill_args), (const void *)philox_fill_##name, \
	 FILL_THREADS, 0},
#define ROWS_ROW(name, args, threads)                                     \
	{KERNEL_##name, sizeof(args), (const void *)philox_kernel_##name, \
	 threads, 0},

#define LAYOUT_ROW(type)                            \
	{KERNEL_layout_##type, sizeof(layout_args), \
	 (const void *)philox_layout_##type, LAYOUT_THREADS, 0},

/* The heads come first: one is looked up at every replay. */
const kernel_cuda kernels_cuda[] = {HEAD_CAPACITY_LIST(HEAD_ROW) FILL_LIST(
	FILL_ROW) LAYOUT_LIST(LAYOUT_ROW) ROWS_KERNEL_LIST(ROWS_ROW){
	KERNEL_STORE, sizeof(store_args), (const void *)philox_store, 1, 1}};
const size_t kernels_cuda_count =
	sizeof(kernels_cuda) / sizeof(kernels_cuda[0]);
