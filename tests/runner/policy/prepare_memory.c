/*
 * tests/runner/policy/prepare_memory.c - the memory, values and inputs of calls
 * that are recorded ahead
 */
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- memory --------------------------------------------------------------- */

/* y is as large as x. */
static enum philox_status sized_body(void *user, struct philox_run *run)
{
	struct layer *layer = user;
	struct philox_pass pass;
	struct philox_ticket ticket;
	enum philox_status status;
	size_t bytes;
	void *x, *y, *between;

	OK(philox_run_input(run, 0, &x, &bytes));
	status = philox_run_alloc(run, bytes, 0, "between", &between);
	if (status == PHILOX_OK)
		status = philox_run_alloc(run, bytes, 0, "y", &y);
	if (status != PHILOX_OK)
		return status;
	OK(philox_run_forward_begin(run, layer->region, 0, &pass));
	draw(&pass, between);
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_memory_copy(layer->f->device, philox_run_stream(run), y,
			      between, bytes));
	return philox_run_output(run, 0, y, bytes);
}

RUNNER_PROMISE(runner_prepare_memory,
	       of_the_largest_first_takes_the_memory_of_that)
{
	static const struct philox_input_desc input = {.name = "x"};
	static const struct philox_output_desc output = {.name = "y"};
	static const size_t sizes[4] = {6 << 20, 3 << 20, 1 << 20, 4096};
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct layer_call calls[4];
	void *x = make_memory(f, sizes[0]);
	uint64_t mapped;

	options.name = "sized";
	options.body = sized_body;
	options.user = &layer;
	options.inputs = &input;
	options.n_inputs = 1;
	options.outputs = &output;
	options.n_outputs = 1;
	make_function_of(&layer, r, &options);
	for (uint32_t i = 0; i < 4; i++) {
		calls[i] = new_call(&layer, x, i);
		calls[i].x.bytes = sizes[i];
		calls[i].call.n_outputs = 1;
	}
	PREPARED(&layer, calls, 1, 1);
	mapped = pool_look(philox_runner_pool(r)).mapped;
	cr_assert_geq(mapped, 2 * sizes[0]);
	cr_assert_leq(mapped, 2 * sizes[0] + (6 << 20));
	PREPARED(&layer, calls, 4, 4);
	cr_assert_eq(pool_look(philox_runner_pool(r)).mapped, mapped);
	for (unsigned i = 0; i < 8; i++) {
		struct layer_call *call = &calls[3 - i % 4];

		OK(try_call(&layer, call));
		cr_assert_eq(call->call.kind, PHILOX_CALL_REPLAY);
		SAME(read_numbers(f, call->outputs[0].address),
		     predict(0, "layer", 4 * i), "call %u", i);
		OK(philox_output_release(r, f->stream, &call->outputs[0]));
	}
	cr_assert_eq(pool_look(philox_runner_pool(r)).mapped, mapped);
}

/* More than the pool may have: nothing is left of the attempt. */
RUNNER_PROMISE(runner_prepare_memory, does_not_take_more_than_the_pool_may)
{
	static const struct philox_input_desc input = {.name = "x"};
	static const struct philox_output_desc output = {.name = "y"};
	struct philox_runner_desc small =
		PHILOX_INIT(struct philox_runner_desc);
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct layer_call calls[2];
	void *x = make_memory(f, 6 << 20);

	small.name = "small";
	small.pool_limit = 8 << 20;
	OK(philox_runner_create(f->context, &small, &r));
	options.name = "sized";
	options.body = sized_body;
	options.user = &layer;
	options.inputs = &input;
	options.n_inputs = 1;
	options.outputs = &output;
	options.n_outputs = 1;
	options.policy.refused = PHILOX_REFUSED_ERROR;
	for (uint32_t dry = 0; dry < 2; dry++) {
		options.policy.dry = dry;
		make_function_of(&layer, r, &options);
		for (uint32_t i = 0; i < 2; i++) {
			calls[i] = new_call(&layer, x, i);
			calls[i].x.bytes = i ? 2 << 20 : 6 << 20;
			calls[i].call.n_outputs = 1;
		}
		FAILS(try_prepare(&layer, calls, 2, NULL), PHILOX_ERROR_LIMIT);
		cr_assert_eq(counts_of(&layer).recordings, 0);
		LIVE(f, r, 0);
		PREPARED(&layer, &calls[1], 1, 1);
		OK(try_call(&layer, &calls[1]));
		cr_assert_eq(calls[1].call.kind, PHILOX_CALL_REPLAY);
		SAME(read_numbers(f, calls[1].outputs[0].address),
		     predict(0, "layer", 4 * dry), "dry %u", dry);
		OK(philox_output_release(r, f->stream, &calls[1].outputs[0]));
		OK(philox_device_synchronize(f->device));
		OK(philox_function_destroy(layer.function));
	}
	OK(philox_runner_destroy(r));
}

/* What was thrown away is nothing that somebody forgot to release. */
RUNNER_PROMISE(runner_prepare_memory, leaves_no_output_to_be_reported)
{
	struct philox_runner *mine = make_runner_of(f, "mine", 0);
	struct layer layer = make_layer(f, mine, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call = new_call(&layer, x, 0);

	make_function_under(&layer, mine, "layer",
			    &(struct philox_policy){.dry = 2});
	PREPARED(&layer, &call, 1, 1);
	OK(philox_device_synchronize(f->device));
	log_texts(f);
	OK(philox_runner_destroy(mine));
	cr_assert(!strstr(logged_texts(), "live block"), "%s", logged_texts());
}

/* Outputs of others that live meanwhile are not touched. */
RUNNER_PROMISE(runner_prepare_memory, goes_round_outputs_that_live)
{
	struct layer one = make_layer(f, r, "one"),
		     two = make_layer(f, r, "two");
	uint32_t *x = make_words(f, 3);
	struct layer_call kept, call;
	struct numbers saw;

	make_function(&one, r, "one");
	make_function_under(&two, r, "two", &(struct philox_policy){.dry = 2});
	kept = made_call(&one, x, 0);
	saw = read_numbers(f, kept.outputs[0].address);
	call = new_call(&two, kept.outputs[1].address, 0);
	call.x.output = &kept.outputs[1];
	PREPARED(&two, &call, 1, 1);
	for (unsigned i = 0; i < 3; i++) {
		OK(try_call(&two, &call));
		cr_assert_eq(call.call.kind, PHILOX_CALL_REPLAY);
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "two", 4 * i), "call %u", i);
		SAME(read_numbers(f, call.outputs[1].address), all_words(3),
		     "call %u", i);
		SAME(read_numbers(f, kept.outputs[0].address), saw, "kept");
		release_outputs(&two, &call);
	}
	release_outputs(&one, &kept);
}

/* What dry warm-ups wrote late is not in the outputs of calls elsewhere. */
SLOW_PROMISE(runner_prepare_memory, is_not_written_after_a_call_has_it)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.dry = 2});
	for (uint32_t key = 0; key < 6; key++) {
		struct layer_call call = new_call(&layer, x, key);
		struct numbers got[2];
		uint64_t calls = key + key / 2 + 1; /* before */

		delay(f, f->stream);
		if (key % 2)
			PREPARED(&layer, &call, 1, 1);
		else {
			OK(try_call(&layer, &call));
			release_outputs(&layer, &call);
			OK(philox_ticket_release(layer.region, f->stream,
						 call.use.ticket));
		}
		call = new_call(&layer, x, key);
		call.call.stream = f->side;
		OK(try_call(&layer, &call));
		for (int k = 0; k < 2; k++)
			OK(philox_memory_copy(f->device, f->side, &got[k],
					      call.outputs[k].address, BYTES));
		OK(philox_device_synchronize(f->device));
		SAME(got[0], predict(0, "layer", 4 * calls), "key %u", key);
		SAME(read_numbers(f, call.outputs[0].address), got[0],
		     "key %u: later", key);
		SAME(got[1], all_words(3), "key %u", key);
		release_outputs(&layer, &call);
		OK(philox_ticket_release(layer.region, f->stream,
					 call.use.ticket));
	}
}

/* --- values, streams ------------------------------------------------------ */

static enum philox_status rate_body(void *user, struct philox_run *run)
{
	struct layer *layer = user;
	const void *rate;

	OK(philox_run_param(run, 0, &rate));
	return philox_memory_copy(layer->f->device, philox_run_stream(run),
				  layer->f->scratch, rate, 16);
}

RUNNER_PROMISE(runner_prepare_memory, only_begins_with_the_values_of_its_calls)
{
	const struct philox_param_desc value = {.name = "rate",
						.bytes = sizeof(double)};
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	double rate = 7;
	struct philox_call_param given = {&rate, sizeof(rate)};
	size_t prepared;

	options.name = "rate";
	options.body = rate_body;
	options.user = &layer;
	options.params = &value;
	options.n_params = 1;
	options.policy.dry = 1;
	make_function_of(&layer, r, &options);
	call.stream = NULL;
	call.params = &given;
	call.n_params = 1;
	OK(philox_function_prepare(layer.function, &call, 1, &prepared));
	cr_assert_eq(prepared, 1);
	call.stream = f->stream;
	for (int i = 0; i < 4; i++) {
		double got[2];

		rate = 0.5 * i;
		OK(philox_function_call(layer.function, &call));
		cr_assert_eq(call.kind, PHILOX_CALL_REPLAY);
		OK(philox_memory_copy(f->device, f->stream, got, f->scratch,
				      16));
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert(got[0] == rate && got[1] == 0, "call %d", i);
	}
}

/* A copied input may be anywhere in the calls. */
RUNNER_PROMISE(runner_prepare_memory, of_copied_inputs_is_for_all_addresses)
{
	const struct philox_input_desc input = {
		.name = "x", .kind = PHILOX_INPUT_COPIED, .alignment = 16};
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("layer", &layer);
	uint32_t *x[3] = {make_words(f, 0), make_words(f, 1), make_words(f, 2)};
	struct layer_call calls[3];

	options.inputs = &input;
	options.policy.dry = 1;
	make_function_of(&layer, r, &options);
	for (int i = 0; i < 3; i++)
		calls[i] = new_call(&layer, x[i], 0);
	PREPARED(&layer, calls, 3, 3);
	cr_assert_eq(calls[0].call.kind, PHILOX_CALL_RECORD);
	cr_assert_eq(calls[1].call.kind, PHILOX_CALL_NONE);
	cr_assert_eq(counts_of(&layer).recordings, 1);
	for (int i = 0; i < 3; i++)
		KIND(&layer, x[i], 0, PHILOX_CALL_REPLAY);
}
