/*
 * lib/fill/simd/fills.h - fills by vectors, and the draws that they are made of
 */
#ifndef LIB_FILL_SIMD_FILLS_H
#define LIB_FILL_SIMD_FILLS_H

#include "lib/fill/simd/functions.h"
#include "lib/fill/simd/loops.h"

/* --- draws: fills without an input, in vectors ---------------------------- */

/*
 * Each does what its block_<name>() of lib/dist/blocks.h does, lane by lane, so
 * every element has the same bits.
 */

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

SIMD_REFINED(exponential, v_long)
{
	vf scale = vf_set(args->f32.scale);

	y[0] = vf_mul(vf_minus_ln1m(a), scale);
	y[1] = vf_mul(vf_minus_ln1m(b), scale);
}

SIMD_REFINED(gumbel, v_long)
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

/* The word's first bit flipped is the sign of 1. */
SIMD_FN vf v_sign_1(vi w)
{
	return vf_from_bits(
		vi_xor(vi_and(w, vi_set(0x80000000u)), vi_set(0xbf800000u)));
}

SIMD_F32(signs, v_long)
{
	(void)args;
	y[0] = v_sign_1(a);
	y[1] = v_sign_1(b);
}

/* 32 blocks make four words: one by one. */
static void fill_signs_u32(const struct fill_args *args,
			   struct philox_state state, uint64_t block,
			   uint64_t chunks, const void *in, void *out)
{
	uint32_t *words = out;

	for (uint64_t i = 0; i < chunks * V_CHUNK; i++)
		block_signs_u32(args, state, block + i, in, words + 4 * i);
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

/* --- fills: fills with an input, in vectors ------------------------------- */

/*
 * Included by lib/fill/simd/fill_avx2.c and lib/fill/simd/fill_avx512.c after
 * the vectors they are written in.
 */

/* Input is prefetched this many bytes ahead. */
#define SIMD_AHEAD 4096

/* A group's input, in cache lines. */
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
	SIMD_LOOP(dropout_##type, v_short)                                 \
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

SIMD_LOOP(dropout_f64, v_short)
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
	SIMD_LOOP(round_##type, v_long)                                  \
	{                                                                \
		SIMD_UNUSED;                                             \
		v_prefetch(in, 2 * V_LANES * sizeof(*in));               \
		v_round_##type(a, vf_load(in), out);                     \
		v_round_##type(b, vf_load(in + V_LANES), out + V_LANES); \
	}

SIMD_ROUND(bf16)
SIMD_ROUND(f16)

#endif
