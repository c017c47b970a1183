/*
 * tests/runner/outputs/tie_errors.c - ties that are refused, and tickets that
 * end on other streams and threads, in captures, and while the device fails
 */
#include <stdio.h>
#include "tests/support/beds/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- bad arguments -------------------------------------------------------- */

RUNNER_PROMISE(runner_tie_errors, name_a_handle_that_is_none)
{
	struct philox_runner *other = make_runner_of(f, "other", 0);
	struct duo duo;
	struct layer_call call, over;
	struct philox_output odd;
	struct philox_ticket ticket;

	make_duo(f, r, &duo);
	over = made_call(&duo.forth, duo.x, 0);
	release_outputs(&duo.forth, &over);
	call = made_call(&duo.forth, duo.x, 0);
	ticket = call.use.ticket;
	FAILS(philox_output_tie(NULL, &call.outputs[0], duo.forth.region,
				ticket),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_output_tie(r, NULL, duo.forth.region, ticket),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_output_tie(r, &call.outputs[0], NULL, ticket),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_output_tie(other, &call.outputs[0], duo.forth.region,
				ticket),
	      PHILOX_ERROR_INVALID);
	odd = call.outputs[0];
	odd.index = 1000;
	FAILS(philox_output_tie(r, &odd, duo.forth.region, ticket),
	      PHILOX_ERROR_INVALID);
	memset(&odd, 0, sizeof(odd));
	FAILS(philox_output_tie(r, &odd, duo.forth.region, ticket),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_output_tie(r, &over.outputs[0], duo.forth.region, ticket),
	      PHILOX_ERROR_STALE);
	NAMES("'y'");
	GOOD(r, &call);
	plain_backward(&duo.forth, ticket, f->stream, 0);
	GOOD(r, &call);
	release_outputs(&duo.forth, &call);
	OK(philox_runner_destroy(other));
}

RUNNER_PROMISE(runner_tie_errors, name_a_ticket_that_is_not_pending)
{
	struct philox_context *second;
	struct philox_region *other = make_region(f, "other"), *foreign;
	struct philox_ticket none = {0, 0}, later, used;
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct philox_output *y;
	struct layer_call call;
	struct philox_pass pass;

	make_function(&layer, r, "layer");
	OK(philox_context_create(f->device, &second));
	foreign = make_region_of(second, "layer", 0, NULL);
	used = call_forward(&layer, x, 0).ticket;
	plain_backward(&layer, used, f->stream, 0);
	for (unsigned i = 0; i < 3; i++) {
		call = made_call(&layer, x, 0);
		y = &call.outputs[0];
		FAILS(philox_output_tie(r, y, layer.region, used),
		      PHILOX_ERROR_RELEASED);
		NAMES("'layer'");
		later = call.use.ticket;
		later.serial += 100;
		FAILS(philox_output_tie(r, y, layer.region, later),
		      PHILOX_ERROR_RELEASED);
		FAILS_EITHER(philox_output_tie(r, y, layer.region, none),
			     PHILOX_ERROR_RELEASED, PHILOX_ERROR_MISMATCH);
		FAILS(philox_output_tie(r, y, other, call.use.ticket),
		      PHILOX_ERROR_MISMATCH);
		FAILS(philox_output_tie(r, y, foreign, call.use.ticket),
		      PHILOX_ERROR_MISMATCH);
		OK(philox_forward_begin(layer.region, f->stream, 0, &pass));
		OK(philox_pass_ticket(&pass, &later));
		FAILS(philox_output_tie(r, y, layer.region, later),
		      PHILOX_ERROR_STATE);
		OK(philox_pass_abort(&pass));
		FAILS(philox_output_tie(r, y, layer.region, later),
		      PHILOX_ERROR_RELEASED);
		/* nothing has changed: it is not tied, and can be */
		GOOD(r, &call);
		OK(philox_output_tie(r, y, layer.region, call.use.ticket));
		plain_backward(&layer, call.use.ticket, f->stream, 0);
		FAILS(philox_output_check(r, y), PHILOX_ERROR_STALE);
		OK(philox_output_release(r, f->stream, &call.outputs[1]));
	}
	philox_context_destroy(second);
}

RUNNER_PROMISE(runner_tie_errors, leave_the_first_tie_as_it_was)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 3; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0);
		struct forward second = forward(f, duo.forth.region);

		tie_outputs(&duo.forth, &call, duo.forth.region,
			    call.use.ticket);
		FAILS(philox_output_tie(r, &call.outputs[0], duo.forth.region,
					second.ticket),
		      PHILOX_ERROR_EXISTS);
		NAMES("'y'");
		FAILS(philox_output_tie(r, &call.outputs[0], duo.forth.region,
					call.use.ticket),
		      PHILOX_ERROR_EXISTS);
		backward(f, &second, 0);
		GOOD(r, &call);
		plain_backward(&duo.forth, call.use.ticket, f->stream, 0);
		OVER(r, &call);
	}
}

RUNNER_PROMISE(runner_tie_errors, name_a_region_that_was_destroyed)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_region *gone = make_region(f, "gone");
	struct forward made = forward(f, gone);
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_function(&layer, r, "layer");
	call = made_call(&layer, x, 0);
	OK(philox_region_destroy(gone));
	FAILS(philox_output_tie(r, &call.outputs[0], gone, made.ticket),
	      PHILOX_ERROR_STALE);
	GOOD(r, &call);
	release_outputs(&layer, &call);
}

/* --- other streams -------------------------------------------------------- */

/*
 * The stream that the ticket ends on reads the output late, and the next call
 * is on another one: it must not overwrite what is still to be read.
 */
static void is_read_late(struct fixture *f, struct philox_runner *r,
			 struct layer *layer, uint32_t *x, unsigned i)
{
	struct layer_call call = made_call(layer, x, 0), next;
	struct numbers got;
	philox_event ready;

	tie_outputs(layer, &call, layer->region, call.use.ticket);
	OK(philox_event_create(f->device, &ready));
	OK(philox_event_record(f->device, f->stream, ready));
	OK(philox_event_wait(f->device, f->side, ready));
	delay(f, f->side);
	OK(philox_memory_copy(f->device, f->side, &got, call.outputs[0].address,
			      BYTES));
	if (i % 2)
		plain_backward(layer, call.use.ticket, f->side, 0);
	else
		OK(philox_ticket_release(layer->region, f->side,
					 call.use.ticket));
	OVER(r, &call);
	next = made_call(layer, x, 0);
	OK(philox_device_synchronize(f->device));
	SAME(got, predict(0, "layer", 8 * i), "call %u: overwritten", i);
	SAME(read_numbers(f, next.outputs[0].address),
	     predict(0, "layer", 8 * i + 4), "call %u", i);
	release_outputs(layer, &next);
	OK(philox_ticket_release(layer->region, f->stream, next.use.ticket));
	OK(philox_event_destroy(f->device, ready));
}

SLOW_PROMISE(runner_tie_errors,
	     never_come_from_memory_that_a_stream_still_reads)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	for (unsigned i = 0; i < 6; i++)
		is_read_late(f, r, &layer, x, i);
	cr_assert_geq(counts_of(&layer).replay, 8);
}

/* A release on a capturing stream is legal, and breaks no capture. */
RUNNER_PROMISE(runner_tie_errors, do_not_come_of_tickets_that_end_in_captures)
{
	struct duo duo;
	uint32_t *array = make_array(f);

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 4; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0);
		struct philox_graph *graph;

		tie_outputs(&duo.forth, &call, duo.forth.region,
			    call.use.ticket);
		record_begin(f);
		captured_forward(f, duo.forth.region, PHILOX_PASS_INFERENCE,
				 array);
		OK(philox_ticket_release(duo.forth.region, f->stream,
					 call.use.ticket));
		graph = record_end(f);
		OVER(r, &call);
		call_forward(&duo.forth, duo.x, 0);
		OK(philox_device_synchronize(f->device));
		OK(philox_graph_destroy(graph));
	}
	LIVE(f, r, 0);
}

/* --- other threads -------------------------------------------------------- */

struct meddler {
	struct fixture *f;
	struct philox_runner *runner;
	struct layer_call *tied, *loose;
	struct philox_region *region;
	struct outcome ends, tie, release, check, set, get;
};

/* The ticket ends here; the runner itself is in use. */
static void meddle(void *user)
{
	struct meddler *m = user;
	struct philox_pass pass;
	void *data;
	enum philox_status status = philox_backward_begin(
		m->region, m->f->side, m->tied->use.ticket, 0, &pass);

	if (status == PHILOX_OK)
		status = philox_pass_commit(&pass, 0, NULL);
	m->ends = outcome_of(status);
	m->tie = outcome_of(philox_output_tie(m->runner, &m->loose->outputs[0],
					      m->region, m->loose->use.ticket));
	m->release = outcome_of(philox_output_release(m->runner, m->f->side,
						      &m->loose->outputs[0]));
	m->check = outcome_of(
		philox_output_check(m->runner, &m->loose->outputs[0]));
	m->set = outcome_of(
		philox_output_set_data(m->runner, &m->loose->outputs[0], m));
	m->get = outcome_of(philox_output_get_data(
		m->runner, &m->loose->outputs[0], &data));
}

static struct meddler *meddler;

static enum philox_status while_others_meddle(struct layer *layer,
					      struct philox_run *run)
{
	(void)layer;
	(void)run;
	on_thread(meddle, meddler);
	return PHILOX_OK;
}

/* In each kind of call that runs the body. */
RUNNER_PROMISE(runner_tie_errors, of_threads_do_not_keep_a_ticket_from_ending)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer busy = make_layer(f, r, "busy");
	struct philox_function_desc options = layer_options("eager", &busy);
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	make_function(&busy, r, "busy");
	options.flags = PHILOX_FUNCTION_EAGER;
	busy.hook = while_others_meddle;
	for (unsigned i = 0; i < 3; i++) {
		struct layer_call tied = made_call(&layer, x, 0);
		struct layer_call loose = made_call(&layer, x, 0), call;
		struct meddler m = {f,   r,   &tied, &loose, layer.region, {0},
				    {0}, {0}, {0},   {0},    {0}};
		void *data = &m;

		if (i == 2)
			make_function_of(&busy, r, &options);
		tie_outputs(&layer, &tied, layer.region, tied.use.ticket);
		meddler = &m;
		call = made_call(&busy, x, 0);
		release_outputs(&busy, &call);
		cr_assert_eq(m.ends.status, PHILOX_OK, "%s", m.ends.message);
		GAVE(m.tie, PHILOX_ERROR_BUSY);
		GAVE(m.release, PHILOX_ERROR_BUSY);
		GAVE(m.check, PHILOX_ERROR_BUSY);
		GAVE(m.set, PHILOX_ERROR_BUSY);
		GAVE(m.get, PHILOX_ERROR_BUSY);
		OVER(r, &tied);
		GOOD(r, &loose);
		OK(philox_output_get_data(r, &loose.outputs[0], &data));
		cr_assert_null(data, "nothing was changed");
		plain_backward(&layer, loose.use.ticket, f->stream, 0);
		GOOD(r, &loose);
		release_outputs(&layer, &loose);
		OK(philox_device_synchronize(f->device));
		call_forward(&layer, x, 0);
	}
	LIVE(f, r, 0);
}

/* --- a device that fails -------------------------------------------------- */

enum { BY_CALL, BY_RELEASE, BY_LAUNCH, WAYS };

static enum philox_status end_by(struct duo *duo, int way,
				 struct layer_call *after,
				 struct philox_graph *graph)
{
	struct philox_launch_pass use = {after->use.ticket, 0, 0};

	switch (way) {
	case BY_CALL:
		return try_call(&duo->back, after);
	case BY_LAUNCH:
		return philox_graph_launch(graph, duo->forth.f->side, &use, 1);
	default:
		return philox_ticket_release(duo->forth.region,
					     duo->forth.f->side,
					     after->use.ticket);
	}
}

/* The n-th device call of the end of a ticket fails; 0: there are fewer. */
static int fail_at(struct fixture *f, struct duo *duo, int way,
		   struct philox_graph *graph, uint64_t n)
{
	struct layer_call call = made_call(&duo->forth, duo->x, 0);
	struct layer_call after = new_call(&duo->back, duo->x, 0);
	struct numbers saw = read_numbers(f, call.outputs[0].address);
	uint64_t calls = philox_device_call_count(f->device, NULL);
	enum philox_status status;

	tie_outputs(&duo->forth, &call, duo->forth.region, call.use.ticket);
	after.use.ticket = call.use.ticket;
	OK(philox_device_fail(f->device, NULL, n, PHILOX_ERROR_DEVICE));
	status = end_by(duo, way, &after, graph);
	calls = philox_device_call_count(f->device, NULL) - calls;
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	OK(philox_device_synchronize(f->device));
	if (status == PHILOX_OK) {
		OVER(duo->forth.runner, &call);
		if (way == BY_CALL)
			release_outputs(&duo->back, &after);
	} else {
		GOOD(duo->forth.runner, &call);
		SAME(read_numbers(f, call.outputs[0].address), saw, "kept");
		plain_backward(&duo->forth, call.use.ticket, f->stream, 0);
		OVER(duo->forth.runner, &call);
	}
	kind_of_call(&duo->forth, duo->x, 0);
	OK(philox_device_synchronize(f->device));
	return status != PHILOX_OK || n <= calls;
}

RUNNER_PROMISE(runner_tie_errors, of_the_device_release_once_or_not_at_all)
{
	struct philox_graph *graph;
	struct duo duo;

	f->injected = 1;
	make_duo(f, r, &duo);
	for (int k = 0; k < 3; k++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0);
		struct layer_call after = made_backward(&duo.back, &call, 0);

		release_outputs(&duo.forth, &call);
		release_outputs(&duo.back, &after);
	}
	graph = record_backward(f, duo.forth.region, f->scratch);
	for (int way = 0; way < WAYS; way++) {
		uint64_t n = 1;

		while (fail_at(f, &duo, way, graph, n)) {
			cr_assert_lt(n, 200);
			n++;
		}
	}
	for (int i = 0; i < 4; i++)
		KIND(&duo.forth, duo.x, 0, PHILOX_CALL_REPLAY);
	LIVE(f, r, 0);
}
