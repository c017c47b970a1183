/*
 * tests/runner/calls/inputs.c - inputs: static, copied, automatic, mutated;
 * values
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/runner.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

static void make_with_input(struct layer *layer, struct philox_runner *r,
			    const char *name,
			    const struct philox_input_desc *input)
{
	struct philox_function_desc options = layer_options(name, layer);

	options.inputs = input;
	make_function_of(layer, r, &options);
}

/* One function with many parameter sets, going back to the first. */
RUNNER_PROMISE(runner_inputs, that_are_static_have_a_recording_for_each_place)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[3] = {make_words(f, 1), make_words(f, 2), make_words(f, 3)};

	make_function(&layer, r, "layer");
	KIND(&layer, x[0], 0, PHILOX_CALL_WARMUP);
	for (int i = 0; i < 3; i++) {
		KIND(&layer, x[i], 0, PHILOX_CALL_RECORD);
		KIND(&layer, x[i], 0, PHILOX_CALL_REPLAY);
	}
	for (int i = 0; i < 6; i++)
		KIND(&layer, x[i % 3], 0, PHILOX_CALL_REPLAY);
	cr_assert_eq(counts_of(&layer).recordings, 3);
	cr_assert_eq(counts_of(&layer).missed_moved, 2);
	cr_assert_eq(counts_of(&layer).copies, 0);
}

RUNNER_PROMISE(runner_inputs, that_are_copied_may_be_anywhere)
{
	struct layer layer = make_layer(f, r, "layer");
	const struct philox_input_desc input = {.name = "x",
						.kind = PHILOX_INPUT_COPIED};
	uint32_t *x[3] = {make_words(f, 1), make_words(f, 2), make_words(f, 3)};

	make_with_input(&layer, r, "layer", &input);
	KIND(&layer, x[0], 0, PHILOX_CALL_WARMUP);
	cr_assert_eq(counts_of(&layer).copies, 0);
	KIND(&layer, x[1], 0, PHILOX_CALL_RECORD);
	for (int i = 0; i < 6; i++)
		KIND(&layer, x[i % 3], 0, PHILOX_CALL_REPLAY);
	cr_assert_eq(counts_of(&layer).copies, 7);
	cr_assert_eq(counts_of(&layer).recordings, 1);
}

RUNNER_PROMISE(runner_inputs, that_are_automatic_are_copied_once_they_move_often)
{
	enum { MOVES = PHILOX_AUTOMATIC_MOVES };
	struct layer layer = make_layer(f, r, "layer");
	const struct philox_input_desc input = {.name = "x"};
	uint32_t *x[MOVES + 2];

	for (uint32_t i = 0; i < MOVES + 2; i++)
		x[i] = make_words(f, i);
	make_with_input(&layer, r, "layer", &input);
	KIND(&layer, x[0], 0, PHILOX_CALL_WARMUP);
	for (int i = 0; i < MOVES; i++)
		KIND(&layer, x[i], 0, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&layer).copies, 0);
	cr_assert_eq(counts_of(&layer).recordings, MOVES);
	log_texts(f);
	KIND(&layer, x[MOVES], 0, PHILOX_CALL_RECORD);
	LOGGED("copied|-|-|function 'layer' has automatic inputs");
	KIND(&layer, x[MOVES + 1], 0, PHILOX_CALL_RECORD);
	for (int i = 0; i < 8; i++)
		KIND(&layer, x[i % 4], 0, PHILOX_CALL_REPLAY);
	cr_assert_eq(counts_of(&layer).recordings, 1);
	cr_assert_eq(counts_of(&layer).copies, 9);
}

/* --- alignment ------------------------------------------------------------ */

static enum philox_status is_aligned(struct layer *layer,
				     struct philox_run *run)
{
	void *x;
	size_t bytes;

	(void)layer;
	OK(philox_run_input(run, 0, &x, &bytes));
	cr_assert_eq((uintptr_t)x % 64, 0);
	cr_assert_eq(bytes, BYTES);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_inputs, that_are_not_aligned_are_copied_in_every_kind)
{
	struct layer layer = make_layer(f, r, "layer");
	const struct philox_input_desc input = {.name = "x", .alignment = 64};
	uint32_t *wide = make_memory(f, 2 * BYTES);

	OK(philox_memory_set(f->device, f->stream, wide, 9, 2 * BYTES));
	layer.hook = is_aligned;
	make_with_input(&layer, r, "layer", &input);
	KIND(&layer, wide + 1, 0, PHILOX_CALL_WARMUP);
	cr_assert_eq(counts_of(&layer).copies, 1);
	KIND(&layer, wide + 1, 0, PHILOX_CALL_RECORD);
	KIND(&layer, wide + 1, 0, PHILOX_CALL_REPLAY);
	cr_assert_eq(counts_of(&layer).copies, 3);
	KIND(&layer, wide + 16, 0, PHILOX_CALL_RECORD);
	KIND(&layer, wide + 16, 0, PHILOX_CALL_REPLAY);
	cr_assert_eq(counts_of(&layer).copies, 3);
	cr_assert_eq(layer.bodies, 3);
}

/* --- mutation ------------------------------------------------------------- */

/* Adds 1 to all words of x, on the host. */
static void add_one(const void *args)
{
	uint32_t *x = *(uint32_t *const *)args;

	for (unsigned i = 0; i < WORDS; i++)
		x[i]++;
}

static enum philox_status add_to_x(struct layer *layer, struct philox_run *run)
{
	void *x;

	OK(philox_run_input(run, 0, &x, NULL));
	return philox_stream_launch_host(layer->f->device,
					 philox_run_stream(run), add_one, &x,
					 sizeof(x));
}

static void adds_up(struct fixture *f, struct philox_runner *r,
		    const char *name, const struct philox_input_desc *input,
		    size_t skew, enum philox_call_kind third)
{
	struct layer layer = make_layer(f, r, name);
	uint32_t *x = make_memory(f, 2 * BYTES);
	struct numbers words = all_words(0);

	x += skew;
	OK(philox_memory_copy(f->device, f->stream, x, &words, BYTES));
	OK(philox_stream_synchronize(f->device, f->stream));
	layer.hook = add_to_x;
	make_with_input(&layer, r, name, input);
	for (uint32_t i = 1; i < 6; i++) {
		struct layer_call call = new_call(&layer, x, 0);

		OK(try_call(&layer, &call));
		SAME(read_numbers(f, x), all_words(i), "%s, call %u", name, i);
		SAME(read_numbers(f, call.outputs[1].address), all_words(i),
		     "%s, call %u", name, i);
		release_outputs(&layer, &call);
		if (i == 3)
			cr_assert_eq(call.call.kind, third, "%s: %u", name,
				     call.call.kind);
	}
}

RUNNER_PROMISE(runner_inputs, that_are_mutated_are_in_place_or_written_back)
{
	const struct philox_input_desc in_place = {
		.name = "x", .flags = PHILOX_INPUT_MUTATED};
	const struct philox_input_desc copied = {
		.name = "x",
		.kind = PHILOX_INPUT_COPIED,
		.flags = PHILOX_INPUT_MUTATED | PHILOX_INPUT_WRITE_BACK};
	const struct philox_input_desc skewed = {
		.name = "x",
		.alignment = 256,
		.flags = PHILOX_INPUT_MUTATED | PHILOX_INPUT_WRITE_BACK};
	const struct philox_input_desc lost = {.name = "x",
					       .kind = PHILOX_INPUT_COPIED,
					       .flags = PHILOX_INPUT_MUTATED};

	adds_up(f, r, "in place", &in_place, 0, PHILOX_CALL_REPLAY);
	adds_up(f, r, "copied", &copied, 0, PHILOX_CALL_REPLAY);
	adds_up(f, r, "skewed", &skewed, 3, PHILOX_CALL_REPLAY);
	log_texts(f);
	adds_up(f, r, "lost", &lost, 0, PHILOX_CALL_EAGER);
	LOGGED("not recorded|eager|x|function 'lost': input 'x' is mutated");
}

RUNNER_PROMISE(runner_inputs, that_are_mutated_and_not_aligned_are_refused)
{
	struct layer layer = make_layer(f, r, "layer");
	const struct philox_input_desc input = {
		.name = "x", .alignment = 64, .flags = PHILOX_INPUT_MUTATED};
	struct layer_call call;

	make_with_input(&layer, r, "layer", &input);
	call = new_call(&layer, f->scratch, 0);
	call.x.address = (char *)call.x.address + 4;
	FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
	NAMES("'x'");
}

/* --- many ----------------------------------------------------------------- */

enum { MANY = 300 };

struct many {
	struct fixture *f;
	uint32_t *out;
};

/* Every input goes to its place of the output. */
static enum philox_status many_body(void *user, struct philox_run *run)
{
	struct many *many = user;

	for (size_t i = 0; i < MANY; i++) {
		void *x;

		OK(philox_run_input(run, i, &x, NULL));
		OK(philox_memory_copy(many->f->device, philox_run_stream(run),
				      many->out + i, x, sizeof(uint32_t)));
	}
	return PHILOX_OK;
}

static uint64_t launches(const struct fixture *f)
{
	return philox_device_call_count(f->device, "launch");
}

RUNNER_PROMISE(runner_inputs, that_are_copied_go_by_one_launch_per_table)
{
	struct many many = {f, make_memory(f, MANY * sizeof(uint32_t))};
	static struct philox_input_desc inputs[MANY];
	static struct philox_call_input given[MANY];
	static char names[MANY][8];
	uint32_t words[MANY], got[MANY], *x;
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_function *function;

	for (uint32_t i = 0; i < MANY; i++) {
		words[i] = 1000 + i;
		snprintf(names[i], sizeof(names[i]), "x%u", i);
		inputs[i] = (struct philox_input_desc){
			.name = names[i], .kind = PHILOX_INPUT_COPIED};
	}
	x = upload(f, words, sizeof(words));
	options.name = "many";
	options.body = many_body;
	options.user = &many;
	options.inputs = inputs;
	options.n_inputs = MANY;
	OK(philox_function_create(r, &options, &function));
	call.stream = f->stream;
	call.inputs = given;
	call.n_inputs = MANY;
	for (unsigned round = 0; round < 5; round++) {
		uint64_t before = launches(f);

		for (uint32_t i = 0; i < MANY; i++)
			given[i] = (struct philox_call_input){
				.address = x + (i + round) % MANY,
				.bytes = sizeof(uint32_t)};
		OK(philox_function_call(function, &call));
		cr_assert_eq(launches(f) - before, round ? 3 : 0,
			     "300 inputs are two tables of 128 and a rest");
		OK(philox_memory_copy(f->device, f->stream, got, many.out,
				      sizeof(got)));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t i = 0; i < MANY; i++)
			cr_assert_eq(got[i], 1000 + (i + round) % MANY);
	}
}

/* --- bad inputs ----------------------------------------------------------- */

RUNNER_PROMISE(runner_inputs, that_do_not_fit_are_refused_by_name)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 1);
	struct layer_call call;

	make_function(&layer, r, "layer");
	for (unsigned i = 0; i < 3; i++) {
		call = new_call(&layer, NULL, 0);
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
		NAMES("'x'");
		call = new_call(&layer, x, 0);
		call.call.n_inputs = 2;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
		NAMES("1 input");
		call = new_call(&layer, x, 0);
		call.call.n_outputs = 1;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
		NAMES("2 outputs");
		call = new_call(&layer, x, 0);
		call.call.n_params = 1;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
		NAMES("0 parameters");
		call = new_call(&layer, x, 0);
		call.call.key = NULL;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
		NAMES("key is NULL");
		call = new_call(&layer, x, 0);
		call.call.key_bytes = 4097;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
		call = new_call(&layer, x, 0);
		call.use.flags = PHILOX_PASS_INFERENCE;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
		call = new_call(&layer, x, 0);
		call.use.reserved = 1;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
		call = new_call(&layer, x, 0);
		call.call.size = 8;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
		call = new_call(&layer, x, 0);
		call.call.reserved = 1;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
		PENDING(layer.region, 0);
		call_forward(&layer, x, 0);
		call = new_call(&layer, x, 0);
		call.x.bytes = BYTES - 4;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
		NAMES("under this key");
		OK(philox_ticket_release(
			layer.region, f->stream,
			(struct philox_ticket){fnv1a("layer"), i + 1}));
	}
	FAILS(philox_function_call(NULL, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_function_call(layer.function, NULL), PHILOX_ERROR_INVALID);
}

/* --- values --------------------------------------------------------------- */

struct valued {
	struct fixture *f;
	void *to;
};

static enum philox_status wrong_value_body(void *user, struct philox_run *run)
{
	const void *rate;

	(void)user;
	FAILS(philox_run_param(run, 1, &rate), PHILOX_ERROR_INVALID);
	return PHILOX_OK;
}

static enum philox_status rate_body(void *user, struct philox_run *run)
{
	struct valued *valued = user;
	const void *rate;

	OK(philox_run_param(run, 0, &rate));
	cr_assert_eq((uintptr_t)rate % 16, 0);
	return philox_memory_copy(valued->f->device, philox_run_stream(run),
				  valued->to, rate, 16);
}

RUNNER_PROMISE(runner_inputs, that_are_values_reach_every_kind_of_call)
{
	struct valued valued = {.f = f, .to = make_memory(f, 16)};
	const struct philox_param_desc value = {.name = "rate",
						.bytes = sizeof(double)};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_call_param given = {.bytes = sizeof(double)};
	struct philox_function *function;
	uint64_t launched = 0;

	options.name = "rate";
	options.body = rate_body;
	options.user = &valued;
	options.params = &value;
	options.n_params = 1;
	OK(philox_function_create(r, &options, &function));
	call.stream = f->stream;
	call.params = &given;
	call.n_params = 1;
	for (int i = 0; i < 6; i++) {
		double rate = 0.5 * i, got[2];

		given.data = &rate;
		launched = launches(f);
		OK(philox_function_call(function, &call));
		launched = launches(f) - launched;
		OK(philox_memory_copy(f->device, f->stream, got, valued.to,
				      16));
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert(got[0] == rate && got[1] == 0, "call %d", i);
		cr_assert(i < 1 || launched == 0, "no copy for it");
	}
	cr_assert_eq(call.kind, PHILOX_CALL_REPLAY);
	given.bytes = 4;
	FAILS(philox_function_call(function, &call), PHILOX_ERROR_INVALID);
	NAMES("'rate'");
	given.data = NULL;
	FAILS(philox_function_call(function, &call), PHILOX_ERROR_INVALID);
	NAMES("'rate'");
	options.name = "wrong";
	options.body = wrong_value_body;
	OK(philox_function_create(r, &options, &function));
	given = (struct philox_call_param){&launched, 8};
	FAILS(philox_function_call(function, &call), PHILOX_ERROR_INVALID);
	NAMES("there is no parameter 1");
}

/* --- the recording that comes next ------------------------------------------ */

/* Replays at a place echo what is there, whatever calls came before. */
static void replay_at(struct layer *layer, uint32_t *const *x, int place)
{
	struct layer_call call = new_call(layer, x[place], 0);

	OK(try_call(layer, &call));
	cr_assert_eq(call.call.kind, PHILOX_CALL_REPLAY, "place %d: %s", place,
		     philox_function_reason(layer->function));
	SAME(read_numbers(layer->f, call.outputs[1].address),
	     all_words((uint32_t)place + 1), "place %d", place);
	release_outputs(layer, &call);
}

/* A warm-up, and a recording for each of n places. */
static void record_places(struct layer *layer, uint32_t *const *x, int n)
{
	KIND(layer, x[0], 0, PHILOX_CALL_WARMUP);
	for (int i = 0; i < n; i++)
		KIND(layer, x[i], 0, PHILOX_CALL_RECORD);
}

/* Two in turn, one again and again, back, and every pair in both orders. */
RUNNER_PROMISE(runner_inputs, may_come_in_an_order_that_no_call_has_had)
{
	static const int order[] = {0, 1, 2, 0, 1, 2, 0, 1, 0, 1, 0, 2, 2, 2,
				    1, 1, 0, 0, 2, 0, 2, 1, 2, 1, 0, 1, 2};
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[3] = {make_words(f, 1), make_words(f, 2), make_words(f, 3)};

	make_function(&layer, r, "layer");
	record_places(&layer, x, 3);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		replay_at(&layer, x, order[i]);
	cr_assert_eq(counts_of(&layer).recordings, 3);
	cr_assert_eq(counts_of(&layer).missed_moved, 2);
	cr_assert_eq(counts_of(&layer).replay,
		     sizeof(order) / sizeof(order[0]));
}

static void refuse_sizes(struct layer *layer, const void *x)
{
	for (int i = -4; i <= 4; i += 8) {
		struct layer_call call = new_call(layer, x, 0);

		call.x.bytes += (size_t)i;
		FAILS(try_call(layer, &call), PHILOX_ERROR_INVALID);
		NAMES("under this key");
	}
}

RUNNER_PROMISE(runner_inputs, of_another_size_are_refused_between_replays)
{
	static const struct philox_input_desc kinds[] = {
		{.name = "x", .kind = PHILOX_INPUT_STATIC},
		{.name = "x", .kind = PHILOX_INPUT_COPIED}};
	uint32_t *x = make_words(f, 1);

	for (size_t i = 0; i < 2; i++) {
		struct layer layer = make_layer(f, r, i ? "copied" : "static");
		struct layer_call call;

		make_with_input(&layer, r, i ? "copied" : "static", &kinds[i]);
		record_places(&layer, &x, 1);
		for (int k = 0; k < 3; k++) {
			replay_at(&layer, &x, 0);
			refuse_sizes(&layer, x);
			call = new_call(&layer, NULL, 0);
			FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
			NAMES("is at NULL");
		}
	}
}

/* A recording that is expected next may be gone by then. */
RUNNER_PROMISE(runner_inputs, whose_recording_was_evicted_are_recorded_again)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[4] = {make_words(f, 1), make_words(f, 2), make_words(f, 3),
			  make_words(f, 4)};
	struct philox_function_desc options = layer_options("layer", &layer);

	options.policy.recordings = 2;
	make_function_of(&layer, r, &options);
	record_places(&layer, x, 2);
	for (int i = 0; i < 6; i++)
		replay_at(&layer, x, i % 2);
	for (int i = 2; i < 4; i++) {
		KIND(&layer, x[i], 0, PHILOX_CALL_RECORD);
		replay_at(&layer, x, i);
		cr_assert_eq(counts_of(&layer).recordings, 2);
	}
	for (int i = 0; i < 6; i++)
		replay_at(&layer, x, 3 - i % 2);
	KIND(&layer, x[0], 0, PHILOX_CALL_RECORD);
	replay_at(&layer, x, 0);
}

/* What is copied may be an output, and then no more. */
RUNNER_PROMISE(runner_inputs, that_are_copied_are_looked_up_in_the_pool)
{
	static const struct philox_input_desc copied = {
		.name = "x", .kind = PHILOX_INPUT_COPIED};
	struct layer layer = make_layer(f, r, "layer");
	struct layer source = make_layer(f, r, "source");
	uint32_t *x = make_words(f, 1);
	struct layer_call made, call;

	make_with_input(&layer, r, "layer", &copied);
	make_function(&source, r, "source");
	made = new_call(&source, x, 0);
	OK(try_call(&source, &made));
	record_places(&layer, &x, 1);
	for (int i = 0; i < 3; i++) {
		replay_at(&layer, &x, 0);
		replay_at(&layer, &x, 0);
		call = new_call(&layer, made.outputs[0].address, 0);
		OK(try_call(&layer, &call));
		SAME(read_numbers(f, call.outputs[1].address),
		     read_numbers(f, made.outputs[0].address), "an output");
		release_outputs(&layer, &call);
		call = new_call(&layer, made.outputs[0].address, 0);
		call.x.id = 7;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
		NAMES("an id is for other memory");
	}
	release_outputs(&source, &made);
	replay_at(&layer, &x, 0);
	call = new_call(&layer, made.outputs[0].address, 0);
	FAILS(try_call(&layer, &call), PHILOX_ERROR_STALE);
}

/* The oldest whose memory is free, also when the other one was used last. */
RUNNER_PROMISE(runner_inputs, that_have_two_recordings_find_the_older_one)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 1);
	struct layer_call first = new_call(&layer, x, 0), second = first;

	make_function(&layer, r, "layer");
	record_places(&layer, &x, 1);
	replay_at(&layer, &x, 0);
	replay_at(&layer, &x, 0);
	OK(try_call(&layer, &first));
	OK(try_call(&layer, &second));
	cr_assert_eq(second.call.kind, PHILOX_CALL_RECORD);
	for (int i = 0; i < 4; i++) {
		const void *older = first.outputs[0].address;
		const void *newer = second.outputs[0].address;

		release_outputs(&layer, &first);
		release_outputs(&layer, &second);
		replay_at(&layer, &x, 0);
		OK(try_call(&layer, &first));
		cr_assert_eq(first.outputs[0].address, older, "round %d", i);
		for (int k = 0; k < 3; k++) {
			if (k)
				release_outputs(&layer, &second);
			OK(try_call(&layer, &second));
			cr_assert_eq(second.call.kind, PHILOX_CALL_REPLAY);
			cr_assert_eq(second.outputs[0].address, newer,
				     "round %d, %d", i, k);
		}
	}
	release_outputs(&layer, &first);
	release_outputs(&layer, &second);
	cr_assert_eq(counts_of(&layer).recordings, 2);
}
