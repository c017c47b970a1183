/*
 * lib/rows/look.c - queries of a table of rows
 */
#include <inttypes.h>
#include "lib/base/options.h"
#include "lib/rows/memory.h"
#include "lib/rows/rows.h"
#include "lib/state/trial.h"

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
	struct trial *trial = rows ? trial_here(rows->context) : NULL;
	enum philox_status status = PHILOX_OK;

	if (!rows)
		return context_null(NULL, "rows");
	if (!states)
		return rows_report(rows, status_set(PHILOX_ERROR_INVALID,
						    "states is NULL"));
	if (trial) /* the caller's kernels may write them */
		status = trial->touch(trial, rows, trial->stream);
	if (status == PHILOX_OK)
		*states = rows->table.states;
	return status == PHILOX_OK ? status : rows_report(rows, status);
}

/* The size of the struct's first version. */
#define REPORT_SIZE_FIRST OPTIONS_FIRST(struct philox_rows_report, used_up)
OPTIONS_NO_PADDING(struct philox_rows_report, used_up);

static enum philox_status check_report(const struct philox_rows_report *report)
{
	if (!report)
		return PHILOX_OK;
	return options_check_room("report", report->size, REPORT_SIZE_FIRST,
				  sizeof(*report));
}

/* With the context's lock held. */
static void take_notice(struct philox_rows *rows, struct rows_seen *report)
{
	struct rows_seen now = rows_read_notice(rows->notice);

	report->launches = now.launches - rows->seen.launches;
	report->outside = now.outside - rows->seen.outside;
	report->used_up = now.used_up - rows->seen.used_up;
	rows->seen = now;
}

static void fill_report(struct philox_rows_report *report,
			const struct rows_seen *found)
{
	const struct philox_rows_report full = {.size = report->size,
						.launches = found->launches,
						.outside = found->outside,
						.used_up = found->used_up};

	options_write(report, &full, sizeof(full));
}

static enum philox_status check_launches(struct philox_rows *rows,
					 struct philox_rows_report *report)
{
	struct rows_seen found;

	context_lock(rows->context);
	take_notice(rows, &found);
	context_unlock(rows->context);
	if (report)
		fill_report(report, &found);
	if (!found.launches)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "entries with an index out of range: %" PRIu64
			  ", with a row that is used up: %" PRIu64
			  ", in launches: %" PRIu64,
			  found.outside, found.used_up, found.launches);
}

enum philox_status philox_rows_check(struct philox_rows *rows,
				     struct philox_rows_report *report)
{
	enum philox_status status;

	if (!rows)
		return context_null(NULL, "rows");
	NEED_PROCESS(rows->context);
	status = check_report(report);
	if (status == PHILOX_OK)
		status = check_launches(rows, report);
	return rows_report(rows, status);
}
