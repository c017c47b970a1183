/*
 * tests/numbers/known/kat_distributions.c - fills against exact values
 *
 * tests/numbers/known/kat_distributions.txt has them, to 25 digits, and the
 * error allowed in each type. tests/numbers/known/kat_distributions.py makes it
 * and shares nothing with the library.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/support.h"

#define PATH "tests/numbers/known/kat_distributions.txt"

struct row {
	char dist[32], dtype[8];
	char seed[24], offset[24], element[24];
	char a[40], b[40], value[48], tolerance[24];
};

static int parse_row(const char *line, struct row *row)
{
	return sscanf(line, "%31s %7s %23s %23s %23s %39s %39s %47s %23s",
		      row->dist, row->dtype, row->seed, row->offset,
		      row->element, row->a, row->b, row->value,
		      row->tolerance) == 9;
}

static uint64_t whole(const char *text)
{
	return strtoull(text, NULL, 0);
}

/* --- types ---------------------------------------------------------------- */

static long double read_u32(const void *out)
{
	return *(const uint32_t *)out;
}

static long double read_u64(const void *out)
{
	return *(const uint64_t *)out;
}

static long double read_i32(const void *out)
{
	return *(const int32_t *)out;
}

static long double read_i64(const void *out)
{
	return *(const int64_t *)out;
}

static long double read_f32(const void *out)
{
	return *(const float *)out;
}

static long double read_bf16(const void *out)
{
	uint32_t bits = (uint32_t) * (const uint16_t *)out << 16;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static long double read_f64(const void *out)
{
	return *(const double *)out;
}

/* 5 bits of exponent, 10 of fraction; the table has finite values only. */
static long double read_f16(const void *out)
{
	unsigned bits = *(const uint16_t *)out;
	int exponent = (int)(bits >> 10 & 31);
	double fraction = bits & 1023;
	double size = exponent ? ldexp(1024 + fraction, exponent - 25)
			       : ldexp(fraction, -24);

	return bits >> 15 ? -size : size;
}

static const struct type {
	const char *name;
	enum philox_dtype dtype;
	long double (*read)(const void *out);
} types[] = {
	{"u32", PHILOX_DTYPE_U32, read_u32},
	{"u64", PHILOX_DTYPE_U64, read_u64},
	{"i32", PHILOX_DTYPE_I32, read_i32},
	{"i64", PHILOX_DTYPE_I64, read_i64},
	{"f32", PHILOX_DTYPE_F32, read_f32},
	{"bf16", PHILOX_DTYPE_BF16, read_bf16},
	{"f16", PHILOX_DTYPE_F16, read_f16},
	{"f64", PHILOX_DTYPE_F64, read_f64},
};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

/*
 * --- distributions: the meaning of a and b
 * --------------------------------------
 */

static void set_low_high(struct philox_fill_desc *fill, const struct row *row)
{
	fill->low = strtod(row->a, NULL);
	fill->high = strtod(row->b, NULL);
}

static void set_mean_std(struct philox_fill_desc *fill, const struct row *row)
{
	fill->mean = strtod(row->a, NULL);
	fill->std = strtod(row->b, NULL);
}

static void set_rate(struct philox_fill_desc *fill, const struct row *row)
{
	fill->rate = strtod(row->a, NULL);
}

static void set_from_to(struct philox_fill_desc *fill, const struct row *row)
{
	fill->from = whole(row->a);
	fill->to = whole(row->b);
}

static void set_none(struct philox_fill_desc *fill, const struct row *row)
{
	(void)fill;
	(void)row;
}

static void set_p(struct philox_fill_desc *fill, const struct row *row)
{
	fill->p = strtod(row->a, NULL);
}

/* The input follows the output. */
static void set_input(struct philox_fill_desc *fill, const struct row *row)
{
	float *in = (float *)((char *)fill->out + 8);

	*in = strtof(row->a, NULL);
	fill->in = in;
}

static const struct dist {
	const char *name;
	enum philox_dist dist;
	void (*set)(struct philox_fill_desc *fill, const struct row *row);
} dists[] = {
	{"uniform", PHILOX_DIST_UNIFORM, set_low_high},
	{"normal", PHILOX_DIST_NORMAL, set_mean_std},
	{"log_normal", PHILOX_DIST_LOG_NORMAL, set_mean_std},
	{"exponential", PHILOX_DIST_EXPONENTIAL, set_rate},
	{"gumbel", PHILOX_DIST_GUMBEL, set_none},
	{"bernoulli", PHILOX_DIST_BERNOULLI, set_p},
	{"integers", PHILOX_DIST_INTEGERS, set_from_to},
	{"stochastic_rounding", PHILOX_DIST_STOCHASTIC_ROUND, set_input},
};

enum { DISTS = sizeof(dists) / sizeof(dists[0]) };

static const struct type *find_type(const char *name)
{
	for (int i = 0; i < TYPES; i++)
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	return NULL;
}

static const struct dist *find_dist(const char *name)
{
	for (int i = 0; i < DISTS; i++)
		if (strcmp(dists[i].name, name) == 0)
			return &dists[i];
	return NULL;
}

/* --- rows ----------------------------------------------------------------- */

/* The value of a row. */
static long double draw_row(struct fixture *f, const struct row *row,
			    const struct type *type, const struct dist *dist,
			    void *out)
{
	struct philox_rng rng = {{whole(row->seed), whole(row->offset)}, NULL};
	struct philox_fill_desc fill = {
		.size = sizeof(fill),
		.dist = dist->dist,
		.dtype = type->dtype,
		.span = philox_span_elements(whole(row->element), 1),
		.out = out};

	dist->set(&fill, row);
	memset(out, 0xca, 8);
	OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	return type->read(out);
}

static void check_row(struct fixture *f, const struct row *row,
		      const struct type *type, const struct dist *dist,
		      void *out)
{
	long double value = strtold(row->value, NULL);
	long double got = draw_row(f, row, type, dist, out);

	cr_assert(fabsl(got - value) <= strtold(row->tolerance, NULL),
		  "%s %s of seed %s, offset %s, element %s, a %s, b %s: %.20Lg "
		  "is not %s, give or take %s",
		  row->dist, row->dtype, row->seed, row->offset, row->element,
		  row->a, row->b, got, row->value, row->tolerance);
	cr_assert(dist->dist != PHILOX_DIST_UNIFORM ||
			  got < strtold(row->b, NULL),
		  "%Lg is not below %s", got, row->b);
}

PROMISE(kat_distributions, every_value_is_as_near_as_its_type_allows)
{
	unsigned checked[DISTS] = {0};
	FILE *file = fopen(PATH, "r");
	void *out = make_memory(f, 16);
	char line[512];
	struct row row;

	cr_assert_not_null(file, "%s: run the tests from the top of the tree",
			   PATH);
	while (fgets(line, sizeof(line), file)) {
		const struct type *type;
		const struct dist *dist;

		if (line[0] == '#')
			continue;
		cr_assert(parse_row(line, &row), "%s", line);
		type = find_type(row.dtype);
		dist = find_dist(row.dist);
		cr_assert(type && dist, "%s", line);
		check_row(f, &row, type, dist, out);
		checked[dist - dists]++;
	}
	fclose(file);
	for (int i = 0; i < DISTS; i++)
		cr_assert_geq(checked[i], 90, "%s", dists[i].name);
}
