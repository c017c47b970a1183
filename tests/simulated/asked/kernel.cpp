/*
 * tests/simulated/asked/kernel.cpp - the only kernel that is asked about
 */
#include "tests/simulated/kernels/device_code.h"

static __global__ void count(unsigned long long *to)
{
	atomicAdd(to, 1);
}
SIMULATED_KERNEL(count)

extern "C" {
extern const void *const probe_count;
const void *const probe_count = (const void *)count;
}
