/*
 * lib/sample/history.h - which tokens rows have had
 */
#ifndef LIB_SAMPLE_HISTORY_H
#define LIB_SAMPLE_HISTORY_H

#include <philox/penalties.h>
#include "lib/rows/rows.h"

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

#endif
