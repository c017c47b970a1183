/*
 * lib/fill/simd/loops.h - the fills in vectors, for one instruction set
 *
 * Included by lib/fill/simd/fill_avx2.c and lib/fill/simd/fill_avx512.c after the vectors they are
 * written in. A chunk is V_GROUPS vectors of blocks, a block in each lane of 64
 * bits; as many are in flight at once to hide the multiplications' latency. The
 * words come out in order of elements, two vectors for each group.
 *
 * A block's state is kept as the products of the last round, of which only the
 * low halves count (words 1 and 3 of the counter), and the two other words in
 * the low halves of lanes whose upper halves are never looked at, since the
 * next product ignores them.
 */
#ifndef LIB_FILL_SIMD_LOOPS_H
#define LIB_FILL_SIMD_LOOPS_H

#include "lib/fill/blocks.h"
#include "lib/fill/simd/functions.h"
#include "lib/fill/simd/tables.h"

/* Loops over the groups of a chunk; a test's build needs no speed. */
#ifdef PHILOX_UNROLL_NOTHING
#define SIMD_UNROLL
#else
#define SIMD_UNROLL _Pragma("GCC unroll 16")
#endif
#define SIMD_LOOPS _Pragma("GCC unroll 1")
/* What is read is asked for this many bytes before. */
#define SIMD_AHEAD 4096

enum {
	V_LONGS = V_LANES / 2,       /* lanes of 64 bits */
	V_CHUNK = V_GROUPS * V_LONGS /* blocks */
};

_Static_assert(V_CHUNK <= SIMD_CHUNK_MAX, "a chunk fits the buffers");

/* --- words ---------------------------------------------------------------- */

#define SIMD_MULT_A 0xD2511F53u
#define SIMD_MULT_B 0xCD9E8D57u

/*
 * What is the same in all blocks of a call. Of a counter only word 2 differs,
 * so half of the first two rounds is: with the words 0 to 3 as they come out,
 * round 1 makes of M, the product of word 2,
 *
 *     M >> 32 ^ first, M, ...
 *
 * and round 2 makes, of N, the product of its word 0,
 *
 *     M ^ second[0], third, N >> 32 ^ second[1], N
 *
 * where `third` is in key[2][0] already. M is taken one step further by an
 * addition; it does not overflow, for word 2 does not.
 */
struct v_stream {
	vi key[10][2];
	vi first, second[2];
	vi product, step; /* M of the lanes less that of block 0; of a group */
};

SIMD_FN uint64_t v_times(uint32_t a, uint32_t mult)
{
	return (uint64_t)a * mult;
}

SIMD_FN void v_stream_init(struct v_stream *stream, struct philox_state state,
			   uint64_t block)
{
	uint32_t a = (uint32_t)state.seed, b = (uint32_t)(state.seed >> 32);
	uint64_t low = v_times((uint32_t)(state.offset / 4), SIMD_MULT_A);
	uint32_t word_2 = (uint32_t)(low >> 32) ^ (uint32_t)(block >> 32) ^ b;
	uint64_t high = v_times(word_2, SIMD_MULT_B);

	for (uint32_t i = 0; i < 10; i++) {
		stream->key[i][0] = vl_set(a + i * 0x9E3779B9u);
		stream->key[i][1] = vl_set(b + i * 0xBB67AE85u);
	}
	stream->first = vi_xor(stream->key[0][0], vl_set(state.offset >> 34));
	stream->second[0] = vi_xor(stream->key[1][0], vl_set(high >> 32));
	stream->second[1] = vi_xor(stream->key[1][1], vl_set(low));
	stream->key[2][0] = vi_xor(stream->key[2][0], vl_set(high));
	stream->product = vl_mul(vl_order(), vl_set(SIMD_MULT_B));
	stream->step = vl_set(v_times(V_LONGS, SIMD_MULT_B));
}

/* The blocks of a chunk, in a round. */
struct v_blocks {
	vi c0[V_GROUPS], c1[V_GROUPS], c2[V_GROUPS], c3[V_GROUPS];
};

/* All rounds but the last. */
SIMD_FN void v_rounds(const struct v_stream *stream, uint64_t block,
		      struct v_blocks *c)
{
	const vi mult_a = vl_set(SIMD_MULT_A), mult_b = vl_set(SIMD_MULT_B);
	vi next = vl_add(vl_set(v_times((uint32_t)block, SIMD_MULT_B)),
			 stream->product);

	SIMD_UNROLL
	for (int g = 0; g < V_GROUPS; g++) {
		vi a = vl_mul(vi_xor(vl_shr(next, 32), stream->first), mult_a);

		c->c0[g] = vi_xor(next, stream->second[0]);
		c->c2[g] = vi_xor(vl_shr(a, 32), stream->second[1]);
		c->c3[g] = a;
		next = vl_add(next, stream->step);
	}
	SIMD_UNROLL
	for (int g = 0; g < V_GROUPS; g++) {
		vi a = vl_mul(c->c0[g], mult_a), b = vl_mul(c->c2[g], mult_b);

		c->c0[g] = vi_xor(vl_shr(b, 32), stream->key[2][0]);
		c->c2[g] = vi_xor3(vl_shr(a, 32), c->c3[g], stream->key[2][1]);
		c->c1[g] = b;
		c->c3[g] = a;
	}
	SIMD_UNROLL
	for (int round = 3; round < 9; round++) {
		SIMD_UNROLL
		for (int g = 0; g < V_GROUPS; g++) {
			vi a = vl_mul(c->c0[g], mult_a);
			vi b = vl_mul(c->c2[g], mult_b);

			c->c0[g] = vi_xor3(vl_shr(b, 32), c->c1[g],
					   stream->key[round][0]);
			c->c2[g] = vi_xor3(vl_shr(a, 32), c->c3[g],
					   stream->key[round][1]);
			c->c1[g] = b;
			c->c3[g] = a;
		}
	}
}

/*
 * The last round deals the words out. A group has two vectors, in which blocks
 * lie as vl_order() says unless their elements are in order:
 *
 *     v_halves   words 0 and 1 of a block; words 2 and 3
 *     v_pairs    words 0 and 2; words 1 and 3
 *     v_ordered  the words of the first half of blocks, of the second
 */
SIMD_FN void v_halves(const struct v_stream *stream, const struct v_blocks *c,
		      vi words[2 * V_GROUPS])
{
	const vi mult_a = vl_set(SIMD_MULT_A), mult_b = vl_set(SIMD_MULT_B);

	SIMD_UNROLL
	for (int g = 0; g < V_GROUPS; g++) {
		words[2 * g] = vl_last(vl_mul(c->c2[g], mult_b), c->c1[g],
				       stream->key[9][0]);
		words[2 * g + 1] = vl_last(vl_mul(c->c0[g], mult_a), c->c3[g],
					   stream->key[9][1]);
	}
}

SIMD_FN void v_pairs(const struct v_stream *stream, const struct v_blocks *c,
		     vi words[2 * V_GROUPS])
{
	const vi mult_a = vl_set(SIMD_MULT_A), mult_b = vl_set(SIMD_MULT_B);
	vi key = vl_join(stream->key[9][0], stream->key[9][1]);

	SIMD_UNROLL
	for (int g = 0; g < V_GROUPS; g++) {
		vi a = vl_mul(c->c0[g], mult_a), b = vl_mul(c->c2[g], mult_b);

		words[2 * g] = vi_xor3(vl_join_high(b, a),
				       vl_join(c->c1[g], c->c3[g]), key);
		words[2 * g + 1] = vl_join(b, a);
	}
}

SIMD_FN void v_ordered(const struct v_stream *stream, const struct v_blocks *c,
		       vi words[2 * V_GROUPS])
{
	v_halves(stream, c, words);
	SIMD_UNROLL
	for (int g = 0; g < V_GROUPS; g++) {
		vi low = words[2 * g], high = words[2 * g + 1];

		words[2 * g] = vl_zip_low(low, high);
		words[2 * g + 1] = vl_zip_high(low, high);
	}
}

/* --- loops ---------------------------------------------------------------- */

/*
 * SIMD_LOOP_OF(name, out_type, in_type, n, unroll, deal, twice) is followed by
 * a body that makes the elements of one group from its words a and b, as `deal`
 * leaves them: as many 32-bit words as elements, or twice as many. `in` and
 * `out` point at the group's first. Long bodies are not unrolled, which would
 * cost much to compile and gain little. If `twice`, arguments that are plain
 * have a loop of their own. SIMD_LOOP() is what most are.
 */
#define SIMD_LOOP(name, out_type, in_type, n, unroll) \
	SIMD_LOOP_OF(name, out_type, in_type, n, unroll, v_ordered, 0)

#define SIMD_LOOP_OF(name, out_type, in_type, n, unroll, deal, twice)          \
	SIMD_FN void group_##name(const struct fill_args *args, vi a, vi b,    \
				  const fill_##in_type *in,                    \
				  fill_##out_type *out,                        \
				  struct philox_state state, uint64_t block);  \
	SIMD_FN void loop_##name(struct fill_args args,                        \
				 struct philox_state state, uint64_t block,    \
				 uint64_t chunks, const fill_##in_type *in,    \
				 fill_##out_type *out)                         \
	{                                                                      \
		struct v_stream stream;                                        \
                                                                               \
		v_stream_init(&stream, state, block);                          \
		for (; chunks; chunks--) {                                     \
			struct v_blocks blocks;                                \
			vi words[2 * V_GROUPS];                                \
                                                                               \
			v_rounds(&stream, block, &blocks);                     \
			deal(&stream, &blocks, words);                         \
			unroll for (int g = 0; g < V_GROUPS; g++)              \
			{                                                      \
				group_##name(&args, words[2 * g],              \
					     words[2 * g + 1], in, out, state, \
					     block);                           \
				in += V_LONGS * n;                             \
				out += V_LONGS * n;                            \
				block += V_LONGS;                              \
			}                                                      \
		}                                                              \
	}                                                                      \
	static void fill_##name(const struct fill_args *args,                  \
				struct philox_state state, uint64_t block,     \
				uint64_t chunks, const void *in, void *out)    \
	{                                                                      \
		struct fill_args copy = *args;                                 \
                                                                               \
		if (twice && args->plain) {                                    \
			copy.plain = 1;                                        \
			loop_##name(copy, state, block, chunks, in, out);      \
			return;                                                \
		}                                                              \
		if (twice)                                                     \
			copy.plain = 0;                                        \
		loop_##name(copy, state, block, chunks, in, out);              \
	}                                                                      \
	SIMD_FN void group_##name(const struct fill_args *args, vi a, vi b,    \
				  const fill_##in_type *in,                    \
				  fill_##out_type *out,                        \
				  struct philox_state state, uint64_t block)

#define SIMD_UNUSED (void)args, (void)in, (void)state, (void)block

/* --- bits and integers ---------------------------------------------------- */

SIMD_LOOP(bits_u32, u32, u32, 4, SIMD_UNROLL)
{
	SIMD_UNUSED;
	vi_store(out, a);
	vi_store(out + V_LANES, b);
}

SIMD_LOOP(bits_u64, u64, u64, 2, SIMD_UNROLL)
{
	SIMD_UNUSED;
	vi_store(out, a);
	vi_store(out + V_LONGS, b);
}

/* The lanes that were rejected, drawn again one by one. */
SIMD_FN void v_again_u32(const struct fill_args *args, vi low, uint32_t *out,
			 struct philox_state state, uint64_t block)
{
	uint32_t lanes[V_LANES];

	vi_store(lanes, low);
	for (unsigned i = 0; i < V_LANES; i++)
		if (lanes[i] < (uint32_t)args->reject)
			out[i] = (uint32_t)args->from +
				 fill_again_u32(args, state, block + i / 4,
						i % 4);
}

/* One vector of words; n = 2^32 keeps them all as they are. */
SIMD_FN void v_integers_u32(const struct fill_args *args, vi w, uint32_t *out,
			    struct philox_state state, uint64_t block)
{
	vi n = vl_set(args->range), from = vi_set((uint32_t)args->from);
	vi even = vl_mul(w, n), odd = vl_mul(vl_shr(w, 32), n);
	vi value = vl_join(vl_shr(even, 32), vl_shr(odd, 32));
	vi low = vl_join(even, odd);

	if (args->range >> 32)
		value = w;
	vi_store(out, vi_add(value, from));
	if (args->reject &&
	    vi_any(vi_less(low, vi_set((uint32_t)args->reject))))
		v_again_u32(args, low, out, state, block);
}

SIMD_LOOP(integers_u32, u32, u32, 4, SIMD_LOOPS)
{
	(void)in;
	v_integers_u32(args, a, out, state, block);
	v_integers_u32(args, b, out + V_LANES, state, block + V_LANES / 4);
}

SIMD_FN void v_again_u64(const struct fill_args *args, vi low, uint64_t *out,
			 struct philox_state state, uint64_t block)
{
	uint64_t lanes[V_LONGS];

	vi_store(lanes, low);
	for (unsigned i = 0; i < V_LONGS; i++)
		if (lanes[i] < args->reject)
			out[i] = args->from + fill_again_u64(args, state,
							     block + i / 2,
							     i % 2);
}

/* The product of 64-bit lanes, by halves. */
SIMD_FN void v_product(vi a, vi b, vi *high, vi *low)
{
	vi mask = vl_set(0xffffffffu);
	vi a_high = vl_shr(a, 32), b_high = vl_shr(b, 32);
	vi least = vl_mul(a, b);
	vi middle = vl_add(vl_mul(a_high, b), vl_shr(least, 32));
	vi other = vl_add(vl_mul(a, b_high), vi_and(middle, mask));

	*high = vl_add(vl_add(vl_mul(a_high, b_high), vl_shr(middle, 32)),
		       vl_shr(other, 32));
	*low = vl_join(least, other);
}

SIMD_FN void v_integers_u64(const struct fill_args *args, vi w, uint64_t *out,
			    struct philox_state state, uint64_t block)
{
	vi value, low;

	v_product(w, vl_set(args->range), &value, &low);
	if (!args->range)
		value = w;
	vi_store(out, vl_add(value, vl_set(args->from)));
	if (args->reject && vl_any(vl_less(low, vl_set(args->reject))))
		v_again_u64(args, low, out, state, block);
}

SIMD_LOOP(integers_u64, u64, u64, 2, SIMD_LOOPS)
{
	(void)in;
	v_integers_u64(args, a, out, state, block);
	v_integers_u64(args, b, out + V_LONGS, state, block + V_LONGS / 2);
}

/* --- real numbers in f32 -------------------------------------------------- */

SIMD_FN void v_store_f32(float *to, vf a)
{
	vf_store(to, a);
}

/* To nearest even; a is no NaN, or the one of vf_quiet(). */
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
 * SIMD_F32(dist, deal) is followed by the body that makes the numbers of two
 * vectors of words, y[0] and y[1], in f32; it gives the three dtypes their
 * loops.
 */
#define SIMD_F32_LOOP(dist, type, deal)                                 \
	SIMD_LOOP_OF(dist##_##type, type, type, 4, SIMD_LOOPS, deal, 0) \
	{                                                               \
		vf y[2];                                                \
                                                                        \
		SIMD_UNUSED;                                            \
		v_##dist(args, a, b, y);                                \
		v_store_##type(out, y[0]);                              \
		v_store_##type(out + V_LANES, y[1]);                    \
	}

#define SIMD_F32(dist, deal)                                            \
	SIMD_FN void v_##dist(const struct fill_args *args, vi a, vi b, \
			      vf y[2]);                                 \
	SIMD_F32_LOOP(dist, f32, deal)                                  \
	SIMD_F32_LOOP(dist, bf16, deal)                                 \
	SIMD_F32_LOOP(dist, f16, deal)                                  \
	SIMD_FN void v_##dist(const struct fill_args *args, vi a, vi b, vf y[2])

/* Uniform numbers of `bits` digits, which are exact as floats. */
#define SIMD_UNIFORM(type, bits)                                               \
	SIMD_FN vf v_uniform_##type(const struct fill_args *args, vi w)        \
	{                                                                      \
		vf u = vf_mul(vf_from_int(vi_shr(w, 32 - bits)),               \
			      vf_set(1.0f / (1 << bits)));                     \
                                                                               \
		if (args->plain)                                               \
			return u;                                              \
		u = vf_fma(u, vf_set(args->f32.scale),                         \
			   vf_set(args->f32.shift));                           \
		return vf_max(vf_min(u, vf_set(args->f32.top)),                \
			      vf_set(args->f32.bottom));                       \
	}                                                                      \
                                                                               \
	SIMD_LOOP_OF(uniform_##type, type, type, 4, SIMD_UNROLL, v_ordered, 1) \
	{                                                                      \
		SIMD_UNUSED;                                                   \
		v_store_##type(out, v_uniform_##type(args, a));                \
		v_store_##type(out + V_LANES, v_uniform_##type(args, b));      \
	}

SIMD_UNIFORM(f32, 24)
SIMD_UNIFORM(bf16, 8)
SIMD_UNIFORM(f16, 11)

SIMD_F32(normal, v_pairs)
{
	vf scale = vf_set(args->f32.scale), shift = vf_set(args->f32.shift);
	vf radius = vf_root(vf_minus_2_ln(a));
	vf zero = vf_set(0.0f), sine, cosine;

	vf_sin_cos(b, &sine, &cosine);
	sine = vf_fma(radius, sine, zero);
	cosine = vf_fma(radius, cosine, zero);
	y[0] = vf_zip_low(sine, cosine);
	y[1] = vf_zip_high(sine, cosine);
	if (args->plain)
		return;
	y[0] = vf_fma(y[0], scale, shift);
	y[1] = vf_fma(y[1], scale, shift);
}

SIMD_F32(log_normal, v_pairs)
{
	v_normal(args, a, b, y);
	y[0] = vf_exp(y[0]);
	y[1] = vf_exp(y[1]);
}

SIMD_F32(exponential, v_ordered)
{
	vf scale = vf_set(args->f32.scale);

	y[0] = vf_mul(vf_minus_ln1m(a), scale);
	y[1] = vf_mul(vf_minus_ln1m(b), scale);
}

SIMD_F32(gumbel, v_ordered)
{
	vf zero = vf_set(0.0f);

	(void)args;
	y[0] = vf_sub(zero, vf_ln(vf_minus_ln1m(a)));
	y[1] = vf_sub(zero, vf_ln(vf_minus_ln1m(b)));
}

/* a in the lanes that a threshold T keeps, w >= T; T = 2^32 keeps none. */
SIMD_FN vi v_keep(const struct fill_args *args, vi w, vi a)
{
	vi t = vi_set((uint32_t)args->threshold);
	vi all = vi_set(args->threshold >> 32 ? 0 : 0xffffffffu);

	return vi_drop(vi_less(w, t), vi_and(a, all));
}

SIMD_FN vf v_bernoulli_1(const struct fill_args *args, vi w)
{
	vi one = vf_bits(vf_set(1.0f));

	return vf_from_bits(vi_xor(one, v_keep(args, w, one)));
}

SIMD_F32(bernoulli, v_ordered)
{
	y[0] = v_bernoulli_1(args, a);
	y[1] = v_bernoulli_1(args, b);
}

/* --- real numbers in f64 -------------------------------------------------- */

/*
 * SIMD_F64(dist, deal, unroll, twice) is followed by the body that makes y[0]
 * of a, y[1] of b.
 */
#define SIMD_F64(dist, deal, unroll, twice)                                   \
	SIMD_FN void v_##dist##_f64(const struct fill_args *args, vi a, vi b, \
				    vd y[2]);                                 \
	SIMD_LOOP_OF(dist##_f64, f64, f64, 2, unroll, deal, twice)            \
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

SIMD_FN vd v_uniform_1_f64(const struct fill_args *args, vi w)
{
	vd u = vd_mul(vd_from_unsigned53(vl_shr(w, 11)),
		      vd_set(1.1102230246251565e-16));

	if (args->plain)
		return u;
	u = vd_fma(u, vd_set(args->f64.scale), vd_set(args->f64.shift));
	return vd_max(vd_min(u, vd_set(args->f64.top)),
		      vd_set(args->f64.bottom));
}

SIMD_F64(uniform, v_ordered, SIMD_UNROLL, 1)
{
	y[0] = v_uniform_1_f64(args, a);
	y[1] = v_uniform_1_f64(args, b);
}

SIMD_F64(normal, v_halves, SIMD_LOOPS, 0)
{
	vd scale = vd_set(args->f64.scale), shift = vd_set(args->f64.shift);
	vd radius = vd_root(vd_minus_2_ln(vl_shr(a, 11)));
	vd zero = vd_set(0.0), sine, cosine;

	vd_sin_cos(vl_shr(b, 11), &sine, &cosine);
	sine = vd_fma(vd_fma(radius, sine, zero), scale, shift);
	cosine = vd_fma(vd_fma(radius, cosine, zero), scale, shift);
	y[0] = vd_zip_low(sine, cosine);
	y[1] = vd_zip_high(sine, cosine);
}

SIMD_F64(log_normal, v_halves, SIMD_LOOPS, 0)
{
	v_normal_f64(args, a, b, y);
	y[0] = vd_exp(y[0]);
	y[1] = vd_exp(y[1]);
}

SIMD_F64(exponential, v_ordered, SIMD_LOOPS, 0)
{
	vd scale = vd_set(args->f64.scale);

	y[0] = vd_mul(vd_minus_ln1m(vl_shr(a, 11)), scale);
	y[1] = vd_mul(vd_minus_ln1m(vl_shr(b, 11)), scale);
}

SIMD_F64(gumbel, v_ordered, SIMD_LOOPS, 0)
{
	vd zero = vd_set(0.0);

	(void)args;
	y[0] = vd_sub(zero, vd_ln(vd_minus_ln1m(vl_shr(a, 11))));
	y[1] = vd_sub(zero, vd_ln(vd_minus_ln1m(vl_shr(b, 11))));
}

/* As v_keep(), of words in the low halves of lanes. */
SIMD_FN vi v_keep_f64(const struct fill_args *args, vi w, vi a)
{
	return vl_drop(vl_less_signed(w, vl_set(args->threshold)), a);
}

SIMD_FN void v_bernoulli_4_f64(const struct fill_args *args, vi w, double *out)
{
	vi one = vd_bits(vd_set(1.0));
	vi low = v_keep_f64(args, vl_widen_low(w), one);
	vi high = v_keep_f64(args, vl_widen_high(w), one);

	vd_store(out, vd_from_bits(vi_xor(one, low)));
	vd_store(out + V_LONGS, vd_from_bits(vi_xor(one, high)));
}

SIMD_LOOP(bernoulli_f64, f64, f64, 4, SIMD_LOOPS)
{
	SIMD_UNUSED;
	v_bernoulli_4_f64(args, a, out);
	v_bernoulli_4_f64(args, b, out + V_LANES);
}

/* --- with an input -------------------------------------------------------- */

/* A group's input, in lines of the cache. */
SIMD_FN void v_prefetch(const void *in, unsigned size)
{
	SIMD_UNROLL
	for (unsigned i = 0; i < size; i += 64)
		__builtin_prefetch((const char *)in + SIMD_AHEAD + i);
}

SIMD_FN vf v_load_f32(const float *from)
{
	return vf_load(from);
}

SIMD_FN vf v_load_bf16(const uint16_t *from)
{
	return vf_from_bits(vi_shl(vh_load(from), 16));
}

SIMD_FN vf v_load_f16(const uint16_t *from)
{
	return vf_from_f16(from);
}

SIMD_FN vf v_dropout(const struct fill_args *args, vi w, vf x)
{
	vf y = vf_quiet(vf_mul(x, vf_set(args->f32.scale)));

	return vf_from_bits(v_keep(args, w, vf_bits(y)));
}

#define SIMD_DROPOUT(type)                                                 \
	SIMD_LOOP(dropout_##type, type, type, 4, SIMD_UNROLL)              \
	{                                                                  \
		vf x = v_load_##type(in), y = v_load_##type(in + V_LANES); \
                                                                           \
		SIMD_UNUSED;                                               \
		v_prefetch(in, 2 * V_LANES * sizeof(*in));                 \
		v_store_##type(out, v_dropout(args, a, x));                \
		v_store_##type(out + V_LANES, v_dropout(args, b, y));      \
	}

SIMD_DROPOUT(f32)
SIMD_DROPOUT(bf16)
SIMD_DROPOUT(f16)

SIMD_FN void v_dropout_f64(const struct fill_args *args, vi w, const double *in,
			   double *out)
{
	vd y = vd_quiet(vd_mul(vd_load(in), vd_set(args->f64.scale)));

	vd_store(out, vd_from_bits(v_keep_f64(args, w, vd_bits(y))));
}

SIMD_LOOP(dropout_f64, f64, f64, 4, SIMD_UNROLL)
{
	SIMD_UNUSED;
	v_prefetch(in, 2 * V_LANES * sizeof(*in));
	v_dropout_f64(args, vl_widen_low(a), in, out);
	v_dropout_f64(args, vl_widen_high(a), in + V_LONGS, out + V_LONGS);
	v_dropout_f64(args, vl_widen_low(b), in + V_LANES, out + V_LANES);
	v_dropout_f64(args, vl_widen_high(b), in + V_LANES + V_LONGS,
		      out + V_LANES + V_LONGS);
}

/* 1 in the lanes where w < limit */
SIMD_FN vi v_away(vi w, vi limit)
{
	return vi_keep(vi_less(w, limit), vi_set(1));
}

SIMD_FN void v_round_bf16(vi w, vf x, uint16_t *out)
{
	vi bits = vf_bits(x), size = vi_and(bits, vi_set(0x7fffffffu));
	vi high = vi_shr(bits, 16);
	vi round = vi_add(high, v_away(w, vi_shl(bits, 16)));
	vmask nan = vi_less_signed(vi_set(0x7f800000u), size);

	vh_store(out, vi_select(nan, vi_or(high, vi_set(0x40)), round));
}

/* The multiples of 2^-24 that f16 has below 2^-14. */
SIMD_FN vi v_round_denormal(vi w, vf small)
{
	vf scaled = vf_mul(small, vf_set(16777216.0f));
	vi whole = vf_truncate(scaled);
	vf rest = vf_mul(vf_sub(scaled, vf_from_int(whole)),
			 vf_set(4294967296.0f));

	return vi_add(whole, v_away(w, vf_truncate_unsigned(rest)));
}

SIMD_FN void v_round_f16(vi w, vf x, uint16_t *out)
{
	vi bits = vf_bits(x), size = vi_and(bits, vi_set(0x7fffffffu));
	vi sign = vi_and(vi_shr(bits, 16), vi_set(0x8000));
	vmask small = vi_less_signed(size, vi_set(0x38800000u));
	vmask nan = vi_less_signed(vi_set(0x7f800000u), size);
	vmask finite = vi_less_signed(size, vi_set(0x47800000u));
	vi denormal = v_round_denormal(w, vf_from_bits(vi_keep(small, size)));
	vi normal = vi_add(vi_shr(vi_sub(size, vi_set(0x38000000u)), 13),
			   v_away(w, vi_shl(size, 19)));
	vi payload = vi_and(vi_shr(size, 13), vi_set(0x3ff));
	vi special = vi_or(vi_set(0x7c00),
			   vi_keep(nan, vi_or(payload, vi_set(0x200))));

	normal = vi_select(small, denormal, normal);
	vh_store(out, vi_or(sign, vi_select(finite, normal, special)));
}

#define SIMD_ROUND(type)                                                 \
	SIMD_LOOP(round_##type, type, f32, 4, SIMD_LOOPS)                \
	{                                                                \
		SIMD_UNUSED;                                             \
		v_prefetch(in, 2 * V_LANES * sizeof(*in));               \
		v_round_##type(a, vf_load(in), out);                     \
		v_round_##type(b, vf_load(in + V_LANES), out + V_LANES); \
	}

SIMD_ROUND(bf16)
SIMD_ROUND(f16)

/* --- the table ------------------------------------------------------------ */

#define SIMD_ROW(name, out, in, n, traits) [KERNEL_##name] = fill_##name,
#define SIMD_TABLE                                                   \
	{                                                            \
		.chunk = V_CHUNK, .fill = { FILL_LIST(SIMD_ROW) } \
	}

#endif
