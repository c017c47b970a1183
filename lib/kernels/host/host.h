/*
 * lib/kernels/host/host.h - the library's kernels as functions
 */
#ifndef LIB_KERNELS_HOST_HOST_H
#define LIB_KERNELS_HOST_HOST_H

#include "lib/device/kernels.h"

/* --- host: the table of them ---------------------------------------------- */

/* By enum kernel: what device_host opens with (lib/device/host/host.h). */
extern void (*const kernels_host[KERNEL_COUNT])(const void *args);

/* --- head: the head's cells ----------------------------------------------- */

/*
 * head_fill_cells() fills the cells of n entries of the map as head_fill_cell()
 * does, with the keys of many at once.
 */
void head_fill_cells(const struct head_args *args,
		     const struct head_cell *entries, uint64_t n, int taken);

#endif
