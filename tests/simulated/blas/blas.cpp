/* tests/simulated/blas/blas.cpp - tests/gpu/cublas.c for the simulated GPU */
#include "tests/simulated/device_code.h"
#include "tests/simulated/cublas.h"
#include "tests/gpu/cublas.c"
