/*
 * lib/fill/check.h - a fill's description, checked
 */
#ifndef LIB_FILL_CHECK_H
#define LIB_FILL_CHECK_H

#include <philox/fill.h>
#include <philox/layout.h>
#include "lib/base/status.h"

/*
 * A caller's fill and its layout, as this version knows them: what the structs
 * of an older version lack is 0. Where they lie, fill.layout points to layout.
 */
struct fill_taken {
	struct philox_fill fill;
	struct philox_layout layout;
};

/* fill_take() copies a fill; ERROR_INVALID: it is NULL, or a size is wrong. */
enum philox_status fill_take(const struct philox_fill *given,
			     struct fill_taken *copy);

/*
 * fill_check() finds everything that can be known to be wrong with a fill and
 * its state before a device sees it; errors as philox_rng_fill() has them.
 */
enum philox_status fill_check(const struct philox_rng *rng,
			      const struct philox_fill *fill);

/*
 * fill_check_op() finds what is wrong with a fill's dist, dtype, parameters,
 * span and layout alone.
 */
enum philox_status fill_check_op(const struct philox_fill *fill);

#endif
