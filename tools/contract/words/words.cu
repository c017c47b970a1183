/*
 * tools/contract/words/words.cu - functions of one word, on a GPU
 */
#include <cuda_runtime.h>
#include "tools/cli/gpu.h"
#include "tools/contract/words/words.h"

#define THREADS    256
#define BLOCKS_MAX 1024

/* Each thread adds what it has once, in any order. */
#define WORD_KERNEL(name, type, value)                                        \
	static __global__ void words_##name(struct word_range range,          \
					    unsigned long long *sum)          \
	{                                                                     \
		const uint64_t stride = gridDim.x * (uint64_t)blockDim.x;     \
		uint64_t i = range.begin + blockIdx.x * (uint64_t)blockDim.x; \
		unsigned long long own = 0;                                   \
                                                                              \
		for (i += threadIdx.x; i < range.end; i += stride) {          \
			const uint32_t w = (uint32_t)i * range.step;          \
                                                                              \
			own += word_mix(w, WORD_BITS_##type(value));          \
		}                                                             \
		atomicAdd(sum, own);                                          \
	}
WORD_FUNCTIONS(WORD_KERNEL)

static const void *const kernels[] = {
#define WORD_ENTRY(name, type, value) (const void *)words_##name,
	WORD_FUNCTIONS(WORD_ENTRY)};

const char *word_cuda_sum(struct philox_device *device, philox_stream stream,
			  unsigned function, struct word_range range,
			  uint64_t *sum)
{
	const uint64_t blocks =
		(range.end - range.begin + THREADS - 1) / THREADS;
	const dim3 grid((unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX));
	void *parameters[] = {&range, &sum};
	cudaError_t error = select_gpu(device);

	if (error == cudaSuccess)
		error = cudaLaunchKernel(kernels[function], grid, dim3(THREADS),
					 parameters, 0, (cudaStream_t)stream);
	return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}
