/*
 * lib/subset/subset.h - subsets by weight: checked, and put on a stream
 */
#ifndef LIB_SUBSET_SUBSET_H
#define LIB_SUBSET_SUBSET_H

#include <philox/subset.h>
#include "lib/device/kernels.h"

/*
 * subset_prepare() checks a subset and makes the arguments of its kernels, and
 * subset_put() puts these on a stream. Errors are those of philox_rng_subset().
 */
enum philox_status subset_prepare(struct philox_rng rng,
				  const struct philox_subset_desc *subset,
				  struct subset_args *args);
enum philox_status subset_put(struct philox_device *device,
			      philox_stream stream,
			      const struct subset_args *args);

/* --- loops.h: the keys of items ------------------------------------------- */

/*
 * Writes the keys of n items from `first` on, whose Gumbel numbers are `noise`;
 * one for each instruction set.
 */
typedef void subset_keys_of(const struct subset_args *args, uint32_t first,
			    uint32_t n, const float *noise, uint64_t *keys);

extern subset_keys_of *const subset_keys_scalar, *const subset_keys_avx2,
	*const subset_keys_avx512;

#endif
