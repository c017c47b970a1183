/*
 * lib/fill/fill.c - fills: checked, turned into a kernel call, put on a stream
 *
 * Everything that can be known to be wrong is found before the device hears of
 * the fill. Nothing here has state or takes a lock, but for reading the name of
 * an operator that a failing fill of a pass was for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <philox/fill.h>
#include "lib/fill/args.h"
#include "lib/fill/check.h"
#include "lib/fill/elements.h"
#include "lib/base/float_mode.h"
#include "lib/fill/layout/layout.h"
#include "lib/state/pass.h"
#include "lib/state/region.h"
#include "lib/state/spans.h"

/* --- fills ---------------------------------------------------------------- */

/* A fill as a kernel call. Without a layout only the fill's arguments count. */
struct launch {
	struct fill_taken copy;
	struct kernel_call call;
	struct layout_args args;
};

static void make_launch(const struct philox_device *device,
			struct philox_rng rng, struct launch *launch)
{
	const struct philox_fill *fill = &launch->copy.fill;
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
		call->kernel = fill_kernel(fill);
		call->size = sizeof(*args);
		call->work = args->rows *
			     fill_row_units(args, fill_unit(call->kernel));
	}
	call->args = &launch->args;
}

/* How the caller's thread rounds is not to be seen in checks or arguments. */
static enum philox_status prepare(const struct philox_device *device,
				  struct philox_rng rng,
				  const struct philox_fill *fill,
				  struct launch *launch)
{
	struct float_mode mode = float_mode_set();
	enum philox_status status = fill_take(fill, &launch->copy);

	if (status == PHILOX_OK)
		status = fill_check(&rng, &launch->copy.fill);
	if (status == PHILOX_OK)
		make_launch(device, rng, launch);
	float_mode_restore(mode);
	return status;
}

static enum philox_status put(struct philox_device *device,
			      philox_stream stream, const struct launch *launch)
{
	if (!launch->call.work)
		return PHILOX_OK;
	return device_launch(device, stream, &launch->call);
}

enum philox_status philox_rng_fill(struct philox_device *device,
				   philox_stream stream, struct philox_rng rng,
				   const struct philox_fill *fill)
{
	enum philox_status status;
	struct launch launch;

	if (!device)
		return status_set(PHILOX_ERROR_INVALID, "device is NULL");
	status = prepare(device, rng, fill, &launch);
	return status == PHILOX_OK ? put(device, stream, &launch) : status;
}

/* Says which operator of which region a failing fill was for. */
static enum philox_status fail_fill(const struct philox_pass *pass, uint32_t op,
				    enum philox_status status)
{
	const struct philox_region *region = pass->region;
	char op_name[64];
	struct philox_log_entry subject = {.region = region->name,
					   .op = op_name,
					   .ticket = pass->ticket,
					   .capture_id = pass->capture_id};

	context_lock(region->context);
	snprintf(op_name, sizeof(op_name), "%s", region_op_name(region, op));
	context_unlock(region->context);
	status_prefix(status,
		      "region '%s', op %" PRIu32 " '%s': ", region->name, op,
		      op_name);
	return context_report(region->context, status, &subject);
}

enum philox_status philox_pass_fill(const struct philox_pass *pass, uint32_t op,
				    uint32_t call,
				    const struct philox_fill *fill)
{
	struct philox_device *device;
	enum philox_status status;
	struct philox_rng rng;
	struct launch launch;

	status = philox_pass_rng(pass, op, call, &rng);
	if (status != PHILOX_OK)
		return status;
	device = pass->region->context->device;
	status = prepare(device, rng, fill, &launch);
	if (status == PHILOX_OK)
		status = pass_check_stream(pass, __func__);
	if (status == PHILOX_OK)
		status = put(device, pass->stream, &launch);
	if (status != PHILOX_OK)
		return fail_fill(pass, op, status);
	spans_draw(pass, op, call, launch.copy.fill.span);
	return PHILOX_OK;
}
