/* tests/simulated/train_cuda.cpp - tools/train_cuda.cu for the CPU */
#include "device_code.h"
#include "cublas.h"
#include "tools/train_cuda.cu"

#define TRAIN_KNOWN(name) SIMULATED_KERNEL(kernel_##name)

TRAIN_KERNEL_LIST(TRAIN_KNOWN)
