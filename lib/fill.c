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
#include "fill_elements.h"
#include "options.h"
#include "pass.h"
#include "region.h"
#include "spans.h"

/* The size of the struct's first version. */
#define FILL_SIZE_FIRST (offsetof(struct philox_fill, out) + sizeof(void *))

static const char *const dist_names[] = {"bits", "uniform", "normal",
					 "bernoulli", "dropout"};
static const struct {
	const char *name;
	size_t size;
} dtypes[] = {{"u32", 4}, {"u64", 8}, {"f32", 4}, {"bf16", 2}};

#define N_DISTS  (sizeof(dist_names) / sizeof(dist_names[0]))
#define N_DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))

/* The kernel of each pair; 0, which is the head, where there is none. */
static const enum kernel kernels[N_DISTS][N_DTYPES] = {
	[PHILOX_BITS] = {[PHILOX_U32] = KERNEL_bits_u32,
			 [PHILOX_U64] = KERNEL_bits_u64},
	[PHILOX_UNIFORM] = {[PHILOX_F32] = KERNEL_uniform_f32,
			    [PHILOX_BF16] = KERNEL_uniform_bf16},
	[PHILOX_NORMAL] = {[PHILOX_F32] = KERNEL_normal_f32,
			   [PHILOX_BF16] = KERNEL_normal_bf16},
	[PHILOX_BERNOULLI] = {[PHILOX_F32] = KERNEL_bernoulli_f32,
			      [PHILOX_BF16] = KERNEL_bernoulli_bf16},
	[PHILOX_DROPOUT] = {[PHILOX_F32] = KERNEL_dropout_f32,
			    [PHILOX_BF16] = KERNEL_dropout_bf16},
};

/* --- checks --------------------------------------------------------------- */

static enum philox_status check_kind(const struct philox_fill *fill)
{
	unsigned dist = fill->dist, dtype = fill->dtype;

	if (dist >= N_DISTS)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: dist %u is unknown", dist);
	if (dtype >= N_DTYPES)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: dtype %u is unknown", dtype);
	if (kernels[dist][dtype] == KERNEL_HEAD)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: dist %s has no dtype %s",
				  dist_names[dist], dtypes[dtype].name);
	return PHILOX_OK;
}

static int has_p(const struct philox_fill *fill)
{
	return fill->dist == PHILOX_BERNOULLI || fill->dist == PHILOX_DROPOUT;
}

static enum philox_status check_p(const struct philox_fill *fill)
{
	if (!has_p(fill) || (fill->p >= 0 && fill->p <= 1))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "fill: p of dist %s is %g, not in [0, 1]",
			  dist_names[fill->dist], fill->p);
}

static enum philox_status check_span(const struct philox_fill *fill)
{
	uint64_t first = fill->span.first, count = fill->span.count;

	if (count && first + (count - 1) < first)
		return status_set(PHILOX_ERROR_OVERFLOW,
				  "fill: span first %" PRIu64
				  " + count %" PRIu64 " is past 2^64",
				  first, count);
	if (count > SIZE_MAX / dtypes[fill->dtype].size)
		return status_set(PHILOX_ERROR_OVERFLOW,
				  "fill: span count %" PRIu64
				  " of dtype %s is past 2^64 bytes",
				  count, dtypes[fill->dtype].name);
	return PHILOX_OK;
}

static enum philox_status check_array(const struct philox_fill *fill,
				      const char *name, const void *array)
{
	size_t size = dtypes[fill->dtype].size;

	if (!array)
		return status_set(PHILOX_ERROR_INVALID, "fill: %s is NULL",
				  name);
	if ((uintptr_t)array % size)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: %s (%p) is not aligned to the %zu "
				  "bytes of dtype %s",
				  name, array, size, dtypes[fill->dtype].name);
	return PHILOX_OK;
}

static enum philox_status check_overlap(const struct philox_fill *fill)
{
	uintptr_t in = (uintptr_t)fill->in, out = (uintptr_t)fill->out;
	uintptr_t apart = in > out ? in - out : out - in;

	if (apart && apart < fill->span.count * dtypes[fill->dtype].size)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: in (%p) and out (%p) overlap and are "
				  "not equal",
				  fill->in, fill->out);
	return PHILOX_OK;
}

/* An empty span needs no arrays. */
static enum philox_status check_arrays(const struct philox_fill *fill)
{
	enum philox_status status;

	if (!fill->span.count)
		return PHILOX_OK;
	status = check_array(fill, "out", fill->out);
	if (status != PHILOX_OK || fill->dist != PHILOX_DROPOUT)
		return status;
	status = check_array(fill, "in", fill->in);
	return status != PHILOX_OK ? status : check_overlap(fill);
}

static enum philox_status check_rng(const struct philox_rng *rng)
{
	if ((uintptr_t)rng->cell % 8)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: rng.cell (%p) is not aligned to 8 "
				  "bytes",
				  (const void *)rng->cell);
	if (!rng->cell && rng->state.offset % 4)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: rng.state.offset is %" PRIu64
				  ", not a multiple of 4",
				  rng->state.offset);
	return PHILOX_OK;
}

static enum philox_status check_fill(const struct philox_rng *rng,
				     const struct philox_fill *fill)
{
	enum philox_status status;

	if (!fill)
		return status_set(PHILOX_ERROR_INVALID, "fill is NULL");
	status = options_check_size("fill", fill, fill->size, FILL_SIZE_FIRST,
				    sizeof(*fill));
	if (status == PHILOX_OK)
		status = check_kind(fill);
	if (status == PHILOX_OK)
		status = check_p(fill);
	if (status == PHILOX_OK)
		status = check_span(fill);
	if (status == PHILOX_OK)
		status = check_arrays(fill);
	if (status == PHILOX_OK)
		status = check_rng(rng);
	return status;
}

/* --- fills ---------------------------------------------------------------- */

static enum philox_status launch_fill(struct philox_device *device,
				      philox_stream stream,
				      struct philox_rng rng,
				      const struct philox_fill *fill)
{
	struct fill_args args = {.rng = rng,
				 .first = fill->span.first,
				 .count = fill->span.count,
				 .in = fill->in,
				 .out = fill->out};
	struct kernel_call call = {.kernel = kernels[fill->dist][fill->dtype],
				   .args = &args,
				   .size = sizeof(args)};

	if (has_p(fill)) {
		args.threshold = philox_threshold(fill->p);
		args.scale = philox_dropout_scale(fill->p);
	}
	call.work = fill_block_count(call.kernel, args.first, args.count);
	return call.work ? device_launch(device, stream, &call) : PHILOX_OK;
}

enum philox_status philox_rng_fill(struct philox_device *device,
				   philox_stream stream, struct philox_rng rng,
				   const struct philox_fill *fill)
{
	enum philox_status status;

	if (!device)
		return status_set(PHILOX_ERROR_INVALID, "device is NULL");
	status = check_fill(&rng, fill);
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
	status = check_fill(&rng, fill);
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

/* --- by name -------------------------------------------------------------- */

enum philox_status philox_bits(const struct philox_pass *pass, uint32_t op,
			       enum philox_dtype dtype, struct philox_span span,
			       void *out)
{
	struct philox_fill fill = {.size = sizeof(fill),
				   .dist = PHILOX_BITS,
				   .dtype = dtype,
				   .span = span,
				   .out = out};

	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_uniform(const struct philox_pass *pass, uint32_t op,
				  enum philox_dtype dtype,
				  struct philox_span span, void *out)
{
	struct philox_fill fill = {.size = sizeof(fill),
				   .dist = PHILOX_UNIFORM,
				   .dtype = dtype,
				   .span = span,
				   .out = out};

	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_normal(const struct philox_pass *pass, uint32_t op,
				 enum philox_dtype dtype,
				 struct philox_span span, void *out)
{
	struct philox_fill fill = {.size = sizeof(fill),
				   .dist = PHILOX_NORMAL,
				   .dtype = dtype,
				   .span = span,
				   .out = out};

	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_bernoulli(const struct philox_pass *pass, uint32_t op,
				    enum philox_dtype dtype,
				    struct philox_span span, double p,
				    void *out)
{
	struct philox_fill fill = {.size = sizeof(fill),
				   .dist = PHILOX_BERNOULLI,
				   .dtype = dtype,
				   .span = span,
				   .p = p,
				   .out = out};

	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_dropout(const struct philox_pass *pass, uint32_t op,
				  enum philox_dtype dtype,
				  struct philox_span span, double p,
				  const void *in, void *out)
{
	struct philox_fill fill = {.size = sizeof(fill),
				   .dist = PHILOX_DROPOUT,
				   .dtype = dtype,
				   .span = span,
				   .p = p,
				   .in = in,
				   .out = out};

	return philox_pass_fill(pass, op, 0, &fill);
}
