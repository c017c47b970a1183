/*
 * lib/fill/simd/avx512.h - vectors of 512 bits: AVX-512 F, DQ, BW, VL
 *
 * lib/fill/simd/fills.h is written in these. vi holds sixteen 32-bit or eight
 * 64-bit integers, vf sixteen floats, vd eight doubles; operations on 64-bit
 * integers begin with vl. A mask has one bit for each lane. Everything rounds
 * as the scalar operation does.
 */
#ifndef LIB_FILL_SIMD_AVX512_H
#define LIB_FILL_SIMD_AVX512_H

#ifdef PHILOX_SIMDE
#include "lib/fill/simd/simde.h"
#else
#include <immintrin.h>
#endif
#include <stdint.h>

#define SIMD_FN static inline __attribute__((always_inline, unused))

typedef __m512i vi;
typedef __m512 vf;
typedef __m512d vd;
typedef __mmask16 vmask; /* of 32-bit lanes */
typedef __mmask8 vlmask; /* of 64-bit lanes */

enum {
	V_LANES = 16, /* of 32 bits */
	V_KEYED = 4,  /* the same, with keys of their own */
	V_GROUPS = 6  /* blocks in flight, in vectors of 64-bit lanes */
};

/* Rounds of keyed blocks that follow one another in the code. */
#define V_KEYED_UNROLL _Pragma("GCC unroll 9")

/* --- integers of 32 bits --- */

SIMD_FN vi vi_load(const void *from)
{
	return _mm512_loadu_si512(from);
}

SIMD_FN void vi_store(void *to, vi a)
{
	_mm512_storeu_si512(to, a);
}

SIMD_FN vi vi_set(uint32_t a)
{
	return _mm512_set1_epi32((int)a);
}

SIMD_FN vi vi_add(vi a, vi b)
{
	return _mm512_add_epi32(a, b);
}

SIMD_FN vi vi_sub(vi a, vi b)
{
	return _mm512_sub_epi32(a, b);
}

SIMD_FN vi vi_and(vi a, vi b)
{
	return _mm512_and_si512(a, b);
}

SIMD_FN vi vi_or(vi a, vi b)
{
	return _mm512_or_si512(a, b);
}

SIMD_FN vi vi_xor(vi a, vi b)
{
	return _mm512_xor_si512(a, b);
}

SIMD_FN vi vi_xor3(vi a, vi b, vi c)
{
	return _mm512_ternarylogic_epi32(a, b, c, 0x96);
}

#define vi_shl(a, n) _mm512_slli_epi32(a, n)
#define vi_shr(a, n) _mm512_srli_epi32(a, n)

/* a < b, unsigned */
SIMD_FN vmask vi_less(vi a, vi b)
{
	return _mm512_cmplt_epu32_mask(a, b);
}

/* the lesser, unsigned */
SIMD_FN vi vi_min(vi a, vi b)
{
	return _mm512_min_epu32(a, b);
}

SIMD_FN vmask vi_less_signed(vi a, vi b)
{
	return _mm512_cmplt_epi32_mask(a, b);
}

SIMD_FN vi vi_select(vmask mask, vi yes, vi no)
{
	return _mm512_mask_blend_epi32(mask, no, yes);
}

SIMD_FN vi vi_keep(vmask mask, vi a)
{
	return _mm512_maskz_mov_epi32(mask, a);
}

/* a, or 0 in the lanes of the mask */
SIMD_FN vi vi_drop(vmask mask, vi a)
{
	return _mm512_maskz_mov_epi32((vmask)~mask, a);
}

SIMD_FN vmask vm_none(void)
{
	return 0;
}

SIMD_FN vmask vm_or(vmask a, vmask b)
{
	return (vmask)(a | b);
}

SIMD_FN int vi_any(vmask mask)
{
	return mask != 0;
}

/* a bit for each lane */
SIMD_FN uint32_t vm_bits(vmask mask)
{
	return mask;
}

/* --- integers of 64 bits --- */

SIMD_FN vi vl_set(uint64_t a)
{
	return _mm512_set1_epi64((long long)a);
}

SIMD_FN vi vl_add(vi a, vi b)
{
	return _mm512_add_epi64(a, b);
}

SIMD_FN vi vl_sub(vi a, vi b)
{
	return _mm512_sub_epi64(a, b);
}

/* the product of the lanes' low halves */
SIMD_FN vi vl_mul(vi a, vi b)
{
	return _mm512_mul_epu32(a, b);
}

#define vl_shl(a, n) _mm512_slli_epi64(a, n)
#define vl_shr(a, n) _mm512_srli_epi64(a, n)

/* a < b, both below 2^63 */
SIMD_FN vlmask vl_less_signed(vi a, vi b)
{
	return _mm512_cmplt_epi64_mask(a, b);
}

SIMD_FN vlmask vl_less(vi a, vi b)
{
	return _mm512_cmplt_epu64_mask(a, b);
}

SIMD_FN vi vl_select(vlmask mask, vi yes, vi no)
{
	return _mm512_mask_blend_epi64(mask, no, yes);
}

SIMD_FN vi vl_drop(vlmask mask, vi a)
{
	return _mm512_maskz_mov_epi64((vlmask)~mask, a);
}

SIMD_FN int vl_any(vlmask mask)
{
	return mask != 0;
}

/* the first or second 64 bits of both, in each 128 */
SIMD_FN vi vl_zip_low(vi a, vi b)
{
	return _mm512_unpacklo_epi64(a, b);
}

SIMD_FN vi vl_zip_high(vi a, vi b)
{
	return _mm512_unpackhi_epi64(a, b);
}

/* low halves of `low`, low halves of `high` in the upper halves */
SIMD_FN vi vl_join(vi low, vi high)
{
	return _mm512_mask_shuffle_epi32(low, 0xaaaa, high, _MM_PERM_CCAA);
}

/* the same of high halves; those of `high` stay */
SIMD_FN vi vl_join_high(vi low, vi high)
{
	return _mm512_mask_shuffle_epi32(high, 0x5555, low, _MM_PERM_DDBB);
}

/* the halves of `product` are swapped; a and b are xored to the low one */
SIMD_FN vi vl_last(vi product, vi a, vi b)
{
	return _mm512_mask_ternarylogic_epi32(_mm512_ror_epi64(product, 32),
					      0x5555, a, b, 0x96);
}

/* The order of blocks 0 .. 7 in lanes, such that zips put them in order. */
SIMD_FN vi vl_order(void)
{
	return _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
}

/* Low halves of two vectors of blocks in that order, put in order. */
SIMD_FN vi vl_join_ordered(vi a, vi b)
{
	const vi order = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9,
					   13, 3, 7, 11, 15);

	return _mm512_permutexvar_epi32(order, vl_join(a, b));
}

/* 32-bit lanes to the low halves of 64-bit ones: the first half of a, or the
 * second. */
SIMD_FN vi vl_widen_low(vi a)
{
	return _mm512_cvtepu32_epi64(_mm512_castsi512_si256(a));
}

SIMD_FN vi vl_widen_high(vi a)
{
	return _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(a, 1));
}

/* --- floats --- */

SIMD_FN vf vf_load(const float *from)
{
	return _mm512_loadu_ps(from);
}

SIMD_FN void vf_store(float *to, vf a)
{
	_mm512_storeu_ps(to, a);
}

SIMD_FN vf vf_set(float a)
{
	return _mm512_set1_ps(a);
}

SIMD_FN vf vf_mul(vf a, vf b)
{
	return _mm512_mul_ps(a, b);
}

SIMD_FN vf vf_sub(vf a, vf b)
{
	return _mm512_sub_ps(a, b);
}

SIMD_FN vf vf_fma(vf a, vf b, vf c)
{
	return _mm512_fmadd_ps(a, b, c);
}

SIMD_FN vf vf_root(vf a)
{
	return _mm512_sqrt_ps(a);
}

SIMD_FN vi vf_bits(vf a)
{
	return _mm512_castps_si512(a);
}

SIMD_FN vf vf_from_bits(vi a)
{
	return _mm512_castsi512_ps(a);
}

SIMD_FN vf vf_from_int(vi a)
{
	return _mm512_cvtepi32_ps(a);
}

SIMD_FN vf vf_from_unsigned(vi a)
{
	return _mm512_cvtepu32_ps(a);
}

/* towards 0, of 0 <= a < 2^31 */
SIMD_FN vi vf_truncate(vf a)
{
	return _mm512_cvttps_epi32(a);
}

/* the same below 2^32 */
SIMD_FN vi vf_truncate_unsigned(vf a)
{
	return _mm512_cvttps_epu32(a);
}

/* a, with every NaN made the one with bits 0x7fc00000 */
SIMD_FN vf vf_quiet(vf a)
{
	vf nan = _mm512_castsi512_ps(vi_set(0x7fc00000u));

	return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a,
				    nan);
}

/* a < b ? a : b and a > b ? a : b, as the scalar comparisons */
SIMD_FN vf vf_min(vf a, vf b)
{
	return _mm512_min_ps(a, b);
}

SIMD_FN vf vf_max(vf a, vf b)
{
	return _mm512_max_ps(a, b);
}

/* a > b, or one of them is a NaN */
SIMD_FN vmask vf_above(vf a, vf b)
{
	return _mm512_cmp_ps_mask(a, b, _CMP_NLE_UQ);
}

/* a, or b in the lanes whose bit is 0 */
SIMD_FN vf vf_allow(uint32_t bits, vf a, vf b)
{
	return _mm512_mask_blend_ps((vmask)bits, b, a);
}

/* one of them is a NaN */
SIMD_FN vmask vf_unordered(vf a, vf b)
{
	return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
}

/* a, or b in the lanes where bit 30 of `bits` is set */
SIMD_FN vf vf_pick(vi bits, vf a, vf b)
{
	return _mm512_mask_blend_ps(
		_mm512_test_epi32_mask(bits, vi_set(1u << 30)), a, b);
}

/* a, or -a in the lanes where bit 31 of `bits` is set */
SIMD_FN vf vf_turn(vf a, vi bits)
{
	return vf_from_bits(_mm512_ternarylogic_epi32(
		vf_bits(a), bits, vi_set(0x80000000u), 0x78));
}

/* words of a and b in turn: the first two of each 128 bits, the last two */
SIMD_FN vf vf_zip_low(vf a, vf b)
{
	return _mm512_unpacklo_ps(a, b);
}

SIMD_FN vf vf_zip_high(vf a, vf b)
{
	return _mm512_unpackhi_ps(a, b);
}

/* --- doubles --- */

SIMD_FN vd vd_load(const double *from)
{
	return _mm512_loadu_pd(from);
}

SIMD_FN void vd_store(double *to, vd a)
{
	_mm512_storeu_pd(to, a);
}

SIMD_FN vd vd_set(double a)
{
	return _mm512_set1_pd(a);
}

SIMD_FN vd vd_mul(vd a, vd b)
{
	return _mm512_mul_pd(a, b);
}

SIMD_FN vd vd_add(vd a, vd b)
{
	return _mm512_add_pd(a, b);
}

SIMD_FN vd vd_sub(vd a, vd b)
{
	return _mm512_sub_pd(a, b);
}

SIMD_FN vd vd_fma(vd a, vd b, vd c)
{
	return _mm512_fmadd_pd(a, b, c);
}

SIMD_FN vd vd_root(vd a)
{
	return _mm512_sqrt_pd(a);
}

SIMD_FN vi vd_bits(vd a)
{
	return _mm512_castpd_si512(a);
}

SIMD_FN vd vd_from_bits(vi a)
{
	return _mm512_castsi512_pd(a);
}

SIMD_FN vd vd_quiet(vd a)
{
	vd nan = _mm512_castsi512_pd(vl_set(0x7ff8000000000000ull));

	return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, a, _CMP_UNORD_Q), a,
				    nan);
}

SIMD_FN vd vd_min(vd a, vd b)
{
	return _mm512_min_pd(a, b);
}

SIMD_FN vd vd_max(vd a, vd b)
{
	return _mm512_max_pd(a, b);
}

SIMD_FN vd vd_zip_low(vd a, vd b)
{
	return _mm512_unpacklo_pd(a, b);
}

SIMD_FN vd vd_zip_high(vd a, vd b)
{
	return _mm512_unpackhi_pd(a, b);
}

/* a, or b in the lanes where bit 62 of `bits` is set */
SIMD_FN vd vd_pick(vi bits, vd a, vd b)
{
	return _mm512_mask_blend_pd(
		_mm512_test_epi64_mask(bits, vl_set(1ull << 62)), a, b);
}

/* a, or -a in the lanes where bit 63 of `bits` is set */
SIMD_FN vd vd_turn(vd a, vi bits)
{
	return vd_from_bits(_mm512_ternarylogic_epi64(
		vd_bits(a), bits, vl_set(0x8000000000000000ull), 0x78));
}

/* of 0 <= a < 2^53 */
SIMD_FN vd vd_from_unsigned53(vi a)
{
	return _mm512_cvtepu64_pd(a);
}

/* of -2^51 <= a < 2^51 */
SIMD_FN vd vd_from_int52(vi a)
{
	return _mm512_cvtepi64_pd(a);
}

/* --- 16 bits --- */

/* V_LANES numbers of 16 bits */
SIMD_FN vi vh_load(const uint16_t *from)
{
	return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));
}

/* of lanes below 2^16 */
SIMD_FN void vh_store(uint16_t *to, vi a)
{
	_mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(a));
}

SIMD_FN vf vf_from_f16(const uint16_t *from)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

SIMD_FN void vf_store_f16(uint16_t *to, vf a)
{
	_mm256_storeu_si256((__m256i *)to,
			    _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

#endif
