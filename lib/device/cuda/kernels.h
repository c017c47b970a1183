/*
 * lib/device/cuda/kernels.h - the form of a table of CUDA kernels, for C and C++
 */
#ifndef LIB_DEVICE_CUDA_KERNELS_H
#define LIB_DEVICE_CUDA_KERNELS_H

#include "lib/device/kernels.h"

/*
 * struct kernel_cuda is one CUDA kernel. It takes one parameter, the arguments
 * by value; the head exists once for each size of them.
 */
struct kernel_cuda {
	enum kernel kernel;
	size_t size;          /* of the arguments, in bytes */
	const void *function; /* as cudaLaunchKernel() takes it */
	unsigned threads;     /* of a block */
	unsigned each;        /* units of work for a thread, before another is
				 worth it */
	int few; /* one block may have fewer warps than `threads` */
};

/* All of them. */
struct kernels_cuda {
	const struct kernel_cuda *items;
	size_t count;
};

#endif
