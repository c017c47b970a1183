/*
 * lib/dist/dtypes.c - see lib/dist/dtypes.h
 */
#include <float.h>
#include <math.h>
#include "lib/dist/dtypes.h"

static const struct {
	const char *name;
	size_t size;
} dtypes[] = {[PHILOX_U32] = {"u32", 4}, [PHILOX_U64] = {"u64", 8},
	      [PHILOX_I32] = {"i32", 4}, [PHILOX_I64] = {"i64", 8},
	      [PHILOX_F32] = {"f32", 4}, [PHILOX_F64] = {"f64", 8},
	      [PHILOX_F16] = {"f16", 2}, [PHILOX_BF16] = {"bf16", 2}};

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
	case PHILOX_BF16:
		return (struct format){8, -126, 0x1.fep127};
	case PHILOX_F16:
		return (struct format){11, -14, 65504};
	case PHILOX_F64:
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

void fill_ends(enum philox_dtype dtype, double low, double high, double *bottom,
	       double *top)
{
	struct format format = format_of(dtype);

	if (dtype == PHILOX_F64) {
		*bottom = low + 0.0;
		*top = nextafter(high, -INFINITY);
		return;
	}
	*bottom = number_from(format, low);
	*top = number_below(format, high);
}
