/*
 * lib/dist/dists.c - distributions: their names, forms and parameters
 *
 * First the distributions' parameters, how they are checked and converted; then
 * the table, made from that of lib/device/kernels.h.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include "lib/dist/dist.h"

/* --- dtypes: their names, sizes and numbers ------------------------------- */

static const struct {
	const char *name;
	size_t size;
} dtypes[] = {
	[PHILOX_DTYPE_U32] = {"u32", 4}, [PHILOX_DTYPE_U64] = {"u64", 8},
	[PHILOX_DTYPE_I32] = {"i32", 4}, [PHILOX_DTYPE_I64] = {"i64", 8},
	[PHILOX_DTYPE_F32] = {"f32", 4}, [PHILOX_DTYPE_F64] = {"f64", 8},
	[PHILOX_DTYPE_F16] = {"f16", 2}, [PHILOX_DTYPE_BF16] = {"bf16", 2}};

const char *fill_dtype_name(enum philox_dtype dtype)
{
	if ((unsigned)dtype >= sizeof(dtypes) / sizeof(dtypes[0]))
		return NULL;
	return dtypes[dtype].name;
}

size_t fill_dtype_size(enum philox_dtype dtype)
{
	return dtypes[dtype].size;
}

enum philox_status fill_check_dtype(const char *what, enum philox_dtype dtype)
{
	if (fill_dtype_name(dtype))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID, "%s: dtype %u is unknown", what,
			  (unsigned)dtype);
}

enum philox_status fill_check_array(const char *what, const char *name,
				    const void *array, enum philox_dtype dtype)
{
	size_t size = fill_dtype_size(dtype);

	if (!array)
		return status_set(PHILOX_ERROR_INVALID, "%s: %s is NULL", what,
				  name);
	if ((uintptr_t)array % size)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s: %s (%p) is not aligned to the %zu bytes "
				  "of %s",
				  what, name, array, size,
				  fill_dtype_name(dtype));
	return PHILOX_OK;
}

/* --- numbers -------------------------------------------------------------- */

/* Digits of the fraction, the least exponent and the largest number. */
struct format {
	int digits;
	int least;
	double largest;
};

static struct format format_of(enum philox_dtype dtype)
{
	switch (dtype) {
	case PHILOX_DTYPE_BF16:
		return (struct format){8, -126, 0x1.fep127};
	case PHILOX_DTYPE_F16:
		return (struct format){11, -14, 65504};
	case PHILOX_DTYPE_F64:
		return (struct format){53, -1022, DBL_MAX};
	default:
		return (struct format){24, -126, FLT_MAX};
	}
}

double fill_largest(enum philox_dtype dtype)
{
	return format_of(dtype).largest;
}

/* The distance between the format's numbers near x. */
static double spacing_at(struct format format, double x)
{
	int exponent = x == 0 ? format.least : ilogb(x);

	if (exponent < format.least)
		exponent = format.least;
	return ldexp(1, exponent - (format.digits - 1));
}

/* The largest number of the format that is below x, which is in its range. */
static double number_below(struct format format, double x)
{
	double spacing = spacing_at(format, x);
	double floored = floor(x / spacing) * spacing;

	if (floored < x)
		return floored;
	/* below a power of two the numbers may be closer */
	spacing = spacing_at(format, x - spacing / 2);
	return x - spacing;
}

/* The least number of the format that is not below x. */
static double number_from(struct format format, double x)
{
	double spacing = spacing_at(format, x);

	return ceil(x / spacing) * spacing + 0.0;
}

/*
 * The least and the largest number of a real dtype in [low, high); bottom > top
 * if there is none.
 */
static void ends_of(enum philox_dtype dtype, double low, double high,
		    double *bottom, double *top)
{
	struct format format = format_of(dtype);

	if (dtype == PHILOX_DTYPE_F64) {
		*bottom = low + 0.0;
		*top = nextafter(high, -INFINITY);
		return;
	}
	*bottom = number_from(format, low);
	*top = number_below(format, high);
}

/* --- parameters -------------------------------------------------------------- */

/*
 * Parameters of a distribution: check() refuses wrong ones, set() puts valid
 * ones into the kernel's arguments. Both are NULL where there are none.
 */
struct fill_parameters {
	enum philox_status (*check)(const struct philox_fill_desc *fill);
	void (*set)(const struct philox_fill_desc *fill,
		    struct fill_args *args);
};

static const struct fill_parameters no_parameters, in_parameters;

/* --- messages and limits -------------------------------------------------- */

static enum philox_status refuse_parameter(const struct philox_fill_desc *fill,
					   const char *name, double value,
					   const char *expected)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "fill: %s of dist %s is %g, not %s (dtype %s)", name,
			  fill_dist_name(fill->dist), value, expected,
			  fill_dtype_name(fill->dtype));
}

/* The dtype of the computation: f64, or f32 for all others. */
static double most_computed(const struct philox_fill_desc *fill)
{
	return fill_largest(fill->dtype == PHILOX_DTYPE_F64 ? PHILOX_DTYPE_F64
							    : PHILOX_DTYPE_F32);
}

static void set_real(struct fill_args *args, double scale, double shift)
{
	args->f64.scale = scale;
	args->f64.shift = shift;
	args->f32.scale = (float)scale;
	args->f32.shift = (float)shift;
	args->plain = scale == 1 && shift == 0;
}

/* --- range ---------------------------------------------------------------- */

static enum philox_status check_range(const struct philox_fill_desc *fill)
{
	double most = fill_largest(fill->dtype), bottom, top;
	const char *within = "within the dtype's finite numbers";

	if (!(fabs(fill->low) <= most))
		return refuse_parameter(fill, "low", fill->low, within);
	if (!(fabs(fill->high) <= most))
		return refuse_parameter(fill, "high", fill->high, within);
	if (!(fill->high - fill->low <= most_computed(fill)))
		return refuse_parameter(fill, "high - low",
					fill->high - fill->low, within);
	if (fill->low >= fill->high)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: the range [low, high) = [%g, %g) of "
				  "dist uniform is empty",
				  fill->low, fill->high);
	ends_of(fill->dtype, fill->low, fill->high, &bottom, &top);
	if (bottom > top)
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: no number of dtype %s is in [low, "
				  "high) = [%.17g, %.17g)",
				  fill_dtype_name(fill->dtype), fill->low,
				  fill->high);
	return PHILOX_OK;
}

/*
 * The short form of a range (lib/dist/ranges.h), if it has one: `step`, where it
 * is exact and finite, and the ends.
 */
static void set_short(enum philox_dtype dtype, struct fill_args *args)
{
	const struct fill_f32_args *f32 = &args->f32;
	struct fill_range_args *ends = &args->ends;

	ends->is_short = !(f32->top == 0 && f32->bottom < 0);
	if (dtype == PHILOX_DTYPE_BF16) {
		ends->is_short &= f32->scale < 8;
		ends->step = ends->is_short ? f32->scale * 0x1p125f : 0;
		ends->bottom = philox_number_to_bf16(f32->bottom) * 0x10001u;
		ends->top = philox_number_to_bf16(f32->top) * 0x10001u;
	} else if (dtype == PHILOX_DTYPE_F16) {
		ends->step = f32->scale;
		ends->bottom = philox_number_to_f16(f32->bottom) * 0x10001u;
		ends->top = philox_number_to_f16(f32->top) * 0x10001u;
	} else {
		ends->is_short &= f32->scale >= 0x1p-102f;
		ends->step = f32->scale * 0x1p-24f;
	}
}

static void set_range(const struct philox_fill_desc *fill,
		      struct fill_args *args)
{
	set_real(args, fill->high - fill->low, fill->low);
	ends_of(fill->dtype, fill->low, fill->high, &args->f64.bottom,
		&args->f64.top);
	args->f32.bottom = (float)args->f64.bottom;
	args->f32.top = (float)args->f64.top;
	if (fill->dtype != PHILOX_DTYPE_F64)
		set_short(fill->dtype, args);
}

static const struct fill_parameters range_parameters = {check_range, set_range};

/* --- mean, std and rate --------------------------------------------------- */

/* A value that is rounded to 0 would make every number a constant. */
static int is_above_0(const struct philox_fill_desc *fill, double std)
{
	return fill->dtype == PHILOX_DTYPE_F64 ? std > 0 : (float)std > 0;
}

static enum philox_status check_mean_std(const struct philox_fill_desc *fill)
{
	double most = most_computed(fill);

	if (!(fabs(fill->mean) <= most))
		return refuse_parameter(fill, "mean", fill->mean, "finite");
	if (!(is_above_0(fill, fill->std) && fill->std <= most))
		return refuse_parameter(fill, "std", fill->std,
					"finite and above 0 when rounded");
	return PHILOX_OK;
}

static void set_mean_std(const struct philox_fill_desc *fill,
			 struct fill_args *args)
{
	set_real(args, fill->std, fill->mean);
}

static const struct fill_parameters mean_std_parameters = {check_mean_std,
							   set_mean_std};

static enum philox_status check_rate(const struct philox_fill_desc *fill)
{
	double most = most_computed(fill);

	if (!(fill->rate > 0 && fill->rate <= most && 1 / fill->rate <= most))
		return refuse_parameter(
			fill, "rate", fill->rate,
			"above 0 and finite, with a finite 1 / rate");
	return PHILOX_OK;
}

static void set_rate(const struct philox_fill_desc *fill,
		     struct fill_args *args)
{
	set_real(args, 1 / fill->rate, 0);
}

static const struct fill_parameters rate_parameters = {check_rate, set_rate};

/* --- mean, std, low and high ----------------------------------------------- */

static enum philox_status refuse_interval(const struct philox_fill_desc *fill,
					  const char *what)
{
	return status_set(PHILOX_ERROR_INVALID,
			  "fill: %s [low, high] = [%.17g, %.17g] of dist %s "
			  "(dtype %s)",
			  what, fill->low, fill->high,
			  fill_dist_name(fill->dist),
			  fill_dtype_name(fill->dtype));
}

/* Whether a number of the dtype is in [low, high]. */
static int has_number(const struct philox_fill_desc *fill)
{
	double most = fill_largest(fill->dtype);
	double low = fill->low < -most ? -most : fill->low;
	double high = fill->high > most ? most : fill->high;

	return low <= high && number_from(format_of(fill->dtype), low) <= high;
}

static enum philox_status check_truncated(const struct philox_fill_desc *fill)
{
	const struct {
		const char *name;
		double value;
	} finite[] = {{"mean", fill->mean},
		      {"low", fill->low},
		      {"high", fill->high},
		      {"low - mean", fill->low - fill->mean},
		      {"high - mean", fill->high - fill->mean}};

	for (size_t i = 0; i < sizeof(finite) / sizeof(finite[0]); i++)
		if (!(fabs(finite[i].value) <= DBL_MAX))
			return refuse_parameter(fill, finite[i].name,
						finite[i].value, "finite");
	if (!(fill->std > 0 && fill->std <= DBL_MAX))
		return refuse_parameter(fill, "std", fill->std,
					"finite and above 0");
	if (fill->low >= fill->high)
		return refuse_interval(fill, "low is not below high:");
	if (!has_number(fill))
		return refuse_interval(fill, "no number of the dtype is in");
	return PHILOX_OK;
}

static void set_truncated(const struct philox_fill_desc *fill,
			  struct fill_args *args)
{
	args->truncated = philox_truncated_of(fill->mean, fill->std, fill->low,
					      fill->high);
}

static const struct fill_parameters truncated_parameters = {check_truncated,
							    set_truncated};

/* --- p -------------------------------------------------------------------- */

static enum philox_status check_p(const struct philox_fill_desc *fill)
{
	if (fill->p >= 0 && fill->p <= 1)
		return PHILOX_OK;
	return refuse_parameter(fill, "p", fill->p, "in [0, 1]");
}

static void set_p(const struct philox_fill_desc *fill, struct fill_args *args)
{
	args->threshold = philox_threshold(fill->p);
	args->f32.scale = philox_dropout_scale(fill->p);
	args->f64.scale = philox_dropout_scale_f64(fill->p);
}

static const struct fill_parameters p_parameters = {check_p, set_p};
static const struct fill_parameters p_in_parameters = {check_p, set_p};

/* --- from and to ---------------------------------------------------------- */

static enum philox_status refuse_reversed(const struct philox_fill_desc *fill)
{
	if (fill->dtype == PHILOX_DTYPE_I32 || fill->dtype == PHILOX_DTYPE_I64)
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

static enum philox_status check_integers(const struct philox_fill_desc *fill)
{
	int64_t from = (int64_t)fill->from, to = (int64_t)fill->to;
	int is_signed = fill->dtype == PHILOX_DTYPE_I32 ||
			fill->dtype == PHILOX_DTYPE_I64;

	if (is_signed ? from > to : fill->from > fill->to)
		return refuse_reversed(fill);
	if ((fill->dtype == PHILOX_DTYPE_U32 && fill->to > UINT32_MAX) ||
	    (fill->dtype == PHILOX_DTYPE_I32 &&
	     (from < INT32_MIN || to > INT32_MAX)))
		return status_set(PHILOX_ERROR_INVALID,
				  "fill: the range from %" PRId64 " to %" PRId64
				  " of dist integers does not fit dtype %s",
				  from, to, fill_dtype_name(fill->dtype));
	return PHILOX_OK;
}

static void set_integers(const struct philox_fill_desc *fill,
			 struct fill_args *args)
{
	struct philox_interval interval;

	if (fill_dtype_size(fill->dtype) == 4)
		interval = philox_interval_u32((uint32_t)fill->from,
					       (uint32_t)fill->to);
	else
		interval = philox_interval_u64(fill->from, fill->to);
	args->from = fill->from;
	args->range = interval.n;
	args->reject = interval.reject;
}

static const struct fill_parameters integers_parameters = {check_integers,
							   set_integers};

/* --- n -------------------------------------------------------------------- */

/* Of how many items or categories a dtype has numbers. */
static uint64_t most_items(enum philox_dtype dtype)
{
	switch (dtype) {
	case PHILOX_DTYPE_U32:
		return (uint64_t)1 << 32;
	case PHILOX_DTYPE_I32:
		return (uint64_t)1 << 31;
	default:
		return (uint64_t)1 << 63;
	}
}

static enum philox_status check_count(const struct philox_fill_desc *fill,
				      uint64_t most)
{
	if (fill->n && fill->n <= most)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "fill: n of dist %s is %" PRIu64
			  ", not from 1 to %" PRIu64 " (dtype %s)",
			  fill_dist_name(fill->dist), fill->n, most,
			  fill_dtype_name(fill->dtype));
}

static enum philox_status check_n(const struct philox_fill_desc *fill)
{
	return check_count(fill, most_items(fill->dtype));
}

static void set_n(const struct philox_fill_desc *fill, struct fill_args *args)
{
	args->range = fill->n;
}

static const struct fill_parameters n_parameters = {check_n, set_n};

/* --- in and n ------------------------------------------------------------- */

/* In 64 bits as many as have an address. */
static enum philox_status check_sums(const struct philox_fill_desc *fill)
{
	const uint64_t most = most_items(fill->dtype);

	return check_count(fill, fill_dtype_size(fill->dtype) == 8 ? most >> 3
								   : most);
}

static void set_sums(const struct philox_fill_desc *fill,
		     struct fill_args *args)
{
	args->range = fill->n;
	args->sums = fill->in;
}

static const struct fill_parameters sums_parameters = {check_sums, set_sums};

/* --- the last element ----------------------------------------------------- */

/* A word of u32 has the signs of 32 elements, of which there are 2^64. */
static enum philox_status check_sign_words(uint64_t last)
{
	if (last < (uint64_t)1 << 59)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "fill: the span's last element is %" PRIu64
			  ", past the 2^59 words of dist signs, dtype u32",
			  last);
}

enum philox_status fill_check_last(const struct philox_fill_desc *fill,
				   uint64_t last)
{
	if (fill->dist == PHILOX_DIST_SIGNS && fill->dtype == PHILOX_DTYPE_U32)
		return check_sign_words(last);
	if (fill->dist != PHILOX_DIST_PERMUTATION || last < fill->n)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "fill: the span's last element is %" PRIu64
			  ", not below n %" PRIu64 " of dist permutation",
			  last, fill->n);
}

/* --- the table ------------------------------------------------------------ */

/* The dtypes by their names in kernels. */
enum {
	DTYPE_u32 = PHILOX_DTYPE_U32,
	DTYPE_u64 = PHILOX_DTYPE_U64,
	DTYPE_f32 = PHILOX_DTYPE_F32,
	DTYPE_f64 = PHILOX_DTYPE_F64,
	DTYPE_bf16 = PHILOX_DTYPE_BF16,
	DTYPE_f16 = PHILOX_DTYPE_F16
};

#define FILL_FORM(name, out, in, n, traits)                             \
	{(enum philox_dtype)DTYPE_##out, (enum philox_dtype)DTYPE_##in, \
	 KERNEL_##name, traits},
#define FILL_DIST(dist, name, function, parameters, kernels) \
	[PHILOX_DIST_##dist] = {                             \
		name, &parameters##_parameters,              \
		(const struct fill_form[]){kernels{.kernel = KERNEL_NONE}}},

/* Each list of forms ends with one without a kernel. */
static const struct {
	const char *name;
	const struct fill_parameters *parameters;
	const struct fill_form *forms;
} dists[] = {FILL_DISTS(FILL_DIST, FILL_FORM)};

unsigned fill_dists(void)
{
	return sizeof(dists) / sizeof(dists[0]);
}

const char *fill_dist_name(enum philox_dist dist)
{
	if ((unsigned)dist >= fill_dists())
		return NULL;
	return dists[dist].name;
}

enum philox_status fill_check_dist(const char *what, enum philox_dist dist)
{
	if (fill_dist_name(dist))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID, "%s: dist %u is unknown", what,
			  (unsigned)dist);
}

/* Signed integers are the unsigned ones in two's complement. */
static enum philox_dtype unsigned_dtype(enum philox_dtype dtype)
{
	if (dtype == PHILOX_DTYPE_I32)
		return PHILOX_DTYPE_U32;
	return dtype == PHILOX_DTYPE_I64 ? PHILOX_DTYPE_U64 : dtype;
}

const struct fill_form *fill_form(enum philox_dist dist,
				  enum philox_dtype dtype)
{
	enum philox_dtype drawn = unsigned_dtype(dtype);
	const struct fill_form *form = dists[dist].forms;

	while (form->kernel != KERNEL_NONE && form->dtype != drawn)
		form++;
	if (form->kernel == KERNEL_NONE ||
	    (drawn != dtype && !(form->traits & FILL_SIGNED)))
		return NULL;
	return form;
}

enum philox_status fill_check_parameters(const struct philox_fill_desc *fill)
{
	const struct fill_parameters *parameters = dists[fill->dist].parameters;

	return parameters->check ? parameters->check(fill) : PHILOX_OK;
}

void fill_set_parameters(const struct philox_fill_desc *fill,
			 struct fill_args *args)
{
	const struct fill_parameters *parameters = dists[fill->dist].parameters;

	if (parameters->set)
		parameters->set(fill, args);
}
