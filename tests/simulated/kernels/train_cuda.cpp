/*
 * tests/simulated/kernels/train_cuda.cpp - tools/train/model/cuda.cu for the CPU
 */
#include "tests/simulated/kernels/device_code.h"
#include "tests/simulated/blas/cublas.h"
#include "tools/train/model/cuda.cu"

#define TRAIN_KNOWN(name) SIMULATED_KERNEL(kernel_##name)

TRAIN_KERNEL_LIST(TRAIN_KNOWN)
TRAIN_KNOWN(product)
