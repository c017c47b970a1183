/*
 * tests/simulated/kernels/fused_dropout.cpp - examples/fused_dropout.cu for the
 * CPU
 */
#include "tests/simulated/kernels/device_code.h"
#include "examples/fused_dropout.cu"

SIMULATED_KERNEL(fused_dropout_kernel)
