/*
 * tests/runner/verify/verify.c - which replays are verified, and how they are
 * counted
 */
#include <stdlib.h>
#include "tests/support/beds/verify.h"

enum { BYTES = ACT_BYTES };

static struct act make_forward(struct fixture *f, struct philox_runner *r,
			       uint32_t verify)
{
	struct act act = new_act(f, r, forward_script);

	act.region = make_region(f, "layer");
	act.in[0].address = make_words(f, 3);
	act.policy.verify = verify;
	return act;
}

/* --- which ---------------------------------------------------------------- */

RUNNER_PROMISE(runner_verify, checks_no_replay_unless_it_is_asked_for)
{
	struct act act = make_forward(f, r, 0);

	make_act(&act, "act");
	rehearse(&act);
	for (int i = 0; i < 5; i++)
		play_act(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 0, 0, 0);
	cr_assert_eq(act.bodies, 2);
	cr_assert_eq(act_counts(&act).checking, 0);
	cr_assert_eq(act_counts(&act).verify_ns, 0);
}

RUNNER_PROMISE(runner_verify, checks_each_replay)
{
	struct act act = make_forward(f, r, 1);

	make_act(&act, "act");
	rehearse(&act);
	VERIFIED(&act, 0, 0, 0);
	for (unsigned i = 1; i < 6; i++) {
		play_act(&act, PHILOX_CALL_REPLAY);
		VERIFIED(&act, i, 0, 0);
		cr_assert_eq(act.bodies, 2 + i, "one run of the body each");
	}
}

RUNNER_PROMISE(runner_verify, checks_every_nth_replay_and_the_first)
{
	struct act act = make_forward(f, r, 3);

	make_act(&act, "act");
	rehearse(&act);
	for (unsigned i = 0; i < 10; i++) {
		play_act(&act, PHILOX_CALL_REPLAY);
		VERIFIED(&act, i / 3 + 1, 0, 0);
	}
}

RUNNER_PROMISE(runner_verify, checks_the_first_replay_of_very_many)
{
	struct act act = make_forward(f, r, PHILOX_NEVER);

	make_act(&act, "act");
	rehearse(&act);
	for (unsigned i = 0; i < 5; i++) {
		play_act(&act, PHILOX_CALL_REPLAY);
		VERIFIED(&act, 1, 0, 0);
	}
}

/* Replays are counted for the function, not for a key or a recording. */
RUNNER_PROMISE(runner_verify, counts_replays_of_the_function)
{
	struct act act = make_forward(f, r, 2);
	unsigned replays = 0;

	make_act(&act, "act");
	for (act.key = 0; act.key < 3; act.key++)
		rehearse(&act);
	for (unsigned i = 0; i < 12; i++) {
		act.key = i % 3;
		play_act(&act, PHILOX_CALL_REPLAY);
		VERIFIED(&act, replays++ / 2 + 1, 0, 0);
	}
}

RUNNER_PROMISE(runner_verify, checks_the_first_replay_of_a_prepared_call)
{
	struct act act = make_forward(f, r, 5);
	size_t prepared = 0;

	act.policy.warmups = PHILOX_NEVER;
	make_act(&act, "act");
	act.call = PHILOX_INIT(struct philox_call);
	act.call.stream = f->stream;
	act.call.key = &act.key;
	act.call.key_bytes = sizeof(act.key);
	act.call.inputs = act.in;
	act.call.n_inputs = 1;
	act.call.n_passes = 1;
	OK(philox_function_prepare(act.function, &act.call, 1, &prepared));
	cr_assert_eq(prepared, 1);
	VERIFIED(&act, 0, 0, 0);
	play_act(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 1, 0, 0);
	play_act(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 1, 0, 0);
}

RUNNER_PROMISE(runner_verify, checks_nothing_of_eager_functions)
{
	struct act act = make_forward(f, r, 1);

	act.flags = PHILOX_FUNCTION_EAGER;
	make_act(&act, "act");
	for (int i = 0; i < 4; i++)
		play_act(&act, PHILOX_CALL_EAGER);
	VERIFIED(&act, 0, 0, 0);
	cr_assert_eq(act.bodies, 4);
}

/* --- counts --------------------------------------------------------------- */

RUNNER_PROMISE(runner_verify, counts_its_runs_of_the_body_and_its_time)
{
	struct act act = make_forward(f, r, 2);
	struct philox_function_stats counts;
	uint64_t spent;

	make_act(&act, "act");
	rehearse(&act);
	play_act(&act, PHILOX_CALL_REPLAY);
	counts = act_counts(&act);
	cr_assert_eq(counts.bodies, 3);
	cr_assert_eq(counts.checking, 1);
	cr_assert_eq(counts.replay, 1);
	cr_assert_eq(counts.eager, 0);
	cr_assert_eq(counts.failed, 0);
	cr_assert_eq(counts.dry, 0);
	cr_assert_gt(counts.verify_ns, 0);
	cr_assert_leq(counts.verify_ns, counts.replay_ns);
	cr_assert_eq(counts.eager_ns, 0);
	spent = counts.verify_ns;
	play_act(&act, PHILOX_CALL_REPLAY);
	counts = act_counts(&act);
	cr_assert_eq(counts.verify_ns, spent, "no verification, no time");
	cr_assert_eq(counts.checking, 1);
	cr_assert_eq(counts.bodies, 3);
}

/* --- the environment ------------------------------------------------------ */

static void under_environment(uint32_t verify, uint32_t flags, int checked)
{
	struct fixture f;
	struct philox_runner *r;
	struct act act;

	setenv("PHILOX_RUNNER", "verify", 1);
	fixture_open(&f, named_device() ? named_device() : "host:sync");
	r = make_runner_of(&f, "runner", 0);
	unsetenv("PHILOX_RUNNER");
	act = make_forward(&f, r, verify);
	act.flags = flags;
	make_act(&act, "act");
	for (int i = 0; i < 6; i++) {
		OK(call_act(&act));
		release_act(&act);
		cr_assert_eq(act.call.kind, flags    ? PHILOX_CALL_EAGER
					    : i == 0 ? PHILOX_CALL_WARMUP
					    : i == 1 ? PHILOX_CALL_RECORD
						     : PHILOX_CALL_REPLAY);
		act.uses[0].ticket = (struct philox_ticket){0, 0};
	}
	VERIFIED(&act, checked, 0, 0);
	fixture_close(&f);
}

/* ... when the runner is made, whatever the policies say. */
Test(runner_verify, checks_each_replay_if_the_environment_says_so,
     .timeout = 60)
{
	under_environment(0, 0, 4);
	under_environment(3, 0, 4);
	under_environment(1, 0, 4);
	under_environment(0, PHILOX_FUNCTION_EAGER, 0);
}

Test(runner_verify, says_what_the_environment_may_say, .timeout = 60)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);
	static const char *const wrong[] = {"verified", "Verify", " verify",
					    "verify,eager"};
	struct philox_runner *r;
	struct fixture f;

	fixture_open(&f, named_device() ? named_device() : "host:sync");
	options.name = "runner";
	for (int i = 0; i < 4; i++) {
		setenv("PHILOX_RUNNER", wrong[i], 1);
		FAILS(philox_runner_create(f.context, &options, &r),
		      PHILOX_ERROR_INVALID);
		NAMES(wrong[i]);
	}
	unsetenv("PHILOX_RUNNER");
	fixture_close(&f);
}

/* Runners that were there before are as they were. */
Test(runner_verify, asks_the_environment_when_a_runner_is_made, .timeout = 60)
{
	struct philox_runner *r;
	struct fixture f;
	struct act act;

	fixture_open(&f, named_device() ? named_device() : "host:sync");
	r = make_runner_of(&f, "runner", 0);
	setenv("PHILOX_RUNNER", "verify", 1);
	act = make_forward(&f, r, 0);
	make_act(&act, "act");
	rehearse(&act);
	play_act(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 0, 0, 0);
	unsetenv("PHILOX_RUNNER");
	fixture_close(&f);
}

/* --- what the body finds -------------------------------------------------- */

static enum philox_status looking_script(struct act *act, struct props *props)
{
	const enum philox_call_kind kind = philox_run_kind(props->run);
	enum philox_capture_status status;

	OK(philox_stream_capture_info(act->f->device, props->stream, &status,
				      NULL));
	cr_assert_eq(status == PHILOX_CAPTURE_ACTIVE,
		     kind == PHILOX_CALL_RECORD);
	cr_assert_eq(kind, act->bodies == 1   ? PHILOX_CALL_WARMUP
			   : act->bodies == 2 ? PHILOX_CALL_RECORD
					      : PHILOX_CALL_EAGER);
	cr_assert(act->bodies < 3 || props->stream == act->stream);
	return forward_script(act, props);
}

RUNNER_PROMISE(runner_verify, runs_the_body_as_an_eager_call)
{
	struct act act = make_forward(f, r, 1);

	act.script = looking_script;
	make_act(&act, "act");
	rehearse(&act);
	for (int i = 0; i < 3; i++)
		play_act(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 3, 0, 0);
}

/* A tall stack of outputs is compared to the last byte of each. */
static enum philox_status odd_script(struct act *act, struct props *props)
{
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	props->bytes[0] = act->n;
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_verify, takes_outputs_of_any_size)
{
	static const unsigned sizes[] = {1, 2, 3, 4, 5, 7, 15, 16, 17, 127};

	for (unsigned i = 0; i < 10; i++) {
		struct act act = new_act(f, r, odd_script);

		act.n_uses = 0;
		act.n = sizes[i];
		act.in[0].address = make_words(f, 3);
		make_act(&act, "act");
		rehearse(&act);
		play_act(&act, PHILOX_CALL_REPLAY);
		VERIFIED(&act, 1, 0, 0);
		OK(philox_device_synchronize(f->device));
		OK(philox_function_destroy(act.function));
	}
}

/* --- waiting -------------------------------------------------------------- */

/* What it gives is there when it returns. */
SLOW_PROMISE(runner_verify, waits_for_the_device)
{
	struct act act = make_forward(f, r, 2);

	make_act(&act, "act");
	rehearse(&act);
	for (unsigned i = 2; i < 6; i++) {
		const struct numbers y = predict(0, "layer", 4 * (uint64_t)i);

		delay(f, f->stream);
		OK(call_act(&act));
		cr_assert(i % 2 || !memcmp(act.out[0].address, &y, BYTES));
		release_act(&act);
		act.uses[0].ticket = (struct philox_ticket){0, 0};
	}
	VERIFIED(&act, 2, 0, 0);
	OK(philox_device_synchronize(f->device));
}

/* What is written late on the stream is what the body sees, and the graph. */
SLOW_PROMISE(runner_verify, comes_after_what_is_on_the_stream)
{
	struct act act = new_act(f, r, echo_script);
	uint32_t *x = make_words(f, 0);

	act.n_uses = 0;
	act.in[0].address = x;
	make_act(&act, "act");
	for (uint32_t i = 0; i < 6; i++) {
		struct numbers words = all_words(i);

		delay(f, f->stream);
		OK(philox_memory_copy(f->device, f->stream, x, &words,
				      sizeof(words)));
		OK(call_act(&act));
		SAME(read_numbers(f, act.out[0].address), words, "call %u", i);
		release_act(&act);
	}
	VERIFIED(&act, 4, 0, 0);
}
