/*
 * lib/dist/dtypes.h - dtypes: their names, sizes and numbers
 *
 * Errors of fills, draws from rows and samples use the same terms. `what` is
 * the description at the start of a message: "fill", "sample".
 */
#ifndef LIB_DIST_DTYPES_H
#define LIB_DIST_DTYPES_H

#include <philox/fill.h>
#include "lib/base/status.h"

/* fill_dtype_name() returns the name of a dtype, NULL if it is unknown. */
const char *fill_dtype_name(enum philox_dtype dtype);

/* fill_dtype_size() returns the size of an element of a known dtype. */
size_t fill_dtype_size(enum philox_dtype dtype);

/* fill_check_dtype() refuses a dtype that has no name. */
enum philox_status fill_check_dtype(const char *what, enum philox_dtype dtype);

/* fill_check_array() refuses NULL, and an array not aligned to a dtype. */
enum philox_status fill_check_array(const char *what, const char *name,
				    const void *array, enum philox_dtype dtype);

/* fill_largest() returns the largest finite number of a real dtype. */
double fill_largest(enum philox_dtype dtype);

/*
 * fill_ends() finds the least and the largest number of a real dtype in [low,
 * high); bottom > top if there is none.
 */
void fill_ends(enum philox_dtype dtype, double low, double high, double *bottom,
	       double *top);

#endif
