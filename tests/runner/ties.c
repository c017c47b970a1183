/*
 * tests/runner/ties.c - outputs that are tied to tickets
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/runner_scene.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- how a ticket ends ------------------------------------------------------- */

enum way {
	BY_CALL,    /* a call of the runner */
	BY_PASS,    /* an eager backward */
	BY_LAUNCH,  /* a graph of somebody else's */
	BY_NATIVE,  /* ... between prologue and epilogue */
	BY_RELEASE, /* philox_ticket_release() */
	BY_LOAD,    /* a load, which drops it */
	BY_REGION,  /* with its region: no call comes after that */
	WAYS
};

static void end_ticket(struct fixture *f, struct duo *duo,
		       const struct layer_call *of, enum way way,
		       struct philox_graph *graph, const char *text)
{
	struct philox_use use = {of->use.ticket, 0, 0};
	struct layer_call after;

	switch (way) {
	case BY_CALL:
		after = made_backward(&duo->back, of, 0);
		release_outputs(&duo->back, &after);
		break;
	case BY_PASS:
		plain_backward(&duo->forth, of->use.ticket, f->stream, 0);
		break;
	case BY_LAUNCH:
		OK(philox_graph_launch(graph, f->stream, &use, 1));
		break;
	case BY_NATIVE:
		OK(philox_graph_prologue(graph, f->stream, &use, 1));
		OK(philox_native_launch(f->device, native_exec(graph),
					f->stream));
		OK(philox_graph_epilogue(graph, PHILOX_OK));
		break;
	case BY_RELEASE:
		OK(philox_ticket_release(duo->forth.region, of->use.ticket,
					 f->stream));
		break;
	case BY_LOAD:
		OK(philox_context_load_text(f->context, text, strlen(text)));
		break;
	default:
		OK(philox_stream_synchronize(f->device, f->stream));
		OK(philox_region_destroy(duo->forth.region));
	}
}

static void ends(struct fixture *f, struct philox_runner *r, enum way way)
{
	char name[32];
	struct duo duo;
	struct philox_graph *graph;
	char *text;

	snprintf(name, sizeof(name), "runner %d", way);
	r = make_runner_of(f, name, 0);
	make_duo(f, r, &duo);
	graph = record_backward(f, duo.forth.region, f->scratch);
	for (unsigned i = 0; i < 6; i++) {
		struct layer_call call;

		OK(philox_context_save_text(f->context, &text, NULL));
		call = made_call(&duo.forth, duo.x, 0);
		tie_outputs(&duo.forth, &call, duo.forth.region,
			    call.use.ticket);
		GOOD(r, &call);
		if (way == BY_REGION && i < 5)
			OK(philox_ticket_release(duo.forth.region,
						 call.use.ticket, f->stream));
		else
			end_ticket(f, &duo, &call, way, graph, text);
		OVER(r, &call);
		FAILS(philox_output_release(r, &call.outputs[0], f->stream),
		      PHILOX_ERROR_STALE);
		LIVE(f, r, 0);
		free(text);
	}
	cr_assert_eq(counts_of(&duo.forth).replay, 4,
		     "way %d: their memory was free for the next call", way);
	OK(philox_device_synchronize(f->device));
	OK(philox_graph_destroy(graph));
	OK(philox_runner_destroy(r));
	if (way != BY_REGION)
		OK(philox_region_destroy(duo.forth.region));
}

RUNNER_PROMISE(runner_ties, release_an_output_however_its_ticket_ends)
{
	for (int way = 0; way < WAYS; way++)
		ends(f, r, (enum way)way);
}

RUNNER_PROMISE(runner_ties, hold_while_the_ticket_is_retained)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 5; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0), after;
		struct numbers saw = read_numbers(f, call.outputs[0].address);

		tie_outputs(&duo.forth, &call, duo.forth.region,
			    call.use.ticket);
		for (int k = 0; k < 2; k++) {
			after = made_backward(&duo.back, &call, PHILOX_RETAIN);
			release_outputs(&duo.back, &after);
			GOOD(r, &call);
		}
		plain_backward(&duo.forth, call.use.ticket, f->side,
			       PHILOX_RETAIN);
		GOOD(r, &call);
		SAME(read_numbers(f, call.outputs[0].address), saw, "%u", i);
		after = made_backward(&duo.back, &call, 0);
		SAME(read_numbers(f, after.outputs[0].address), saw, "%u", i);
		OVER(r, &call);
		release_outputs(&duo.back, &after);
	}
}

/* A backward that aborts leaves the ticket, and so what is tied to it. */
RUNNER_PROMISE(runner_ties, hold_when_a_backward_fails)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 4; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0), after;
		struct philox_pass pass;

		tie_outputs(&duo.forth, &call, duo.forth.region,
			    call.use.ticket);
		OK(philox_backward_begin(duo.forth.region, call.use.ticket,
					 f->stream, 0, &pass));
		OK(philox_pass_abort(&pass));
		GOOD(r, &call);
		duo.back.returns = PHILOX_ERROR_LIMIT;
		after = new_call(&duo.back, duo.x, 7 - i);
		after.use.ticket = call.use.ticket;
		FAILS(try_call(&duo.back, &after), PHILOX_ERROR_LIMIT);
		duo.back.returns = PHILOX_OK;
		GOOD(r, &call);
		after = made_backward(&duo.back, &call, 0);
		OVER(r, &call);
		release_outputs(&duo.back, &after);
	}
}

/* The body's own backward does not end it before the body has succeeded. */
static struct layer_call *tied;

static enum philox_status still_good(struct layer *layer,
				     struct philox_run *run)
{
	(void)run;
	GOOD(layer->runner, tied);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_ties, hold_until_the_body_has_succeeded)
{
	struct duo duo;

	make_duo(f, r, &duo);
	duo.back.hook = still_good;
	for (unsigned i = 0; i < 4; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0), after;

		tied = &call;
		tie_outputs(&duo.forth, &call, duo.forth.region,
			    call.use.ticket);
		after = made_backward(&duo.back, &call, 0);
		SAME(read_numbers(f, after.outputs[1].address), all_words(3),
		     "its input was the output that is released");
		OVER(r, &call);
		release_outputs(&duo.back, &after);
	}
}

/* --- many of them ------------------------------------------------------------- */

/* Outputs of six calls of two runners, to the ticket of one. */
RUNNER_PROMISE(runner_ties, bind_many_outputs_of_several_runners_to_one_ticket)
{
	struct philox_runner *runners[2] = {r, make_runner_of(f, "second", 0)};
	struct layer layers[2] = {make_layer(f, r, "one"),
				  make_layer(f, runners[1], "two")};
	uint32_t *x = make_words(f, 3);

	make_function(&layers[0], r, "one");
	make_function(&layers[1], runners[1], "two");
	for (unsigned round = 0; round < 4; round++) {
		struct layer_call calls[6];
		struct philox_ticket ticket;

		for (int i = 0; i < 6; i++)
			calls[i] = made_call(&layers[i % 2], x, 0);
		ticket = calls[2].use.ticket;
		for (int i = 0; i < 6; i++)
			tie_outputs(&layers[i % 2], &calls[i], layers[0].region,
				    ticket);
		for (int i = 0; i < 6; i++) {
			GOOD(runners[i % 2], &calls[i]);
			if (i != 2)
				OK(philox_ticket_release(layers[i % 2].region,
							 calls[i].use.ticket,
							 f->stream));
		}
		for (int i = 0; i < 6; i++)
			GOOD(runners[i % 2], &calls[i]);
		plain_backward(&layers[0], ticket, f->stream, 0);
		for (int i = 0; i < 6; i++)
			OVER(runners[i % 2], &calls[i]);
		LIVE(f, r, 0);
		LIVE(f, runners[1], 0);
	}
	cr_assert_geq(counts_of(&layers[1]).replay, 2);
	OK(philox_device_synchronize(f->device));
	OK(philox_runner_destroy(runners[1]));
}

/* Several forwards, whose backwards come in any order. */
RUNNER_PROMISE(runner_ties, end_one_by_one_in_the_order_of_the_backwards)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned round = 0; round < 6; round++) {
		struct layer_call calls[3];
		unsigned order[3];

		permutation(round, 3, order);
		for (int i = 0; i < 3; i++) {
			calls[i] = made_call(&duo.forth, duo.x, 0);
			tie_outputs(&duo.forth, &calls[i], duo.forth.region,
				    calls[i].use.ticket);
		}
		for (unsigned i = 0; i < 3; i++) {
			struct layer_call after =
				made_backward(&duo.back, &calls[order[i]], 0);

			release_outputs(&duo.back, &after);
			for (unsigned k = 0; k < 3; k++)
				cr_assert_eq(good_outputs(r, &calls[order[k]]),
					     k <= i ? 0 : 2);
		}
	}
}

/* --- what else there is ---------------------------------------------------------- */

static unsigned released;

static void count_release(void *saved, philox_stream stream)
{
	(void)saved;
	(void)stream;
	released++;
}

RUNNER_PROMISE(runner_ties, leave_the_saved_context_of_the_ticket_alone)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 4; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0);
		struct philox_ticket ticket = call.use.ticket;
		struct philox_region *region = duo.forth.region;
		void *saved = NULL;

		released = 0;
		if (i % 2)
			tie_outputs(&duo.forth, &call, region, ticket);
		FAILS(philox_ticket_context(region, ticket, &saved),
		      PHILOX_ERROR_NOT_FOUND);
		OK(philox_ticket_attach(region, ticket, &duo, count_release));
		if (i % 2 == 0)
			tie_outputs(&duo.forth, &call, region, ticket);
		OK(philox_ticket_context(region, ticket, &saved));
		cr_assert_eq(saved, &duo);
		FAILS(philox_ticket_attach(region, ticket, f, count_release),
		      PHILOX_ERROR_EXISTS);
		plain_backward(&duo.forth, ticket, f->stream, PHILOX_RETAIN);
		cr_assert_eq(released, 0);
		plain_backward(&duo.forth, ticket, f->stream, 0);
		cr_assert_eq(released, 1);
		OVER(r, &call);
	}
}

/* The handle's number is another output's by the time the ticket ends. */
RUNNER_PROMISE(runner_ties, are_gone_when_the_output_is_released_otherwise)
{
	struct duo duo;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 6; i++) {
		struct layer_call call = made_call(&duo.forth, duo.x, 0), next;
		struct numbers saw;

		tie_outputs(&duo.forth, &call, duo.forth.region,
			    call.use.ticket);
		if (i % 2)
			release_outputs(&duo.forth, &call);
		else
			OK(philox_step_begin(r, f->stream, PHILOX_STEP_ALL,
					     NULL));
		OVER(r, &call);
		next = made_call(&duo.forth, duo.x, 0);
		saw = read_numbers(f, next.outputs[0].address);
		plain_backward(&duo.forth, call.use.ticket, f->stream, 0);
		GOOD(r, &next);
		tie_outputs(&duo.forth, &next, duo.forth.region,
			    next.use.ticket);
		SAME(read_numbers(f, next.outputs[0].address), saw, "%u", i);
		plain_backward(&duo.forth, next.use.ticket, f->stream, 0);
		OVER(r, &next);
	}
	LIVE(f, r, 0);
}

RUNNER_PROMISE(runner_ties, outlive_the_function_of_the_output)
{
	struct duo duo;
	struct layer_call call;

	make_duo(f, r, &duo);
	for (unsigned i = 0; i < 3; i++) {
		call = made_call(&duo.forth, duo.x, 0);
		tie_outputs(&duo.forth, &call, duo.forth.region,
			    call.use.ticket);
		OK(philox_stream_synchronize(f->device, f->stream));
		OK(philox_function_destroy(duo.forth.function));
		GOOD(r, &call);
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, "layer", 4 * i), "%u", i);
		plain_backward(&duo.back, call.use.ticket, f->stream, 0);
		OVER(r, &call);
		LIVE(f, r, 0);
		make_function(&duo.forth, r, "forth");
	}
}

/* A runner, or a context, goes with its ties; the ticket does not know them. */
RUNNER_PROMISE(runner_ties, end_with_the_runner)
{
	struct philox_runner *mine = make_runner_of(f, "mine", 0);
	struct layer layer = make_layer(f, mine, "layer");
	struct layer other = make_layer(f, r, "other");
	uint32_t *x = make_words(f, 3);
	struct layer_call call, here;

	make_function(&layer, mine, "layer");
	make_function(&other, r, "other");
	for (unsigned i = 0; i < 3; i++) {
		call = made_call(&layer, x, 0);
		tie_outputs(&layer, &call, layer.region, call.use.ticket);
	}
	here = made_call(&other, x, 0);
	tie_outputs(&other, &here, layer.region, call.use.ticket);
	OK(philox_device_synchronize(f->device));
	OK(philox_runner_destroy(mine));
	GOOD(r, &here);
	plain_backward(&layer, call.use.ticket, f->stream, 0);
	OVER(r, &here);
	here = made_call(&other, x, 0);
	tie_outputs(&other, &here, other.region, here.use.ticket);
	/* the fixture's context is destroyed with this tie and its ticket */
}

/* --- aliases ------------------------------------------------------------------------ */

/* y, its second half, and the input. */
static enum philox_status shares(void *user, struct philox_run *run)
{
	struct fixture *f = user;
	void *x, *y;

	OK(philox_run_input(run, 0, &x, NULL));
	OK(philox_run_alloc(run, BYTES, 0, "y", &y));
	OK(philox_memory_copy(f->device, y, x, BYTES, philox_run_stream(run)));
	OK(philox_run_output(run, 0, y, BYTES));
	OK(philox_run_output(run, 1, (char *)y + BYTES / 2, BYTES / 2));
	return philox_run_output(run, 2, x, BYTES);
}

RUNNER_PROMISE(runner_ties, free_shared_memory_after_its_last_handle)
{
	static const struct philox_input x = {.name = "x"};
	static const struct philox_output_info infos[] = {
		{.name = "y"}, {.name = "half"}, {.name = "x again"}};
	struct philox_function_options options =
		PHILOX_INIT(struct philox_function_options);
	struct philox_call_input given = {.address = make_words(f, 6),
					  .bytes = BYTES};
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_region *region = make_region(f, "layer");
	struct philox_function *function;
	struct philox_output out[3];

	options.name = "shares";
	options.body = shares;
	options.user = f;
	options.inputs = &x;
	options.n_inputs = 1;
	options.outputs = infos;
	options.n_outputs = 3;
	OK(philox_function_create(r, &options, &function));
	call.stream = f->stream;
	call.inputs = &given;
	call.n_inputs = 1;
	call.outputs = out;
	call.n_outputs = 3;
	for (int i = 0; i < 6; i++) {
		struct forward made = forward(f, region);

		OK(philox_function_call(function, &call));
		OK(philox_output_tie(r, &out[i % 2], region, made.ticket));
		OK(philox_output_tie(r, &out[2], region, made.ticket));
		if (i % 3 == 0)
			OK(philox_output_release(r, &out[!(i % 2)], f->stream));
		LIVE(f, r, 1);
		OK(philox_ticket_release(region, made.ticket, f->stream));
		FAILS(philox_output_check(r, &out[i % 2]), PHILOX_ERROR_STALE);
		FAILS(philox_output_check(r, &out[2]), PHILOX_ERROR_STALE);
		LIVE(f, r, i % 3 ? 1 : 0);
		if (i % 3)
			OK(philox_output_release(r, &out[!(i % 2)], f->stream));
		LIVE(f, r, 0);
	}
	cr_assert_eq(call.kind, PHILOX_CALL_REPLAY);
}
