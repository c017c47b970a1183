/*
 * lib/pass/pass_fill.c - fills and subsets of a pass, and tensors that it rounds
 *
 * lib/fill, lib/subset and lib/quantize define them, check them and put them on
 * streams.
 * Here they get their operators' states, and an error gets the names of region
 * and operator.
 */
#include <inttypes.h>
#include <stdio.h>
#include "lib/fill/fill.h"
#include "lib/pass/pass.h"
#include "lib/quantize/quantize.h"
#include "lib/state/state.h"
#include "lib/subset/subset.h"

enum philox_status pass_fail_op(const struct philox_pass *pass, uint32_t op,
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
		return pass_fail_op(pass, op, status);
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

/* --- tensors that are rounded --------------------------------------------- */

/* One of n; an error names its operator. */
static enum philox_status add_tensor(const struct philox_pass *pass,
				     struct quantize_work *work, size_t i,
				     size_t n,
				     const struct philox_quantize_desc *tensors)
{
	struct philox_quantize_desc tensor;
	struct philox_rng rng;
	enum philox_status status = quantize_take(tensors, i, n, &tensor);

	if (status != PHILOX_OK)
		return pass_finish(pass, status);
	status = pass_find_rng(pass, tensor.op, tensor.call, &rng);
	if (status != PHILOX_OK)
		return n < 2 ? status
			     : status_prefix(status, "tensor %zu: ", i);
	status = quantize_add(work, i, n, &tensor, rng);
	return status == PHILOX_OK ? status
				   : pass_fail_op(pass, tensor.op, status);
}

static enum philox_status put_tensors(
	const struct philox_pass *pass, struct quantize_work *work,
	const struct philox_quantize_desc *tensors, size_t n)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < n; i++)
		status = add_tensor(pass, work, i, n, tensors);
	if (status != PHILOX_OK)
		return status;
	status = pass_check_stream(pass, "philox_pass_quantize");
	if (status == PHILOX_OK)
		status = quantize_check_all(work);
	if (status == PHILOX_OK)
		status = quantize_put(pass->region->context->device,
				      pass->stream, work);
	if (status != PHILOX_OK)
		status_prefix(status, "region '%s': ", pass->region->name);
	return pass_finish(pass, status);
}

/* What was drawn, of one tensor. */
static void note_tensor(const struct philox_pass *pass,
			const struct philox_quantize_desc *tensors, size_t i,
			size_t n)
{
	struct philox_quantize_desc tensor;

	if (quantize_take(tensors, i, n, &tensor) != PHILOX_OK)
		return;
	/* a transposed copy has the same bits on purpose */
	if (!(tensor.flags & PHILOX_QUANTIZE_TRANSPOSED))
		spans_draw(pass, tensor.op, tensor.call, tensor.span);
	if (pass->capture_id)
		pass_note(pass, &(struct pass_note){.op = tensor.op,
						    .call = tensor.call});
}

enum philox_status philox_pass_quantize(
	const struct philox_pass *pass,
	const struct philox_quantize_desc *tensors, size_t n_tensors)
{
	struct quantize_work work;
	enum philox_status status = pass_check_drawn(pass);

	if (status == PHILOX_OK)
		status = quantize_begin_work(&work, n_tensors);
	if (status != PHILOX_OK)
		return pass_finish_unopened(pass, status);
	status = put_tensors(pass, &work, tensors, n_tensors);
	quantize_end_work(&work);
	for (size_t i = 0; status == PHILOX_OK && i < n_tensors; i++)
		note_tensor(pass, tensors, i, n_tensors);
	return status;
}

/* --- subsets -------------------------------------------------------------- */

enum philox_status philox_pass_subset(const struct philox_pass *pass,
				      uint32_t op, uint32_t call,
				      const struct philox_subset_desc *subset)
{
	struct subset_args args;
	struct philox_rng rng;
	enum philox_status status = pass_find_rng(pass, op, call, &rng);

	if (status != PHILOX_OK)
		return status;
	status = subset_prepare(rng, subset, &args);
	if (status == PHILOX_OK)
		status = pass_check_stream(pass, __func__);
	if (status == PHILOX_OK)
		status = subset_put(pass->region->context->device, pass->stream,
				    &args);
	if (status != PHILOX_OK)
		return pass_fail_op(pass, op, status);
	spans_draw(pass, op, call, (struct philox_span){.count = args.items});
	if (pass->capture_id)
		pass_note(pass, &(struct pass_note){.op = op, .call = call});
	return PHILOX_OK;
}
