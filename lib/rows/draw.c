/*
 * lib/rows/draw.c - draws from a table, checked and put on a stream
 */
#include <inttypes.h>
#include "lib/dist/dist.h"
#include "lib/rows/elements.h"
#include "lib/rows/rows.h"

/* The size of the struct's first version. */
#define FILL_SIZE_FIRST OPTIONS_FIRST(struct philox_row_fill_desc, reserved)
OPTIONS_NO_PADDING(struct philox_row_fill_desc, reserved);

/* The draws that a table offers. */
static const struct kind {
	enum philox_dist dist;
	enum philox_dtype dtype;
	enum kernel kernel;
	uint64_t per_block; /* elements of a Philox block */
} kinds[] = {
	{PHILOX_DIST_BITS, PHILOX_DTYPE_U32, KERNEL_rows_bits_u32, 4},
	{PHILOX_DIST_BITS, PHILOX_DTYPE_U64, KERNEL_rows_bits_u64, 2},
	{PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F32, KERNEL_rows_uniform_f32, 4},
	{PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F64, KERNEL_rows_uniform_f64, 2},
	{PHILOX_DIST_NORMAL, PHILOX_DTYPE_F32, KERNEL_rows_normal_f32, 4},
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* --- checks --------------------------------------------------------------- */

/* Of a known dist and dtype: NULL if a table does not offer it. */
static const struct kind *find_kind(const struct philox_row_fill_desc *fill)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (kinds[i].dist == fill->dist &&
		    kinds[i].dtype == fill->dtype)
			return &kinds[i];
	return NULL;
}

static int is_offered(enum philox_dist dist)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (kinds[i].dist == dist)
			return 1;
	return 0;
}

static enum philox_status check_kind(const struct philox_row_fill_desc *fill)
{
	enum philox_status status = fill_check_dist("fill", fill->dist);

	if (status == PHILOX_OK)
		status = fill_check_dtype("fill", fill->dtype);
	if (status != PHILOX_OK || find_kind(fill))
		return status;
	if (!is_offered(fill->dist))
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: dist %s is not offered for rows",
				  fill_dist_name(fill->dist));
	return status_set(
		PHILOX_ERROR_INVALID, "fill: dist %s has no dtype %s for rows",
		fill_dist_name(fill->dist), fill_dtype_name(fill->dtype));
}

static enum philox_status check_values(const struct philox_row_fill_desc *fill,
				       uint64_t n)
{
	if (fill->count && fill->first + (fill->count - 1) < fill->first)
		return status_set(PHILOX_ERROR_OVERFLOW,
				  "fill: first %" PRIu64 " + count %" PRIu64
				  " is past 2^64",
				  fill->first, fill->count);
	if (fill->pitch < fill->count && n > 1)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: pitch is %" PRIu64
				  ", below count %" PRIu64,
				  fill->pitch, fill->count);
	return rows_check_extent("fill", n, "count", fill->count, fill->pitch,
				 fill->dtype);
}

static enum philox_status check_draw_arrays(
	const struct philox_row_fill_desc *fill, uint64_t n)
{
	enum philox_status status = PHILOX_OK;

	if (!n)
		return PHILOX_OK;
	if (fill->count)
		status =
			fill_check_array("fill", "out", fill->out, fill->dtype);
	if (status == PHILOX_OK && fill->counts)
		status = fill_check_array("fill", "counts", fill->counts,
					  PHILOX_DTYPE_U32);
	return status;
}

static enum philox_status check_draw(const struct philox_rows *rows,
				     const struct philox_row_list *list,
				     const struct philox_row_fill_desc *fill,
				     struct rows_list *out)
{
	enum philox_status status = check_kind(fill);

	if (status == PHILOX_OK)
		status = rows_check_list("row", rows->table.count, list, out);
	if (status == PHILOX_OK)
		status = rows_check_flags("fill", fill->flags, out);
	if (status == PHILOX_OK)
		status = options_check_reserved("fill", fill->reserved);
	if (status == PHILOX_OK)
		status = check_values(fill, out->n);
	return status == PHILOX_OK ? check_draw_arrays(fill, out->n) : status;
}

/* --- launches ------------------------------------------------------------- */

/*
 * How far an entry goes that has a count of its own only the device knows: two
 * arrays surely overlap if its first value does, while memory must have room
 * for `count`.
 */
static void add_values(struct rows_arrays *arrays,
		       const struct rows_draw_args *args,
		       enum philox_dtype dtype)
{
	const uint64_t size = fill_dtype_size(dtype);
	const uint64_t count = args->counts && args->count ? 1 : args->count;

	rows_arrays_read(arrays, "fill: counts", args->counts, args->list.n,
			 sizeof(*args->counts));
	rows_arrays_add(arrays, (struct rows_array){.name = "fill: out",
						    .start = args->out,
						    .n = args->list.n,
						    .size = count * size,
						    .pitch = args->pitch * size,
						    .room = args->count * size,
						    .written = 1});
}

/* `arrays` are those of the call but for its list and the table. */
static enum philox_status launch_draw(struct philox_rows *rows,
				      philox_stream stream, enum kernel kernel,
				      const struct rows_draw_args *args,
				      struct rows_arrays *arrays,
				      uint64_t threads)
{
	struct kernel_call call = {.kernel = kernel,
				   .args = args,
				   .size = sizeof(*args),
				   .work = threads};
	struct kernel_arrays of_caller;
	enum philox_status status;

	if (!args->list.n)
		return rows_launch_on(rows, stream, NULL);
	rows_arrays_add_list(arrays, &args->list);
	rows_arrays_add_table(arrays, &args->table);
	rows_arrays_list(arrays, &of_caller);
	call.arrays = &of_caller;
	status = rows_arrays_check(arrays);
	return status == PHILOX_OK ? rows_launch_on(rows, stream, &call)
				   : status;
}

/* --- draws ---------------------------------------------------------------- */

static enum philox_status draw_rows(struct philox_rows *rows,
				    philox_stream stream,
				    const struct philox_row_list *list,
				    const struct philox_row_fill_desc *fill)
{
	struct rows_draw_args args = {.table = rows->table,
				      .first = fill->first,
				      .count = fill->count,
				      .pitch = fill->pitch,
				      .counts = fill->counts,
				      .out = fill->out};
	struct rows_arrays arrays = {.count = 0};
	const struct kind *kind;
	enum philox_status status = check_draw(rows, list, fill, &args.list);

	if (status != PHILOX_OK)
		return status;
	kind = find_kind(fill);
	args.words = fill->flags & PHILOX_ROWS_KEEP ? 0 : 4;
	add_values(&arrays, &args, fill->dtype);
	return launch_draw(
		rows, stream, kind->kernel, &args, &arrays,
		args.list.n * rows_threads(rows_units(&args, kind->per_block)));
}

enum philox_status philox_rows_fill(struct philox_rows *rows,
				    philox_stream stream,
				    const struct philox_row_list *list,
				    const struct philox_row_fill_desc *fill)
{
	enum philox_status status;

	if (!rows)
		return context_null(NULL, "rows");
	if (!fill)
		status = status_set(PHILOX_ERROR_INVALID, "fill is NULL");
	else
		status = options_check_size("fill", fill, fill->size,
					    FILL_SIZE_FIRST, sizeof(*fill));
	if (status == PHILOX_OK)
		status = draw_rows(rows, stream, list, fill);
	return rows_report(rows, status);
}

/* --- advances ------------------------------------------------------------- */

static enum philox_status check_no_steps(const struct rows_list *list)
{
	if (!list->steps)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "list: steps is not NULL, and an advance draws "
			  "nothing");
}

static enum philox_status check_advance(const struct philox_row_list *list,
					struct rows_draw_args *args)
{
	enum philox_status status =
		rows_check_list("row", args->table.count, list, &args->list);

	if (status == PHILOX_OK)
		status = check_no_steps(&args->list);
	if (status == PHILOX_OK && args->words % 4)
		status = status_set(PHILOX_ERROR_INVALID,
				    "words is %" PRIu64 ", not a multiple of 4",
				    args->words);
	return status;
}

static enum philox_status advance_rows(struct philox_rows *rows,
				       philox_stream stream,
				       const struct philox_row_list *list,
				       uint64_t words, const uint32_t *counts)
{
	struct rows_draw_args args = {
		.table = rows->table, .counts = counts, .words = words};
	struct rows_arrays arrays = {.count = 0};
	enum philox_status status = check_advance(list, &args);

	if (status != PHILOX_OK)
		return status;
	rows_arrays_read(&arrays, "advance: counts", counts, args.list.n,
			 sizeof(*counts));
	return launch_draw(rows, stream, KERNEL_rows_advance, &args, &arrays,
			   args.list.n);
}

enum philox_status philox_rows_advance(struct philox_rows *rows,
				       philox_stream stream,
				       const struct philox_row_list *list,
				       uint64_t words)
{
	if (!rows)
		return context_null(NULL, "rows");
	return rows_report(rows, advance_rows(rows, stream, list, words, NULL));
}

static int is_empty(const struct philox_row_list *list)
{
	return list && !list->count;
}

enum philox_status philox_rows_advance_by(struct philox_rows *rows,
					  philox_stream stream,
					  const struct philox_row_list *list,
					  uint64_t words,
					  const uint32_t *counts)
{
	enum philox_status status = PHILOX_OK;

	if (!rows)
		return context_null(NULL, "rows");
	if (!is_empty(list))
		status = fill_check_array("advance", "counts", counts,
					  PHILOX_DTYPE_U32);
	if (status == PHILOX_OK)
		status = advance_rows(rows, stream, list, words, counts);
	return rows_report(rows, status);
}

/* --- check: checks of arguments, for draws and samples -------------------- */

/* The size of the struct's first version. */
#define LIST_SIZE_FIRST OPTIONS_FIRST(struct philox_row_list, steps)
OPTIONS_NO_PADDING(struct philox_row_list, steps);

static enum philox_status check_entries(const char *row, uint64_t count,
					const struct philox_row_list *list)
{
	enum philox_status status = PHILOX_OK;

	if (list->count > ROWS_COUNT_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "list: count is %" PRIu32 ", above 2^24",
				  list->count);
	if (!list->indices && list->count > count)
		return status_set(PHILOX_ERROR_INVALID,
				  "list: count is %" PRIu32
				  " without indices, there %s %" PRIu64 " %s%s",
				  list->count, status_is(count), count, row,
				  status_s(count));
	if (!list->count)
		return PHILOX_OK;
	if (list->indices)
		status = fill_check_array("list", "indices", list->indices,
					  PHILOX_DTYPE_U32);
	if (status == PHILOX_OK && list->steps)
		status = fill_check_array("list", "steps", list->steps,
					  PHILOX_DTYPE_U32);
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
				  .n = list->count};
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
