/*
 * examples/ranks/kernels.cu - the kernels on a GPU: a thread for each index
 *
 * Compile with -fmad=false: see kernels.h.
 */
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>
#include "kernels.h"

#define CUDA_KERNEL(name)                                                  \
	static __global__ void each_##name(struct name args, size_t count) \
	{                                                                  \
		size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;  \
		size_t stride = gridDim.x * (size_t)blockDim.x;            \
                                                                           \
		for (; i < count; i += stride)                             \
			kernel_##name(&args, i);                           \
	}
KERNEL_LIST(CUDA_KERNEL)
#undef CUDA_KERNEL

static const void *const cuda_kernels[] = {
#define CUDA_ENTRY(name) (const void *)each_##name,
	KERNEL_LIST(CUDA_ENTRY)
#undef CUDA_ENTRY
};

#define THREADS    128
#define BLOCKS_MAX 1024

const char *kernel_launch_cuda(philox_stream stream, enum kernel kernel,
			       const void *args, size_t count)
{
	void *parameters[] = {const_cast<void *>(args), &count};
	size_t blocks = (count + THREADS - 1) / THREADS;
	dim3 grid((unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX));
	cudaError_t error =
		cudaLaunchKernel(cuda_kernels[kernel], grid, dim3(THREADS),
				 parameters, 0, stream);

	return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}

/* "cuda" is GPU 0, "cuda:3" is GPU 3. Launches go to the current one. */
const char *kernels_load_cuda(struct philox_device *device)
{
	const char *colon = strchr(philox_device_name(device), ':');
	cudaError_t error = cudaSetDevice(colon ? atoi(colon + 1) : 0);
	struct cudaFuncAttributes attributes;

	for (int i = 0; i < KERNELS && error == cudaSuccess; i++)
		error = cudaFuncGetAttributes(&attributes, cuda_kernels[i]);
	return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}
