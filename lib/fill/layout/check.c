/*
 * lib/fill/layout/check.c - see lib/fill/layout/check.h
 */
#include <inttypes.h>
#include <math.h>
#include "lib/dist/dists.h"
#include "lib/dist/dtypes.h"
#include "lib/fill/layout/check.h"
#include "lib/fill/layout/layout.h"

/* Sets of dtypes. */
#define U32   (1u << PHILOX_U32)
#define U64   (1u << PHILOX_U64)
#define F32   (1u << PHILOX_F32)
#define F64   (1u << PHILOX_F64)
#define HALF  (1u << PHILOX_BF16 | 1u << PHILOX_F16)
#define REAL  (F32 | F64 | HALF)
#define WHOLE (U32 | U64 | 1u << PHILOX_I32 | 1u << PHILOX_I64)

static const char *const names[] = {
	[PHILOX_LAYOUT_DEFAULT] = "default",
	[PHILOX_LAYOUT_CURAND_DEVICE] = "curand_device",
	[PHILOX_LAYOUT_CURAND_HOST] = "curand_host",
	[PHILOX_LAYOUT_PYTORCH] = "pytorch",
	[PHILOX_LAYOUT_NVFUSER] = "nvfuser",
	[PHILOX_LAYOUT_TRITON] = "triton",
	[PHILOX_LAYOUT_JAX] = "jax",
};

#define N_LAYOUTS (sizeof(names) / sizeof(names[0]))

/* The dists and dtypes that each layout has. */
static const struct {
	enum philox_layout_kind kind;
	enum philox_dist dist;
	unsigned dtypes;
} fills[] = {
	{PHILOX_LAYOUT_CURAND_DEVICE, PHILOX_BITS, U32},
	{PHILOX_LAYOUT_CURAND_DEVICE, PHILOX_UNIFORM, F32 | F64},
	{PHILOX_LAYOUT_CURAND_DEVICE, PHILOX_NORMAL, F32 | F64},
	{PHILOX_LAYOUT_CURAND_HOST, PHILOX_BITS, U32},
	{PHILOX_LAYOUT_CURAND_HOST, PHILOX_UNIFORM, F32 | F64},
	{PHILOX_LAYOUT_CURAND_HOST, PHILOX_NORMAL, F32 | F64},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_BITS, U32 | U64},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_INTEGERS, WHOLE},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_UNIFORM, REAL},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_NORMAL, REAL},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_LOG_NORMAL, REAL},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_EXPONENTIAL, REAL},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_BERNOULLI, REAL},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_DROPOUT, REAL},
	{PHILOX_LAYOUT_NVFUSER, PHILOX_UNIFORM, REAL},
	{PHILOX_LAYOUT_NVFUSER, PHILOX_NORMAL, REAL},
	{PHILOX_LAYOUT_NVFUSER, PHILOX_DROPOUT, F32},
	{PHILOX_LAYOUT_TRITON, PHILOX_BITS, U32},
	{PHILOX_LAYOUT_TRITON, PHILOX_UNIFORM, F32},
	{PHILOX_LAYOUT_TRITON, PHILOX_NORMAL, F32},
	{PHILOX_LAYOUT_TRITON, PHILOX_DROPOUT, F32 | HALF},
	{PHILOX_LAYOUT_JAX, PHILOX_BITS, U32 | U64},
	{PHILOX_LAYOUT_JAX, PHILOX_UNIFORM, REAL},
	{PHILOX_LAYOUT_JAX, PHILOX_BERNOULLI, REAL},
};

const char *philox_layout_name(enum philox_layout_kind kind)
{
	return (unsigned)kind < N_LAYOUTS ? names[kind] : "?";
}

static const char *name_of(const struct philox_fill *fill)
{
	return philox_layout_name(fill->layout->kind);
}

/* --- what the original has ------------------------------------------------ */

static enum philox_status check_layout_kind(const struct philox_fill *fill)
{
	if ((unsigned)fill->layout->kind >= N_LAYOUTS)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: layout %u is unknown",
				  (unsigned)fill->layout->kind);
	return PHILOX_OK;
}

int layout_has(enum philox_layout_kind kind, enum philox_dist dist,
	       enum philox_dtype dtype)
{
	for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++)
		if (fills[i].kind == kind && fills[i].dist == dist)
			return fills[i].dtypes >> dtype & 1;
	return 0;
}

static enum philox_status check_layout_dist(const struct philox_fill *fill)
{
	if (layout_has(fill->layout->kind, fill->dist, fill->dtype))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "fill: layout %s has no dist %s of dtype %s",
			  name_of(fill), fill_dist_name(fill->dist),
			  fill_dtype_name(fill->dtype));
}

static int is_power_of_two(double x)
{
	int exponent;

	return frexp(x, &exponent) == 0.5;
}

/*
 * PyTorch refuses a range longer than its dtype's largest number. JAX's
 * compiler may or may not fuse a product and a sum: both must be equal.
 */
static int has_range(const struct philox_fill *fill)
{
	double low = fill->low, high = fill->high;

	switch (fill->layout->kind) {
	case PHILOX_LAYOUT_PYTORCH:
		return high - low <= fill_largest(fill->dtype);
	case PHILOX_LAYOUT_NVFUSER:
		return 1;
	case PHILOX_LAYOUT_JAX:
		return low == 0 || is_power_of_two(high - low);
	default:
		return low == 0 && high == 1;
	}
}

static enum philox_status check_layout_range(const struct philox_fill *fill)
{
	if (fill->dist != PHILOX_UNIFORM || has_range(fill))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "fill: layout %s has no range [low, high) = [%g, %g) "
			  "of its own (dtype %s)",
			  name_of(fill), fill->low, fill->high,
			  fill_dtype_name(fill->dtype));
}

/* --- elements ------------------------------------------------------------- */

uint64_t layout_span_end(const struct philox_fill *fill)
{
	const struct philox_span *span = &fill->span;
	uint64_t last = span->first;

	if (!span->count)
		return span->first;
	if (span->rows > 1)
		last += (span->rows - 1) * span->row_stride;
	last += span->count - 1;
	return last == UINT64_MAX ? last : last + 1;
}

static enum philox_status check_tensor_elements(const struct philox_fill *fill)
{
	uint64_t elements = fill->layout->elements;

	if (!elements && fill->layout->kind == PHILOX_LAYOUT_PYTORCH)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: elements of layout pytorch is 0");
	if (elements && layout_span_end(fill) > elements)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: elements of layout %s is %" PRIu64
				  ", but the span ends at %" PRIu64,
				  name_of(fill), elements,
				  layout_span_end(fill));
	return PHILOX_OK;
}

/* TRITON and JAX advance by 4 for each element. */
static enum philox_status check_tensor_advance(const struct philox_fill *fill)
{
	if (fill->layout->elements <= UINT64_MAX / 4)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "fill: elements of layout %s, %" PRIu64
			  ", is past 2^62",
			  name_of(fill), fill->layout->elements);
}

/* --- PyTorch -------------------------------------------------------------- */

static enum philox_status check_gpu(const struct philox_layout *layout)
{
	/* PyTorch counts 4 elements a thread in 32 bits */
	const uint64_t most = (uint64_t)1 << 30;

	if (!layout->sms)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: sms of layout pytorch is 0");
	if (layout->threads_per_sm < 256)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: threads_per_sm of layout pytorch is "
				  "%" PRIu32 ", below 256",
				  layout->threads_per_sm);
	if ((uint64_t)layout->sms * layout->threads_per_sm >= most)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: layout pytorch, sms %" PRIu32
				  ", threads_per_sm %" PRIu32
				  ": more than 2^30 threads",
				  layout->sms, layout->threads_per_sm);
	return PHILOX_OK;
}

static enum philox_status check_vector(const struct philox_layout *layout)
{
	uint32_t vector = layout->vector;

	if (vector <= 8 && (vector & (vector - 1)) == 0)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "fill: vector of layout pytorch is %" PRIu32
			  ", not 0, 1, 2, 4 or 8",
			  vector);
}

/* PyTorch cuts a larger tensor into parts that are separate ops. */
static enum philox_status check_tensor_bytes(const struct philox_fill *fill)
{
	uint64_t size = fill_dtype_size(fill->dtype);

	if (fill->dist == PHILOX_DROPOUT ||
	    fill->layout->elements - 1 <= (INT32_MAX - 1) / size)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "fill: elements of layout pytorch is %" PRIu64
			  ", dtype %s: a tensor of more than 2^31 - 1 bytes is "
			  "drawn in parts there",
			  fill->layout->elements, fill_dtype_name(fill->dtype));
}

static enum philox_status check_pytorch(const struct philox_fill *fill)
{
	enum philox_status status = check_gpu(fill->layout);

	if (status == PHILOX_OK)
		status = check_vector(fill->layout);
	return status != PHILOX_OK ? status : check_tensor_bytes(fill);
}

enum philox_status layout_check(const struct philox_fill *fill)
{
	const struct philox_layout *layout = fill->layout;
	enum philox_status status;

	if (!layout)
		return PHILOX_OK;
	status = check_layout_kind(fill);
	if (status != PHILOX_OK || !layout_is_other(fill))
		return status;
	status = check_layout_dist(fill);
	if (status == PHILOX_OK)
		status = check_layout_range(fill);
	if (status == PHILOX_OK)
		status = check_tensor_elements(fill);
	if (status == PHILOX_OK)
		status = check_tensor_advance(fill);
	if (status == PHILOX_OK && layout->kind == PHILOX_LAYOUT_PYTORCH)
		status = check_pytorch(fill);
	return status;
}
