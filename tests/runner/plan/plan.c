/*
 * tests/runner/plan/plan.c - a runner that goes on in another process, by its
 * plan
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/runner_again.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* Calls of one key at some places, all of these kinds. */
static void kinds(struct layer *layer, uint32_t *const *x, unsigned from,
		  unsigned to, enum philox_call_kind kind)
{
	for (unsigned i = from; i < to; i++)
		KIND(layer, x[i], 0, kind);
}

/* Makes the layer in the first process. */
struct first {
	struct layer layer;
	uint32_t *x[AGAIN_PLACES];
};

static void start(struct first *first, struct fixture *f,
		  struct philox_runner *r, const struct philox_policy *policy)
{
	again_make(f, r, &first->layer, policy, first->x);
}

#define WHY(layer, part)                                                   \
	cr_assert(strstr(philox_function_reason((layer)->function), part), \
		  "its reason is: %s",                                     \
		  philox_function_reason((layer)->function))

/* --- warm-ups ------------------------------------------------------------- */

RUNNER_PROMISE(runner_plan, has_a_call_replayed_after_one_that_runs_the_body)
{
	const struct philox_policy policy = {0};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	settle(&first.layer, first.x[0], 0);
	again_open(&then, f, r, &policy);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	WHY(&then.layer, "its body has not run in this process");
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_RECORD);
	WHY(&then.layer, "it was recorded when its plan was saved");
	kinds(&then.layer, then.x, 0, 1, PHILOX_CALL_REPLAY);
	cr_assert_eq(counts_of(&then.layer).missed_new, 1);
	cr_assert_eq(counts_of(&then.layer).missed_moved, 0);
	KIND(&then.layer, then.x[0], 1, PHILOX_CALL_WARMUP);
	WHY(&then.layer, "it is warmed up under this key");
	again_close(&then);
}

RUNNER_PROMISE(runner_plan, goes_on_with_the_numbers_that_come_next)
{
	const struct philox_policy policy = {0};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	for (unsigned i = 0; i < 5; i++)
		SAME(call_forward(&first.layer, first.x[0], 0).saw,
		     predict(0, "layer", 4 * i), "call %u", i);
	again_open(&then, f, r, &policy);
	for (unsigned i = 5; i < 10; i++)
		SAME(call_forward(&then.layer, then.x[0], 0).saw,
		     predict(0, "layer", 4 * i), "call %u", i);
	cr_assert_eq(counts_of(&then.layer).replay, 3);
	again_close(&then);
}

RUNNER_PROMISE(runner_plan, has_a_dry_warm_up_if_the_policy_has_those)
{
	const struct philox_policy policy = {.dry = 3, .warmups = 2};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	settle(&first.layer, first.x[0], 0);
	cr_assert_eq(counts_of(&first.layer).dry, 3);
	again_open(&then, f, r, &policy);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_RECORD);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_REPLAY);
	cr_assert_eq(counts_of(&then.layer).dry, 1);
	cr_assert_eq(counts_of(&then.layer).bodies, 2);
	again_close(&then);
}

RUNNER_PROMISE(runner_plan, has_no_warm_up_if_the_policy_has_none)
{
	const struct philox_policy policy = {.warmups = PHILOX_NEVER};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_RECORD);
	again_open(&then, f, r, &policy);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_RECORD);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_REPLAY);
	again_close(&then);
}

RUNNER_PROMISE(runner_plan, has_the_warm_ups_that_were_still_to_come)
{
	const struct philox_policy policy = {.warmups = 5};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_WARMUP);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_WARMUP);
	again_open(&then, f, r, &policy);
	for (int i = 0; i < 3; i++)
		KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_RECORD);
	again_close(&then);
}

/* Nothing was recorded yet: its next call would have been. */
RUNNER_PROMISE(runner_plan, warms_a_key_up_that_was_about_to_be_recorded)
{
	const struct philox_policy policy = {0};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_WARMUP);
	again_open(&then, f, r, &policy);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_RECORD);
	WHY(&then.layer, "nothing was recorded under this key yet");
	again_close(&then);
}

/* --- labels --------------------------------------------------------------- */

static void call_labelled(struct layer *layer, const void *x, const char *label)
{
	struct layer_call call = new_call(layer, x, 1);

	call.call.label = label;
	OK(try_call(layer, &call));
	release_outputs(layer, &call);
}

/* No call has to give it again, and none can give another one. */
RUNNER_PROMISE(runner_plan, gives_a_key_its_label_back)
{
	const struct philox_policy policy = {0};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	call_labelled(&first.layer, first.x[0], "batch 32");
	again_open(&then, f, r, &policy);
	log_texts(&then.f);
	call_labelled(&then.layer, then.x[0], NULL);
	cr_assert_str_eq(philox_function_reason(then.layer.function),
			 "key 'batch 32': its body has not run in this process "
			 "since its plan was loaded: it is warmed up, for "
			 "policy.warmups");
	call_labelled(&then.layer, then.x[0], "batch 64");
	LOGGED("label|-|-|function 'layer': key 'batch 32' is called with label "
	       "'batch 64', and keeps its own\n");
	again_close(&then);
}

/* --- places --------------------------------------------------------------- */

RUNNER_PROMISE(runner_plan, records_as_many_places_as_there_were)
{
	const struct philox_policy policy = {.recordings = 4};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_WARMUP);
	for (unsigned i = 0; i < 4; i++) {
		KIND(&first.layer, first.x[i], 0, PHILOX_CALL_RECORD);
		KIND(&first.layer, first.x[i], 0, PHILOX_CALL_REPLAY);
	}
	again_open(&then, f, r, &policy);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	kinds(&then.layer, then.x, 4, 8, PHILOX_CALL_RECORD);
	/* all of them count as replayed, as they were */
	cr_assert_eq(counts_of(&then.layer).unplayed, 0);
	cr_assert_eq(counts_of(&then.layer).missed_new, 4);
	kinds(&then.layer, then.x, 4, 8, PHILOX_CALL_REPLAY);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_RECORD);
	WHY(&then.layer, "its inputs moved");
	cr_assert_eq(counts_of(&then.layer).evicted, 1);
	again_close(&then);
}

RUNNER_PROMISE(runner_plan, counts_recordings_that_were_never_replayed)
{
	const struct philox_policy policy = {.recordings = 4};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_WARMUP);
	kinds(&first.layer, first.x, 0, 3, PHILOX_CALL_RECORD);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_REPLAY);
	KIND(&first.layer, first.x[3], 0, PHILOX_CALL_RECORD);
	again_open(&then, f, r, &policy);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	kinds(&then.layer, then.x, 0, 4, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&then.layer).unplayed, 3);
	/* the first one stands for one that had been replayed: no waste */
	KIND(&then.layer, then.x[4], 0, PHILOX_CALL_RECORD);
	KIND(&then.layer, then.x[5], 0, PHILOX_CALL_RECORD);
	KIND(&then.layer, then.x[6], 0, PHILOX_CALL_EAGER);
	again_close(&then);
}

/* One of a place was wasted, so each stays for 8 calls, here and there. */
RUNNER_PROMISE(runner_plan, goes_on_with_the_patience_of_a_key)
{
	const struct philox_policy policy = {.recordings = 1};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_WARMUP);
	kinds(&first.layer, first.x, 0, 2, PHILOX_CALL_RECORD);
	KIND(&first.layer, first.x[2], 0, PHILOX_CALL_EAGER);
	again_open(&then, f, r, &policy);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_RECORD);
	for (int i = 0; i < 7; i++)
		KIND(&then.layer, then.x[1], 0, PHILOX_CALL_EAGER);
	KIND(&then.layer, then.x[1], 0, PHILOX_CALL_RECORD);
	again_close(&then);
}

static void make_fixed(struct layer *layer, struct philox_runner *r)
{
	const struct philox_input_desc input = {.name = "x",
						.flags = PHILOX_INPUT_FIXED};
	struct philox_function_desc options = layer_options("layer", layer);

	options.inputs = &input;
	make_function_of(layer, r, &options);
}

RUNNER_PROMISE(runner_plan, finds_no_input_moved_that_must_not_move)
{
	struct layer first = make_layer(f, r, "layer");
	struct again then;
	uint32_t *y[2];
	struct layer_call call;

	make_fixed(&first, r);
	settle(&first, make_words(f, 3), 0);
	again_fixture(&then, f);
	for (uint32_t i = 0; i < 2; i++)
		y[i] = make_words(&then.f, i);
	then.layer = make_layer(&then.f, then.r, "layer");
	make_fixed(&then.layer, then.r);
	again_load(&then, f, r);
	KIND(&then.layer, y[0], 0, PHILOX_CALL_WARMUP);
	KIND(&then.layer, y[0], 0, PHILOX_CALL_RECORD);
	call = new_call(&then.layer, y[1], 0);
	FAILS(try_call(&then.layer, &call), PHILOX_ERROR_MISMATCH);
	NAMES("inputs moved: input 'x'");
	again_close(&then);
}

RUNNER_PROMISE(runner_plan, counts_what_was_prepared_as_prepared)
{
	const struct philox_policy policy = {.recordings = 3};
	struct first first;
	struct again then;
	struct layer_call calls[3];

	start(&first, f, r, &policy);
	for (unsigned i = 0; i < 3; i++)
		calls[i] = new_call(&first.layer, first.x[i], 0);
	PREPARED(&first.layer, calls, 3, 3);
	again_open(&then, f, r, &policy);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	kinds(&then.layer, then.x, 0, 3, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&then.layer).unplayed, 0);
	cr_assert_eq(counts_of(&then.layer).prepared, 0);
	kinds(&then.layer, then.x, 3, 7, PHILOX_CALL_RECORD);
	KIND(&then.layer, then.x[7], 0, PHILOX_CALL_EAGER);
	again_close(&then);
}

RUNNER_PROMISE(runner_plan, may_be_prepared_ahead_of_traffic)
{
	const struct philox_policy policy = {.recordings = 2};
	struct first first;
	struct again then;
	struct layer_call calls[2];

	start(&first, f, r, &policy);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_WARMUP);
	for (unsigned i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++)
			kind_of_call(&first.layer, first.x[i], 0);
	cr_assert_eq(counts_of(&first.layer).recordings, 2);
	again_open(&then, f, r, &policy);
	for (unsigned i = 0; i < 2; i++)
		calls[i] = new_call(&then.layer, then.x[i], 0);
	PREPARED(&then.layer, calls, 2, 2);
	/* as many as there were: what comes now is a third */
	kinds(&then.layer, then.x, 0, 2, PHILOX_CALL_REPLAY);
	KIND(&then.layer, then.x[2], 0, PHILOX_CALL_RECORD);
	WHY(&then.layer, "its inputs moved");
	cr_assert_eq(counts_of(&then.layer).evicted, 1);
	again_close(&then);
}

RUNNER_PROMISE(runner_plan, records_beside_live_outputs_what_was_recorded_so)
{
	const struct philox_policy policy = {0};
	struct first first;
	struct again then;
	struct layer_call kept;

	start(&first, f, r, &policy);
	settle(&first.layer, first.x[0], 0);
	kept = made_call(&first.layer, first.x[0], 0);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_RECORD);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_REPLAY);
	release_outputs(&first.layer, &kept);
	again_open(&then, f, r, &policy);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	kept = made_call(&then.layer, then.x[0], 0);
	cr_assert_eq(kept.call.kind, PHILOX_CALL_RECORD);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&then.layer).unplayed, 0);
	release_outputs(&then.layer, &kept);
	again_close(&then);
}

/* What the recordings of the plan drew from is no more, as it would be there. */
RUNNER_PROMISE(runner_plan, forgets_recordings_whose_region_is_destroyed)
{
	const struct philox_policy policy = {0};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_WARMUP);
	for (unsigned i = 0; i < 3; i++)
		for (int k = 0; k < 2; k++)
			kind_of_call(&first.layer, first.x[i], 0);
	again_open(&then, f, r, &policy);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_RECORD);
	OK(philox_region_destroy(then.layer.region));
	then.layer.region = make_region(&then.f, "layer");
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_RECORD);
	WHY(&then.layer, "was destroyed");
	KIND(&then.layer, then.x[1], 0, PHILOX_CALL_RECORD);
	WHY(&then.layer, "its inputs moved");
	again_close(&then);
}

/* --- inputs --------------------------------------------------------------- */

static void make_automatic(struct layer *layer, struct philox_runner *r)
{
	const struct philox_input_desc input = {.name = "x",
						.kind = PHILOX_INPUT_AUTOMATIC};
	struct philox_function_desc options = layer_options("auto", layer);

	options.inputs = &input;
	make_function_of(layer, r, &options);
}

enum { MOVES = PHILOX_AUTOMATIC_MOVES, AUTOMATIC_PLACES = MOVES + 4 };

struct automatic {
	struct again again;
	struct layer first, then;
	uint32_t *x[AUTOMATIC_PLACES], *y[AUTOMATIC_PLACES];
};

/* Calls at places of `x` of the first process, then the plan is loaded. */
static void go_on_automatically(struct automatic *a, struct fixture *f,
				struct philox_runner *r, unsigned calls)
{
	a->first = make_layer(f, r, "auto");
	make_automatic(&a->first, r);
	for (uint32_t i = 0; i < AUTOMATIC_PLACES; i++)
		a->x[i] = make_words(f, i);
	for (unsigned i = 0; i < calls; i++)
		kind_of_call(&a->first, a->x[i], 0);
	again_fixture(&a->again, f);
	for (uint32_t i = 0; i < AUTOMATIC_PLACES; i++)
		a->y[i] = make_words(&a->again.f, i);
	a->then = make_layer(&a->again.f, a->again.r, "auto");
	make_automatic(&a->then, a->again.r);
	again_load(&a->again, f, r);
}

RUNNER_PROMISE(runner_plan, goes_on_copying_what_had_moved)
{
	struct automatic a;

	/* a warm-up, a first place, its moves, and the copy */
	go_on_automatically(&a, f, r, MOVES + 3);
	KIND(&a.then, a.y[0], 0, PHILOX_CALL_WARMUP);
	KIND(&a.then, a.y[1], 0, PHILOX_CALL_RECORD);
	for (int i = 0; i < 6; i++)
		KIND(&a.then, a.y[i % 4], 0, PHILOX_CALL_REPLAY);
	cr_assert_eq(counts_of(&a.then).copies, 7);
	again_close(&a.again);
}

/* It moved once less; in this process it is elsewhere, which is no move. */
RUNNER_PROMISE(runner_plan, takes_the_first_places_of_an_input_for_no_moves)
{
	struct automatic a;

	go_on_automatically(&a, f, r, MOVES + 1);
	KIND(&a.then, a.y[0], 0, PHILOX_CALL_WARMUP);
	for (int i = 0; i < MOVES; i++)
		KIND(&a.then, a.y[i], 0, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&a.then).copies, 0);
	cr_assert_eq(counts_of(&a.then).recordings, MOVES);
	KIND(&a.then, a.y[MOVES], 0, PHILOX_CALL_RECORD); /* the last move */
	KIND(&a.then, a.y[MOVES + 1], 0, PHILOX_CALL_RECORD);
	KIND(&a.then, a.y[MOVES + 2], 0, PHILOX_CALL_REPLAY);
	cr_assert_eq(counts_of(&a.then).recordings, 1);
	again_close(&a.again);
}

RUNNER_PROMISE(runner_plan, knows_the_sizes_of_inputs)
{
	const struct philox_policy policy = {0};
	struct first first;
	struct again then;
	struct layer_call call;

	start(&first, f, r, &policy);
	settle(&first.layer, first.x[0], 0);
	again_open(&then, f, r, &policy);
	call = new_call(&then.layer, then.x[0], 0);
	call.x.bytes = 4;
	FAILS(try_call(&then.layer, &call), PHILOX_ERROR_INVALID);
	NAMES("input 'x' has 4 bytes, but 128 in earlier calls");
	again_close(&then);
}

RUNNER_PROMISE(runner_plan, compares_what_the_body_does_with_what_it_did)
{
	const struct philox_policy policy = {0};
	struct first first;
	struct again then;
	struct layer_call call;

	start(&first, f, r, &policy);
	settle(&first.layer, first.x[0], 0);
	again_open(&then, f, r, &policy);
	then.layer.region = make_region(&then.f, "other");
	call = new_call(&then.layer, then.x[0], 0);
	FAILS(try_call(&then.layer, &call), PHILOX_ERROR_MISMATCH);
	NAMES("is a forward of region 'other'");
	NAMES("was a forward of region 'layer'");
	again_close(&then);
}

/* --- refusals ------------------------------------------------------------- */

static int refuses;

static enum philox_status refuse_now(struct layer *layer,
				     struct philox_run *run)
{
	(void)layer;
	if (refuses)
		OK(philox_run_refuse(run, "its grid is \"odd\"\n"));
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_plan, has_a_key_wait_for_as_many_calls_as_it_would_have)
{
	const struct philox_policy policy = {.retry = 5};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	first.layer.hook = refuse_now;
	refuses = 1;
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_WARMUP);
	refuses = 0;
	kinds(&first.layer, first.x, 0, 2, PHILOX_CALL_EAGER);
	again_open(&then, f, r, &policy);
	kinds(&then.layer, then.x, 0, 3, PHILOX_CALL_EAGER);
	WHY(&then.layer,
	    "its body refused to be recorded: its grid is \"odd\"\n");
	cr_assert_eq(counts_of(&then.layer).missed_refused, 3);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_RECORD);
	again_close(&then);
}

RUNNER_PROMISE(runner_plan, has_a_key_wait_for_ever_that_did)
{
	const struct philox_policy policy = {.retry = PHILOX_NEVER, .dry = 1};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	first.layer.hook = refuse_now;
	refuses = 1;
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_WARMUP);
	again_open(&then, f, r, &policy);
	kinds(&then.layer, then.x, 0, 12, PHILOX_CALL_EAGER);
	cr_assert_eq(counts_of(&then.layer).dry, 0);
	again_close(&then);
}

struct pair {
	struct again again;
	struct duo here, there;
};

static void make_second_duo(struct pair *pair, struct fixture *f)
{
	again_fixture(&pair->again, f);
	make_duo(&pair->again.f, pair->again.r, &pair->there);
}

/* Forwards that were not recorded, and their backwards elsewhere. */
RUNNER_PROMISE(runner_plan, tells_a_backward_why_its_forward_was_not_recorded)
{
	struct forward made[3];
	struct pair pair;

	make_duo(f, r, &pair.here);
	for (int i = 0; i < 3; i++) {
		struct layer_call call;

		made[0] = call_forward(&pair.here.forth, pair.here.x, 0);
		call = new_call(&pair.here.back, pair.here.x, 0);
		call.use.ticket = made[0].ticket;
		OK(try_call(&pair.here.back, &call));
		release_outputs(&pair.here.back, &call);
	}
	pair.here.forth.hook = refuse_now;
	refuses = 1;
	for (int i = 0; i < 3; i++)
		made[i] = call_forward(&pair.here.forth, pair.here.x, 1);
	refuses = 0;
	make_second_duo(&pair, f);
	again_load(&pair.again, f, r);
	for (int i = 0; i < 3; i++) {
		struct layer_call call =
			new_call(&pair.there.back, pair.there.x, 0);

		call.use.ticket = made[i].ticket;
		OK(try_call(&pair.there.back, &call));
		cr_assert_eq(call.call.kind, PHILOX_CALL_EAGER);
		cr_assert_str_eq(
			philox_function_reason(pair.there.back.function),
			"its ticket is of function 'forth', which was not "
			"recorded: its body refused to be recorded: its grid "
			"is \"odd\"\n");
		SAME(read_numbers(&pair.again.f, call.outputs[0].address),
		     made[i].saw, "backward %d", i);
		release_outputs(&pair.there.back, &call);
	}
	cr_assert_eq(counts_of(&pair.there.back).missed_refused, 3);
	again_close(&pair.again);
}

/* The function of a forward is gone; its tickets and its reason are not. */
RUNNER_PROMISE(runner_plan, keeps_the_reason_of_a_function_that_was_destroyed)
{
	struct pair pair;
	struct forward made;
	char *text;

	make_duo(f, r, &pair.here);
	pair.here.forth.hook = refuse_now;
	refuses = 1;
	made = call_forward(&pair.here.forth, pair.here.x, 1);
	refuses = 0;
	settle(&pair.here.forth, pair.here.x, 2); /* another reason */
	OK(philox_device_synchronize(f->device));
	OK(philox_function_destroy(pair.here.forth.function));
	text = plan_of(r);
	cr_assert(strstr(text, " by \"forth\" destroyed for \"its body refused "
			       "to be recorded: its grid is \\x22odd\\x22"
			       "\\x0a\"\n"),
		  "%s", text);
	cr_assert_not(strstr(text, "function \"forth\""));
	free(text);
	again_fixture(&pair.again, f);
	pair.there.x = make_words(&pair.again.f, 3);
	pair.there.back = make_layer(&pair.again.f, pair.again.r, "layer");
	pair.there.back.backward = 1;
	make_function(&pair.there.back, pair.again.r, "back");
	again_load(&pair.again, f, r);
	for (int i = 0; i < 2; i++) {
		struct layer_call call =
			new_call(&pair.there.back, pair.there.x, 0);

		call.use.ticket = made.ticket;
		call.use.flags = PHILOX_PASS_RETAIN;
		OK(try_call(&pair.there.back, &call));
		release_outputs(&pair.there.back, &call);
	}
	WHY(&pair.there.back, "its ticket is of function 'forth', which was ");
	again_close(&pair.again);
}

/* --- limits --------------------------------------------------------------- */

RUNNER_PROMISE(runner_plan, drops_the_key_that_was_called_longest_ago)
{
	const struct philox_policy policy = {.keys = 3};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	for (uint32_t key = 0; key < 3; key++)
		settle(&first.layer, first.x[0], key);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_REPLAY);
	again_open(&then, f, r, &policy);
	cr_assert_eq(counts_of(&then.layer).keys, 3);
	KIND(&then.layer, then.x[0], 5, PHILOX_CALL_WARMUP); /* 1 goes */
	cr_assert_eq(counts_of(&then.layer).keys, 3);
	cr_assert_eq(counts_of(&then.layer).keys_dropped, 1);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	WHY(&then.layer, "its body has not run in this process");
	KIND(&then.layer, then.x[0], 2, PHILOX_CALL_WARMUP);
	WHY(&then.layer, "its body has not run in this process");
	KIND(&then.layer, then.x[0], 1, PHILOX_CALL_WARMUP);
	WHY(&then.layer, "it is warmed up under this key");
	again_close(&then);
}

/* Of a recording beside the pool: each is in the extent of the other. */
static uint64_t bytes_of_a_recording(struct fixture *f)
{
	const struct philox_policy policy = {0};
	struct again then;
	uint64_t bytes;

	again_fixture(&then, f);
	again_make(&then.f, then.r, &then.layer, &policy, then.x);
	settle(&then.layer, then.x[0], 0);
	settle(&then.layer, then.x[0], 1);
	bytes = counts_of(&then.layer).bytes / 2;
	again_close(&then);
	return bytes;
}

/* Room for an extent, and for two recordings and a half. */
RUNNER_PROMISE(runner_plan, counts_the_bytes_of_what_is_not_recorded_yet)
{
	const struct philox_policy policy = {
		.bytes = (2 << 20) + bytes_of_a_recording(f) * 5 / 2};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	for (uint32_t key = 0; key < 3; key++)
		settle(&first.layer, first.x[0], key);
	cr_assert_eq(counts_of(&first.layer).recordings, 3);
	again_open(&then, f, r, &policy);
	/* a fourth, which has the extent alone: that of key 0 is given up, and
	 * that of key 1 */
	settle(&then.layer, then.x[0], 3);
	for (uint32_t key = 0; key < 3; key++) {
		KIND(&then.layer, then.x[0], key, PHILOX_CALL_WARMUP);
		KIND(&then.layer, then.x[0], key, PHILOX_CALL_RECORD);
		WHY(&then.layer,
		    key == 2 ? "when its plan was saved"
			     : "its recording was dropped: it was given up "
			       "before it was made again, for policy.bytes");
	}
	again_close(&then);
}

/* --- functions ------------------------------------------------------------ */

RUNNER_PROMISE(runner_plan, leaves_functions_that_it_does_not_know_as_they_are)
{
	const struct philox_policy policy = {0};
	struct first first;
	struct again then;
	struct layer more;

	start(&first, f, r, &policy);
	settle(&first.layer, first.x[0], 0);
	again_fixture(&then, f);
	again_make(&then.f, then.r, &then.layer, &policy, then.x);
	more = then.layer;
	make_function_under(&more, then.r, "more", &policy);
	{
		char *text = plan_of(r);

		OK(philox_plan_load_text(then.r, text, strlen(text)));
		free(text);
	}
	KIND(&more, then.x[0], 0, PHILOX_CALL_WARMUP);
	WHY(&more, "it is warmed up under this key");
	KIND(&more, then.x[0], 0, PHILOX_CALL_RECORD);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	WHY(&then.layer, "its body has not run in this process");
	again_close(&then);
}

RUNNER_PROMISE(runner_plan, of_functions_that_are_eager_is_loaded)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("layer", &layer);
	struct again then;

	options.flags = PHILOX_FUNCTION_EAGER;
	make_function_of(&layer, r, &options);
	for (int i = 0; i < 3; i++)
		KIND(&layer, make_words(f, 3), 0, PHILOX_CALL_EAGER);
	again_fixture(&then, f);
	then.layer = make_layer(&then.f, then.r, "layer");
	options.user = &then.layer;
	make_function_of(&then.layer, then.r, &options);
	again_load(&then, f, r);
	KIND(&then.layer, make_words(&then.f, 3), 0, PHILOX_CALL_EAGER);
	again_close(&then);
}

/* Twice over: in a third process, from the second which got half-way. */
RUNNER_PROMISE(runner_plan, goes_on_from_a_runner_that_had_one)
{
	const struct philox_policy policy = {.recordings = 4};
	struct first first;
	struct again then, last;

	start(&first, f, r, &policy);
	KIND(&first.layer, first.x[0], 0, PHILOX_CALL_WARMUP);
	for (unsigned i = 0; i < 4; i++)
		for (int k = 0; k < 2; k++)
			kind_of_call(&first.layer, first.x[i], 0);
	again_open(&then, f, r, &policy);
	KIND(&then.layer, then.x[0], 0, PHILOX_CALL_WARMUP);
	kinds(&then.layer, then.x, 0, 2, PHILOX_CALL_RECORD);
	again_open(&last, &then.f, then.r, &policy);
	KIND(&last.layer, last.x[0], 0, PHILOX_CALL_WARMUP);
	kinds(&last.layer, last.x, 0, 4, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&last.layer).unplayed, 0);
	cr_assert_eq(counts_of(&last.layer).evicted, 0);
	KIND(&last.layer, last.x[4], 0, PHILOX_CALL_RECORD);
	cr_assert_eq(counts_of(&last.layer).evicted, 1);
	again_close(&last);
	again_close(&then);
}

/* --- memory --------------------------------------------------------------- */

static struct philox_pool_stats figures_of(struct philox_runner *r)
{
	struct philox_pool_stats figures =
		PHILOX_INIT(struct philox_pool_stats);

	OK(philox_pool_get_stats(philox_runner_pool(r), &figures));
	return figures;
}

RUNNER_PROMISE(runner_plan, has_the_memory_taken_that_the_pool_had)
{
	const struct philox_policy policy = {0};
	uint64_t growths;
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	settle(&first.layer, first.x[0], 0);
	again_open(&then, f, r, &policy);
	cr_assert_geq(figures_of(then.r).mapped, figures_of(r).mapped_peak);
	growths = figures_of(then.r).growths;
	cr_assert_eq(growths, 1);
	settle(&then.layer, then.x[0], 0);
	cr_assert_eq(figures_of(then.r).growths, growths);
	again_close(&then);
}

RUNNER_PROMISE(runner_plan, says_where_its_memory_is_not_to_be_had)
{
	const struct philox_policy policy = {0};
	struct first first;
	struct again then;

	start(&first, f, r, &policy);
	settle(&first.layer, first.x[0], 0);
	again_fixture(&then, f);
	again_make(&then.f, then.r, &then.layer, &policy, then.x);
	log_texts(&then.f);
	then.f.injected = 1;
	OK(philox_device_fail(then.f.device, "mem_alloc", 1,
			      PHILOX_ERROR_MEMORY));
	again_load(&then, f, r);
	LOGGED("plan|-|-|runner 'runner' has a plan of 1 function, 1 key and 1 "
	       "recording");
	LOGGED("plan|-|-|runner 'runner' cannot take the memory of its plan "
	       "ahead: ");
	cr_assert_str_eq(philox_error_message(), "");
	cr_assert_eq(figures_of(then.r).mapped, 0);
	settle(&then.layer, then.x[0], 0);
	again_close(&then);
}
