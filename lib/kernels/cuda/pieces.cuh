/*
 * lib/kernels/cuda/pieces.cuh - many arrays that are copied, or compared
 *
 * A warp does a piece of an array at a time (lib/device/kernels.h). It loads
 * all words of it before it uses them, which hides the latency of the loads.
 * The bytes at the ends of an array belong to its first piece: a lane has one
 * of each end at most. Results do not depend on the grid.
 */
#ifndef LIB_KERNELS_CUDA_PIECES_CUH
#define LIB_KERNELS_CUDA_PIECES_CUH

#include "lib/device/kernels.h"
#include "lib/kernels/head/piece_span.h"

#define COPIES_THREADS 256
#define PIECE_EACH     (PIECE_BYTES / PIECE_WORD / PIECE_THREADS)

static_assert(PIECE_THREADS == 32, "a warp does a piece");

/* Where the words of both sides are; `other` at aligned addresses. */
struct piece_sides {
	const uint4 *side;
	const uint4 *other;
};

static __device__ __forceinline__ piece_sides
piece_sides_of(const void *side, const void *other, const piece_span &span)
{
	const uint8_t *bytes = static_cast<const uint8_t *>(other);

	return {reinterpret_cast<const uint4 *>(
			static_cast<const uint8_t *>(side) + span.head),
		reinterpret_cast<const uint4 *>(bytes + span.head -
						span.shift)};
}

/* The 16 bytes that are `shift` bytes into 32. */
static __device__ __forceinline__ uint4 piece_shifted(uint4 low, uint4 high,
						      uint32_t shift)
{
	uint32_t w[8] = {low.x,  low.y,  low.z,  low.w,
			 high.x, high.y, high.z, high.w};
	const uint32_t bits = shift % 4 * 8;

#pragma unroll
	for (int i = 0; i < 6; i++)
		w[i] = shift & 8 ? w[i + 2] : w[i];
#pragma unroll
	for (int i = 0; i < 5; i++)
		w[i] = shift & 4 ? w[i + 1] : w[i];
	return make_uint4(__funnelshift_r(w[0], w[1], bits),
			  __funnelshift_r(w[1], w[2], bits),
			  __funnelshift_r(w[2], w[3], bits),
			  __funnelshift_r(w[3], w[4], bits));
}

/* A thread's words of a piece, of the side that is at any distance. */
static __device__ __forceinline__ void
piece_load(const piece_sides &sides, const piece_span &span, uint64_t word,
	   uint4 words[PIECE_EACH])
{
	uint4 next[PIECE_EACH];

#pragma unroll
	for (unsigned k = 0; k < PIECE_EACH; k++)
		if (word + k * PIECE_THREADS < span.words)
			words[k] = sides.other[word + k * PIECE_THREADS];
	if (!span.shift)
		return;
#pragma unroll
	for (unsigned k = 0; k < PIECE_EACH; k++)
		if (word + k * PIECE_THREADS < span.words)
			next[k] = sides.other[word + k * PIECE_THREADS + 1];
#pragma unroll
	for (unsigned k = 0; k < PIECE_EACH; k++)
		words[k] = piece_shifted(words[k], next[k], span.shift);
}

/* --- copies --------------------------------------------------------------- */

static __device__ __forceinline__ piece_span span_of(const copy_item *item)
{
	return piece_span_of(reinterpret_cast<uint64_t>(item->to),
			     reinterpret_cast<uint64_t>(item->from),
			     item->bytes);
}

static __device__ __forceinline__ void
do_piece(const copy_item *item, const piece_span &span, uint64_t word)
{
	const piece_sides sides = piece_sides_of(item->to, item->from, span);
	uint4 *to = const_cast<uint4 *>(sides.side);
	uint4 words[PIECE_EACH];

	piece_load(sides, span, word, words);
#pragma unroll
	for (unsigned k = 0; k < PIECE_EACH; k++)
		if (word + k * PIECE_THREADS < span.words)
			to[word + k * PIECE_THREADS] = words[k];
}

static __device__ __forceinline__ void do_byte(const copy_item *item,
					       uint64_t at)
{
	static_cast<uint8_t *>(item->to)[at] =
		static_cast<const uint8_t *>(item->from)[at];
}

/* --- comparisons ---------------------------------------------------------- */

/* Where two words of 16 bytes differ first; 16: nowhere. */
static __device__ __forceinline__ uint32_t compare_words(uint4 one, uint4 other)
{
	const uint32_t differ[4] = {one.x ^ other.x, one.y ^ other.y,
				    one.z ^ other.z, one.w ^ other.w};
	uint32_t place = 16;

#pragma unroll
	for (int i = 3; i >= 0; i--)
		if (differ[i])
			place = i * 4 + (__ffs(differ[i]) - 1) / 8;
	return place;
}

/* Many threads may have a difference to tell, of which the first counts. */
static __device__ __forceinline__ void compare_tell(const compare_item *item,
						    uint64_t place)
{
	if (place < *static_cast<volatile uint64_t *>(item->first))
		atomicMin(reinterpret_cast<unsigned long long *>(item->first),
			  static_cast<unsigned long long>(place));
}

static __device__ __forceinline__ piece_span span_of(const compare_item *item)
{
	return piece_span_of(reinterpret_cast<uint64_t>(item->one),
			     reinterpret_cast<uint64_t>(item->other),
			     item->bytes);
}

static __device__ __forceinline__ void
do_piece(const compare_item *item, const piece_span &span, uint64_t word)
{
	const piece_sides sides = piece_sides_of(item->one, item->other, span);
	uint4 one[PIECE_EACH], other[PIECE_EACH];

#pragma unroll
	for (unsigned k = 0; k < PIECE_EACH; k++)
		if (word + k * PIECE_THREADS < span.words)
			one[k] = sides.side[word + k * PIECE_THREADS];
	piece_load(sides, span, word, other);
#pragma unroll
	for (unsigned k = 0; k < PIECE_EACH; k++) {
		const uint64_t at = word + k * PIECE_THREADS;
		uint32_t place = PIECE_WORD;

		if (at < span.words)
			place = compare_words(one[k], other[k]);
		if (place < PIECE_WORD)
			compare_tell(item, span.head + at * PIECE_WORD + place);
	}
}

static __device__ __forceinline__ void do_byte(const compare_item *item,
					       uint64_t at)
{
	if (static_cast<const uint8_t *>(item->one)[at] !=
	    static_cast<const uint8_t *>(item->other)[at])
		compare_tell(item, at);
}

/* --- all pieces ----------------------------------------------------------- */

/* The array that a piece is of; `at` is that of one before it. */
template <typename args_of>
static __device__ __forceinline__ uint64_t
piece_item(const args_of &args, uint64_t at, uint64_t piece)
{
	uint64_t low = at, high = args.count - 1;

	while (low < high) {
		const uint64_t middle = (low + high) / 2;

		if (piece < args.ends[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

template <typename item_of>
static __device__ __forceinline__ void do_ends(const item_of *item,
					       const piece_span &span,
					       uint32_t lane)
{
	if (lane < span.head)
		do_byte(item, lane);
	if (lane < span.tail)
		do_byte(item, item->bytes - span.tail + lane);
}

template <typename args_of>
static __device__ __forceinline__ void do_pieces(const args_of &args)
{
	const uint64_t all = args.ends[args.count - 1];
	const uint64_t warps =
		(uint64_t)gridDim.x * blockDim.x / PIECE_THREADS;
	const uint32_t lane = threadIdx.x % PIECE_THREADS;
	uint64_t piece = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) /
			 PIECE_THREADS;
	uint64_t at = 0;

	while (piece < all) {
		at = piece_item(args, at, piece);
		const auto *item = &args.items[at];
		const uint64_t begin = at ? args.ends[at - 1] : 0;
		const piece_span span = span_of(item);

		if (piece == begin)
			do_ends(item, span, lane);
		for (; piece < args.ends[at]; piece += warps)
			do_piece(item, span,
				 (piece - begin) * PIECE_EACH * PIECE_THREADS +
					 lane);
	}
}

#endif
