/*
 * lib/fill/check.c - see lib/fill/check.h
 */
#include <inttypes.h>
#include "lib/fill/check.h"
#include "lib/dist/dists.h"
#include "lib/dist/dtypes.h"
#include "lib/fill/layout/check.h"
#include "lib/base/options.h"

/* The sizes of the structs' first versions. */
#define FILL_SIZE_FIRST OPTIONS_FIRST(struct philox_fill, layout)
OPTIONS_NO_PADDING(struct philox_fill, layout);
#define LAYOUT_SIZE_FIRST OPTIONS_FIRST(struct philox_layout, reserved)
OPTIONS_NO_PADDING(struct philox_layout, reserved);

static const struct fill_form *form_of(const struct philox_fill *fill)
{
	return fill_form(fill->dist, fill->dtype);
}

/* The size of an element, of the output or the input. */
static size_t out_size(const struct philox_fill *fill)
{
	return fill_dtype_size(fill->dtype);
}

static size_t in_size(const struct philox_fill *fill)
{
	return fill_dtype_size(form_of(fill)->in);
}

static enum philox_status check_kind(const struct philox_fill *fill)
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
	if (status != PHILOX_OK || !(form_of(fill)->traits & FILL_READS))
		return status;
	status = fill_check_array("fill", "in", fill->in, form_of(fill)->in);
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
	status = options_copy("fill: layout", layout, layout->size,
			      LAYOUT_SIZE_FIRST, sizeof(copy->layout),
			      &copy->layout);
	return status == PHILOX_OK
		       ? options_check_reserved("fill: layout",
						copy->layout.reserved)
		       : status;
}

enum philox_status fill_check_op(const struct philox_fill *fill)
{
	enum philox_status status = check_kind(fill);

	if (status == PHILOX_OK)
		status = fill_check_parameters(fill);
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
