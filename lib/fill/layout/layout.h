/*
 * lib/fill/layout/layout.h - layouts of other libraries: where they draw which
 * element
 */
#ifndef LIB_FILL_LAYOUT_LAYOUT_H
#define LIB_FILL_LAYOUT_LAYOUT_H

#include <philox/fill.h>
#include "lib/base/base.h"
#include "lib/device/kernels.h"

/* --- layout: fills in the layouts of other libraries ---------------------- */

/* layout_is_other() says whether a fill is for the functions below. */
static inline int layout_is_other(const struct philox_fill_desc *fill)
{
	return fill->layout && fill->layout->kind != PHILOX_LAYOUT_DEFAULT;
}

/* layout_kernel() returns the kernel of a dtype in these layouts. */
enum kernel layout_kernel(enum philox_dtype dtype);

/*
 * layout_args() makes the kernel's arguments of a fill with a checked layout;
 * `args->fill` is what fill_args() made of it.
 */
void layout_args(const struct philox_fill_desc *fill, struct layout_args *args);

/*
 * layout_advance() finds by how many words an op with a checked layout
 * advances. PHILOX_ERROR_OVERFLOW: by more than there are.
 */
enum philox_status layout_advance(const struct philox_fill_desc *fill,
				  uint64_t *words);

/* --- host.c: the kernels as loops ----------------------------------------- */

#define LAYOUT_RUN(type) void run_layout_##type(const void *args);
LAYOUT_LIST(LAYOUT_RUN)
#undef LAYOUT_RUN

/* layout_host_run() runs that of a dtype. */
void layout_host_run(enum philox_dtype dtype, const struct layout_args *args);

/* --- layout.c: whether a fill's layout allows the fill -------------------- */

/*
 * layout_check() checks a fill's layout, and whether the fill fits it; the rest
 * of the fill is valid. Without a layout it returns PHILOX_OK. Errors:
 * PHILOX_ERROR_INVALID names the field, PHILOX_ERROR_UNSUPPORTED what the
 * original lacks.
 */
enum philox_status layout_check(const struct philox_fill_desc *fill);

/*
 * layout_has() says whether a layout other than the default has a dist of a
 * dtype.
 */
int layout_has(enum philox_layout_kind kind, enum philox_dist dist,
	       enum philox_dtype dtype);

#endif
