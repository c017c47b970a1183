/*
 * lib/fill/layout/check.h - whether a fill's layout allows the fill
 */
#ifndef LIB_FILL_LAYOUT_CHECK_H
#define LIB_FILL_LAYOUT_CHECK_H

#include <philox/layout.h>
#include "lib/base/status.h"

/*
 * layout_check() checks a fill's layout, and whether the fill fits it; the rest
 * of the fill is valid. Without a layout it returns PHILOX_OK. Errors:
 * PHILOX_ERROR_INVALID names the field, PHILOX_ERROR_UNSUPPORTED what the
 * original lacks.
 */
enum philox_status layout_check(const struct philox_fill *fill);

/*
 * layout_has() says whether a layout other than the default has a dist of a
 * dtype.
 */
int layout_has(enum philox_layout_kind kind, enum philox_dist dist,
	       enum philox_dtype dtype);

/*
 * layout_span_end() returns the element after the last one of a fill's span,
 * 2^64 - 1 at most.
 */
uint64_t layout_span_end(const struct philox_fill *fill);

#endif
