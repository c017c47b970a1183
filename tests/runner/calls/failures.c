/*
 * tests/runner/calls/failures.c - device calls that fail in calls of a runner,
 * and threads
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/runner.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- every device call fails once ----------------------------------------- */

struct fragile {
	struct fixture *f;
	struct philox_runner *runner;
	struct philox_region *region;
	struct philox_function *function;
	struct forward one; /* owed */
	uint32_t *x;
	struct block_set *seen;
	unsigned failed;
	uint64_t calls; /* to the device, of the last call */
};

#define TRY(call)                          \
	do {                               \
		enum philox_status tried_; \
                                           \
		tried_ = (call);           \
		if (tried_ != PHILOX_OK)   \
			return tried_;     \
	} while (0)

/* Draws as draw() does, but may fail. */
static enum philox_status try_draw(const struct philox_pass *pass, uint32_t *to)
{
	for (unsigned i = 0; i < SITES; i++) {
		static const uint32_t sites[SITES][2] = {
			{0, 0}, {1, 0}, {1, 1}, {2, 0}};
		struct philox_fill_desc fill =
			PHILOX_INIT(struct philox_fill_desc);

		fill.dist = PHILOX_DIST_BITS;
		fill.dtype = PHILOX_DTYPE_U32;
		fill.span.count = COUNT;
		fill.out = to + i * COUNT;
		TRY(philox_pass_fill(pass, sites[i][0], sites[i][1], &fill));
	}
	return PHILOX_OK;
}

/* A forward and a backward that is named, a value, and a copied input. */
static enum philox_status fragile_body(void *user, struct philox_run *run)
{
	struct fragile *fragile = user;
	philox_stream stream = philox_run_stream(run);
	struct philox_device *device = fragile->f->device;
	struct philox_ticket none = {0, 0};
	struct philox_pass pass;
	void *x, *y, *dx, *echo;
	const void *rate;

	TRY(philox_run_input(run, 0, &x, NULL));
	TRY(philox_run_alloc(run, BYTES, 0, "y", &y));
	TRY(philox_run_alloc(run, BYTES, 0, "dx", &dx));
	TRY(philox_run_alloc(run, BYTES, 0, "echo", &echo));
	TRY(philox_run_param(run, 0, &rate));
	TRY(philox_run_backward_begin(run, fragile->region, none, 0, &pass));
	TRY(try_draw(&pass, dx));
	TRY(philox_pass_commit(&pass, 0, NULL));
	TRY(philox_run_forward_begin(run, fragile->region, 0, &pass));
	TRY(try_draw(&pass, y));
	TRY(philox_pass_commit(&pass, 0, &none));
	TRY(philox_memory_copy(device, stream, echo, x, BYTES));
	TRY(philox_memory_copy(device, stream, echo, rate, 4));
	TRY(philox_run_output(run, 0, y, BYTES));
	TRY(philox_run_output(run, 1, dx, BYTES));
	return philox_run_output(run, 2, echo, BYTES);
}

static void make_fragile(struct fragile *fragile)
{
	static const struct philox_input_desc x = {
		.name = "x", .kind = PHILOX_INPUT_COPIED, .alignment = 16};
	static const struct philox_output_desc outputs[] = {
		{.name = "y"}, {.name = "dx"}, {.name = "echo"}};
	static const struct philox_param_desc rate = {.name = "rate",
						      .bytes = 4};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = "fragile";
	options.body = fragile_body;
	options.user = fragile;
	options.inputs = &x;
	options.n_inputs = 1;
	options.outputs = outputs;
	options.n_outputs = 3;
	options.params = &rate;
	options.n_params = 1;
	options.policy.retry = 1;
	OK(philox_function_create(fragile->runner, &options,
				  &fragile->function));
}

/* One call, which on success is right and is the next ticket's. */
static enum philox_status call_fragile(struct fragile *fragile, uint32_t rate)
{
	struct fixture *f = fragile->f;
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_call_input x = {.address = fragile->x + 1,
				      .bytes = BYTES};
	struct philox_call_param value = {&rate, sizeof(rate)};
	struct philox_launch_pass uses[2] = {{fragile->one.ticket, 0, 0},
					     {{6, 6}, 0, 0}};
	struct philox_output out[3];
	struct numbers echo = all_words(9);
	enum philox_status status;

	call.stream = f->stream;
	call.inputs = &x;
	call.n_inputs = 1;
	call.params = &value;
	call.n_params = 1;
	call.passes = uses;
	call.n_passes = 2;
	call.outputs = out;
	call.n_outputs = 3;
	fragile->calls = philox_device_call_count(f->device, NULL);
	status = philox_function_call(fragile->function, &call);
	fragile->calls =
		philox_device_call_count(f->device, NULL) - fragile->calls;
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	if (status != PHILOX_OK) {
		cr_assert_eq(uses[1].ticket.serial, 6, "nothing is written");
		return status;
	}
	echo.word[0] = rate;
	SAME(read_numbers(f, out[1].address), fragile->one.saw, "backward");
	SAME(read_numbers(f, out[2].address), echo, "echo");
	fragile->one.ticket = uses[1].ticket;
	fragile->one.saw = read_numbers(f, out[0].address);
	cr_assert_eq(block_set_add(fragile->seen, &fragile->one.saw), 0,
		     "numbers were seen before");
	for (int i = 0; i < 3; i++)
		OK(philox_output_release(fragile->runner, f->stream, &out[i]));
	return PHILOX_OK;
}

static void nothing_is_left(struct fragile *fragile)
{
	struct fixture *f = fragile->f;
	enum philox_capture_status status;

	PENDING(fragile->region, 1);
	OK(philox_stream_capture_info(f->device, f->stream, &status, NULL));
	cr_assert_eq(status, PHILOX_CAPTURE_NONE);
	backward(f, &fragile->one, PHILOX_PASS_RETAIN);
}

/* The n-th device call of the call after `before` others fails; 0: there are
 * fewer. */
static int fail_at(struct fragile *fragile, unsigned before, uint64_t n)
{
	struct fixture *f = fragile->f;
	uint64_t calls;
	enum philox_status status;

	make_fragile(fragile);
	for (unsigned i = 0; i < before; i++)
		OK(call_fragile(fragile, 100 + i));
	OK(philox_device_fail(f->device, NULL, n, PHILOX_ERROR_DEVICE));
	status = call_fragile(fragile, 200);
	calls = fragile->calls;
	if (status != PHILOX_OK)
		fragile->failed++;
	nothing_is_left(fragile);
	for (unsigned i = 0; i < 4; i++)
		OK(call_fragile(fragile, 300 + i));
	nothing_is_left(fragile);
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_function_destroy(fragile->function));
	return status != PHILOX_OK || n <= calls;
}

RUNNER_PROMISE(runner_failures, of_each_device_call_leave_nothing_behind)
{
	struct fragile fragile = {.f = f,
				  .runner = r,
				  .region = make_region(f, "layer"),
				  .seen = block_set_new()};
	struct numbers nines = all_words(9);

	f->injected = 1;
	fragile.x = make_memory(f, BYTES + 4);
	OK(philox_memory_copy(f->device, f->stream, fragile.x + 1, &nines,
			      BYTES));
	fragile.one = forward(f, fragile.region);
	for (unsigned before = 0; before < 3; before++) {
		uint64_t n = 1;

		fragile.failed = 0;
		while (fail_at(&fragile, before, n))
			n++;
		cr_assert_geq(fragile.failed, 4, "%u calls before, %u failed",
			      before, fragile.failed);
	}
	block_set_free(fragile.seen);
}

/* --- threads -------------------------------------------------------------- */

struct racer {
	struct layer layer;
	const uint32_t *x;
	pthread_barrier_t *ready;
	atomic_uint *busy;
	unsigned done;
};

static void *race(void *user)
{
	struct racer *racer = user;

	pthread_barrier_wait(racer->ready);
	for (unsigned i = 0; i < 400; i++) {
		struct layer_call call = new_call(&racer->layer, racer->x, 0);
		enum philox_status status;

		call.call.n_outputs = 0;
		status = try_call(&racer->layer, &call);
		if (status == PHILOX_ERROR_BUSY)
			atomic_fetch_add(racer->busy, 1);
		else if (status == PHILOX_OK)
			racer->done++;
		if (status == PHILOX_OK)
			philox_ticket_release(racer->layer.region,
					      racer->layer.f->stream,
					      call.use.ticket);
	}
	return NULL;
}

/* Each call is done or refused; different runners do not meet. */
static void race_with(struct fixture *f, struct philox_runner *runners[2],
		      const char *const names[2], atomic_uint *busy,
		      struct racer racers[2])
{
	pthread_t threads[2];
	pthread_barrier_t ready;

	pthread_barrier_init(&ready, NULL, 2);
	for (int i = 0; i < 2; i++) {
		racers[i].layer = make_layer(f, runners[i], names[i]);
		racers[i].x = make_words(f, 3);
		racers[i].ready = &ready;
		racers[i].busy = busy;
		make_function(&racers[i].layer, runners[i], names[i]);
		for (int k = 0; k < 3; k++)
			kind_of_call(&racers[i].layer, racers[i].x, 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, race, &racers[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&ready);
}

RUNNER_PROMISE(runner_failures, of_threads_in_one_runner_are_refusals)
{
	struct philox_runner *runners[2] = {r, r};
	static const char *const names[2] = {"one", "two"};
	struct racer racers[2] = {{.done = 0}, {.done = 0}};
	atomic_uint busy = 0;

	race_with(f, runners, names, &busy, racers);
	cr_assert_eq(racers[0].done + racers[1].done + busy, 800);
}

RUNNER_PROMISE(runner_failures, of_threads_do_not_happen_with_two_runners)
{
	struct philox_runner *runners[2] = {r, make_runner_of(f, "second", 0)};
	static const char *const names[2] = {"one", "two"};
	struct racer racers[2] = {{.done = 0}, {.done = 0}};
	atomic_uint busy = 0;

	race_with(f, runners, names, &busy, racers);
	cr_assert_eq(racers[0].done, 400);
	cr_assert_eq(racers[1].done, 400);
	SAME(call_forward(&racers[0].layer, racers[0].x, 0).saw,
	     predict(0, "one", 4 * 403), "one");
}

/* --- bad options ---------------------------------------------------------- */

RUNNER_PROMISE(runner_failures, of_options_name_the_field)
{
	struct philox_runner_desc of_runner =
		PHILOX_INIT(struct philox_runner_desc);
	struct layer layer = make_layer(f, r, "layer");
	const struct philox_function_desc good = layer_options("layer", &layer);
	struct philox_function_desc options;
	struct philox_input_desc inputs[2] = {{.name = "x"}, {.name = "x"}};
	struct philox_output_desc output = {.name = "y"};
	struct philox_param_desc value = {.name = "v", .bytes = 17};
	struct philox_runner *other;
	struct philox_function *function;
	struct philox_function_stats counts = {.size = 3};
	char name[65] = "";

	memset(name, 'n', 64);
	FAILS(philox_runner_create(f->context, &of_runner, &other),
	      PHILOX_ERROR_INVALID);
	NAMES("name");
	of_runner.name = name;
	SAYS(philox_runner_create(f->context, &of_runner, &other),
	     PHILOX_ERROR_INVALID,
	     "runner options: name has more than 63 bytes");
	of_runner.name = "runner";
	FAILS(philox_runner_create(f->context, &of_runner, &other),
	      PHILOX_ERROR_EXISTS);
	of_runner.name = "other";
	of_runner.pool_flags = PHILOX_POOL_STRICT;
	FAILS(philox_runner_create(f->context, &of_runner, &other),
	      PHILOX_ERROR_INVALID);
	of_runner.pool_flags = 0;
	of_runner.flags = 2;
	FAILS(philox_runner_create(f->context, &of_runner, &other),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_runner_create(f->context, NULL, &other),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_runner_create(NULL, &of_runner, &other),
	      PHILOX_ERROR_INVALID);

#define REFUSED(change, thing)                                        \
	do {                                                          \
		options = good;                                       \
		change;                                               \
		FAILS(philox_function_create(r, &options, &function), \
		      PHILOX_ERROR_INVALID);                          \
		NAMES(thing);                                         \
	} while (0)
	REFUSED(options.name = NULL, "name is NULL");
	REFUSED(options.name = "", "name is empty");
	REFUSED(options.name = name, "name has more than 63 bytes");
	REFUSED(options.mode = 3, "mode 3");
	REFUSED(options.flags = 4, "flags");
	REFUSED(options.body = NULL, "body");
	REFUSED(options.inputs = NULL, "inputs is NULL");
	REFUSED((options.inputs = inputs, options.n_inputs = 2), "twice");
	inputs[1] = (struct philox_input_desc){.name = ""};
	REFUSED((options.inputs = inputs, options.n_inputs = 2), "input 1");
	inputs[1] = (struct philox_input_desc){.name = "b", .kind = 3};
	REFUSED((options.inputs = inputs, options.n_inputs = 2), "'b'");
	inputs[1] = (struct philox_input_desc){.name = "b", .flags = 8};
	REFUSED((options.inputs = inputs, options.n_inputs = 2), "'b'");
	inputs[1] = (struct philox_input_desc){.name = "b",
					       .kind = PHILOX_INPUT_COPIED,
					       .flags = PHILOX_INPUT_FIXED};
	REFUSED((options.inputs = inputs, options.n_inputs = 2),
		"input 'b' is PHILOX_INPUT_FIXED, but is copied");
	inputs[1] = (struct philox_input_desc){.name = "b", .flags = 2};
	REFUSED((options.inputs = inputs, options.n_inputs = 2), "'b'");
	inputs[1] = (struct philox_input_desc){.name = "b", .alignment = 3};
	REFUSED((options.inputs = inputs, options.n_inputs = 2), "'b'");
	inputs[1] = (struct philox_input_desc){.name = "b", .reserved = 1};
	REFUSED((options.inputs = inputs, options.n_inputs = 2), "'b'");
	inputs[1] = (struct philox_input_desc){.name = "b", .reserved32 = 1};
	REFUSED((options.inputs = inputs, options.n_inputs = 2), "'b'");
	inputs[1] = (struct philox_input_desc){.name = "b", .elements = 9};
	REFUSED((options.inputs = inputs, options.n_inputs = 2), "'b'");
	output.elements = 9;
	REFUSED((options.outputs = &output, options.n_outputs = 1), "'y'");
	output.elements = 0;
	output.reserved32 = 1;
	REFUSED((options.outputs = &output, options.n_outputs = 1), "'y'");
	output.reserved32 = 0;
	output.reserved = 1;
	REFUSED((options.outputs = &output, options.n_outputs = 1), "'y'");
	REFUSED((options.params = &value, options.n_params = 1), "'v'");
	REFUSED(options.policy.refused = 2, "policy.refused");
	REFUSED(options.policy.dry = 1001, "policy.dry");
	REFUSED(options.policy.dry = PHILOX_NEVER, "policy.dry");
	REFUSED(options.policy.differs = 2, "policy.differs");
	REFUSED(options.policy.reserved[0] = 2, "policy.reserved");
	REFUSED(options.flags = PHILOX_FUNCTION_COLLECTIVE, "agree is NULL");
	REFUSED(options.size = 1, "size");
#undef REFUSED
	OK(philox_function_create(r, &good, &layer.function));
	FAILS(philox_function_create(r, &good, &function), PHILOX_ERROR_EXISTS);
	FAILS(philox_function_create(NULL, &good, &function),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_function_create(r, NULL, &function), PHILOX_ERROR_INVALID);
	FAILS(philox_function_get_stats(layer.function, &counts),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_function_get_stats(layer.function, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_function_get_stats(NULL, &counts), PHILOX_ERROR_INVALID);
	cr_assert_str_eq(philox_function_name(NULL), "");
	cr_assert_str_eq(philox_function_reason(NULL), "");
	cr_assert_null(philox_runner_pool(NULL));
	OK(philox_function_destroy(NULL));
	OK(philox_function_destroy(layer.function));
	FAILS(philox_run_alloc(NULL, 8, 0, "m", (void **)&other),
	      PHILOX_ERROR_INVALID);
}

/* A run that is kept is of no use when the body has returned. */
static struct philox_run *kept_run;

static enum philox_status keep_run(struct layer *layer, struct philox_run *run)
{
	(void)layer;
	kept_run = run;
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_failures, of_a_run_that_is_over_say_so)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct philox_pass pass;
	void *memory;

	layer.hook = keep_run;
	make_function(&layer, r, "layer");
	for (int i = 0; i < 3; i++) {
		call_forward(&layer, x, 0);
		FAILS(philox_run_alloc(kept_run, 8, 0, "m", &memory),
		      PHILOX_ERROR_STATE);
		FAILS(philox_run_forward_begin(kept_run, layer.region, 0,
					       &pass),
		      PHILOX_ERROR_STATE);
		FAILS(philox_run_input(kept_run, 0, &memory, NULL),
		      PHILOX_ERROR_STATE);
		FAILS(philox_run_refuse(kept_run, ""), PHILOX_ERROR_STATE);
		cr_assert_eq(philox_run_kind(kept_run), PHILOX_CALL_NONE);
	}
}

/* --- parameters ------------------------------------------------------------ */

static enum philox_status do_nothing(void *user, struct philox_run *run)
{
	(void)user;
	(void)run;
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_failures, of_parameters_that_do_not_fit_name_them)
{
	static const struct philox_param_desc params[] = {
		{.name = "rate", .bytes = 4}, {.name = "wide", .bytes = 8}};
	const struct philox_call_param good[] = {{params, 4}, {params, 8}};
	struct philox_call_param given[2] = {{params, 8}, {params, 8}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_function *function;

	options.name = "two";
	options.body = do_nothing;
	options.params = params;
	options.n_params = 2;
	OK(philox_function_create(r, &options, &function));
	call.stream = f->stream;
	call.params = given;
	call.n_params = 2;
	SAYS(philox_function_call(function, &call), PHILOX_ERROR_INVALID,
	     "function 'two': parameter 'rate' has 4 bytes, not 8");
	given[0].bytes = given[1].bytes = 4;
	SAYS(philox_function_call(function, &call), PHILOX_ERROR_INVALID,
	     "function 'two': parameter 'wide' has 8 bytes, not 4");
	given[1] = (struct philox_call_param){NULL, 8};
	SAYS(philox_function_call(function, &call), PHILOX_ERROR_INVALID,
	     "function 'two': parameter 'wide' is NULL");
	call.params = NULL;
	SAYS(philox_function_call(function, &call), PHILOX_ERROR_INVALID,
	     "function 'two': parameters is NULL");
	call.params = good;
	call.n_params = 1;
	SAYS(philox_function_call(function, &call), PHILOX_ERROR_INVALID,
	     "function 'two' has 2 parameters, not 1");
	call.n_params = 2;
	OK(philox_function_call(function, &call));
}
