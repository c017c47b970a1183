/*
 * lib/sample/changes.h - biases and penalties of a sample, checked and converted
 */
#ifndef LIB_SAMPLE_CHANGES_H
#define LIB_SAMPLE_CHANGES_H

#include <philox/penalties.h>
#include "lib/rows/rows.h"

/*
 * changes_check() checks those of a sample of n entries from a table, or states,
 * of `rows`; ERROR_INVALID or ERROR_OVERFLOW with a text that names the field.
 */
enum philox_status changes_check(const struct philox_sample_desc *sample,
				 uint64_t n, uint64_t rows);

/* changes_set() converts those that are checked; nothing is noted. */
void changes_set(struct sample_change *change,
		 const struct philox_sample_desc *sample);

/* changes_add_arrays() adds the arrays of n entries of `rows`. */
void changes_add_arrays(struct rows_arrays *arrays,
			const struct sample_change *change, uint64_t n,
			uint64_t rows);

#endif
