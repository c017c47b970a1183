/*
 * lib/fill/layout/check.h - is a fill one that its layout has?
 */
#ifndef LIB_FILL_LAYOUT_CHECK_H
#define LIB_FILL_LAYOUT_CHECK_H

#include "lib/fill/layout/layout.h"

/* layout_has() says whether a layout but the default one has a dist of a dtype. */
int layout_has(enum philox_layout_kind kind, enum philox_dist dist,
	       enum philox_dtype dtype);

/*
 * layout_span_end() returns the element behind the last one of a fill's span,
 * 2^64 - 1 at most.
 */
uint64_t layout_span_end(const struct philox_fill *fill);

#endif
