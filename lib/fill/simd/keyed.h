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

#include "lib/fill/simd/kept.h"
#include "lib/fill/simd/fills.h"

enum { V_KEYS = V_KEYED * V_LONGS };

_Static_assert(V_KEYED <= V_GROUPS && SIMD_KEYED_MAX % V_KEYS == 0,
	       "keyed blocks fit the groups, and groups the buffers");
_Static_assert(V_KEYED % 2 == 0, "groups are joined in pairs");

/* The keys of a round. */
struct v_keys {
	vi a[V_KEYED], b[V_KEYED];
};

/* Group g's key and counter. */
SIMD_FN void v_keyed_set(unsigned g, vi seed, vi low, vi high,
			 struct v_blocks *c, struct v_keys *key)
{
	key->a[g] = seed;
	key->b[g] = vl_shr(seed, 32);
	c->c0[g] = low;
	c->c1[g] = vl_shr(low, 32);
	c->c2[g] = high;
	c->c3[g] = vl_shr(high, 32);
}

/* Those of blocks i and on. */
SIMD_FN void v_keyed_load(const struct simd_keyed *blocks, unsigned i,
			  struct v_blocks *c, struct v_keys *key)
{
	SIMD_UNROLL
	for (unsigned g = 0; g < V_KEYED; g++)
		v_keyed_set(g, vi_load(blocks->seed + i + g * V_LONGS),
			    vi_load(blocks->low + i + g * V_LONGS),
			    vi_load(blocks->high + i + g * V_LONGS), c, key);
}

/* All rounds but the last; leaves the last round's keys. */
SIMD_FN void v_keyed_rounds(struct v_blocks *c, struct v_keys *key)
{
	const vi mult_a = vl_set(SIMD_MULT_A), mult_b = vl_set(SIMD_MULT_B);
	const vi step_a = vl_set(0x9E3779B9u), step_b = vl_set(0xBB67AE85u);

	V_KEYED_UNROLL
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

/*
 * The keys of V_KEYS states, in the order of vl_order(), and the counters of one
 * of their blocks; takes the states `words` further. Returns 0, with nothing
 * done, if an offset is above `limit`, or odd: poison.
 */
SIMD_FN int v_keyed_rows(struct philox_state *states, uint64_t block,
			 uint64_t words, uint64_t limit, struct v_blocks *c,
			 struct v_keys *key)
{
	vi offset[V_KEYED], odd = vl_set(0), last = vl_set(limit), a, b;
	int above = 0;

	SIMD_UNROLL
	for (unsigned g = 0; g < V_KEYED; g++) {
		a = vi_load(states + g * V_LONGS);
		b = vi_load(states + g * V_LONGS + V_LONGS / 2);
		offset[g] = vl_zip_high(a, b);
		above |= vl_any(vl_less(last, offset[g]));
		odd = vi_or(odd, offset[g]);
		v_keyed_set(g, vl_zip_low(a, b), vl_shr(offset[g], 2),
			    vl_set(block), c, key);
	}
	if (above || vl_any(vl_less(vl_set(0), vi_and(odd, vl_set(1)))))
		return 0;
	if (!words)
		return 1;
	SIMD_UNROLL
	for (unsigned g = 0; g < V_KEYED; g++) {
		a = vl_add(offset[g], vl_set(words));
		vi_store(states + g * V_LONGS, vl_zip_low(key->a[g], a));
		vi_store(states + g * V_LONGS + V_LONGS / 2,
			 vl_zip_high(key->a[g], a));
	}
	return 1;
}

/*
 * SIMD_KEYED(name, how) makes the loops of a fill that has no input: of blocks
 * of any keys, and of those of rows.
 */
#define SIMD_KEYED(name, how)                                                  \
	SIMD_FN void keyed_vectors_##name(const struct v_blocks *c,            \
					  const struct v_keys *key,            \
					  v_out_##name *to)                    \
	{                                                                      \
		const struct fill_args plain = {.plain = 1};                   \
		const struct philox_state none = {0, 0};                       \
		vi words[2];                                                   \
                                                                               \
		SIMD_UNROLL                                                    \
		for (int g = 0; g < V_KEYED; g++) {                            \
			how.deal(c, g, key->a[g], key->b[g], words);           \
			group_##name(&plain, words[0], words[1], NULL, to,     \
				     none, 0);                                 \
			to += V_LONGS * v_n_##name;                            \
		}                                                              \
	}                                                                      \
                                                                               \
	static unsigned rows_##name(struct philox_state *states,               \
				    uint64_t block, uint64_t words,            \
				    uint64_t limit, unsigned n, void *out)     \
	{                                                                      \
		struct v_blocks c;                                             \
		struct v_keys key;                                             \
		v_out_##name *to = out;                                        \
		unsigned i;                                                    \
                                                                               \
		for (i = 0; i + V_KEYS <= n; i += V_KEYS) {                    \
			if (!v_keyed_rows(states + i, block, words, limit, &c, \
					  &key))                               \
				break;                                         \
			v_keyed_rounds(&c, &key);                              \
			keyed_vectors_##name(&c, &key, to + i * v_n_##name);   \
		}                                                              \
		return i;                                                      \
	}                                                                      \
                                                                               \
	static void keyed_##name(const struct simd_keyed *blocks, unsigned n,  \
				 void *out)                                    \
	{                                                                      \
		v_out_##name *to = out;                                        \
                                                                               \
		for (unsigned i = 0; i < n; i += V_KEYS) {                     \
			struct v_blocks c;                                     \
			struct v_keys key;                                     \
                                                                               \
			v_keyed_load(blocks, i, &c, &key);                     \
			v_keyed_rounds(&c, &key);                              \
			keyed_vectors_##name(&c, &key, to + i * v_n_##name);   \
		}                                                              \
	}

SIMD_KEYED(bits_u32, v_short)
SIMD_KEYED(bits_u64, v_short)
SIMD_KEYED(uniform_f32, v_short_or_plain)
SIMD_KEYED(uniform_f64, v_short_or_plain)
SIMD_KEYED(normal_f32, v_of_pairs)

/* Word `i` of the blocks of a group, in the low halves of lanes. */
SIMD_FN vi v_keyed_word(const struct v_blocks *c, int g,
			const struct v_keys *key, uint64_t i)
{
	vi product = i < 2 ? vl_mul(c->c2[g], vl_set(SIMD_MULT_B))
			   : vl_mul(c->c0[g], vl_set(SIMD_MULT_A));

	if (i % 2)
		return product;
	return i < 2 ? vi_xor3(vl_shr(product, 32), c->c1[g], key->a[g])
		     : vi_xor3(vl_shr(product, 32), c->c3[g], key->b[g]);
}

SIMD_FN vi v_one_bits_u32(vi w)
{
	return w;
}

SIMD_FN vi v_one_uniform_f32(vi w)
{
	const struct fill_args plain = {.plain = 1};

	return vf_bits(v_uniform_f32(&plain, w));
}

/* Rows of one element each, which is one word. */
#define SIMD_ONE(name)                                                         \
	static unsigned one_##name(struct philox_state *states,                \
				   uint64_t element, uint64_t words,           \
				   uint64_t limit, unsigned n, void *out)      \
	{                                                                      \
		struct v_blocks c;                                             \
		struct v_keys key;                                             \
		v_out_##name *to = out;                                        \
		unsigned i;                                                    \
                                                                               \
		for (i = 0; i + V_KEYS <= n; i += V_KEYS) {                    \
			if (!v_keyed_rows(states + i, element / 4, words,      \
					  limit, &c, &key))                    \
				break;                                         \
			v_keyed_rounds(&c, &key);                              \
			SIMD_UNROLL                                            \
			for (int g = 0; g < V_KEYED; g += 2) {                 \
				vi a = v_keyed_word(&c, g, &key, element % 4); \
				vi b = v_keyed_word(&c, g + 1, &key,           \
						    element % 4);              \
                                                                               \
				vi_store(to + i + g * V_LONGS,                 \
					 v_one_##name(vl_join_ordered(a, b))); \
			}                                                      \
		}                                                              \
		return i;                                                      \
	}

SIMD_ONE(bits_u32)
SIMD_ONE(uniform_f32)

static void keyed_fold(const struct simd_keyed *blocks, unsigned n,
		       uint64_t out[SIMD_KEYED_MAX])
{
	for (unsigned i = 0; i < n; i += V_KEYS) {
		struct v_blocks c;
		struct v_keys key;
		vi words[2];

		v_keyed_load(blocks, i, &c, &key);
		v_keyed_rounds(&c, &key);
		SIMD_UNROLL
		for (int g = 0; g < V_KEYED; g++) {
			v_halves(&c, g, key.a[g], key.b[g], words);
			vi_store(out + i + (unsigned)g * V_LONGS, words[0]);
		}
	}
}

/* --- the table ------------------------------------------------------------ */

/* Cells of an order go round a number of times of their own: no vectors. */
#define fill_permutation_u32               NULL
#define fill_permutation_u64               NULL
/* Nor are there vectors for quantiles, which take several ways. */
#define fill_truncated_normal_f32          NULL
#define fill_truncated_normal_bf16         NULL
#define fill_truncated_normal_f16          NULL
/* Nor for searches, each of which reads where it likes. */
#define fill_categorical_u32               NULL
#define fill_categorical_u64               NULL

#define SIMD_ROW(name, out, in, n, traits) .fill[KERNEL_##name] = fill_##name,
#define SIMD_KEYED_ROW(name, type, n)         \
	.keyed[KERNEL_##name] = keyed_##name, \
	.rows[KERNEL_##name] = rows_##name,
#define SIMD_SAMPLE_ROW(name, type)                    \
	.greedy[KERNEL_sample_##name] = greedy_##name, \
	.sample[KERNEL_sample_##name] = sample_##name, \
	.total[KERNEL_sample_##name] = total_##name,   \
	.list[KERNEL_sample_##name] = list_##name,     \
	.steps[KERNEL_sample_##name] = steps_##name,
#define SIMD_TABLE                                                      \
	{                                                               \
		.chunk = V_CHUNK, .lanes = V_LONGS, .fold = keyed_fold, \
		.one[KERNEL_bits_u32] = one_bits_u32,                   \
		.one[KERNEL_uniform_f32] = one_uniform_f32,             \
		FILL_LIST(SIMD_ROW) ROWS_DRAW_LIST(SIMD_KEYED_ROW)      \
			SAMPLE_LIST(SIMD_SAMPLE_ROW)                    \
	}

#endif
