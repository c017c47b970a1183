/*
 * tests/runner/outputs/releases.c - functions that release a ticket's saved
 * context, within calls of a runner: what they may do with its outputs
 */
#include "tests/support/beds/runner_scene.h"

struct saved {
	struct layer *layer;
	struct layer_call call;
	unsigned released;
};

static void release_saved(void *user, philox_stream stream)
{
	struct saved *saved = user;
	struct philox_runner *r = saved->layer->runner;
	void *data;

	said_anything();
	OK(philox_output_check(r, &saved->call.outputs[0]));
	OK(philox_output_set_data(r, &saved->call.outputs[0], saved));
	OK(philox_output_get_data(r, &saved->call.outputs[0], &data));
	for (int i = 0; i < 2; i++) {
		struct philox_output *output = &saved->call.outputs[i];

		if (philox_output_release(r, stream, output) ==
		    PHILOX_ERROR_DEVICE) /* injected: it is as it was */
			OK(philox_output_release(r, stream, output));
		FAILS(philox_output_check(r, output), PHILOX_ERROR_STALE);
	}
	saved->released++;
	said_anything();
}

/* The ticket of a body that fails is released; its context is released in the
 * call that fails. */
static struct saved *attached;

static enum philox_status fails_attached(void *user, struct philox_run *run)
{
	struct layer *layer = user;
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_run_forward_begin(run, layer->region, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	if (attached && philox_run_kind(run) == PHILOX_CALL_EAGER)
		OK(philox_ticket_attach(layer->region, ticket, attached,
					release_saved));
	return layer->returns;
}

RUNNER_PROMISE(runner_releases, may_come_within_a_call_that_fails)
{
	struct layer source = make_layer(f, r, "source");
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	uint32_t *x = make_words(f, 3);

	make_function(&source, r, "source");
	options.name = "fails";
	options.body = fails_attached;
	options.user = &layer;
	options.flags = PHILOX_FUNCTION_EAGER;
	make_function_of(&layer, r, &options);
	for (int i = 0; i < 4; i++) {
		struct saved saved = {.layer = &source,
				      .call = made_call(&source, x, 0)};
		struct layer_call call = new_call(&layer, x, 0);

		attached = &saved;
		layer.returns = PHILOX_ERROR_LIMIT;
		call.call.n_inputs = 0;
		call.call.n_outputs = 0;
		FAILS(try_call(&layer, &call), PHILOX_ERROR_LIMIT);
		cr_assert_eq(saved.released, 1);
		OVER(r, &saved.call);
		PENDING(layer.region, 0);
		plain_backward(&source, saved.call.use.ticket, f->stream, 0);
	}
	attached = NULL;
	cr_assert_eq(counts_of(&source).replay, 2);
}

/* A launch that fails leaves the ticket, its context and its ties; one that
 * succeeds releases them once. The n-th device call fails; 0: there are fewer.
 *  */
static int launch_fails_at(struct fixture *f, struct duo *duo, uint64_t n)
{
	struct saved saved = {.layer = &duo->forth,
			      .call = made_call(&duo->forth, duo->x, 0)};
	struct layer_call other = made_call(&duo->forth, duo->x, 0);
	struct philox_ticket ticket = saved.call.use.ticket;
	struct layer_call after = new_call(&duo->back, duo->x, 0);
	uint64_t calls = philox_device_call_count(f->device, NULL);
	enum philox_status status;

	OK(philox_ticket_attach(duo->forth.region, ticket, &saved,
				release_saved));
	tie_outputs(&duo->forth, &other, duo->forth.region, ticket);
	after.use.ticket = ticket;
	OK(philox_device_fail(f->device, NULL, n, PHILOX_ERROR_DEVICE));
	status = try_call(&duo->back, &after);
	calls = philox_device_call_count(f->device, NULL) - calls;
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	if (status != PHILOX_OK) {
		cr_assert_eq(saved.released, 0);
		GOOD(duo->forth.runner, &saved.call);
		GOOD(duo->forth.runner, &other);
		OK(try_call(&duo->back, &after));
	}
	release_outputs(&duo->back, &after);
	cr_assert_eq(saved.released, 1);
	OVER(duo->forth.runner, &saved.call);
	OVER(duo->forth.runner, &other);
	plain_backward(&duo->forth, other.use.ticket, f->stream, 0);
	LIVE(f, duo->forth.runner, 0);
	return status != PHILOX_OK || n <= calls;
}

RUNNER_PROMISE(runner_releases, come_once_whatever_launch_failed)
{
	struct duo duo;
	uint64_t n = 1;

	f->injected = 1;
	make_duo(f, r, &duo);
	for (int i = 0; i < 3; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0), after;

		after = new_call(&duo.back, duo.x, 0);
		after.use.ticket = call.use.ticket;
		OK(try_call(&duo.back, &after));
		release_outputs(&duo.back, &after);
		release_outputs(&duo.forth, &call);
	}
	while (launch_fails_at(f, &duo, n)) {
		cr_assert_lt(n, 200);
		n++;
	}
	cr_assert_gt(n, 2);
}

/* --- what else such a function may do ------------------------------------- */

struct busy {
	struct duo *duo;
	struct layer_call *tied, *loose;
	struct forward other;
	int within; /* a call of the runner */
	unsigned released;
};

static void try_everything(void *user, philox_stream stream)
{
	struct busy *busy = user;
	struct layer *forth = &busy->duo->forth;
	struct philox_runner *r = forth->runner;
	struct layer_call call = new_call(forth, busy->duo->x, 0);
	const struct layer_call *tied = busy->tied, *loose = busy->loose;
	enum philox_status status;

	said_anything();
	if (busy->within) {
		FAILS(try_call(forth, &call), PHILOX_ERROR_BUSY);
		FAILS(try_prepare(forth, &call, 1, NULL), PHILOX_ERROR_BUSY);
		FAILS(philox_runner_step_begin(r, stream,
					       PHILOX_STEP_RELEASE_ALL, NULL),
		      PHILOX_ERROR_BUSY);
		FAILS(philox_function_destroy(forth->function),
		      PHILOX_ERROR_BUSY);
		FAILS(philox_runner_destroy(r), PHILOX_ERROR_BUSY);
	} else
		kind_of_call(forth, busy->duo->x, 3);
	/* tied to the ticket that ends: here or there, it is released once */
	status = philox_output_release(r, stream, &tied->outputs[0]);
	cr_assert(status == PHILOX_OK || status == PHILOX_ERROR_STALE);
	FAILS(philox_output_tie(r, &loose->outputs[0], forth->region,
				tied->use.ticket),
	      PHILOX_ERROR_RELEASED);
	OK(philox_output_tie(r, &loose->outputs[0], busy->other.region,
			     busy->other.ticket));
	OK(philox_output_release(r, stream, &loose->outputs[1]));
	busy->released++;
	said_anything();
}

RUNNER_PROMISE(runner_releases, may_use_outputs_but_make_no_call)
{
	struct duo duo;
	struct philox_region *other = make_region(f, "other");

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 10; i++) {
		struct layer_call tied = made_call(&duo.forth, duo.x, 0);
		struct layer_call loose = made_call(&duo.forth, duo.x, 1);
		struct layer_call after = new_call(&duo.back, duo.x, 0);
		struct busy busy = {.duo = &duo,
				    .tied = &tied,
				    .loose = &loose,
				    .other = forward(f, other),
				    .within = i % 2};

		tie_outputs(&duo.forth, &tied, duo.forth.region,
			    tied.use.ticket);
		OK(philox_ticket_attach(duo.forth.region, tied.use.ticket,
					&busy, try_everything));
		after.use.ticket = tied.use.ticket;
		if (busy.within) {
			OK(try_call(&duo.back, &after));
			release_outputs(&duo.back, &after);
		} else
			plain_backward(&duo.forth, tied.use.ticket, f->side, 0);
		cr_assert_eq(busy.released, 1);
		OVER(r, &tied);
		cr_assert_eq(good_outputs(r, &loose), 1);
		backward(f, &busy.other, 0);
		OVER(r, &loose);
		plain_backward(&duo.forth, loose.use.ticket, f->stream, 0);
		LIVE(f, r, 0);
	}
	cr_assert_geq(counts_of(&duo.back).replay, 2);
}

/* --- the same output, twice in one call ----------------------------------- */

/* Two tickets that a body releases; an output goes with both. */
struct both {
	struct layer *layer;
	struct philox_ticket tickets[2];
	struct philox_output other; /* that stays */
};

static enum philox_status releases_both(void *user, struct philox_run *run)
{
	struct both *both = user;
	struct layer *layer = both->layer;

	for (int i = 0; i < 2; i++)
		OK(philox_ticket_release(layer->region, philox_run_stream(run),
					 both->tickets[i]));
	OK(philox_output_check(layer->runner, &both->other));
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_releases, may_meet_a_tie_within_a_call)
{
	struct layer layer = make_layer(f, r, "layer");
	struct both both = {.layer = &layer};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	options.name = "both";
	options.body = releases_both;
	options.user = &both;
	options.flags = PHILOX_FUNCTION_EAGER;
	OK(philox_function_create(r, &options, &function));
	for (int i = 0; i < 3; i++) {
		struct saved saved = {.layer = &layer,
				      .call = made_call(&layer, x, 0)};
		struct layer_call tied = made_call(&layer, x, 0);
		struct philox_call call = PHILOX_INIT(struct philox_call);

		both.tickets[0] = saved.call.use.ticket;
		both.tickets[1] = tied.use.ticket;
		both.other = tied.outputs[0];
		OK(philox_ticket_attach(layer.region, both.tickets[0], &saved,
					release_saved));
		tie_outputs(&layer, &saved.call, layer.region, both.tickets[1]);
		call.stream = f->stream;
		OK(philox_function_call(function, &call));
		cr_assert_eq(saved.released, 1);
		OVER(r, &saved.call);
		GOOD(r, &tied);
		release_outputs(&layer, &tied);
		LIVE(f, r, 0);
	}
}
