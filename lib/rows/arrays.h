/*
 * lib/rows/arrays.h - the arrays of one call, and whether they overlap
 *
 * A call collects its arrays, those that are NULL or empty left out, and checks
 * them before it is queued. Addresses are compared, nothing is read: so memory
 * of every device is checked alike.
 */
#ifndef LIB_ROWS_ARRAYS_H
#define LIB_ROWS_ARRAYS_H

#include <stdint.h>
#include "lib/base/status.h"

struct kernel_arrays;
struct rows_list;
struct rows_table;

/*
 * `n` pieces of `size` bytes, `pitch` bytes from one to the next. `name` is
 * what messages call it: a literal, as "fill: out".
 */
struct rows_array {
	const char *name;
	const void *start;
	uint64_t n;
	uint64_t size;
	uint64_t pitch; /* >= size where n > 1 */
	uint64_t room;  /* bytes of the last piece, if that is not its size */
	int written;    /* by the kernel */
	int ours;       /* the library's own memory */
};

/* Enough for any call: a sample from seeds has the most. */
#define ROWS_ARRAYS_MAX 9

struct rows_arrays {
	struct rows_array array[ROWS_ARRAYS_MAX];
	unsigned count;
};

/* rows_arrays_add() adds an array in pieces. */
void rows_arrays_add(struct rows_arrays *arrays, struct rows_array array);

/* These add an array of n elements of `size` bytes. */
void rows_arrays_read(struct rows_arrays *arrays, const char *name,
		      const void *start, uint64_t n, uint64_t size);
void rows_arrays_written(struct rows_arrays *arrays, const char *name,
			 const void *start, uint64_t n, uint64_t size);

/* These add the arrays of a list, and the memory of a table. */
void rows_arrays_add_list(struct rows_arrays *arrays,
			  const struct rows_list *list);
void rows_arrays_add_table(struct rows_arrays *arrays,
			   const struct rows_table *table);

/*
 * rows_arrays_check() gives ERROR_INVALID, with the names of the two, if an
 * array that is written overlaps another.
 */
enum philox_status rows_arrays_check(const struct rows_arrays *arrays);

/* rows_arrays_list() lists those of the caller for a device. */
void rows_arrays_list(const struct rows_arrays *arrays,
		      struct kernel_arrays *list);

#endif
