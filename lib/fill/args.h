/*
 * lib/fill/args.h - what a fill's description becomes for its kernel
 */
#ifndef LIB_FILL_ARGS_H
#define LIB_FILL_ARGS_H

#include <philox/fill.h>
#include "lib/device/kernels.h"

/*
 * fill_args() makes the kernel's arguments of a fill that was checked; its
 * threads are 1.
 */
void fill_args(const struct philox_fill *fill, struct philox_rng rng,
	       struct fill_args *args);

#endif
