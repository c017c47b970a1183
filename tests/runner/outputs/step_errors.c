/*
 * tests/runner/outputs/step_errors.c - steps that are refused, on other streams
 * and threads, and while the device fails
 */
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

RUNNER_PROMISE(runner_step_errors, name_what_is_wrong_and_change_nothing)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3), *array = make_array(f);

	make_function(&layer, r, "layer");
	for (unsigned i = 0; i < 4; i++) {
		struct layer_call call = made_call(&layer, x, 0);
		struct philox_graph *graph;
		size_t kept = 77;

		OK(philox_ticket_release(layer.region, f->stream,
					 call.use.ticket));
		FAILS(philox_runner_step_begin(r, f->stream, 2, &kept),
		      PHILOX_ERROR_INVALID);
		NAMES("flags");
		FAILS(philox_runner_step_begin(
			      r, f->stream, PHILOX_STEP_RELEASE_ALL | 8, NULL),
		      PHILOX_ERROR_INVALID);
		FAILS(philox_runner_step_begin(NULL, f->stream, 0, &kept),
		      PHILOX_ERROR_INVALID);
		record_begin(f);
		captured_forward(f, layer.region, PHILOX_PASS_INFERENCE, array);
		FAILS(philox_runner_step_begin(r, f->stream, 0, &kept),
		      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
		graph = record_end(f);
		OK(philox_graph_destroy(graph));
		cr_assert_eq(kept, 77);
		GOOD(r, &call);
		OK(philox_runner_step_begin(r, f->stream, 0, &kept));
		cr_assert_eq(kept, 0);
		OVER(r, &call);
	}
}

/* --- who may begin one ---------------------------------------------------- */

struct beginner {
	struct philox_runner *runner;
	philox_stream stream;
	struct outcome outcome;
};

static struct beginner beginner;

static void begin_step(void *user)
{
	(void)user;
	beginner.outcome = outcome_of(
		philox_runner_step_begin(beginner.runner, beginner.stream,
					 PHILOX_STEP_RELEASE_ALL, NULL));
}

static enum philox_status step_within(struct layer *layer,
				      struct philox_run *run)
{
	(void)run;
	FAILS(philox_runner_step_begin(layer->runner, layer->f->side, 0, NULL),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_runner_step_begin(layer->runner, layer->f->side,
				       PHILOX_STEP_RELEASE_ALL, NULL),
	      PHILOX_ERROR_BUSY);
	on_thread(begin_step, NULL);
	GAVE(beginner.outcome, PHILOX_ERROR_BUSY);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_step_errors, come_of_steps_within_calls)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer busy = make_layer(f, r, "busy");
	uint32_t *x = make_words(f, 3);
	struct layer_call kept, call;

	make_function(&layer, r, "layer");
	make_function(&busy, r, "busy");
	busy.hook = step_within;
	beginner = (struct beginner){.runner = r, .stream = f->side};
	kept = made_call(&layer, x, 0);
	OK(philox_ticket_release(layer.region, f->stream, kept.use.ticket));
	for (unsigned i = 0; i < 3; i++) {
		call = made_call(&busy, x, 0);
		OK(philox_ticket_release(busy.region, f->stream,
					 call.use.ticket));
		GOOD(r, &kept);
		GOOD(r, &call);
		release_outputs(&busy, &call);
	}
	on_thread(begin_step, NULL); /* nobody is in it now */
	cr_assert_eq(beginner.outcome.status, PHILOX_OK);
	OVER(r, &kept);
}

/* The ticket ends on another thread, within a call or not. */
struct ender {
	struct layer *layer;
	struct philox_ticket ticket;
	struct outcome outcome;
};

static struct ender ender;

static void end_it(void *user)
{
	(void)user;
	ender.outcome = outcome_of(philox_ticket_release(
		ender.layer->region, ender.layer->f->side, ender.ticket));
}

static enum philox_status end_within(struct layer *layer,
				     struct philox_run *run)
{
	(void)layer;
	(void)run;
	on_thread(end_it, NULL);
	cr_assert_eq(ender.outcome.status, PHILOX_OK);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_step_errors, do_not_come_of_tickets_that_end_elsewhere)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer busy = make_layer(f, r, "busy");
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	make_function(&busy, r, "busy");
	busy.hook = end_within;
	for (unsigned i = 0; i < 2; i++) {
		struct layer_call owed = made_call(&layer, x, 0), call;
		size_t kept = 0;

		ender = (struct ender){&layer, owed.use.ticket, {0}};
		OK(philox_runner_step_begin(r, f->stream, 0, &kept));
		cr_assert_eq(kept, 2);
		call = made_call(&busy, x, 0);
		OK(philox_ticket_release(busy.region, f->stream,
					 call.use.ticket));
		OK(philox_runner_step_begin(r, f->stream, 0, &kept));
		cr_assert_eq(kept, 0);
		OVER(r, &owed);
		OVER(r, &call);
	}
}

/* --- streams -------------------------------------------------------------- */

/* What the step's stream reads late is not overwritten by the next call. */
SLOW_PROMISE(runner_step_errors, never_come_from_memory_that_is_still_read)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	philox_event ready;

	make_function(&layer, r, "layer");
	OK(philox_event_create(f->device, &ready));
	for (unsigned i = 0; i < 6; i++) {
		struct layer_call call = made_call(&layer, x, 0);
		struct numbers got;

		OK(philox_ticket_release(layer.region, f->stream,
					 call.use.ticket));
		OK(philox_event_record(f->device, f->stream, ready));
		OK(philox_event_wait(f->device, f->side, ready));
		delay(f, f->side);
		OK(philox_memory_copy(f->device, f->side, &got,
				      call.outputs[0].address, BYTES));
		OK(philox_runner_step_begin(r, f->side, 0, NULL));
		kind_of_call(&layer, x, 0);
		OK(philox_device_synchronize(f->device));
		SAME(got, predict(0, "layer", 8 * i), "step %u", i);
	}
	cr_assert_geq(counts_of(&layer).replay, 8);
	OK(philox_event_destroy(f->device, ready));
}

/* The legacy stream will do. */
RUNNER_PROMISE(runner_step_errors, do_not_come_of_the_legacy_stream)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	for (unsigned i = 0; i < 5; i++) {
		struct layer_call call = made_call(&layer, x, 0);

		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * i), "step %u", i);
		OK(philox_ticket_release(layer.region, NULL, call.use.ticket));
		OK(philox_runner_step_begin(r, NULL, 0, NULL));
		OVER(r, &call);
	}
	cr_assert_eq(counts_of(&layer).missed_live, 0);
}

/* --- a device that fails -------------------------------------------------- */

/* Outputs of two calls, of which one owes its backward, on two streams. */
static int fail_at(struct fixture *f, struct philox_runner *r,
		   struct layer *layer, uint32_t *x, uint64_t n)
{
	struct layer_call owed = made_call(layer, x, 0);
	struct layer_call done = made_call(layer, x, 0);
	struct numbers saw = read_numbers(f, done.outputs[0].address);
	uint64_t calls = philox_device_call_count(f->device, NULL);
	size_t kept = 77;
	enum philox_status status;

	OK(philox_ticket_release(layer->region, f->stream, done.use.ticket));
	calls = philox_device_call_count(f->device, NULL);
	OK(philox_device_fail(f->device, NULL, n, PHILOX_ERROR_DEVICE));
	status = philox_runner_step_begin(r, f->side, 0, &kept);
	calls = philox_device_call_count(f->device, NULL) - calls;
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	GOOD(r, &owed);
	if (status != PHILOX_OK) {
		cr_assert_eq(kept, 77);
		GOOD(r, &done);
		SAME(read_numbers(f, done.outputs[0].address), saw, "kept");
		OK(philox_runner_step_begin(r, f->side, 0, &kept));
	}
	cr_assert_eq(kept, 2);
	OVER(r, &done);
	OK(philox_ticket_release(layer->region, f->side, owed.use.ticket));
	OK(philox_runner_step_begin(r, f->side, 0, &kept));
	cr_assert_eq(kept, 0);
	OVER(r, &owed);
	kind_of_call(layer, x, 0);
	return status != PHILOX_OK || n <= calls;
}

RUNNER_PROMISE(runner_step_errors, of_the_device_change_nothing)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	uint64_t n = 1;

	f->injected = 1;
	make_function(&layer, r, "layer");
	for (int i = 0; i < 3; i++)
		kind_of_call(&layer, x, 0);
	while (fail_at(f, r, &layer, x, n)) {
		cr_assert_lt(n, 200);
		n++;
	}
	cr_assert_gt(n, 1, "no call to the device");
	LIVE(f, r, 0);
}
