/*
 * tests/simulated/ranks/kernels.cpp - examples/ranks/kernels.cu for the CPU,
 * and what its NCCL needs of the simulated GPU
 */
#include "tests/simulated/kernels/device_code.h"
#include "examples/ranks/kernels.cu"

#define RANKS_KNOWN(name) SIMULATED_KERNEL(each_##name)

KERNEL_LIST(RANKS_KNOWN)

/* Copies after the work that is on the stream; returns 0 when it is done. */
extern "C" __attribute__((visibility("default"))) int simulated_copy(
	void *to, const void *from, size_t size, cudaStream_t stream)
{
	return cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream) !=
		       cudaSuccess ||
	       cudaStreamSynchronize(stream) != cudaSuccess;
}
