/*
 * lib/fill/check.h - a fill's description, checked
 */
#ifndef LIB_FILL_CHECK_H
#define LIB_FILL_CHECK_H

#include <philox/fill.h>
#include <philox/layout.h>
#include "lib/base/status.h"

/*
 * A caller's fill and its layout, as this version knows them: fields that the
 * structs of an older version lack are 0. Unless it is NULL, fill.layout points
 * to this layout, so the struct must not move.
 */
struct fill_taken {
	struct philox_fill fill;
	struct philox_layout layout;
};

/* fill_take() copies a fill; ERROR_INVALID: it is NULL, or a size is wrong. */
enum philox_status fill_take(const struct philox_fill *given,
			     struct fill_taken *copy);

/*
 * fill_check() finds every error of a fill and its state that can be found
 * before a device sees it; errors are those of philox_rng_fill().
 */
enum philox_status fill_check(const struct philox_rng *rng,
			      const struct philox_fill *fill);

/*
 * fill_check_op() checks only a fill's dist, dtype, parameters, span and
 * layout.
 */
enum philox_status fill_check_op(const struct philox_fill *fill);

#endif
