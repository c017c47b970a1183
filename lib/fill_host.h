/*
 * lib/fill_host.h - a fill on the host device
 *
 * A span is cut into parts for the threads, its rows into chunks for the vector
 * loops (lib/simd.h). A chunk of which only a part lies in the row is made in a
 * buffer aside.
 */
#ifndef FILL_HOST_H
#define FILL_HOST_H

#include "kernels.h"

/* fill_host_run() does a fill, on the calling thread and on helpers. */
void fill_host_run(enum kernel kernel, const struct fill_args *args);

/*
 * fill_host_plain() does it without vectors and threads: the reference that
 * everything else is compared with.
 */
void fill_host_plain(enum kernel kernel, const struct fill_args *args);

#endif
