/*
 * tests/ledger/shared.c - SHARED regions equal a plain sequential program
 *
 * The oracle is that program: it draws from explicit states that advance by
 * each call's consumption, in the order of the forwards, and knows nothing of
 * regions or ledgers.
 */
#include "tests/support/support.h"

enum { ADVANCE = 8 }; /* of the last op; the others consume 4 */

static const uint64_t words_of_op[OPS] = {4, 4, ADVANCE};
static const uint32_t calls_of_op[OPS] = {1, 2, 1};

static struct philox_region *make_shared(struct fixture *f, const char *name,
					 struct philox_generator *generator)
{
	struct philox_op_desc ops[OPS] = {{.name = "first"},
					  {.name = "twice", .calls = 2},
					  {.name = "wide", .advance = ADVANCE}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = ops,
					     .n_ops = OPS,
					     .generator = generator,
					     .flags = PHILOX_REGION_SHARED};
	struct philox_region *region;

	OK(philox_region_create(f->context, &options, &region));
	return region;
}

/* One forward of the sequential program, from `state`, which moves on. */
static struct numbers sequential(struct fixture *f, struct philox_state *state)
{
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = {.count = COUNT}};
	uint32_t *array = make_array(f);
	int site = 0;

	for (int op = 0; op < OPS; op++)
		for (uint32_t call = 0; call < calls_of_op[op]; call++) {
			struct philox_rng rng = {*state, NULL};

			fill.out = array + COUNT * site++;
			OK(philox_rng_fill(f->device, f->stream, rng, &fill));
			state->offset += words_of_op[op];
		}
	return read_numbers(f, array);
}

static struct philox_state state_of(struct philox_generator *generator)
{
	struct philox_state state;

	OK(philox_generator_get_state(generator, &state));
	return state;
}

PROMISE(shared, eager_forwards_equal_a_sequential_program)
{
	struct philox_generator *generator =
		philox_context_generator(f->context);
	struct philox_region *one = make_shared(f, "one", NULL);
	struct philox_region *two = make_shared(f, "two", NULL);
	struct philox_state state = {42, 0};
	struct forward made[4];

	OK(philox_generator_seed(generator, 42));
	for (int i = 0; i < 4; i++) {
		made[i] = forward(f, i % 2 ? two : one);
		SAME(made[i].saw, sequential(f, &state), "forward %d", i);
	}
	cr_assert_eq(state_of(generator).offset, state.offset);
	for (int i = 3; i >= 0; i--)
		backward(f, &made[i], 0);
	cr_assert_eq(state_of(generator).offset, state.offset,
		     "backwards draw nothing new");
}

GRAPH_PROMISE(shared, captured_runs_equal_the_same_program)
{
	struct philox_generator *generator =
		philox_context_generator(f->context);
	struct philox_region *region = make_shared(f, "layer", NULL);
	uint32_t *array = make_array(f), *again = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct philox_graph *back = record_backward(f, region, again);
	struct philox_state state = {7, 400};
	struct forward made[3];

	OK(philox_generator_set_state(generator, state));
	for (int i = 0; i < 3; i++) {
		made[i] = i == 1 ? forward(f, region)
				 : launch_forward(f, graph, region, array);
		SAME(made[i].saw, sequential(f, &state), "forward %d", i);
	}
	launch_backward(f, back, &made[1], 0, again);
	launch_backward(f, back, &made[0], PHILOX_PASS_RETAIN, again);
	backward(f, &made[2], 0);
	backward(f, &made[0], 0);
	OK(philox_graph_destroy(graph));
	OK(philox_graph_destroy(back));
}

GRAPH_PROMISE(shared, several_forwards_in_one_graph_follow_one_another)
{
	struct philox_region *one = make_shared(f, "one", NULL);
	struct philox_region *two = make_shared(f, "two", NULL);
	uint32_t *arrays[3] = {make_array(f), make_array(f), make_array(f)};
	struct philox_state state = {0, 0};
	struct philox_launch_pass uses[3];
	struct philox_graph *graph;

	record_begin(f);
	captured_forward(f, one, 0, arrays[0]);
	captured_forward(f, two, 0, arrays[1]);
	captured_forward(f, one, 0, arrays[2]);
	graph = record_end(f);
	for (int round = 0; round < 2; round++) {
		memset(uses, 0, sizeof(uses));
		OK(philox_graph_launch(graph, f->stream, uses, 3));
		for (int i = 0; i < 3; i++)
			SAME(read_numbers(f, arrays[i]), sequential(f, &state),
			     "round %d, forward %d", round, i);
	}
	OK(philox_graph_destroy(graph));
}

GRAPH_PROMISE(shared, forward_recompute_and_backward_in_one_graph_agree)
{
	struct philox_generator *generator =
		philox_context_generator(f->context);
	struct philox_region *region = make_shared(f, "layer", NULL);
	uint32_t *arrays[3] = {make_array(f), make_array(f), make_array(f)};
	struct philox_state state = {42, 0};
	struct philox_launch_pass uses[3];
	struct philox_ticket ticket;
	struct philox_graph *graph;

	OK(philox_generator_seed(generator, 42));
	record_begin(f);
	ticket = captured_forward(f, region, 0, arrays[0]);
	captured_backward(f, region, ticket, PHILOX_PASS_RETAIN, arrays[1]);
	captured_backward(f, region, ticket, 0, arrays[2]);
	graph = record_end(f);
	for (int round = 0; round < 3; round++) {
		struct numbers expected = sequential(f, &state);

		memset(uses, 0, sizeof(uses));
		for (int i = 0; i < 3; i++)
			memset(arrays[i], 0, sizeof(expected));
		OK(philox_graph_launch(graph, f->stream, uses, 3));
		for (int i = 0; i < 3; i++)
			SAME(read_numbers(f, arrays[i]), expected,
			     "round %d, pass %d", round, i);
		cr_assert_eq(uses[0].ticket.serial, 0);
		PENDING(region, 0);
		cr_assert_eq(state_of(generator).offset, state.offset);
	}
	OK(philox_graph_destroy(graph));
}

PROMISE(shared, two_open_forwards_of_one_generator_are_refused)
{
	struct philox_generator *other;
	struct philox_region *one = make_shared(f, "one", NULL), *two, *free;
	struct philox_graph *graph = record_forward(f, one, 0, make_array(f));
	struct philox_state before;
	struct philox_pass pass, second;
	struct philox_ticket ticket;
	struct philox_launch_pass use = {{0, 0}, 0, 0};

	OK(philox_generator_create(f->context, 5, &other));
	two = make_shared(f, "two", NULL);
	free = make_shared(f, "free", other);
	OK(philox_forward_begin(one, f->stream, 0, &pass));
	before = state_of(philox_context_generator(f->context));
	FAILS(philox_forward_begin(two, f->stream, 0, &second),
	      PHILOX_ERROR_BUSY);
	NAMES("'two'");
	NAMES("'one'");
	FAILS(philox_forward_begin(two, f->stream, PHILOX_PASS_INFERENCE,
				   &second),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_graph_launch(graph, f->stream, &use, 1),
	      PHILOX_ERROR_BUSY);
	OK(philox_forward_begin(free, f->stream, 0, &second));
	OK(philox_pass_abort(&second));
	cr_assert_eq(state_of(philox_context_generator(f->context)).offset,
		     before.offset);
	OK(philox_pass_abort(&pass));
	forward(f, two);
	OK(philox_forward_begin(one, f->stream, PHILOX_PASS_INFERENCE, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_forward_begin(one, f->stream, 0, &pass));
	OK(philox_region_destroy(one));
	OK(philox_forward_begin(two, f->stream, 0, &second));
	OK(philox_pass_commit(&second, 0, &ticket));
	OK(philox_pass_abort(&pass));
	OK(philox_graph_destroy(graph));
}

/* A pass ends during an open forward: its generator still has that one open. */
GRAPH_PROMISE(shared, a_forward_stays_open_when_a_backward_ends)
{
	struct philox_region *one = make_shared(f, "one", NULL);
	struct philox_region *two = make_shared(f, "two", NULL);
	struct philox_region *three = make_shared(f, "three", NULL);
	uint32_t *array = make_array(f);
	struct philox_graph *warm_up =
		record_forward(f, two, PHILOX_PASS_WARMUP, array);
	struct philox_graph *back = record_backward(f, one, array);
	struct forward made[2] = {forward(f, one), forward(f, one)};
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_pass open, pass;

	OK(philox_forward_begin(one, f->stream, PHILOX_PASS_INFERENCE, &open));
	backward(f, &made[0], 0);
	FAILS(philox_forward_begin(two, f->stream, 0, &pass),
	      PHILOX_ERROR_BUSY);
	OK(philox_backward_begin(one, f->stream, made[1].ticket, 0, &pass));
	OK(philox_pass_abort(&pass));
	FAILS(philox_forward_begin(two, f->stream, 0, &pass),
	      PHILOX_ERROR_BUSY);
	launch_backward(f, back, &made[1], 0, array);
	FAILS(philox_forward_begin(two, f->stream, 0, &pass),
	      PHILOX_ERROR_BUSY);
	OK(philox_region_destroy(three));
	FAILS(philox_forward_begin(two, f->stream, PHILOX_PASS_WARMUP, &pass),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_graph_launch(warm_up, f->stream, &use, 1),
	      PHILOX_ERROR_BUSY);
	OK(philox_pass_commit(&open, 0, NULL));
	forward(f, two);
	OK(philox_graph_launch(warm_up, f->stream, &use, 1));
	OK(philox_graph_destroy(warm_up));
	OK(philox_graph_destroy(back));
}

GRAPH_PROMISE(shared, two_open_forwards_in_a_capture_are_refused)
{
	struct philox_region *one = make_shared(f, "one", NULL);
	struct philox_region *two = make_shared(f, "two", NULL);
	struct philox_pass pass, second;
	struct philox_ticket ticket;

	record_begin(f);
	OK(philox_forward_begin(one, f->stream, 0, &pass));
	FAILS(philox_forward_begin(two, f->stream, 0, &second),
	      PHILOX_ERROR_BUSY);
	NAMES("'one'");
	OK(philox_pass_commit(&pass, 0, &ticket));
	captured_forward(f, two, 0, f->scratch);
	OK(philox_graph_destroy(record_end(f)));
}

PROMISE(shared, other_regions_of_the_generator_are_not_concerned)
{
	struct philox_region *region = make_shared(f, "layer", NULL);
	struct philox_region *plain = make_region(f, "plain");
	struct philox_pass open, pass;

	OK(philox_forward_begin(plain, f->stream, PHILOX_PASS_INFERENCE,
				&open));
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	forward(f, plain);
	OK(philox_pass_commit(&open, 0, NULL));
	FAILS(philox_forward_begin(region, f->stream, 0, &open),
	      PHILOX_ERROR_BUSY);
	OK(philox_pass_commit(&pass, 0, NULL));
	forward(f, region);
}

PROMISE(shared, an_aborted_forward_burns_its_numbers)
{
	struct philox_region *region = make_shared(f, "layer", NULL);
	struct philox_state state = {0, 0};
	struct philox_pass pass;
	struct forward made;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_abort(&pass));
	sequential(f, &state);
	made = forward(f, region);
	SAME(made.saw, sequential(f, &state), "after an abort");
}

PROMISE(shared, a_warm_up_draws_what_comes_next)
{
	struct philox_region *region = make_shared(f, "layer", NULL);
	struct numbers warm = forward_numbers(f, region, PHILOX_PASS_WARMUP);

	SAME(warm, forward_numbers(f, region, PHILOX_PASS_INFERENCE),
	     "warm-up");
	FRESH(warm, forward_numbers(f, region, PHILOX_PASS_INFERENCE), "next");
}

PROMISE(shared, the_numbers_of_a_launch_that_fails_are_not_issued_again)
{
	struct philox_region *region = make_shared(f, "layer", NULL);
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_state state = {0, 0};

	f->injected = 1;
	OK(philox_device_fail(f->device, "exec_launch", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(philox_graph_launch(graph, f->stream, &use, 1),
	      PHILOX_ERROR_DEVICE);
	sequential(f, &state);
	SAME(launch_forward(f, graph, region, array).saw, sequential(f, &state),
	     "after the failed launch");
	OK(philox_graph_destroy(graph));
}

PROMISE(shared, unknown_flags_are_refused)
{
	struct philox_op_desc op = {.name = "op"};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = &op,
					     .n_ops = 1,
					     .flags = 2};
	struct philox_region *region;

	FAILS(philox_region_create(f->context, &options, &region),
	      PHILOX_ERROR_INVALID);
	NAMES("0x2");
}
