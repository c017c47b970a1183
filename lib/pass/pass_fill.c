/*
 * lib/pass/pass_fill.c - fills of a pass
 *
 * lib/fill defines fills, checks them and puts them on streams. Here a fill
 * gets its operator's state, and an error gets the names of region and
 * operator.
 */
#include <inttypes.h>
#include <stdio.h>
#include "lib/fill/fill.h"
#include "lib/pass/pass.h"
#include "lib/state/state.h"

/* Says which operator of which region a failing fill was for. */
static enum philox_status fail_pass_fill(const struct philox_pass *pass,
					 uint32_t op, enum philox_status status)
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
				    const struct philox_fill_desc *fill)
{
	struct philox_device *device;
	enum philox_status status;
	struct philox_rng rng;
	struct fill_launch launch;

	status = pass_find_rng(pass, op, call, &rng);
	if (status != PHILOX_OK)
		return status;
	device = pass->region->context->device;
	status = fill_prepare(device, rng, fill, &launch);
	if (status == PHILOX_OK)
		status = pass_check_stream(pass, __func__);
	if (status == PHILOX_OK)
		status = fill_put(device, pass->stream, &launch);
	if (status != PHILOX_OK)
		return fail_pass_fill(pass, op, status);
	spans_draw(pass, op, call, launch.taken.fill.span);
	if (pass->capture_id)
		pass_note(pass, &(struct pass_note){.fill = &launch.taken.fill,
						    .op = op,
						    .call = call});
	return PHILOX_OK;
}

/* --- by the name of their distribution ------------------------------------ */

/*
 * philox_pass_bits(), philox_pass_integers(), philox_pass_uniform(),
 * philox_pass_normal(), philox_pass_log_normal() and so on: those of
 * lib/device/kernels.h.
 */
#define ARGUMENT(type, parameter) type parameter,
#define MEMBER(type, parameter)   .parameter = parameter,
#define DRAW(dist_, name, function, parameters, kernels)                     \
	enum philox_status philox_pass_##function(                           \
		const struct philox_pass *pass, uint32_t op,                 \
		enum philox_dtype dtype, struct philox_span span,            \
		FILL_##parameters(ARGUMENT) void *out)                       \
	{                                                                    \
		struct philox_fill_desc fill = {.size = sizeof(fill),        \
						.dist = PHILOX_DIST_##dist_, \
						.dtype = dtype,              \
						.span = span,                \
						.out = out,                  \
						FILL_##parameters(MEMBER)};  \
                                                                             \
		return philox_pass_fill(pass, op, 0, &fill);                 \
	}

FILL_DISTS(DRAW, )
