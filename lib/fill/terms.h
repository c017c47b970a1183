/*
 * lib/fill/terms.h - dists, dtypes and arrays: names, and words for wrong ones
 *
 * Fills, draws from rows and samples are told of in the same terms. `what` is
 * the description that a message begins with: "fill", "sample".
 */
#ifndef LIB_FILL_TERMS_H
#define LIB_FILL_TERMS_H

#include <philox/fill.h>
#include "lib/base/status.h"

/* The names of a known dist or dtype, and the size of an element. */
const char *fill_dist_name(enum philox_dist dist);
const char *fill_dtype_name(enum philox_dtype dtype);
size_t fill_dtype_size(enum philox_dtype dtype);

/* fill_check_dist() and fill_check_dtype() refuse what has no name. */
enum philox_status fill_check_dist(const char *what, enum philox_dist dist);
enum philox_status fill_check_dtype(const char *what, enum philox_dtype dtype);

/* fill_check_array() refuses NULL, and what is not aligned to a dtype. */
enum philox_status fill_check_array(const char *what, const char *name,
				    const void *array, enum philox_dtype dtype);

#endif
