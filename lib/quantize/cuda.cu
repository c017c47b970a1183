/*
 * lib/quantize/cuda.cu - tensors rounded, and their scales found, on the GPU
 */
#include "lib/quantize/cuda.cuh"

extern "C" __global__ void __launch_bounds__(128, 3)
	philox_kernel_quantize(__grid_constant__ const quantize_args args)
{
	quantize_run(args);
}

/* --- the scale of a tensor ------------------------------------------------ */

/* Of numbers that are not negative the largest has the largest bits. */
static __device__ __forceinline__ uint32_t largest_of_warp(uint32_t bits)
{
	for (int apart = 16; apart; apart /= 2) {
		const uint32_t other =
			__shfl_xor_sync(0xffffffffu, bits, apart);

		bits = other > bits ? other : bits;
	}
	return bits;
}

/* 16 numbers in accesses of 16 bytes, where they are aligned. */
static __device__ __forceinline__ float largest_of_16(const quantize_item *item,
						      uint64_t at)
{
	float x[16], amax = 0.0f;

	quantize_read16(item, at, x);
	for (int k = 0; k < 16; k++)
		amax = philox_greater(amax, quantize_size(x[k]));
	return amax;
}

extern "C" __global__ void __launch_bounds__(256)
	philox_kernel_amax(__grid_constant__ const amax_args args)
{
	const uint64_t step = quantize_threads();
	const uint64_t whole =
		PHILOX_ADDRESS(args.in) % 16 ? 0 : args.count / 16;
	quantize_item item = {};
	float amax = 0.0f;
	uint32_t bits;

	item.in = args.in;
	item.in_dtype = (uint8_t)args.dtype;
	for (uint64_t i = quantize_thread(); i < whole; i += step)
		amax = philox_greater(amax, largest_of_16(&item, 16 * i));
	for (uint64_t i = 16 * whole + quantize_thread(); i < args.count;
	     i += step)
		amax = philox_greater(amax,
				      quantize_size(quantize_in(&item, i)));
	bits = largest_of_warp(
		philox_f32_bits(philox_nvfp4_tensor_scale(amax)));
	if (threadIdx.x % 32 == 0 && bits)
		atomicMax((uint32_t *)args.scale, bits);
}
