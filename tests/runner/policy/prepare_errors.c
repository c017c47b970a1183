/*
 * tests/runner/policy/prepare_errors.c - calls that cannot be prepared
 */
#include <stdlib.h>
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* The call is passed over; when it comes the body runs, and is not recorded. */
static void is_passed_over(struct layer *layer, const void *x, unsigned bodies)
{
	struct layer_call call = new_call(layer, x, 0);
	unsigned before = layer->bodies;
	size_t prepared = 99;

	call.call.kind = 77;
	OK(try_prepare(layer, &call, 1, &prepared));
	cr_assert_eq(prepared, 0);
	cr_assert_eq(call.call.kind, PHILOX_CALL_NONE);
	cr_assert_eq(layer->bodies, before + bodies);
	cr_assert_eq(counts_of(layer).prepared, 0);
	cr_assert_eq(counts_of(layer).recordings, 0);
	PENDING(layer->region, 0);
	cr_assert_lt(kind_of_call(layer, x, 0), PHILOX_CALL_RECORD);
	KIND(layer, x, 0, PHILOX_CALL_EAGER);
}

RUNNER_PROMISE(runner_prepare_errors, of_an_eager_function_there_are_none)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("layer", &layer);
	uint32_t *x = make_words(f, 3);

	options.flags = PHILOX_FUNCTION_EAGER;
	make_function_of(&layer, r, &options);
	is_passed_over(&layer, x, 0);
}

Test(runner_prepare_errors, if_all_is_eager_there_are_none, .timeout = 60)
{
	struct fixture f;
	struct philox_runner *r;
	struct layer layer;
	uint32_t *x;

	setenv("PHILOX_RUNNER", "eager", 1);
	fixture_open(&f, named_device() ? named_device() : "host:sync");
	r = make_runner_of(&f, "runner", 0);
	unsetenv("PHILOX_RUNNER");
	layer = make_layer(&f, r, "layer");
	x = make_words(&f, 7);
	make_function(&layer, r, "layer");
	is_passed_over(&layer, x, 0);
	SAME(call_forward(&layer, x, 0).saw, predict(0, "layer", 8), "third");
	fixture_close(&f);
}

static enum philox_status refuses(struct layer *layer, struct philox_run *run)
{
	(void)layer;
	if (philox_run_kind(run) == PHILOX_CALL_RECORD)
		OK(philox_run_refuse(run, "a grid depends on data"));
	return PHILOX_OK;
}

static enum philox_status breaks(struct layer *layer, struct philox_run *run)
{
	if (philox_run_kind(run) != PHILOX_CALL_RECORD)
		return PHILOX_OK;
	return philox_stream_synchronize(layer->f->device,
					 philox_run_stream(run));
}

RUNNER_PROMISE(runner_prepare_errors, of_a_body_that_refuses_there_are_none)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer other = make_layer(f, r, "other");
	uint32_t *x = make_words(f, 3);

	layer.hook = refuses;
	make_function(&layer, r, "layer");
	is_passed_over(&layer, x, 1);
	other.hook = breaks;
	make_function(&other, r, "other");
	is_passed_over(&other, x, 1);
}

RUNNER_PROMISE(runner_prepare_errors,
	       of_inputs_that_cannot_be_copied_there_are_none)
{
	const struct philox_input_desc input = {.name = "x",
						.kind = PHILOX_INPUT_COPIED,
						.flags = PHILOX_INPUT_MUTATED};
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("layer", &layer);
	uint32_t *x = make_words(f, 3);

	options.inputs = &input;
	make_function_of(&layer, r, &options);
	is_passed_over(&layer, x, 0);
}

/* The first that fails; those before it are prepared. */
RUNNER_PROMISE(runner_prepare_errors, end_the_list)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call calls[4];
	size_t prepared;

	make_function_under(
		&layer, r, "layer",
		&(struct philox_policy){.refused = PHILOX_REFUSED_ERROR});
	for (uint32_t i = 0; i < 4; i++)
		calls[i] = new_call(&layer, x, i);
	OK(try_prepare(&layer, calls, 1, NULL));
	layer.hook = refuses;
	FAILS(try_prepare(&layer, calls, 4, &prepared),
	      PHILOX_ERROR_UNSUPPORTED);
	NAMES("a grid depends on data");
	layer.hook = NULL;
	calls[2].call.n_inputs = 2;
	FAILS(try_prepare(&layer, calls + 2, 2, &prepared),
	      PHILOX_ERROR_INVALID);
	NAMES("1 input, not 2");
	calls[2] = new_call(&layer, x, 2);
	calls[2].call.n_passes = 0;
	calls[0] = new_call(&layer, x, 5);
	calls[1] = new_call(&layer, x, 6);
	FAILS(try_prepare(&layer, calls, 4, &prepared), PHILOX_ERROR_INVALID);
	NAMES("0 entries");
	PENDING(layer.region, 0);
	cr_assert_eq(counts_of(&layer).prepared, 3);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 5, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 6, PHILOX_CALL_REPLAY);
	KIND(&layer, x, 4, PHILOX_CALL_WARMUP);
}

RUNNER_PROMISE(runner_prepare_errors, name_what_is_wrong_with_a_call)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3), *array = make_array(f);
	struct layer_call good, bad;
	struct philox_graph *graph;
	size_t prepared;

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.dry = 1});
	good = new_call(&layer, x, 0);
	good.call.inputs = &good.x;
	good.call.n_outputs = 0;
	FAILS(philox_function_prepare(NULL, &good.call, 1, &prepared),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_function_prepare(layer.function, NULL, 1, &prepared),
	      PHILOX_ERROR_INVALID);
#define WRONG(change, thing)                                   \
	do {                                                   \
		bad = new_call(&layer, x, 0);                  \
		change;                                        \
		FAILS(try_prepare(&layer, &bad, 1, &prepared), \
		      PHILOX_ERROR_INVALID);                   \
		NAMES(thing);                                  \
	} while (0)
	WRONG(bad.call.size = 8, "size");
	WRONG(bad.call.reserved = 1, "reserved");
	WRONG(bad.call.key = NULL, "key");
	WRONG(bad.call.key_bytes = 4097, "key");
	WRONG(bad.call.n_inputs = 0, "1 input, not 0");
	WRONG(bad.call.n_params = 1, "parameter");
#undef WRONG
	record_begin(f);
	captured_forward(f, layer.region, PHILOX_PASS_INFERENCE, array);
	FAILS(philox_function_prepare(layer.function, &good.call, 1, &prepared),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	graph = record_end(f);
	OK(philox_graph_destroy(graph));
	bad = made_call(&layer, x, 1);
	release_outputs(&layer, &bad);
	good.x.output = &bad.outputs[1];
	good.x.address = bad.outputs[1].address;
	FAILS(philox_function_prepare(layer.function, &good.call, 1, &prepared),
	      PHILOX_ERROR_STALE);
	NAMES("'x'");
	cr_assert_eq(counts_of(&layer).recordings, 0);
	bad = new_call(&layer, x, 1);
	bad.x.bytes = BYTES - 4;
	FAILS(try_prepare(&layer, &bad, 1, &prepared), PHILOX_ERROR_INVALID);
	NAMES("under this key");
	bad = new_call(&layer, x, 1);
	OK(try_prepare(&layer, &bad, 1, &prepared));
	cr_assert_eq(prepared, 1);
}

/* --- bodies that fail ----------------------------------------------------- */

RUNNER_PROMISE(runner_prepare_errors, of_a_body_leave_nothing)
{
	uint32_t *x = make_words(f, 3);

	for (uint32_t dry = 0; dry < 2; dry++) {
		const char *name = dry ? "dry" : "layer";
		struct layer layer = make_layer(f, r, name);
		struct layer_call call = new_call(&layer, x, 0);
		struct ledger_view before = look(f, layer.region);
		size_t prepared;

		make_function_under(
			&layer, r, name,
			&(struct philox_policy){
				.dry = dry, .refused = PHILOX_REFUSED_ERROR});
		layer.returns = PHILOX_ERROR_LIMIT;
		FAILS(try_prepare(&layer, &call, 1, &prepared),
		      PHILOX_ERROR_LIMIT);
		NAMES(name);
		unchanged(f, layer.region, &before);
		LIVE(f, r, 0);
		cr_assert_eq(counts_of(&layer).recordings, 0);
		cr_assert_eq(counts_of(&layer).prepared, 0);
		layer.returns = PHILOX_OK;
		OK(try_prepare(&layer, &call, 1, &prepared));
		cr_assert_eq(prepared, 1);
		KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	}
}

static enum philox_status one_more(struct layer *layer, struct philox_run *run)
{
	void *memory;

	if (layer->returns == PHILOX_OK)
		return PHILOX_OK;
	layer->returns = PHILOX_OK;
	return philox_run_alloc(run, 8, 0, "more", &memory);
}

RUNNER_PROMISE(runner_prepare_errors,
	       name_what_a_body_does_otherwise_than_before)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call = new_call(&layer, x, 0);
	size_t prepared;

	layer.hook = one_more;
	make_function(&layer, r, "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	layer.returns = PHILOX_ERROR_LIMIT;
	FAILS(try_prepare(&layer, &call, 1, &prepared), PHILOX_ERROR_MISMATCH);
	NAMES("an allocation of 8 bytes");
	OK(try_prepare(&layer, &call, 1, &prepared));
	cr_assert_eq(prepared, 1);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
}

/* --- who may -------------------------------------------------------------- */

struct preparer {
	struct layer *layer;
	struct layer_call call;
	struct outcome outcome;
};

static struct preparer preparer;

static void prepare_it(void *user)
{
	(void)user;
	preparer.outcome = outcome_of(
		try_prepare(preparer.layer, &preparer.call, 1, NULL));
}

static enum philox_status prepare_within(struct layer *layer,
					 struct philox_run *run)
{
	struct layer_call call = new_call(layer, layer->f->scratch, 1);

	(void)run;
	FAILS(try_prepare(layer, &call, 1, NULL), PHILOX_ERROR_BUSY);
	on_thread(prepare_it, NULL);
	GAVE(preparer.outcome, PHILOX_ERROR_BUSY);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_prepare_errors, come_of_calls_within_bodies)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call = new_call(&layer, x, 2);

	layer.hook = prepare_within;
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.dry = 1});
	preparer = (struct preparer){.layer = &layer,
				     .call = new_call(&layer, x, 1)};
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	OK(try_prepare(&layer, &call, 1, NULL));
	cr_assert_eq(counts_of(&layer).keys, 2);
	cr_assert_eq(counts_of(&layer).prepared, 1);
}

/* --- regions that go ------------------------------------------------------ */

RUNNER_PROMISE(runner_prepare_errors,
	       of_a_region_that_went_are_for_its_next_life)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call = new_call(&layer, x, 0);
	size_t prepared;

	make_function(&layer, r, "layer");
	OK(try_prepare(&layer, &call, 1, NULL));
	SAME(call_forward(&layer, x, 0).saw, predict(0, "layer", 0), "first");
	OK(philox_region_destroy(layer.region));
	layer.region = make_region(f, "layer");
	OK(try_prepare(&layer, &call, 1, &prepared));
	cr_assert_eq(prepared, 1);
	cr_assert_eq(call.call.kind, PHILOX_CALL_RECORD);
	SAME(call_forward(&layer, x, 0).saw, predict(0, "layer", 4), "second");
	cr_assert_eq(counts_of(&layer).replay, 2);
	cr_assert_eq(counts_of(&layer).recordings, 1);
}

RUNNER_PROMISE(runner_prepare_errors, name_a_region_that_went)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call calls[2] = {new_call(&layer, x, 0),
				      new_call(&layer, x, 1)};

	make_function(&layer, r, "layer");
	OK(try_prepare(&layer, calls, 1, NULL));
	OK(philox_region_destroy(layer.region));
	FAILS(try_prepare(&layer, &calls[1], 1, NULL), PHILOX_ERROR_STALE);
	NAMES("'layer'");
	FAILS(try_call(&layer, &calls[0]), PHILOX_ERROR_STALE);
	FAILS(try_prepare(&layer, calls, 1, NULL), PHILOX_ERROR_STALE);
}

/* --- a device that fails -------------------------------------------------- */

/* The n-th device call of a prepared call fails; 0: there are fewer. */
static int fail_at(struct rich *rich, struct philox_runner *r, uint64_t n)
{
	struct fixture *f = rich->f;
	struct ledger_view before = look(f, rich->own);
	struct forward of = forward(f, rich->other);
	enum philox_capture_status capture;
	enum philox_status status;
	uint64_t calls;

	make_rich(rich, r, "rich",
		  &(struct philox_policy){.dry = 1, .retry = 1});
	rich->call.passes = NULL;
	calls = philox_device_call_count(f->device, NULL);
	OK(philox_device_fail(f->device, NULL, n, PHILOX_ERROR_DEVICE));
	status = philox_function_prepare(rich->function, &rich->call, 1, NULL);
	calls = philox_device_call_count(f->device, NULL) - calls;
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	OK(philox_stream_capture_info(f->device, f->stream, &capture, NULL));
	cr_assert_eq(capture, PHILOX_CAPTURE_NONE);
	unchanged(f, rich->own, &before);
	PENDING(rich->other, 1);
	LIVE(f, r, 0);
	OK(philox_function_prepare(rich->function, &rich->call, 1, NULL));
	rich->call.passes = rich->uses;
	for (int i = 0; i < 3; i++)
		call_rich(rich, &of, PHILOX_PASS_RETAIN, PHILOX_CALL_NONE);
	call_rich(rich, &of, 0, PHILOX_CALL_REPLAY);
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_function_destroy(rich->function));
	return status != PHILOX_OK || n <= calls;
}

RUNNER_PROMISE(runner_prepare_errors, of_each_device_call_leave_nothing_behind)
{
	struct rich rich = {.f = f,
			    .own = make_region(f, "own"),
			    .other = make_region(f, "other")};
	uint64_t n = 1;

	f->injected = 1;
	while (fail_at(&rich, r, n)) {
		cr_assert_lt(n, 500);
		n++;
	}
	cr_assert_gt(n, 8);
}
