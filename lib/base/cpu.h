/*
 * lib/base/cpu.h - which vector instructions the host's fills use
 *
 * The best set that the CPU has is taken, unless PHILOX_SIMD in the environment
 * names another: scalar, avx2, avx512. All give the same numbers. The loops
 * that use them are in lib/fill/simd.
 */
#ifndef LIB_BASE_CPU_H
#define LIB_BASE_CPU_H

#include "lib/base/status.h"

enum simd {
	SIMD_SCALAR,
	SIMD_AVX2,   /* with FMA and F16C */
	SIMD_AVX512, /* F, DQ, BW, VL */
	SIMD_COUNT
};

/*
 * simd_choose() finds the instruction set to use; the environment is read when
 * it is first called. ERROR_INVALID: PHILOX_SIMD is no known name, or names
 * what the CPU lacks.
 */
enum philox_status simd_choose(enum simd *simd);

/* simd_name() returns the name PHILOX_SIMD has for one. */
const char *simd_name(enum simd simd);

/* simd_has() says whether this build and this CPU have it. */
int simd_has(enum simd simd);

/*
 * simd_use() takes one, which must be there, for all fills that run from now
 * on; simd_used() returns the one in use.
 */
void simd_use(enum simd simd);
enum simd simd_used(void);

#endif
