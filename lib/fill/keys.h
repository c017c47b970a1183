/*
 * lib/fill/keys.h - many keys at once, on the host
 */
#ifndef LIB_FILL_KEYS_H
#define LIB_FILL_KEYS_H

#include "lib/fill/simd/tables.h"

/*
 * keys_fold() makes out[i] = philox_fold(seed[i], high[i], low[i]) of the first
 * n blocks, n <= SIMD_KEYED_MAX: `high` is the plane and `low` the index. What
 * it leaves in the rest of `out` is of no use.
 */
void keys_fold(const struct simd_keyed *blocks, unsigned n,
	       uint64_t out[SIMD_KEYED_MAX]);

#endif
