/*
 * lib/fill/simd/tables.h - the tables of vector loops
 *
 * The loops of lib/fill/simd/loops.h exist once for each instruction set, in
 * one table each. All give the same bits as the plain loop. lib/base/cpu.h
 * decides which set is used.
 */
#ifndef LIB_FILL_SIMD_TABLES_H
#define LIB_FILL_SIMD_TABLES_H

#include "lib/device/kernels.h"

/*
 * A loop that makes `chunks` chunks of whole blocks, from number `block` on; in
 * and out are those of the first chunk's first element. All blocks have the
 * same number divided by 2^32, though the chunk after them may not.
 */
typedef void simd_fill(const struct fill_args *args, struct philox_state state,
		       uint64_t block, uint64_t chunks, const void *in,
		       void *out);

/* The loops of one instruction set: one for every fill. */
struct simd_loops {
	unsigned chunk; /* blocks in a chunk, at most SIMD_CHUNK_MAX */
	simd_fill *fill[KERNEL_COUNT];
};

#define SIMD_CHUNK_MAX 64

extern const struct simd_loops simd_avx2;   /* fill_avx2.c */
extern const struct simd_loops simd_avx512; /* fill_avx512.c */

/*
 * simd_loops_used() returns the loops of the instruction set that is in use,
 * NULL for scalar.
 */
const struct simd_loops *simd_loops_used(void);

#endif
