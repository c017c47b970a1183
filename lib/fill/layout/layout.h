/*
 * lib/fill/layout/layout.h - fills in the layouts of other libraries
 */
#ifndef LIB_FILL_LAYOUT_LAYOUT_H
#define LIB_FILL_LAYOUT_LAYOUT_H

#include <philox/layout.h>
#include "lib/base/status.h"
#include "lib/device/kernels.h"

/* layout_is_other() says whether a fill is for the functions below. */
static inline int layout_is_other(const struct philox_fill *fill)
{
	return fill->layout && fill->layout->kind != PHILOX_LAYOUT_DEFAULT;
}

/* layout_kernel() returns the kernel of a dtype in these layouts. */
enum kernel layout_kernel(enum philox_dtype dtype);

/*
 * layout_args() makes the kernel's arguments of a fill with a checked layout;
 * `args->fill` is what fill_args() made of it.
 */
void layout_args(const struct philox_fill *fill, struct layout_args *args);

/*
 * layout_advance() finds by how many words an op with a checked layout
 * advances. PHILOX_ERROR_OVERFLOW: by more than there are.
 */
enum philox_status layout_advance(const struct philox_fill *fill,
				  uint64_t *words);

#endif
