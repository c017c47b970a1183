/*
 * tests/simulated/kernels/bench_cuda.cpp - tools/bench/fills/cuda.cu for the CPU
 */
#include "tests/simulated/kernels/device_code.h"
#include "tools/bench/fills/cuda.cu"

SIMULATED_KERNEL(scale<float, float>)
SIMULATED_KERNEL(scale<double, double>)
SIMULATED_KERNEL(scale<__half, __half>)
SIMULATED_KERNEL(scale<__nv_bfloat16, __nv_bfloat16>)
SIMULATED_KERNEL(scale<float, __half>)
SIMULATED_KERNEL(scale<float, __nv_bfloat16>)
