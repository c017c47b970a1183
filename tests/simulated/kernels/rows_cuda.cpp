/*
 * tests/simulated/kernels/rows_cuda.cpp - the kernels of lib/rows, lib/sample,
 * lib/accept, lib/split, lib/quantize and lib/subset for the CPU
 *
 * With the PTX of 10.0, so that two numbers at a time are made, too.
 */
#define SIMULATED_ARCH 1000
#include "tests/simulated/kernels/device_code.h"

/*
 * --- lib/rows/elements.h: other threads run wherever they may
 * ----------------
 */

SIMULATED_ATOMIC static uint64_t simulated_load(const uint64_t *from)
{
	uint64_t value = *from;

	simulated_fence();
	return value;
}

SIMULATED_ATOMIC static void simulated_store(uint64_t *to, uint64_t value)
{
	simulated_fence();
	*to = value;
	simulated_fence();
}

SIMULATED_ATOMIC static void simulated_raise(uint64_t *to, uint64_t value)
{
	simulated_fence();
	if (*to < value)
		*to = value;
	simulated_fence();
}

SIMULATED_ATOMIC static void simulated_max(uint64_t *to, uint64_t value)
{
	if (*to < value)
		*to = value;
	simulated_fence();
}

#define ROWS_LOAD(from)       simulated_load(from)
#define ROWS_PEEK(from)       (*(from))
#define ROWS_STORE(to, value) simulated_store(to, value)
#define ROWS_RAISE(to, value) simulated_raise(to, value)
#define ROWS_TELL(to, value)  simulated_store(to, value)
#define ROWS_ADD(to, value)   atomicAdd(to, value)
#define ROWS_MAX(to, value)   simulated_max(to, value)
#define ROWS_ARRIVE(to)       atomicAdd(to, 1)
#define SUBSET_ARRIVE(to)     atomicAdd(to, 1)

#include "lib/rows/cuda.cu"
#include "lib/sample/best.cu"
#include "lib/sample/filter.cu"
#include "lib/accept/accept.cu"
#include "lib/split/split.cu"
#include "lib/quantize/cuda.cu"
#include "lib/quantize/large.cu"
#include "lib/subset/subset.cu"

#define ROWS_KNOWN(name, args, threads) SIMULATED_KERNEL(philox_kernel_##name)

ROWS_KERNEL_LIST(ROWS_KNOWN)
