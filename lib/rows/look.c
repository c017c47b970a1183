/*
 * lib/rows/look.c - queries of a table of rows
 */
#include <inttypes.h>
#include "lib/rows/memory.h"
#include "lib/rows/rows.h"

uint32_t philox_rows_count(const struct philox_rows *rows)
{
	return rows ? (uint32_t)rows->table.count : 0;
}

const char *philox_rows_name(const struct philox_rows *rows)
{
	return rows ? rows->name : "";
}

enum philox_status philox_rows_states(struct philox_rows *rows,
				      struct philox_state **states)
{
	if (!rows)
		return context_null(NULL, "rows");
	if (!states)
		return rows_report(rows, status_set(PHILOX_ERROR_INVALID,
						    "states is NULL"));
	*states = rows->table.states;
	return PHILOX_OK;
}

/* With the context's lock held. */
static void take_notice(struct philox_rows *rows,
			struct philox_rows_report *report)
{
	struct philox_rows_report now = rows_read_notice(rows->notice);

	report->launches = now.launches - rows->seen.launches;
	report->outside = now.outside - rows->seen.outside;
	report->used_up = now.used_up - rows->seen.used_up;
	rows->seen = now;
}

enum philox_status philox_rows_check(struct philox_rows *rows,
				     struct philox_rows_report *report)
{
	struct philox_rows_report found = {0};
	enum philox_status status = PHILOX_OK;

	if (!rows)
		return context_null(NULL, "rows");
	context_lock(rows->context);
	take_notice(rows, &found);
	context_unlock(rows->context);
	if (report)
		*report = found;
	if (found.launches)
		status = status_set(
			PHILOX_ERROR_OVERFLOW,
			"entries with an index out of range: %" PRIu64
			", with a row that is used up: %" PRIu64
			", in launches: %" PRIu64,
			found.outside, found.used_up, found.launches);
	return rows_report(rows, status);
}
