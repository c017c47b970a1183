/*
 * lib/fill/keys.c - see lib/fill/keys.h
 */
#include "lib/fill/keys.h"

void keys_fold(const struct simd_keyed *blocks, unsigned n,
	       uint64_t out[SIMD_KEYED_MAX])
{
	const struct simd_loops *loops = simd_loops_used();

	if (loops) {
		loops->fold(blocks, n, out);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		out[i] = philox_fold(blocks->seed[i], blocks->high[i],
				     blocks->low[i]);
}
