/*
 * lib/fill/simd/keyed.h - Philox in vectors, with a key in each lane
 *
 * For blocks that have a key and a counter of their own each: the draws of many
 * rows, and the derivation of many keys. Words 0 and 2 of the counter and the
 * two words of the key are in the low halves of lanes, as in
 * lib/fill/simd/words.h, and the upper halves are never read.
 */
#ifndef LIB_FILL_SIMD_KEYED_H
#define LIB_FILL_SIMD_KEYED_H

#include "lib/fill/simd/fills.h"

enum { V_KEYS = V_KEYED * V_LONGS };

_Static_assert(V_KEYED <= V_GROUPS && SIMD_KEYED_MAX % V_KEYS == 0,
	       "keyed blocks fit the groups, and groups the buffers");

/* The keys of a round. */
struct v_keys {
	vi a[V_KEYED], b[V_KEYED];
};

/* All rounds but the last, of blocks i and on; leaves the last round's keys. */
SIMD_FN void v_keyed_rounds(const struct simd_keyed *blocks, unsigned i,
			    struct v_blocks *c, struct v_keys *key)
{
	const vi mult_a = vl_set(SIMD_MULT_A), mult_b = vl_set(SIMD_MULT_B);
	const vi step_a = vl_set(0x9E3779B9u), step_b = vl_set(0xBB67AE85u);

	SIMD_UNROLL
	for (unsigned g = 0; g < V_KEYED; g++) {
		key->a[g] = vi_load(blocks->seed + i + g * V_LONGS);
		key->b[g] = vl_shr(key->a[g], 32);
		c->c0[g] = vi_load(blocks->low + i + g * V_LONGS);
		c->c1[g] = vl_shr(c->c0[g], 32);
		c->c2[g] = vi_load(blocks->high + i + g * V_LONGS);
		c->c3[g] = vl_shr(c->c2[g], 32);
	}
	SIMD_ROLLED
	for (int round = 0; round < 9; round++) {
		SIMD_UNROLL
		for (int g = 0; g < V_KEYED; g++) {
			vi a = vl_mul(c->c0[g], mult_a);
			vi b = vl_mul(c->c2[g], mult_b);

			c->c0[g] = vi_xor3(vl_shr(b, 32), c->c1[g], key->a[g]);
			c->c2[g] = vi_xor3(vl_shr(a, 32), c->c3[g], key->b[g]);
			c->c1[g] = b;
			c->c3[g] = a;
			key->a[g] = vl_add(key->a[g], step_a);
			key->b[g] = vl_add(key->b[g], step_b);
		}
	}
}

/* SIMD_KEYED(name, how) makes the loop of a fill that has no input. */
#define SIMD_KEYED(name, how)                                                  \
	static void keyed_##name(const struct simd_keyed *blocks, unsigned n,  \
				 void *out)                                    \
	{                                                                      \
		const struct fill_args plain = {.plain = 1};                   \
		const struct philox_state none = {0, 0};                       \
		v_out_##name *to = out;                                        \
                                                                               \
		for (unsigned i = 0; i < n; i += V_KEYS) {                     \
			struct v_blocks c;                                     \
			struct v_keys key;                                     \
			vi words[2];                                           \
                                                                               \
			v_keyed_rounds(blocks, i, &c, &key);                   \
			SIMD_UNROLL                                            \
			for (int g = 0; g < V_KEYED; g++) {                    \
				how.deal(&c, g, key.a[g], key.b[g], words);    \
				group_##name(&plain, words[0], words[1], NULL, \
					     to, none, 0);                     \
				to += V_LONGS * v_n_##name;                    \
			}                                                      \
		}                                                              \
	}

SIMD_KEYED(bits_u32, v_short)
SIMD_KEYED(bits_u64, v_short)
SIMD_KEYED(uniform_f32, v_short_or_plain)
SIMD_KEYED(uniform_f64, v_short_or_plain)
SIMD_KEYED(normal_f32, v_of_pairs)

static void keyed_fold(const struct simd_keyed *blocks, unsigned n,
		       uint64_t out[SIMD_KEYED_MAX])
{
	for (unsigned i = 0; i < n; i += V_KEYS) {
		struct v_blocks c;
		struct v_keys key;
		vi words[2];

		v_keyed_rounds(blocks, i, &c, &key);
		SIMD_UNROLL
		for (int g = 0; g < V_KEYED; g++) {
			v_halves(&c, g, key.a[g], key.b[g], words);
			vi_store(out + i + (unsigned)g * V_LONGS, words[0]);
		}
	}
}

/* --- the table ------------------------------------------------------------ */

#define SIMD_ROW(name, out, in, n, traits) .fill[KERNEL_##name] = fill_##name,
#define SIMD_KEYED_ROW(name, type, n)      .keyed[KERNEL_##name] = keyed_##name,
#define SIMD_TABLE                                                      \
	{                                                               \
		.chunk = V_CHUNK, .lanes = V_LONGS, .fold = keyed_fold, \
		FILL_LIST(SIMD_ROW) ROWS_DRAW_LIST(SIMD_KEYED_ROW)      \
	}

#endif
