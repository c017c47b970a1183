/*
 * lib/fill/simd/fills.h - fills with an input, in vectors
 *
 * Included by lib/fill/simd/fill_avx2.c and lib/fill/simd/fill_avx512.c after
 * the vectors they are written in.
 */
#ifndef LIB_FILL_SIMD_FILLS_H
#define LIB_FILL_SIMD_FILLS_H

#include "lib/fill/simd/draws.h"

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
