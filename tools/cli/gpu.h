/*
 * tools/cli/gpu.h - the GPU of a device, for the .cu files of commands
 */
#ifndef TOOLS_CLI_GPU_H
#define TOOLS_CLI_GPU_H

#include <stdlib.h>
#include <string.h>
#include <cuda_runtime.h>
#include <philox/device.h>

/*
 * Makes a device's GPU the thread's current one, to which kernels and libraries
 * on CUDA go: "cuda" is GPU 0, "cuda:3" is GPU 3.
 */
static inline cudaError_t select_gpu(struct philox_device *device)
{
	const char *colon = strchr(philox_device_name(device), ':');

	return cudaSetDevice(colon ? atoi(colon + 1) : 0);
}

#endif
