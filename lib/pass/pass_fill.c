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
				    const struct philox_fill *fill)
{
	struct philox_device *device;
	enum philox_status status;
	struct philox_rng rng;
	struct fill_launch launch;

	status = philox_pass_rng(pass, op, call, &rng);
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
	return PHILOX_OK;
}

/* --- by the name of their distribution ------------------------------------ */

static struct philox_fill fill_of_dist(enum philox_dist dist,
				       enum philox_dtype dtype,
				       struct philox_span span, void *out)
{
	return (struct philox_fill){.size = sizeof(struct philox_fill),
				    .dist = dist,
				    .dtype = dtype,
				    .span = span,
				    .out = out};
}

enum philox_status philox_bits(const struct philox_pass *pass, uint32_t op,
			       enum philox_dtype dtype, struct philox_span span,
			       void *out)
{
	struct philox_fill fill = fill_of_dist(PHILOX_BITS, dtype, span, out);

	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_uniform(const struct philox_pass *pass, uint32_t op,
				  enum philox_dtype dtype,
				  struct philox_span span, double low,
				  double high, void *out)
{
	struct philox_fill fill =
		fill_of_dist(PHILOX_UNIFORM, dtype, span, out);

	fill.low = low;
	fill.high = high;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_normal(const struct philox_pass *pass, uint32_t op,
				 enum philox_dtype dtype,
				 struct philox_span span, double mean,
				 double std, void *out)
{
	struct philox_fill fill = fill_of_dist(PHILOX_NORMAL, dtype, span, out);

	fill.mean = mean;
	fill.std = std;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_log_normal(const struct philox_pass *pass,
				     uint32_t op, enum philox_dtype dtype,
				     struct philox_span span, double mean,
				     double std, void *out)
{
	struct philox_fill fill =
		fill_of_dist(PHILOX_LOG_NORMAL, dtype, span, out);

	fill.mean = mean;
	fill.std = std;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_exponential(const struct philox_pass *pass,
				      uint32_t op, enum philox_dtype dtype,
				      struct philox_span span, double rate,
				      void *out)
{
	struct philox_fill fill =
		fill_of_dist(PHILOX_EXPONENTIAL, dtype, span, out);

	fill.rate = rate;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_gumbel(const struct philox_pass *pass, uint32_t op,
				 enum philox_dtype dtype,
				 struct philox_span span, void *out)
{
	struct philox_fill fill = fill_of_dist(PHILOX_GUMBEL, dtype, span, out);

	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_integers(const struct philox_pass *pass, uint32_t op,
				   enum philox_dtype dtype,
				   struct philox_span span, uint64_t from,
				   uint64_t to, void *out)
{
	struct philox_fill fill =
		fill_of_dist(PHILOX_INTEGERS, dtype, span, out);

	fill.from = from;
	fill.to = to;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_bernoulli(const struct philox_pass *pass, uint32_t op,
				    enum philox_dtype dtype,
				    struct philox_span span, double p,
				    void *out)
{
	struct philox_fill fill =
		fill_of_dist(PHILOX_BERNOULLI, dtype, span, out);

	fill.p = p;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_dropout(const struct philox_pass *pass, uint32_t op,
				  enum philox_dtype dtype,
				  struct philox_span span, double p,
				  const void *in, void *out)
{
	struct philox_fill fill =
		fill_of_dist(PHILOX_DROPOUT, dtype, span, out);

	fill.p = p;
	fill.in = in;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_stochastic_round(const struct philox_pass *pass,
					   uint32_t op, enum philox_dtype dtype,
					   struct philox_span span,
					   const void *in, void *out)
{
	struct philox_fill fill =
		fill_of_dist(PHILOX_STOCHASTIC_ROUND, dtype, span, out);

	fill.in = in;
	return philox_pass_fill(pass, op, 0, &fill);
}
