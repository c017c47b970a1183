/*
 * lib/fill/check.c - see lib/fill/check.h
 */
#include <inttypes.h>
#include <math.h>
#include "lib/fill/check.h"
#include "lib/fill/range.h"
#include "lib/fill/layout/layout.h"
#include "lib/base/options.h"

/* The sizes of the structs' first versions. */
#define FILL_SIZE_FIRST \
	(offsetof(struct philox_fill, layout) + sizeof(struct philox_layout *))
#define LAYOUT_SIZE_FIRST \
	(offsetof(struct philox_layout, vector) + sizeof(uint32_t))

#define N_DISTS  (PHILOX_STOCHASTIC_ROUND + 1)
#define N_DTYPES (PHILOX_I64 + 1)

/* The kernel of each pair; 0, which is the head, where there is none. */
#define REAL(name)                                    \
	{                                             \
		[PHILOX_F32] = KERNEL_##name##_f32,   \
		[PHILOX_F64] = KERNEL_##name##_f64,   \
		[PHILOX_BF16] = KERNEL_##name##_bf16, \
		[PHILOX_F16] = KERNEL_##name##_f16,   \
	}
static const enum kernel kernels[N_DISTS][N_DTYPES] = {
	[PHILOX_BITS] = {[PHILOX_U32] = KERNEL_bits_u32,
			 [PHILOX_U64] = KERNEL_bits_u64},
	[PHILOX_UNIFORM] = REAL(uniform),
	[PHILOX_NORMAL] = REAL(normal),
	[PHILOX_BERNOULLI] = REAL(bernoulli),
	[PHILOX_DROPOUT] = REAL(dropout),
	[PHILOX_LOG_NORMAL] = REAL(log_normal),
	[PHILOX_EXPONENTIAL] = REAL(exponential),
	[PHILOX_GUMBEL] = REAL(gumbel),
	[PHILOX_INTEGERS] = {[PHILOX_U32] = KERNEL_integers_u32,
			     [PHILOX_I32] = KERNEL_integers_u32,
			     [PHILOX_U64] = KERNEL_integers_u64,
			     [PHILOX_I64] = KERNEL_integers_u64},
	[PHILOX_STOCHASTIC_ROUND] = {[PHILOX_BF16] = KERNEL_round_bf16,
				     [PHILOX_F16] = KERNEL_round_f16},
};

enum kernel fill_kernel(const struct philox_fill *fill)
{
	return kernels[fill->dist][fill->dtype];
}

int fill_has_input(const struct philox_fill *fill)
{
	return fill->dist == PHILOX_DROPOUT ||
	       fill->dist == PHILOX_STOCHASTIC_ROUND;
}

static enum philox_dtype in_dtype(const struct philox_fill *fill)
{
	return fill->dist == PHILOX_STOCHASTIC_ROUND ? PHILOX_F32 : fill->dtype;
}

/* The size of an element, of the output or the input. */
static size_t out_size(const struct philox_fill *fill)
{
	return fill_dtype_size(fill->dtype);
}

static size_t in_size(const struct philox_fill *fill)
{
	return fill_dtype_size(in_dtype(fill));
}

/* --- parameters ----------------------------------------------------------- */

static enum philox_status check_kind(const struct philox_fill *fill)
{
	enum philox_status status = fill_check_dist("fill", fill->dist);

	if (status == PHILOX_OK)
		status = fill_check_dtype("fill", fill->dtype);
	if (status != PHILOX_OK || fill_kernel(fill) != KERNEL_HEAD)
		return status;
	return status_set(PHILOX_ERROR_INVALID, "fill: dist %s has no dtype %s",
			  fill_dist_name(fill->dist),
			  fill_dtype_name(fill->dtype));
}

static enum philox_status wrong(const struct philox_fill *fill,
				const char *name, double value,
				const char *expected)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "fill: %s of dist %s is %g, not %s (dtype %s)", name,
			  fill_dist_name(fill->dist), value, expected,
			  fill_dtype_name(fill->dtype));
}

static enum philox_status check_p(const struct philox_fill *fill)
{
	if (fill->p >= 0 && fill->p <= 1)
		return PHILOX_OK;
	return wrong(fill, "p", fill->p, "in [0, 1]");
}

/* What is computed with: f64, or f32 for all others. */
static double most_computed(const struct philox_fill *fill)
{
	return fill_largest(fill->dtype == PHILOX_F64 ? PHILOX_F64
						      : PHILOX_F32);
}

static enum philox_status check_range(const struct philox_fill *fill)
{
	double most = fill_largest(fill->dtype), bottom, top;
	const char *within = "within the dtype's finite numbers";

	if (!(fabs(fill->low) <= most))
		return wrong(fill, "low", fill->low, within);
	if (!(fabs(fill->high) <= most))
		return wrong(fill, "high", fill->high, within);
	if (!(fill->high - fill->low <= most_computed(fill)))
		return wrong(fill, "high - low", fill->high - fill->low,
			     within);
	if (fill->low >= fill->high)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: the range [low, high) = [%g, %g) of "
				  "dist uniform is empty",
				  fill->low, fill->high);
	fill_ends(fill, &bottom, &top);
	if (bottom > top)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: no number of dtype %s is in [low, "
				  "high) = [%.17g, %.17g)",
				  fill_dtype_name(fill->dtype), fill->low,
				  fill->high);
	return PHILOX_OK;
}

/* What is rounded to 0 would make a constant of every number. */
static int is_above_0(const struct philox_fill *fill, double std)
{
	return fill->dtype == PHILOX_F64 ? std > 0 : (float)std > 0;
}

static enum philox_status check_mean_std(const struct philox_fill *fill)
{
	double most = most_computed(fill);

	if (!(fabs(fill->mean) <= most))
		return wrong(fill, "mean", fill->mean, "finite");
	if (!(is_above_0(fill, fill->std) && fill->std <= most))
		return wrong(fill, "std", fill->std,
			     "finite and above 0 as computed with");
	return PHILOX_OK;
}

static enum philox_status check_rate(const struct philox_fill *fill)
{
	double most = most_computed(fill);

	if (!(fill->rate > 0 && fill->rate <= most && 1 / fill->rate <= most))
		return wrong(fill, "rate", fill->rate,
			     "above 0 and finite, with 1 / rate finite too");
	return PHILOX_OK;
}

static enum philox_status reversed(const struct philox_fill *fill)
{
	if (fill->dtype == PHILOX_I32 || fill->dtype == PHILOX_I64)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: the range from %" PRId64 " to %" PRId64
				  " of dist integers, dtype %s, is reversed",
				  (int64_t)fill->from, (int64_t)fill->to,
				  fill_dtype_name(fill->dtype));
	return status_set(PHILOX_ERROR_INVALID,
			  "fill: the range from %" PRIu64 " to %" PRIu64
			  " of dist integers, dtype %s, is reversed",
			  fill->from, fill->to, fill_dtype_name(fill->dtype));
}

static enum philox_status check_integers(const struct philox_fill *fill)
{
	int64_t from = (int64_t)fill->from, to = (int64_t)fill->to;
	int is_signed = fill->dtype == PHILOX_I32 || fill->dtype == PHILOX_I64;

	if (is_signed ? from > to : fill->from > fill->to)
		return reversed(fill);
	if ((fill->dtype == PHILOX_U32 && fill->to > UINT32_MAX) ||
	    (fill->dtype == PHILOX_I32 && (from < INT32_MIN || to > INT32_MAX)))
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: the range from %" PRId64 " to %" PRId64
				  " of dist integers does not fit dtype %s",
				  from, to, fill_dtype_name(fill->dtype));
	return PHILOX_OK;
}

static enum philox_status check_parameters(const struct philox_fill *fill)
{
	switch (fill->dist) {
	case PHILOX_UNIFORM:
		return check_range(fill);
	case PHILOX_NORMAL:
	case PHILOX_LOG_NORMAL:
		return check_mean_std(fill);
	case PHILOX_EXPONENTIAL:
		return check_rate(fill);
	case PHILOX_BERNOULLI:
	case PHILOX_DROPOUT:
		return check_p(fill);
	case PHILOX_INTEGERS:
		return check_integers(fill);
	case PHILOX_BITS:
	case PHILOX_GUMBEL:
	case PHILOX_STOCHASTIC_ROUND:
		break;
	}
	return PHILOX_OK;
}

/* --- spans ---------------------------------------------------------------- */

static uint64_t rows_of(const struct philox_span *span)
{
	return span->rows ? span->rows : 1;
}

static enum philox_status check_last(const struct philox_span *span)
{
	uint64_t last;

	if (!__builtin_mul_overflow(rows_of(span) - 1, span->row_stride,
				    &last) &&
	    !__builtin_add_overflow(last, span->count - 1, &last) &&
	    !__builtin_add_overflow(last, span->first, &last))
		return PHILOX_OK;
	return status_set(
		PHILOX_ERROR_OVERFLOW,
		"fill: span first %" PRIu64 " + count %" PRIu64
		", rows %" PRIu64 " of stride %" PRIu64 ", is past 2^64",
		span->first, span->count, span->rows, span->row_stride);
}

static enum philox_status check_bytes(const struct philox_fill *fill)
{
	size_t size =
		in_size(fill) > out_size(fill) ? in_size(fill) : out_size(fill);
	size_t bytes;

	if (!__builtin_mul_overflow(rows_of(&fill->span), fill->span.count,
				    &bytes) &&
	    !__builtin_mul_overflow(bytes, size, &bytes))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "fill: span count %" PRIu64 ", rows %" PRIu64
			  ", of dtype %s is past 2^64 bytes",
			  fill->span.count, fill->span.rows,
			  fill_dtype_name(fill->dtype));
}

static enum philox_status check_span(const struct philox_fill *fill)
{
	const struct philox_span *span = &fill->span;
	enum philox_status status;

	if (!span->count)
		return PHILOX_OK;
	if (rows_of(span) > 1 && span->row_stride < span->count)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: span row_stride %" PRIu64
				  " is below count %" PRIu64
				  ": its rows overlap",
				  span->row_stride, span->count);
	status = check_last(span);
	return status != PHILOX_OK ? status : check_bytes(fill);
}

/* --- arrays --------------------------------------------------------------- */

static enum philox_status check_overlap(const struct philox_fill *fill)
{
	uintptr_t in = (uintptr_t)fill->in, out = (uintptr_t)fill->out;
	uint64_t elements = fill->span.count * rows_of(&fill->span);
	int apart = in > out ? in - out >= elements * out_size(fill)
			     : out - in >= elements * in_size(fill);

	if (apart || (in == out && in_size(fill) == out_size(fill)))
		return PHILOX_OK;
	return status_set(
		PHILOX_ERROR_INVALID, "fill: in (%p) and out (%p) overlap%s",
		fill->in, fill->out,
		in == out ? ", and their dtypes differ" : " and are not equal");
}

/* An empty span needs no arrays. */
static enum philox_status check_arrays(const struct philox_fill *fill)
{
	enum philox_status status;

	if (!fill->span.count)
		return PHILOX_OK;
	status = fill_check_array("fill", "out", fill->out, fill->dtype);
	if (status != PHILOX_OK || !fill_has_input(fill))
		return status;
	status = fill_check_array("fill", "in", fill->in, in_dtype(fill));
	return status != PHILOX_OK ? status : check_overlap(fill);
}

/* --- the state, and all of it --------------------------------------------- */

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

enum philox_status fill_take(const struct philox_fill *given,
			     struct fill_taken *copy)
{
	const struct philox_layout *layout;
	enum philox_status status;

	if (!given)
		return status_set(PHILOX_ERROR_INVALID, "fill is NULL");
	status = options_copy("fill", given, given->size, FILL_SIZE_FIRST,
			      sizeof(copy->fill), &copy->fill);
	if (status != PHILOX_OK || !copy->fill.layout)
		return status;
	layout = copy->fill.layout;
	copy->fill.layout = &copy->layout;
	return options_copy("fill: layout", layout, layout->size,
			    LAYOUT_SIZE_FIRST, sizeof(copy->layout),
			    &copy->layout);
}

enum philox_status fill_check_op(const struct philox_fill *fill)
{
	enum philox_status status = check_kind(fill);

	if (status == PHILOX_OK)
		status = check_parameters(fill);
	if (status == PHILOX_OK)
		status = check_span(fill);
	return status == PHILOX_OK ? layout_check(fill) : status;
}

enum philox_status fill_check(const struct philox_rng *rng,
			      const struct philox_fill *fill)
{
	enum philox_status status = fill_check_op(fill);

	if (status == PHILOX_OK)
		status = check_arrays(fill);
	if (status == PHILOX_OK)
		status = check_rng(rng);
	return status;
}
