/*
 * lib/fill/simd/fill_avx512.c - the host's fills with AVX-512 (F, DQ, BW, VL)
 *
 * The Makefile compiles only this file for them.
 */
#ifdef __x86_64__
#include "lib/fill/simd/avx512.h"
#include "lib/fill/simd/keyed.h"

const struct simd_loops simd_avx512 = SIMD_TABLE;
#else
typedef int fill_avx512_nothing; /* a file must not be empty */
#endif
