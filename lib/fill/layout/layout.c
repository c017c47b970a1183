/*
 * lib/fill/layout/layout.c - a fill's arguments in other libraries' layouts
 *
 * The formulas and their sources: philox/fill.h.
 */
#include <inttypes.h>
#include <math.h>
#include "lib/dist/dist.h"
#include "lib/fill/layout/elements.h"
#include "lib/fill/layout/layout.h"

/* The threads of PyTorch's blocks. */
#define BLOCK 256

static const struct philox_layout_desc *layout_of(
	const struct philox_fill_desc *fill)
{
	return fill->layout;
}

/* The element after the last one of a fill's span, 2^64 - 1 at most. */
static uint64_t span_end(const struct philox_fill_desc *fill)
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

/* --- grids ---------------------------------------------------------------- */

static uint64_t round_up(uint64_t n, uint64_t of)
{
	return n / of * of + (n % of ? of : 0);
}

static uint64_t pytorch_threads(const struct philox_layout_desc *layout)
{
	uint64_t blocks = round_up(layout->elements, BLOCK) / BLOCK;
	uint64_t most =
		(uint64_t)layout->sms * (layout->threads_per_sm / BLOCK);

	return BLOCK * (blocks < most ? blocks : most);
}

static int is_64_bit(const struct philox_fill_desc *fill)
{
	return fill->dtype == PHILOX_DTYPE_F64 ||
	       (fill->dist == PHILOX_DIST_BITS &&
		fill->dtype == PHILOX_DTYPE_U64);
}

/* How many elements a block makes. */
static uint32_t pytorch_unroll(const struct philox_fill_desc *fill)
{
	const uint64_t wide = (uint64_t)1 << 28;
	uint64_t range = fill->to - fill->from + 1;

	if (fill->dist == PHILOX_DIST_DROPOUT)
		return 4;
	if (fill->dist == PHILOX_DIST_INTEGERS)
		return !range || range >= wide ? 2 : 4;
	return is_64_bit(fill) ? 2 : 4;
}

static uint32_t pytorch_vector(const struct philox_fill_desc *fill)
{
	uint32_t vector = fill->layout->vector;

	if (!vector)
		vector = fill->dtype == PHILOX_DTYPE_F32   ? 4
			 : fill->dtype == PHILOX_DTYPE_F64 ? 2
							   : 8;
	while (fill->layout->elements % vector)
		vector /= 2;
	return vector;
}

static void set_pytorch(const struct philox_fill_desc *fill,
			struct layout_args *args)
{
	args->map = LAYOUT_GRID;
	args->threads = pytorch_threads(layout_of(fill));
	args->unroll = pytorch_unroll(fill);
	if (fill->dist != PHILOX_DIST_DROPOUT)
		return;
	args->vector = pytorch_vector(fill);
	if (args->vector > 1)
		args->map = LAYOUT_VECTORS;
}

/* One element per word, or for f64 one per pair of words; but
 * curand_uniform_double() takes one word. */
static void set_curand_device(const struct philox_fill_desc *fill,
			      struct layout_args *args)
{
	args->threads = layout_of(fill)->threads;
	args->map = args->threads ? LAYOUT_GRID : LAYOUT_BLOCKS;
	args->one_word = args->threads && fill->dist == PHILOX_DIST_UNIFORM;
	args->unroll = is_64_bit(fill) && !args->one_word ? 2 : 4;
}

static void set_map(const struct philox_fill_desc *fill,
		    struct layout_args *args)
{
	args->unroll = is_64_bit(fill) ? 2 : 4;
	switch (layout_of(fill)->kind) {
	case PHILOX_LAYOUT_DEFAULT:
		break;
	case PHILOX_LAYOUT_CURAND_DEVICE:
		set_curand_device(fill, args);
		break;
	case PHILOX_LAYOUT_CURAND_HOST:
		args->map = is_64_bit(fill) ? LAYOUT_HOST_F64 : LAYOUT_HOST;
		break;
	case PHILOX_LAYOUT_PYTORCH:
		set_pytorch(fill, args);
		break;
	case PHILOX_LAYOUT_NVFUSER:
		args->map = LAYOUT_BLOCKS;
		break;
	case PHILOX_LAYOUT_TRITON:
		args->map = LAYOUT_COUNTER;
		break;
	case PHILOX_LAYOUT_JAX:
		args->map = LAYOUT_SWAPPED;
		break;
	}
}

/* --- parameters ----------------------------------------------------------- */

/*
 * nvFuser takes its range in f32 whatever the dtype, but compares in the dtype.
 */
static void set_uniform(const struct philox_fill_desc *fill,
			struct layout_args *args)
{
	enum philox_layout_kind kind = layout_of(fill)->kind;
	enum philox_dtype dtype = fill->dtype;
	enum philox_dtype given =
		kind == PHILOX_LAYOUT_NVFUSER ? PHILOX_DTYPE_F32 : dtype;
	float low = layout_to_dtype(given, (float)fill->low);
	float high = layout_to_dtype(given, (float)fill->high);
	int is_16_bit = dtype == PHILOX_DTYPE_BF16 || dtype == PHILOX_DTYPE_F16;

	args->fill.f32.scale = layout_to_dtype(given, high - low);
	args->fill.f32.shift = low;
	args->fill.f32.top = layout_to_dtype(dtype, high);
	args->fill.f64.scale = fill->high - fill->low;
	args->fill.f64.shift = fill->low;
	args->fill.f64.top = fill->high;
	args->no_top = kind == PHILOX_LAYOUT_PYTORCH ||
		       (kind == PHILOX_LAYOUT_NVFUSER && is_16_bit);
	args->no_one = kind == PHILOX_LAYOUT_NVFUSER && !is_16_bit;
}

static void set_bernoulli(const struct philox_fill_desc *fill,
			  struct layout_args *args)
{
	args->fill.f32.top = (float)fill->p;
	args->fill.f64.top = fill->p;
}

/*
 * The scale of elements that are kept: 1 / (1 - p), which is rounded to f32
 * after the division by nvFuser and Triton, and before it by PyTorch.
 */
static void set_dropout(const struct philox_fill_desc *fill,
			struct layout_args *args)
{
	enum philox_layout_kind kind = layout_of(fill)->kind;
	double keep = 1 - fill->p;

	args->no_one = kind == PHILOX_LAYOUT_NVFUSER;
	args->nothing = fill->p == 1 && kind != PHILOX_LAYOUT_NVFUSER;
	args->fill.f64.top = keep;
	args->fill.f32.top = (float)keep;
	/* for p = 0 torch.compile does no dropout */
	args->fill.f32.bottom = fill->p == 0 ? -1.0f : (float)fill->p;
	args->fill.f64.scale = keep > 0 ? 1 / keep : 1;
	args->fill.f32.scale = (float)args->fill.f64.scale;
	if (kind == PHILOX_LAYOUT_PYTORCH && keep > 0)
		args->fill.f32.scale = 1.0f / (float)keep;
}

static void set_exponential(const struct philox_fill_desc *fill,
			    struct layout_args *args)
{
	args->fill.f32.scale = 1.0f / (float)fill->rate;
	args->fill.f64.scale = 1 / fill->rate;
}

static void set_parameters(const struct philox_fill_desc *fill,
			   struct layout_args *args)
{
	switch (fill->dist) {
	case PHILOX_DIST_UNIFORM:
		set_uniform(fill, args);
		break;
	case PHILOX_DIST_BERNOULLI:
		set_bernoulli(fill, args);
		break;
	case PHILOX_DIST_DROPOUT:
		set_dropout(fill, args);
		break;
	case PHILOX_DIST_EXPONENTIAL:
		set_exponential(fill, args);
		break;
	default: /* as without a layout */
		args->no_one = layout_of(fill)->kind == PHILOX_LAYOUT_NVFUSER;
		break;
	}
}

void layout_args(const struct philox_fill_desc *fill, struct layout_args *args)
{
	args->kind = (uint32_t)layout_of(fill)->kind;
	args->dist = (uint32_t)fill->dist;
	args->dtype = (uint32_t)fill->dtype;
	args->threads = 1;
	args->unroll = 1;
	args->vector = 1;
	args->no_one = args->no_top = args->one_word = args->nothing = 0;
	set_map(fill, args);
	set_parameters(fill, args);
}

enum kernel layout_kernel(enum philox_dtype dtype)
{
	switch (dtype) {
	case PHILOX_DTYPE_U32:
	case PHILOX_DTYPE_I32:
		return KERNEL_layout_u32;
	case PHILOX_DTYPE_U64:
	case PHILOX_DTYPE_I64:
		return KERNEL_layout_u64;
	case PHILOX_DTYPE_F32:
		return KERNEL_layout_f32;
	case PHILOX_DTYPE_F64:
		return KERNEL_layout_f64;
	case PHILOX_DTYPE_BF16:
		return KERNEL_layout_bf16;
	case PHILOX_DTYPE_F16:
		return KERNEL_layout_f16;
	}
	return KERNEL_NONE;
}

/* --- advances ------------------------------------------------------------- */

/* Elements of the op: the tensor's, or those up to the span's end. */
static uint64_t op_elements(const struct philox_fill_desc *fill)
{
	return fill->layout->elements ? fill->layout->elements : span_end(fill);
}

/* ceil(n / of) blocks of 4 words. */
static uint64_t blocks_of(uint64_t n, uint64_t of)
{
	return round_up(n, of) / of * 4;
}

static uint64_t pytorch_advance(const struct philox_fill_desc *fill)
{
	uint64_t threads = pytorch_threads(fill->layout);

	if (fill->dist == PHILOX_DIST_DROPOUT && fill->p == 1)
		return 0;
	return blocks_of(fill->layout->elements,
			 threads * pytorch_unroll(fill));
}

static uint64_t curand_device_advance(const struct philox_fill_desc *fill)
{
	struct layout_args args;

	layout_args(fill, &args);
	if (!args.threads)
		return 4;
	return blocks_of(op_elements(fill), args.threads * args.unroll);
}

static uint64_t advance_of(const struct philox_fill_desc *fill)
{
	switch (layout_of(fill)->kind) {
	case PHILOX_LAYOUT_CURAND_DEVICE:
		return curand_device_advance(fill);
	case PHILOX_LAYOUT_CURAND_HOST:
		return blocks_of(op_elements(fill), 4);
	case PHILOX_LAYOUT_PYTORCH:
		return pytorch_advance(fill);
	case PHILOX_LAYOUT_TRITON:
	case PHILOX_LAYOUT_JAX:
		return 4 * op_elements(fill);
	case PHILOX_LAYOUT_DEFAULT:
	case PHILOX_LAYOUT_NVFUSER:
		break;
	}
	return 4;
}

/* A fill alone may end anywhere, but 4 words for each element must fit. */
static enum philox_status check_tensor_end(const struct philox_fill_desc *fill)
{
	if (op_elements(fill) <= UINT64_MAX / 4)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "fill: the span ends at %" PRIu64
			  ", and an advance of layout %s at 2^62",
			  span_end(fill),
			  philox_layout_name(layout_of(fill)->kind));
}

enum philox_status layout_advance(const struct philox_fill_desc *fill,
				  uint64_t *words)
{
	enum philox_status status = check_tensor_end(fill);

	if (status == PHILOX_OK)
		*words = advance_of(fill);
	return status;
}

/* --- check: whether a fill's layout allows the fill ----------------------- */

/* Sets of dtypes. */
#define U32   (1u << PHILOX_DTYPE_U32)
#define U64   (1u << PHILOX_DTYPE_U64)
#define F32   (1u << PHILOX_DTYPE_F32)
#define F64   (1u << PHILOX_DTYPE_F64)
#define HALF  (1u << PHILOX_DTYPE_BF16 | 1u << PHILOX_DTYPE_F16)
#define REAL  (F32 | F64 | HALF)
#define WHOLE (U32 | U64 | 1u << PHILOX_DTYPE_I32 | 1u << PHILOX_DTYPE_I64)

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
	{PHILOX_LAYOUT_CURAND_DEVICE, PHILOX_DIST_BITS, U32},
	{PHILOX_LAYOUT_CURAND_DEVICE, PHILOX_DIST_UNIFORM, F32 | F64},
	{PHILOX_LAYOUT_CURAND_DEVICE, PHILOX_DIST_NORMAL, F32 | F64},
	{PHILOX_LAYOUT_CURAND_HOST, PHILOX_DIST_BITS, U32},
	{PHILOX_LAYOUT_CURAND_HOST, PHILOX_DIST_UNIFORM, F32 | F64},
	{PHILOX_LAYOUT_CURAND_HOST, PHILOX_DIST_NORMAL, F32 | F64},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_DIST_BITS, U32 | U64},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_DIST_INTEGERS, WHOLE},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_DIST_UNIFORM, REAL},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_DIST_NORMAL, REAL},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_DIST_LOG_NORMAL, REAL},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_DIST_EXPONENTIAL, REAL},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_DIST_BERNOULLI, REAL},
	{PHILOX_LAYOUT_PYTORCH, PHILOX_DIST_DROPOUT, REAL},
	{PHILOX_LAYOUT_NVFUSER, PHILOX_DIST_UNIFORM, REAL},
	{PHILOX_LAYOUT_NVFUSER, PHILOX_DIST_NORMAL, REAL},
	{PHILOX_LAYOUT_NVFUSER, PHILOX_DIST_DROPOUT, F32},
	{PHILOX_LAYOUT_TRITON, PHILOX_DIST_BITS, U32},
	{PHILOX_LAYOUT_TRITON, PHILOX_DIST_UNIFORM, F32},
	{PHILOX_LAYOUT_TRITON, PHILOX_DIST_NORMAL, F32},
	{PHILOX_LAYOUT_TRITON, PHILOX_DIST_DROPOUT, F32 | HALF},
	{PHILOX_LAYOUT_JAX, PHILOX_DIST_BITS, U32 | U64},
	{PHILOX_LAYOUT_JAX, PHILOX_DIST_UNIFORM, REAL},
	{PHILOX_LAYOUT_JAX, PHILOX_DIST_BERNOULLI, REAL},
};

const char *philox_layout_name(enum philox_layout_kind kind)
{
	return (unsigned)kind < N_LAYOUTS ? names[kind] : "?";
}

static const char *name_of(const struct philox_fill_desc *fill)
{
	return philox_layout_name(fill->layout->kind);
}

/* --- what the original has ------------------------------------------------ */

static enum philox_status check_layout_kind(const struct philox_fill_desc *fill)
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

static enum philox_status check_layout_dist(const struct philox_fill_desc *fill)
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
static int has_range(const struct philox_fill_desc *fill)
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

static enum philox_status check_layout_range(
	const struct philox_fill_desc *fill)
{
	if (fill->dist != PHILOX_DIST_UNIFORM || has_range(fill))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "fill: layout %s cannot take [low, high) = [%g, "
			  "%g) (dtype %s)",
			  name_of(fill), fill->low, fill->high,
			  fill_dtype_name(fill->dtype));
}

/* --- elements ------------------------------------------------------------- */

static enum philox_status check_tensor_elements(
	const struct philox_fill_desc *fill)
{
	uint64_t elements = fill->layout->elements;

	if (!elements && fill->layout->kind == PHILOX_LAYOUT_PYTORCH)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: elements of layout pytorch is 0");
	if (elements && span_end(fill) > elements)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: elements of layout %s is %" PRIu64
				  ", but the span ends at %" PRIu64,
				  name_of(fill), elements, span_end(fill));
	return PHILOX_OK;
}

/* TRITON and JAX advance by 4 for each element. */
static enum philox_status check_tensor_advance(
	const struct philox_fill_desc *fill)
{
	if (fill->layout->elements <= UINT64_MAX / 4)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "fill: elements of layout %s, %" PRIu64
			  ", is past 2^62",
			  name_of(fill), fill->layout->elements);
}

/* --- PyTorch -------------------------------------------------------------- */

static enum philox_status check_gpu(const struct philox_layout_desc *layout)
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

static enum philox_status check_vector(const struct philox_layout_desc *layout)
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
static enum philox_status check_tensor_bytes(
	const struct philox_fill_desc *fill)
{
	uint64_t size = fill_dtype_size(fill->dtype);

	if (fill->dist == PHILOX_DIST_DROPOUT ||
	    fill->layout->elements - 1 <= (INT32_MAX - 1) / size)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "fill: elements of layout pytorch is %" PRIu64
			  ", dtype %s: a tensor of more than 2^31 - 1 bytes is "
			  "drawn in parts there",
			  fill->layout->elements, fill_dtype_name(fill->dtype));
}

static enum philox_status check_pytorch(const struct philox_fill_desc *fill)
{
	enum philox_status status = check_gpu(fill->layout);

	if (status == PHILOX_OK)
		status = check_vector(fill->layout);
	return status != PHILOX_OK ? status : check_tensor_bytes(fill);
}

enum philox_status layout_check(const struct philox_fill_desc *fill)
{
	const struct philox_layout_desc *layout = fill->layout;
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
