/*
 * lib/dist/dists.h - distributions: their names, forms and parameters
 */
#ifndef LIB_DIST_DISTS_H
#define LIB_DIST_DISTS_H

#include <philox/fill.h>
#include "lib/base/status.h"
#include "lib/device/kernels.h"

/* How a distribution is drawn in one dtype. */
struct fill_form {
	enum philox_dtype dtype; /* u32 and u64 for signed ones, too */
	enum philox_dtype in;    /* of the input, if there is one */
	enum kernel kernel;
	unsigned traits; /* FILL_READS: there is an input */
};

/* fill_dist_name() returns the name of a dist, NULL if it is unknown. */
const char *fill_dist_name(enum philox_dist dist);

/* fill_check_dist() refuses a dist that has no name; `what` begins messages. */
enum philox_status fill_check_dist(const char *what, enum philox_dist dist);

/* fill_form() returns the form of a known dist, NULL if it lacks the dtype. */
const struct fill_form *fill_form(enum philox_dist dist,
				  enum philox_dtype dtype);

/*
 * fill_check_parameters() refuses parameters that a fill's dist and dtype,
 * which are known, do not allow; fill_set_parameters() turns valid ones into
 * the kernel's arguments.
 */
enum philox_status fill_check_parameters(const struct philox_fill *fill);
void fill_set_parameters(const struct philox_fill *fill,
			 struct fill_args *args);

#endif
