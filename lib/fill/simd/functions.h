/*
 * lib/fill/simd/functions.h - philox/real.h in the lanes of vectors
 *
 * The same steps as the scalar functions, on the same coefficients, so that
 * every lane has the same bits. Comments and error bounds are there.
 */
#ifndef LIB_FILL_SIMD_FUNCTIONS_H
#define LIB_FILL_SIMD_FUNCTIONS_H

#include <philox/real.h>

#define VF_HORNER(c) p = vf_fma(p, x, vf_set(c));
#define VD_HORNER(c) p = vd_fma(p, x, vd_set(c));

SIMD_FN vf vf_negative(vf a)
{
	return vf_from_bits(vi_xor(vf_bits(a), vi_set(0x80000000u)));
}

SIMD_FN vd vd_negative(vd a)
{
	return vd_from_bits(vi_xor(vd_bits(a), vl_set(0x8000000000000000ull)));
}

/* --- f32 ------------------------------------------------------------------ */

SIMD_FN vf vf_ln_core(vf x, vf k)
{
	vf p = vf_set(PHILOX_LN_F32_FIRST);

	PHILOX_LN_F32_TERMS(VF_HORNER)
	p = vf_fma(vf_mul(x, x), p, x);
	return vf_fma(k, vf_set(0.693147182f), p);
}

SIMD_FN vi vf_ln_power(vi bits)
{
	vi power = vi_add(bits, vi_set((128u << 23) - 0x3f2aaaabu));

	return vi_sub(vi_shr(power, 23), vi_set(128));
}

/* bits - k 2^23, without waiting for k */
SIMD_FN vf vf_ln_rest(vi bits)
{
	vi power = vi_add(bits, vi_set((128u << 23) - 0x3f2aaaabu));

	return vf_from_bits(
		vi_add(vi_and(power, vi_set(0x7fffff)), vi_set(0x3f2aaaabu)));
}

SIMD_FN vf vf_ln(vf value)
{
	vi bits = vf_bits(value), k = vf_ln_power(bits);
	vf m = vf_ln_rest(bits);

	return vf_ln_core(vf_sub(m, vf_set(1.0f)), vf_from_int(k));
}

/* (w + 1/2) 2^-32, rounded once */
SIMD_FN vf vf_open(vi w)
{
	return vf_fma(vf_from_unsigned(w), vf_set(2.32830644e-10f),
		      vf_set(1.16415322e-10f));
}

SIMD_FN vf vf_minus_2_ln(vi w)
{
	return vf_mul(vf_set(-2.0f), vf_ln(vf_open(w)));
}

SIMD_FN vf vf_minus_ln1m(vi w)
{
	vmask of_v = vi_less(w, vi_set(PHILOX_LN1M_SWITCH_F32));
	vi of_u = vi_drop(of_v, vi_set(0xffffffffu));
	vi bits = vf_bits(vf_open(vi_xor(w, of_u)));
	vi k = vi_drop(of_v, vf_ln_power(bits));
	vf m = vf_from_bits(vi_sub(bits, vi_shl(k, 23)));
	vi x = vi_select(of_v, vf_bits(vf_negative(m)),
			 vf_bits(vf_sub(m, vf_set(1.0f))));

	return vf_negative(vf_ln_core(vf_from_bits(x), vf_from_int(k)));
}

SIMD_FN vf vf_exp(vf value)
{
	vf magic = vf_set(12582912.0f);
	vf y = vf_min(vf_max(value, vf_set(-104.0f)), vf_set(89.0f));
	vf sum = vf_fma(y, vf_set(1.44269502f), magic);
	vi n = vi_sub(vf_bits(sum), vf_bits(magic));
	vf minus_n = vf_negative(vf_from_int(n));
	vf x = vf_fma(minus_n, vf_set(1.42860677e-06f),
		      vf_fma(minus_n, vf_set(0.693145752f), y));
	vf p = vf_set(PHILOX_EXP_F32_FIRST);
	vi half = vi_sub(vi_shr(vi_add(n, vi_set(256)), 1), vi_set(128));
	vi rest = vi_sub(n, half);

	PHILOX_EXP_F32_TERMS(VF_HORNER)
	p = vf_mul(p, vf_from_bits(vi_shl(vi_add(half, vi_set(127)), 23)));
	return vf_mul(p, vf_from_bits(vi_shl(vi_add(rest, vi_set(127)), 23)));
}

SIMD_FN vf vf_sin_core(vf t, vf x)
{
	vf p = vf_set(PHILOX_SIN_F32_FIRST);

	PHILOX_SIN_F32_TERMS(VF_HORNER)
	return vf_fma(vf_mul(t, x), p, t);
}

SIMD_FN vf vf_cos_core(vf x)
{
	vf p = vf_set(PHILOX_COS_F32_FIRST);

	PHILOX_COS_F32_TERMS(VF_HORNER)
	return p;
}

/*
 * The scalar q is in the upper two bits of `turn`. The scalar rest is w's lower
 * 30 bits with a sign, so that w * 4 + 2 is twice 2 rest + 1.
 */
SIMD_FN void vf_sin_cos(vi w, vf *sine, vf *cosine)
{
	vi turn = vi_add(w, vi_set(1u << 29));
	vf t = vf_mul(vf_from_int(vi_add(vi_shl(w, 2), vi_set(2))),
		      vf_set(7.3145906e-10f / 2));
	vf y = vf_mul(t, t), s = vf_sin_core(t, y), c = vf_cos_core(y);

	*sine = vf_turn(vf_pick(turn, s, c), turn);
	*cosine = vf_turn(vf_pick(turn, c, s), vi_add(turn, vi_set(1u << 30)));
}

/* --- f64 ------------------------------------------------------------------ */

SIMD_FN vd vd_ln_core(vd x, vd k)
{
	vd p = vd_set(PHILOX_LN_F64_FIRST);

	PHILOX_LN_F64_TERMS(VD_HORNER)
	p = vd_fma(vd_mul(x, x), p, x);
	return vd_fma(k, vd_set(0.69314718055994529), p);
}

SIMD_FN vi vd_ln_power(vi bits)
{
	vi power =
		vl_add(bits, vl_set((1024ull << 52) - 0x3fe5555555555555ull));

	return vl_sub(vl_shr(power, 52), vl_set(1024));
}

SIMD_FN vd vd_ln(vd value)
{
	vi bits = vd_bits(value), k = vd_ln_power(bits);
	vd m = vd_from_bits(vl_sub(bits, vl_shl(k, 52)));

	return vd_ln_core(vd_sub(m, vd_set(1.0)), vd_from_int52(k));
}

SIMD_FN vd vd_open(vi a)
{
	return vd_fma(vd_from_unsigned53(a), vd_set(1.1102230246251565e-16),
		      vd_set(5.5511151231257827e-17));
}

SIMD_FN vd vd_minus_2_ln(vi a)
{
	return vd_mul(vd_set(-2.0), vd_ln(vd_open(a)));
}

SIMD_FN vd vd_minus_ln1m(vi a)
{
	vlmask of_v = vl_less_signed(a, vl_set(PHILOX_LN1M_SWITCH_F64));
	vi of_u = vl_drop(of_v, vl_set(0xffffffffffffffffull));
	vi bits = vd_bits(vd_open(vi_xor(a, vl_shr(of_u, 11))));
	vi k = vl_drop(of_v, vd_ln_power(bits));
	vd m = vd_from_bits(vl_sub(bits, vl_shl(k, 52)));
	vi x = vl_select(of_v, vd_bits(vd_negative(m)),
			 vd_bits(vd_sub(m, vd_set(1.0))));

	return vd_negative(vd_ln_core(vd_from_bits(x), vd_from_int52(k)));
}

SIMD_FN vd vd_exp(vd value)
{
	vd magic = vd_set(6755399441055744.0);
	vd y = vd_min(vd_max(value, vd_set(-746.0)), vd_set(710.0));
	vd sum = vd_fma(y, vd_set(1.4426950408889634), magic);
	vi n = vl_sub(vd_bits(sum), vd_bits(magic));
	vd minus_n = vd_negative(vd_from_int52(n));
	vd x = vd_fma(minus_n, vd_set(7.4406171100123968e-11),
		      vd_fma(minus_n, vd_set(0.69314718048553914), y));
	vd p = vd_set(PHILOX_EXP_F64_FIRST);
	vi half = vl_sub(vl_shr(vl_add(n, vl_set(2048)), 1), vl_set(1024));
	vi rest = vl_sub(n, half);

	PHILOX_EXP_F64_TERMS(VD_HORNER)
	p = vd_mul(p, vd_from_bits(vl_shl(vl_add(half, vl_set(1023)), 52)));
	return vd_mul(p, vd_from_bits(vl_shl(vl_add(rest, vl_set(1023)), 52)));
}

SIMD_FN vd vd_sin_core(vd t, vd x)
{
	vd p = vd_set(PHILOX_SIN_F64_FIRST);

	PHILOX_SIN_F64_TERMS(VD_HORNER)
	return vd_fma(vd_mul(t, x), p, t);
}

SIMD_FN vd vd_cos_core(vd x)
{
	vd p = vd_set(PHILOX_COS_F64_FIRST);

	PHILOX_COS_F64_TERMS(VD_HORNER)
	return p;
}

/*
 * As vf_sin_cos(), with the scalar q moved up to the top of `turn`. The digits
 * are those of 2^52 + 2^50 + rest; 2 rest + 1 is exact, so t is rounded once.
 */
SIMD_FN void vd_sin_cos(vi a, vd *sine, vd *cosine)
{
	vi turn = vl_shl(vl_add(a, vl_set(1ull << 50)), 11);
	vi digits = vi_xor(vi_and(a, vl_set((1ull << 51) - 1)),
			   vl_set(0x4334000000000000ull));
	vd rest = vd_sub(vd_from_bits(digits), vd_set(0x1.4p52));
	vd t = vd_fma(rest, vd_set(3.4878684980086318e-16 * 2),
		      vd_set(3.4878684980086318e-16));
	vd y = vd_mul(t, t), s = vd_sin_core(t, y), c = vd_cos_core(y);

	*sine = vd_turn(vd_pick(turn, s, c), turn);
	*cosine =
		vd_turn(vd_pick(turn, c, s), vl_add(turn, vl_set(1ull << 62)));
}

#endif
