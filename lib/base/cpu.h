/*
 * lib/base/cpu.h - which vector instructions the host's fills use
 *
 * The loops of lib/fill/simd/loops.h exist once for each instruction set. All give
 * the same bits as the plain loop. The best one that the CPU has is taken,
 * unless PHILOX_SIMD in the environment names another: scalar, avx2, avx512.
 */
#ifndef LIB_BASE_CPU_H
#define LIB_BASE_CPU_H

#include "lib/device/kernels.h"
#include "lib/base/status.h"

enum simd {
	SIMD_SCALAR,
	SIMD_AVX2,   /* with FMA and F16C */
	SIMD_AVX512, /* F, DQ, BW, VL */
	SIMD_COUNT
};

/*
 * A loop that makes `chunks` chunks of whole blocks, from number `block` on; in
 * and out are those of the first chunk's first element. All blocks have the
 * same number divided by 2^32, though the chunk after them may not.
 */
typedef void simd_fill(const struct fill_args *args, struct philox_state state,
		       uint64_t block, uint64_t chunks, const void *in,
		       void *out);

/* What one instruction set has: a loop for every fill. */
struct simd_loops {
	unsigned chunk; /* blocks in a chunk, at most SIMD_CHUNK_MAX */
	simd_fill *fill[KERNEL_COUNT];
};

#define SIMD_CHUNK_MAX 64

extern const struct simd_loops simd_avx2;
extern const struct simd_loops simd_avx512;

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
 * on; simd_used() is the loops of the one in use, NULL for scalar.
 */
void simd_use(enum simd simd);
const struct simd_loops *simd_used(void);

#endif
