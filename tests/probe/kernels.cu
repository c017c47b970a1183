/*
 * tests/probe/kernels.cu - see tests/probe/kernels.h
 */
#include "tests/probe/kernels.h"

static __device__ unsigned long long clock_ns(void)
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

extern "C" __global__ void probe_spin_kernel(probe_spin_args args)
{
	const unsigned long long begun = clock_ns();

	while (clock_ns() - begun < args.ns)
		;
	if (!args.span || threadIdx.x)
		return;
	/* Memory begins with zeros: what is kept is the distance from the end */
	atomicMax(&args.span->first, ~begun);
	atomicMax(&args.span->last, clock_ns());
	if (!blockIdx.x)
		atomicAdd(&args.span->launches, 1);
}

extern "C" __global__ void probe_count_kernel(unsigned long long *count)
{
	atomicAdd(count, 1);
}

extern "C" __global__ void probe_unloaded_kernel(unsigned long long *count)
{
	atomicAdd(count, 1);
}

#define MESSAGE_KERNEL(capacity)                                        \
	extern "C" __global__ void probe_message_##capacity##_kernel(   \
		__grid_constant__ const struct probe_message_##capacity \
			message)                                        \
	{                                                               \
		unsigned long long n = atomicAdd(message.log, 1);       \
                                                                        \
		message.log[1 + n] = message.sequence;                  \
	}
MESSAGE_KERNEL(1)
MESSAGE_KERNEL(64)
MESSAGE_KERNEL(2040)

const void *const probe_spin = (const void *)probe_spin_kernel;
const void *const probe_count = (const void *)probe_count_kernel;
const void *const probe_unloaded = (const void *)probe_unloaded_kernel;
const void *const probe_message_1 = (const void *)probe_message_1_kernel;
const void *const probe_message_64 = (const void *)probe_message_64_kernel;
const void *const probe_message_2040 = (const void *)probe_message_2040_kernel;
