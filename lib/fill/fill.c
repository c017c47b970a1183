/*
 * lib/fill/fill.c - see lib/fill/fill.h
 *
 * Every error that can be found before the device sees the fill is found then.
 * Nothing here has state or takes a lock.
 */
#include "lib/fill/fill.h"
#include "lib/dist/dists.h"
#include "lib/dist/dtypes.h"
#include "lib/dist/elements.h"
#include "lib/fill/layout/layout.h"
#include "lib/base/float_mode.h"
#include "lib/device/call.h"

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

void fill_args(const struct philox_fill *fill, struct philox_rng rng,
	       struct fill_args *args)
{
	*args = (struct fill_args){.rng = rng, .threads = 1, .out = fill->out};
	if (fill_form(fill->dist, fill->dtype)->traits & FILL_READS)
		args->in = fill->in;
	set_span(&fill->span, args);
	fill_set_parameters(fill, args);
}

/* --- a fill as a kernel call ---------------------------------------------- */

static void list_arrays(struct fill_launch *launch)
{
	const struct philox_fill *fill = &launch->taken.fill;
	const struct fill_form *form = fill_form(fill->dist, fill->dtype);
	const struct fill_args *args = &launch->args.fill;
	const size_t elements = args->rows * args->count;
	struct kernel_arrays *arrays = &launch->arrays;

	arrays->count = 0;
	kernel_writes(arrays, "fill: out", args->out,
		      elements * fill_dtype_size(fill->dtype));
	kernel_reads(arrays, "fill: in", args->in,
		     elements * fill_dtype_size(form->in));
	kernel_reads(arrays, "fill: rng.cell", args->rng.cell,
		     sizeof(*args->rng.cell));
	launch->call.arrays = arrays;
}

static void make_launch(const struct philox_device *device,
			struct philox_rng rng, struct fill_launch *launch)
{
	const struct philox_fill *fill = &launch->taken.fill;
	struct fill_args *args = &launch->args.fill;
	struct kernel_call *call = &launch->call;

	fill_args(fill, rng, args);
	if (layout_is_other(fill)) {
		layout_args(fill, &launch->args);
		call->kernel = layout_kernel(fill->dtype);
		call->size = sizeof(launch->args);
		call->work = args->rows * args->count;
	} else {
		args->threads = device_threads(device);
		call->kernel = fill_form(fill->dist, fill->dtype)->kernel;
		call->size = sizeof(*args);
		call->work = args->rows *
			     fill_row_units(args, fill_unit(call->kernel));
	}
	call->args = &launch->args;
	list_arrays(launch);
}

enum philox_status fill_prepare(const struct philox_device *device,
				struct philox_rng rng,
				const struct philox_fill *fill,
				struct fill_launch *launch)
{
	struct float_mode mode = float_mode_set();
	enum philox_status status = fill_take(fill, &launch->taken);

	if (status == PHILOX_OK)
		status = fill_check(&rng, &launch->taken.fill);
	if (status == PHILOX_OK)
		make_launch(device, rng, launch);
	float_mode_restore(mode);
	return status;
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
				   const struct philox_fill *fill)
{
	struct fill_launch launch;
	enum philox_status status;

	if (!device)
		return status_set(PHILOX_ERROR_INVALID, "device is NULL");
	status = fill_prepare(device, rng, fill, &launch);
	return status == PHILOX_OK ? fill_put(device, stream, &launch) : status;
}

/* An operator with a layout advances as that library's own does. */
static enum philox_status find_advance(const struct philox_fill *given,
				       uint64_t *words)
{
	struct fill_taken taken;
	enum philox_status status = fill_take(given, &taken);
	const struct philox_fill *fill = &taken.fill;

	if (status == PHILOX_OK)
		status = fill_check_op(fill);
	if (status != PHILOX_OK)
		return status;
	if (layout_is_other(fill))
		return layout_advance(fill, words);
	*words = 4;
	return PHILOX_OK;
}

enum philox_status philox_layout_advance(const struct philox_fill *fill,
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
