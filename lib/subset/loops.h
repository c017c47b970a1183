/*
 * lib/subset/loops.h - the keys of items, for each instruction set of a CPU
 *
 * Included by one file for each, after LOOPS_NAME() says how its names end. The
 * functions of philox/subset.h take fused multiply-adds, which a CPU without
 * the instruction calls a function for.
 */
#include "lib/subset/elements.h"
#include "lib/subset/subset.h"

static void LOOPS_NAME(keys)(const struct subset_args *args, uint32_t first,
			     uint32_t n, const float *noise, uint64_t *keys)
{
	for (uint32_t i = 0; i < n; i++)
		keys[i] = philox_subset_key_of(
			first + i, subset_logit(args, first + i), noise[i]);
}

subset_keys_of *const LOOPS_NAME(subset_keys) = LOOPS_NAME(keys);
