/*
 * tests/runner/calls/regressions.c - promises of philox/runner.h that were
 * found broken
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

#define TRY(call)                          \
	do {                               \
		enum philox_status tried_; \
                                           \
		tried_ = (call);           \
		if (tried_ != PHILOX_OK)   \
			return tried_;     \
	} while (0)

static void make_with(struct layer *layer, struct philox_runner *r,
		      const char *name, const struct philox_policy *policy)
{
	struct philox_function_desc options = layer_options(name, layer);

	options.policy = *policy;
	make_function_of(layer, r, &options);
}

/* --- handles in saved contexts -------------------------------------------- */

struct saved {
	struct philox_runner *runner;
	struct philox_output handles[2];
	unsigned released;
};

/* Releases what a backward has read, and ends the life of the handles. */
static void release_saved(void *user, philox_stream stream)
{
	struct saved *saved = user;

	for (int i = 0; i < 2; i++)
		OK(philox_output_release(saved->runner, stream,
					 &saved->handles[i]));
	memset(saved->handles, 0xff, sizeof(saved->handles));
	saved->released++;
}

/*
 * The handle of an input may be in the saved context of the ticket that the
 * call uses up: its release may be called within the call.
 */
RUNNER_PROMISE(runner_regressions,
	       a_saved_context_may_hold_the_handle_of_an_input)
{
	struct layer forth = make_layer(f, r, "layer"), back = forth;
	struct saved saved = {.runner = r};
	uint32_t *x = make_words(f, 3);

	back.backward = 1;
	make_function(&forth, r, "forward");
	make_function(&back, r, "backward");
	for (unsigned i = 0; i < 5; i++) {
		struct layer_call one = new_call(&forth, x, 0);
		struct layer_call other;

		OK(try_call(&forth, &one));
		memcpy(saved.handles, one.outputs, sizeof(saved.handles));
		OK(philox_ticket_attach(forth.region, one.use.ticket, &saved,
					release_saved));
		other = new_call(&back, saved.handles[0].address, 0);
		other.x.output = &saved.handles[0];
		other.use.ticket = one.use.ticket;
		OK(try_call(&back, &other));
		cr_assert_eq(saved.released, i + 1);
		release_outputs(&back, &other);
	}
	cr_assert_gt(counts_of(&back).replay, 1);
}

/* --- ties and other threads ----------------------------------------------- */

struct tying {
	struct fixture *f;
	struct philox_region *region;
	struct philox_ticket ticket;
	pthread_barrier_t turn;
	unsigned rounds, spin;
};

static void *use_tickets_up(void *user)
{
	struct tying *tying = user;

	for (unsigned i = 0; i < tying->rounds; i++) {
		pthread_barrier_wait(&tying->turn);
		for (volatile unsigned k = 0; k < (i * 7) % 997; k++)
			;
		OK(philox_ticket_release(tying->region, tying->f->side,
					 tying->ticket));
		pthread_barrier_wait(&tying->turn);
	}
	return NULL;
}

/* A ticket may be used up on another thread while an output is tied to it. */
RUNNER_PROMISE(runner_regressions, a_tie_may_meet_the_end_of_its_ticket)
{
	struct layer layer = make_layer(f, r, "layer");
	struct tying tying = {.f = f, .region = layer.region, .rounds = 20000};
	uint32_t *x = make_words(f, 3);
	pthread_t thread;

	make_function(&layer, r, "layer");
	pthread_barrier_init(&tying.turn, NULL, 2);
	pthread_create(&thread, NULL, use_tickets_up, &tying);
	for (unsigned i = 0; i < tying.rounds; i++) {
		struct layer_call call = new_call(&layer, x, 0);
		enum philox_status tied, check;

		OK(try_call(&layer, &call));
		tying.ticket = call.use.ticket;
		pthread_barrier_wait(&tying.turn);
		tied = philox_output_tie(r, &call.outputs[0], layer.region,
					 tying.ticket);
		pthread_barrier_wait(&tying.turn);
		check = philox_output_check(r, &call.outputs[0]);
		cr_assert_eq(check, tied == PHILOX_OK ? PHILOX_ERROR_STALE
						      : PHILOX_OK);
		for (int k = tied == PHILOX_OK; k < 2; k++)
			OK(philox_output_release(r, f->stream,
						 &call.outputs[k]));
	}
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&tying.turn);
}

/* --- captures of other threads -------------------------------------------- */

struct capturing {
	struct fixture *f;
	struct philox_region *region;
	struct philox_ticket ticket;
	pthread_barrier_t turn;
	enum philox_status ended;
};

/* Uses a ticket up on a stream that is capturing, which is legal. */
static void *capture_on_side(void *user)
{
	struct capturing *capturing = user;
	struct fixture *f = capturing->f;
	struct philox_graph *graph = NULL;

	OK(philox_capture_begin(f->context, f->side));
	OK(philox_ticket_release(capturing->region, f->side,
				 capturing->ticket));
	pthread_barrier_wait(&capturing->turn);
	pthread_barrier_wait(&capturing->turn);
	capturing->ended = philox_capture_end(f->context, f->side, &graph);
	philox_graph_destroy(graph);
	return NULL;
}

RUNNER_PROMISE(runner_regressions, a_tie_that_ends_in_a_capture_breaks_nothing)
{
	struct layer layer = make_layer(f, r, "layer");
	struct capturing capturing = {.f = f, .region = layer.region};
	struct layer_call call, next;
	uint32_t *x = make_words(f, 3);
	enum philox_status called;
	pthread_t thread;

	make_function(&layer, r, "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	call = new_call(&layer, x, 0);
	OK(try_call(&layer, &call));
	OK(philox_output_tie(r, &call.outputs[0], layer.region,
			     call.use.ticket));
	OK(philox_output_release(r, f->stream, &call.outputs[1]));
	capturing.ticket = call.use.ticket;
	pthread_barrier_init(&capturing.turn, NULL, 2);
	pthread_create(&thread, NULL, capture_on_side, &capturing);
	pthread_barrier_wait(&capturing.turn);
	next = new_call(&layer, x, 0);
	called = try_call(&layer, &next);
	pthread_barrier_wait(&capturing.turn);
	pthread_join(thread, NULL);
	cr_assert(!called && !capturing.ended,
		  "the call gave %s, the capture %s",
		  philox_status_name(called),
		  philox_status_name(capturing.ended));
	release_outputs(&layer, &next);
}

/* --- sessions that could not be ended ------------------------------------- */

static struct philox_device *failing;
static unsigned to_fail;

/* What is told of the first failure brings on the second one. */
static void fail_again(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	said_anything(); /* the call has failed */
	if (entry->level == PHILOX_LOG_ERROR && to_fail && to_fail--)
		OK(philox_device_fail(failing, "event_record", 1,
				      PHILOX_ERROR_DEVICE));
}

static enum philox_status fail_the_end(struct layer *layer,
				       struct philox_run *run)
{
	(void)run;
	return philox_device_fail(layer->f->device, "event_record", 1,
				  PHILOX_ERROR_DEVICE);
}

/* A device that has failed does not keep recordings from being replayed. */
RUNNER_PROMISE(runner_regressions, replays_go_on_after_a_session_failed_to_end)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call call;
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	f->injected = 1;
	failing = f->device;
	to_fail = 1;
	OK(philox_context_set_log(f->context, fail_again, NULL));
	layer.hook = fail_the_end;
	call = new_call(&layer, x, 1);
	FAILS(try_call(&layer, &call), PHILOX_ERROR_DEVICE);
	OK(philox_context_set_log(f->context, NULL, NULL));
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	layer.hook = NULL;
	call = new_call(&layer, x, 0);
	call.call.stream = f->side;
	OK(try_call(&layer, &call));
	release_outputs(&layer, &call);
}

/*
 * Calls on different streams wait for each other, also after a call whose end
 * could not be recorded; its stream lives.
 */
RUNNER_PROMISE(runner_regressions, streams_wait_for_each_other_after_a_failure)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call call;
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	for (unsigned i = 0; i < 3; i++) {
		KIND(&layer, x, 0, (enum philox_call_kind)(i + 2));
		f->injected = 1;
	}
	OK(philox_device_fail(f->device, "event_record", 1,
			      PHILOX_ERROR_DEVICE));
	call = new_call(&layer, x, 0);
	OK(try_call(&layer, &call));
	release_outputs(&layer, &call);
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	call = new_call(&layer, x, 0);
	call.call.stream = f->side;
	OK(try_call(&layer, &call));
	release_outputs(&layer, &call);
}

/* --- prepared calls ------------------------------------------------------- */

RUNNER_PROMISE(runner_regressions, prepared_counts_the_recordings_there_are)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call made[3];
	struct philox_call calls[3];
	uint32_t *x = make_words(f, 3);
	size_t prepared = 0;

	make_with(&layer, r, "layer", &(struct philox_policy){.keys = 1});
	for (unsigned i = 0; i < 3; i++) {
		made[i] = new_call(&layer, x, i);
		made[i].call.inputs = &made[i].x;
		made[i].call.n_outputs = 0;
		calls[i] = made[i].call;
	}
	OK(philox_function_prepare(layer.function, calls, 3, &prepared));
	cr_assert_eq(prepared, counts_of(&layer).recordings,
		     "%zu prepared, but there are %u recordings", prepared,
		     (unsigned)counts_of(&layer).recordings);
}

static enum philox_status refuse_always(struct layer *layer,
					struct philox_run *run)
{
	(void)layer;
	return philox_run_refuse(run, "not today");
}

RUNNER_PROMISE(runner_regressions,
	       prepare_does_not_record_what_was_refused_forever)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call made;
	uint32_t *x = make_words(f, 3);
	unsigned bodies;

	make_with(&layer, r, "layer",
		  &(struct philox_policy){.retry = PHILOX_NEVER});
	layer.hook = refuse_always;
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 0, PHILOX_CALL_EAGER);
	bodies = layer.bodies;
	made = new_call(&layer, x, 0);
	made.call.inputs = &made.x;
	made.call.n_outputs = 0;
	OK(philox_function_prepare(layer.function, &made.call, 1, NULL));
	cr_assert_eq(layer.bodies, bodies, "the body was captured");
}

/* --- dry warm-ups --------------------------------------------------------- */

static enum philox_status refuse_once(struct layer *layer,
				      struct philox_run *run)
{
	return layer->bodies == 1 ? philox_run_refuse(run, "not yet")
				  : PHILOX_OK;
}

RUNNER_PROMISE(runner_regressions, a_refusal_in_a_dry_warm_up_counts)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_with(&layer, r, "layer",
		  &(struct philox_policy){.dry = 1, .warmups = PHILOX_NEVER});
	layer.hook = refuse_once;
	KIND(&layer, x, 0, PHILOX_CALL_EAGER);
}

/* Two forwards of a generator that is shared, and a backward in the second. */
struct shared {
	struct fixture *f;
	struct philox_region *regions[2];
	int abort;
	struct philox_pass mine;
	int begin;
};

static struct philox_region *shared_region(struct fixture *f,
					   struct philox_generator *generator,
					   const char *name)
{
	static const struct philox_op_desc ops[] = {{"op", 1, 4}};
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);
	struct philox_region *region;

	options.name = name;
	options.generator = generator;
	options.flags = PHILOX_REGION_SHARED;
	options.pending = 8;
	options.ops = ops;
	options.n_ops = 1;
	OK(philox_region_create(f->context, &options, &region));
	return region;
}

static enum philox_status shared_body(void *user, struct philox_run *run)
{
	struct shared *shared = user;
	struct philox_ticket one, two;
	struct philox_pass first, second, back;

	TRY(philox_run_forward_begin(run, shared->regions[0], 0, &first));
	TRY(philox_pass_commit(&first, 0, &one));
	TRY(philox_run_forward_begin(run, shared->regions[1], 0, &second));
	TRY(philox_run_backward_begin(run, shared->regions[0], one, 0, &back));
	TRY(philox_pass_commit(&back, 0, NULL));
	return philox_pass_commit(&second, 0, &two);
}

static void begin_mine(void *user)
{
	struct shared *shared = user;

	OK(philox_forward_begin(shared->regions[0], shared->f->side, 0,
				&shared->mine));
}

static enum philox_status lone_body(void *user, struct philox_run *run)
{
	struct shared *shared = user;
	struct philox_ticket none = {0, 0};
	struct philox_pass back;

	TRY(philox_run_backward_begin(run, shared->regions[0], none, 0, &back));
	if (shared->abort) {
		OK(philox_pass_abort(&back));
		return PHILOX_ERROR_UNSUPPORTED;
	}
	TRY(philox_pass_commit(&back, 0, NULL));
	if (shared->begin)
		on_thread(begin_mine, shared);
	shared->begin = 0;
	return PHILOX_OK;
}

static void make_shared(struct fixture *f, struct shared *shared)
{
	struct philox_generator *generator;

	OK(philox_generator_create(f->context, 7, &generator));
	shared->f = f;
	shared->regions[0] = shared_region(f, generator, "one");
	shared->regions[1] = shared_region(f, generator, "two");
}

static struct philox_function *shared_function(
	struct philox_runner *r, struct shared *shared,
	enum philox_status (*body)(void *, struct philox_run *), uint32_t dry)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	options.name = "shared";
	options.body = body;
	options.user = shared;
	options.policy.dry = dry;
	OK(philox_function_create(r, &options, &function));
	return function;
}

RUNNER_PROMISE(runner_regressions,
	       a_dry_backward_begins_in_an_open_shared_forward)
{
	struct shared shared = {.abort = 0};
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	struct philox_function *function;

	make_shared(f, &shared);
	function = shared_function(r, &shared, shared_body, 1);
	call.stream = f->stream;
	call.passes = uses;
	call.n_passes = 2;
	OK(philox_function_call(function, &call));
}

RUNNER_PROMISE(runner_regressions, a_dry_backward_can_be_aborted)
{
	struct shared shared = {.abort = 1};
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_function *function;

	make_shared(f, &shared);
	function = shared_function(r, &shared, lone_body, 1);
	call.stream = f->stream;
	call.passes = &use;
	call.n_passes = 1;
	FAILS(philox_function_call(function, &call), PHILOX_ERROR_UNSUPPORTED);
}

RUNNER_PROMISE(runner_regressions, a_dry_backward_ends_no_other_forward)
{
	struct shared shared = {.begin = 1};
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_function *function;
	struct philox_pass pass;

	make_shared(f, &shared);
	function = shared_function(r, &shared, lone_body, 1);
	call.stream = f->stream;
	call.passes = &use;
	call.n_passes = 1;
	philox_function_call(function, &call); /* its ticket is none */
	FAILS(philox_forward_begin(shared.regions[1], f->side, 0, &pass),
	      PHILOX_ERROR_BUSY);
	OK(philox_pass_abort(&shared.mine));
}

/* --- backwards that are retained at their end ----------------------------- */

static enum philox_status retain_at_the_end(void *user, struct philox_run *run)
{
	struct shared *shared = user;
	struct philox_ticket ticket;
	struct philox_pass pass;

	TRY(philox_run_forward_begin(run, shared->regions[0], 0, &pass));
	TRY(philox_pass_commit(&pass, 0, &ticket));
	for (int i = 0; i < 2; i++) {
		TRY(philox_run_backward_begin(run, shared->regions[0], ticket,
					      0, &pass));
		TRY(philox_pass_commit(&pass, i ? 0 : PHILOX_PASS_RETAIN,
				       NULL));
	}
	return PHILOX_OK;
}

static void retain_in(struct fixture *f, struct philox_runner *r,
		      const char *name, uint32_t warmups)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct shared shared = {.f = f};
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_function *function;

	shared.regions[0] = make_region(f, name);
	options.name = name;
	options.body = retain_at_the_end;
	options.user = &shared;
	options.policy.warmups = warmups;
	OK(philox_function_create(r, &options, &function));
	call.stream = f->stream;
	call.passes = &use;
	call.n_passes = 1;
	OK(philox_function_call(function, &call));
	PENDING(shared.regions[0], 0);
}

/* What a recording may do, an eager call may, too. */
RUNNER_PROMISE(runner_regressions,
	       a_ticket_that_a_commit_retains_can_be_repeated)
{
	retain_in(f, r, "recorded", PHILOX_NEVER);
	retain_in(f, r, "eager", 1);
}

/* --- memory of an input that is handed on --------------------------------- */

struct passing {
	struct philox_runner *runner;
	const struct philox_output *handle; /* released by the body */
};

static enum philox_status hand_on(void *user, struct philox_run *run)
{
	struct passing *passing = user;
	size_t bytes;
	void *x;

	TRY(philox_run_input(run, 0, &x, &bytes));
	TRY(philox_run_output(run, 0, x, bytes));
	if (!passing->handle)
		return PHILOX_OK;
	return philox_output_release(passing->runner, philox_run_stream(run),
				     passing->handle);
}

RUNNER_PROMISE(runner_regressions, memory_stays_until_the_last_handle_of_it)
{
	static const struct philox_input_desc x = {.name = "x"};
	static const struct philox_output_desc y = {.name = "y"};
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call made = new_call(&layer, make_words(f, 3), 0);
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct passing passing = {.runner = r};
	struct philox_function *function;
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_call_input input = {.bytes = BYTES};
	struct philox_output out;

	make_function(&layer, r, "layer");
	options.name = "on";
	options.body = hand_on;
	options.user = &passing;
	options.inputs = &x;
	options.n_inputs = 1;
	options.outputs = &y;
	options.n_outputs = 1;
	OK(philox_function_create(r, &options, &function));
	OK(try_call(&layer, &made));
	passing.handle = &made.outputs[1];
	input.address = made.outputs[1].address;
	input.output = &made.outputs[1];
	call.stream = f->stream;
	call.inputs = &input;
	call.n_inputs = 1;
	call.outputs = &out;
	call.n_outputs = 1;
	OK(philox_function_call(function, &call));
	for (unsigned i = 0; i < 4; i++)
		call_forward(&layer, make_words(f, 9), 1);
	SAME(read_numbers(f, out.address), all_words(3), "it was overwritten");
}

/* --- streams -------------------------------------------------------------- */

static philox_stream released_on;

static void note_stream(void *saved, philox_stream stream)
{
	(void)saved;
	released_on = stream;
}

/* A call's work, and what it releases, is on the caller's stream. */
RUNNER_PROMISE(runner_regressions,
	       contexts_are_released_on_the_stream_of_the_call)
{
	struct layer forth = make_layer(f, r, "layer"), back = forth;
	uint32_t *x = make_words(f, 3);

	back.backward = 1;
	make_function(&forth, r, "forward");
	make_function(&back, r, "backward");
	for (unsigned i = 0; i < 4; i++) {
		struct forward made = call_forward(&forth, x, 0);
		struct layer_call call = new_call(&back, x, 0);

		OK(philox_ticket_attach(forth.region, made.ticket, &back,
					note_stream));
		released_on = f->stream;
		call.call.stream = NULL;
		call.use.ticket = made.ticket;
		OK(try_call(&back, &call));
		cr_assert_eq(released_on, NULL, "call %u", i);
		release_outputs(&back, &call);
	}
}

/* --- refusals ------------------------------------------------------------- */

/* As the header says of `retry`: in whatever kind of call the body refused. */
RUNNER_PROMISE(runner_regressions,
	       backwards_of_refused_warm_ups_are_not_recorded)
{
	struct layer forth = make_layer(f, r, "layer"), back = forth;
	struct layer_call call;
	struct forward made;
	uint32_t *x = make_words(f, 3);

	back.backward = 1;
	make_function(&forth, r, "forward");
	make_function(&back, r, "backward");
	made = call_forward(&forth, x, 0);
	call = new_call(&back, x, 0);
	call.use.ticket = made.ticket;
	OK(try_call(&back, &call)); /* warmed up */
	release_outputs(&back, &call);
	forth.hook = refuse_always;
	made = call_forward(&forth, x, 1); /* a warm-up that refuses */
	call = new_call(&back, x, 0);
	call.use.ticket = made.ticket;
	OK(try_call(&back, &call));
	cr_assert_eq(call.call.kind, PHILOX_CALL_EAGER, "kind %u",
		     (unsigned)call.call.kind);
	release_outputs(&back, &call);
}

/* A function's reason is that of a call which ran the body. */
RUNNER_PROMISE(runner_regressions,
	       the_reason_is_that_of_a_call_that_ran_the_body)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call call = new_call(&layer, make_words(f, 3), 0);

	make_function(&layer, r, "layer");
	call.call.inputs = &call.x;
	call.call.n_outputs = 0;
	OK(philox_function_prepare(layer.function, &call.call, 1, NULL));
	cr_assert_str_eq(philox_function_reason(layer.function), "");
}

/* --- calls that fail ------------------------------------------------------ */

RUNNER_PROMISE(runner_regressions, a_call_that_fails_drops_no_recording)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call call;
	uint32_t *x = make_words(f, 3);

	make_with(&layer, r, "layer", &(struct philox_policy){.keys = 1});
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	call = new_call(&layer, x, 1);
	call.call.n_passes = 0;
	FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
	cr_assert_eq(counts_of(&layer).recordings, 1,
		     "the recording of the other key is gone");
}

/* --- memory that goes back to the device ---------------------------------- */

enum { BIG = 16 << 20 };

static enum philox_status give_big(void *user, struct philox_run *run)
{
	void *y;

	(void)user;
	TRY(philox_run_alloc(run, BIG, 0, "y", &y));
	return philox_run_output(run, 0, y, BIG);
}

static struct philox_function *big_function(struct philox_runner *r,
					    const char *name)
{
	static const struct philox_output_desc y = {.name = "y"};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	options.name = name;
	options.body = give_big;
	options.outputs = &y;
	options.n_outputs = 1;
	OK(philox_function_create(r, &options, &function));
	return function;
}

/* Work of some 100 ms that reads an output in the end. */
static void read_late(struct fixture *f, const struct philox_output *output)
{
	struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);
	struct philox_ticket ticket;
	struct philox_pass pass;
	void *to = make_memory(f, BIG);

	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.span.count = 32 << 20;
	fill.out = make_memory(f, (size_t)128 << 20);
	OK(philox_forward_begin(make_region(f, "late"), f->side,
				PHILOX_PASS_INFERENCE, &pass));
	OK(philox_pass_fill(&pass, 0, 0, &fill));
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_memory_copy(f->device, f->side, to, output->address, BIG));
}

/*
 * What was put on the stream of a release is done with the memory before that
 * goes back to the device, since another pool needs it. Here it is read when it
 * is not mapped any more.
 */
Test(runner_regressions, memory_is_not_unmapped_under_work_before_its_release,
     .timeout = 120)
{
	struct fixture f;
	struct philox_runner *r;
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_function *function;
	struct philox_pool_block block;
	struct philox_output output;
	struct philox_pool *pool;
	enum philox_status early, given, late;

	fixture_open(&f, "host");
	r = make_runner_of(&f, "runner", PHILOX_POOL_EXPANDABLE);
	options.name = "other";
	OK(philox_pool_create(f.context, &options, &pool));
	function = big_function(r, "big");
	call.stream = f.stream;
	call.outputs = &output;
	call.n_outputs = 1;
	OK(philox_function_call(function, &call));
	OK(philox_stream_synchronize(f.device, f.stream));
	read_late(&f, &output);
	OK(philox_output_release(r, f.side, &output));
	OK(philox_function_destroy(function)); /* whose work is over */
	OK(philox_device_limit_memory(f.device, (size_t)168 << 20));
	f.injected = 1; /* allocations that fail are counted */
	early = philox_stream_query(f.device, f.side);
	given = philox_pool_alloc(pool, f.stream, BIG, 0, "b", &block);
	late = philox_stream_query(f.device, f.side);
	cr_assert(!(early && !given && late),
		  "the memory was given away while the stream was busy");
	fixture_close(&f);
}
