/*
 * tests/quantize/tensors.c - a tensor is rounded as its elements are, however it
 * is cut, laid out, listed or captured
 *
 * What one element becomes, and scales, are in the other files and in model/.
 */
#include <stdlib.h>
#include <philox/quantize.h>
#include "lib/base/base.h"
#include "lib/quantize/elements.h"
#include "lib/quantize/quantize.h"
#include "tests/support/support.h"

enum { ROWS = 64, COLS = 96, N = ROWS * COLS };

static const struct philox_state state = {0x123456789abcdef, 64};

/* A tensor on the device with all that it may write; nothing is shared. */
struct tensor {
	struct philox_quantize_desc desc;
	size_t out_size, scales_size;
};

static float number(uint32_t i)
{
	const struct philox_words words =
		philox_draw4((struct philox_state){5, 0}, i);
	const float x = (float)(int)(words.w[0] >> 8) * 0x1p-21f - 4;

	return i % 11 == 3 ? x * 100 : i % 7 ? x : x * 0x1p-12f;
}

static void *make_input(struct fixture *f, uint32_t dtype)
{
	static float f32[N];
	static uint16_t narrow[N];

	for (uint32_t i = 0; i < N; i++) {
		f32[i] = number(i);
		narrow[i] = dtype == PHILOX_DTYPE_BF16
				    ? philox_f32_to_bf16(f32[i])
				    : philox_f32_to_f16(f32[i]);
	}
	return dtype == PHILOX_DTYPE_F32 ? upload(f, f32, sizeof(f32))
					 : upload(f, narrow, sizeof(narrow));
}

static size_t out_size(const struct philox_quantize_desc *t)
{
	const size_t n = t->span.count * (t->span.rows ? t->span.rows : 1);

	return t->format <= PHILOX_FORMAT_F16    ? 2 * n
	       : t->format == PHILOX_FORMAT_E2M1 ? n / 2
						 : n;
}

/* Gives a tensor memory of its own for what it writes. */
static struct tensor make_tensor(struct fixture *f,
				 struct philox_quantize_desc desc)
{
	static const float t = 0x1.8p-9f;
	static const uint64_t zero;
	struct tensor made = {.desc = desc};
	uint64_t scales;

	made.desc.size = sizeof(made.desc);
	OK(philox_quantize_scales_size(&made.desc, &scales));
	made.out_size = out_size(&desc);
	made.scales_size = scales;
	made.desc.out = make_memory(f, made.out_size + 1);
	made.desc.scales = make_memory(f, scales + 1);
	made.desc.tensor_scale = upload(f, &t, sizeof(t));
	made.desc.saturated = upload(f, &zero, sizeof(zero));
	return made;
}

static void round_it(struct fixture *f, const struct tensor *t)
{
	const struct philox_rng rng = {.state = state};

	OK(philox_rng_quantize(f->device, f->stream, &rng, &t->desc, 1));
	OK(philox_stream_synchronize(f->device, f->stream));
}

static struct tensor rounded(struct fixture *f,
			     struct philox_quantize_desc desc)
{
	const struct tensor t = make_tensor(f, desc);

	round_it(f, &t);
	return t;
}

static uint32_t code_at(const struct tensor *t, uint64_t i)
{
	const uint8_t *bytes = t->desc.out;

	if (t->desc.format == PHILOX_FORMAT_E2M1)
		return bytes[i / 2] >> i % 2 * 4 & 0xf;
	return t->desc.format <= PHILOX_FORMAT_F16
		       ? ((const uint16_t *)t->desc.out)[i]
		       : bytes[i];
}

static void are_equal(const struct tensor *a, const struct tensor *b,
		      const char *what)
{
	cr_assert_eq(a->out_size, b->out_size);
	cr_assert_arr_eq(a->desc.out, b->desc.out, a->out_size, "%s", what);
	cr_assert_arr_eq(a->desc.scales, b->desc.scales, a->scales_size, "%s",
			 what);
	cr_assert_eq(*a->desc.saturated, *b->desc.saturated, "%s", what);
}

/* All kinds of a tensor of ROWS x COLS, one after the other; 0: no more. */
static int next_kind(uint32_t k, struct philox_quantize_desc *desc)
{
	static const struct kind {
		uint32_t format, scaling;
	} kinds[] = {{PHILOX_FORMAT_BF16, 0},
		     {PHILOX_FORMAT_F16, 0},
		     {PHILOX_FORMAT_E4M3, 0},
		     {PHILOX_FORMAT_E5M2, 0},
		     {PHILOX_FORMAT_E2M1, 0},
		     {PHILOX_FORMAT_E2M1, PHILOX_SCALING_NVFP4},
		     {PHILOX_FORMAT_E4M3, PHILOX_SCALING_MX},
		     {PHILOX_FORMAT_E5M2, PHILOX_SCALING_MX_UP},
		     {PHILOX_FORMAT_E2M1, PHILOX_SCALING_MX}};
	const uint32_t n = sizeof(kinds) / sizeof(kinds[0]);

	if (k >= 6 * n)
		return 0;
	*desc = (struct philox_quantize_desc){
		.span = philox_span_rows(0, ROWS, COLS, COLS),
		.in_dtype = k % 2 ? PHILOX_DTYPE_F32 : PHILOX_DTYPE_BF16,
		.format = kinds[k / 6].format,
		.scaling = kinds[k / 6].scaling,
		.rule = k % 2,
		.bits = (uint32_t[]){32, 16, 8}[k / 2 % 3]};
	return 1;
}

/* --- elements ------------------------------------------------------------- */

/* Without scales each element is what philox_round_at() says. */
PROMISE(quantize, tensors_have_the_numbers_of_their_elements)
{
	struct philox_quantize_desc desc;

	for (uint32_t k = 0; next_kind(k, &desc) && !desc.scaling; k++) {
		const struct philox_rounding how = {desc.format, desc.rule,
						    desc.bits, 0};
		struct tensor t;

		desc.in = make_input(f, desc.in_dtype);
		desc.span.first = 1ull << 34;
		t = rounded(f, desc);
		for (uint32_t i = 0; i < N; i++) {
			const float x =
				desc.in_dtype == PHILOX_DTYPE_F32
					? number(i)
					: philox_bf16_to_f32(philox_f32_to_bf16(
						  number(i)));

			cr_assert_eq(code_at(&t, i),
				     philox_round_at(state, desc.span.first + i,
						     x, how),
				     "kind %u, element %u", k, i);
		}
	}
}

/* Vectors, plain loops, memory of the host and of the device: one result. */
PROMISE(quantize, every_instruction_set_rounds_alike)
{
	struct philox_quantize_desc desc;

	for (uint32_t k = 0; next_kind(k, &desc); k += 5) {
		struct tensor plain;
		struct quantize_item item = {.rng.state = state,
					     .rows = ROWS,
					     .cols = COLS,
					     .stride = COLS};

		desc.in = make_input(f, desc.in_dtype);
		plain = make_tensor(f, desc);
		item.in = desc.in;
		item.out = plain.desc.out;
		item.scales = plain.desc.scales;
		item.tensor_scale = plain.desc.tensor_scale;
		item.saturated = plain.desc.saturated;
		item.in_dtype = (uint8_t)desc.in_dtype;
		item.format = (uint8_t)desc.format;
		item.rule = (uint8_t)desc.rule;
		item.bits = (uint8_t)desc.bits;
		item.scaling = (uint8_t)desc.scaling;
		item.saturate = desc.scaling != 0;
		quantize_host_plain(&item);
		FOR_EACH_SIMD(simd)
		{
			struct tensor t = make_tensor(f, desc);

			OK(philox_state_quantize(state, &t.desc));
			are_equal(&t, &plain, simd_name(simd));
			t = rounded(f, desc);
			are_equal(&t, &plain, simd_name(simd));
		}
	}
}

/* --- parts ---------------------------------------------------------------- */

/* Rows r0 .. and columns c0 .. of a tensor, with an input of their own. */
static struct tensor round_part(struct fixture *f,
				struct philox_quantize_desc desc, uint32_t r0,
				uint32_t c0, uint32_t rows, uint32_t cols)
{
	const size_t size = desc.in_dtype == PHILOX_DTYPE_F32 ? 4 : 2;
	const char *whole = desc.in;
	char *part = malloc(rows * cols * size);
	struct tensor t;

	for (uint32_t r = 0; r < rows; r++)
		memcpy(part + r * cols * size,
		       whole + ((r0 + r) * COLS + c0) * size, cols * size);
	desc.in = upload(f, part, rows * cols * size);
	desc.span = philox_span_rows(r0 * COLS + c0, rows, cols, COLS);
	desc.tensor_rows = ROWS;
	t = rounded(f, desc);
	free(part);
	return t;
}

static void is_part_of(const struct tensor *part, const struct tensor *whole,
		       uint32_t r0, uint32_t c0)
{
	const struct philox_span span = part->desc.span;
	const int turned = part->desc.flags & PHILOX_QUANTIZE_TRANSPOSED;

	for (uint32_t r = 0; r < span.rows; r++)
		for (uint32_t c = 0; c < span.count; c++)
			cr_assert_eq(turned ? code_at(part, c * span.rows + r)
					    : code_at(part, r * span.count + c),
				     turned ? code_at(whole,
						      (c0 + c) * ROWS + r0 + r)
					    : code_at(whole,
						      (r0 + r) * COLS + c0 + c),
				     "row %u, column %u", r, c);
}

/* Cut at blocks of 32, and where there are none anywhere that is even. */
PROMISE(quantize, shards_have_the_numbers_of_the_whole)
{
	struct philox_quantize_desc desc;

	for (uint32_t k = 0; next_kind(k, &desc); k += 5)
		for (uint32_t turned = 0; turned < 2; turned++) {
			struct tensor whole, part;

			desc.in = make_input(f, desc.in_dtype);
			desc.flags = turned * PHILOX_QUANTIZE_TRANSPOSED;
			whole = rounded(f, desc);
			part = round_part(f, desc, 32, 32, 32, 64);
			is_part_of(&part, &whole, 32, 32);
			if (desc.scaling)
				continue;
			part = round_part(f, desc, 6, 10, 30, 22);
			is_part_of(&part, &whole, 6, 10);
		}
}

/* Without scales nothing depends on the layout. */
PROMISE(quantize, a_transposed_copy_has_the_same_numbers)
{
	struct philox_quantize_desc desc;

	for (uint32_t k = 0; next_kind(k, &desc) && !desc.scaling; k++) {
		struct tensor straight, turned;

		desc.in = make_input(f, desc.in_dtype);
		straight = rounded(f, desc);
		desc.flags = PHILOX_QUANTIZE_TRANSPOSED;
		turned = rounded(f, desc);
		for (uint32_t i = 0; i < N; i++)
			cr_assert_eq(
				code_at(&turned, i % COLS * ROWS + i / COLS),
				code_at(&straight, i));
	}
}

/* Where is the scale of a line and a block: as the header says. */
PROMISE(quantize, swizzled_scales_are_the_same_in_other_places)
{
	struct philox_quantize_desc desc;

	for (uint32_t k = 30; next_kind(k, &desc); k++) {
		const uint32_t block =
			desc.scaling == PHILOX_SCALING_NVFP4 ? 16 : 32;
		const uint32_t blocks = COLS / block;
		const uint32_t room = (blocks + 3) / 4 * 4;
		struct tensor plain, tiled;
		uint64_t sum = 0, expected = 0;

		desc.in = make_input(f, desc.in_dtype);
		plain = rounded(f, desc);
		desc.flags = PHILOX_QUANTIZE_SWIZZLED;
		tiled = rounded(f, desc);
		cr_assert_eq(tiled.scales_size, 128 * room);
		for (uint32_t i = 0; i < ROWS * blocks; i++) {
			const uint32_t line = i / blocks, j = i % blocks;
			const uint32_t at = j / 4 * 512 + line % 32 * 16 +
					    line / 32 * 4 + j % 4;

			cr_assert_eq(tiled.desc.scales[at],
				     plain.desc.scales[i], "%u, %u", line, j);
			expected += plain.desc.scales[i];
		}
		for (size_t i = 0; i < tiled.scales_size; i++)
			sum += tiled.desc.scales[i];
		cr_assert_eq(sum, expected, "places of no block are not 0");
	}
}

/* --- lists, passes and graphs --------------------------------------------- */

/* Operators with tensors of their own: more than one kernel takes. */
enum { TENSORS = 300 };

struct step {
	struct philox_region *region;
	struct philox_quantize_desc tensors[TENSORS];
	struct tensor made[TENSORS];
	uint64_t *saturated; /* one count for all */
};

static void make_step(struct fixture *f, struct step *step, uint32_t n)
{
	struct philox_op_desc ops[1] = {{.name = "round", .calls = n}};
	struct philox_region_desc region = {
		.size = sizeof(region), .name = "step", .ops = ops, .n_ops = 1};
	const void *in = make_input(f, PHILOX_DTYPE_BF16);
	uint8_t *out = make_memory(f, 64 * n);
	uint8_t *scales = make_memory(f, 2 * n);

	step->saturated = make_memory(f, sizeof(*step->saturated));
	*step->saturated = 0;

	OK(philox_region_create(f->context, &region, &step->region));
	for (uint32_t i = 0; i < n; i++) {
		struct tensor *t = &step->made[i];

		t->desc = (struct philox_quantize_desc){
			.size = sizeof(t->desc),
			.call = i,
			.span = philox_span_rows(0, 2, 32, 32),
			.in_dtype = PHILOX_DTYPE_BF16,
			.format = 2 + i % 3,
			.rule = i % 4 / 2,
			.bits = 8,
			.scaling = i % 2 ? PHILOX_SCALING_MX : 0,
			.in = in,
			.out = out + 64 * i,
			.scales = scales + 2 * i,
			.saturated = step->saturated};
		t->out_size = out_size(&t->desc);
		t->scales_size = t->desc.scaling ? 2 : 0;
		step->tensors[i] = t->desc;
	}
}

/* What a pass draws for a tensor is what its state says. */
static void is_of_state(const struct tensor *t, struct philox_state of)
{
	struct philox_quantize_desc again = t->desc;
	uint8_t out[64], scales[2];

	again.out = out;
	again.scales = scales;
	again.saturated = NULL;
	OK(philox_state_quantize(of, &again));
	cr_assert_arr_eq(t->desc.out, out, t->out_size);
	cr_assert_arr_eq(t->desc.scales, scales, t->scales_size);
}

/* What all tensors add to a count: whatever state rounds them. */
static uint64_t saturated_by(const struct step *step, uint32_t n)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct philox_quantize_desc again = step->tensors[i];
		uint8_t out[64], scales[2];

		again.out = out;
		again.scales = scales;
		again.saturated = &count;
		OK(philox_state_quantize(state, &again));
	}
	return count;
}

PROMISE(quantize, a_pass_rounds_a_list_by_the_states_of_its_operators)
{
	static struct step step;
	struct philox_pass pass;
	struct philox_rng rng;
	uint64_t launches;

	make_step(f, &step, TENSORS);
	OK(philox_forward_begin(step.region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	/* one element is beyond the largest number of E4M3, E5M2 and E2M1 */
	((uint16_t *)(uintptr_t)step.tensors[0].in)[5] = 0x7f7f;
	launches = philox_device_call_count(f->device, "launch");
	OK(philox_pass_quantize(&pass, step.tensors, TENSORS));
	cr_assert_eq(philox_device_call_count(f->device, "launch"),
		     launches + 2);
	for (uint32_t i = 0; i < TENSORS; i += 13) {
		OK(philox_pass_rng(&pass, 0, i, &rng));
		OK(philox_stream_synchronize(f->device, f->stream));
		is_of_state(&step.made[i], rng.state);
	}
	cr_assert_eq(*step.saturated, saturated_by(&step, TENSORS));
	cr_assert_gt(*step.saturated, TENSORS / 3);
	OK(philox_pass_commit(&pass, 0, NULL));
}

GRAPH_PROMISE(quantize, a_graph_rounds_a_step_by_one_node_with_fresh_numbers)
{
	static struct step step;
	static uint8_t first[64];
	struct philox_graph *graph;
	struct philox_pass pass;
	uint64_t launches;
	uint32_t differ = 0;

	make_step(f, &step, 40);
	record_begin(f);
	OK(philox_forward_begin(step.region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	launches = philox_device_call_count(f->device, "launch");
	OK(philox_pass_quantize(&pass, step.tensors, 40));
	cr_assert_eq(philox_device_call_count(f->device, "launch"),
		     launches + 1);
	OK(philox_pass_commit(&pass, 0, NULL));
	graph = record_end(f);
	for (uint64_t launch = 0; launch < 3; launch++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};

		OK(philox_graph_launch(graph, f->stream, &use, 1));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t i = 0; i < 40; i++)
			is_of_state(&step.made[i],
				    predict_cell(0, "step", 0, i, 4 * launch));
		differ += !!memcmp(first, step.made[0].desc.out, 64);
		memcpy(first, step.made[0].desc.out, 64);
	}
	cr_assert_eq(differ, 3);
	OK(philox_graph_destroy(graph));
}

/* --- poison, and counts --------------------------------------------------- */

PROMISE(quantize, a_poisoned_state_gives_nan_and_counts_nothing)
{
	const struct philox_state poison = {3, PHILOX_POISON_OFFSET};
	struct philox_quantize_desc desc;

	for (uint32_t k = 0; next_kind(k, &desc); k += 3) {
		static const uint32_t nans[] = {0x7fc0, 0x7e00, 0x7f, 0x7f, 7};
		struct tensor t;

		desc.in = make_input(f, desc.in_dtype);
		desc.flags = k % 2 * PHILOX_QUANTIZE_TRANSPOSED;
		t = make_tensor(f, desc);
		OK(philox_state_quantize(poison, &t.desc));
		for (uint32_t i = 0; i < N; i++)
			cr_assert_eq(code_at(&t, i), nans[desc.format]);
		for (size_t i = 0; i < t.scales_size; i++)
			cr_assert_eq(t.desc.scales[i],
				     desc.scaling == PHILOX_SCALING_NVFP4
					     ? 0x7f
					     : 0xff);
		cr_assert_eq(*t.desc.saturated, 0);
	}
}

/* A count goes on; those of tensors beside each other may be one. */
PROMISE(quantize, saturated_elements_are_added_to_a_count)
{
	struct philox_quantize_desc desc;
	struct tensor t;
	uint64_t expected = 0;

	next_kind(13, &desc);
	cr_assert_eq(desc.format, PHILOX_FORMAT_E4M3);
	desc.in = make_input(f, desc.in_dtype);
	t = make_tensor(f, desc);
	for (uint32_t i = 0; i < N; i++)
		expected += number(i) > 448 || number(i) < -448;
	*t.desc.saturated = 1000;
	round_it(f, &t);
	round_it(f, &t);
	cr_assert_eq(*t.desc.saturated, 1000 + 2 * expected);
	desc.scaling = PHILOX_SCALING_MX_UP;
	t = rounded(f, desc);
	cr_assert_eq(*t.desc.saturated, 0, "scales that are rounded up");
}

/* --- scales of tensors ---------------------------------------------------- */

PROMISE(quantize, the_scale_of_a_tensor_is_the_largest_of_its_shards)
{
	const float *in = make_input(f, PHILOX_DTYPE_F32);
	float *scales = make_memory(f, 5 * sizeof(float)), most = 0, parts = 0;

	for (uint32_t i = 0; i < N; i++)
		most = number(i) > most    ? number(i)
		       : -number(i) > most ? -number(i)
					   : most;
	OK(philox_tensor_scale(f->device, f->stream, PHILOX_DTYPE_F32, in, N,
			       &scales[0]));
	OK(philox_tensor_scale(f->device, f->stream, PHILOX_DTYPE_F32, in, 0,
			       &scales[1]));
	for (uint32_t i = 0; i < 3; i++)
		OK(philox_tensor_scale(f->device, f->stream, PHILOX_DTYPE_F32,
				       in + i * (N / 3), N / 3,
				       &scales[2 + i]));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint32_t i = 0; i < 3; i++)
		parts = scales[2 + i] > parts ? scales[2 + i] : parts;
	cr_assert_eq(scales[0], most / 2688);
	cr_assert_eq(scales[1], 0);
	cr_assert_eq(parts, scales[0]);
}
