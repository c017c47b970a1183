/*
 * tests/runner/calls/calls.c - kinds of call, and how many numbers each
 * consumes
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/runner.h"

RUNNER_PROMISE(runner_calls, warm_up_record_and_replay_in_that_order)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 7);

	make_function(&layer, r, "layer");
	cr_assert_str_eq(philox_function_name(layer.function), "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	cr_assert_eq(layer.bodies, 2, "the body runs once in each");
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	cr_assert_eq(layer.bodies, 2, "and never in a replay");
	cr_assert_eq(counts_of(&layer).bodies, 2);
	cr_assert_eq(counts_of(&layer).replay, 2);
	cr_assert_eq(counts_of(&layer).record, 1);
	cr_assert_eq(counts_of(&layer).warmup, 1);
	cr_assert_eq(counts_of(&layer).missed_new, 1);
}

/* The n-th call of a region, whatever its kind, draws from offset 4 n. */
RUNNER_PROMISE(runner_calls, consume_one_call_s_numbers_of_whatever_kind)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 7);
	const uint32_t keys[] = {0, 0, 0, 1, 0, 1, 1, 0, 2};

	make_function(&layer, r, "layer");
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		SAME(call_forward(&layer, x, keys[i]).saw,
		     predict(0, "layer", 4 * i), "call %u", i);
	cr_assert_eq(counts_of(&layer).keys, 3);
}

/* A re-seed reaches recordings, too. */
RUNNER_PROMISE(runner_calls, draw_from_a_new_seed)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 7);

	make_function(&layer, r, "layer");
	for (unsigned i = 0; i < 6; i++) {
		OK(philox_generator_seed(philox_context_generator(f->context),
					 100 + i));
		SAME(call_forward(&layer, x, 0).saw,
		     predict(100 + i, "layer", 0), "call %u", i);
	}
}

/* --- a body that sets a generator ------------------------------------------ */

static struct philox_region *make_shared(struct fixture *f)
{
	const struct philox_op_desc ops[OPS] = {
		{"first", 0, 0}, {"second", 2, 0}, {"third", 1, 4}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "shared",
					     .ops = ops,
					     .n_ops = OPS,
					     .flags = PHILOX_REGION_SHARED};
	struct philox_region *region;

	OK(philox_region_create(f->context, &options, &region));
	return region;
}

static const struct philox_state set_to = {0, 400};

static enum philox_status set_on_the_stream(struct layer *layer,
					    struct philox_run *run)
{
	return philox_generator_set_state_on(
		philox_context_generator(layer->f->context),
		philox_run_stream(run), &set_to);
}

static enum philox_status set_without_it(struct layer *layer,
					 struct philox_run *run)
{
	(void)run;
	return philox_generator_set_state(
		philox_context_generator(layer->f->context), set_to);
}

static uint64_t own_offset(struct fixture *f)
{
	struct philox_state state;

	OK(philox_generator_get_state(philox_context_generator(f->context),
				      &state));
	return state.offset;
}

/* After its forward, so each call but the first draws from there. */
RUNNER_PROMISE(runner_calls, set_a_generator_whatever_their_kind)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 7);
	struct numbers from;

	layer.region = make_shared(f);
	layer.hook = set_on_the_stream;
	make_function(&layer, r, "layer");
	for (unsigned i = 0; i < 6; i++) {
		struct numbers saw = call_forward(&layer, x, 0).saw;

		cr_assert_eq(own_offset(f), set_to.offset, "after call %u", i);
		if (i == 1)
			from = saw;
		else if (i)
			SAME(saw, from, "call %u", i);
	}
	cr_assert_eq(counts_of(&layer).replay, 4);
}

/* Recorded, it would act once: such a body is run, and it is said why. */
RUNNER_PROMISE(runner_calls, that_set_a_generator_without_a_stream_are_not_recorded)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 7);

	layer.region = make_shared(f);
	layer.hook = set_without_it;
	make_function(&layer, r, "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	for (unsigned i = 0; i < 3; i++) {
		KIND(&layer, x, 0, PHILOX_CALL_EAGER);
		cr_assert_eq(own_offset(f), set_to.offset, "after call %u", i);
		cr_assert(strstr(philox_function_reason(layer.function),
				 "would not set this state again"),
			  "%s", philox_function_reason(layer.function));
	}
	cr_assert_eq(counts_of(&layer).replay, 0);
}

RUNNER_PROMISE(runner_calls, keep_keys_apart)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 7);

	make_function(&layer, r, "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 1, PHILOX_CALL_RECORD);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 1, PHILOX_CALL_REPLAY);
	cr_assert_eq(counts_of(&layer).recordings, 2);
}

RUNNER_PROMISE(runner_calls, may_go_without_a_warm_up_or_have_several)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer other = make_layer(f, r, "other");
	struct philox_function_desc options = layer_options("layer", &layer);
	uint32_t *x = make_words(f, 7);

	options.policy.warmups = PHILOX_NEVER;
	make_function_of(&layer, r, &options);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	options = layer_options("other", &other);
	options.policy.warmups = 3;
	make_function_of(&other, r, &options);
	for (int i = 0; i < 3; i++)
		KIND(&other, x, 0, PHILOX_CALL_WARMUP);
	KIND(&other, x, 0, PHILOX_CALL_RECORD);
}

RUNNER_PROMISE(runner_calls, of_an_eager_function_are_eager_for_good)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("layer", &layer);
	uint32_t *x = make_words(f, 7);

	options.flags = PHILOX_FUNCTION_EAGER;
	make_function_of(&layer, r, &options);
	for (unsigned i = 0; i < 4; i++)
		SAME(call_forward(&layer, x, 0).saw, predict(0, "layer", 4 * i),
		     "call %u", i);
	cr_assert_eq(counts_of(&layer).eager, 4);
	cr_assert_eq(counts_of(&layer).missed_eager, 4);
	cr_assert_eq(counts_of(&layer).recordings, 0);
}

Test(runner_calls, are_eager_if_the_environment_says_so, .timeout = 60)
{
	struct fixture f;
	struct philox_runner *r;
	struct layer layer;
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	uint32_t *x;

	setenv("PHILOX_RUNNER", "eager", 1);
	fixture_open(&f, named_device() ? named_device() : "host:sync");
	r = make_runner_of(&f, "runner", 0);
	layer = make_layer(&f, r, "layer");
	x = make_words(&f, 7);
	make_function(&layer, r, "layer");
	for (int i = 0; i < 3; i++)
		KIND(&layer, x, 0, PHILOX_CALL_EAGER);
	cr_assert_str_eq(philox_function_reason(layer.function),
			 "PHILOX_RUNNER is 'eager'");
	setenv("PHILOX_RUNNER", "fast", 1);
	options.name = "other";
	FAILS(philox_runner_create(f.context, &options, &r),
	      PHILOX_ERROR_INVALID);
	NAMES("fast");
	setenv("PHILOX_RUNNER", "", 1);
	r = make_runner_of(&f, "other", 0);
	unsetenv("PHILOX_RUNNER");
	fixture_close(&f);
}

/* --- streams -------------------------------------------------------------- */

RUNNER_PROMISE(runner_calls, on_the_legacy_stream_come_in_its_order)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 0);
	struct layer_call call;

	make_function(&layer, r, "layer");
	for (uint32_t i = 0; i < 6; i++) {
		struct numbers words = all_words(i);

		OK(philox_memory_copy(f->device, NULL, x, &words,
				      sizeof(words)));
		call = new_call(&layer, x, 0);
		call.call.stream = NULL;
		OK(try_call(&layer, &call));
		OK(philox_memory_copy(f->device, NULL, &words,
				      call.outputs[1].address, sizeof(words)));
		OK(philox_stream_synchronize(f->device, NULL));
		SAME(words, all_words(i), "call %u", i);
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * i), "call %u", i);
		release_outputs(&layer, &call);
		cr_assert_eq(call.call.kind, i == 0   ? PHILOX_CALL_WARMUP
					     : i == 1 ? PHILOX_CALL_RECORD
						      : PHILOX_CALL_REPLAY);
	}
}

RUNNER_PROMISE(runner_calls, on_several_streams_wait_for_each_other)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[2] = {make_words(f, 1), make_words(f, 2)};
	struct philox_function_desc options = layer_options("layer", &layer);
	struct philox_input_desc input = {.name = "x",
					  .kind = PHILOX_INPUT_COPIED};
	struct numbers got[24];

	options.inputs = &input;
	make_function_of(&layer, r, &options);
	for (unsigned i = 0; i < 24; i++) {
		struct layer_call call = new_call(&layer, x[i % 2], 0);
		philox_stream stream = i / 2 % 2 ? f->side : f->stream;

		call.call.stream = stream;
		OK(try_call(&layer, &call));
		OK(philox_memory_copy(f->device, stream, &got[i],
				      call.outputs[1].address, sizeof(got[i])));
		for (int k = 0; k < 2; k++)
			OK(philox_output_release(r, stream, &call.outputs[k]));
	}
	OK(philox_device_synchronize(f->device));
	for (unsigned i = 0; i < 24; i++)
		SAME(got[i], all_words(1 + i % 2), "call %u", i);
}

RUNNER_PROMISE(runner_calls, on_a_capturing_stream_are_refused)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 7), *array = make_array(f);
	struct layer_call call;
	struct philox_graph *graph;

	make_function(&layer, r, "layer");
	for (int i = 0; i < 4; i++) {
		struct ledger_view before = look(f, layer.region);

		call = new_call(&layer, x, 0);
		record_begin(f);
		captured_forward(f, layer.region, PHILOX_PASS_INFERENCE, array);
		FAILS(try_call(&layer, &call),
		      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
		NAMES("'layer'");
		graph = record_end(f);
		OK(philox_graph_destroy(graph));
		unchanged(f, layer.region, &before);
		call_forward(&layer, x, 0);
	}
}

/* --- who may call --------------------------------------------------------- */

static enum philox_status call_inside(struct layer *layer,
				      struct philox_run *run)
{
	struct layer_call call = new_call(layer, layer->f->scratch, 0);

	(void)run;
	FAILS(try_call(layer, &call), PHILOX_ERROR_BUSY);
	NAMES("within a body");
	FAILS(philox_runner_destroy(layer->runner), PHILOX_ERROR_BUSY);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_calls, do_not_come_from_a_body)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 7);

	layer.hook = call_inside;
	make_function(&layer, r, "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
}

/* --- journeys through several functions ----------------------------------- */

/* Two functions of one step; the second reads an output of the first. */
RUNNER_PROMISE(runner_calls, read_outputs_of_each_other)
{
	struct layer one = make_layer(f, r, "one"),
		     two = make_layer(f, r, "two");
	uint32_t *x = make_words(f, 5);

	make_function(&one, r, "one");
	make_function(&two, r, "two");
	for (unsigned i = 0; i < 6; i++) {
		struct layer_call first = new_call(&one, x, 0), second;

		OK(try_call(&one, &first));
		second = new_call(&two, first.outputs[1].address, 0);
		second.x.output = &first.outputs[1];
		OK(try_call(&two, &second));
		release_outputs(&one, &first);
		SAME(read_numbers(f, second.outputs[1].address), all_words(5),
		     "step %u", i);
		SAME(read_numbers(f, second.outputs[0].address),
		     predict(0, "two", 4 * i), "step %u", i);
		release_outputs(&two, &second);
	}
	cr_assert_eq(counts_of(&one).replay, 4);
	cr_assert_geq(counts_of(&two).replay, 3);
}

RUNNER_PROMISE(runner_calls, of_an_island_between_recorded_ones_fit_in)
{
	struct layer layers[3] = {make_layer(f, r, "a"), make_layer(f, r, "b"),
				  make_layer(f, r, "c")};
	uint32_t *x = make_words(f, 5);
	const char *const names[] = {"a", "b", "c"};

	for (int k = 0; k < 3; k++) {
		struct philox_function_desc options =
			layer_options(names[k], &layers[k]);

		options.flags = k == 1 ? PHILOX_FUNCTION_EAGER : 0;
		make_function_of(&layers[k], r, &options);
	}
	for (unsigned i = 0; i < 8; i++) {
		struct layer_call calls[3];
		struct philox_output *from = NULL;

		for (int k = 0; k < 3; k++) {
			calls[k] = new_call(&layers[k],
					    from ? from->address : x, 0);
			calls[k].x.output = from;
			OK(try_call(&layers[k], &calls[k]));
			from = &calls[k].outputs[1];
		}
		SAME(read_numbers(f, from->address), all_words(5), "step %u",
		     i);
		for (int k = 0; k < 3; k++) {
			SAME(read_numbers(f, calls[k].outputs[0].address),
			     predict(0, names[k], 4 * i), "step %u", i);
			release_outputs(&layers[k], &calls[k]);
		}
	}
	cr_assert_eq(counts_of(&layers[0]).replay, 6);
	cr_assert_eq(counts_of(&layers[1]).eager, 8);
	cr_assert_geq(counts_of(&layers[2]).replay, 5);
}

/* --- what a hit costs ----------------------------------------------------- */

static uint64_t all_calls_of(const struct fixture *f)
{
	uint64_t calls = 0;

	for (size_t i = 0; device_operations[i]; i++)
		calls += philox_device_call_count(f->device,
						  device_operations[i]);
	return calls;
}

static uint64_t cost(struct layer *layer, const void *x)
{
	struct layer_call call = new_call(layer, x, 0);
	uint64_t before = all_calls_of(layer->f);

	call.call.n_outputs = 0;
	OK(try_call(layer, &call));
	cr_assert_eq(call.call.kind, PHILOX_CALL_REPLAY);
	return all_calls_of(layer->f) - before;
}

/* A launch of a graph that shares a pool: its capture is asked for, its head
 * set, it is launched, and the pool's event recorded. */
RUNNER_PROMISE(runner_calls, that_are_replayed_cost_as_a_launch_does)
{
	struct layer plain = make_layer(f, r, "plain");
	struct layer copied = make_layer(f, r, "copied");
	struct philox_function_desc options = layer_options("copied", &copied);
	struct philox_input_desc input = {.name = "x",
					  .kind = PHILOX_INPUT_COPIED};
	uint32_t *x = make_words(f, 7);

	make_function(&plain, r, "plain");
	options.inputs = &input;
	make_function_of(&copied, r, &options);
	for (int i = 0; i < 3; i++) {
		call_forward(&plain, x, 0);
		call_forward(&copied, x, 0);
	}
	cost(&plain, x);
	cr_assert_eq(cost(&plain, x), 4);
	cr_assert_eq(cost(&copied, x), 5,
		     "and one launch if anything is copied");
}
