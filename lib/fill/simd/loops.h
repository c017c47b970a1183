/*
 * lib/fill/simd/loops.h - how the vector loops of fills are made
 *
 * Included after the vectors they are written in. A loop makes words
 * (lib/fill/simd/words.h), and a body makes the elements of one group of them
 * (lib/fill/simd/fills.h, lib/fill/simd/fills.h).
 */
#ifndef LIB_FILL_SIMD_LOOPS_H
#define LIB_FILL_SIMD_LOOPS_H

#include "lib/dist/blocks.h"
#include "lib/fill/simd/words.h"

/* --- the parameters of loops ---------------------------------------------- */

/* The differences between loops. */
struct v_how {
	v_deal *deal;
	/*
	 * The groups of a chunk follow one another in the code. For long bodies that
	 * would take long to compile and gain little.
	 */
	int unrolled;
	/* plain arguments have their own loop */
	int plain;
};

static const struct v_how v_short = {.deal = v_ordered, .unrolled = 1};
static const struct v_how v_short_or_plain = {
	.deal = v_ordered, .unrolled = 1, .plain = 1};
static const struct v_how v_long = {.deal = v_ordered};
static const struct v_how v_of_pairs = {.deal = v_pairs};
static const struct v_how v_of_halves = {.deal = v_halves};

/* The elements of each fill, and how many a block makes. */
#define SIMD_TYPES(name, out_type, in_type, n, traits) \
	typedef fill_##out_type v_out_##name;          \
	typedef fill_##in_type v_in_##name;            \
	enum { v_n_##name = n };
FILL_LIST(SIMD_TYPES)
#undef SIMD_TYPES

/* --- loops ---------------------------------------------------------------- */

/*
 * SIMD_LOOP(name, how) is followed by a body that makes the elements of one
 * group of the fill `name` from its words a and b: as many 32-bit words as
 * elements, or twice as many. `in` and `out` point at the group's first.
 */
#define SIMD_BODY(name)                                                     \
	SIMD_FN void group_##name(const struct fill_args *args, vi a, vi b, \
				  const v_in_##name *in, v_out_##name *out, \
				  struct philox_state state, uint64_t block)

#define SIMD_GROUPS(name)                                                    \
	for (int g = 0; g < V_GROUPS; g++) {                                 \
		group_##name(&args, words[2 * g], words[2 * g + 1], in, out, \
			     state, block);                                  \
		in += V_LONGS * v_n_##name;                                  \
		out += V_LONGS * v_n_##name;                                 \
		block += V_LONGS;                                            \
	}

/* Whether a word of a chunk is small (philox/draw.h). */
SIMD_FN int v_has_small(const vi words[2 * V_GROUPS])
{
	vi least = words[0];

	SIMD_UNROLL
	for (int g = 1; g < 2 * V_GROUPS; g++)
		least = vi_min(least, words[g]);
	return vi_any(vi_less(least, vi_set(PHILOX_SMALL_WORD)));
}

#define SIMD_NOTHING(args, state, block, out) (void)0

#define SIMD_LOOP(name, how)                  SIMD_LOOP_MENDED(name, how, 0, SIMD_NOTHING)

/* If `small`, mend(args, state, block, out) changes a chunk afterwards. */
#define SIMD_LOOP_MENDED(name, how, small, mend)                            \
	SIMD_BODY(name);                                                    \
	SIMD_FN void loop_##name(struct fill_args args,                     \
				 struct philox_state state, uint64_t block, \
				 uint64_t chunks, const v_in_##name *in,    \
				 v_out_##name *out)                         \
	{                                                                   \
		struct v_stream stream;                                     \
                                                                            \
		v_stream_init(&stream, state, block);                       \
		for (; chunks; chunks--) {                                  \
			struct v_blocks blocks;                             \
			vi words[2 * V_GROUPS];                             \
			int mended;                                         \
                                                                            \
			v_rounds(&stream, block, &blocks);                  \
			SIMD_UNROLL                                         \
			for (int g = 0; g < V_GROUPS; g++)                  \
				how.deal(&blocks, g, stream.key[9][0],      \
					 stream.key[9][1], words + 2 * g);  \
			mended = __builtin_expect(small, 0);                \
			if (how.unrolled) {                                 \
				SIMD_UNROLL                                 \
				SIMD_GROUPS(name)                           \
			} else {                                            \
				SIMD_ROLLED                                 \
				SIMD_GROUPS(name)                           \
			}                                                   \
			if (mended)                                         \
				mend(&args, state, block - V_CHUNK,         \
				     out - V_CHUNK * v_n_##name);           \
		}                                                           \
	}                                                                   \
	static void fill_##name(const struct fill_args *args,               \
				struct philox_state state, uint64_t block,  \
				uint64_t chunks, const void *in, void *out) \
	{                                                                   \
		struct fill_args copy = *args;                              \
                                                                            \
		if (how.plain && args->plain) {                             \
			copy.plain = 1;                                     \
			loop_##name(copy, state, block, chunks, in, out);   \
			return;                                             \
		}                                                           \
		if (how.plain)                                              \
			copy.plain = 0;                                     \
		loop_##name(copy, state, block, chunks, in, out);           \
	}                                                                   \
	SIMD_BODY(name)

#define SIMD_UNUSED (void)args, (void)in, (void)state, (void)block

/* --- loops of real numbers ------------------------------------------------ */

SIMD_FN void v_store_f32(float *to, vf a)
{
	vf_store(to, a);
}

/* To nearest even; a is not a NaN, or it is the one of vf_quiet(). */
SIMD_FN void v_store_bf16(uint16_t *to, vf a)
{
	vi bits = vf_bits(a), odd = vi_and(vi_shr(bits, 16), vi_set(1));
	vi sum = vi_add(vi_add(bits, vi_set(0x7fff)), odd);

	vh_store(to, vi_shr(sum, 16));
}

SIMD_FN void v_store_f16(uint16_t *to, vf a)
{
	vf_store_f16(to, a);
}

/*
 * SIMD_F32(dist, how) is followed by the body that makes the numbers of two
 * vectors of words, y[0] and y[1], in f32; it gives the three dtypes their
 * loops.
 */
#define SIMD_F32_BODY(dist, type)                    \
	{                                            \
		vf y[2];                             \
                                                     \
		SIMD_UNUSED;                         \
		v_##dist(args, a, b, y);             \
		v_store_##type(out, y[0]);           \
		v_store_##type(out + V_LANES, y[1]); \
	}

#define SIMD_F32_LOOP(dist, type, how) \
	SIMD_LOOP(dist##_##type, how)  \
	SIMD_F32_BODY(dist, type)

#define SIMD_F32(dist, how)                                             \
	SIMD_FN void v_##dist(const struct fill_args *args, vi a, vi b, \
			      vf y[2]);                                 \
	SIMD_F32_LOOP(dist, f32, how)                                   \
	SIMD_F32_LOOP(dist, bf16, how)                                  \
	SIMD_F32_LOOP(dist, f16, how)                                   \
	SIMD_FN void v_##dist(const struct fill_args *args, vi a, vi b, vf y[2])

/*
 * SIMD_REFINED(dist, how) is as SIMD_F32(), for numbers of which few are
 * refined (philox/draw.h): those of a chunk are made again after it, so that
 * its loop has no call.
 */
#define SIMD_REFINED_LOOP(dist, type, how)                                     \
	static __attribute__((cold, noinline)) void mend_##dist##_##type(      \
		const struct fill_args *args, struct philox_state state,       \
		uint64_t block, fill_##type *out)                              \
	{                                                                      \
		for (unsigned i = 0; i < 4 * V_CHUNK; i++) {                   \
			uint64_t e = 4 * block + i;                            \
			uint32_t w = philox_word_at(state, e);                 \
                                                                               \
			if (w < PHILOX_SMALL_WORD)                             \
				out[i] = fill_again_##dist##_##type(           \
					args, state, e, w);                    \
		}                                                              \
	}                                                                      \
                                                                               \
	SIMD_LOOP_MENDED(dist##_##type, how, v_has_small(words),               \
			 mend_##dist##_##type)                                 \
	SIMD_F32_BODY(dist, type)

#define SIMD_REFINED(dist, how)                                         \
	SIMD_FN void v_##dist(const struct fill_args *args, vi a, vi b, \
			      vf y[2]);                                 \
	SIMD_REFINED_LOOP(dist, f32, how)                               \
	SIMD_REFINED_LOOP(dist, bf16, how)                              \
	SIMD_REFINED_LOOP(dist, f16, how)                               \
	SIMD_FN void v_##dist(const struct fill_args *args, vi a, vi b, vf y[2])

/* SIMD_F64(dist, how) is the same in f64: y[0] is made of a, y[1] of b. */
#define SIMD_F64(dist, how)                                                   \
	SIMD_FN void v_##dist##_f64(const struct fill_args *args, vi a, vi b, \
				    vd y[2]);                                 \
	SIMD_LOOP(dist##_f64, how)                                            \
	{                                                                     \
		vd y[2];                                                      \
                                                                              \
		SIMD_UNUSED;                                                  \
		v_##dist##_f64(args, a, b, y);                                \
		vd_store(out, y[0]);                                          \
		vd_store(out + V_LONGS, y[1]);                                \
	}                                                                     \
	SIMD_FN void v_##dist##_f64(const struct fill_args *args, vi a, vi b, \
				    vd y[2])

#endif
