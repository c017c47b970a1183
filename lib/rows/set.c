/*
 * lib/rows/set.c - setting rows, reading them, and restarting them
 *
 * States to be set are passed as kernel parameters: they are copied by the
 * call, follow the stream's order, and are legal to record.
 */
#include <inttypes.h>
#include "lib/rows/rows.h"

/* --- batches -------------------------------------------------------------- */

struct batch {
	const uint32_t *indices; /* or NULL */
	const struct philox_state *states;
	size_t n;
};

static uint32_t row_of(const struct batch *batch, size_t i)
{
	return batch->indices ? batch->indices[i] : (uint32_t)i;
}

static enum philox_status check_entry(const struct philox_rows *rows,
				      const struct batch *batch, size_t i)
{
	uint64_t offset = batch->states[i].offset;
	uint32_t row = row_of(batch, i);

	if (row >= rows->table.count)
		return status_set(PHILOX_ERROR_INVALID,
				  "indices[%zu] is %" PRIu32
				  ", not below count %" PRIu64,
				  i, row, rows->table.count);
	if (offset % 4)
		return status_set(PHILOX_ERROR_INVALID,
				  "states[%zu].offset is %" PRIu64
				  ", not a multiple of 4 (row %" PRIu32 ")",
				  i, offset, row);
	return PHILOX_OK;
}

/* Marks the rows of a batch up to the first that is marked already: *marked. */
static enum philox_status mark_rows(struct philox_rows *rows,
				    const struct batch *batch, size_t *marked)
{
	for (size_t i = 0; i < batch->n; i++) {
		uint32_t row = row_of(batch, i);
		unsigned char bit = (unsigned char)(1u << row % 8);

		*marked = i;
		if (rows->marks[row / 8] & bit)
			return status_set(PHILOX_ERROR_INVALID,
					  "indices[%zu] is %" PRIu32
					  ", a row that is in the batch "
					  "already",
					  i, row);
		rows->marks[row / 8] |= bit;
	}
	*marked = batch->n;
	return PHILOX_OK;
}

/* Clears only the marks of the batch: the table may be large. */
static enum philox_status check_distinct(struct philox_rows *rows,
					 const struct batch *batch)
{
	enum philox_status status;
	size_t marked = 0;

	context_lock(rows->context);
	status = mark_rows(rows, batch, &marked);
	for (size_t i = 0; i < marked; i++)
		rows->marks[row_of(batch, i) / 8] = 0;
	context_unlock(rows->context);
	return status;
}

static enum philox_status check_batch(struct philox_rows *rows,
				      const struct batch *batch)
{
	enum philox_status status = PHILOX_OK;

	if (!batch->states || !batch->n)
		return status_set(PHILOX_ERROR_INVALID, "%s",
				  batch->n ? "states is NULL" : "n_rows is 0");
	if (batch->n > rows->table.count)
		return status_set(PHILOX_ERROR_INVALID,
				  "n_rows is %zu, above count %" PRIu64,
				  batch->n, rows->table.count);
	for (size_t i = 0; status == PHILOX_OK && i < batch->n; i++)
		status = check_entry(rows, batch, i);
	if (status == PHILOX_OK && batch->indices)
		status = check_distinct(rows, batch);
	return status;
}

/* --- setting -------------------------------------------------------------- */

static enum philox_status set_some(struct philox_rows *rows,
				   philox_stream stream,
				   const struct batch *batch, size_t first)
{
	struct rows_set_args args = {.states = rows->table.states};
	struct kernel_call call = {
		.kernel = KERNEL_rows_set, .args = &args, .size = sizeof(args)};

	for (size_t i = first; i < batch->n && args.n < ROWS_SET_MAX; i++) {
		args.row[args.n] = row_of(batch, i);
		args.seed[args.n] = batch->states[i].seed;
		args.offset[args.n++] = batch->states[i].offset;
	}
	call.work = args.n;
	return rows_launch_on(rows, stream, &call);
}

enum philox_status philox_rows_set(struct philox_rows *rows,
				   philox_stream stream,
				   const uint32_t *indices,
				   const struct philox_state *states,
				   size_t n_rows)
{
	struct batch batch = {indices, states, n_rows};
	enum philox_status status;

	if (!rows)
		return context_null(NULL, "rows");
	NEED_PROCESS(rows->context);
	status = check_batch(rows, &batch);
	for (size_t i = 0; status == PHILOX_OK && i < n_rows; i += ROWS_SET_MAX)
		status = set_some(rows, stream, &batch, i);
	return rows_report(rows, status);
}

/* --- reading -------------------------------------------------------------- */

static enum philox_status check_range(const struct philox_rows *rows,
				      uint32_t first, uint32_t n,
				      const struct philox_state *states)
{
	if (!states)
		return status_set(PHILOX_ERROR_INVALID, "states is NULL");
	if (!n)
		return status_set(PHILOX_ERROR_INVALID, "n_rows is 0");
	if (first >= rows->table.count || n > rows->table.count - first)
		return status_set(PHILOX_ERROR_INVALID,
				  "first %" PRIu32 " + n_rows %" PRIu32
				  " is past its %" PRIu64 " row%s",
				  first, n, rows->table.count,
				  status_s(rows->table.count));
	return PHILOX_OK;
}

static enum philox_status check_target(const struct philox_rows *rows,
				       const struct philox_state *states,
				       uint32_t n)
{
	struct rows_arrays arrays = {.count = 0};

	rows_arrays_written(&arrays, "states", states, n, sizeof(*states));
	rows_arrays_add_table(&arrays, &rows->table);
	return rows_arrays_check(&arrays);
}

enum philox_status philox_rows_get(struct philox_rows *rows,
				   philox_stream stream, uint32_t first,
				   uint32_t n_rows, struct philox_state *states)
{
	enum philox_status status;

	if (!rows)
		return context_null(NULL, "rows");
	status = check_range(rows, first, n_rows, states);
	if (status == PHILOX_OK)
		status = check_target(rows, states, n_rows);
	if (status == PHILOX_OK)
		status = rows_launch_on(rows, stream, NULL);
	if (status == PHILOX_OK)
		status = philox_memory_copy(rows->context->device, stream,
					    states, rows->table.states + first,
					    n_rows * sizeof(*states));
	return rows_report(rows, status);
}

/* --- restarting ----------------------------------------------------------- */

enum philox_status philox_rows_restart(struct philox_rows *rows,
				       philox_stream stream)
{
	struct rows_seed_args args;
	struct kernel_call call;

	if (!rows)
		return context_null(NULL, "rows");
	NEED_PROCESS(rows->context);
	context_lock(rows->context);
	call = rows_seeding(rows, &args);
	context_unlock(rows->context);
	return rows_report(rows, rows_launch_on(rows, stream, &call));
}
