/*
 * tests/numbers/layouts/layout.c - other libraries' numbers against their own
 *
 * The tables of tests/golden come from those libraries, or from copies of their
 * loops over cuRAND's own generator (tests/golden/make.sh); with the CUDA
 * toolkit the loops run here too, for other cases.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "tests/support/oracles/layouts.h"
#include "tests/support/support.h"

/* --- golden values -------------------------------------------------------- */

static void check_value(const struct layout_op *op, const struct layout_case *c,
			uint64_t element, uint64_t got, uint64_t expected)
{
	double x = layout_value(op, got), y = layout_value(op, expected);

	cr_assert(got == expected || fabs(x - y) < c->near,
		  "%s: element %" PRIu64 " is %" PRIx64 " (%.9g), not %" PRIx64
		  " (%.9g)",
		  layout_text(c), element, got, x, expected, y);
}

static void check_whole(struct philox_device *device,
			const struct layout_op *op,
			const struct layout_answers *answers)
{
	const struct layout_case *c = &answers->c;
	void *got = layout_draw_elements(device, op, 0, c->elements);

	for (size_t i = 0; i < answers->n; i++)
		check_value(op, c, answers->element[i],
			    layout_bits(op, got, answers->element[i]),
			    answers->bits[i]);
	if (answers->has_digest)
		cr_assert_eq(layout_digest(got, c->elements * op->size),
			     answers->digest, "%s: some element",
			     layout_text(c));
	free(got);
}

static void check_one_by_one(struct philox_device *device,
			     const struct layout_op *op,
			     const struct layout_answers *answers)
{
	for (size_t i = 0; i < answers->n; i++) {
		uint64_t element = answers->element[i];
		void *got = layout_draw_elements(device, op, element, 1);

		check_value(op, &answers->c, element, layout_bits(op, got, 0),
			    answers->bits[i]);
		free(got);
	}
}

static void check_advance(const struct layout_op *op,
			  const struct layout_answers *answers)
{
	uint64_t words;

	OK(philox_layout_advance(&op->fill, &words));
	/* offsets are multiples of 4 here */
	cr_assert_eq(words, (answers->advance + 3) / 4 * 4, "%s",
		     layout_text(&answers->c));
}

static unsigned check_table(const char *path)
{
	struct philox_device *device = layout_device();
	struct layout_answers answers;
	struct layout_table table;
	struct layout_op op;
	unsigned cases = 0;

	layout_table_open(&table, path);
	for (; layout_table_next(&table, &answers); cases++) {
		layout_op_of(&answers.c, &op);
		if (answers.has_advance)
			check_advance(&op, &answers);
		if (answers.c.elements)
			check_whole(device, &op, &answers);
		else
			check_one_by_one(device, &op, &answers);
	}
	philox_device_close(device);
	return cases;
}

Test(layout, curand_device_golden_values)
{
	cr_assert_eq(check_table("tests/golden/curand_device.txt"), 26);
}

Test(layout, curand_host_golden_values)
{
	cr_assert_eq(check_table("tests/golden/curand_host.txt"), 25);
}

Test(layout, pytorch_golden_values)
{
	cr_assert_eq(check_table("tests/golden/pytorch.txt"), 165);
}

Test(layout, nvfuser_golden_values)
{
	cr_assert_eq(check_table("tests/golden/nvfuser.txt"), 40);
}

Test(layout, triton_golden_values)
{
	cr_assert_eq(check_table("tests/golden/triton.txt"), 25);
}

Test(layout, jax_golden_values)
{
	cr_assert_eq(check_table("tests/golden/jax.txt"), 26);
}

/* --- whole tensors, from the originals' loops ----------------------------- */

#ifdef PHILOX_ORACLE_CURAND

static uint32_t random_below(uint64_t *draws, uint32_t n)
{
	return philox_block(2026, (*draws)++, 0).w[0] % n;
}

static struct layout_case random_case(uint64_t *draws, const char *layout,
				      const char *dist, const char *dtype)
{
	struct layout_case c = {.seed = philox_block(7, *draws, 0).w[1],
				.offset = 4 * random_below(draws, 1000),
				.elements = 1 + random_below(draws, 30000),
				.sms = 1 + random_below(draws, 4),
				.threads_per_sm =
					256 + random_below(draws, 2000),
				.threads = random_below(draws, 3000),
				.vector = 1u << random_below(draws, 4),
				.high = 1,
				.std = 1,
				.p = random_below(draws, 101) / 100.0,
				.rate = 1,
				.to = random_below(draws, 1u << 29)};

	if (!strcmp(dtype, "f64") || !strcmp(dtype, "f32"))
		c.vector = c.vector > 4 ? 0 : c.vector;
	if (random_below(draws, 2))
		c.elements = (c.elements + 7) / 8 * 8;
	snprintf(c.layout, sizeof(c.layout), "%s", layout);
	snprintf(c.dist, sizeof(c.dist), "%s", dist);
	snprintf(c.dtype, sizeof(c.dtype), "%s", dtype);
	return c;
}

static void check_against_loops(struct philox_device *device,
				const struct layout_case *c)
{
	struct layout_op op;
	uint64_t advance, words;
	void *got, *expected;

	layout_op_of(c, &op);
	expected = malloc(c->elements * op.size);
	cr_assert(expected && oracle_layout(c, expected, &advance), "%s",
		  layout_text(c));
	got = layout_draw_elements(device, &op, 0, c->elements);
	for (uint64_t i = 0; i < c->elements; i++)
		check_value(&op, c, i, layout_bits(&op, got, i),
			    layout_bits(&op, expected, i));
	OK(philox_layout_advance(&op.fill, &words));
	cr_assert_eq(words, (advance + 3) / 4 * 4, "%s", layout_text(c));
	free(got);
	free(expected);
}

Test(layout, whole_tensors_are_those_of_the_originals_loops)
{
	static const char *const kinds[][3] = {
		{"curand_device", "bits", "u32"},
		{"curand_device", "uniform", "f32"},
		{"curand_device", "uniform", "f64"},
		{"pytorch", "bits", "u32"},
		{"pytorch", "bits", "u64"},
		{"pytorch", "integer", "i32"},
		{"pytorch", "integer", "i64"},
		{"pytorch", "uniform", "f32"},
		{"pytorch", "uniform", "f64"},
		{"pytorch", "uniform", "bf16"},
		{"pytorch", "uniform", "f16"},
		{"pytorch", "bernoulli", "f32"},
		{"pytorch", "bernoulli", "f64"},
		{"pytorch", "dropout", "f32"},
		{"pytorch", "dropout", "f64"},
		{"pytorch", "dropout", "bf16"},
		{"pytorch", "dropout", "f16"},
		{"nvfuser", "uniform", "f32"},
		{"nvfuser", "uniform", "f64"},
		{"nvfuser", "uniform", "f16"},
		{"nvfuser", "uniform", "bf16"},
		{"nvfuser", "dropout", "f32"},
	};
	struct philox_device *device = layout_device();
	uint64_t draws = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (int k = 0; k < 12; k++) {
			struct layout_case c = random_case(
				&draws, kinds[i][0], kinds[i][1], kinds[i][2]);

			check_against_loops(device, &c);
		}
	philox_device_close(device);
}

#else

Test(layout, whole_tensors_are_those_of_the_originals_loops)
{
	cr_skip_test("built without curand_kernel.h of a CUDA toolkit");
}

#endif

/* --- values at the ends --------------------------------------------------- */

/* The largest counters that offset and element can reach. */
Test(layout, large_elements_and_offsets_are_drawn)
{
	static const char *const layouts[] = {"curand_device", "curand_host",
					      "nvfuser", "triton", "jax"};
	struct philox_device *device = layout_device();

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		struct layout_case c =
			layout_case_of(layouts[i], "uniform", "f32");
		struct layout_op op;

		c.elements = 0;
		c.offset = UINT64_MAX - 3;
		layout_op_of(&c, &op);
		free(layout_draw_elements(device, &op, UINT64_MAX - 9, 10));
	}
	philox_device_close(device);
}

/* NaN and infinity times 0 is NaN, and negative numbers become -0. */
Test(layout, dropped_numbers_are_products_as_in_pytorch)
{
	struct philox_device *device = layout_device();
	struct layout_case c = layout_case_of("pytorch", "dropout", "f32");
	float in[3000], out[3000];
	struct layout_op op;
	unsigned dropped = 0;

	layout_op_of(&c, &op);
	for (int i = 0; i < 3000; i++)
		in[i] = -1;
	layout_draw_span(device, &op, op.fill.span, in, out);
	for (int i = 0; i < 3000; i++) {
		cr_assert(out[i] == 0 || out[i] == -1 / 0.7f);
		cr_assert(signbit(out[i]));
		dropped += out[i] == 0;
		in[i] = i % 2 ? INFINITY : NAN;
	}
	cr_assert(dropped > 800 && dropped < 1000);
	layout_draw_span(device, &op, op.fill.span, in, out);
	for (int i = 0; i < 3000; i++)
		cr_assert(isnan(out[i]) || (i % 2 && isinf(out[i])));
	philox_device_close(device);
}

/* --- seeds of JAX --------------------------------------------------------- */

Test(layout, jax_seeds_are_derived_as_jax_derives_them)
{
	FILE *file = fopen("tests/golden/jax.txt", "r");
	unsigned rows = 0;
	char line[256];

	cr_assert_not_null(file);
	while (fgets(line, sizeof(line), file)) {
		uint64_t seed, key, fold, split;

		if (sscanf(line,
			   "seed %" SCNu64 " key=%" SCNu64 " fold=%" SCNu64
			   " split=%" SCNu64,
			   &seed, &key, &fold, &split) != 4)
			continue;
		rows++;
		cr_assert_eq(philox_jax_seed(seed), key, "%s", line);
		cr_assert_eq(philox_jax_fold_in(key, 7), fold, "%s", line);
		cr_assert_eq(philox_jax_split(key, 2), split, "%s", line);
	}
	fclose(file);
	cr_assert_eq(rows, 5);
	/* an element past 2^32 is the low half of the counter's upper part */
	cr_assert_eq(philox_jax_split(9, (uint64_t)5 << 32 | 3),
		     philox_jax_words(9, 0, (uint64_t)3 << 32 | 5));
}
