/*
 * lib/base/cpu.h - which vector instructions the host's fills use
 *
 * The best set that the CPU has is used, unless PHILOX_SIMD in the environment
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
 * it is first called. ERROR_INVALID: PHILOX_SIMD is not a known name, or names
 * a set that the CPU lacks.
 */
enum philox_status simd_choose(enum simd *simd);

/* simd_name() returns the name of a set in PHILOX_SIMD. */
const char *simd_name(enum simd simd);

/* simd_has() says whether this build and this CPU have a set. */
int simd_has(enum simd simd);

/*
 * simd_use() makes all fills from now on use a set, which must be available;
 * simd_used() returns the one in use.
 */
void simd_use(enum simd simd);
enum simd simd_used(void);

#endif
