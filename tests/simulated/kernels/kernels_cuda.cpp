/*
 * tests/simulated/kernels/kernels_cuda.cpp - lib/kernels/cuda/cuda.cu for the
 * CPU
 */
#include "tests/simulated/kernels/device_code.h"
#include "tests/simulated/kernels/head_order.h"
#include "lib/kernels/cuda/cuda.cu"

#define HEAD_KNOWN(capacity) SIMULATED_KERNEL(philox_head_##capacity)
#define FILL_KNOWN(name, out_type, in_type, n, traits) \
	SIMULATED_KERNEL(philox_fill_##name)
#define LAYOUT_KNOWN(type) SIMULATED_KERNEL(philox_layout_##type)

HEAD_SMALL_LIST(HEAD_KNOWN)
FILL_LIST(FILL_KNOWN)
LAYOUT_LIST(LAYOUT_KNOWN)
SIMULATED_KERNEL(philox_store)
SIMULATED_KERNEL(philox_body)
SIMULATED_KERNEL(philox_at)
SIMULATED_KERNEL(philox_copies)
SIMULATED_KERNEL(philox_compare)
