/*
 * lib/rows/check.h - checks of arguments, for draws and samples
 *
 * All return ERROR_INVALID, with a text that names the field, unless they say
 * otherwise.
 */
#ifndef LIB_ROWS_CHECK_H
#define LIB_ROWS_CHECK_H

#include <stdint.h>
#include <philox/rows.h>
#include "lib/base/status.h"

struct rows_list;

/*
 * rows_check_list() checks a list (NULL: all rows) of a table with `count` rows
 * and converts it for kernels. `row` is what a message calls one.
 */
enum philox_status rows_check_list(const char *row, uint64_t count,
				   const struct philox_row_list *list,
				   struct rows_list *out);

/*
 * rows_check_flags() refuses flags that enum philox_rows_flags lacks, and steps
 * in a list of rows that advance.
 */
enum philox_status rows_check_flags(const char *what, uint32_t flags,
				    const struct rows_list *list);

/* rows_check_no_steps() refuses steps where nothing is drawn. */
enum philox_status rows_check_no_steps(const struct rows_list *list);

/*
 * rows_check_extent() gives ERROR_OVERFLOW unless n entries of `count` elements
 * of a dtype, `pitch` elements apart, fit the address space. `what` and `name`
 * are the names of the description and its count.
 */
enum philox_status rows_check_extent(const char *what, uint64_t n,
				     const char *name, uint64_t count,
				     uint64_t pitch, enum philox_dtype dtype);

#endif
