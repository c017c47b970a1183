/*
 * lib/fill/simd/fill_avx2.c - the host's fills with AVX2, FMA and F16C
 *
 * The Makefile compiles only this file for them.
 */
#ifdef __x86_64__
#include "lib/fill/simd/avx2.h"
#include "lib/fill/simd/keyed.h"

const struct simd_loops simd_avx2 = SIMD_TABLE;
#else
typedef int fill_avx2_nothing; /* a file must not be empty */
#endif
