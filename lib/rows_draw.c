/*
 * lib/rows_draw.c - draws from a table, checked and put on a stream
 */
#include <inttypes.h>
#include "options.h"
#include "rows.h"

/* The size of the struct's first version. */
#define FILL_SIZE_FIRST \
	(offsetof(struct philox_rows_fill, flags) + sizeof(uint32_t))

/* What a table offers. */
static const struct kind {
	enum philox_dist dist;
	enum philox_dtype dtype;
	enum kernel kernel;
	size_t size;        /* of an element */
	uint64_t per_block; /* elements of a Philox block */
} kinds[] = {
	{PHILOX_BITS, PHILOX_U32, KERNEL_rows_bits_u32, 4, 4},
	{PHILOX_BITS, PHILOX_U64, KERNEL_rows_bits_u64, 8, 2},
	{PHILOX_UNIFORM, PHILOX_F32, KERNEL_rows_uniform_f32, 4, 4},
	{PHILOX_UNIFORM, PHILOX_F64, KERNEL_rows_uniform_f64, 8, 2},
	{PHILOX_NORMAL, PHILOX_F32, KERNEL_rows_normal_f32, 4, 4},
};

/* --- checks --------------------------------------------------------------- */

enum philox_status rows_check_list(const struct philox_rows *rows,
				   const struct philox_row_list *list,
				   struct rows_list *out)
{
	uint64_t n = list && list->n ? list->n : rows->table.count;

	*out = (struct rows_list){.n = n};
	if (!list)
		return PHILOX_OK;
	out->indices = list->indices;
	out->mask = list->mask;
	if ((uintptr_t)list->indices % sizeof(*list->indices))
		return rows_check_array("list.indices", list->indices,
					sizeof(*list->indices));
	if (n > ROWS_COUNT_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "list.n %" PRIu64 " is above 2^24", n);
	if (!list->indices && n > rows->table.count)
		return status_set(PHILOX_ERROR_INVALID,
				  "list.n is %" PRIu64 ", there are %" PRIu64
				  " rows",
				  n, rows->table.count);
	return PHILOX_OK;
}

enum philox_status rows_check_flags(uint32_t flags)
{
	if (!(flags & ~(uint32_t)PHILOX_ROWS_KEEP))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID, "unknown flags 0x%x", flags);
}

enum philox_status rows_check_array(const char *name, const void *array,
				    size_t size)
{
	if (array && (uintptr_t)array % size == 0)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "%s (%p) is NULL or not aligned to %zu bytes", name,
			  array, size);
}

enum philox_status rows_check_extent(uint64_t n, uint64_t count, uint64_t pitch,
				     size_t size)
{
	uint64_t most = SIZE_MAX / size;

	if (count > most || (n > 1 && pitch > (most - count) / (n - 1)))
		return status_set(PHILOX_ERROR_OVERFLOW,
				  "%" PRIu64 " entries of %" PRIu64
				  " elements, pitch %" PRIu64
				  ", are past 2^64 bytes",
				  n, count, pitch);
	return PHILOX_OK;
}

static const struct kind *find_kind(const struct philox_rows_fill *fill)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].dist == fill->dist &&
		    kinds[i].dtype == fill->dtype)
			return &kinds[i];
	status_set(PHILOX_ERROR_INVALID,
		   "there is no draw of dist %d as dtype %d", (int)fill->dist,
		   (int)fill->dtype);
	return NULL;
}

static enum philox_status check_values(const struct philox_rows_fill *fill,
				       const struct rows_list *list,
				       const struct kind *kind)
{
	enum philox_status status;

	if (fill->count && fill->first + (fill->count - 1) < fill->first)
		return status_set(PHILOX_ERROR_OVERFLOW,
				  "first %" PRIu64 " + count %" PRIu64
				  " is past 2^64",
				  fill->first, fill->count);
	if (fill->pitch < fill->count && list->n > 1)
		return status_set(PHILOX_ERROR_INVALID,
				  "pitch %" PRIu64 " is below count %" PRIu64,
				  fill->pitch, fill->count);
	status = rows_check_extent(list->n, fill->count, fill->pitch,
				   kind->size);
	if (status == PHILOX_OK && fill->count)
		status = rows_check_array("out", fill->out, kind->size);
	if (status == PHILOX_OK && fill->counts)
		status = rows_check_array("counts", fill->counts,
					  sizeof(*fill->counts));
	return status;
}

/* --- draws ---------------------------------------------------------------- */

static uint64_t blocks_of(const struct philox_rows_fill *fill,
			  const struct kind *kind)
{
	return fill->count ? (fill->count - 1) / kind->per_block + 2 : 1;
}

static enum philox_status put(struct philox_rows *rows, philox_stream stream,
			      enum kernel kernel,
			      const struct rows_draw_args *args, uint64_t units)
{
	struct kernel_call call = {.kernel = kernel,
				   .args = args,
				   .size = sizeof(*args),
				   .work = units};

	return rows_launch_on(rows, stream, &call);
}

static enum philox_status draw(struct philox_rows *rows, philox_stream stream,
			       const struct philox_row_list *list,
			       const struct philox_rows_fill *fill)
{
	struct rows_draw_args args = {.table = rows->table,
				      .first = fill->first,
				      .count = fill->count,
				      .pitch = fill->pitch,
				      .counts = fill->counts,
				      .out = fill->out};
	const struct kind *kind = find_kind(fill);
	enum philox_status status;

	if (!kind)
		return PHILOX_ERROR_INVALID;
	args.words = fill->flags & PHILOX_ROWS_KEEP ? 0 : 4;
	status = rows_check_flags(fill->flags);
	if (status == PHILOX_OK)
		status = rows_check_list(rows, list, &args.list);
	if (status == PHILOX_OK)
		status = check_values(fill, &args.list, kind);
	if (status != PHILOX_OK)
		return status;
	return put(rows, stream, kind->kernel, &args,
		   args.list.n * blocks_of(fill, kind));
}

enum philox_status philox_rows_fill(struct philox_rows *rows,
				    philox_stream stream,
				    const struct philox_row_list *list,
				    const struct philox_rows_fill *fill)
{
	enum philox_status status;

	if (!rows)
		return rows_null();
	if (!fill)
		status = status_set(PHILOX_ERROR_INVALID, "fill is NULL");
	else
		status = options_check_size("fill", fill, fill->size,
					    FILL_SIZE_FIRST, sizeof(*fill));
	if (status == PHILOX_OK)
		status = draw(rows, stream, list, fill);
	return rows_report(rows, status);
}

enum philox_status philox_rows_advance(struct philox_rows *rows,
				       philox_stream stream,
				       const struct philox_row_list *list,
				       uint64_t words)
{
	struct rows_draw_args args = {.words = words};
	enum philox_status status;

	if (!rows)
		return rows_null();
	args.table = rows->table;
	status = rows_check_list(rows, list, &args.list);
	if (status == PHILOX_OK && words % 4)
		status = status_set(PHILOX_ERROR_INVALID,
				    "%" PRIu64 " words is no multiple of 4",
				    words);
	if (status == PHILOX_OK)
		status = put(rows, stream, KERNEL_rows_advance, &args,
			     args.list.n);
	return rows_report(rows, status);
}
