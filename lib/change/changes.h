/*
 * lib/change/changes.h - biases and penalties of a sample, and histories, checked
 * and converted
 */
#ifndef LIB_CHANGE_CHANGES_H
#define LIB_CHANGE_CHANGES_H

#include <philox/penalties.h>
#include "lib/rows/rows.h"

/* --- histories: which tokens rows have had --------------------------------- */

/*
 * history_check() checks a history by itself, its arrays only if there are
 * entries: ERROR_INVALID or ERROR_OVERFLOW, with a text that names the field.
 */
enum philox_status history_check(const struct philox_history *history,
				 uint64_t entries);

/* history_set() converts one that is checked. */
void history_set(struct sample_history *to,
		 const struct philox_history *history);

/* history_add_arrays() adds the arrays of the first `rows` of one, if it is. */
void history_add_arrays(struct rows_arrays *arrays,
			const struct sample_history *history, uint64_t rows,
			int written);

/* --- changes: biases and penalties of a sample ----------------------------- */

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
