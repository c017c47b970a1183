/*
 * lib/subset/subset.cu - subsets by weight on the GPU
 *
 * See Note [The cut of a subset] in lib/subset/elements.h. Each kernel reads the
 * state once a block, and its last block does what follows from what all have
 * counted.
 */
#include "lib/dist/cell.cuh"
#include "lib/dist/places.cuh"

#define SUBSET_THREADS 256

#ifndef SUBSET_ARRIVE
static __device__ __forceinline__ uint32_t subset_arrive(uint32_t *to)
{
	uint32_t before;

	asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], 1;"
		     : "=r"(before)
		     : "l"(to)
		     : "memory");
	return before;
}

#define SUBSET_ARRIVE(to) subset_arrive(to)
#endif

/* Not inlined: most keys are below what is looked for. */
#ifdef __CUDA_ARCH__
#define SUBSET_KEY(state, item, w, logit) \
	subset_key_apart(state, item, w, logit)
#endif
static __device__ __noinline__ uint64_t subset_key_apart(philox_state state,
							 uint32_t item,
							 uint32_t w,
							 float logit);

#include "lib/subset/elements.h"

static __device__ __noinline__ uint64_t subset_key_apart(philox_state state,
							 uint32_t item,
							 uint32_t w,
							 float logit)
{
	return subset_key(state, item, w, logit);
}

static __device__ __forceinline__ uint32_t subset_thread(void)
{
	return blockIdx.x * SUBSET_THREADS + threadIdx.x;
}

static __device__ __forceinline__ uint32_t subset_threads(void)
{
	return gridDim.x * SUBSET_THREADS;
}

/* Whether this block is the last one of the grid; for all of its threads. */
static __device__ __forceinline__ int subset_is_last(subset_work *work)
{
	__shared__ int is_last;

	__syncthreads();
	if (threadIdx.x == 0)
		is_last = SUBSET_ARRIVE(&work->done) == gridDim.x - 1;
	__syncthreads();
	return is_last;
}

/* --- the beginning -------------------------------------------------------- */

/* One block. */
extern "C" __global__ void __launch_bounds__(SUBSET_THREADS)
	philox_kernel_subset_begin(__grid_constant__ const subset_args args)
{
	const philox_state state = block_state(args.rng);
	subset_work *work = args.work;

	for (uint32_t i = threadIdx.x; i < SUBSET_BUCKETS; i += SUBSET_THREADS)
		work->buckets[i] = 0;
	if (threadIdx.x != 0)
		return;
	work->cut = 0;
	work->level = work->left = work->done = 0;
	work->is_invalid = philox_is_poison(state);
}

/* --- the cut -------------------------------------------------------------- */

/* What a block counts of a level. */
struct subset_block {
	uint32_t buckets[SUBSET_BUCKETS];
	uint32_t groups[SUBSET_GROUPS];
	uint32_t is_invalid;
};

static __device__ __forceinline__ void subset_clear(subset_block *block)
{
	for (uint32_t i = threadIdx.x; i < SUBSET_BUCKETS; i += SUBSET_THREADS)
		block->buckets[i] = 0;
	if (threadIdx.x == 0)
		block->is_invalid = 0;
	__syncthreads();
}

static __device__ __forceinline__ void subset_count_all(const subset_args *args,
							philox_state state,
							subset_block *block)
{
	const subset_work *work = args->work;
	const uint64_t cut = work->cut, least = subset_least(work);
	const uint32_t level = work->level, quads = subset_quads(args);

	for (uint32_t quad = subset_thread(); quad < quads;
	     quad += subset_threads()) {
		const subset_keys keys = subset_quad(args, state, quad, least);

		for (int i = 0; i < 4; i++) {
			const uint64_t key = keys.key[i];

			if (key == 0xffffffffffffffffULL)
				block->is_invalid = 1;
			if (subset_begins(key, cut, level))
				atomicAdd(&block->buckets[subset_digit(key,
								       level)],
					  1u);
		}
	}
	__syncthreads();
}

/* Adds what a block has counted to what all have. */
static __device__ __forceinline__ void subset_add(const subset_block *block,
						  subset_work *work)
{
	for (uint32_t i = threadIdx.x; i < SUBSET_BUCKETS; i += SUBSET_THREADS)
		if (block->buckets[i])
			atomicAdd(&work->buckets[i], block->buckets[i]);
	if (threadIdx.x == 0 && block->is_invalid)
		atomicAdd(&work->is_invalid, 1u);
}

/* For the last block: takes what all have counted, and leaves 0. */
static __device__ __forceinline__ void subset_take(const subset_args *args,
						   subset_block *block)
{
	subset_work *work = args->work;

	for (uint32_t i = threadIdx.x; i < SUBSET_BUCKETS;
	     i += SUBSET_THREADS) {
		block->buckets[i] = work->buckets[i];
		work->buckets[i] = 0;
	}
	__syncthreads();
	if (threadIdx.x < SUBSET_GROUPS)
		block->groups[threadIdx.x] =
			subset_group(block->buckets, threadIdx.x);
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	subset_level_end(args, block->buckets, block->groups);
	work->done = 0;
}

extern "C" __global__ void __launch_bounds__(SUBSET_THREADS)
	philox_kernel_subset_count(__grid_constant__ const subset_args args)
{
	__shared__ subset_block block;
	const philox_state state = block_state(args.rng);

	if (args.work->level >= SUBSET_FOUND)
		return;
	subset_clear(&block);
	subset_count_all(&args, state, &block);
	subset_add(&block, args.work);
	if (subset_is_last(args.work))
		subset_take(&args, &block);
}

/* --- places --------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t subset_before(uint32_t n,
							 uint32_t *sum)
{
	__shared__ uint32_t of_warp[SUBSET_THREADS / 32];

	return block_places(n, sum, of_warp);
}

/* The keys of a thread's quad in a chunk; 0 past the end, or below the cut. */
static __device__ __forceinline__ subset_keys
subset_chosen(const subset_args *args, philox_state state, uint32_t quad)
{
	const subset_keys none = {{0, 0, 0, 0}};

	return quad < subset_quads(args)
		       ? subset_quad(args, state, quad, args->work->cut)
		       : none;
}

static __device__ __forceinline__ uint32_t subset_size(subset_keys keys)
{
	uint32_t n = 0;

	for (int i = 0; i < 4; i++)
		n += keys.key[i] != 0;
	return n;
}

/* For the last block: counts of chunks become the places where they begin. */
static __device__ __forceinline__ void subset_add_up(const subset_args *args)
{
	const uint32_t chunks = subset_chunks(args->items);
	uint32_t *places = args->work->places;
	uint32_t before = 0, sum;

	for (uint32_t i = threadIdx.x; i - threadIdx.x < chunks;
	     i += SUBSET_THREADS) {
		const uint32_t n = i < chunks ? places[i] : 0;
		const uint32_t place = before + subset_before(n, &sum);

		if (i < chunks)
			places[i] = place;
		before += sum;
	}
	if (threadIdx.x != 0)
		return;
	places[chunks] = before;
	args->work->done = 0;
}

extern "C" __global__ void __launch_bounds__(SUBSET_THREADS)
	philox_kernel_subset_place(__grid_constant__ const subset_args args)
{
	const philox_state state = block_state(args.rng);
	const uint32_t chunks = subset_chunks(args.items);

	if (args.work->level == SUBSET_INVALID)
		return;
	for (uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
		uint32_t n = 0, sum;

		for (uint32_t i = threadIdx.x; i < SUBSET_QUADS;
		     i += SUBSET_THREADS)
			n += subset_size(subset_chosen(
				&args, state, chunk * SUBSET_QUADS + i));
		subset_before(n, &sum);
		if (threadIdx.x == 0)
			args.work->places[chunk] = sum;
	}
	if (subset_is_last(args.work))
		subset_add_up(&args);
}

/* --- results -------------------------------------------------------------- */

/* Writes what is chosen of a chunk, in the order of items. */
static __device__ __forceinline__ void subset_write_chunk(
	const subset_args *args, philox_state state, uint32_t chunk)
{
	uint32_t before = args->work->places[chunk], sum;

	if (before == args->work->places[chunk + 1])
		return;
	for (uint32_t i = threadIdx.x; i < SUBSET_QUADS; i += SUBSET_THREADS) {
		const uint32_t quad = chunk * SUBSET_QUADS + i;
		const subset_keys keys = subset_chosen(args, state, quad);
		uint32_t place =
			before + subset_before(subset_size(keys), &sum);

		for (uint32_t k = 0; k < 4; k++)
			if (keys.key[k])
				subset_write(args, place++, 4 * quad + k,
					     keys.key[k]);
		before += sum;
	}
}

extern "C" __global__ void __launch_bounds__(SUBSET_THREADS)
	philox_kernel_subset_write(__grid_constant__ const subset_args args)
{
	const philox_state state = block_state(args.rng);
	const uint32_t total = subset_total(&args);
	const uint32_t chunks = subset_chunks(args.items);

	for (uint32_t chunk = blockIdx.x; total && chunk < chunks;
	     chunk += gridDim.x)
		subset_write_chunk(&args, state, chunk);
#pragma unroll 1
	for (uint64_t i = (uint64_t)total + subset_thread(); i < args.wanted;
	     i += subset_threads())
		subset_none(&args, (uint32_t)i);
	if (subset_thread() == 0)
		subset_count_end(&args);
}
