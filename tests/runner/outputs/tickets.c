/*
 * tests/runner/outputs/tickets.c - tickets of calls, of whatever kind
 */
#include <stdio.h>
#include "tests/support/beds/runner_scene.h"

/* A layer's forward and backward as two functions. */
struct two {
	struct layer forth, back;
	uint32_t *x;
};

static void make_two(struct fixture *f, struct philox_runner *r,
		     struct two *two)
{
	two->x = make_words(f, 3);
	two->forth = make_layer(f, r, "layer");
	two->back = two->forth;
	two->back.backward = 1;
	make_function(&two->forth, r, "forward");
	make_function(&two->back, r, "backward");
}

static enum philox_call_kind call_backward(struct two *two,
					   const struct forward *of,
					   uint32_t flags)
{
	struct layer_call call = new_call(&two->back, two->x, 0);

	call.use.ticket = of->ticket;
	call.use.flags = flags;
	OK(try_call(&two->back, &call));
	SAME(read_numbers(two->back.f, call.outputs[0].address), of->saw,
	     "the backward saw other numbers");
	release_outputs(&two->back, &call);
	return (enum philox_call_kind)call.call.kind;
}

static void refuse_backward(struct two *two, const struct forward *of,
			    enum philox_status expected)
{
	struct layer_call call = new_call(&two->back, two->x, 0);

	call.use.ticket = of->ticket;
	FAILS(try_call(&two->back, &call), expected);
}

/* Several forwards before a backward, any order, eager and replayed ones. */
RUNNER_PROMISE(runner_tickets, pair_backwards_with_their_forwards)
{
	struct two two;
	struct forward made[6];

	make_two(f, r, &two);
	for (unsigned round = 0; round < 8; round++) {
		unsigned order[3];

		for (unsigned i = 0; i < 3; i++)
			made[i] = call_forward(&two.forth, two.x, 0);
		PENDING(two.forth.region, 3);
		permutation(round % 6, 3, order);
		for (unsigned i = 0; i < 3; i++)
			call_backward(&two, &made[order[i]], 0);
		PENDING(two.forth.region, 0);
		refuse_backward(&two, &made[0], PHILOX_ERROR_RELEASED);
	}
	cr_assert_gt(counts_of(&two.back).replay, 10);
}

RUNNER_PROMISE(runner_tickets, are_kept_by_retain_in_every_kind_of_call)
{
	struct two two;

	make_two(f, r, &two);
	for (unsigned round = 0; round < 4; round++) {
		struct forward made = call_forward(&two.forth, two.x, 0);

		call_backward(&two, &made, PHILOX_PASS_RETAIN);
		call_backward(&two, &made, PHILOX_PASS_RETAIN);
		PENDING(two.forth.region, 1);
		backward(f, &made, PHILOX_PASS_RETAIN);
		call_backward(&two, &made, 0);
		PENDING(two.forth.region, 0);
		refuse_backward(&two, &made, PHILOX_ERROR_RELEASED);
	}
}

/* A ticket of a call is as good for a plain pass, and the other way round. */
RUNNER_PROMISE(runner_tickets, are_those_of_plain_passes)
{
	struct two two;

	make_two(f, r, &two);
	for (unsigned round = 0; round < 4; round++) {
		struct forward of_call = call_forward(&two.forth, two.x, 0);
		struct forward plain = forward(f, two.forth.region);

		backward(f, &of_call, 0);
		call_backward(&two, &plain, 0);
		PENDING(two.forth.region, 0);
	}
}

/* --- a body that fails ---------------------------------------------------- */

RUNNER_PROMISE(runner_tickets, of_a_forward_whose_body_fails_are_released)
{
	struct two two;
	struct layer_call call;

	make_two(f, r, &two);
	for (unsigned kind = 0; kind < 2; kind++) {
		two.forth.returns = PHILOX_ERROR_LIMIT;
		call = new_call(&two.forth, two.x, 0);
		call.use.ticket = (struct philox_ticket){9, 9};
		FAILS(try_call(&two.forth, &call), PHILOX_ERROR_LIMIT);
		NAMES("'forward'");
		cr_assert_eq(call.use.ticket.serial, 9, "nothing is written");
		PENDING(two.forth.region, 0);
		two.forth.returns = PHILOX_OK;
		if (kind == 0) /* the warm-up; the next is recorded */
			backward(f,
				 &(struct forward){
					 two.forth.region,
					 call_forward(&two.forth, two.x, 0)
						 .ticket,
					 predict(0, "layer", 4)},
				 0);
	}
	KIND(&two.forth, two.x, 0, PHILOX_CALL_RECORD);
	KIND(&two.forth, two.x, 0, PHILOX_CALL_REPLAY);
}

RUNNER_PROMISE(runner_tickets, of_a_backward_whose_body_fails_are_as_they_were)
{
	struct two two;
	struct forward made;
	struct layer_call call;

	make_two(f, r, &two);
	for (unsigned round = 0; round < 3; round++) {
		made = call_forward(&two.forth, two.x, 0);
		two.back.returns = PHILOX_ERROR_LIMIT;
		call = new_call(&two.back, two.x, round ? 1 : 0);
		call.use.ticket = made.ticket;
		FAILS(try_call(&two.back, &call), PHILOX_ERROR_LIMIT);
		PENDING(two.forth.region, 1);
		two.back.returns = PHILOX_OK;
		call_backward(&two, &made, 0);
		PENDING(two.forth.region, 0);
	}
}

static unsigned released;

static void count_release(void *saved, philox_stream stream)
{
	(void)saved;
	(void)stream;
	released++;
}

/* What the user attached stays: it goes when the body has succeeded. */
static enum philox_status nothing_is_released(struct layer *layer,
					      struct philox_run *run)
{
	(void)run;
	cr_assert_eq(released, 0, "a use-up waits for the end of the body");
	PENDING(layer->region, 1);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_tickets, are_used_up_when_the_body_has_succeeded)
{
	struct two two;

	make_two(f, r, &two);
	two.back.hook = nothing_is_released;
	for (unsigned round = 0; round < 4; round++) {
		struct forward made = call_forward(&two.forth, two.x, 0);
		struct layer_call call = new_call(&two.back, two.x, 0);

		released = 0;
		OK(philox_ticket_attach(made.region, made.ticket, f,
					count_release));
		call.use.ticket = made.ticket;
		if (round == 0) {
			two.back.returns = PHILOX_ERROR_LIMIT;
			FAILS(try_call(&two.back, &call), PHILOX_ERROR_LIMIT);
			cr_assert_eq(released, 0);
			two.back.returns = PHILOX_OK;
		}
		call_backward(&two, &made, 0);
		cr_assert_eq(released, 1);
	}
}

static void take_away(void *user)
{
	struct layer *layer = user;
	struct forward *made = layer->f->arrays[511];
	struct philox_pass pass;

	FAILS(philox_backward_begin(layer->region, layer->f->side, made->ticket,
				    0, &pass),
	      PHILOX_ERROR_BUSY);
}

/* Between a backward's commit and the body's end nobody else has the ticket. */
static enum philox_status cannot_be_taken(struct layer *layer,
					  struct philox_run *run)
{
	if (philox_run_kind(run) == PHILOX_CALL_RECORD)
		return PHILOX_OK;
	on_thread(take_away, layer);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_tickets, are_held_until_the_body_has_succeeded)
{
	struct two two;
	struct forward made;

	make_two(f, r, &two);
	two.back.hook = cannot_be_taken;
	made = call_forward(&two.forth, two.x, 0);
	f->arrays[511] = &made;
	call_backward(&two, &made, 0);
	f->arrays[511] = NULL;
}

/* --- several passes in one body ------------------------------------------- */

struct several {
	struct fixture *f;
	struct philox_region *one, *two;
	uint32_t *a, *b, *c;
	int leave_open, abort, twice, alone;
	philox_stream stream; /* of the run */
};

/* On a thread that is in no body, and a stream that the body has. */
static void begin_elsewhere(void *user)
{
	struct several *s = user;
	struct philox_ticket made;
	struct philox_pass pass;

	OK(philox_forward_begin(s->one, s->stream, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &made));
}

/* A forward of `one`, its backward, a recompute and a backward of `two`. */
static enum philox_status several_body(void *user, struct philox_run *run)
{
	struct several *s = user;
	struct philox_ticket none = {0, 0}, made, named;
	struct philox_pass pass;

	if (s->alone) {
		s->stream = philox_run_stream(run);
		on_thread(begin_elsewhere, s);
		return PHILOX_OK;
	}
	OK(philox_run_forward_begin(run, s->one, 0, &pass));
	draw(&pass, s->a);
	if (s->abort)
		return philox_pass_abort(&pass);
	if (s->leave_open)
		return PHILOX_OK;
	OK(philox_pass_commit(&pass, 0, &made));
	OK(philox_run_backward_begin(run, s->two, none, PHILOX_PASS_RETAIN,
				     &pass));
	OK(philox_pass_ticket(&pass, &named));
	draw(&pass, s->b);
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_run_backward_begin(run, s->two, named, 0, &pass));
	draw(&pass, s->b);
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_run_backward_begin(run, s->one, made, 0, &pass));
	draw(&pass, s->c);
	OK(philox_pass_commit(&pass, 0, NULL));
	if (s->twice)
		FAILS(philox_run_backward_begin(run, s->one, made, 0, &pass),
		      PHILOX_ERROR_RELEASED);
	return PHILOX_OK;
}

static struct philox_function *make_several(struct philox_runner *r,
					    struct several *s, const char *name)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	options.name = name;
	options.body = several_body;
	options.user = s;
	OK(philox_function_create(r, &options, &function));
	return function;
}

RUNNER_PROMISE(runner_tickets, of_several_passes_are_in_order_of_begin)
{
	struct several s = {.f = f,
			    .one = make_region(f, "one"),
			    .two = make_region(f, "two"),
			    .a = make_array(f),
			    .b = make_array(f),
			    .c = make_array(f)};
	struct philox_function *function = make_several(r, &s, "several");

	for (unsigned i = 0; i < 6; i++) {
		struct forward two = forward(f, s.two);
		struct philox_launch_pass uses[2] = {{{5, 5}, 0, 0},
						     {two.ticket, 0, 0}};
		struct philox_call call = PHILOX_INIT(struct philox_call);

		call.stream = f->stream;
		call.passes = uses;
		call.n_passes = 2;
		uses[1].flags = i % 2 ? PHILOX_PASS_RETAIN : 0;
		OK(philox_function_call(function, &call));
		cr_assert_eq(uses[0].ticket.serial, 0, "used up in the body");
		SAME(read_numbers(f, s.a), predict(0, "one", 4 * i), "a");
		SAME(read_numbers(f, s.c), predict(0, "one", 4 * i), "c");
		SAME(read_numbers(f, s.b), two.saw, "b");
		PENDING(s.one, 0);
		PENDING(s.two, i % 2 ? 1 : 0);
		if (i % 2)
			backward(f, &two, 0);
	}
}

RUNNER_PROMISE(runner_tickets, need_an_entry_for_each_pass_and_no_more)
{
	struct several s = {.f = f,
			    .one = make_region(f, "one"),
			    .two = make_region(f, "two"),
			    .a = make_array(f),
			    .b = make_array(f),
			    .c = make_array(f),
			    .leave_open = 0};
	struct two two;
	struct layer_call call;

	make_two(f, r, &two);
	for (unsigned i = 0; i < 4; i++) {
		struct ledger_view before = look(f, two.forth.region);

		call = new_call(&two.forth, two.x, 0);
		call.call.n_passes = 0;
		FAILS(try_call(&two.forth, &call), PHILOX_ERROR_INVALID);
		NAMES("0 entries");
		cr_assert_eq(pending(two.forth.region), before.pending);
		call_forward(&two.forth, two.x, 0);
	}
	(void)s;
}

RUNNER_PROMISE(runner_tickets, of_bodies_that_leave_passes_open_are_refused)
{
	struct several s = {.f = f,
			    .one = make_region(f, "one"),
			    .two = make_region(f, "two"),
			    .a = make_array(f),
			    .b = make_array(f),
			    .c = make_array(f)};
	struct philox_function *function = make_several(r, &s, "several");
	struct philox_launch_pass uses[2];
	struct philox_call call = PHILOX_INIT(struct philox_call);

	call.stream = f->stream;
	call.passes = uses;
	for (int recorded = 0; recorded < 2; recorded++) {
		memset(uses, 0, sizeof(uses));
		call.n_passes = 1;
		s.leave_open = 1;
		FAILS(philox_function_call(function, &call),
		      recorded ? PHILOX_ERROR_MISMATCH : PHILOX_ERROR_STATE);
		s.leave_open = 0;
		s.abort = 1;
		FAILS(philox_function_call(function, &call),
		      recorded ? PHILOX_ERROR_MISMATCH : PHILOX_ERROR_STATE);
		s.abort = 0;
		PENDING(s.one, 0);
		uses[1].ticket = forward(f, s.two).ticket;
		call.n_passes = 2;
		s.twice = 1;
		OK(philox_function_call(function, &call) ==
				   PHILOX_ERROR_RELEASED
			   ? PHILOX_OK
			   : PHILOX_ERROR_STATE);
		s.twice = 0;
		PENDING(s.two, 1 + (unsigned)recorded);
		OK(philox_function_call(function, &call));
		PENDING(s.two, (unsigned)recorded);
		OK(philox_ticket_release(s.two, f->stream,
					 forward(f, s.two).ticket));
		forward(f, s.two);
	}
}

/* A pass that the run does not know has an entry of nobody. */
RUNNER_PROMISE(runner_tickets, of_passes_begun_by_themselves_are_no_recording_s)
{
	struct several s = {.f = f, .one = make_region(f, "one"), .alone = 1};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_function *function;

	options.name = "alone";
	options.body = several_body;
	options.user = &s;
	options.policy.warmups = PHILOX_NEVER;
	OK(philox_function_create(r, &options, &function));
	call.stream = f->stream;
	FAILS(philox_function_call(function, &call), PHILOX_ERROR_STATE);
	NAMES("philox_run_forward_begin");
	PENDING(s.one, 0);
}

RUNNER_PROMISE(runner_tickets, of_a_region_made_again_need_a_new_recording)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_function(&layer, r, "layer");
	for (unsigned i = 0; i < 3; i++)
		SAME(call_forward(&layer, x, 0).saw, predict(0, "layer", 4 * i),
		     "call %u", i);
	OK(philox_region_destroy(layer.region));
	call = new_call(&layer, x, 0);
	FAILS(try_call(&layer, &call), PHILOX_ERROR_STALE);
	layer.region = make_region(f, "layer");
	for (unsigned i = 3; i < 6; i++)
		SAME(call_forward(&layer, x, 0).saw, predict(0, "layer", 4 * i),
		     "call %u", i);
	cr_assert_eq(counts_of(&layer).record, 2);
	cr_assert_eq(counts_of(&layer).recordings, 1);
}
