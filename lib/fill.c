/*
 * lib/fill.c - fills: checked, turned into a kernel call, put on a stream
 *
 * Everything that can be known to be wrong is found before the device hears of
 * the fill. Nothing here has state or takes a lock, but for reading the name of
 * an operator that a failing fill of a pass was for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <philox/fill.h>
#include "fill_args.h"
#include "fill_check.h"
#include "fill_elements.h"
#include "layout.h"
#include "pass.h"
#include "region.h"
#include "spans.h"

/* --- fills ---------------------------------------------------------------- */

static enum philox_status launch_layout(struct philox_device *device,
					philox_stream stream,
					struct philox_rng rng,
					const struct philox_fill *fill)
{
	struct layout_args args;
	struct kernel_call call = {.kernel = layout_kernel(fill->dtype),
				   .args = &args,
				   .size = sizeof(args)};

	fill_args(fill, rng, &args.fill);
	layout_args(fill, &args);
	call.work = args.fill.rows * args.fill.count;
	return call.work ? device_launch(device, stream, &call) : PHILOX_OK;
}

static enum philox_status launch_fill(struct philox_device *device,
				      philox_stream stream,
				      struct philox_rng rng,
				      const struct philox_fill *fill)
{
	struct fill_args args;
	struct kernel_call call = {.kernel = fill_kernel(fill),
				   .args = &args,
				   .size = sizeof(args)};

	if (layout_is_other(fill))
		return launch_layout(device, stream, rng, fill);
	fill_args(fill, rng, &args);
	args.threads = device_threads(device);
	call.work = args.rows * fill_row_units(&args, fill_unit(call.kernel));
	return call.work ? device_launch(device, stream, &call) : PHILOX_OK;
}

enum philox_status philox_rng_fill(struct philox_device *device,
				   philox_stream stream, struct philox_rng rng,
				   const struct philox_fill *fill)
{
	enum philox_status status;

	if (!device)
		return status_set(PHILOX_ERROR_INVALID, "device is NULL");
	status = fill_check(&rng, fill);
	if (status != PHILOX_OK)
		return status;
	return launch_fill(device, stream, rng, fill);
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
	enum philox_status status;
	struct philox_rng rng;

	status = philox_pass_rng(pass, op, call, &rng);
	if (status != PHILOX_OK)
		return status;
	status = fill_check(&rng, fill);
	if (status == PHILOX_OK)
		status = pass_check_stream(pass, __func__);
	if (status == PHILOX_OK)
		status = launch_fill(pass->region->context->device,
				     pass->stream, rng, fill);
	if (status != PHILOX_OK)
		return fail_fill(pass, op, status);
	spans_draw(pass, op, call, fill->span);
	return PHILOX_OK;
}
