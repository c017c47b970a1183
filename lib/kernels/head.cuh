/*
 * lib/kernels/head.cuh - the kernels of the head
 *
 * Those whose parameters every driver takes are in lib/kernels/cuda.cu, the
 * others in lib/kernels/heads.cu, a module of its own (lib/device/kernels.h).
 */
#ifndef LIB_KERNELS_HEAD_CUH
#define LIB_KERNELS_HEAD_CUH

#include <stddef.h>
#include "graph/head_elements.h"

#define HEAD_THREADS 1024

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

#endif
