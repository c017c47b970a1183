/*
 * lib/fill/layout/check.h - is a fill one that its layout has?
 */
#ifndef LIB_FILL_LAYOUT_CHECK_H
#define LIB_FILL_LAYOUT_CHECK_H

#include <philox/layout.h>
#include "lib/base/status.h"

/*
 * layout_check() finds what is wrong with a fill's layout, or does not go with
 * it; the rest of the fill is sound. Without a layout it is PHILOX_OK. Errors:
 * PHILOX_ERROR_INVALID names the field, PHILOX_ERROR_UNSUPPORTED what the
 * original does not have.
 */
enum philox_status layout_check(const struct philox_fill *fill);

/* layout_has() says whether a layout but the default one has a dist of a dtype. */
int layout_has(enum philox_layout_kind kind, enum philox_dist dist,
	       enum philox_dtype dtype);

/*
 * layout_span_end() returns the element after the last one of a fill's span,
 * 2^64 - 1 at most.
 */
uint64_t layout_span_end(const struct philox_fill *fill);

#endif
