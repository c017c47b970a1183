/*
 * lib/fill/simd/tables.c - see lib/fill/simd/tables.h
 */
#include <stddef.h>
#include "lib/fill/simd/tables.h"
#include "lib/base/base.h"

static const struct simd_loops *const tables[SIMD_COUNT] = {
#ifdef __x86_64__
	[SIMD_AVX2] = &simd_avx2,
	[SIMD_AVX512] = &simd_avx512,
#else
	NULL, /* scalar only */
#endif
};

const struct simd_loops *simd_loops_used(void)
{
	return tables[simd_used()];
}
