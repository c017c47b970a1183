/*
 * lib/save/rows.c - tables of rows in saved contexts: see Note [Saved context]
 *
 * Rows live on the device. Saving copies them to the host; loading copies them
 * back, which is the only part of a load that a device can refuse: so it is
 * done last, and the old states are kept so that they can be restored.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/rows/memory.h"
#include "lib/rows/rows.h"
#include "lib/save/lists.h"
#include "lib/save/load.h"
#include "lib/save/part.h"
#include "lib/save/rows.h"
#include "lib/save/saved.h"

static enum philox_status no_memory(const struct philox_rows *rows)
{
	return status_set(PHILOX_ERROR_MEMORY,
			  "rows '%s': no memory for %" PRIu64 " states",
			  rows->name, rows->table.count);
}

static enum philox_status read_rows(const struct philox_rows *rows,
				    struct philox_state **states)
{
	struct philox_state *read = calloc(rows->table.count, sizeof(*read));
	enum philox_status status;

	if (!read)
		return no_memory(rows);
	status = rows_read(rows, read);
	if (status != PHILOX_OK) {
		free(read);
		return status_prefix(status, "rows '%s': ", rows->name);
	}
	*states = read;
	return PHILOX_OK;
}

/* --- saving --------------------------------------------------------------- */

static enum philox_status check_states(const struct philox_rows *rows,
				       const struct philox_state *states)
{
	for (uint64_t row = 0; row < rows->table.count; row++)
		if (states[row].offset % 4)
			return status_set(PHILOX_ERROR_STATE,
					  "rows '%s': row %" PRIu64
					  " has offset %" PRIu64
					  ", not a multiple of 4",
					  rows->name, row, states[row].offset);
	return PHILOX_OK;
}

/* NULL: without its states. */
static enum philox_status collect_table(struct saved *saved,
					const struct save_lists *lists,
					const struct philox_rows *rows,
					const struct philox_state *states)
{
	const struct saved_table table = {
		.name = rows->name,
		.generator = save_lists_number(lists, rows->generator),
		.count = rows->table.count};

	return saved_add_table(saved, &table, states);
}

static enum philox_status collect_whole_table(struct saved *saved,
					      const struct save_lists *lists,
					      const struct philox_rows *rows)
{
	struct philox_state *states;
	enum philox_status status = read_rows(rows, &states);

	if (status != PHILOX_OK)
		return status;
	status = check_states(rows, states);
	if (status == PHILOX_OK)
		status = collect_table(saved, lists, rows, states);
	free(states);
	return status;
}

enum philox_status save_collect_rows(struct saved *saved,
				     const struct save_lists *lists)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < lists->n_rows; i++)
		status = collect_whole_table(saved, lists, lists->rows[i]);
	return status;
}

enum philox_status save_collect_tables(struct saved *saved,
				       const struct save_lists *lists,
				       const struct save_part *part)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < lists->n_rows; i++) {
		const struct philox_rows *rows = lists->rows[i];

		if (save_part_has(part, save_item_key(SAVE_TABLE, rows->key)))
			status = collect_table(saved, lists, rows, NULL);
	}
	return status;
}

/* --- comparing ------------------------------------------------------------ */

static enum philox_status compare_table(const struct save_lists *lists,
					const struct saved_table *saved,
					const struct philox_rows *rows)
{
	uint32_t generator = save_lists_number(lists, rows->generator);

	if (saved->generator != generator)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "rows '%s': generator is %" PRIu32
				  " in the text, %" PRIu32 " in the context",
				  rows->name, saved->generator, generator);
	if (saved->count != rows->table.count)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "rows '%s': count is %" PRIu64
				  " in the text, %" PRIu64 " in the context",
				  rows->name, saved->count, rows->table.count);
	return PHILOX_OK;
}

/* Both are in order of name. */
enum philox_status save_compare_rows(const struct save_plan *plan)
{
	const struct saved *saved = plan->saved;
	const struct save_lists *lists = &plan->lists;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0;
	     status == PHILOX_OK && (i < saved->n_tables || i < lists->n_rows);
	     i++) {
		int order = i == saved->n_tables ? 1
			    : i == lists->n_rows ? -1
						 : strcmp(saved->tables[i].name,
							  lists->rows[i]->name);

		if (order)
			return status_set(PHILOX_ERROR_MISMATCH,
					  "rows '%s' of the %s are not in the "
					  "%s",
					  order < 0 ? saved->tables[i].name
						    : lists->rows[i]->name,
					  order < 0 ? "text" : "context",
					  order < 0 ? "context" : "text");
		status =
			compare_table(lists, &saved->tables[i], lists->rows[i]);
	}
	return status;
}

/* --- loading -------------------------------------------------------------- */

static enum philox_status load_table(const struct save_plan *plan, size_t i)
{
	const struct philox_rows *rows = plan->lists.rows[i];
	const struct philox_state *states =
		&plan->saved->rows[plan->saved->tables[i].row];
	enum philox_status status = rows_write(rows, states);

	if (status != PHILOX_OK)
		status_prefix(status, "rows '%s': ", rows->name);
	return status;
}

/* The first error is reported, whether or not restoring succeeds. */
static void put_back(const struct save_plan *plan, struct philox_state **before,
		     size_t n)
{
	struct status_message kept;

	status_keep(&kept);
	for (size_t i = 0; i < n; i++)
		rows_write(plan->lists.rows[i], before[i]);
	status_restore(&kept);
}

static enum philox_status load_tables(const struct save_plan *plan,
				      struct philox_state **before)
{
	const size_t n = plan->lists.n_rows;
	enum philox_status status = PHILOX_OK;
	size_t i;

	for (i = 0; status == PHILOX_OK && i < n; i++)
		status = read_rows(plan->lists.rows[i], &before[i]);
	for (i = 0; status == PHILOX_OK && i < n; i++) {
		status = load_table(plan, i);
		if (status != PHILOX_OK)
			put_back(plan, before, i + 1);
	}
	return status;
}

enum philox_status save_load_rows(const struct save_plan *plan)
{
	struct philox_state **before;
	enum philox_status status;

	if (!plan->lists.n_rows)
		return PHILOX_OK;
	before = calloc(plan->lists.n_rows, sizeof(*before));
	if (!before)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to load %zu tables of rows",
				  plan->lists.n_rows);
	status = load_tables(plan, before);
	for (size_t i = 0; i < plan->lists.n_rows; i++)
		free(before[i]);
	free(before);
	return status;
}
