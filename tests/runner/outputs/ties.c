/*
 * tests/runner/outputs/ties.c - outputs that are tied to tickets
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/runner_scene.h"

/* --- how a ticket ends ---------------------------------------------------- */

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
	struct philox_launch_pass use = {of->use.ticket, 0, 0};
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
		OK(philox_native_exec_launch(f->device, f->stream,
					     native_exec(graph)));
		OK(philox_graph_epilogue(graph, PHILOX_OK));
		break;
	case BY_RELEASE:
		OK(philox_ticket_release(duo->forth.region, f->stream,
					 of->use.ticket));
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
			OK(philox_ticket_release(duo.forth.region, f->stream,
						 call.use.ticket));
		else
			end_ticket(f, &duo, &call, way, graph, text);
		OVER(r, &call);
		FAILS(philox_output_release(r, f->stream, &call.outputs[0]),
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
			after = made_backward(&duo.back, &call,
					      PHILOX_PASS_RETAIN);
			release_outputs(&duo.back, &after);
			GOOD(r, &call);
		}
		plain_backward(&duo.forth, call.use.ticket, f->side,
			       PHILOX_PASS_RETAIN);
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
		OK(philox_backward_begin(duo.forth.region, f->stream,
					 call.use.ticket, 0, &pass));
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

/* --- many of them --------------------------------------------------------- */

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
							 f->stream,
							 calls[i].use.ticket));
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
