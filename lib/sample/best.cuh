/*
 * lib/sample/best.cuh - the best column of an entry, for a block of a GPU
 */
#ifndef LIB_SAMPLE_BEST_CUH
#define LIB_SAMPLE_BEST_CUH

#include "lib/rows/cuda.cuh"
#include "lib/sample/elements.h"

static __device__ __forceinline__ uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The greatest key of a warp; all of its threads take part. */
static __device__ __forceinline__ uint64_t warp_max(uint64_t key)
{
	for (int apart = 16; apart; apart /= 2)
		key = greater(key,
			      __shfl_xor_sync(0xffffffffu,
					      (unsigned long long)key, apart));
	return key;
}

/* The greatest key of a block; thread 0 has it. May be called again at once. */
static __device__ __forceinline__ uint64_t block_max(uint64_t key)
{
	__shared__ uint64_t of_warp[SAMPLE_THREADS / 32];

	key = warp_max(key);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		of_warp[threadIdx.x / 32] = key;
	__syncthreads();
	if (threadIdx.x < 32)
		key = warp_max(threadIdx.x < SAMPLE_THREADS / 32
				       ? of_warp[threadIdx.x]
				       : 0);
	return key;
}

/*
 * Looks an entry up once for all threads of a block: its mask and its state
 * must not differ between them. Returns null if the entry does not take part,
 * or its row, which is shared until the next entry.
 */
static __device__ __forceinline__ const sample_row *begin_entry(
	const sample_args *args, uint64_t launch, uint64_t entry)
{
	__shared__ sample_row found;
	__shared__ int takes_part;

	__syncthreads();
	if (threadIdx.x == 0)
		takes_part = sample_begin(args, launch, sample_others(args),
					  entry, &found);
	__syncthreads();
	return takes_part ? &found : nullptr;
}

/* The greatest of a warp's; all of its threads take part, none with a NaN. */
static __device__ __forceinline__ float warp_most(float most)
{
	for (int apart = 16; apart; apart /= 2)
		most = fmaxf(most, philox_f32_from_bits(__shfl_xor_sync(
					   0xffffffffu, philox_f32_bits(most),
					   apart)));
	return most;
}

/* The same of a block, for all of its threads. */
static __device__ __forceinline__ float block_most(float most)
{
	__shared__ float of_warp[SAMPLE_THREADS / 32];

	most = warp_most(most);
	if (threadIdx.x % 32 == 0)
		of_warp[threadIdx.x / 32] = most;
	__syncthreads();
	return warp_most(of_warp[threadIdx.x % (SAMPLE_THREADS / 32)]);
}

/* Of one word in 16.8 million: not inlined, so it takes no registers. */
static __device__ __noinline__ float small_noise(philox_state state, uint32_t v,
						 uint32_t w)
{
	return philox_gumbel_of(state, v, w);
}

static __device__ __forceinline__ float noise_of(const sample_row *row,
						 uint32_t v, uint32_t w)
{
	if (row->inverse == 0.0f)
		return 0.0f;
	return w < PHILOX_SMALL_WORD
		       ? small_noise(row->state, v, w)
		       : philox_gumbel_of_exponential(philox_minus_ln1m_f32(w));
}

/* The logits of a quad's columns, in f32. */
struct quad_logits {
	float v[4];
};

static __device__ __forceinline__ void take_quad(const sample_row *row,
						 uint32_t quad,
						 quad_logits logits,
						 philox_words words,
						 sample_best *best)
{
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t v = quad * 4 + i, w = words.w[i];

		if (sample_may_win(row, logits.v[i], w, best->most))
			sample_take(row, logits.v[i], noise_of(row, v, w), v,
				    best);
	}
}

/* -infinity in place of what is not kept. */
static __device__ __forceinline__ quad_logits kept_quad(const sample_row *row,
							uint32_t quad,
							quad_logits logits)
{
	for (uint32_t i = 0; i < 4; i++)
		if (!sample_is_kept(row, logits.v[i], quad * 4 + i))
			logits.v[i] = sample_lowest_f32();
	return logits;
}

/* Logits as they are. */
struct unchanged {
	__device__ __forceinline__ uint32_t bits(uint32_t) const
	{
		return 0;
	}

	__device__ __forceinline__ quad_logits change(quad_logits logits,
						      uint32_t, uint32_t) const
	{
		return logits;
	}
};

/* A block's part of the quads of an entry, of which it takes those in turn. */
struct share {
	uint32_t part, parts;
};

/*
 * A block has a part of an entry; its threads take quads in turn. The columns of
 * a quad are looked at closely only if one of the warp's may win, which after
 * the first quads is seldom: the highest score so far is that of the warp, and
 * after the first quad that of the block. All threads go round as often as
 * the first of their warp, and once at least, past the end with columns of
 * -infinity, and load a quad ahead.
 */
#define SAMPLE_BEST(name, type)                                                \
	static __device__ __forceinline__ quad_logits widen_##name(            \
		sample_four_##name four)                                       \
	{                                                                      \
		quad_logits logits;                                            \
                                                                               \
		for (uint32_t i = 0; i < 4; i++)                               \
			logits.v[i] = sample_widen_##name(four.v[i]);          \
		return logits;                                                 \
	}                                                                      \
                                                                               \
	template <int filtered, class Change>                                  \
	static __device__ __forceinline__ sample_best best_of_##name(          \
		const sample_args *args, const sample_row *row,                \
		uint32_t entry, share mine, Change change)                     \
	{                                                                      \
		const uint32_t step = mine.parts * SAMPLE_THREADS;             \
		const uint32_t begin =                                         \
			mine.part * SAMPLE_THREADS + threadIdx.x;              \
		const uint32_t end = sample_quads(args) + threadIdx.x % 32;    \
		uint32_t quad = sample_first_quad(args) + begin;               \
		sample_four_##name next =                                      \
			sample_##name##_load(args, entry, quad);               \
		uint32_t allowed = sample_allowed(args, entry, quad) & 15;     \
		allowed |= change.bits(quad) << 4;                             \
		sample_best best = SAMPLE_NO_BEST;                             \
                                                                               \
		for (uint32_t q = begin; q == begin || q < end; q += step) {   \
			quad_logits logits =                                   \
				change.change(widen_##name(sample_##name##_of( \
						      args, next, allowed)),   \
					      quad, allowed & allowed >> 4);   \
			philox_words words = {{0, 0, 0, 0}};                   \
			const int is_last = q + step >= end;                   \
			int may_win = 0;                                       \
                                                                               \
			if (!is_last) {                                        \
				next = sample_##name##_load(args, entry,       \
							    quad + step);      \
				allowed = sample_allowed(args, entry,          \
							 quad + step) &        \
					  15;                                  \
				allowed |= change.bits(quad + step) << 4;      \
			}                                                      \
			if (filtered)                                          \
				logits = kept_quad(row, quad, logits);         \
			if (row->inverse != 0.0f)                              \
				words = philox_draw4(row->state, quad);        \
			for (int i = 0; i < 4; i++)                            \
				may_win |=                                     \
					sample_may_win(row, logits.v[i],       \
						       words.w[i], best.most); \
			if (__any_sync(0xffffffffu, may_win)) {                \
				take_quad(row, quad, logits, words, &best);    \
				best.most = is_last ? best.most                \
						    : warp_most(best.most);    \
			}                                                      \
			if (q == begin && step < sample_quads(args))           \
				best.most = block_most(best.most);             \
			quad += step;                                          \
		}                                                              \
		return best;                                                   \
	}
SAMPLE_LIST(SAMPLE_BEST)
#undef SAMPLE_BEST

#endif
