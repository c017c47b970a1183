/*
 * lib/fill/simd/words.h - Philox in vectors, for one instruction set
 *
 * A chunk is V_GROUPS vectors of blocks, a block in each lane of 64 bits; as
 * many are in flight at once to hide the multiplications' latency. The words
 * come out in order of elements, two vectors for each group.
 *
 * A block's state is kept as the products of the last round, of which only the
 * low halves count (words 1 and 3 of the counter), and the two other words in
 * the low halves of lanes whose upper halves are never read, since the next
 * product ignores them.
 */
#ifndef LIB_FILL_SIMD_WORDS_H
#define LIB_FILL_SIMD_WORDS_H

#include "lib/fill/simd/tables.h"

/* Loops over the groups of a chunk; a test's build needs no speed. */
#ifdef PHILOX_UNROLL_NOTHING
#define SIMD_UNROLL
#else
#define SIMD_UNROLL _Pragma("GCC unroll 16")
#endif
#define SIMD_ROLLED _Pragma("GCC unroll 1")

enum {
	V_LONGS = V_LANES / 2,       /* lanes of 64 bits */
	V_CHUNK = V_GROUPS * V_LONGS /* blocks */
};

_Static_assert(V_CHUNK <= SIMD_CHUNK_MAX, "a chunk fits the buffers");

#define SIMD_MULT_A 0xD2511F53u
#define SIMD_MULT_B 0xCD9E8D57u

/*
 * The values that are the same in all blocks of a call. Only word 2 of the
 * counter differs, so half of the first two rounds is the same: with the words
 * 0 to 3 as they come out, round 1 makes of M, the product of word 2,
 *
 *     M >> 32 ^ first, M, ...
 *
 * and round 2 makes, of N, the product of its word 0,
 *
 *     M ^ second[0], third, N >> 32 ^ second[1], N
 *
 * where `third` is in key[2][0] already. M is taken one step further by an
 * addition; it does not overflow, since word 2 does not.
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
 * The last round distributes the words of a group, whose keys are key_0 and
 * key_1, to two vectors, in which blocks are in the order of vl_order() unless
 * their elements are in order:
 *
 *     v_halves   words 0 and 1 of a block; words 2 and 3
 *     v_pairs    words 0 and 2; words 1 and 3
 *     v_ordered  the words of the first half of blocks, of the second
 */
typedef void v_deal(const struct v_blocks *c, int g, vi key_0, vi key_1,
		    vi words[2]);

SIMD_FN void v_halves(const struct v_blocks *c, int g, vi key_0, vi key_1,
		      vi words[2])
{
	const vi mult_a = vl_set(SIMD_MULT_A), mult_b = vl_set(SIMD_MULT_B);

	words[0] = vl_last(vl_mul(c->c2[g], mult_b), c->c1[g], key_0);
	words[1] = vl_last(vl_mul(c->c0[g], mult_a), c->c3[g], key_1);
}

SIMD_FN void v_pairs(const struct v_blocks *c, int g, vi key_0, vi key_1,
		     vi words[2])
{
	const vi mult_a = vl_set(SIMD_MULT_A), mult_b = vl_set(SIMD_MULT_B);
	vi a = vl_mul(c->c0[g], mult_a), b = vl_mul(c->c2[g], mult_b);

	words[0] = vi_xor3(vl_join_high(b, a), vl_join(c->c1[g], c->c3[g]),
			   vl_join(key_0, key_1));
	words[1] = vl_join(b, a);
}

SIMD_FN void v_ordered(const struct v_blocks *c, int g, vi key_0, vi key_1,
		       vi words[2])
{
	vi half[2];

	v_halves(c, g, key_0, key_1, half);
	words[0] = vl_zip_low(half[0], half[1]);
	words[1] = vl_zip_high(half[0], half[1]);
}

#endif
