/*
 * tests/simulated/kernels/condition_cuda.cpp - lib/kernels/cuda/condition.cu
 * for the CPU
 */
#include "tests/simulated/kernels/device_code.h"
#include "tests/simulated/kernels/head_order.h"

/* The header declares it for nvcc alone. */
#define cudaGraphSetConditional(condition, value) \
	simulated_set_condition(condition, value)
#include "lib/kernels/cuda/condition.cu"

SIMULATED_KERNEL(philox_condition)
