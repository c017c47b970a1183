/*
 * tests/tools/draw_axis.c - streams across states have the numbers of regions
 */
#include "tests/support/support.h"
#include "tools/draw/draw.h"

enum { N = 5, SEED = 11 };

static uint32_t first_word(struct philox_state state)
{
	return philox_draw4(state, 0).w[0];
}

static struct philox_region *make_axis_region(struct fixture *f)
{
	struct philox_op_desc ops[N];
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = AXIS_NAME,
					     .ops = ops,
					     .n_ops = N};
	struct philox_region *region;

	for (int i = 0; i < N; i++)
		ops[i] = (struct philox_op_desc){.calls = 3};
	OK(philox_region_create(f->context, &options, &region));
	OK(philox_generator_seed(philox_context_generator(f->context), SEED));
	return region;
}

static struct philox_state forward_state(struct fixture *f,
					 struct philox_region *region,
					 uint32_t op, uint32_t call)
{
	struct philox_pass pass;
	struct philox_rng rng;

	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_pass_rng(&pass, op, call, &rng));
	OK(philox_pass_commit(&pass, 0, NULL));
	return rng.state;
}

PROMISE(draw_axis, op_is_operator_after_operator_and_then_their_next_calls)
{
	struct philox_region *region = make_axis_region(f);
	struct philox_state generator = {SEED, 0};
	uint32_t words[N];

	for (uint32_t call = 0; call < 3; call++) {
		axis_draw(AXIS_OP, generator, (uint64_t)call << 32, words, N);
		for (uint32_t op = 0; op < N; op++) {
			struct philox_state state;

			state = forward_state(f, region, op, call);
			state.offset = 0;
			cr_assert_eq(words[op], first_word(state),
				     "op %u, call %u", op, call);
		}
	}
}

PROMISE(draw_axis, call_is_call_after_call_of_an_operator)
{
	struct philox_region *region = make_axis_region(f);
	struct philox_state generator = {SEED, 0};
	uint32_t words[3];

	axis_draw(AXIS_CALL, generator, (uint64_t)2 << 32, words, 3);
	for (uint32_t call = 0; call < 3; call++) {
		struct philox_state state;

		state = forward_state(f, region, 2, call);
		state.offset = 0;
		cr_assert_eq(words[call], first_word(state), "call %u", call);
	}
}

PROMISE(draw_axis, offset_is_forward_after_forward)
{
	struct philox_region *region = make_axis_region(f);
	struct philox_state generator = {SEED, 0};
	uint32_t words[N], last;

	axis_draw(AXIS_OFFSET, generator, 0, words, N);
	for (int i = 0; i < N; i++)
		cr_assert_eq(words[i],
			     first_word(forward_state(f, region, 0, 0)),
			     "forward %d", i);
	axis_draw(AXIS_OFFSET, generator, N - 1, &last, 1);
	cr_assert_eq(last, words[N - 1]);
}

PROMISE(draw_axis, seed_is_seed_after_seed)
{
	struct philox_region *region = make_axis_region(f);
	struct philox_state generator = {SEED, 0};
	uint32_t words[N];

	axis_draw(AXIS_SEED, generator, 2, words, N);
	for (uint64_t i = 0; i < N; i++) {
		OK(philox_generator_seed(philox_context_generator(f->context),
					 SEED + 2 + i));
		cr_assert_eq(words[i],
			     first_word(forward_state(f, region, 0, 0)),
			     "seed %d", (int)i);
	}
}

PROMISE(draw_axis, row_is_row_after_row_of_a_table)
{
	struct philox_rows_desc desc = {
		.size = sizeof(desc), .name = AXIS_NAME, .count = N};
	struct philox_state states[N], generator = {SEED, 0};
	struct philox_rows *rows;
	uint32_t words[N];

	OK(philox_generator_seed(philox_context_generator(f->context), SEED));
	OK(philox_rows_create(f->context, &desc, &rows));
	OK(philox_rows_get(rows, f->stream, 0, N, states));
	OK(philox_stream_synchronize(f->device, f->stream));
	axis_draw(AXIS_ROW, generator, 0, words, N);
	for (int i = 0; i < N; i++)
		cr_assert_eq(words[i], first_word(states[i]), "row %d", i);
	OK(philox_rows_destroy(rows));
}

/* Fills memory of the fixture with what an operator's first forward draws. */
static void fill_as_operator(struct fixture *f, struct philox_fill_desc *fill)
{
	struct philox_region *region = make_axis_region(f);
	struct philox_rng rng = {.state = forward_state(f, region, 0, 0)};

	fill->size = sizeof(*fill);
	fill->out = make_memory(f, fill->span.count * 8);
	OK(philox_rng_fill(f->device, f->stream, rng, fill));
	OK(philox_stream_synchronize(f->device, f->stream));
}

PROMISE(draw_axis, order_has_the_low_bits_of_items)
{
	struct philox_fill_desc fill = {.dist = PHILOX_DIST_PERMUTATION,
					.dtype = PHILOX_DTYPE_U64,
					.n = 1ULL << 63,
					.span = {.first = 3, .count = N}};
	struct philox_state generator = {SEED, 0};
	const uint64_t *items;
	uint32_t words[N];

	fill_as_operator(f, &fill);
	items = fill.out;
	axis_draw(AXIS_ORDER, generator, 3, words, N);
	for (int i = 0; i < N; i++)
		cr_assert_eq(words[i], (uint32_t)items[i], "item %d", 3 + i);
}

PROMISE(draw_axis, mask_has_the_elements_that_dropout_keeps)
{
	float in[32 * N];
	struct philox_fill_desc fill = {.dist = PHILOX_DIST_DROPOUT,
					.dtype = PHILOX_DTYPE_F32,
					.p = 0.5,
					.span = {.first = 32, .count = 32 * N}};
	struct philox_state generator = {SEED, 0};
	uint32_t words[N];
	const float *out;

	for (int i = 0; i < 32 * N; i++)
		in[i] = 1;
	fill.in = upload(f, in, sizeof(in));
	fill_as_operator(f, &fill);
	out = fill.out;
	axis_draw(AXIS_MASK, generator, 1, words, N);
	for (int i = 0; i < 32 * N; i++)
		cr_assert_eq(words[i / 32] >> i % 32 & 1, out[i] != 0,
			     "element %d", 32 + i);
}

Test(draw_axis, a_stream_goes_on_where_another_one_ended)
{
	struct philox_state generator = {SEED, 40};
	uint32_t whole[100], parts[100];

	for (int axis = AXIS_OFFSET; axis <= AXIS_MASK; axis++) {
		axis_draw((enum axis)axis, generator, 7, whole, 100);
		axis_draw((enum axis)axis, generator, 7, parts, 33);
		axis_draw((enum axis)axis, generator, 40, parts + 33, 67);
		cr_assert_arr_eq(whole, parts, sizeof(whole), "axis %d", axis);
	}
}
