/*
 * lib/fill/simd/avx2.h - vectors of 256 bits: AVX2, FMA, F16C
 *
 * lib/fill/simd/fills.h is written in these. vi holds eight 32-bit or four
 * 64-bit integers, vf eight floats, vd four doubles; operations on 64-bit
 * integers begin with vl. A mask is a vector whose lanes are all ones or all
 * zeros. Everything rounds as the scalar operation does.
 */
#ifndef LIB_FILL_SIMD_AVX2_H
#define LIB_FILL_SIMD_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#define SIMD_FN static inline __attribute__((always_inline, unused))

typedef __m256i vi;
typedef __m256 vf;
typedef __m256d vd;
typedef __m256i vmask;  /* of 32-bit lanes */
typedef __m256i vlmask; /* of 64-bit lanes */

enum {
	V_LANES = 8, /* of 32 bits */
	V_KEYED = 2, /* the same, with keys of their own */
	V_GROUPS = 6 /* blocks in flight, in vectors of 64-bit lanes */
};

/* Rounds of keyed blocks that follow one another in the code. */
#define V_KEYED_UNROLL _Pragma("GCC unroll 1")

/* --- integers of 32 bits --- */

SIMD_FN vi vi_load(const void *from)
{
	return _mm256_loadu_si256((const __m256i *)from);
}

SIMD_FN void vi_store(void *to, vi a)
{
	_mm256_storeu_si256((__m256i *)to, a);
}

SIMD_FN vi vi_set(uint32_t a)
{
	return _mm256_set1_epi32((int)a);
}

SIMD_FN vi vi_add(vi a, vi b)
{
	return _mm256_add_epi32(a, b);
}

SIMD_FN vi vi_sub(vi a, vi b)
{
	return _mm256_sub_epi32(a, b);
}

SIMD_FN vi vi_and(vi a, vi b)
{
	return _mm256_and_si256(a, b);
}

SIMD_FN vi vi_or(vi a, vi b)
{
	return _mm256_or_si256(a, b);
}

SIMD_FN vi vi_xor(vi a, vi b)
{
	return _mm256_xor_si256(a, b);
}

SIMD_FN vi vi_xor3(vi a, vi b, vi c)
{
	return vi_xor(vi_xor(a, b), c);
}

#define vi_shl(a, n) _mm256_slli_epi32(a, n)
#define vi_shr(a, n) _mm256_srli_epi32(a, n)

/* a < b, unsigned */
SIMD_FN vmask vi_less(vi a, vi b)
{
	vi top = vi_set(0x80000000u);

	return _mm256_cmpgt_epi32(vi_xor(b, top), vi_xor(a, top));
}

/* the lesser, unsigned */
SIMD_FN vi vi_min(vi a, vi b)
{
	return _mm256_min_epu32(a, b);
}

/* a < b, both below 2^31; one instruction less */
SIMD_FN vmask vi_less_signed(vi a, vi b)
{
	return _mm256_cmpgt_epi32(b, a);
}

SIMD_FN vi vi_select(vmask mask, vi yes, vi no)
{
	return _mm256_blendv_epi8(no, yes, mask);
}

SIMD_FN vi vi_keep(vmask mask, vi a)
{
	return vi_and(mask, a);
}

/* a, or 0 in the lanes of the mask */
SIMD_FN vi vi_drop(vmask mask, vi a)
{
	return _mm256_andnot_si256(mask, a);
}

SIMD_FN vmask vm_none(void)
{
	return vi_set(0);
}

SIMD_FN vmask vm_or(vmask a, vmask b)
{
	return vi_or(a, b);
}

SIMD_FN int vi_any(vmask mask)
{
	return _mm256_movemask_epi8(mask) != 0;
}

/* a bit for each lane */
SIMD_FN uint32_t vm_bits(vmask mask)
{
	return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(mask));
}

/* --- integers of 64 bits --- */

SIMD_FN vi vl_set(uint64_t a)
{
	return _mm256_set1_epi64x((long long)a);
}

SIMD_FN vi vl_add(vi a, vi b)
{
	return _mm256_add_epi64(a, b);
}

SIMD_FN vi vl_sub(vi a, vi b)
{
	return _mm256_sub_epi64(a, b);
}

/* the product of the lanes' low halves */
SIMD_FN vi vl_mul(vi a, vi b)
{
	return _mm256_mul_epu32(a, b);
}

#define vl_shl(a, n) _mm256_slli_epi64(a, n)
#define vl_shr(a, n) _mm256_srli_epi64(a, n)

/* a < b, both below 2^63 */
SIMD_FN vlmask vl_less_signed(vi a, vi b)
{
	return _mm256_cmpgt_epi64(b, a);
}

SIMD_FN vlmask vl_less(vi a, vi b)
{
	vi top = vl_set(0x8000000000000000ull);

	return _mm256_cmpgt_epi64(vi_xor(b, top), vi_xor(a, top));
}

SIMD_FN vi vl_select(vlmask mask, vi yes, vi no)
{
	return _mm256_blendv_epi8(no, yes, mask);
}

SIMD_FN vi vl_drop(vlmask mask, vi a)
{
	return _mm256_andnot_si256(mask, a);
}

SIMD_FN int vl_any(vlmask mask)
{
	return _mm256_movemask_epi8(mask) != 0;
}

/* the first or second 64 bits of both, in each 128 */
SIMD_FN vi vl_zip_low(vi a, vi b)
{
	return _mm256_unpacklo_epi64(a, b);
}

SIMD_FN vi vl_zip_high(vi a, vi b)
{
	return _mm256_unpackhi_epi64(a, b);
}

/* low halves of `low`, low halves of `high` in the upper halves */
SIMD_FN vi vl_join(vi low, vi high)
{
	return _mm256_blend_epi32(low, _mm256_slli_epi64(high, 32), 0xaa);
}

/* the same of high halves; those of `high` stay */
SIMD_FN vi vl_join_high(vi low, vi high)
{
	return _mm256_blend_epi32(_mm256_srli_epi64(low, 32), high, 0xaa);
}

/* the halves of `product` are swapped; a and b are xored to the low one */
SIMD_FN vi vl_last(vi product, vi a, vi b)
{
	vi turned = _mm256_shuffle_epi32(product, 0xb1);

	return _mm256_blend_epi32(vi_xor3(turned, a, b), turned, 0xaa);
}

/* The order of blocks 0 .. 3 in lanes, such that zips put them in order. */
SIMD_FN vi vl_order(void)
{
	return _mm256_setr_epi64x(0, 2, 1, 3);
}

/* Low halves of two vectors of blocks in that order, put in order. */
SIMD_FN vi vl_join_ordered(vi a, vi b)
{
	const vi order = _mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7);

	return _mm256_permutevar8x32_epi32(vl_join(a, b), order);
}

/* 32-bit lanes to the low halves of 64-bit ones: the first half of a, or the
 * second. */
SIMD_FN vi vl_widen_low(vi a)
{
	return _mm256_cvtepu32_epi64(_mm256_castsi256_si128(a));
}

SIMD_FN vi vl_widen_high(vi a)
{
	return _mm256_cvtepu32_epi64(_mm256_extracti128_si256(a, 1));
}

/* --- floats --- */

SIMD_FN vf vf_load(const float *from)
{
	return _mm256_loadu_ps(from);
}

SIMD_FN void vf_store(float *to, vf a)
{
	_mm256_storeu_ps(to, a);
}

SIMD_FN vf vf_set(float a)
{
	return _mm256_set1_ps(a);
}

SIMD_FN vf vf_mul(vf a, vf b)
{
	return _mm256_mul_ps(a, b);
}

SIMD_FN vf vf_sub(vf a, vf b)
{
	return _mm256_sub_ps(a, b);
}

SIMD_FN vf vf_fma(vf a, vf b, vf c)
{
	return _mm256_fmadd_ps(a, b, c);
}

SIMD_FN vf vf_root(vf a)
{
	return _mm256_sqrt_ps(a);
}

SIMD_FN vi vf_bits(vf a)
{
	return _mm256_castps_si256(a);
}

SIMD_FN vf vf_from_bits(vi a)
{
	return _mm256_castsi256_ps(a);
}

SIMD_FN vf vf_from_int(vi a)
{
	return _mm256_cvtepi32_ps(a);
}

/* Both halves are exact, and the sum is rounded once. */
SIMD_FN vf vf_from_unsigned(vi a)
{
	vf high = vf_from_int(vi_shr(a, 16));
	vf low = vf_from_int(vi_and(a, vi_set(0xffff)));

	return vf_fma(high, vf_set(65536.0f), low);
}

/* towards 0, of 0 <= a < 2^31 */
SIMD_FN vi vf_truncate(vf a)
{
	return _mm256_cvttps_epi32(a);
}

/* the same below 2^32; the part taken off is exact */
SIMD_FN vi vf_truncate_unsigned(vf a)
{
	vf half = _mm256_set1_ps(2147483648.0f);
	vf large = _mm256_cmp_ps(a, half, _CMP_GE_OQ);
	vi rest = vf_truncate(_mm256_sub_ps(a, _mm256_and_ps(large, half)));

	return vi_xor(rest,
		      vi_and(_mm256_castps_si256(large), vi_set(0x80000000u)));
}

/* a, with every NaN made the one with bits 0x7fc00000 */
SIMD_FN vf vf_quiet(vf a)
{
	vf nan = _mm256_castsi256_ps(vi_set(0x7fc00000u));

	return _mm256_blendv_ps(a, nan, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}

/* a < b ? a : b and a > b ? a : b, as the scalar comparisons */
SIMD_FN vf vf_min(vf a, vf b)
{
	return _mm256_min_ps(a, b);
}

SIMD_FN vf vf_max(vf a, vf b)
{
	return _mm256_max_ps(a, b);
}

/* a > b, or one of them is a NaN */
SIMD_FN vmask vf_above(vf a, vf b)
{
	return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_NLE_UQ));
}

/* a, or b in the lanes whose bit is 0 */
SIMD_FN vf vf_allow(uint32_t bits, vf a, vf b)
{
	const vi lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
	vi is_set = _mm256_cmpeq_epi32(vi_and(vi_set(bits), lane), lane);

	return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(is_set));
}

/* one of them is a NaN */
SIMD_FN vmask vf_unordered(vf a, vf b)
{
	return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_UNORD_Q));
}

/* a, or b in the lanes where bit 30 of `bits` is set */
SIMD_FN vf vf_pick(vi bits, vf a, vf b)
{
	return _mm256_blendv_ps(a, b, vf_from_bits(vi_shl(bits, 1)));
}

/* a, or -a in the lanes where bit 31 of `bits` is set */
SIMD_FN vf vf_turn(vf a, vi bits)
{
	return vf_from_bits(
		vi_xor(vf_bits(a), vi_and(bits, vi_set(0x80000000u))));
}

/* words of a and b in turn: the first two of each 128 bits, the last two */
SIMD_FN vf vf_zip_low(vf a, vf b)
{
	return _mm256_unpacklo_ps(a, b);
}

SIMD_FN vf vf_zip_high(vf a, vf b)
{
	return _mm256_unpackhi_ps(a, b);
}

/* --- doubles --- */

SIMD_FN vd vd_load(const double *from)
{
	return _mm256_loadu_pd(from);
}

SIMD_FN void vd_store(double *to, vd a)
{
	_mm256_storeu_pd(to, a);
}

SIMD_FN vd vd_set(double a)
{
	return _mm256_set1_pd(a);
}

SIMD_FN vd vd_mul(vd a, vd b)
{
	return _mm256_mul_pd(a, b);
}

SIMD_FN vd vd_add(vd a, vd b)
{
	return _mm256_add_pd(a, b);
}

SIMD_FN vd vd_sub(vd a, vd b)
{
	return _mm256_sub_pd(a, b);
}

SIMD_FN vd vd_fma(vd a, vd b, vd c)
{
	return _mm256_fmadd_pd(a, b, c);
}

SIMD_FN vd vd_root(vd a)
{
	return _mm256_sqrt_pd(a);
}

SIMD_FN vi vd_bits(vd a)
{
	return _mm256_castpd_si256(a);
}

SIMD_FN vd vd_from_bits(vi a)
{
	return _mm256_castsi256_pd(a);
}

SIMD_FN vd vd_quiet(vd a)
{
	vd nan = _mm256_castsi256_pd(vl_set(0x7ff8000000000000ull));

	return _mm256_blendv_pd(a, nan, _mm256_cmp_pd(a, a, _CMP_UNORD_Q));
}

SIMD_FN vd vd_min(vd a, vd b)
{
	return _mm256_min_pd(a, b);
}

SIMD_FN vd vd_max(vd a, vd b)
{
	return _mm256_max_pd(a, b);
}

SIMD_FN vd vd_zip_low(vd a, vd b)
{
	return _mm256_unpacklo_pd(a, b);
}

SIMD_FN vd vd_zip_high(vd a, vd b)
{
	return _mm256_unpackhi_pd(a, b);
}

/* a, or b in the lanes where bit 62 of `bits` is set */
SIMD_FN vd vd_pick(vi bits, vd a, vd b)
{
	return _mm256_blendv_pd(a, b, vd_from_bits(vl_shl(bits, 1)));
}

/* a, or -a in the lanes where bit 63 of `bits` is set */
SIMD_FN vd vd_turn(vd a, vi bits)
{
	return vd_from_bits(vi_xor(
		vd_bits(a), vi_and(bits, vl_set(0x8000000000000000ull))));
}

/* of 0 <= a < 2^53: 2^84 and 2^52 carry the halves, and all is exact */
SIMD_FN vd vd_from_unsigned53(vi a)
{
	vi high = vi_or(vl_shr(a, 32), vl_set(0x4530000000000000ull));
	vi low = _mm256_blend_epi32(a, vl_set(0x4330000000000000ull), 0xaa);

	return vd_add(vd_sub(vd_from_bits(high), vd_set(0x1.00000001p84)),
		      vd_from_bits(low));
}

/* of -2^51 <= a < 2^51 */
SIMD_FN vd vd_from_int52(vi a)
{
	vi magic = vl_set(0x4338000000000000ull);

	return vd_sub(vd_from_bits(vl_add(a, magic)), vd_from_bits(magic));
}

/* --- 16 bits --- */

/* V_LANES numbers of 16 bits */
SIMD_FN vi vh_load(const uint16_t *from)
{
	return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from));
}

/* of lanes below 2^16 */
SIMD_FN void vh_store(uint16_t *to, vi a)
{
	__m128i low = _mm256_castsi256_si128(a);
	__m128i high = _mm256_extracti128_si256(a, 1);

	_mm_storeu_si128((__m128i *)to, _mm_packus_epi32(low, high));
}

SIMD_FN vf vf_from_f16(const uint16_t *from)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
}

SIMD_FN void vf_store_f16(uint16_t *to, vf a)
{
	_mm_storeu_si128((__m128i *)to,
			 _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

#endif
