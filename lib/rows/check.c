/*
 * lib/rows/check.c - see lib/rows/check.h
 */
#include <inttypes.h>
#include "lib/base/options.h"
#include "lib/dist/dtypes.h"
#include "lib/rows/check.h"
#include "lib/rows/rows.h"

/* The size of the struct's first version. */
#define LIST_SIZE_FIRST OPTIONS_FIRST(struct philox_row_list, steps)
OPTIONS_NO_PADDING(struct philox_row_list, steps);

static enum philox_status check_entries(const char *row, uint64_t count,
					const struct philox_row_list *list)
{
	enum philox_status status = PHILOX_OK;

	if (list->n > ROWS_COUNT_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "list: n is %" PRIu32 ", above 2^24",
				  list->n);
	if (!list->indices && list->n > count)
		return status_set(PHILOX_ERROR_INVALID,
				  "list: n is %" PRIu32
				  " without indices, there %s %" PRIu64 " %s%s",
				  list->n, status_is(count), count, row,
				  status_s(count));
	if (!list->n)
		return PHILOX_OK;
	if (list->indices)
		status = fill_check_array("list", "indices", list->indices,
					  PHILOX_U32);
	if (status == PHILOX_OK && list->steps)
		status = fill_check_array("list", "steps", list->steps,
					  PHILOX_U32);
	return status;
}

enum philox_status rows_check_list(const char *row, uint64_t count,
				   const struct philox_row_list *list,
				   struct rows_list *out)
{
	enum philox_status status;

	*out = (struct rows_list){.n = count};
	if (!list)
		return PHILOX_OK;
	status = options_check_size("list", list, list->size, LIST_SIZE_FIRST,
				    sizeof(*list));
	if (status != PHILOX_OK)
		return status;
	*out = (struct rows_list){.indices = list->indices,
				  .mask = list->mask,
				  .steps = list->steps,
				  .n = list->n};
	return check_entries(row, count, list);
}

enum philox_status rows_check_flags(const char *what, uint32_t flags,
				    const struct rows_list *list)
{
	if (flags & ~(uint32_t)PHILOX_ROWS_KEEP)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: flags is 0x%" PRIx32 ", not 0 or "
				  "PHILOX_ROWS_KEEP",
				  what, flags);
	if (list->steps && !(flags & PHILOX_ROWS_KEEP))
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: flags is 0 and the list has steps, "
				  "which need PHILOX_ROWS_KEEP: entries of a "
				  "row at several steps have no one advance",
				  what);
	return PHILOX_OK;
}

enum philox_status rows_check_no_steps(const struct rows_list *list)
{
	if (!list->steps)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "list: steps is not NULL, and an advance draws "
			  "nothing");
}

enum philox_status rows_check_extent(const char *what, uint64_t n,
				     const char *name, uint64_t count,
				     uint64_t pitch, enum philox_dtype dtype)
{
	uint64_t most = SIZE_MAX / fill_dtype_size(dtype);

	if (count <= most && (n <= 1 || pitch <= (most - count) / (n - 1)))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "%s: %" PRIu64 " entries of %s %" PRIu64
			  ", pitch %" PRIu64
			  ", of dtype %s are past 2^64 bytes",
			  what, n, name, count, pitch, fill_dtype_name(dtype));
}
