/* tests/simulated/blas/blas.cpp - tests/gpu/cublas.c for the simulated GPU */
#include "tests/simulated/kernels/device_code.h"
#include "tests/simulated/blas/cublas.h"
#include "tests/gpu/cublas.c"
