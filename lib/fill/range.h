/*
 * lib/fill/range.h - the numbers of a dtype, for ranges of uniform numbers
 */
#ifndef LIB_FILL_RANGE_H
#define LIB_FILL_RANGE_H

#include <philox/fill.h>

/* fill_largest() returns the largest finite number of a real dtype. */
double fill_largest(enum philox_dtype dtype);

/*
 * fill_ends() finds the least and the largest number of the dtype in [low,
 * high); bottom > top if there is none.
 */
void fill_ends(const struct philox_fill *fill, double *bottom, double *top);

#endif
