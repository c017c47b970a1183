/*
 * lib/rows/check.c - see lib/rows/check.h
 */
#include <inttypes.h>
#include "lib/fill/dtypes.h"
#include "lib/rows/check.h"
#include "lib/rows/rows.h"

enum philox_status rows_check_list(const struct philox_rows *rows,
				   const struct philox_row_list *list,
				   struct rows_list *out)
{
	uint64_t n = list ? list->n : rows->table.count;

	*out = (struct rows_list){.n = n};
	if (!list)
		return PHILOX_OK;
	out->indices = list->indices;
	out->mask = list->mask;
	if (n > ROWS_COUNT_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "list: n is %" PRIu64 ", above 2^24", n);
	if (list->indices)
		return fill_check_array("list", "indices", list->indices,
					PHILOX_U32);
	if (n > rows->table.count)
		return status_set(PHILOX_ERROR_INVALID,
				  "list: n is %" PRIu64
				  " without indices, there are %" PRIu64
				  " rows",
				  n, rows->table.count);
	return PHILOX_OK;
}

enum philox_status rows_check_flags(const char *what, uint32_t flags)
{
	if (!(flags & ~(uint32_t)PHILOX_ROWS_KEEP))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "%s: flags is 0x%" PRIx32 ", not 0 or "
			  "PHILOX_ROWS_KEEP",
			  what, flags);
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
