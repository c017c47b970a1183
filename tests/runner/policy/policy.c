/*
 * tests/runner/policy/policy.c - what is done with calls that cannot be
 * replayed
 */
#include <stdio.h>
#include "tests/support/beds/runner.h"

enum { PLACES = 12 };

static void make_with_policy(struct layer *layer, struct philox_runner *r,
			     const char *name,
			     const struct philox_policy *policy)
{
	struct philox_function_desc options = layer_options(name, layer);

	options.policy = *policy;
	make_function_of(layer, r, &options);
}

static void make_places(struct fixture *f, uint32_t *x[PLACES])
{
	for (uint32_t i = 0; i < PLACES; i++)
		x[i] = make_words(f, i);
}

/* How many calls, each with another x, are recorded before that is given up. */
static unsigned recorded_of_moving(struct fixture *f, struct philox_runner *r,
				   const char *name, uint32_t recordings)
{
	struct layer layer = make_layer(f, r, name);
	uint32_t *x[PLACES];

	make_places(f, x);
	make_with_policy(&layer, r, name,
			 &(struct philox_policy){.recordings = recordings});
	call_forward(&layer, x[0], 0);
	for (unsigned i = 0; i < PLACES; i++)
		SAME(call_forward(&layer, x[i], 0).saw,
		     predict(0, name, 4 * (i + 1)), "%s, call %u", name, i);
	cr_assert_eq(counts_of(&layer).record + counts_of(&layer).eager,
		     PLACES);
	cr_assert_eq(counts_of(&layer).missed_bound, counts_of(&layer).eager);
	cr_assert_leq(counts_of(&layer).recordings, recordings);
	cr_assert_eq(counts_of(&layer).evicted,
		     counts_of(&layer).record - counts_of(&layer).recordings);
	return (unsigned)counts_of(&layer).record;
}

/* As many as the bound, and a quarter of it more, at least one. */
RUNNER_PROMISE(runner_policy, records_what_moves_until_that_is_wasted)
{
	log_texts(f);
	cr_assert_eq(recorded_of_moving(f, r, "four", 4), 5);
	LOGGED("eager|eager|-|function 'four': its inputs moved: input 'x' "
	       "(tests/support/beds/runner.c:");
	LOGGED("; its key keeps the recordings that it has, for "
	       "policy.recordings: those that it evicted were never replayed");
	/* after 8 calls its one is idle for long enough */
	cr_assert_eq(recorded_of_moving(f, r, "one", 1), 3);
	cr_assert_eq(recorded_of_moving(f, r, "eight", 8), 10);
	cr_assert_eq(recorded_of_moving(f, r, "all", PHILOX_NEVER), PLACES);
}

/* Layers that share a function: each has a recording after some steps. */
RUNNER_PROMISE(runner_policy, keeps_forty_recordings_that_are_replayed)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[40];

	for (uint32_t i = 0; i < 40; i++)
		x[i] = make_words(f, i);
	make_function(&layer, r, "layer");
	for (unsigned step = 0, n = 0; step < 12; step++)
		for (unsigned i = 0; i < 40; i++) {
			struct forward made = call_forward(&layer, x[i], 0);

			SAME(made.saw, predict(0, "layer", 4 * n++),
			     "step %u, layer %u", step, i);
			OK(philox_ticket_release(layer.region, f->stream,
						 made.ticket));
		}
	cr_assert_eq(counts_of(&layer).recordings, 40);
	cr_assert_eq(counts_of(&layer).unplayed, 0);
	for (unsigned i = 0; i < 40; i++)
		KIND(&layer, x[i], 0, PHILOX_CALL_REPLAY);
}

RUNNER_PROMISE(runner_policy, has_room_for_64_recordings_of_a_key)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[65];

	for (uint32_t i = 0; i < 65; i++)
		x[i] = make_words(f, i);
	make_function(&layer, r, "layer");
	call_forward(&layer, x[0], 0);
	for (unsigned i = 0; i < 64; i++)
		KIND(&layer, x[i], 0, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&layer).recordings, 64);
	for (unsigned i = 0; i < 64; i++)
		KIND(&layer, x[i], 0, PHILOX_CALL_REPLAY);
	KIND(&layer, x[64], 0, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&layer).recordings, 64);
	cr_assert_eq(counts_of(&layer).evicted, 1);
}

/* Both of two moved inputs in one message, with their origins. */
static enum philox_status nothing(void *user, struct philox_run *run)
{
	(void)user;
	(void)run;
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_policy, may_refuse_what_moves_and_names_all_of_it)
{
	const struct philox_input_desc inputs[] = {
		{.name = "weight",
		 .origin = "model.c:12",
		 .flags = PHILOX_INPUT_FIXED},
		{.name = "still", .flags = PHILOX_INPUT_FIXED},
		{.name = "bias", .origin = "model.c:13"}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_call_input given[3];
	struct philox_function *function;
	char expected[400];
	uint32_t *x[PLACES];

	make_places(f, x);
	options.name = "linear";
	options.body = nothing;
	options.inputs = inputs;
	options.n_inputs = 3;
	OK(philox_function_create(r, &options, &function));
	call.stream = f->stream;
	call.inputs = given;
	call.n_inputs = 3;
	for (int i = 0; i < 3; i++)
		given[i] =
			(struct philox_call_input){.address = x[i], .bytes = 4};
	for (int i = 0; i < 3; i++)
		OK(philox_function_call(function, &call));
	given[0].address = x[3];
	given[2].address = x[4];
	snprintf(
		expected, sizeof(expected),
		"function 'linear': its inputs moved: input 'weight' (model.c:12) "
		"from %p to %p; input 'bias' (model.c:13) from %p to %p; "
		"PHILOX_INPUT_FIXED refuses that",
		(void *)x[0], (void *)x[3], (void *)x[2], (void *)x[4]);
	SAYS(philox_function_call(function, &call), PHILOX_ERROR_MISMATCH,
	     expected);
	given[0].address = x[0];
	OK(philox_function_call(function, &call));
	cr_assert_eq(call.kind, PHILOX_CALL_RECORD, "the bias may move");
	given[2].address = x[2];
	OK(philox_function_call(function, &call));
	cr_assert_eq(call.kind, PHILOX_CALL_REPLAY);
}

/* --- refusals ------------------------------------------------------------- */

static int refuses;

static enum philox_status refuse(struct layer *layer, struct philox_run *run)
{
	(void)layer;
	if (refuses && philox_run_kind(run) == PHILOX_CALL_RECORD)
		OK(philox_run_refuse(run, "a grid depends on data"));
	return PHILOX_OK;
}

static enum philox_status refuse_and_fail(struct layer *layer,
					  struct philox_run *run)
{
	refuse(layer, run);
	return philox_run_kind(run) == PHILOX_CALL_RECORD && refuses
		       ? PHILOX_ERROR_UNSUPPORTED
		       : PHILOX_OK;
}

/* Tried again after `retry` calls, and recorded once it is possible. */
static void is_tried_again(struct fixture *f, struct philox_runner *r,
			   const char *name,
			   enum philox_status (*hook)(struct layer *,
						      struct philox_run *))
{
	struct layer layer = make_layer(f, r, name);
	uint32_t *x = make_words(f, 3);

	refuses = 1;
	layer.hook = hook;
	make_with_policy(&layer, r, name, &(struct philox_policy){.retry = 3});
	log_texts(f);
	for (unsigned i = 0; i < 10; i++)
		SAME(call_forward(&layer, x, 0).saw, predict(0, name, 4 * i),
		     "%s, call %u", name, i);
	cr_assert_eq(counts_of(&layer).eager, 9);
	cr_assert_eq(counts_of(&layer).bodies, 1 + 9 + 3,
		     "calls 2, 6 and 10 were tried");
	cr_assert_eq(counts_of(&layer).missed_refused, 9);
	LOGGED("refused to be recorded: a grid depends on data");
	cr_assert_not_null(strstr(philox_function_reason(layer.function),
				  "a grid depends on data"));
	refuses = 0;
	for (unsigned i = 0; i < 3; i++)
		KIND(&layer, x, 0, PHILOX_CALL_EAGER);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	SAME(call_forward(&layer, x, 0).saw, predict(0, name, 60), "%s", name);
}

RUNNER_PROMISE(runner_policy, tries_a_body_that_refused_again)
{
	is_tried_again(f, r, "refuses", refuse);
	is_tried_again(f, r, "fails, too", refuse_and_fail);
}

/* What the caller left in the entry of a forward is not read. */
RUNNER_PROMISE(runner_policy, tries_again_whatever_uses_held_before)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	refuses = 1;
	layer.hook = refuse;
	make_with_policy(&layer, r, "layer",
			 &(struct philox_policy){.retry = 2});
	call = new_call(&layer, x, 0);
	for (unsigned i = 0; i < 12; i++) {
		if (i == 5)
			refuses = 0;
		OK(try_call(&layer, &call));
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * i), "call %u", i);
		release_outputs(&layer, &call);
	}
	cr_assert_eq(call.call.kind, PHILOX_CALL_REPLAY);
}

/* ... nor if that is a ticket of another function, which waits. */
RUNNER_PROMISE(runner_policy, does_not_read_the_tickets_of_forwards)
{
	struct layer waits = make_layer(f, r, "waits");
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	refuses = 1;
	waits.hook = refuse;
	make_function(&waits, r, "waits");
	make_function(&layer, r, "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	call_forward(&waits, x, 0);
	call = new_call(&layer, x, 0);
	call.use.ticket = call_forward(&waits, x, 0).ticket;
	OK(try_call(&layer, &call));
	cr_assert_eq(call.call.kind, PHILOX_CALL_RECORD);
	release_outputs(&layer, &call);
	refuses = 0;
}

/* The stream does not go on capturing if the device fails to end that. */
RUNNER_PROMISE(runner_policy, a_refusal_ends_the_capture_whatever_fails)
{
	struct layer layer = make_layer(f, r, "layer");
	enum philox_capture_status status;
	uint32_t *x = make_words(f, 3);

	refuses = 1;
	layer.hook = refuse;
	make_function(&layer, r, "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	f->injected = 1;
	OK(philox_device_fail(f->device, "capture_end", 1,
			      PHILOX_ERROR_DEVICE));
	SAME(call_forward(&layer, x, 0).saw, predict(0, "layer", 4), "eager");
	OK(philox_stream_capture_info(f->device, f->stream, &status, NULL));
	cr_assert_eq(status, PHILOX_CAPTURE_NONE);
	refuses = 0;
}

/* A recording whose launch failed keeps what its inputs were. */
RUNNER_PROMISE(runner_policy, a_recording_knows_its_inputs_before_it_is_played)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call call;
	uint32_t *x = make_words(f, 3);

	layer.backward = 1;
	make_with_policy(&layer, r, "layer",
			 &(struct philox_policy){.warmups = PHILOX_NEVER});
	call = new_call(&layer, x, 0);
	call.use.ticket.region_key = 1;
	call.use.ticket.serial = 1;
	FAILS(try_call(&layer, &call), PHILOX_ERROR_MISMATCH);
	call.x.bytes -= 4;
	FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
	NAMES("in earlier calls under this key");
}

/* A refused forward, so a refused backward: until it is recorded. */
RUNNER_PROMISE(runner_policy, does_not_record_backwards_of_what_refused)
{
	struct layer forth = make_layer(f, r, "layer"), back = forth;
	uint32_t *x = make_words(f, 3);

	refuses = 1;
	forth.hook = refuse;
	back.backward = 1;
	make_with_policy(&forth, r, "forth",
			 &(struct philox_policy){.retry = 2});
	make_function(&back, r, "back");
	for (unsigned i = 0; i < 14; i++) {
		struct forward made = call_forward(&forth, x, 0);
		struct layer_call call = new_call(&back, x, 0);

		call.use.ticket = made.ticket;
		OK(try_call(&back, &call));
		SAME(read_numbers(f, call.outputs[0].address), made.saw,
		     "step %u", i);
		release_outputs(&back, &call);
		if (i == 6) {
			cr_assert_eq(counts_of(&back).record, 0);
			cr_assert_eq(counts_of(&back).missed_refused, 6);
			cr_assert_str_eq(
				philox_function_reason(back.function),
				"its ticket is of function 'forth', which was "
				"not recorded: its body refused to be "
				"recorded: a grid depends on data");
			refuses = 0;
		}
	}
	cr_assert_geq(counts_of(&forth).replay, 3);
	cr_assert_geq(counts_of(&back).replay, 3);
}

RUNNER_PROMISE(runner_policy, may_fail_calls_that_refuse)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call = new_call(&layer, x, 0);

	refuses = 1;
	layer.hook = refuse;
	make_with_policy(
		&layer, r, "layer",
		&(struct philox_policy){.refused = PHILOX_REFUSED_ERROR});
	call_forward(&layer, x, 0);
	SAYS(try_call(&layer, &call), PHILOX_ERROR_UNSUPPORTED,
	     "function 'layer': its body refused to be recorded: a grid "
	     "depends on data");
	PENDING(layer.region, 1);
	KIND(&layer, x, 0, PHILOX_CALL_EAGER);
}

/* What a body refuses in an eager call holds for the calls after it. */
static enum philox_status refuse_eagerly(struct layer *layer,
					 struct philox_run *run)
{
	(void)layer;
	cr_assert_neq(philox_run_kind(run), PHILOX_CALL_RECORD);
	return philox_run_refuse(run, "host work");
}

RUNNER_PROMISE(runner_policy, believes_a_body_that_refuses_in_a_warm_up)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	layer.hook = refuse_eagerly;
	make_function(&layer, r, "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	for (int i = 0; i < 40; i++)
		KIND(&layer, x, 0, PHILOX_CALL_EAGER);
}

static enum philox_status again_twice(struct layer *layer,
				      struct philox_run *run)
{
	void *scratch;

	if (layer->bodies > 2)
		return PHILOX_OK;
	OK(philox_run_alloc(run, 512 * layer->bodies, 0, "tuning", &scratch));
	return philox_run_again(run);
}

RUNNER_PROMISE(runner_policy, gives_a_body_the_warm_ups_that_it_asks_for)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	layer.hook = again_twice;
	make_function(&layer, r, "layer");
	for (int i = 0; i < 3; i++)
		KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
}

static enum philox_status again_in_recording(struct layer *layer,
					     struct philox_run *run)
{
	(void)layer;
	if (philox_run_kind(run) == PHILOX_CALL_RECORD)
		FAILS(philox_run_again(run), PHILOX_ERROR_STATE);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_policy, warms_up_before_a_recording_only)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call = new_call(&layer, x, 0);

	layer.hook = again_in_recording;
	make_function(&layer, r, "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	FAILS(try_call(&layer, &call), PHILOX_ERROR_STATE);
}

/* Before its first pass nothing but philox knows of the capture. */
static enum philox_status save_in_recording(void *user, struct philox_run *run)
{
	struct fixture *f = user;
	char *text;

	if (philox_run_kind(run) == PHILOX_CALL_RECORD) {
		FAILS(philox_context_save_text(f->context, &text, NULL),
		      PHILOX_ERROR_BUSY);
		NAMES("a capture that philox began is under way");
	}
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_policy,
	       a_save_in_a_recording_is_refused_and_breaks_nothing)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_function *function;
	enum philox_call_kind kind = PHILOX_CALL_EAGER;

	options.name = "saves";
	options.body = save_in_recording;
	options.user = f;
	OK(philox_function_create(r, &options, &function));
	call.stream = f->stream;
	for (int i = 0; i < 5 && kind != PHILOX_CALL_REPLAY; i++) {
		OK(philox_function_call(function, &call));
		kind = call.kind;
	}
	cr_assert_eq(kind, PHILOX_CALL_REPLAY);
	OK(philox_function_destroy(function));
}

/* --- captures that break -------------------------------------------------- */

enum breakage { ALLOCATES, SYNCHRONIZES, FORKS, ENDS, BREAKAGES };

static enum breakage breakage;

static enum philox_status break_capture(struct layer *layer,
					struct philox_run *run)
{
	struct fixture *f = layer->f;
	philox_stream stream = philox_run_stream(run);
	philox_native_graph native;
	philox_event fork;
	void *memory;

	if (philox_run_kind(run) != PHILOX_CALL_RECORD)
		return PHILOX_OK;
	switch (breakage) {
	case ALLOCATES:
		f->injected = 1; /* the call is counted */
		return philox_memory_alloc(f->device, 64, &memory);
	case SYNCHRONIZES:
		return philox_stream_synchronize(f->device, stream);
	case FORKS: /* which is not joined */
		OK(philox_event_create(f->device, &fork));
		OK(philox_event_record(f->device, stream, fork));
		OK(philox_event_wait(f->device, f->side, fork));
		OK(philox_memory_set(f->device, f->side, f->scratch, 0, 4));
		return philox_event_destroy(f->device, fork);
	default: /* ends it itself */
		OK(philox_stream_end_capture(f->device, stream, &native));
		return philox_native_graph_destroy(f->device, native);
	}
}

static void breaks(struct fixture *f, struct philox_runner *r,
		   enum breakage how)
{
	char name[16];
	struct layer layer;
	uint32_t *x = make_words(f, 3);
	enum philox_capture_status status;

	snprintf(name, sizeof(name), "layer %d", how);
	layer = make_layer(f, r, name);
	layer.hook = break_capture;
	breakage = how;
	make_with_policy(&layer, r, name, &(struct philox_policy){.retry = 1});
	for (unsigned i = 0; i < 6; i++) {
		SAME(call_forward(&layer, x, 0).saw, predict(0, name, 4 * i),
		     "%s, call %u", name, i);
		OK(philox_stream_capture_info(f->device, f->stream, &status,
					      NULL));
		cr_assert_eq(status, PHILOX_CAPTURE_NONE);
		OK(philox_stream_capture_info(f->device, f->side, &status,
					      NULL));
		cr_assert_eq(status, PHILOX_CAPTURE_NONE);
	}
	cr_assert_eq(counts_of(&layer).eager, 5);
	cr_assert_gt(counts_of(&layer).bodies, 6);
	cr_assert_neq(*philox_function_reason(layer.function), '\0');
	layer.hook = NULL;
	for (unsigned i = 0; i < 3; i++)
		call_forward(&layer, x, 0);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
}

RUNNER_PROMISE(runner_policy, runs_a_body_whose_capture_broke)
{
	for (int how = 0; how < BREAKAGES; how++)
		breaks(f, r, (enum breakage)how);
}

RUNNER_PROMISE(runner_policy, says_what_broke_a_capture)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call = new_call(&layer, x, 0);

	layer.hook = break_capture;
	breakage = ALLOCATES;
	make_with_policy(
		&layer, r, "layer",
		&(struct philox_policy){.refused = PHILOX_REFUSED_ERROR});
	call_forward(&layer, x, 0);
	FAILS(try_call(&layer, &call), PHILOX_ERROR_CAPTURE_INVALIDATED);
	NAMES("still valid at philox_forward_begin() of region 'layer'");
}

/* --- bodies that change --------------------------------------------------- */

enum change { NO_CHANGE, OTHER_FLAGS, MORE_MEMORY, ONE_MORE, CHANGES };

static enum change change;

static enum philox_status changing_body(void *user, struct philox_run *run)
{
	struct layer *layer = user;
	struct philox_pass pass;
	struct philox_ticket ticket;
	void *memory;
	enum philox_status status = philox_run_alloc(
		run, change == MORE_MEMORY ? 1024 : 512, 0, "m", &memory);

	if (status == PHILOX_OK)
		status = philox_run_forward_begin(
			run, layer->region,
			change == OTHER_FLAGS ? PHILOX_PASS_INFERENCE : 0,
			&pass);
	if (status != PHILOX_OK)
		return status;
	OK(philox_pass_commit(&pass, 0, &ticket));
	if (change == ONE_MORE)
		return philox_run_alloc(run, 8, 0, "m", &memory);
	return PHILOX_OK;
}

static const char *const differences[CHANGES] = {
	NULL,
	"function 'changing': step 1 of its body is a forward of region "
	"'layer' with flags 0x1, but was a forward of region 'layer' with "
	"flags 0x0 in earlier calls under this key",
	"function 'changing': step 0 of its body is an allocation of 1024 "
	"bytes with alignment 0, but was an allocation of 512 bytes with "
	"alignment 0 in earlier calls under this key",
	"function 'changing': step 2 of its body is an allocation of 8 bytes "
	"with alignment 0, but was the end in earlier calls under this key"};

RUNNER_PROMISE(runner_policy, refuses_a_body_that_changes)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_call call = PHILOX_INIT(struct philox_call);
	uint32_t key = 0;

	options.name = "changing";
	options.body = changing_body;
	options.user = &layer;
	options.policy.warmups = 2;
	OK(philox_function_create(r, &options, &layer.function));
	call.stream = f->stream;
	call.passes = &use;
	call.n_passes = 1;
	call.key = &key;
	call.key_bytes = sizeof(key);
	change = NO_CHANGE;
	OK(philox_function_call(layer.function, &call));
	for (int recorded = 0; recorded < 2; recorded++) {
		for (int i = 1; i < CHANGES; i++) {
			change = (enum change)i;
			SAYS(philox_function_call(layer.function, &call),
			     PHILOX_ERROR_MISMATCH, differences[i]);
			PENDING(layer.region, 1 + (unsigned)recorded);
		}
		change = NO_CHANGE;
		OK(philox_function_call(layer.function, &call));
	}
	cr_assert_eq(call.kind, PHILOX_CALL_RECORD);
	key = 1;
	change = MORE_MEMORY;
	OK(philox_function_call(layer.function, &call));
}
