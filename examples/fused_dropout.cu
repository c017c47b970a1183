/*
 * examples/fused_dropout.cu - the kernel; see examples/fused_dropout.h
 */
#include "fused_dropout.h"

/* Reads the state here, on the device: in a graph each launch has a new one. */
static __global__ void fused_dropout_kernel(struct fused_dropout f)
{
	struct philox_state state = philox_resolve(f.rng);
	uint64_t step = (uint64_t)gridDim.x * blockDim.x;
	uint64_t block = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;

	for (; 4 * block < f.count; block += step)
		fused_dropout_block(&f, state, block);
}

/* Any grid gives the same numbers; CUDA would refuse one without blocks. */
int fused_dropout_cuda(philox_stream stream, const struct fused_dropout *args)
{
	struct fused_dropout copy = *args;
	void *pointers[] = {&copy};
	uint64_t grid = copy.count / 1024 + 1;

	return cudaLaunchKernel((const void *)fused_dropout_kernel,
				dim3(grid < 65536 ? (unsigned)grid : 65536),
				dim3(256), pointers, 0, stream);
}
