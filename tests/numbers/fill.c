/*
 * tests/numbers/fill.c - fills as the comments of philox/fill.h describe them
 *
 * The reference here shares no code with the library: a Philox of its own and
 * the values in double arithmetic. Arrays are in memory of the host device,
 * which a test may read when the device is done.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/fills.h"

/* --- the reference -------------------------------------------------------- */

static void reference_block(struct philox_state state, uint64_t subsequence,
			    uint32_t x[4])
{
	uint64_t counter[2] = {state.offset / 4, subsequence};

	memcpy(x, counter, sizeof(counter));
	for (uint32_t round = 0; round < 10; round++) {
		uint64_t a = x[0] * (uint64_t)0xD2511F53;
		uint64_t b = x[2] * (uint64_t)0xCD9E8D57;
		uint32_t key[2] = {(uint32_t)state.seed + round * 0x9E3779B9u,
				   (uint32_t)(state.seed >> 32) +
					   round * 0xBB67AE85u};
		uint32_t next[4] = {
			(uint32_t)(b >> 32) ^ x[1] ^ key[0], (uint32_t)b,
			(uint32_t)(a >> 32) ^ x[3] ^ key[1], (uint32_t)a};

		memcpy(x, next, sizeof(next));
	}
}

static uint32_t reference_word(struct philox_state state, uint64_t element)
{
	uint32_t x[4];

	reference_block(state, element / 4, x);
	return x[element % 4];
}

static uint64_t reference_word64(struct philox_state state, uint64_t element)
{
	uint32_t x[4];

	reference_block(state, element / 2, x);
	return element % 2 ? x[2] | (uint64_t)x[3] << 32
			   : x[0] | (uint64_t)x[1] << 32;
}

static double reference_normal(struct philox_state state, uint64_t element)
{
	double u = reference_word(state, element & ~(uint64_t)1);
	double v = reference_word(state, element | 1);
	double radius = sqrt(-2 * log((float)(u * 0x1p-32 + 0x1p-33)));
	double angle = 2 * 3.14159265358979323846 * (v + 0.5) * 0x1p-32;

	return element % 2 ? radius * cos(angle) : radius * sin(angle);
}

/* Eight significant bits; for numbers that are not denormal. */
static double round_to_bf16(double x)
{
	int exponent;
	double mantissa = frexp(x, &exponent);

	return ldexp(rint(mantissa * 256), exponent - 8);
}

/* --- kinds of fills ------------------------------------------------------- */

struct kind {
	const char *name;
	enum philox_dist dist;
	enum philox_dtype dtype;
};

static const struct kind kinds[] = {
	{"bits u32", PHILOX_DIST_BITS, PHILOX_DTYPE_U32},
	{"bits u64", PHILOX_DIST_BITS, PHILOX_DTYPE_U64},
	{"uniform f32", PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F32},
	{"uniform bf16", PHILOX_DIST_UNIFORM, PHILOX_DTYPE_BF16},
	{"normal f32", PHILOX_DIST_NORMAL, PHILOX_DTYPE_F32},
	{"normal bf16", PHILOX_DIST_NORMAL, PHILOX_DTYPE_BF16},
	{"bernoulli f32", PHILOX_DIST_BERNOULLI, PHILOX_DTYPE_F32},
	{"bernoulli bf16", PHILOX_DIST_BERNOULLI, PHILOX_DTYPE_BF16},
	{"dropout f32", PHILOX_DIST_DROPOUT, PHILOX_DTYPE_F32},
	{"dropout bf16", PHILOX_DIST_DROPOUT, PHILOX_DTYPE_BF16},
	{"signs f32", PHILOX_DIST_SIGNS, PHILOX_DTYPE_F32},
	{"signs bf16", PHILOX_DIST_SIGNS, PHILOX_DTYPE_BF16},
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Those that have p. */
enum { FIRST_WITH_P = 6, END_WITH_P = 10 };

static const size_t sizes[] = {4, 8, 4, 2};

static const struct philox_state state = {0x0123456789abcdef, 4096};

static double read_element(const struct kind *kind, const void *array, size_t i)
{
	uint32_t bits;
	float x;

	if (kind->dtype == PHILOX_DTYPE_F32)
		return ((const float *)array)[i];
	bits = (uint32_t)((const uint16_t *)array)[i] << 16;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Inputs that differ, of both signs and exact in bf16. */
static double input_element(size_t i)
{
	return (i % 2 ? -1.0 : 1.0) * ldexp(128 + (double)(i % 128), -6);
}

static void write_inputs(const struct kind *kind, void *array, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float x = (float)input_element(i);
		uint32_t bits;

		memcpy(&bits, &x, sizeof(bits));
		if (kind->dtype == PHILOX_DTYPE_F32)
			((float *)array)[i] = x;
		else
			((uint16_t *)array)[i] = (uint16_t)(bits >> 16);
	}
}

static struct philox_fill_desc new_fill(const struct kind *kind, uint64_t first,
					uint64_t count, const void *in,
					void *out)
{
	struct philox_fill_desc fill = {
		.size = sizeof(fill),
		.dist = kind->dist,
		.dtype = kind->dtype,
		.span = philox_span_elements(first, count),
		.p = 0.3,
		.high = 1,
		.std = 1,
		.rate = 1,
		.in = in,
		.out = out};

	return fill;
}

static void run(struct fixture *f, const struct philox_fill_desc *fill)
{
	struct philox_rng rng = {.state = state};

	OK(philox_rng_fill(f->device, f->stream, rng, fill));
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* --- numbers -------------------------------------------------------------- */

/* Element i of an array that begins with element e - i. */
static double expected_value(const struct kind *kind, double p, uint64_t e,
			     size_t i)
{
	double w = reference_word(state, e);
	int dropped = w < round(p * 4294967296.0);
	float kept;

	switch (kind->dist) {
	case PHILOX_DIST_UNIFORM:
		return kind->dtype == PHILOX_DTYPE_F32
			       ? floor(w / 256) * 0x1p-24
			       : floor(w * 0x1p-24) * 0x1p-8;
	case PHILOX_DIST_BERNOULLI:
		return dropped;
	case PHILOX_DIST_SIGNS:
		return w < 0x1p31 ? -1 : 1;
	case PHILOX_DIST_DROPOUT:
		kept = (float)(input_element(i) * (double)(float)(1 / (1 - p)));
		if (dropped)
			return 0;
		return kind->dtype == PHILOX_DTYPE_F32 ? kept
						       : round_to_bf16(kept);
	default:
		cr_assert_fail("no single value is expected of %s", kind->name);
		return 0;
	}
}

static void check_normal(const struct kind *kind, uint64_t e, double got)
{
	double exact = reference_normal(state, e);
	double bound = fabs(exact) < 4 ? 7e-7 : 1.2e-6;

	/* a bf16 may round to either side of where the exact value is */
	if (kind->dtype == PHILOX_DTYPE_BF16)
		bound += fabs(exact) * 0x1p-8;
	cr_assert(fabs(got - exact) <= bound,
		  "%s of element %" PRIu64 ": %a, not %a", kind->name, e, got,
		  exact);
}

static void check_element(const struct kind *kind, double p, const void *array,
			  uint64_t first, size_t i)
{
	uint64_t e = first + i;
	double got;

	if (kind->dtype == PHILOX_DTYPE_U32) {
		cr_assert_eq(((const uint32_t *)array)[i],
			     reference_word(state, e));
		return;
	}
	if (kind->dtype == PHILOX_DTYPE_U64) {
		cr_assert_eq(((const uint64_t *)array)[i],
			     reference_word64(state, e));
		return;
	}
	got = read_element(kind, array, i);
	if (kind->dist == PHILOX_DIST_NORMAL)
		check_normal(kind, e, got);
	else
		cr_assert_eq(got, expected_value(kind, p, e, i),
			     "%s, p %g, element %" PRIu64 ": %a", kind->name, p,
			     e, got);
}

static void check_span(struct fixture *f, const struct kind *kind, double p,
		       uint64_t first, uint64_t count)
{
	size_t size = sizes[kind->dtype];
	void *in = make_memory(f, count * size);
	void *out = make_memory(f, count * size);
	struct philox_fill_desc fill = new_fill(kind, first, count, in, out);

	fill.p = p;
	if (kind->dist == PHILOX_DIST_DROPOUT)
		write_inputs(kind, in, count);
	run(f, &fill);
	for (size_t i = 0; i < count; i++)
		check_element(kind, p, out, first, i);
}

PROMISE(fill, every_fill_draws_what_its_comment_says)
{
	for (size_t k = 0; k < N_KINDS; k++)
		check_span(f, &kinds[k], 0.3, 3, 20000);
}

PROMISE(fill, elements_are_drawn_up_to_2_to_the_64)
{
	static const uint64_t firsts[] = {
		((uint64_t)1 << 32) - 33, ((uint64_t)1 << 33) - 34,
		((uint64_t)1 << 34) - 35, ((uint64_t)1 << 62) - 36,
		((uint64_t)1 << 63) - 37, UINT64_MAX - 63};

	for (size_t k = 0; k < N_KINDS; k++)
		for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++)
			check_span(f, &kinds[k], 0.3, firsts[i], 64);
}

PROMISE(fill, the_last_elements_are_drawn_in_spans_of_any_length)
{
	for (size_t k = 0; k < N_KINDS; k++)
		for (uint64_t count = 1; count < 10; count++)
			check_span(f, &kinds[k], 0.3, 0 - count, count);
}

PROMISE(fill, p_of_0_and_1_and_next_to_them_are_exact)
{
	static const double ps[] = {0,       -0.0, 1e-300,      0x1p-33,
				    0x1p-32, 0.5,  1 - 0x1p-32, 1 - 0x1p-53};

	for (size_t k = FIRST_WITH_P; k < END_WITH_P; k++) {
		for (size_t i = 0; i < sizeof(ps) / sizeof(ps[0]); i++)
			check_span(f, &kinds[k], ps[i], 0, 5000);
	}
}

/* Here the formula's scale would be infinite, but no element may become NaN. */
PROMISE(fill, p_of_1_drops_everything)
{
	for (size_t k = FIRST_WITH_P; k < END_WITH_P; k++) {
		const struct kind *kind = &kinds[k];
		void *in = make_memory(f, 4000), *out = make_memory(f, 4000);
		struct philox_fill_desc fill = new_fill(kind, 0, 1000, in, out);

		fill.p = 1;
		write_inputs(kind, in, 1000);
		memset(in, 0xff, 100); /* NaN */
		run(f, &fill);
		for (size_t i = 0; i < 1000; i++)
			cr_assert_eq(read_element(kind, out, i),
				     kind->dist == PHILOX_DIST_BERNOULLI, "%s",
				     kind->name);
	}
}

/* Five standard deviations either way. */
PROMISE(fill, the_share_of_ones_is_p)
{
	static const double ps[] = {0.001, 0.1, 0.25, 0.5, 0.9};
	const size_t n = 200000;
	float *out = make_memory(f, n * sizeof(*out));

	for (size_t i = 0; i < sizeof(ps) / sizeof(ps[0]); i++) {
		struct philox_fill_desc fill =
			new_fill(&kinds[6], 0, n, NULL, out);
		double ones = 0, deviation = sqrt(n * ps[i] * (1 - ps[i]));

		fill.p = ps[i];
		run(f, &fill);
		for (size_t k = 0; k < n; k++)
			ones += out[k];
		cr_assert_float_eq(ones, n * ps[i], 5 * deviation);
	}
}

/* --- spans and arrays ----------------------------------------------------- */

enum { WHOLE = 23, MARGIN = 8, SHIFTS = 8 };

/* A slice [a, b), `shift` elements into an array; all else is untouched. */
static void check_slice(struct fixture *f, const struct kind *kind,
			const char *in, const char *whole, char *array,
			const uint64_t slice[2], size_t shift)
{
	size_t size = sizes[kind->dtype], total = WHOLE + MARGIN + SHIFTS;
	uint64_t a = slice[0], n = slice[1] - a;
	struct philox_fill_desc fill =
		new_fill(kind, a, n, in + a * size, array + shift * size);
	char *expected = malloc(total * size);

	cr_assert_not_null(expected);
	memset(expected, 0x5a, total * size);
	memcpy(expected + shift * size, whole + a * size, n * size);
	memset(array, 0x5a, total * size);
	run(f, &fill);
	cr_assert_arr_eq(array, expected, total * size,
			 "%s, slice %d .. %d, shift %zu", kind->name, (int)a,
			 (int)slice[1], shift);
	free(expected);
}

PROMISE(fill, every_slice_is_the_slice_of_the_whole_at_every_alignment)
{
	char *in = make_memory(f, 512), *whole = make_memory(f, 512);
	char *array = make_memory(f, 512);

	for (size_t k = 0; k < N_KINDS; k++) {
		struct philox_fill_desc fill =
			new_fill(&kinds[k], 0, WHOLE, in, whole);
		uint64_t slice[2];

		if (kinds[k].dist == PHILOX_DIST_DROPOUT)
			write_inputs(&kinds[k], in, WHOLE);
		run(f, &fill);
		for (slice[0] = 0; slice[0] <= WHOLE; slice[0]++)
			for (slice[1] = slice[0]; slice[1] <= WHOLE; slice[1]++)
				check_slice(f, &kinds[k], in, whole, array,
					    slice, slice[1] % SHIFTS);
	}
}

PROMISE(fill, dropout_in_place_equals_dropout_from_place_to_place)
{
	for (size_t k = 8; k < N_KINDS; k++) {
		size_t size = sizes[kinds[k].dtype];
		char *in = make_memory(f, 1001 * size);
		char *out = make_memory(f, 1001 * size);
		struct philox_fill_desc fill =
			new_fill(&kinds[k], 5, 1001, in, out);

		write_inputs(&kinds[k], in, 1001);
		run(f, &fill);
		fill.out = in;
		run(f, &fill);
		cr_assert_arr_eq(in, out, 1001 * size, "%s", kinds[k].name);
	}
}

PROMISE(fill, a_mask_does_not_depend_on_the_dtype)
{
	enum { N = 1000 };
	uint16_t *narrow = make_memory(f, 2 * N), *ones = make_memory(f, 2 * N);
	float *wide = make_memory(f, 4 * N);
	struct philox_fill_desc fills[3] = {
		new_fill(&kinds[8], 7, N, wide, wide),
		new_fill(&kinds[9], 7, N, narrow, narrow),
		new_fill(&kinds[7], 7, N, NULL, ones)};

	write_inputs(&kinds[8], wide, N);
	write_inputs(&kinds[9], narrow, N);
	for (int i = 0; i < 3; i++)
		run(f, &fills[i]);
	for (int i = 0; i < N; i++) {
		cr_assert_eq(wide[i] == 0, narrow[i] == 0);
		cr_assert_eq(wide[i] == 0, ones[i] != 0);
	}
}

PROMISE(fill, an_empty_span_needs_no_arrays_and_no_launch)
{
	uint64_t launches = philox_device_call_count(f->device, "launch");

	for (size_t k = 0; k < N_KINDS; k++) {
		struct philox_fill_desc fill =
			new_fill(&kinds[k], UINT64_MAX, 0, NULL, NULL);

		run(f, &fill);
	}
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
}

/* --- states in cells ------------------------------------------------------ */

PROMISE(fill, a_state_is_read_from_its_cell)
{
	struct philox_state *cell = make_memory(f, sizeof(*cell));
	struct philox_rng by_value = {.state = state};
	struct philox_rng by_cell = {.cell = cell};
	char *out = make_memory(f, 800), *other = make_memory(f, 800);

	*cell = state;
	for (size_t k = 0; k < 8; k++) {
		struct philox_fill_desc fill =
			new_fill(&kinds[k], 1, 99, NULL, out);

		OK(philox_rng_fill(f->device, f->stream, by_value, &fill));
		fill.out = other;
		OK(philox_rng_fill(f->device, f->stream, by_cell, &fill));
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert_arr_eq(out, other, 99 * sizes[kinds[k].dtype], "%s",
				 kinds[k].name);
	}
}

/* Aligned to 8 is enough, and the state beside it is not looked at. */
PROMISE(fill, a_cell_may_begin_at_any_multiple_of_8)
{
	struct philox_state *cells = make_memory(f, 2 * sizeof(*cells));
	uint32_t *out = make_memory(f, 64);
	struct philox_fill_desc fill = new_fill(&kinds[0], 0, 16, NULL, out);

	for (size_t at = 0; at < 16; at += 8) {
		char *cell = (char *)cells + at;
		struct philox_rng rng = {
			.state = {1, 3},
			.cell = (const struct philox_state *)(void *)cell};

		memcpy(cell, &state, sizeof(state));
		memset(out, 0, 64);
		OK(philox_rng_fill(f->device, f->stream, rng, &fill));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint64_t e = 0; e < 16; e++)
			cr_assert_eq(out[e], reference_word(state, e));
	}
}

static void check_poison(const struct kind *kind, const void *array, size_t n)
{
	static const uint64_t patterns[] = {UINT64_MAX, UINT64_MAX, 0x7fc00000,
					    0x7fc0};
	size_t size = sizes[kind->dtype];

	for (size_t i = 0; i < n; i++)
		cr_assert_arr_eq((const char *)array + i * size,
				 (const char *)&patterns[kind->dtype], size,
				 "%s, element %zu", kind->name, i);
}

PROMISE(fill, a_poisoned_cell_gives_nan_or_all_ones)
{
	static const struct philox_state states[] = {
		{UINT64_MAX, PHILOX_POISON_OFFSET}, {0, 1}};
	struct philox_state *cell = make_memory(f, sizeof(*cell));
	struct philox_rng rng = {.cell = cell};
	char *in = make_memory(f, 800), *out = make_memory(f, 800);

	memset(in, 0, 800);
	for (size_t s = 0; s < 2; s++) {
		*cell = states[s];
		for (size_t k = 0; k < N_KINDS; k++) {
			struct philox_fill_desc fill =
				new_fill(&kinds[k], 1, 99, in, out);

			memset(out, 0, 800);
			OK(philox_rng_fill(f->device, f->stream, rng, &fill));
			OK(philox_stream_synchronize(f->device, f->stream));
			check_poison(&kinds[k], out, 99);
			for (size_t i = 99 * sizes[kinds[k].dtype]; i < 800;
			     i++)
				cr_assert_eq(out[i], 0);
		}
	}
}

/* --- errors --------------------------------------------------------------- */

/* A fill that fails, with a word of its message, and writes nothing. */
static void refuse(struct fixture *f, const struct philox_fill_desc *fill,
		   enum philox_status expected, const char *word)
{
	struct philox_rng rng = {.state = state};
	uint64_t launches = philox_device_call_count(f->device, "launch");

	FAILS(philox_rng_fill(f->device, f->stream, rng, fill), expected);
	NAMES(word);
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
}

PROMISE(fill, p_outside_of_0_to_1_is_refused)
{
	const struct {
		double p;
		const char *text;
	} rows[] = {{-0.1, "p of dist"}, {-5e-324, "p of dist"},
		    {1.5, "1.5"},        {nextafter(1, 2), "p of dist"},
		    {NAN, "nan"},        {INFINITY, "inf"}};
	void *array = make_memory(f, 64);

	for (size_t k = FIRST_WITH_P; k < END_WITH_P; k++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct philox_fill_desc fill =
				new_fill(&kinds[k], 0, 4, array, array);

			fill.p = rows[i].p;
			refuse(f, &fill, PHILOX_ERROR_INVALID, rows[i].text);
		}
}

PROMISE(fill, p_means_nothing_to_the_other_distributions)
{
	void *array = make_memory(f, 64);

	for (size_t k = 0; k < 6; k++) {
		struct philox_fill_desc fill =
			new_fill(&kinds[k], 0, 4, NULL, array);

		fill.p = NAN;
		run(f, &fill);
	}
}

/* What the fields mean that a dist does not have is nothing. */
static void spoil_others(struct philox_fill_desc *fill)
{
	const double wrong[] = {NAN, -7, INFINITY};
	const struct philox_fill_desc kept = *fill;

	fill->p = fill->low = fill->mean = fill->rate = wrong[0];
	fill->std = wrong[1];
	fill->high = wrong[2];
	fill->from = 9;
	fill->to = 3;
	fill->n = 0;
	if (fill->dist == PHILOX_DIST_BERNOULLI ||
	    fill->dist == PHILOX_DIST_DROPOUT)
		fill->p = kept.p;
	if (fill->dist == PHILOX_DIST_UNIFORM ||
	    fill->dist == PHILOX_DIST_TRUNCATED_NORMAL) {
		fill->low = kept.low;
		fill->high = kept.high;
	}
	if (fill->dist == PHILOX_DIST_NORMAL ||
	    fill->dist == PHILOX_DIST_LOG_NORMAL ||
	    fill->dist == PHILOX_DIST_TRUNCATED_NORMAL) {
		fill->mean = kept.mean;
		fill->std = kept.std;
	}
	if (fill->dist == PHILOX_DIST_EXPONENTIAL)
		fill->rate = kept.rate;
	if (fill->dist == PHILOX_DIST_INTEGERS) {
		fill->from = kept.from;
		fill->to = kept.to;
	}
	if (fill->dist == PHILOX_DIST_PERMUTATION ||
	    fill->dist == PHILOX_DIST_CATEGORICAL)
		fill->n = kept.n;
}

PROMISE(fill, parameters_of_other_distributions_are_not_looked_at)
{
	char *in = make_memory(f, 512), *out = make_memory(f, 512);
	char *other = make_memory(f, 512);

	memset(in, 0x3f, 512);
	for (size_t k = 0; k < n_fill_names; k++) {
		struct philox_fill_desc fill = plain_fill(&fill_names[k]);

		fill.span = philox_span_elements(0, 50);
		fill.in = fill_names[k].in_size ? in : NULL;
		give_sums(f, &fill);
		fill.out = out;
		run(f, &fill);
		spoil_others(&fill);
		fill.out = other;
		run(f, &fill);
		cr_assert_arr_eq(out, other, 50 * fill_names[k].size, "%s",
				 fill_names[k].name);
	}
}

static int is_a_kind(unsigned dist, unsigned dtype)
{
	for (size_t k = 0; k < n_fill_names; k++)
		if (fill_names[k].dist == (enum philox_dist)dist &&
		    fill_names[k].dtype == (enum philox_dtype)dtype)
			return 1;
	return 0;
}

static int is_a_dist(unsigned dist)
{
	int found = 0;

	for (unsigned dtype = 0; dtype < 10; dtype++)
		found |= is_a_kind(dist, dtype);
	return found;
}

PROMISE(fill, kinds_that_no_comment_offers_are_refused)
{
	void *array = make_memory(f, 64);
	unsigned refused = 0;

	for (unsigned dist = 0; dist < SOME_DISTS; dist++)
		for (unsigned dtype = 0; dtype < 10; dtype++) {
			struct kind kind = {"", (enum philox_dist)dist,
					    (enum philox_dtype)dtype};
			struct philox_fill_desc fill =
				new_fill(&kind, 0, 4, array, array);

			if (is_a_kind(dist, dtype))
				continue;
			refuse(f, &fill, PHILOX_ERROR_INVALID,
			       is_a_dist(dist) ? "dtype" : "dist");
			refused++;
		}
	cr_assert_eq(refused, SOME_DISTS * 10 - n_fill_names);
}

PROMISE(fill, null_and_misaligned_arrays_are_refused)
{
	char *array = make_memory(f, 256), *other = make_memory(f, 256);

	for (size_t k = 0; k < N_KINDS; k++) {
		int reads = kinds[k].dist == PHILOX_DIST_DROPOUT;
		struct philox_fill_desc fill =
			new_fill(&kinds[k], 0, 4, array, NULL);

		refuse(f, &fill, PHILOX_ERROR_INVALID, "out is NULL");
		for (size_t i = 1; i < sizes[kinds[k].dtype]; i++) {
			fill.out = other + i;
			refuse(f, &fill, PHILOX_ERROR_INVALID,
			       "is not aligned to the ");
			NAMES("out");
		}
		fill.out = other;
		fill.in = NULL;
		if (reads)
			refuse(f, &fill, PHILOX_ERROR_INVALID, "in is NULL");
		else
			run(f, &fill);
		fill.in = array + 1;
		if (reads)
			refuse(f, &fill, PHILOX_ERROR_INVALID,
			       "is not aligned to the ");
		else
			run(f, &fill);
	}
}

PROMISE(fill, arrays_that_overlap_in_part_are_refused)
{
	float *array = make_memory(f, 256);
	struct philox_fill_desc fill =
		new_fill(&kinds[8], 0, 8, array, array + 7);

	memset(array, 0, 256);
	refuse(f, &fill, PHILOX_ERROR_INVALID, "overlap");
	fill.in = array + 14;
	refuse(f, &fill, PHILOX_ERROR_INVALID, "overlap");
	fill.in = array + 15;
	run(f, &fill);
}

/* Of a shard every row counts, and none of what is between them. */
PROMISE(fill, shards_that_overlap_in_part_are_refused)
{
	float *array = make_memory(f, 256);
	struct philox_fill_desc fill =
		new_fill(&kinds[8], 0, 4, array, array + 11);

	memset(array, 0, 256);
	fill.span = philox_span_rows(0, 3, 4, 1000);
	refuse(f, &fill, PHILOX_ERROR_INVALID, "overlap");
	fill.out = array + 12;
	run(f, &fill);
	fill.in = array + 23;
	refuse(f, &fill, PHILOX_ERROR_INVALID, "overlap");
	fill.in = array + 24;
	run(f, &fill);
}

/* Rounding reads f32: 4 bytes of what it writes 2 of. */
PROMISE(fill, an_input_is_aligned_and_counted_in_its_own_dtype)
{
	static const struct kind rounding = {"", PHILOX_DIST_STOCHASTIC_ROUND,
					     PHILOX_DTYPE_BF16};
	char *in = make_memory(f, 64), *out = make_memory(f, 64);
	struct philox_fill_desc fill = new_fill(&rounding, 0, 4, in + 2, out);

	memset(in, 0, 64);
	refuse(f, &fill, PHILOX_ERROR_INVALID, "not aligned to the 4 bytes");
	NAMES("in");
	fill.in = in;
	fill.out = out + 2;
	run(f, &fill);
	fill.span.count = (uint64_t)1 << 62;
	refuse(f, &fill, PHILOX_ERROR_OVERFLOW, "bytes");
}

PROMISE(fill, spans_past_2_to_the_64_are_refused)
{
	static const uint64_t spans[][2] = {{1, UINT64_MAX},
					    {UINT64_MAX, 2},
					    {UINT64_MAX - 10, 12},
					    {0, UINT64_MAX}};
	void *array = make_memory(f, 64);

	for (size_t k = 0; k < N_KINDS; k++)
		for (size_t i = 0; i < 4; i++) {
			struct philox_fill_desc fill =
				new_fill(&kinds[k], spans[i][0], spans[i][1],
					 array, array);

			refuse(f, &fill, PHILOX_ERROR_OVERFLOW, "2^64");
		}
	/* in elements it fits, in bytes it does not */
	for (size_t k = 0; k < N_KINDS; k++) {
		uint64_t too_many = UINT64_MAX / sizes[kinds[k].dtype] + 1;
		struct philox_fill_desc fill =
			new_fill(&kinds[k], 0, too_many, array, array);

		refuse(f, &fill, PHILOX_ERROR_OVERFLOW, "bytes");
	}
}

PROMISE(fill, a_struct_of_another_version_is_taken_if_nothing_new_is_set)
{
	struct {
		struct philox_fill_desc fill;
		char later[32];
	} longer;
	void *array = make_memory(f, 64);

	memset(&longer, 0, sizeof(longer));
	longer.fill = new_fill(&kinds[0], 0, 4, NULL, array);
	longer.fill.size = sizeof(longer);
	run(f, &longer.fill);
	longer.later[31] = 1;
	refuse(f, &longer.fill, PHILOX_ERROR_INVALID, "size");
	/* the first version had no n */
	longer.later[31] = 0;
	longer.fill.n = UINT64_MAX;
	longer.fill.size = offsetof(struct philox_fill_desc, n);
	run(f, &longer.fill);
	longer.fill.dist = PHILOX_DIST_PERMUTATION;
	refuse(f, &longer.fill, PHILOX_ERROR_INVALID, "n of dist");
	longer.fill.dist = PHILOX_DIST_BITS;
	for (size_t size = 0; size < offsetof(struct philox_fill_desc, n);
	     size++) {
		longer.fill.size = size;
		refuse(f, &longer.fill, PHILOX_ERROR_INVALID, "size");
	}
	longer.fill.size = SIZE_MAX;
	refuse(f, &longer.fill, PHILOX_ERROR_INVALID, "size");
}

PROMISE(fill, null_arguments_and_bad_states_are_refused)
{
	char *array = make_memory(f, 64);
	struct philox_fill_desc fill = new_fill(&kinds[0], 0, 4, NULL, array);
	struct philox_rng rng = {.state = state};

	FAILS(philox_rng_fill(NULL, f->stream, rng, &fill),
	      PHILOX_ERROR_INVALID);
	NAMES("device");
	refuse(f, NULL, PHILOX_ERROR_INVALID, "fill");
	for (uint64_t i = 1; i < 4; i++) {
		rng.state.offset = 8 + i;
		FAILS(philox_rng_fill(f->device, f->stream, rng, &fill),
		      PHILOX_ERROR_INVALID);
		NAMES("offset");
	}
	rng.cell = (const struct philox_state *)(void *)(array + 4);
	FAILS(philox_rng_fill(f->device, f->stream, rng, &fill),
	      PHILOX_ERROR_INVALID);
	NAMES("cell");
}

/* --- fills of passes ------------------------------------------------------ */

PROMISE(fill, a_pass_fills_from_the_cell_of_its_operator_and_call)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *out = make_memory(f, 64);
	struct philox_fill_desc fill = new_fill(&kinds[0], 0, 16, NULL, out);
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	for (uint32_t call = 0; call < 2; call++) {
		struct philox_state cell = predict_cell(0, "layer", 1, call, 0);

		OK(philox_pass_fill(&pass, 1, call, &fill));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint64_t e = 0; e < 16; e++)
			cr_assert_eq(out[e], reference_word(cell, e));
	}
	OK(philox_pass_abort(&pass));
}

/*
 * The results of philox_pass_fill() for a kind, and of the kind's own function.
 */
static enum philox_status by_name(const struct philox_pass *pass,
				  const struct philox_fill_desc *fill,
				  void *out)
{
	switch (fill->dist) {
	case PHILOX_DIST_BITS:
		return philox_pass_bits(pass, 2, fill->dtype, fill->span, out);
	case PHILOX_DIST_UNIFORM:
		return philox_pass_uniform(pass, 2, fill->dtype, fill->span, 0,
					   1, out);
	case PHILOX_DIST_NORMAL:
		return philox_pass_normal(pass, 2, fill->dtype, fill->span, 0,
					  1, out);
	case PHILOX_DIST_SIGNS:
		return philox_pass_signs(pass, 2, fill->dtype, fill->span, out);
	case PHILOX_DIST_BERNOULLI:
		return philox_pass_bernoulli(pass, 2, fill->dtype, fill->span,
					     fill->p, out);
	default:
		return philox_pass_dropout(pass, 2, fill->dtype, fill->span,
					   fill->p, fill->in, out);
	}
}

PROMISE(fill, the_functions_by_name_do_the_same)
{
	struct philox_region *region = make_region(f, "layer");
	char *in = make_memory(f, 800), *out = make_memory(f, 800);
	char *other = make_memory(f, 800);
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	for (size_t k = 0; k < N_KINDS; k++) {
		struct philox_fill_desc fill =
			new_fill(&kinds[k], 3, 77, in, out);

		memset(out, 0, 800);
		memset(other, 0xee, 800);
		if (kinds[k].dist == PHILOX_DIST_DROPOUT)
			write_inputs(&kinds[k], in, 77);
		OK(philox_pass_fill(&pass, 2, 0, &fill));
		OK(by_name(&pass, &fill, other));
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert_arr_eq(out, other, 77 * sizes[kinds[k].dtype], "%s",
				 kinds[k].name);
	}
	OK(philox_pass_abort(&pass));
}

PROMISE(fill, errors_of_a_pass_name_its_region_and_operator)
{
	static const struct philox_op_desc ops[] = {
		{.name = "attention dropout"}, {.name = NULL, .calls = 2}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "block 7",
					     .ops = ops,
					     .n_ops = 2};
	void *out = make_memory(f, 64);
	struct philox_fill_desc fill = new_fill(&kinds[6], 0, 4, NULL, out);
	struct philox_region *region;
	struct philox_pass pass;

	OK(philox_region_create(f->context, &options, &region));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	fill.p = 2;
	FAILS(philox_pass_fill(&pass, 0, 0, &fill), PHILOX_ERROR_INVALID);
	NAMES("block 7");
	NAMES("attention dropout");
	NAMES("p of dist bernoulli is 2");
	FAILS(philox_pass_fill(&pass, 1, 1, NULL), PHILOX_ERROR_INVALID);
	NAMES("block 7");
	NAMES("op 1");

	fill.p = 0.5;
	FAILS(philox_pass_fill(&pass, 2, 0, &fill), PHILOX_ERROR_INVALID);
	NAMES("block 7");
	FAILS(philox_pass_fill(&pass, 0, 1, &fill), PHILOX_ERROR_INVALID);
	NAMES("block 7");
	FAILS(philox_pass_fill(NULL, 0, 0, &fill), PHILOX_ERROR_INVALID);

	OK(philox_device_fail(f->device, "launch", 1, PHILOX_ERROR_DEVICE));
	FAILS(philox_pass_fill(&pass, 0, 0, &fill), PHILOX_ERROR_DEVICE);
	NAMES("attention dropout");
	OK(philox_pass_fill(&pass, 0, 0, &fill));
	OK(philox_pass_abort(&pass));
	FAILS(philox_pass_fill(&pass, 0, 0, &fill), PHILOX_ERROR_STATE);
}

struct heard {
	unsigned count;
	int complete; /* all of them named level, status, region and op */
};

static void hear(void *user, const struct philox_log_entry *entry)
{
	struct heard *heard = user;

	heard->count++;
	heard->complete &= entry->level == PHILOX_LOG_ERROR &&
			   entry->status == PHILOX_ERROR_INVALID &&
			   entry->region &&
			   strcmp(entry->region, "layer") == 0 && entry->op &&
			   strstr(entry->text, "p of dist") != NULL;
}

PROMISE(fill, a_failing_fill_of_a_pass_is_logged_once)
{
	struct philox_region *region = make_region(f, "layer");
	struct heard heard = {.complete = 1};
	struct philox_pass pass;
	void *out = make_memory(f, 64);
	struct philox_span span = {.count = 4};

	OK(philox_context_set_log(f->context, hear, &heard));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	FAILS(philox_pass_bernoulli(&pass, 0, PHILOX_DTYPE_F32, span, -1, out),
	      PHILOX_ERROR_INVALID);
	OK(philox_context_set_log(f->context, NULL, NULL));
	cr_assert_eq(heard.count, 1);
	cr_assert(heard.complete);
	OK(philox_pass_abort(&pass));
}
