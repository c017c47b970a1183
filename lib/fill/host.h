/*
 * lib/fill/host.h - a fill on the host device
 *
 * An array is cut into parts for the threads, regardless of its rows' bounds,
 * and rows into chunks for the vector loops (lib/fill/simd). A chunk of which
 * only a part lies in the row is made in a separate buffer.
 */
#ifndef LIB_FILL_HOST_H
#define LIB_FILL_HOST_H

#include "lib/device/kernels.h"

/* fill_host_run() does a fill, on the calling thread and on helpers. */
void fill_host_run(enum kernel kernel, const struct fill_args *args);

/*
 * fill_host_plain() does it without vectors and threads: the reference that
 * everything else is compared with.
 */
void fill_host_plain(enum kernel kernel, const struct fill_args *args);

/*
 * fill_host_parts() returns into how many parts a fill is cut, 0 or 1 for none:
 * at most one for each of its threads and each MiB of output.
 */
unsigned fill_host_parts(enum kernel kernel, const struct fill_args *args);

/* Parts begin at multiples of this many elements of the array. */
#define FILL_PART_UNIT 4096

/* Elements [begin, end) of an array, whose rows follow each other. */
struct fill_part {
	uint64_t begin, end;
};

/*
 * fill_host_part() returns part i of n. Parts cover the elements once, in
 * order, and differ by one unit at most; with n units or more none is empty.
 */
struct fill_part fill_host_part(uint64_t elements, unsigned i, unsigned n);

#endif
