/*
 * lib/quantize/large.cu - the kernel that rounds many tensors
 *
 * It has more parameters than old drivers take, so it is in a module of its
 * own: see lib/kernels/cuda/heads.cu.
 */
#include "lib/quantize/cuda.cuh"

extern "C" __global__ void __launch_bounds__(128, 3)
	philox_kernel_quantize_large(
		__grid_constant__ const quantize_large_args args)
{
	quantize_run(args);
}
