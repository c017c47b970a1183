/*
 * examples/quantize/kernel.cu - the kernels; see examples/quantize/kernel.h
 *
 * A thread has a block. Any grid gives the same numbers.
 */
#include "kernel.h"

static __device__ uint64_t first_block(void)
{
	return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ uint64_t step_of_blocks(void)
{
	return (uint64_t)gridDim.x * blockDim.x;
}

static __device__ uint64_t blocks_of(const struct quantize *q)
{
	return q->rows * q->cols / BLOCK;
}

/* Magnitudes are in the order of their bits. */
static __global__ void largest_kernel(struct quantize q)
{
	for (uint64_t k = first_block(); k < blocks_of(&q);
	     k += step_of_blocks())
		atomicMax((unsigned *)q.largest,
			  philox_f32_bits(largest_of(block_of(&q, k))));
}

static __global__ void round_kernel(struct quantize q)
{
	for (uint64_t k = first_block(); k < blocks_of(&q);
	     k += step_of_blocks())
		store_rounded(&q, k);
}

static __global__ void transform_kernel(struct quantize q)
{
	for (uint64_t k = first_block(); k < blocks_of(&q);
	     k += step_of_blocks())
		store_transformed(&q, k);
}

int quantize_cuda(philox_stream stream, enum quantize_part part,
		  const struct quantize *args)
{
	struct quantize copy = *args;
	void *pointers[] = {&copy};
	const void *kernel =
		part == QUANTIZE_LARGEST ? (const void *)largest_kernel
		: part == QUANTIZE_ROUND ? (const void *)round_kernel
					 : (const void *)transform_kernel;
	uint64_t grid = copy.rows * copy.cols / BLOCK / 128 + 1;

	return cudaLaunchKernel(kernel,
				dim3(grid < 65536 ? (unsigned)grid : 65536),
				dim3(128), pointers, 0, stream);
}
