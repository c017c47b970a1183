/*
 * lib/kernels/host/head.h - the head's cells, on the host
 */
#ifndef LIB_KERNELS_HOST_HEAD_H
#define LIB_KERNELS_HOST_HEAD_H

#include "lib/device/kernels.h"

/*
 * head_fill_cells() fills the cells of n entries of the map as head_fill_cell()
 * does, with the keys of many at once.
 */
void head_fill_cells(const struct head_args *args,
		     const struct head_cell *entries, uint64_t n, int taken);

#endif
