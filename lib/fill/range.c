/*
 * lib/fill/range.c - see lib/fill/range.h
 */
#include <float.h>
#include <math.h>
#include "lib/fill/range.h"

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

/* The distance of the format's numbers around x. */
static double step(struct format format, double x)
{
	int exponent = x == 0 ? format.least : ilogb(x);

	if (exponent < format.least)
		exponent = format.least;
	return ldexp(1, exponent - (format.digits - 1));
}

/* The largest number of the format that is below x, which is in its range. */
static double below(struct format format, double x)
{
	double spacing = step(format, x);
	double floored = floor(x / spacing) * spacing;

	if (floored < x)
		return floored;
	/* below a power of two the numbers may stand closer */
	spacing = step(format, x - spacing / 2);
	return x - spacing;
}

/* The least number of the format that is not below x. */
static double not_below(struct format format, double x)
{
	double spacing = step(format, x);

	return ceil(x / spacing) * spacing + 0.0;
}

void fill_ends(const struct philox_fill *fill, double *bottom, double *top)
{
	struct format format = format_of(fill->dtype);

	*bottom = not_below(format, fill->low);
	*top = below(format, fill->high);
	if (fill->dtype == PHILOX_F64) {
		*bottom = fill->low + 0.0;
		*top = nextafter(fill->high, -INFINITY);
	}
}
