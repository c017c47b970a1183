/*
 * lib/kernels/cuda/heads.cu - heads with more parameters than old drivers take
 *
 * nvcc makes a module of each file. A driver that cannot load these kernels
 * still loads the module of lib/kernels/cuda/cuda.cu.
 */
#include "lib/kernels/cuda/head.cuh"
#include "lib/device/kernels.h"

HEAD_LARGE_LIST(HEAD_KERNEL)
