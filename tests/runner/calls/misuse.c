/*
 * tests/runner/calls/misuse.c - bodies that do what they must not, and what
 * they may do with outputs
 */
#include <stdio.h>
#include <string.h>
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- memory of the pool in another way ------------------------------------ */

enum way { TAKES, TAKES_AND_FREES, TAKES_NOTHING };

static enum way way;
static enum philox_call_kind when; /* NONE: always */

static enum philox_status take(struct layer *layer, struct philox_run *run)
{
	struct philox_pool *pool = philox_runner_pool(layer->runner);
	struct philox_pool_block block;
	enum philox_status status;

	if (way == TAKES_NOTHING || (when && philox_run_kind(run) != when))
		return PHILOX_OK;
	status = philox_pool_alloc(pool, philox_run_stream(run), 1000, 0,
				   "mine", &block);
	if (status == PHILOX_OK && way == TAKES_AND_FREES)
		status = philox_pool_free(pool, philox_run_stream(run),
					  block.address);
	return status;
}

/* The call fails, and leaves no block. */
static void takes_it(struct fixture *f, struct layer *layer, const void *x,
		     int prepare)
{
	struct layer_call call = new_call(layer, x, 0);
	size_t owed = pending(layer->region);

	call.use.ticket.serial = 6;
	if (prepare)
		FAILS(try_prepare(layer, &call, 1, NULL), PHILOX_ERROR_STATE);
	else
		FAILS(try_call(layer, &call), PHILOX_ERROR_STATE);
	NAMES(philox_function_name(layer->function));
	cr_assert_eq(call.use.ticket.serial, 6, "nothing is written");
	PENDING(layer->region, owed);
	LIVE(f, layer->runner, 0);
	OK(philox_stream_synchronize(f->device, f->stream));
}

static void in_each_kind(struct fixture *f, struct philox_runner *r,
			 const char *name)
{
	struct layer layer = make_layer(f, r, name);
	uint32_t *x = make_words(f, 3);
	enum way how = way;

	layer.hook = take;
	make_function_under(
		&layer, r, name,
		&(struct philox_policy){.refused = PHILOX_REFUSED_ERROR});
	when = PHILOX_CALL_NONE;
	takes_it(f, &layer, x, 0); /* in a warm-up */
	takes_it(f, &layer, x, 1); /* in a prepared recording */
	way = TAKES_NOTHING;
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	way = how;
	takes_it(f, &layer, x, 0); /* in a recording */
	way = TAKES_NOTHING;
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	way = how;
	takes_it(f, &layer, make_words(f, 4), 0); /* in a further one */
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
}

RUNNER_PROMISE(runner_misuse, of_the_pool_fails_the_call)
{
	way = TAKES;
	in_each_kind(f, r, "takes");
	way = TAKES_AND_FREES;
	in_each_kind(f, r, "and frees");
}

RUNNER_PROMISE(runner_misuse, of_the_pool_in_a_dry_warm_up_fails_the_call)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct ledger_view before = look(f, layer.region);

	layer.hook = take;
	way = TAKES;
	when = PHILOX_CALL_NONE;
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.dry = 1});
	takes_it(f, &layer, x, 0);
	cr_assert_eq(layer.bodies, 1);
	unchanged(f, layer.region, &before);
	way = TAKES_NOTHING;
	SAME(call_forward(&layer, x, 0).saw, before.next, "the next call");
}

/* --- two uses that name one ticket ---------------------------------------- */

struct twice {
	struct fixture *f;
	struct philox_region *region;
	enum philox_status linked; /* of the third begin */
	char message[512];
};

/* Two backwards that are named, and one that is linked to the first. */
static enum philox_status twice_body(void *user, struct philox_run *run)
{
	struct twice *twice = user;
	struct philox_ticket none = {0, 0}, first;
	struct philox_pass pass;

	OK(philox_run_backward_begin(run, twice->region, none,
				     PHILOX_PASS_RETAIN, &pass));
	OK(philox_pass_ticket(&pass, &first));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_run_backward_begin(run, twice->region, none,
				     PHILOX_PASS_RETAIN, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	twice->linked = philox_run_backward_begin(run, twice->region, first,
						  PHILOX_PASS_RETAIN, &pass);
	if (twice->linked != PHILOX_OK) {
		snprintf(twice->message, sizeof(twice->message), "%s",
			 philox_error_message());
		return PHILOX_OK; /* the call has failed all the same */
	}
	draw(&pass, twice->f->scratch);
	return philox_pass_commit(&pass, 0, NULL);
}

RUNNER_PROMISE(runner_misuse, of_one_ticket_for_two_uses_is_a_mismatch)
{
	struct twice twice = {.f = f, .region = make_region(f, "layer")};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct forward one = forward(f, twice.region);
	struct forward two = forward(f, twice.region);
	struct philox_launch_pass uses[2];
	struct philox_function *function;

	options.name = "twice";
	options.body = twice_body;
	options.user = &twice;
	options.policy.warmups = 2;
	OK(philox_function_create(r, &options, &function));
	call.stream = f->stream;
	call.passes = uses;
	call.n_passes = 2;
	for (int i = 0; i < 5; i++) {
		uses[0] = (struct philox_launch_pass){one.ticket,
						      PHILOX_PASS_RETAIN, 0};
		uses[1] = uses[0];
		if (i < 2) {
			FAILS(philox_function_call(function, &call),
			      PHILOX_ERROR_MISMATCH);
			cr_assert_eq(twice.linked, PHILOX_ERROR_MISMATCH);
			cr_assert_neq(twice.message[0], '\0');
			PENDING(twice.region, 2);
		}
		uses[1].ticket = two.ticket;
		OK(philox_function_call(function, &call));
		SAME(read_numbers(f, f->scratch), one.saw, "linked");
		PENDING(twice.region, 2);
	}
	cr_assert_eq(call.kind, PHILOX_CALL_REPLAY);
	backward(f, &one, 0);
	backward(f, &two, 0);
}

/* --- outputs within a call ------------------------------------------------ */

static struct layer_call *others; /* of earlier calls: they are good */
static struct forward owed;

static enum philox_status uses_outputs(struct layer *layer,
				       struct philox_run *run)
{
	struct philox_runner *r = layer->runner;
	struct philox_output *y = &others->outputs[0];
	philox_stream side = layer->f->side;
	void *data = r;

	OK(philox_output_check(r, y));
	OK(philox_output_set_data(r, y, layer));
	OK(philox_output_get_data(r, y, &data));
	cr_assert_eq(data, layer);
	OK(philox_output_tie(r, y, owed.region, owed.ticket));
	FAILS(philox_output_tie(r, y, owed.region, owed.ticket),
	      PHILOX_ERROR_EXISTS);
	if (philox_run_kind(run) == PHILOX_CALL_RECORD) {
		FAILS(philox_output_release(r, philox_run_stream(run),
					    &others->outputs[1]),
		      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
		OK(philox_output_check(r, &others->outputs[1]));
	}
	OK(philox_output_release(r, side, &others->outputs[1]));
	FAILS(philox_output_check(r, &others->outputs[1]), PHILOX_ERROR_STALE);
	OK(philox_output_check(r, y));
	OK(philox_ticket_release(owed.region, side, owed.ticket));
	FAILS(philox_output_check(r, y), PHILOX_ERROR_STALE);
	return PHILOX_OK;
}

/* In a dry warm-up, a warm-up, a recording and an eager call. */
RUNNER_PROMISE(runner_misuse, is_not_what_bodies_do_with_outputs)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer source = make_layer(f, r, "source");
	struct philox_function_desc options = layer_options("eager", &layer);
	uint32_t *x = make_words(f, 3);

	make_function(&source, r, "source");
	layer.hook = uses_outputs;
	make_function(&layer, r, "layer");
	options.flags = PHILOX_FUNCTION_EAGER;
	for (unsigned i = 0; i < 3; i++) {
		struct layer_call other = made_call(&source, x, 0), call;

		OK(philox_ticket_release(source.region, f->stream,
					 other.use.ticket));
		owed = forward(f, source.region);
		others = &other;
		if (i == 2)
			make_function_of(&layer, r, &options);
		OK(philox_stream_synchronize(f->device, f->stream));
		call = made_call(&layer, x, 0);
		OK(philox_device_synchronize(f->device));
		LIVE(f, r, 2);
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * i), "call %u", i);
		SAME(read_numbers(f, call.outputs[1].address), all_words(3),
		     "call %u", i);
		release_outputs(&layer, &call);
		kind_of_call(&source, x, 0);
	}
	LIVE(f, r, 0);
}

/* --- begins that lack something ------------------------------------------- */

enum { FORWARD_REGION, FORWARD_PASS, BACKWARD_REGION, BACKWARD_PASS, LACKS };

static int lacks;

/* That it failed is an error of the call, whatever the body returns. */
static enum philox_status begins_without(struct layer *layer,
					 struct philox_run *run)
{
	struct philox_ticket none = {0, 0};
	struct philox_pass pass;

	switch (lacks) {
	case FORWARD_REGION:
		FAILS(philox_run_forward_begin(run, NULL, 0, &pass),
		      PHILOX_ERROR_INVALID);
		break;
	case FORWARD_PASS:
		FAILS(philox_run_forward_begin(run, layer->region, 0, NULL),
		      PHILOX_ERROR_INVALID);
		break;
	case BACKWARD_REGION:
		FAILS(philox_run_backward_begin(run, NULL, none, 0, &pass),
		      PHILOX_ERROR_INVALID);
		break;
	case BACKWARD_PASS:
		FAILS(philox_run_backward_begin(run, layer->region, none, 0,
						NULL),
		      PHILOX_ERROR_INVALID);
		break;
	default:
		return PHILOX_OK;
	}
	NAMES(lacks == FORWARD_REGION || lacks == BACKWARD_REGION
		      ? "region is NULL"
		      : "pass is NULL");
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_misuse, of_a_begin_without_region_or_pass_is_named)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	layer.hook = begins_without;
	make_function(&layer, r, "layer");
	for (unsigned i = 0; i < 2; i++) { /* a warm-up, and a recording */
		for (lacks = FORWARD_REGION; lacks < LACKS; lacks++) {
			struct layer_call call = new_call(&layer, x, 0);

			FAILS(try_call(&layer, &call), PHILOX_ERROR_INVALID);
			NAMES("is NULL");
			PENDING(layer.region, 0);
			LIVE(f, r, 0);
		}
		kind_of_call(&layer, x, 0);
	}
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
}

/* --- run functions elsewhere ---------------------------------------------- */

static struct philox_run *run_of;
static struct layer *layer_of;
static struct outcome outcomes[8];

static void use_run(void *user)
{
	struct philox_ticket none = {0, 0};
	struct philox_pass pass;
	void *address = user;
	const void *value;

	outcomes[0] = outcome_of(philox_run_input(run_of, 0, &address, NULL));
	outcomes[1] =
		outcome_of(philox_run_alloc(run_of, 64, 0, "m", &address));
	outcomes[2] = outcome_of(philox_run_free(run_of, user));
	outcomes[3] = outcome_of(philox_run_output(run_of, 0, user, 4));
	outcomes[4] = outcome_of(
		philox_run_forward_begin(run_of, layer_of->region, 0, &pass));
	outcomes[5] = outcome_of(philox_run_backward_begin(
		run_of, layer_of->region, none, 0, &pass));
	outcomes[6] = outcome_of(philox_run_refuse(run_of, "elsewhere"));
	outcomes[7] = outcome_of(philox_run_again(run_of));
	if (philox_run_param(run_of, 0, &value) == PHILOX_OK)
		outcomes[0].status = PHILOX_OK;
}

static void all_refused(const char *where)
{
	for (int i = 0; i < 8; i++) {
		cr_assert_eq(outcomes[i].status, PHILOX_ERROR_STATE,
			     "%s: function %d gave %s (%s)", where, i,
			     philox_status_name(outcomes[i].status),
			     outcomes[i].message);
		cr_assert_neq(outcomes[i].message[0], '\0', "%s", where);
	}
}

static enum philox_status lends_its_run(struct layer *layer,
					struct philox_run *run)
{
	layer_of = layer;
	run_of = run;
	on_thread(use_run, layer->f->scratch);
	all_refused("on another thread");
	return PHILOX_OK;
}

/* Whether such a call fails, too, is the runner's: it changes nothing else. */
RUNNER_PROMISE(runner_misuse, of_a_run_on_another_thread_is_refused)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("eager", &layer);
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	options.flags = PHILOX_FUNCTION_EAGER;
	for (unsigned i = 0; i < 3; i++) {
		struct layer_call call = new_call(&layer, x, 0);
		struct ledger_view before;
		struct forward made;

		if (i == 2)
			make_function_of(&layer, r, &options);
		layer.hook = lends_its_run;
		if (try_call(&layer, &call) == PHILOX_OK) {
			release_outputs(&layer, &call);
			OK(philox_ticket_release(layer.region, f->stream,
						 call.use.ticket));
		}
		on_thread(use_run, f->scratch);
		all_refused("after the call");
		use_run(f->scratch);
		all_refused("after the call, on its thread");
		PENDING(layer.region, 0);
		LIVE(f, r, 0);
		layer.hook = NULL;
		before = look(f, layer.region);
		made = call_forward(&layer, x, 1 + i);
		SAME(made.saw, before.next, "call %u", i);
		OK(philox_ticket_release(layer.region, f->stream, made.ticket));
	}
}

/* --- the runner's pool --------------------------------------------------------- */

/* Calls that would change a runner's pool, and a checkpoint of it. */
static void refuses_all(struct fixture *f, struct philox_pool *pool,
			const struct philox_pool_checkpoint *checkpoint,
			void *address)
{
	static const char says[] =
		"pool 'runner' is that of a runner, which alone changes it";
	struct philox_pool_session *session = NULL;
	struct philox_pool_block block = {.id = 5};
	uint64_t trimmed = 5;

	FAILS(philox_pool_alloc(pool, f->stream, 64, 0, "mine", &block),
	      PHILOX_ERROR_STATE);
	NAMES(says);
	FAILS(philox_pool_free(pool, f->stream, address), PHILOX_ERROR_STATE);
	NAMES(says);
	OK(philox_pool_free(pool, f->stream, NULL));
	FAILS(philox_pool_reserve(pool, 1 << 20), PHILOX_ERROR_STATE);
	NAMES(says);
	FAILS(philox_pool_trim(pool, &trimmed), PHILOX_ERROR_STATE);
	NAMES(says);
	FAILS(philox_pool_restore(pool, checkpoint, NULL, 0, NULL, 0),
	      PHILOX_ERROR_STATE);
	NAMES(says);
	FAILS(philox_pool_session_begin(pool, f->stream, &session),
	      PHILOX_ERROR_STATE);
	NAMES(says);
	FAILS(philox_pool_destroy(pool), PHILOX_ERROR_STATE);
	NAMES(says);
	cr_assert(block.id == 5 && trimmed == 5 && !session);
}

RUNNER_PROMISE(runner_misuse, of_its_pool_is_refused_and_changes_nothing)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_pool *pool = philox_runner_pool(r);
	struct philox_pool_checkpoint *checkpoint;
	struct philox_pool_stats before, after;
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_function(&layer, r, "layer");
	OK(philox_pool_checkpoint_create(pool, &checkpoint));
	for (unsigned i = 0; i < 4; i++) {
		call = made_call(&layer, x, 0);
		before = pool_look(pool);
		refuses_all(f, pool, checkpoint, call.outputs[0].address);
		after = pool_look(pool);
		cr_assert(!memcmp(&before, &after, sizeof(before)), "call %u",
			  i);
		OK(philox_ticket_release(layer.region, f->stream,
					 call.use.ticket));
		release_outputs(&layer, &call);
	}
	OK(philox_pool_checkpoint_destroy(checkpoint));
	LIVE(f, r, 0);
}

/* --- the end of the context ---------------------------------------------------- */

static int ends_tried;

/* The body goes on as if it had not asked. */
static enum philox_status ends_context(struct layer *layer,
				       struct philox_run *run)
{
	(void)run;
	FAILS(philox_context_destroy(layer->f->context), PHILOX_ERROR_BUSY);
	NAMES("a call is in runner 'runner'");
	FAILS(philox_runner_destroy(layer->runner), PHILOX_ERROR_BUSY);
	ends_tried++;
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_misuse, of_a_body_does_not_end_the_context)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	ends_tried = 0;
	layer.hook = ends_context;
	make_function(&layer, r, "layer");
	for (unsigned i = 0; i < 4; i++) {
		struct layer_call call = made_call(&layer, x, 0);

		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * i), "call %u", i);
		OK(philox_ticket_release(layer.region, f->stream,
					 call.use.ticket));
		release_outputs(&layer, &call);
	}
	cr_assert_eq(ends_tried, 2, "a warm-up and a recording run the body");
	LIVE(f, r, 0);
}

/* --- passes that the run does not begin ---------------------------------------- */

/* Another context's region, whose numbers would not be repeated either. */
static struct philox_region *foreign;
static philox_stream foreign_stream;
static struct forward kept_forward;
static unsigned refusals;

static void refuses_plain(struct layer *layer, philox_stream stream)
{
	static const char says[] = "this thread is in a body of a runner";
	struct philox_ticket ticket = {5, 5};
	const struct philox_reserve_desc reserve = {.size = sizeof(reserve),
						    .regions = &layer->region,
						    .n_regions = 1,
						    .tickets = &ticket};
	struct philox_pass pass;

	FAILS(philox_forward_begin(layer->region, stream, 0, &pass),
	      PHILOX_ERROR_STATE);
	NAMES(says);
	FAILS(philox_forward_begin_loop(layer->region, stream, 0, 3, &pass),
	      PHILOX_ERROR_STATE);
	FAILS(philox_forward_begin(layer->region, stream, PHILOX_PASS_WARMUP,
				   &pass),
	      PHILOX_ERROR_STATE);
	FAILS(philox_backward_begin(layer->region, stream, kept_forward.ticket,
				    PHILOX_PASS_RETAIN, &pass),
	      PHILOX_ERROR_STATE);
	NAMES(says);
	FAILS(philox_pass_abort(&pass), PHILOX_ERROR_STATE);
	if (stream == layer->f->side) { /* which captures nothing */
		FAILS(philox_context_reserve(layer->f->context, stream,
					     &reserve),
		      PHILOX_ERROR_STATE);
		NAMES(says);
	}
	cr_assert_eq(ticket.serial, 5);
}

/* On the run's stream, on another one, and in another context. */
static enum philox_status begins_plainly(struct layer *layer,
					 struct philox_run *run)
{
	struct philox_pass pass;

	refuses_plain(layer, philox_run_stream(run));
	refuses_plain(layer, layer->f->side);
	FAILS(philox_forward_begin(foreign, foreign_stream, 0, &pass),
	      PHILOX_ERROR_STATE);
	NAMES("region 'foreign'");
	refusals++;
	return PHILOX_OK;
}

/* In a dry warm-up, a warm-up, a recording, an eager call and a verification. */
RUNNER_PROMISE(runner_misuse, of_a_pass_that_the_run_does_not_begin_is_refused)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("eager", &layer);
	uint32_t *x = make_words(f, 3);
	struct fixture other;

	fixture_open(&other, philox_device_name(f->device));
	foreign = make_region(&other, "foreign");
	foreign_stream = other.stream;
	kept_forward = forward(f, layer.region);
	refusals = 0;
	layer.hook = begins_plainly;
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.dry = 1, .verify = 1});
	for (unsigned i = 0; i < 5; i++) {
		struct forward made;

		if (i == 4) {
			options.flags = PHILOX_FUNCTION_EAGER;
			make_function_of(&layer, r, &options);
		}
		made = call_forward(&layer, x, 0);
		SAME(made.saw, predict(0, "layer", 4 * (i + 1)), "call %u", i);
		OK(philox_ticket_release(layer.region, f->stream, made.ticket));
	}
	cr_assert_eq(refusals, 1 + 5, "a body was not run");
	PENDING(layer.region, 1);
	PENDING(foreign, 0);
	SAME(forward(&other, foreign).saw, predict(0, "foreign", 0),
	     "the other context's first");
	backward(f, &kept_forward, 0);
	fixture_close(&other);
}
