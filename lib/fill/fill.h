/*
 * lib/fill/fill.h - fills: checked, turned into a kernel call, put on a stream
 */
#ifndef LIB_FILL_FILL_H
#define LIB_FILL_FILL_H

#include "lib/fill/check.h"
#include "lib/device/contract.h"

/*
 * A fill as a kernel call, which points into the struct: it must not move.
 * Without a layout only the fill's arguments are used.
 */
struct fill_launch {
	struct fill_taken taken;
	struct kernel_call call;
	struct kernel_arrays arrays;
	struct layout_args args;
};

/*
 * fill_args() makes the kernel's arguments of a checked fill; its threads are
 * 1.
 */
void fill_args(const struct philox_fill *fill, struct philox_rng rng,
	       struct fill_args *args);

/*
 * fill_prepare() takes a caller's fill, checks it and makes a kernel call of
 * it, whatever the rounding mode of the caller's thread; errors are those of
 * philox_rng_fill().
 */
enum philox_status fill_prepare(const struct philox_device *device,
				struct philox_rng rng,
				const struct philox_fill *fill,
				struct fill_launch *launch);

/* fill_put() puts a prepared fill on a stream. */
enum philox_status fill_put(struct philox_device *device, philox_stream stream,
			    const struct fill_launch *launch);

#endif
