/*
 * tests/simulated/kernels/heads_cuda.cpp - lib/kernels/cuda/heads.cu for the
 * CPU
 */
#include "tests/simulated/kernels/device_code.h"
#include "tests/simulated/kernels/head_order.h"
#include "lib/kernels/cuda/heads.cu"

#define HEAD_KNOWN(capacity) SIMULATED_KERNEL(philox_head_##capacity)

HEAD_LARGE_LIST(HEAD_KNOWN)
