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
					     .name = AXIS_REGION,
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

PROMISE(draw_axis, call_is_forward_after_forward)
{
	struct philox_region *region = make_axis_region(f);
	struct philox_state generator = {SEED, 0};
	uint32_t words[N], last;

	axis_draw(AXIS_CALL, generator, 0, words, N);
	for (int i = 0; i < N; i++)
		cr_assert_eq(words[i],
			     first_word(forward_state(f, region, 0, 0)),
			     "forward %d", i);
	axis_draw(AXIS_CALL, generator, N - 1, &last, 1);
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

Test(draw_axis, a_stream_goes_on_where_another_one_ended)
{
	struct philox_state generator = {SEED, 40};
	uint32_t whole[100], parts[100];

	for (int axis = AXIS_OP; axis <= AXIS_SEED; axis++) {
		axis_draw((enum axis)axis, generator, 7, whole, 100);
		axis_draw((enum axis)axis, generator, 7, parts, 33);
		axis_draw((enum axis)axis, generator, 40, parts + 33, 67);
		cr_assert_arr_eq(whole, parts, sizeof(whole), "axis %d", axis);
	}
}
