/* tests/simulated/rows_cuda.cpp - lib/rows_cuda.cu for the CPU */
#include "device_code.h"
#include "lib/rows_cuda.cu"

#define ROWS_KNOWN(name, args, threads) SIMULATED_KERNEL(philox_kernel_##name)

ROWS_KERNEL_LIST(ROWS_KNOWN)
