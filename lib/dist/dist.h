/*
 * lib/dist/dist.h - distributions and dtypes by number: names, parameters,
 * sizes
 */
#ifndef LIB_DIST_DIST_H
#define LIB_DIST_DIST_H

#include <philox/fill.h>
#include "lib/base/base.h"
#include "lib/device/kernels.h"

/* --- dists.c: dtypes: their names, sizes and numbers ---------------------- */

/*
 * Errors of fills, draws from rows and samples use the same terms. `what` is
 * the description at the start of a message: "fill", "sample".
 */

/* fill_dtype_name() returns the name of a dtype, NULL if it is unknown. */
const char *fill_dtype_name(enum philox_dtype dtype);

/* fill_dtype_size() returns the size of an element of a known dtype. */
size_t fill_dtype_size(enum philox_dtype dtype);

/* fill_check_dtype() refuses a dtype that has no name. */
enum philox_status fill_check_dtype(const char *what, enum philox_dtype dtype);

/* fill_check_array() refuses NULL, and an array not aligned to a dtype. */
enum philox_status fill_check_array(const char *what, const char *name,
				    const void *array, enum philox_dtype dtype);

/* fill_largest() returns the largest finite number of a real dtype. */
double fill_largest(enum philox_dtype dtype);

/* --- dists: distributions: their names, forms and parameters -------------- */

/* How a distribution is drawn in one dtype. */
struct fill_form {
	enum philox_dtype dtype; /* u32 and u64 for signed ones, too */
	enum philox_dtype in;    /* of the input, if there is one */
	enum kernel kernel;
	unsigned traits; /* FILL_READS: there is an input */
};

/* fill_dists() returns a number above those of all dists. */
unsigned fill_dists(void);

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
enum philox_status fill_check_parameters(const struct philox_fill_desc *fill);
void fill_set_parameters(const struct philox_fill_desc *fill,
			 struct fill_args *args);

/*
 * fill_check_last() refuses a span whose last element the distribution lacks;
 * the parameters have been checked.
 */
enum philox_status fill_check_last(const struct philox_fill_desc *fill,
				   uint64_t last);

#endif
