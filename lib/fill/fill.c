/*
 * lib/fill/fill.c - fills: checked, turned into a kernel call, put on a stream
 *
 * Every error that can be found before the device sees the fill is found then.
 * Nothing here has state or takes a lock.
 */
#include <inttypes.h>
#include <string.h>
#include "lib/base/base.h"
#include "lib/base/float_mode.h"
#include "lib/device/device.h"
#include "lib/dist/dist.h"
#include "lib/dist/elements.h"
#include "lib/fill/fill.h"
#include "lib/fill/layout/layout.h"

/* --- check: a fill's description, checked --------------------------------- */

/* The sizes of the structs' first versions. */
#define FILL_SIZE_FIRST OPTIONS_FIRST(struct philox_fill_desc, layout)
OPTIONS_NO_PADDING(struct philox_fill_desc, n);
#define LAYOUT_SIZE_FIRST OPTIONS_FIRST(struct philox_layout_desc, reserved)
OPTIONS_NO_PADDING(struct philox_layout_desc, reserved);

static const struct fill_form *form_of(const struct philox_fill_desc *fill)
{
	return fill_form(fill->dist, fill->dtype);
}

/* The size of an element, of the output or the input. */
static size_t out_size(const struct philox_fill_desc *fill)
{
	return fill_dtype_size(fill->dtype);
}

/* Sums are u64 in every dtype. */
static enum philox_dtype in_dtype(const struct philox_fill_desc *fill)
{
	return form_of(fill)->traits & FILL_SUMS ? PHILOX_DTYPE_U64
						 : form_of(fill)->in;
}

static size_t in_size(const struct philox_fill_desc *fill)
{
	return fill_dtype_size(form_of(fill)->in);
}

static enum philox_status check_kind(const struct philox_fill_desc *fill)
{
	enum philox_status status = fill_check_dist("fill", fill->dist);

	if (status == PHILOX_OK)
		status = fill_check_dtype("fill", fill->dtype);
	if (status != PHILOX_OK || form_of(fill))
		return status;
	return status_set(PHILOX_ERROR_INVALID, "fill: dist %s has no dtype %s",
			  fill_dist_name(fill->dist),
			  fill_dtype_name(fill->dtype));
}

/* --- spans ---------------------------------------------------------------- */

int fill_find_last(const struct philox_span *span, uint64_t *last)
{
	return !__builtin_mul_overflow(fill_rows(span) - 1, span->row_stride,
				       last) &&
	       !__builtin_add_overflow(*last, span->count - 1, last) &&
	       !__builtin_add_overflow(*last, span->first, last);
}

enum philox_status fill_check_rows(const char *what,
				   const struct philox_span *span)
{
	if (fill_rows(span) == 1 || span->row_stride >= span->count)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "%s: span row_stride %" PRIu64
			  " is below count %" PRIu64 ": its rows overlap",
			  what, span->row_stride, span->count);
}

static enum philox_status check_last(const struct philox_fill_desc *fill)
{
	const struct philox_span *span = &fill->span;
	uint64_t last;

	if (fill_find_last(span, &last))
		return fill_check_last(fill, last);
	return status_set(
		PHILOX_ERROR_OVERFLOW,
		"fill: span first %" PRIu64 " + count %" PRIu64
		", rows %" PRIu64 " of stride %" PRIu64 ", is past 2^64",
		span->first, span->count, span->rows, span->row_stride);
}

static enum philox_status check_bytes(const struct philox_fill_desc *fill)
{
	size_t size =
		in_size(fill) > out_size(fill) ? in_size(fill) : out_size(fill);
	size_t bytes;

	if (!__builtin_mul_overflow(fill_rows(&fill->span), fill->span.count,
				    &bytes) &&
	    !__builtin_mul_overflow(bytes, size, &bytes))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "fill: span count %" PRIu64 ", rows %" PRIu64
			  ", of dtype %s is past 2^64 bytes",
			  fill->span.count, fill->span.rows,
			  fill_dtype_name(fill->dtype));
}

static enum philox_status check_span(const struct philox_fill_desc *fill)
{
	const struct philox_span *span = &fill->span;
	enum philox_status status;

	if (!span->count)
		return PHILOX_OK;
	status = fill_check_rows("fill", span);
	if (status == PHILOX_OK)
		status = check_last(fill);
	return status != PHILOX_OK ? status : check_bytes(fill);
}

/* --- arrays --------------------------------------------------------------- */

static enum philox_status check_overlap(const struct philox_fill_desc *fill)
{
	uintptr_t in = (uintptr_t)fill->in, out = (uintptr_t)fill->out;
	uint64_t elements = fill->span.count * fill_rows(&fill->span);
	int has_sums = form_of(fill)->traits & FILL_SUMS;
	uint64_t read = has_sums ? fill->n * sizeof(uint64_t)
				 : elements * in_size(fill);
	int apart = in > out ? in - out >= elements * out_size(fill)
			     : out - in >= read;

	if (apart ||
	    (in == out && !has_sums && in_size(fill) == out_size(fill)))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "fill: in (%p) and out (%p) overlap%s", fill->in,
			  fill->out,
			  has_sums    ? ""
			  : in == out ? ", and their dtypes differ"
				      : " and are not equal");
}

/* An empty span needs no arrays. */
static enum philox_status check_arrays(const struct philox_fill_desc *fill)
{
	enum philox_status status;

	if (!fill->span.count)
		return PHILOX_OK;
	status = fill_check_array("fill", "out", fill->out, fill->dtype);
	if (status != PHILOX_OK ||
	    !(form_of(fill)->traits & (FILL_READS | FILL_SUMS)))
		return status;
	status = fill_check_array("fill", "in", fill->in, in_dtype(fill));
	return status != PHILOX_OK ? status : check_overlap(fill);
}

int fill_overlap(const struct kernel_array *a, const struct kernel_array *b)
{
	const uintptr_t x = (uintptr_t)a->at, y = (uintptr_t)b->at;

	return x < y ? y - x < a->size : x - y < b->size;
}

static const char *without_what(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon ? colon + 2 : name;
}

enum philox_status fill_check_overlap(const struct kernel_array *arrays,
				      uint32_t n)
{
	for (uint32_t i = 0; i < n && arrays[i].written; i++)
		for (uint32_t k = i + 1; k < n; k++)
			if (fill_overlap(&arrays[i], &arrays[k]))
				return status_set(PHILOX_ERROR_INVALID,
						  "%s (%p) and %s (%p) overlap",
						  arrays[i].name, arrays[i].at,
						  without_what(arrays[k].name),
						  arrays[k].at);
	return PHILOX_OK;
}

/* --- the state, and all of it --------------------------------------------- */

enum philox_status fill_check_rng(const char *what,
				  const struct philox_rng *rng)
{
	if ((uintptr_t)rng->cell % 8)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: rng.cell (%p) is not aligned to 8 bytes",
				  what, (const void *)rng->cell);
	if (!rng->cell && rng->state.offset % 4)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: rng.state.offset is %" PRIu64
				  ", not a multiple of 4",
				  what, rng->state.offset);
	return PHILOX_OK;
}

/* Copies a fill; ERROR_INVALID: it is NULL, or a size is wrong. */
static enum philox_status take_fill(const struct philox_fill_desc *given,
				    struct fill_taken *copy)
{
	const struct philox_layout_desc *layout;
	enum philox_status status;

	if (!given)
		return status_set(PHILOX_ERROR_INVALID, "fill is NULL");
	status = options_copy("fill", given, given->size, FILL_SIZE_FIRST,
			      sizeof(copy->fill), &copy->fill);
	if (status != PHILOX_OK || !copy->fill.layout)
		return status;
	layout = copy->fill.layout;
	copy->fill.layout = &copy->layout;
	status = options_copy("fill: layout", layout, layout->size,
			      LAYOUT_SIZE_FIRST, sizeof(copy->layout),
			      &copy->layout);
	return status == PHILOX_OK
		       ? options_check_reserved("fill: layout",
						copy->layout.reserved)
		       : status;
}

/* Checks only a fill's dist, dtype, parameters, span and layout. */
static enum philox_status check_op(const struct philox_fill_desc *fill)
{
	enum philox_status status = check_kind(fill);

	if (status == PHILOX_OK)
		status = fill_check_parameters(fill);
	if (status == PHILOX_OK)
		status = check_span(fill);
	return status == PHILOX_OK ? layout_check(fill) : status;
}

/* Finds every error that can be found before a device sees the fill. */
static enum philox_status check_fill(const struct philox_rng *rng,
				     const struct philox_fill_desc *fill)
{
	enum philox_status status = check_op(fill);

	if (status == PHILOX_OK)
		status = check_arrays(fill);
	if (status == PHILOX_OK)
		status = fill_check_rng("fill", rng);
	return status;
}

/* --- arguments ------------------------------------------------------------ */

/* Rows without gaps between them are one row. */
static void set_span(const struct philox_span *span, struct fill_args *args)
{
	args->first = span->first;
	args->count = span->count;
	args->rows = span->rows ? span->rows : 1;
	args->row_stride = span->row_stride;
	if (args->row_stride == args->count || !args->count) {
		args->count *= args->rows;
		args->rows = 1;
	}
}

void fill_args(const struct philox_fill_desc *fill, struct philox_rng rng,
	       struct fill_args *args)
{
	*args = (struct fill_args){.rng = rng, .threads = 1, .out = fill->out};
	if (form_of(fill)->traits & FILL_READS)
		args->in = fill->in;
	set_span(&fill->span, args);
	fill_set_parameters(fill, args);
}

/* --- a fill as a kernel call ---------------------------------------------- */

static void list_arrays(struct fill_launch *launch)
{
	const struct philox_fill_desc *fill = &launch->taken.fill;
	const struct fill_args *args = &launch->args.fill;
	const size_t elements = args->rows * args->count;
	struct kernel_arrays *arrays = &launch->arrays;

	kernel_no_arrays(arrays);
	kernel_writes(arrays, "fill: out", args->out,
		      elements * out_size(fill));
	kernel_reads(arrays, "fill: in", args->in, elements * in_size(fill));
	if (form_of(fill)->traits & FILL_SUMS)
		kernel_reads(arrays, "fill: in", args->sums,
			     args->range * sizeof(*args->sums));
	kernel_reads(arrays, "fill: rng.cell", args->rng.cell,
		     sizeof(*args->rng.cell));
	launch->call.arrays = arrays;
}

static void make_launch(unsigned threads, struct philox_rng rng,
			struct fill_launch *launch)
{
	const struct philox_fill_desc *fill = &launch->taken.fill;
	struct fill_args *args = &launch->args.fill;
	struct kernel_call *call = &launch->call;

	fill_args(fill, rng, args);
	if (layout_is_other(fill)) {
		layout_args(fill, &launch->args);
		call->kernel = layout_kernel(fill->dtype);
		call->size = sizeof(launch->args);
		call->work = args->rows * args->count;
	} else {
		args->threads = threads;
		call->kernel = form_of(fill)->kernel;
		call->size = sizeof(*args);
		call->work = args->rows *
			     fill_row_units(args, fill_unit(call->kernel));
	}
	call->args = &launch->args;
	list_arrays(launch);
}

static enum philox_status prepare(unsigned threads, struct philox_rng rng,
				  const struct philox_fill_desc *fill,
				  struct fill_launch *launch)
{
	struct float_mode mode = float_mode_set();
	enum philox_status status = take_fill(fill, &launch->taken);

	if (status == PHILOX_OK)
		status = check_fill(&rng, &launch->taken.fill);
	if (status == PHILOX_OK)
		make_launch(threads, rng, launch);
	float_mode_restore(mode);
	return status;
}

enum philox_status fill_prepare(const struct philox_device *device,
				struct philox_rng rng,
				const struct philox_fill_desc *fill,
				struct fill_launch *launch)
{
	return prepare(device_threads(device), rng, fill, launch);
}

enum philox_status fill_put(struct philox_device *device, philox_stream stream,
			    const struct fill_launch *launch)
{
	if (!launch->call.work)
		return PHILOX_OK;
	return device_launch(device, stream, &launch->call);
}

/* --- public --------------------------------------------------------------- */

enum philox_status philox_rng_fill(struct philox_device *device,
				   philox_stream stream, struct philox_rng rng,
				   const struct philox_fill_desc *fill)
{
	struct fill_launch launch;
	enum philox_status status;

	if (!device)
		return status_set(PHILOX_ERROR_INVALID, "device is NULL");
	status = fill_prepare(device, rng, fill, &launch);
	return status == PHILOX_OK ? fill_put(device, stream, &launch) : status;
}

/* Does a fill that is not empty, here. */
static void run_here(const struct fill_launch *launch)
{
	const struct philox_fill_desc *fill = &launch->taken.fill;
	const struct float_mode mode = float_mode_set();

	if (layout_is_other(fill))
		layout_host_run(fill->dtype, &launch->args);
	else
		fill_host_run(launch->call.kernel, &launch->args.fill);
	float_mode_restore(mode);
}

enum philox_status philox_state_fill(struct philox_state state,
				     const struct philox_fill_desc *fill,
				     uint32_t threads)
{
	const struct philox_rng by_value = {.state = state};
	const struct philox_rng poisoned = {.cell = &state};
	struct fill_launch launch;
	enum philox_status status;

	if (!threads)
		return status_set(PHILOX_ERROR_INVALID, "threads is 0");
	status = prepare(threads, philox_is_poison(state) ? poisoned : by_value,
			 fill, &launch);
	if (status == PHILOX_OK && launch.call.work)
		run_here(&launch);
	return status;
}

/* An operator with a layout advances as that library's own does. */
static enum philox_status find_advance(const struct philox_fill_desc *given,
				       uint64_t *words)
{
	struct fill_taken taken;
	enum philox_status status = take_fill(given, &taken);
	const struct philox_fill_desc *fill = &taken.fill;

	if (status == PHILOX_OK)
		status = check_op(fill);
	if (status != PHILOX_OK)
		return status;
	if (layout_is_other(fill))
		return layout_advance(fill, words);
	*words = 4;
	return PHILOX_OK;
}

enum philox_status philox_layout_advance(const struct philox_fill_desc *fill,
					 uint64_t *words)
{
	enum philox_status status;
	struct float_mode mode;

	if (!words)
		return status_set(PHILOX_ERROR_INVALID, "words is NULL");
	mode = float_mode_set();
	status = find_advance(fill, words);
	float_mode_restore(mode);
	return status;
}
