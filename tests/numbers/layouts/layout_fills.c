/*
 * tests/numbers/layouts/layout_fills.c - fills in other libraries' layouts
 *
 * They are like all fills, of any span, in place, from a cell; kinds that a
 * layout lacks are refused.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "tests/support/oracles/layouts.h"
#include "tests/support/support.h"

/* --- spans ---------------------------------------------------------------- */

/* Every dist and dtype that a layout has. */
static const char *const all_kinds[][3] = {
	{"curand_device", "bits", "u32"},
	{"curand_device", "uniform", "f32"},
	{"curand_device", "uniform", "f64"},
	{"curand_device", "normal", "f32"},
	{"curand_device", "normal", "f64"},
	{"curand_host", "bits", "u32"},
	{"curand_host", "uniform", "f32"},
	{"curand_host", "uniform", "f64"},
	{"curand_host", "normal", "f32"},
	{"curand_host", "normal", "f64"},
	{"pytorch", "bits", "u32"},
	{"pytorch", "bits", "u64"},
	{"pytorch", "integer", "u32"},
	{"pytorch", "integer", "i32"},
	{"pytorch", "integer", "u64"},
	{"pytorch", "integer", "i64"},
	{"pytorch", "uniform", "f32"},
	{"pytorch", "uniform", "f64"},
	{"pytorch", "uniform", "bf16"},
	{"pytorch", "uniform", "f16"},
	{"pytorch", "normal", "f32"},
	{"pytorch", "normal", "f64"},
	{"pytorch", "normal", "bf16"},
	{"pytorch", "normal", "f16"},
	{"pytorch", "log_normal", "f32"},
	{"pytorch", "log_normal", "f64"},
	{"pytorch", "log_normal", "bf16"},
	{"pytorch", "log_normal", "f16"},
	{"pytorch", "exponential", "f32"},
	{"pytorch", "exponential", "f64"},
	{"pytorch", "exponential", "bf16"},
	{"pytorch", "exponential", "f16"},
	{"pytorch", "bernoulli", "f32"},
	{"pytorch", "bernoulli", "f64"},
	{"pytorch", "bernoulli", "bf16"},
	{"pytorch", "bernoulli", "f16"},
	{"pytorch", "dropout", "f32"},
	{"pytorch", "dropout", "f64"},
	{"pytorch", "dropout", "bf16"},
	{"pytorch", "dropout", "f16"},
	{"nvfuser", "uniform", "f32"},
	{"nvfuser", "uniform", "f64"},
	{"nvfuser", "uniform", "bf16"},
	{"nvfuser", "uniform", "f16"},
	{"nvfuser", "normal", "f32"},
	{"nvfuser", "normal", "f64"},
	{"nvfuser", "normal", "bf16"},
	{"nvfuser", "normal", "f16"},
	{"nvfuser", "dropout", "f32"},
	{"triton", "bits", "u32"},
	{"triton", "uniform", "f32"},
	{"triton", "normal", "f32"},
	{"triton", "dropout", "f32"},
	{"triton", "dropout", "bf16"},
	{"triton", "dropout", "f16"},
	{"jax", "bits", "u32"},
	{"jax", "bits", "u64"},
	{"jax", "uniform", "f32"},
	{"jax", "uniform", "f64"},
	{"jax", "uniform", "bf16"},
	{"jax", "uniform", "f16"},
	{"jax", "bernoulli", "f32"},
	{"jax", "bernoulli", "f64"},
	{"jax", "bernoulli", "bf16"},
	{"jax", "bernoulli", "f16"},
};

#define N_KINDS (sizeof(all_kinds) / sizeof(all_kinds[0]))

static void check_cut(struct philox_device *device, const struct layout_op *op,
		      const char *whole, uint64_t first, uint64_t count,
		      const char *text)
{
	char *part = layout_draw_elements(device, op, first, count);

	cr_assert_arr_eq(part, whole + first * op->size, count * op->size,
			 "%s: elements %" PRIu64 " and %" PRIu64 " more", text,
			 first, count);
	free(part);
}

static void check_shard(struct philox_device *device,
			const struct layout_op *op, const char *whole,
			const char *text)
{
	const uint64_t first = 205, rows = 20, cols = 33, stride = 100;
	char *in = malloc(rows * cols * op->size);
	char *out = malloc(rows * cols * op->size);

	cr_assert(in && out);
	for (uint64_t r = 0; r < rows; r++)
		layout_write_inputs(op, in + r * cols * op->size,
				    first + r * stride, cols);
	layout_draw_span(device, op,
			 philox_span_rows(first, rows, cols, stride), in, out);
	for (uint64_t r = 0; r < rows; r++)
		cr_assert_arr_eq(out + r * cols * op->size,
				 whole + (first + r * stride) * op->size,
				 cols * op->size, "%s: row %" PRIu64, text, r);
	free(in);
	free(out);
}

Test(layout, a_part_of_a_tensor_draws_what_the_whole_has_there)
{
	struct philox_device *device = layout_device();

	for (size_t i = 0; i < N_KINDS; i++) {
		struct layout_case c = layout_case_of(
			all_kinds[i][0], all_kinds[i][1], all_kinds[i][2]);
		struct layout_op op;
		char *whole;

		layout_op_of(&c, &op);
		whole = layout_draw_elements(device, &op, 0, c.elements);
		check_cut(device, &op, whole, 0, 1, layout_text(&c));
		check_cut(device, &op, whole, 511, 3, layout_text(&c));
		check_cut(device, &op, whole, 1021, 1979, layout_text(&c));
		check_shard(device, &op, whole, layout_text(&c));
		free(whole);
	}
	philox_device_close(device);
}

Test(layout, dropout_works_in_place)
{
	struct philox_device *device = layout_device();

	for (size_t i = 0; i < N_KINDS; i++) {
		struct layout_case c = layout_case_of(
			all_kinds[i][0], all_kinds[i][1], all_kinds[i][2]);
		struct layout_op op;
		char *whole, *array;

		if (strcmp(c.dist, "dropout") != 0)
			continue;
		layout_op_of(&c, &op);
		whole = layout_draw_elements(device, &op, 0, c.elements);
		array = malloc(c.elements * op.size);
		layout_write_inputs(&op, array, 0, c.elements);
		layout_draw_span(device, &op, op.fill.span, array, array);
		cr_assert_arr_eq(array, whole, c.elements * op.size, "%s",
				 layout_text(&c));
		free(array);
		free(whole);
	}
	philox_device_close(device);
}

static void check_poison(struct philox_device *device,
			 const struct layout_op *op, const char *text)
{
	static const uint64_t poison[] = {
		[PHILOX_DTYPE_U32] = 0xffffffff,
		[PHILOX_DTYPE_U64] = UINT64_MAX,
		[PHILOX_DTYPE_F32] = 0x7fc00000,
		[PHILOX_DTYPE_BF16] = 0x7fc0,
		[PHILOX_DTYPE_F16] = 0x7e00,
		[PHILOX_DTYPE_F64] = 0x7ff8000000000000,
		[PHILOX_DTYPE_I32] = 0xffffffff,
		[PHILOX_DTYPE_I64] = UINT64_MAX,
	};
	static const struct philox_state cells[] = {{7, PHILOX_POISON_OFFSET},
						    {7, 1}};

	for (int k = 0; k < 2; k++) {
		struct philox_rng rng = {.cell = &cells[k]};
		uint64_t in[10] = {0}, out[10] = {0};
		struct philox_fill_desc fill = op->fill;

		fill.span = philox_span_elements(3, 10);
		fill.in = in;
		fill.out = out;
		OK(philox_rng_fill(device, NULL, rng, &fill));
		for (uint64_t i = 0; i < 10; i++)
			cr_assert_eq(layout_bits(op, out, i),
				     poison[fill.dtype], "%s", text);
	}
}

Test(layout, a_poisoned_cell_gives_nan_or_all_ones)
{
	struct philox_device *device = layout_device();

	for (size_t i = 0; i < N_KINDS; i++) {
		struct layout_case c = layout_case_of(
			all_kinds[i][0], all_kinds[i][1], all_kinds[i][2]);
		struct layout_op op;

		layout_op_of(&c, &op);
		check_poison(device, &op, layout_text(&c));
	}
	philox_device_close(device);
}

/* --- refusals ------------------------------------------------------------- */

/* A fill that is refused, and as an op of an advance too. */
static void refused(const struct layout_op *op, enum philox_status expected,
		    const char *name)
{
	struct philox_device *device = layout_device();
	struct philox_rng rng = {op->state, NULL};
	struct philox_fill_desc fill = op->fill;
	uint64_t in[8] = {0}, out[8] = {1, 2, 3}, words = 77;

	fill.span = philox_span_elements(fill.span.first, 2);
	fill.in = in;
	fill.out = out;
	FAILS(philox_rng_fill(device, NULL, rng, &fill), expected);
	NAMES(name);
	cr_assert(out[0] == 1 && out[1] == 2, "nothing was written");
	FAILS(philox_layout_advance(&fill, &words), expected);
	NAMES(name);
	cr_assert_eq(words, 77);
	philox_device_close(device);
}

#define REFUSED(layout_name, dist_name, dtype_name, expected, name, change) \
	do {                                                                \
		struct layout_case case_ =                                  \
			layout_case_of(layout_name, dist_name, dtype_name); \
		struct layout_op op;                                        \
                                                                            \
		layout_op_of(&case_, &op);                                  \
		change;                                                     \
		refused(&op, expected, name);                               \
	} while (0)

#define INVALID     PHILOX_ERROR_INVALID
#define UNSUPPORTED PHILOX_ERROR_UNSUPPORTED

Test(layout, kinds_that_an_original_lacks_are_refused)
{
	REFUSED("curand_device", "bernoulli", "f32", UNSUPPORTED,
		"layout curand_device has no dist bernoulli", );
	REFUSED("curand_host", "uniform", "bf16", UNSUPPORTED, "dtype bf16", );
	REFUSED("pytorch", "gumbel", "f32", UNSUPPORTED, "gumbel", );
	REFUSED("nvfuser", "bits", "u32", UNSUPPORTED, "nvfuser", );
	REFUSED("nvfuser", "dropout", "f16", UNSUPPORTED, "dropout", );
	REFUSED("triton", "integer", "u32", UNSUPPORTED, "integers", );
	REFUSED("jax", "normal", "f32", UNSUPPORTED, "normal", );
	REFUSED("triton", "uniform", "f32", UNSUPPORTED, "[0, 2)",
		op.fill.high = 2);
	REFUSED("curand_device", "uniform", "f64", UNSUPPORTED, "[-1, 1)",
		op.fill.low = -1);
	REFUSED("jax", "uniform", "f32", UNSUPPORTED, "[1, 4)",
		(op.fill.low = 1, op.fill.high = 4));
}

/* PyTorch: (to - from) <= the largest number of the dtype. */
Test(layout, ranges_that_are_infinite_in_their_dtype_are_refused)
{
	struct philox_device *device = layout_device();
	struct layout_case c = layout_case_of("pytorch", "uniform", "f16");
	struct layout_op op;
	uint16_t *drawn;

	REFUSED("pytorch", "uniform", "f16", UNSUPPORTED, "[-65504, 65504)",
		(op.fill.low = -65504, op.fill.high = 65504));
	REFUSED("pytorch", "uniform", "f16", UNSUPPORTED, "dtype f16",
		(op.fill.low = -32768, op.fill.high = 32768));
	REFUSED("pytorch", "uniform", "bf16", UNSUPPORTED, "dtype bf16",
		(op.fill.low = -0x1.ffp126, op.fill.high = 0x1.ffp126));
	layout_op_of(&c, &op);
	op.fill.low = -32752;
	op.fill.high = 32752;
	drawn = layout_draw_elements(device, &op, 0, c.elements);
	for (uint64_t i = 0; i < c.elements; i++)
		cr_assert(isfinite(layout_value(&op, drawn[i])), "%d", (int)i);
	free(drawn);
	philox_device_close(device);
}

Test(layout, fields_out_of_their_range_are_refused)
{
	REFUSED("pytorch", "uniform", "f32", INVALID, "sms", op.layout.sms = 0);
	REFUSED("pytorch", "uniform", "f32", INVALID, "threads_per_sm",
		op.layout.threads_per_sm = 255);
	REFUSED("pytorch", "uniform", "f32", INVALID, "2^30 threads",
		op.layout.sms = 1u << 24);
	REFUSED("pytorch", "uniform", "f32", INVALID, "2^30 threads",
		(op.layout.sms = 1u << 19, op.layout.threads_per_sm = 2048));
	REFUSED("pytorch", "uniform", "f32", INVALID, "elements",
		op.layout.elements = 0);
	REFUSED("pytorch", "dropout", "f32", INVALID, "vector",
		op.layout.vector = 3);
	REFUSED("pytorch", "dropout", "bf16", INVALID, "vector",
		op.layout.vector = 16);
	REFUSED("pytorch", "uniform", "f32", INVALID, "span ends at 3001",
		op.fill.span.first = 2999);
	REFUSED("triton", "uniform", "f32", INVALID, "span ends at 3001",
		op.fill.span.first = 2999);
	REFUSED("triton", "uniform", "f32", INVALID, "elements",
		op.layout.elements = 1);
	REFUSED("jax", "bits", "u32", PHILOX_ERROR_OVERFLOW, "2^62",
		op.layout.elements = (uint64_t)1 << 62);
	REFUSED("pytorch", "bits", "u32", INVALID, "layout 7 is unknown",
		op.layout.kind = (enum philox_layout_kind)7);
	REFUSED("pytorch", "bits", "u32", INVALID, "layout",
		op.layout.size =
			offsetof(struct philox_layout_desc, vector) + 3);
	REFUSED("pytorch", "bits", "u32", INVALID, "reserved is 0x1",
		op.layout.reserved = 1);
	REFUSED("pytorch", "uniform", "f64", UNSUPPORTED, "in parts",
		op.layout.elements = ((uint64_t)1 << 28) + 1);
}

/* Fields of PYTORCH mean nothing to others, and one's T nothing to it. */
Test(layout, fields_of_other_kinds_are_not_looked_at)
{
	struct philox_device *device = layout_device();

	for (size_t i = 0; i < N_KINDS; i++) {
		struct layout_case c = layout_case_of(
			all_kinds[i][0], all_kinds[i][1], all_kinds[i][2]);
		struct layout_op op;
		char *plain, *other;

		layout_op_of(&c, &op);
		plain = layout_draw_elements(device, &op, 5, 100);
		if (op.layout.kind == PHILOX_LAYOUT_PYTORCH) {
			op.layout.threads = 77;
		} else {
			op.layout.sms = UINT32_MAX;
			op.layout.threads_per_sm = 3;
			op.layout.vector = 3;
		}
		other = layout_draw_elements(device, &op, 5, 100);
		cr_assert_arr_eq(plain, other, 100 * op.size, "%s",
				 layout_text(&c));
		free(plain);
		free(other);
	}
	philox_device_close(device);
}

Test(layout, every_row_of_a_shard_is_within_the_elements)
{
	struct philox_device *device = layout_device();
	struct layout_case c = layout_case_of("triton", "bits", "u32");
	struct layout_op op;
	uint32_t out[4];
	uint64_t words;

	layout_op_of(&c, &op);
	op.fill.out = out;
	op.fill.span = philox_span_rows(0, 2, 2, 2998);
	OK(philox_rng_fill(device, NULL, (struct philox_rng){op.state, NULL},
			   &op.fill));
	op.fill.span.row_stride++;
	FAILS(philox_rng_fill(device, NULL, (struct philox_rng){op.state, NULL},
			      &op.fill),
	      PHILOX_ERROR_INVALID);
	NAMES("span ends at 3001");
	op.fill.span = philox_span_elements(3000, 0);
	OK(philox_rng_fill(device, NULL, (struct philox_rng){op.state, NULL},
			   &op.fill));
	OK(philox_layout_advance(&op.fill, &words));
	cr_assert_eq(words, 12000);
	philox_device_close(device);
}

/* random_() of all integers: w64 % 2^64 is w64. */
Test(layout, all_integers_of_pytorch_are_its_bits)
{
	struct philox_device *device = layout_device();
	struct layout_case c = layout_case_of("pytorch", "integer", "u64");
	struct layout_op op;
	uint64_t *integers, *bits;

	layout_op_of(&c, &op);
	op.fill.from = 0;
	op.fill.to = UINT64_MAX;
	integers = layout_draw_elements(device, &op, 0, c.elements);
	op.fill.dist = PHILOX_DIST_BITS;
	bits = layout_draw_elements(device, &op, 0, c.elements);
	cr_assert_arr_eq(integers, bits, c.elements * 8);
	free(integers);
	free(bits);
	philox_device_close(device);
}

Test(layout, a_gpu_of_256_threads_is_drawn_for)
{
	struct philox_device *device = layout_device();
	struct layout_case c = layout_case_of("pytorch", "bits", "u32");
	struct philox_words first, second;
	struct layout_op op;
	uint32_t *drawn;

	c.sms = 1;
	c.threads_per_sm = 256;
	layout_op_of(&c, &op);
	drawn = layout_draw_elements(device, &op, 0, c.elements);
	/* T = 256: element 256 is thread 0's second word */
	first = philox_block(c.seed, c.offset / 4, 0);
	second = philox_block(c.seed, c.offset / 4 + 1, 0);
	for (uint64_t i = 0; i < 4; i++) {
		cr_assert_eq(drawn[256 * i], first.w[i]);
		cr_assert_eq(drawn[256 * (4 + i)], second.w[i]);
	}
	free(drawn);
	philox_device_close(device);
}

Test(layout, the_largest_tensor_that_pytorch_draws_as_one_is_drawn)
{
	struct philox_device *device = layout_device();
	struct layout_case c = layout_case_of("pytorch", "uniform", "f64");
	struct layout_op op;

	c.elements = (uint64_t)1 << 28;
	layout_op_of(&c, &op);
	free(layout_draw_elements(device, &op, c.elements - 2, 2));
	c = layout_case_of("pytorch", "dropout", "f64");
	c.elements = (uint64_t)1 << 40;
	layout_op_of(&c, &op);
	free(layout_draw_elements(device, &op, c.elements - 2, 2));
	philox_device_close(device);
}

Test(layout, the_default_layout_is_no_other_librarys)
{
	struct philox_device *device = layout_device();
	struct layout_case c = layout_case_of("default", "uniform", "f32");
	struct layout_op op;
	float *with, without[100];

	layout_op_of(&c, &op);
	with = layout_draw_elements(device, &op, 0, 100);
	op.fill.layout = NULL;
	layout_draw_span(device, &op, philox_span_elements(0, 100), NULL,
			 without);
	cr_assert_arr_eq(with, without, sizeof(without));
	free(with);
	philox_device_close(device);
}

Test(layout, layouts_have_names)
{
	cr_assert_str_eq(philox_layout_name(PHILOX_LAYOUT_PYTORCH), "pytorch");
	cr_assert_str_eq(philox_layout_name((enum philox_layout_kind)99), "?");
}
