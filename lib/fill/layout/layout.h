/*
 * lib/fill/layout/layout.h - fills in the layouts of other libraries
 */
#ifndef LIB_FILL_LAYOUT_LAYOUT_H
#define LIB_FILL_LAYOUT_LAYOUT_H

#include <philox/layout.h>
#include "lib/fill/layout/args.h"
#include "lib/base/status.h"

/* layout_is_other() says whether a fill is for the functions below. */
static inline int layout_is_other(const struct philox_fill *fill)
{
	return fill->layout && fill->layout->kind != PHILOX_LAYOUT_DEFAULT;
}

/*
 * layout_check() finds what is wrong with a fill's layout, or does not go with
 * it; the rest of the fill is sound. Without a layout it is PHILOX_OK. Errors:
 * PHILOX_ERROR_INVALID names the field, PHILOX_ERROR_UNSUPPORTED what the
 * original does not have.
 */
enum philox_status layout_check(const struct philox_fill *fill);

/* layout_kernel() returns the kernel of a dtype in these layouts. */
enum kernel layout_kernel(enum philox_dtype dtype);

/*
 * layout_args() makes the kernel's arguments of a fill with a layout that was
 * checked; `args->fill` is what fill_args() made of it.
 */
void layout_args(const struct philox_fill *fill, struct layout_args *args);

/* layout_host_run() does such a fill on the host. */
void layout_host_run(enum kernel kernel, const struct layout_args *args);

#endif
