/*
 * lib/sample/cluster.cuh - the blocks of a GPU that have an entry together
 *
 * Note [Blocks that share an entry]
 * ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
 * An entry with filters is read several times, and what is read next depends on
 * all that was read before. From sm_90 on the blocks of a cluster run at the
 * same time, wait for each other in hardware and read each other's shared
 * memory. So an entry may have the blocks of a cluster: each takes a part of the
 * columns, and what they find (a greatest key, a sum, buckets, a list) is joined
 * before anybody goes on. Afterwards all of them know the same, and decide the
 * same next step without asking. All that is joined is a maximum or a sum of
 * integers, so the results are those of one block.
 *
 * What blocks could see different values of, since somebody may write it, is
 * looked up by the first and shared: blocks that did not agree would wait
 * forever. The first also writes what an entry ends with.
 *
 * Functions that work for one block and for several are templates of `Blocks`,
 * which is one_block or cluster. A cluster that is launched without a size has
 * one block (on older GPUs always), and is as fast as one_block but for a few
 * comparisons.
 */
#ifndef LIB_SAMPLE_CLUSTER_CUH
#define LIB_SAMPLE_CLUSTER_CUH

#include "lib/sample/best.cuh"

/* A block that has its entry alone. */
struct one_block {
	static __device__ __forceinline__ uint32_t size(void)
	{
		return 1;
	}

	static __device__ __forceinline__ uint32_t rank(void)
	{
		return 0;
	}

	static __device__ __forceinline__ void sync(void)
	{
		__syncthreads();
	}

	/* Shared memory of the block with a rank, at the place of `mine`. */
	template <class T>
	static __device__ __forceinline__ T *of(T *mine, uint32_t)
	{
		return mine;
	}
};

#if __CUDA_ARCH__ >= 900
struct cluster {
	static __device__ __forceinline__ uint32_t size(void)
	{
		return __clusterSizeInBlocks();
	}

	static __device__ __forceinline__ uint32_t rank(void)
	{
		return __clusterRelativeBlockRank();
	}

	/* All threads of all blocks; what they wrote is seen after it. */
	static __device__ __forceinline__ void sync(void)
	{
		__cluster_barrier_arrive();
		__cluster_barrier_wait();
	}

	template <class T>
	static __device__ __forceinline__ T *of(T *mine, uint32_t rank)
	{
		return (T *)__cluster_map_shared_rank(mine, rank);
	}
};
#else
typedef one_block cluster;
#endif

template <class Blocks> static __device__ __forceinline__ share share_of(void)
{
	return {Blocks::rank(), Blocks::size()};
}

/*
 * What thread 0 of the first block has written, for all threads; it may be
 * written again at once.
 */
template <class Blocks, class... T>
static __device__ __forceinline__ void share_values(T *...values)
{
	Blocks::sync();
	if (Blocks::size() == 1)
		return;
	if (Blocks::rank() && threadIdx.x == 0)
		((*values = *Blocks::of(values, 0)), ...);
	Blocks::sync();
}

/* As block_max(), of all blocks, which have a shared variable for it. */
template <class Blocks>
static __device__ __forceinline__ uint64_t blocks_max(uint64_t key,
						      uint64_t *of_block)
{
	key = block_max(key);
	if (Blocks::size() == 1)
		return key;
	if (threadIdx.x == 0)
		*of_block = key;
	Blocks::sync();
#pragma unroll 1
	for (uint32_t i = 0; threadIdx.x == 0 && i < Blocks::size(); i++)
		key = greater(key, *Blocks::of(of_block, i));
	Blocks::sync();
	return key;
}

#endif
