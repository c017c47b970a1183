/*
 * lib/fill/layout/places.h - where other libraries draw an element from
 *
 * layout_place() finds the block and the word of element e in one of the
 * layouts of philox/fill.h, layout_draw() makes them.
 */
#ifndef LIB_FILL_LAYOUT_PLACES_H
#define LIB_FILL_LAYOUT_PLACES_H

#include <philox/fill.h>
#include "lib/device/kernels.h"

/* --- places --------------------------------------------------------------- */

/* Where an element is drawn from: a counter, and a word of its block (or a pair
 * of words, for elements that need two). */
struct layout_place {
	uint64_t low, high;
	uint32_t word;
};

PHILOX_FN struct layout_place layout_make_place(uint64_t low, uint64_t high,
						uint64_t word)
{
	struct layout_place place = {low, high, (uint32_t)word};

	return place;
}

/* Threads of the grid take an element each, U times, with every block. */
PHILOX_FN struct layout_place layout_grid(const struct layout_args *args,
					  uint64_t base, uint64_t e)
{
	uint64_t row = e / args->threads, thread = e % args->threads;

	return layout_make_place(base + row / args->unroll, thread,
				 row % args->unroll);
}

/* Threads of the grid take V neighbours each. */
PHILOX_FN struct layout_place layout_vectors(const struct layout_args *args,
					     uint64_t base, uint64_t e)
{
	uint64_t vector = e / args->vector, lane = e % args->vector;
	uint64_t blocks = args->vector > 4 ? args->vector / 4 : 1;

	return layout_make_place(base + vector / args->threads * blocks +
					 lane / 4,
				 vector % args->threads, lane % 4);
}

/*
 * cuRAND's host generator has 65536 threads that take four elements in turn. In
 * f64 each draws two blocks for them, starting where a generator of words is at
 * the offset: threads below base % 65536 are one block further.
 */
#define LAYOUT_HOST_THREADS 65536

PHILOX_FN struct layout_place layout_host(uint64_t base, uint64_t e)
{
	uint64_t block = base + e / 4;

	return layout_make_place(block / LAYOUT_HOST_THREADS,
				 block % LAYOUT_HOST_THREADS, e % 4);
}

PHILOX_FN struct layout_place layout_host_f64(uint64_t base, uint64_t e)
{
	uint64_t begin = base % LAYOUT_HOST_THREADS;
	uint64_t turn = begin + e / 4, thread = turn % LAYOUT_HOST_THREADS;
	uint64_t low = base / LAYOUT_HOST_THREADS +
		       2 * (turn / LAYOUT_HOST_THREADS) + e % 4 / 2;

	return layout_make_place(low - (thread < begin), thread, e % 2);
}

PHILOX_FN struct layout_place layout_place(const struct layout_args *args,
					   uint64_t base, uint64_t e)
{
	switch (args->map) {
	case LAYOUT_BLOCKS:
		return layout_make_place(base, e / args->unroll,
					 e % args->unroll);
	case LAYOUT_GRID:
		return layout_grid(args, base, e);
	case LAYOUT_VECTORS:
		return layout_vectors(args, base, e);
	case LAYOUT_HOST:
		return layout_host(base, e);
	case LAYOUT_HOST_F64:
		return layout_host_f64(base, e);
	case LAYOUT_SWAPPED:
		e += base;
		return layout_make_place(e << 32 | e >> 32, 0, 0);
	default: /* LAYOUT_COUNTER */
		return layout_make_place(base + e, 0, 0);
	}
}

/* --- words ---------------------------------------------------------------- */

/* The words at an element's place. */
struct layout_words {
	struct philox_words block;
	uint32_t word; /* its place's */
};

PHILOX_FN struct layout_words layout_draw(const struct layout_args *args,
					  struct philox_state state, uint64_t e)
{
	struct layout_place place = layout_place(args, state.offset / 4, e);
	struct layout_words words;

	words.block = philox_block(state.seed, place.low, place.high);
	words.word = place.word;
	return words;
}

/*
 * Words are chosen by comparisons: an array with an index that is not known
 * when it is compiled is in a GPU's local memory.
 */
struct layout_two {
	uint32_t w0, w1;
};

/* The first two words of a block, or the last two. */
PHILOX_FN struct layout_two layout_half(struct philox_words block, int last)
{
	struct layout_two two;

	two.w0 = last ? block.w[2] : block.w[0];
	two.w1 = last ? block.w[3] : block.w[1];
	return two;
}

PHILOX_FN uint32_t layout_word(struct layout_words words)
{
	struct layout_two two = layout_half(words.block, words.word & 2);

	return words.word & 1 ? two.w1 : two.w0;
}

/* JAX makes one word of four. */
PHILOX_FN uint32_t layout_jax_word(struct layout_words words)
{
	const uint32_t *w = words.block.w;

	return w[0] ^ w[1] ^ w[2] ^ w[3];
}

/* A pair of words as an integer: the first one high. */
PHILOX_FN uint64_t layout_pair(struct layout_words words)
{
	struct layout_two two = layout_half(words.block, words.word & 1);

	return (uint64_t)two.w0 << 32 | two.w1;
}

/* A pair of words as the 53 bits of cuRAND's doubles. */
PHILOX_FN uint64_t layout_z(uint32_t w0, uint32_t w1)
{
	return w0 ^ (uint64_t)w1 << 21;
}

PHILOX_FN uint64_t layout_pair_z(struct layout_words words)
{
	struct layout_two two = layout_half(words.block, words.word & 1);

	return layout_z(two.w0, two.w1);
}

#endif
