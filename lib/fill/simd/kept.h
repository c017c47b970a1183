/*
 * lib/fill/simd/kept.h - what filters ask of a row of logits, in vectors
 *
 * For the cuts of lib/sample/filter.c, which has the rest. The logits have no NaN.
 */
#ifndef LIB_FILL_SIMD_KEPT_H
#define LIB_FILL_SIMD_KEPT_H

#include <philox/rows.h>
#include "lib/fill/simd/columns.h"

enum {
	V_MASSES = 8, /* vectors whose halves of masses fit 32 bits, in sum */
	V_LOOKED = 4  /* vectors that are looked at together */
};

/*
 * The halves of masses, lane by lane: filter_mass(). exp(t) 2^28 has 24 digits,
 * and so has what is left after its integer is subtracted.
 */
SIMD_FN void v_mass(vf t, vi *upper, vi *lower)
{
	vf mass = vf_mul(vf_exp(t), vf_set(0x1p28f));

	*upper = vf_truncate(mass);
	*lower = vf_truncate(
		vf_mul(vf_sub(mass, vf_from_int(*upper)), vf_set(0x1p28f)));
}

SIMD_FN void v_masses(vf logit, vf most, vf inverse, vf above, vi *upper,
		      vi *lower)
{
	vi whole, rest;

	logit = v_above(logit, above);
	v_mass(vf_mul(vf_sub(logit, most), inverse), &whole, &rest);
	*upper = vi_add(*upper, whole);
	*lower = vi_add(*lower, rest);
}

/* Adds the first n lanes to buckets; those above a number. */
SIMD_FN void v_bucket(const struct simd_buckets *to, vf logit, vf most,
		      vf inverse, vf above, uint32_t n)
{
	uint32_t step[V_LANES], upper[V_LANES], lower[V_LANES];
	vf t = vf_mul(vf_sub(logit, most), inverse);
	vf steps =
		vf_min(vf_mul(t, vf_set(-to->steps)), vf_set((float)to->last));
	vi whole, rest;

	v_mass(t, &whole, &rest);
	vi_store(upper, whole);
	vi_store(lower, rest);
	vi_store(step, vi_select(vf_above(logit, above), vf_truncate(steps),
				 vi_set(0xffffffffu)));
	for (uint32_t i = 0; i < n; i++) {
		if (step[i] > to->last)
			continue;
		to->count[step[i]]++;
		to->upper[step[i]] += upper[i];
		to->lower[step[i]] += lower[i];
	}
}

/* The sum of the lanes of 64 bits. */
SIMD_FN uint64_t v_sum_long(vi a)
{
	uint64_t lane[V_LANES / 2], sum = 0;

	vi_store(lane, a);
	for (int i = 0; i < V_LANES / 2; i++)
		sum += lane[i];
	return sum;
}

#define SIMD_KEPT(type)                                                        \
	SIMD_FN void v_add_##type(const fill_##type *logits,                   \
				  const uint32_t *allowed, uint32_t v,         \
				  float most, float inverse, float above,      \
				  vi wide[4])                                  \
	{                                                                      \
		vi upper = vi_set(0), lower = vi_set(0);                       \
                                                                               \
		SIMD_UNROLL                                                    \
		for (uint32_t i = 0; i < V_MASSES; i++)                        \
			v_masses(v_allowed(                                    \
					 allowed, v + i * V_LANES,             \
					 v_load_##type(logits + i * V_LANES)), \
				 vf_set(most), vf_set(inverse), vf_set(above), \
				 &upper, &lower);                              \
		wide[0] = vl_add(wide[0], vl_widen_low(upper));                \
		wide[1] = vl_add(wide[1], vl_widen_high(upper));               \
		wide[2] = vl_add(wide[2], vl_widen_low(lower));                \
		wide[3] = vl_add(wide[3], vl_widen_high(lower));               \
	}                                                                      \
                                                                               \
	static void total_##type(const struct simd_columns *columns,           \
				 float most, float above, uint64_t sums[2])    \
	{                                                                      \
		const struct simd_columns all = *columns;                      \
		const fill_##type *logits = all.logits;                        \
		const uint32_t span = V_MASSES * V_LANES;                      \
		vi wide[4] = {vi_set(0), vi_set(0), vi_set(0), vi_set(0)};     \
		fill_##type rest[V_MASSES * V_LANES];                          \
		uint32_t i;                                                    \
                                                                               \
		for (i = 0; all.count - i >= span; i += span)                  \
			v_add_##type(logits + i, all.allowed, all.first + i,   \
				     most, all.inverse, above, wide);          \
		for (uint32_t k = 0; k < span; k++)                            \
			rest[k] = i + k < all.count && is_allowed(&all, i + k) \
					  ? logits[i + k]                      \
					  : lowest_##type;                     \
		v_add_##type(rest, NULL, 0, most, all.inverse, above, wide);   \
		sums[0] += v_sum_long(vl_add(wide[0], wide[1]));               \
		sums[1] += v_sum_long(vl_add(wide[2], wide[3]));               \
	}                                                                      \
                                                                               \
	SIMD_FN int v_any_above_##type(const fill_##type *logits,              \
				       const uint32_t *allowed, uint32_t v,    \
				       float above)                            \
	{                                                                      \
		vmask any = vm_none();                                         \
                                                                               \
		SIMD_UNROLL                                                    \
		for (uint32_t i = 0; i < V_LOOKED; i++) {                      \
			vf x = v_load_##type(logits + i * V_LANES);            \
                                                                               \
			any = vm_or(any,                                       \
				    vf_above(v_allowed(allowed,                \
						       v + i * V_LANES, x),    \
					     vf_set(above)));                  \
		}                                                              \
		return vi_any(any);                                            \
	}                                                                      \
                                                                               \
	static void steps_##type(const struct simd_columns *columns,           \
				 float most, float above,                      \
				 const struct simd_buckets *buckets)           \
	{                                                                      \
		const struct simd_columns all = *columns;                      \
		const fill_##type *logits = all.logits;                        \
		fill_##type rest[V_LANES];                                     \
		uint32_t i;                                                    \
                                                                               \
		for (i = 0; all.count - i >= V_LANES; i += V_LANES)            \
			v_bucket(buckets,                                      \
				 v_allowed(all.allowed, all.first + i,         \
					   v_load_##type(logits + i)),         \
				 vf_set(most), vf_set(all.inverse),            \
				 vf_set(above), V_LANES);                      \
		for (uint32_t k = 0; k < V_LANES; k++)                         \
			rest[k] = i + k < all.count && is_allowed(&all, i + k) \
					  ? logits[i + k]                      \
					  : lowest_##type;                     \
		v_bucket(buckets, v_load_##type(rest), vf_set(most),           \
			 vf_set(all.inverse), vf_set(above), all.count - i);   \
	}                                                                      \
                                                                               \
	/* Lists columns from i on, of a whole vector. */                      \
	SIMD_FN uint32_t v_list_##type(                                        \
		const struct simd_columns *all, uint32_t i, float above,       \
		float most, uint64_t *keys, uint32_t n, uint32_t room)         \
	{                                                                      \
		const fill_##type *logits = all->logits;                       \
		vf x = v_allowed(all->allowed, all->first + i,                 \
				 v_load_##type(logits + i));                   \
		uint32_t bits = vm_bits(vf_above(x, vf_set(above))) &          \
				~vm_bits(vf_above(x, vf_set(most)));           \
                                                                               \
		for (; bits && n <= room; bits &= bits - 1) {                  \
			const uint32_t c = i + (uint32_t)__builtin_ctz(bits);  \
                                                                               \
			if (n < room)                                          \
				keys[n] = philox_sample_order(                 \
					one_##type(logits[c]),                 \
					all->first + c);                       \
			n++;                                                   \
		}                                                              \
		return n;                                                      \
	}                                                                      \
                                                                               \
	static uint32_t list_##type(const struct simd_columns *columns,        \
				    float above, float most, uint64_t *keys,   \
				    uint32_t room)                             \
	{                                                                      \
		const struct simd_columns all = *columns;                      \
		const fill_##type *logits = all.logits;                        \
		const uint32_t span = V_LOOKED * V_LANES;                      \
		uint32_t n = 0, i;                                             \
                                                                               \
		for (i = 0; all.count - i >= span && n <= room; i += span)     \
			if (v_any_above_##type(logits + i, all.allowed,        \
					       all.first + i, above))          \
				for (uint32_t k = 0; k < span; k += V_LANES)   \
					n = v_list_##type(&all, i + k, above,  \
							  most, keys, n,       \
							  room);               \
		for (; i < all.count && n <= room; i++) {                      \
			const float x = one_##type(logits[i]);                 \
                                                                               \
			if (!(x > above && x <= most) || !is_allowed(&all, i)) \
				continue;                                      \
			if (n < room)                                          \
				keys[n] =                                      \
					philox_sample_order(x, all.first + i); \
			n++;                                                   \
		}                                                              \
		return n;                                                      \
	}

SIMD_KEPT(f32)
SIMD_KEPT(bf16)
SIMD_KEPT(f16)

#endif
