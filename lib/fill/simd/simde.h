/*
 * lib/fill/simd/simde.h - AVX-512's intrinsics on a CPU without it, for tests
 *
 * Most of them are SIMDe's (libsimde-dev); those it lacks are here, lane by
 * lane. A build with PHILOX_SIMDE uses them for the loops of
 * lib/fill/simd/fill_avx512.c.
 */
#ifndef LIB_FILL_SIMD_SIMDE_H
#define LIB_FILL_SIMD_SIMDE_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <stdint.h>

/* A function of the lanes of a, or of a and b, that makes other lanes. */
#define SHIM(name, result, to, argument, from, lanes, value) \
	static inline result shim_##name(argument a)         \
	{                                                    \
		union {                                      \
			argument all;                        \
			from x[lanes];                       \
		} in = {a};                                  \
		union {                                      \
			result all;                          \
			to y[lanes];                         \
		} out;                                       \
                                                             \
		for (int i = 0; i < lanes; i++)              \
			out.y[i] = value(in.x[i]);           \
		return out.all;                              \
	}

#define SHIM_LESS(name, mask, type, lanes)                              \
	static inline mask shim_##name(__m512i a, __m512i b)            \
	{                                                               \
		union {                                                 \
			__m512i all;                                    \
			type x[lanes];                                  \
		} left = {a}, right = {b};                              \
		unsigned out = 0;                                       \
                                                                        \
		for (int i = 0; i < lanes; i++)                         \
			out |= (unsigned)(left.x[i] < right.x[i]) << i; \
		return (mask)out;                                       \
	}

SHIM_LESS(cmplt_epi32, __mmask16, int32_t, 16)
SHIM_LESS(cmplt_epu32, __mmask16, uint32_t, 16)
SHIM_LESS(cmplt_epi64, __mmask8, int64_t, 8)
SHIM_LESS(cmplt_epu64, __mmask8, uint64_t, 8)
SHIM(cvtepi32_ps, __m512, float, __m512i, int32_t, 16, (float))
SHIM(cvtepu32_ps, __m512, float, __m512i, uint32_t, 16, (float))
SHIM(cvttps_epi32, __m512i, int32_t, __m512, float, 16, (int32_t))
SHIM(cvttps_epu32, __m512i, uint32_t, __m512, float, 16, (uint32_t))
SHIM(cvtepi64_pd, __m512d, double, __m512i, int64_t, 8, (double))
SHIM(cvtepu64_pd, __m512d, double, __m512i, uint64_t, 8, (double))
SHIM(cvtepi32_epi16, __m256i, uint16_t, __m512i, uint32_t, 16, (uint16_t))
SHIM(cvtepu16_epi32, __m512i, uint32_t, __m256i, uint16_t, 16, )
SHIM(cvtepu32_epi64, __m512i, uint64_t, __m256i, uint32_t, 8, )
SHIM(cvtph_ps, __m512, float, __m256i, uint16_t, 16, _cvtsh_ss)

#define SHIM_TO_F16(x) _cvtss_sh(x, 0)
SHIM(cvtps_ph, __m256i, uint16_t, __m512, float, 16, SHIM_TO_F16)

/* Lanes of `from` where the mask says so: its even ones twice, its odd ones. */
#define SHIM_TWICE(name, odd)                                        \
	static inline __m512i shim_##name(__m512i a, __mmask16 mask, \
					  __m512i from)              \
	{                                                            \
		union {                                              \
			__m512i all;                                 \
			uint32_t x[16];                              \
		} in = {from}, out = {a};                            \
                                                                     \
		for (int i = 0; i < 16; i++)                         \
			if (mask >> i & 1)                           \
				out.x[i] = in.x[(i & ~1) + odd];     \
		return out.all;                                      \
	}

SHIM_TWICE(mask_even, 0)
SHIM_TWICE(mask_odd, 1)

/* macros of some compilers */
#undef _mm512_mask_shuffle_epi32
#undef _mm512_cmplt_epi32_mask
#undef _mm512_cmplt_epu32_mask
#undef _mm512_cmplt_epi64_mask
#undef _mm512_cmplt_epu64_mask
#undef _mm512_cvtepi32_ps
#undef _mm512_cvtepu32_ps
#undef _mm512_cvttps_epi32
#undef _mm512_cvttps_epu32
#undef _mm512_cvtepi64_pd
#undef _mm512_cvtepu64_pd
#undef _mm512_cvtepi32_epi16
#undef _mm512_cvtepu16_epi32
#undef _mm512_cvtepu32_epi64
#undef _mm512_cvtph_ps
#undef _mm512_cvtps_ph

#define _mm512_cmplt_epi32_mask  shim_cmplt_epi32
#define _mm512_cmplt_epu32_mask  shim_cmplt_epu32
#define _mm512_cmplt_epi64_mask  shim_cmplt_epi64
#define _mm512_cmplt_epu64_mask  shim_cmplt_epu64
#define _mm512_cvtepi32_ps       shim_cvtepi32_ps
#define _mm512_cvtepu32_ps       shim_cvtepu32_ps
#define _mm512_cvttps_epi32      shim_cvttps_epi32
#define _mm512_cvttps_epu32      shim_cvttps_epu32
#define _mm512_cvtepi64_pd       shim_cvtepi64_pd
#define _mm512_cvtepu64_pd       shim_cvtepu64_pd
#define _mm512_cvtepi32_epi16    shim_cvtepi32_epi16
#define _mm512_cvtepu16_epi32    shim_cvtepu16_epi32
#define _mm512_cvtepu32_epi64    shim_cvtepu32_epi64
#define _mm512_cvtph_ps          shim_cvtph_ps
#define _mm512_cvtps_ph(a, mode) shim_cvtps_ph(a)

#define _mm512_mask_shuffle_epi32(a, mask, from, order)           \
	((order) == _MM_PERM_CCAA ? shim_mask_even(a, mask, from) \
				  : shim_mask_odd(a, mask, from))

#endif
