/*
 * tests/simulated/kernels/head_order.h - lib/kernels/head/head_order.h for the
 * CPU: other threads run wherever they may
 */
#ifndef TESTS_SIMULATED_HEAD_ORDER_H
#define TESTS_SIMULATED_HEAD_ORDER_H

#include "tests/simulated/kernels/device_code.h"

SIMULATED_ATOMIC static uint64_t simulated_raise(uint64_t *to, uint64_t value)
{
	uint64_t before;

	simulated_fence();
	before = *to;
	if (before < value)
		*to = value;
	simulated_fence();
	return before;
}

SIMULATED_ATOMIC static uint64_t simulated_load(const uint64_t *from)
{
	simulated_fence();
	return *from;
}

SIMULATED_ATOMIC static void simulated_tell(uint64_t *to, uint64_t value)
{
	simulated_fence();
	__atomic_store_n(to, value, __ATOMIC_RELEASE);
	simulated_fence();
}

/* [sixteen-byte-access] */
template <typename T>
SIMULATED_ATOMIC static void simulated_store(T *to, T value)
{
	simulated_fence();
	*to = value;
	simulated_fence();
}

#define HEAD_RAISE(to, value)   simulated_raise(to, value)
#define HEAD_ADD(to, value)     atomicAdd(to, value)
#define HEAD_LOAD(from)         simulated_load(from)
#define HEAD_TELL(to, value)    simulated_tell(to, value)
#define HEAD_STORE(cell, state) simulated_store(cell, state)
#define HEAD_ENTRY(from)        (*(from))

#endif
