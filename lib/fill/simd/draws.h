/*
 * lib/fill/simd/draws.h - fills without an input, in vectors
 *
 * Each does what its block_<name>() of lib/dist/blocks.h does, lane by lane, so
 * every element has the same bits.
 */
#ifndef LIB_FILL_SIMD_DRAWS_H
#define LIB_FILL_SIMD_DRAWS_H

#include "lib/fill/simd/functions.h"
#include "lib/fill/simd/loops.h"

/* --- bits and integers ---------------------------------------------------- */

SIMD_LOOP(bits_u32, v_short)
{
	SIMD_UNUSED;
	vi_store(out, a);
	vi_store(out + V_LANES, b);
}

SIMD_LOOP(bits_u64, v_short)
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
			out[i] = fill_again_u32(args, state, block + i / 4,
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

SIMD_LOOP(integers_u32, v_long)
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
			out[i] = fill_again_u64(args, state, block + i / 2,
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

SIMD_LOOP(integers_u64, v_long)
{
	(void)in;
	v_integers_u64(args, a, out, state, block);
	v_integers_u64(args, b, out + V_LONGS, state, block + V_LONGS / 2);
}

/* --- real numbers in f32 -------------------------------------------------- */

/* Uniform numbers of `bits` digits, which are exact as floats. */
#define SIMD_UNIFORM(type, bits)                                          \
	SIMD_FN vf v_uniform_##type(const struct fill_args *args, vi w)   \
	{                                                                 \
		vf u = vf_mul(vf_from_int(vi_shr(w, 32 - bits)),          \
			      vf_set(1.0f / (1 << bits)));                \
                                                                          \
		if (args->plain)                                          \
			return u;                                         \
		u = vf_fma(u, vf_set(args->f32.scale),                    \
			   vf_set(args->f32.shift));                      \
		return vf_max(vf_min(u, vf_set(args->f32.top)),           \
			      vf_set(args->f32.bottom));                  \
	}                                                                 \
                                                                          \
	SIMD_LOOP(uniform_##type, v_short_or_plain)                       \
	{                                                                 \
		SIMD_UNUSED;                                              \
		v_store_##type(out, v_uniform_##type(args, a));           \
		v_store_##type(out + V_LANES, v_uniform_##type(args, b)); \
	}

SIMD_UNIFORM(f32, 24)
SIMD_UNIFORM(bf16, 8)
SIMD_UNIFORM(f16, 11)

SIMD_F32(normal, v_of_pairs)
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

SIMD_F32(log_normal, v_of_pairs)
{
	v_normal(args, a, b, y);
	y[0] = vf_exp(y[0]);
	y[1] = vf_exp(y[1]);
}

SIMD_F32(exponential, v_long)
{
	vf scale = vf_set(args->f32.scale);

	y[0] = vf_mul(vf_minus_ln1m(a), scale);
	y[1] = vf_mul(vf_minus_ln1m(b), scale);
}

SIMD_F32(gumbel, v_long)
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

SIMD_F32(bernoulli, v_long)
{
	y[0] = v_bernoulli_1(args, a);
	y[1] = v_bernoulli_1(args, b);
}

/* --- real numbers in f64 -------------------------------------------------- */

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

SIMD_F64(uniform, v_short_or_plain)
{
	y[0] = v_uniform_1_f64(args, a);
	y[1] = v_uniform_1_f64(args, b);
}

SIMD_F64(normal, v_of_halves)
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

SIMD_F64(log_normal, v_of_halves)
{
	v_normal_f64(args, a, b, y);
	y[0] = vd_exp(y[0]);
	y[1] = vd_exp(y[1]);
}

SIMD_F64(exponential, v_long)
{
	vd scale = vd_set(args->f64.scale);

	y[0] = vd_mul(vd_minus_ln1m(vl_shr(a, 11)), scale);
	y[1] = vd_mul(vd_minus_ln1m(vl_shr(b, 11)), scale);
}

SIMD_F64(gumbel, v_long)
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

SIMD_LOOP(bernoulli_f64, v_long)
{
	SIMD_UNUSED;
	v_bernoulli_4_f64(args, a, out);
	v_bernoulli_4_f64(args, b, out + V_LANES);
}

#endif
