/*
 * tests/runner/calls/reasons.c - why a call is recorded that was recorded
 * before
 */
#include "tests/support/beds/verify.h"

#define NOT_YET "nothing was recorded under this key yet"
#define WARM_UP "it is warmed up under this key, for policy.warmups"

#define SAYS_WHY(function, why)                                   \
	cr_assert_str_eq(philox_function_reason(function), (why), \
			 "its reason is: %s, not: %s",            \
			 philox_function_reason(function), (why))

#define WHY(layer, why) SAYS_WHY((layer)->function, why)

RUNNER_PROMISE(runner_reasons, of_a_key_that_was_forgotten)
{
	static const char forgotten[] =
		"its recording was dropped: its key was forgotten, for "
		"policy.keys";
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 1});
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	WHY(&layer, NOT_YET);
	log_texts(f);
	KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
	LOGGED("dropped|-|-|function 'layer' forgets a key with 1 recording, "
	       "for policy.keys\n");
	/* 1 was never recorded */
	for (int i = 0; i < 2; i++) {
		KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
		KIND(&layer, x, 0, PHILOX_CALL_RECORD);
		WHY(&layer, forgotten);
		KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
	}
	KIND(&layer, x, 1, PHILOX_CALL_RECORD);
	WHY(&layer, NOT_YET);
	/* as one that is known to have been forgotten is, before it is recorded */
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	WHY(&layer, forgotten);
	cr_assert_eq(counts_of(&layer).missed_new, 5);
}

/* The latest ones are remembered. */
RUNNER_PROMISE(runner_reasons, of_a_key_that_was_forgotten_long_ago)
{
	struct act act = new_act(f, r, echo_script);

	act.n_uses = 0;
	act.in[0].address = make_words(f, 3);
	act.policy.keys = 1;
	act.policy.warmups = PHILOX_NEVER;
	make_act(&act, "act");
	for (act.key = 0; act.key < 70; act.key++)
		play_act(&act, PHILOX_CALL_RECORD);
	SAYS_WHY(act.function, NOT_YET);
	act.key = 68;
	play_act(&act, PHILOX_CALL_RECORD);
	cr_assert(strstr(philox_function_reason(act.function), "forgotten"));
	act.key = 0;
	play_act(&act, PHILOX_CALL_RECORD);
	SAYS_WHY(act.function, NOT_YET);
}

RUNNER_PROMISE(runner_reasons, of_what_was_destroyed)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call;
	uint32_t *other = make_words(f, 4);

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.warmups = PHILOX_NEVER});
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	KIND(&layer, x, 0, PHILOX_CALL_REPLAY);
	OK(philox_region_destroy(layer.region));
	layer.region = make_region(f, "layer");
	layer.returns = PHILOX_ERROR_LIMIT;
	call = new_call(&layer, x, 0);
	FAILS(try_call(&layer, &call), PHILOX_ERROR_LIMIT);
	cr_assert(strstr(philox_function_reason(layer.function),
			 "what its recording uses was destroyed"));
	layer.returns = PHILOX_OK;
	KIND(&layer, other, 0, PHILOX_CALL_RECORD);
	WHY(&layer, "its recording was dropped: what it used was destroyed");
}

RUNNER_PROMISE(runner_reasons, of_an_input_that_is_copied)
{
	struct philox_function_desc options;
	struct philox_input_desc input = {.name = "x",
					  .kind = PHILOX_INPUT_AUTOMATIC};
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x[18];

	options = layer_options("layer", &layer);
	options.inputs = &input;
	make_function_of(&layer, r, &options);
	for (uint32_t i = 0; i < 18; i++)
		x[i] = make_words(f, i);
	KIND(&layer, x[0], 0, PHILOX_CALL_WARMUP);
	for (int i = 0; i < 18; i++)
		KIND(&layer, x[i], 0, PHILOX_CALL_RECORD);
	WHY(&layer, "its recording was dropped: an input that it had in place "
		    "is copied");
	KIND(&layer, x[0], 0, PHILOX_CALL_REPLAY);
}

/* A part of y is frozen in a recording. */
static enum philox_status frozen_script(struct act *act, struct props *props)
{
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	return philox_memory_set(act->f->device, props->stream,
				 props->out[0] + 5, (int)act->n, 4);
}

static void make_frozen(struct act *act, uint32_t differs)
{
	act->n_uses = 0;
	act->n = 1;
	act->in[0].address = make_words(act->f, 3);
	act->policy.differs = differs;
	act->policy.retry = 1;
	make_act(act, "act");
	rehearse(act);
	play_act(act, PHILOX_CALL_REPLAY);
	act->n = 2;
}

RUNNER_PROMISE(runner_reasons, of_a_replay_that_differed)
{
	struct act act = new_act(f, r, frozen_script);

	make_frozen(&act, PHILOX_DIFFERS_ERROR);
	FAILS(call_act(&act), PHILOX_ERROR_DIFFERS);
	play_act(&act, PHILOX_CALL_RECORD);
	SAYS_WHY(act.function,
		 "its recording was dropped: its replay differed from its "
		 "body");
	play_act(&act, PHILOX_CALL_REPLAY);
}

RUNNER_PROMISE(runner_reasons, of_a_replay_that_differed_and_waits)
{
	struct act act = new_act(f, r, frozen_script);

	make_frozen(&act, PHILOX_DIFFERS_EAGER);
	play_act(&act, PHILOX_CALL_EAGER);
	SAYS_WHY(act.function,
		 "its replay differed from its body; the call has what its "
		 "body made, for policy.differs; its key waits, for "
		 "policy.retry");
	play_act(&act, PHILOX_CALL_EAGER);
	SAYS_WHY(act.function,
		 "its replay differed from its body; its key waits, for "
		 "policy.retry");
	play_act(&act, PHILOX_CALL_RECORD);
	SAYS_WHY(act.function,
		 "its recording was dropped: its replay differed from its "
		 "body");
}

/* --- warm-ups ------------------------------------------------------------- */

RUNNER_PROMISE(runner_reasons, of_a_warm_up)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.warmups = 2});
	for (int i = 0; i < 2; i++) {
		KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
		WHY(&layer, WARM_UP);
	}
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
	WHY(&layer, NOT_YET);
}

static enum philox_status ask_once(struct layer *layer, struct philox_run *run)
{
	return layer->bodies == 1 ? philox_run_again(run) : PHILOX_OK;
}

RUNNER_PROMISE(runner_reasons, of_a_warm_up_that_the_body_asked_for)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	layer.hook = ask_once;
	make_function(&layer, r, "layer");
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	WHY(&layer, WARM_UP);
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	WHY(&layer,
	    "it is warmed up under this key, as its body has asked for");
	KIND(&layer, x, 0, PHILOX_CALL_RECORD);
}

/* Keys in turn, one more than the limit: nothing is ever recorded. */
RUNNER_PROMISE(runner_reasons, of_a_key_that_was_forgotten_before_a_recording)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.keys = 1});
	for (uint32_t i = 0; i < 6; i++) {
		KIND(&layer, x, i % 2, PHILOX_CALL_WARMUP);
		WHY(&layer, i < 2 ? WARM_UP
				  : WARM_UP
				    "; its key was forgotten, for policy.keys");
	}
}

/* --- bodies that refuse --------------------------------------------------- */

#define REFUSED "its body refused to be recorded: host work"
#define WAITS   "its key waits, for policy.retry"

static enum philox_status refuse(struct layer *layer, struct philox_run *run)
{
	(void)layer;
	return philox_run_refuse(run, "host work");
}

static enum philox_status refuse_recording(struct layer *layer,
					   struct philox_run *run)
{
	return philox_run_kind(run) == PHILOX_CALL_RECORD ? refuse(layer, run)
							  : PHILOX_OK;
}

RUNNER_PROMISE(runner_reasons, of_a_body_that_refused_and_waits)
{
	static const char ran[] =
		REFUSED "; its body is run, for policy.refused; " WAITS;
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	layer.hook = refuse_recording;
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.retry = 2});
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	WHY(&layer, WARM_UP);
	for (int i = 0; i < 6; i++) {
		KIND(&layer, x, 0, PHILOX_CALL_EAGER);
		WHY(&layer, i % 3 ? REFUSED "; " WAITS : ran);
	}
}

/* Each time that it runs: also in the call that fails to record it. */
RUNNER_PROMISE(runner_reasons, of_a_body_that_always_refuses)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	layer.hook = refuse;
	make_function_under(&layer, r, "layer",
			    &(struct philox_policy){.retry = 1});
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	WHY(&layer, REFUSED "; " WAITS);
	KIND(&layer, x, 0, PHILOX_CALL_EAGER);
	WHY(&layer, REFUSED "; " WAITS);
}

RUNNER_PROMISE(runner_reasons, of_a_call_that_may_not_refuse)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	layer.hook = refuse_recording;
	make_function_under(
		&layer, r, "layer",
		&(struct philox_policy){.refused = PHILOX_REFUSED_ERROR});
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	call = new_call(&layer, x, 0);
	FAILS(try_call(&layer, &call), PHILOX_ERROR_UNSUPPORTED);
	WHY(&layer, REFUSED "; the call fails, for policy.refused; " WAITS);
	KIND(&layer, x, 0, PHILOX_CALL_EAGER);
	WHY(&layer, REFUSED "; " WAITS);
}

RUNNER_PROMISE(runner_reasons, of_a_call_that_could_not_be_prepared)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call call = new_call(&layer, make_words(f, 3), 0);

	layer.hook = refuse_recording;
	make_function(&layer, r, "layer");
	PREPARED(&layer, &call, 1, 0);
	WHY(&layer, REFUSED "; " WAITS);
}

/* What the reason goes on with is there, however long a body's words are. */
static enum philox_status refuse_at_length(struct layer *layer,
					   struct philox_run *run)
{
	char words[1000];

	(void)layer;
	memset(words, 'w', sizeof(words) - 1);
	words[sizeof(words) - 1] = '\0';
	return philox_run_refuse(run, words);
}

RUNNER_PROMISE(runner_reasons, of_any_length_name_their_option)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer_call call = new_call(&layer, make_words(f, 3), 0);
	const char *reason;

	layer.hook = refuse_at_length;
	make_function(&layer, r, "layer");
	call.call.label =
		"a label of 63 bytes, which is as long as the label of a "
		"key may";
	cr_assert_eq(strlen(call.call.label), 63);
	OK(try_call(&layer, &call));
	release_outputs(&layer, &call);
	reason = philox_function_reason(layer.function);
	cr_assert_str_eq(reason + strlen(reason) - strlen("w; " WAITS),
			 "w; " WAITS);
}
