/*
 * lib/kernels/cuda/condition.cu - the kernel that sets a condition of a graph
 *
 * cudaGraphSetConditional() is in NVIDIA's library of device code. This file
 * alone is compiled as relocatable device code and linked with that library
 * (Makefile), so that programs that use philox need neither. It is a module of
 * its own: a driver that cannot load it still loads the others.
 */
#include "lib/kernels/head/body_elements.h"

extern "C" __global__ void philox_condition(
	__grid_constant__ const condition_args args)
{
#if CUDART_VERSION >= 12030
	uint32_t value;

	if (condition_find(&args, &value))
		cudaGraphSetConditional(args.condition, value);
#endif
}
