/*
 * tests/runner/outputs/tie_threads.c - tickets that end on one thread, with
 * outputs of a runner that another thread is in
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "tests/support/beds/runner_scene.h"

enum { CALLS = 300, IN_FLIGHT = 16 };

/* One thread makes outputs and ties them, the other one ends their tickets. */
struct exchange {
	struct layer forth;
	struct layer back; /* of another runner; its function is NULL: passes */
	uint32_t *x, *x_back;
	struct layer_call calls[CALLS];
	atomic_uint made, ended;
	atomic_uint wrong;
};

static void *end_tickets(void *user)
{
	struct exchange *e = user;

	for (unsigned i = 0; i < CALLS; i++) {
		struct philox_ticket ticket;
		enum philox_status status;

		while (atomic_load(&e->made) <= i)
			sched_yield();
		ticket = e->calls[i].use.ticket;
		if (e->back.function) {
			struct layer_call call =
				new_call(&e->back, e->x_back, 0);

			call.call.stream = e->forth.f->side;
			call.call.n_outputs = 0;
			call.use.ticket = ticket;
			status = try_call(&e->back, &call);
		} else
			status = philox_ticket_release(
				e->forth.region, e->forth.f->side, ticket);
		if (status != PHILOX_OK)
			atomic_fetch_add(&e->wrong, 1);
		atomic_store(&e->ended, i + 1);
	}
	return NULL;
}

static void make_outputs(struct exchange *e)
{
	for (unsigned i = 0; i < CALLS; i++) {
		struct layer_call *call = &e->calls[i];

		while (i >= atomic_load(&e->ended) + IN_FLIGHT)
			sched_yield();
		*call = new_call(&e->forth, e->x, 0);
		OK(try_call(&e->forth, call));
		tie_outputs(&e->forth, call, e->forth.region, call->use.ticket);
		atomic_store(&e->made, i + 1);
	}
}

static void exchange(struct exchange *e)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, end_tickets, e), 0);
	make_outputs(e);
	pthread_join(thread, NULL);
	OK(philox_device_synchronize(e->forth.f->device));
	cr_assert_eq(atomic_load(&e->wrong), 0);
	for (unsigned i = 0; i < CALLS; i++)
		OVER(e->forth.runner, &e->calls[i]);
	LIVE(e->forth.f, e->forth.runner, 0);
	for (unsigned i = 0; i < 3; i++)
		kind_of_call(&e->forth, e->x, 0);
	KIND(&e->forth, e->x, 0, PHILOX_CALL_REPLAY);
}

RUNNER_PROMISE(runner_tie_threads, end_by_releases)
{
	static struct exchange e;

	memset(&e, 0, sizeof(e));
	e.forth = make_layer(f, r, "layer");
	e.x = make_words(f, 3);
	make_function(&e.forth, r, "forth");
	exchange(&e);
}

RUNNER_PROMISE(runner_tie_threads, end_by_calls_of_another_runner)
{
	static struct exchange e;
	struct philox_runner *other = make_runner_of(f, "other", 0);

	memset(&e, 0, sizeof(e));
	e.forth = make_layer(f, r, "layer");
	e.back = e.forth;
	e.back.backward = 1;
	e.x = make_words(f, 3);
	e.x_back = make_words(f, 4);
	make_function(&e.forth, r, "forth");
	make_function(&e.back, other, "back");
	exchange(&e);
	cr_assert_geq(counts_of(&e.back).replay, CALLS - 3);
	OK(philox_runner_destroy(other));
}

/* --- and on streams that are late ----------------------------------------- */

struct reader {
	struct layer *layer;
	const struct layer_call *tied;
	philox_event ready;
	struct numbers got;
};

static struct reader reader;

/* The tied output is read late on the stream that its ticket ends on. */
static void read_and_end(void *user)
{
	struct reader *late = user;
	struct fixture *f = late->layer->f;

	philox_event_wait(f->device, f->side, late->ready);
	delay(f, f->side);
	philox_memory_copy(f->device, f->side, &late->got,
			   late->tied->outputs[0].address, sizeof(late->got));
	philox_ticket_release(late->layer->region, f->side,
			      late->tied->use.ticket);
}

static enum philox_status read_elsewhere(struct layer *layer,
					 struct philox_run *run)
{
	(void)layer;
	(void)run;
	on_thread(read_and_end, &reader);
	return PHILOX_OK;
}

SLOW_PROMISE(runner_tie_threads, leave_what_another_thread_s_stream_still_reads)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer busy = make_layer(f, r, "busy");
	struct philox_function_desc options = layer_options("busy", &busy);
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	options.flags = PHILOX_FUNCTION_EAGER;
	busy.hook = read_elsewhere;
	make_function_of(&busy, r, &options);
	OK(philox_event_create(f->device, &reader.ready));
	for (unsigned i = 0; i < 5; i++) {
		struct layer_call tied = made_call(&layer, x, 0);

		tie_outputs(&layer, &tied, layer.region, tied.use.ticket);
		OK(philox_event_record(f->device, f->stream, reader.ready));
		reader.layer = &layer;
		reader.tied = &tied;
		kind_of_call(&busy, x, 0);
		OVER(r, &tied);
		kind_of_call(&layer, x, 0);
		OK(philox_device_synchronize(f->device));
		SAME(reader.got, predict(0, "layer", 8 * i), "call %u", i);
	}
	cr_assert_geq(counts_of(&layer).replay, 6);
	OK(philox_event_destroy(f->device, reader.ready));
}
