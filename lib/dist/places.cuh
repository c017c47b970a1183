/*
 * lib/dist/places.cuh - where the threads of a block write, one after the other
 */
#ifndef LIB_DIST_PLACES_CUH
#define LIB_DIST_PLACES_CUH

#include <stdint.h>

/*
 * How much the threads before this one have, and the sum of the block's; all of
 * its threads take part. `of_warp` is shared memory of the block.
 */
template <uint32_t warps>
static __device__ __forceinline__ uint32_t
block_places(uint32_t n, uint32_t *sum, uint32_t (&of_warp)[warps])
{
	const uint32_t warp = threadIdx.x / 32;
	uint32_t before = 0, all = n;

	for (uint32_t apart = 1; apart < 32; apart *= 2) {
		const uint32_t others =
			__shfl_xor_sync(0xffffffffu, all, apart);

		before += threadIdx.x & apart ? others : 0;
		all += others;
	}
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		of_warp[warp] = all;
	__syncthreads();
	*sum = 0;
	for (uint32_t i = 0; i < warps; i++) {
		before += i < warp ? of_warp[i] : 0;
		*sum += of_warp[i];
	}
	return before;
}

#endif
