/*
 * tests/numbers/truncated/fills.c - fills of truncated normal numbers: what is
 * refused, launches of a graph, and whether many have their distribution
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <philox/truncated.h>
#include "tests/support/support.h"

static const struct {
	enum philox_dtype dtype;
	const char *name;
} types[] = {{PHILOX_DTYPE_F32, "f32"},
	     {PHILOX_DTYPE_BF16, "bf16"},
	     {PHILOX_DTYPE_F16, "f16"}};

static struct philox_fill_desc fill_of(double mean, double std, double low,
				       double high, void *out)
{
	return (struct philox_fill_desc){
		.size = sizeof(struct philox_fill_desc),
		.dist = PHILOX_DIST_TRUNCATED_NORMAL,
		.dtype = PHILOX_DTYPE_F32,
		.span = philox_span_elements(0, 4),
		.out = out,
		.mean = mean,
		.std = std,
		.low = low,
		.high = high};
}

/* --- what is refused ------------------------------------------------------ */

static void refuse(struct fixture *f, const struct philox_fill_desc *fill,
		   const char *named)
{
	struct philox_rng rng = {.state = {1, 0}};

	FAILS(philox_rng_fill(f->device, f->stream, rng, fill),
	      PHILOX_ERROR_INVALID);
	NAMES(named);
	FAILS(philox_state_fill(rng.state, fill, 1), PHILOX_ERROR_INVALID);
	NAMES(named);
	NAMES("truncated-normal");
}

static void take(struct fixture *f, const struct philox_fill_desc *fill)
{
	struct philox_rng rng = {.state = {1, 0}};

	OK(philox_rng_fill(f->device, f->stream, rng, fill));
	OK(philox_stream_synchronize(f->device, f->stream));
}

PROMISE(truncated_fills, parameters_that_are_no_interval_are_named)
{
	static const struct {
		double mean, std, low, high;
		const char *named;
	} rows[] = {
		{NAN, 1, -1, 1, "mean of"},
		{INFINITY, 1, -1, 1, "mean of"},
		{0, 0, -1, 1, "std of"},
		{0, -1, -1, 1, "std of"},
		{0, NAN, -1, 1, "std of"},
		{0, INFINITY, -1, 1, "std of"},
		{0, 1, NAN, 1, "low of"},
		{0, 1, -INFINITY, 1, "low of"},
		{0, 1, -1, NAN, "high of"},
		{0, 1, -1, INFINITY, "high of"},
		{1e308, 1, -1e308, 1, "low - mean of"},
		{-1e308, 1, 1, 1e308, "high - mean of"},
		{0, 1, 1, 1, "low is not below high: [low, high] = [1, 1]"},
		{0, 1, 2, 1, "low is not below high: [low, high] = [2, 1]"}};
	void *out = make_memory(f, 16);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct philox_fill_desc fill =
			fill_of(rows[i].mean, rows[i].std, rows[i].low,
				rows[i].high, out);

		refuse(f, &fill, rows[i].named);
	}
}

PROMISE(truncated_fills, an_interval_without_a_number_of_the_dtype_is_refused)
{
	/* which of f32, bf16 and f16 have a number in there */
	static const struct {
		double low, high;
		int has[3];
	} rows[] = {{1 + 0x1p-24, 1 + 0x1p-23, {1, 0, 0}},
		    {1 + 0x1p-30, 1 + 0x1p-23 - 0x1p-50, {0, 0, 0}},
		    {-1 - 0x1p-9, -1 - 0x1p-12, {1, 0, 1}},
		    {-1 - 0x1p-10, -1 - 0x1p-12, {1, 0, 1}},
		    {65505, 1e300, {1, 1, 0}},
		    {65504, 1e300, {1, 1, 1}},
		    {-1e300, -65505, {1, 1, 0}},
		    {1e39, 1e300, {0, 0, 0}},
		    {FLT_MAX, 1e300, {1, 0, 0}},
		    {0x1.fep127, 1e300, {1, 1, 0}},
		    {-1e-50, 1e-50, {1, 1, 1}},
		    {1e-60, 1e-50, {0, 0, 0}},
		    {1e-60, 0x1p-149, {1, 0, 0}},
		    {0x1p-133, 0x1p-130, {1, 1, 0}},
		    {-0x1p-24, -0x1p-26, {1, 1, 1}},
		    {2.5e-8, 5.9e-8, {1, 1, 0}}};
	void *out = make_memory(f, 16);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int t = 0; t < 3; t++) {
			struct philox_fill_desc fill =
				fill_of(0, 1, rows[i].low, rows[i].high, out);

			fill.dtype = types[t].dtype;
			if (rows[i].has[t]) {
				take(f, &fill);
				continue;
			}
			refuse(f, &fill, "no number of the dtype is in");
			NAMES(types[t].name);
		}
}

/* What other distributions refuse is fine here. */
PROMISE(truncated_fills, parameters_may_be_beyond_their_dtype)
{
	static const double rows[][4] = {{1e300, 1e300, -1e308, 1e308},
					 {0, 1e-300, -1e300, 1e300},
					 {0, 5e-324, -1, 1},
					 {0, 1e300, -1, 1}};
	void *out = make_memory(f, 16);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int t = 0; t < 3; t++) {
			struct philox_fill_desc fill =
				fill_of(rows[i][0], rows[i][1], rows[i][2],
					rows[i][3], out);

			fill.dtype = types[t].dtype;
			take(f, &fill);
		}
}

/* --- passes --------------------------------------------------------------- */

enum { WEIGHTS = 1003 };

static struct philox_graph *record(struct fixture *f,
				   struct philox_region *region, float *out)
{
	struct philox_graph *graph;
	struct philox_pass pass;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_pass_truncated_normal(&pass, 1, PHILOX_DTYPE_F32,
					philox_span_elements(3, WEIGHTS), 0.5,
					2, -1, 3, out));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_capture_end(f->context, f->stream, &graph));
	return graph;
}

PROMISE(truncated_fills, each_launch_of_a_graph_has_numbers_of_its_own_state)
{
	const struct philox_truncated d = philox_truncated_of(0.5, 2, -1, 3);
	struct philox_region *region = make_region(f, "weights");
	float *out = make_memory(f, WEIGHTS * sizeof(*out));
	struct philox_graph *graph = record(f, region, out);
	struct philox_launch_pass use = {{0, 0}, 0, 0};

	for (uint64_t step = 0; step < 3; step++) {
		struct philox_state state =
			predict_cell(0, "weights", 1, 0, 4 * step);

		OK(philox_graph_launch(graph, f->stream, &use, 1));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint64_t i = 0; i < WEIGHTS; i++)
			cr_assert_eq(philox_f32_bits(out[i]),
				     philox_f32_bits(philox_truncated_at(
					     state, 3 + i, &d)));
	}
	OK(philox_graph_destroy(graph));
}

/* --- statistics ----------------------------------------------------------- */

/*
 * Kolmogorov and Smirnov's statistic of n numbers, times sqrt(n), exceeds 3.28
 * with probability 2 exp(-2 3.28^2), which is 9e-10.
 */
enum { MANY = 200000 };
#define KS_MOST 3.28

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* The part of the mass that is below x, by the C library's erfc(). */
static double part_below(const struct philox_fill_desc *fill, double x)
{
	const double unit = fill->std * sqrt(2);
	const double low = (fill->low - fill->mean) / unit;
	const double high = (fill->high - fill->mean) / unit;
	const double z = (x - fill->mean) / unit;

	if (low > 0)
		return (erfc(low) - erfc(z)) / (erfc(low) - erfc(high));
	return (erf(z) - erf(low)) / (erf(high) - erf(low));
}

PROMISE(truncated_fills, many_numbers_have_their_distribution)
{
	static const double rows[][4] = {
		{0, 1, -2, 2},         {0, 0.02, -0.04, 0.04}, {0.5, 2, -1, 3},
		{0, 1, -1e300, 1e300}, {0, 1, 0, 1e300},       {0, 1, 2, 3},
		{0, 1, 6, 1e3},        {0, 1, -4, -0.5},       {0, 1, -1e-3, 4},
		{10, 3, -1e300, 9}};
	float *out = make_memory(f, MANY * sizeof(*out));

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct philox_fill_desc fill = fill_of(
			rows[i][0], rows[i][1], rows[i][2], rows[i][3], out);
		double most = 0;

		fill.span = philox_span_elements(i * MANY, MANY);
		take(f, &fill);
		qsort(out, MANY, sizeof(*out), compare);
		for (int k = 0; k < MANY; k++) {
			double part = part_below(&fill, (double)out[k]);

			most = fmax(most, part - (double)k / MANY);
			most = fmax(most, (k + 1.0) / MANY - part);
		}
		cr_assert(most * sqrt(MANY) < KS_MOST, "row %zu: %g", i,
			  most * sqrt(MANY));
	}
}
