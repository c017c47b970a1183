/*
 * tests/runner/agree/agree.c - what a call is executed as when other processes
 * have a say
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/ranks/agree.h"

/* --- when they are asked -------------------------------------------------- */

static void is_between(struct team *team, uint32_t wanted)
{
	struct fixture *f = team->layer.f;
	enum philox_capture_status status;

	(void)wanted;
	OK(philox_stream_capture_info(f->device, f->stream, &status, NULL));
	cr_assert_eq(status, PHILOX_CAPTURE_NONE);
}

RUNNER_PROMISE(runner_agree, asks_before_anything_is_captured_or_run)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_team(&team, f, r, "layer", NULL);
	team.hook = is_between;
	for (unsigned i = 0; i < 6; i++) {
		const uint64_t bodies = team.layer.bodies;
		const uint64_t launched = calls_of(f, "exec_launch");

		SAME(call_forward(&team.layer, x, 0).saw,
		     predict(0, "layer", 4 * i), "call %u", i);
		ASKED(&team, i == 0 ? "2" : i == 1 ? "33" : "4");
		/* the second question comes after the capture alone */
		cr_assert_eq(team.bodies, bodies + (i == 1));
		cr_assert_eq(team.launched, launched);
	}
	cr_assert_eq(counts_of(&team.layer).replay, 4);
	cr_assert_eq(counts_of(&team.layer).missed_agreed, 0);
}

RUNNER_PROMISE(runner_agree, asks_once_with_eager_for_what_is_never_recorded)
{
	struct team team;
	struct philox_function_desc options;
	uint32_t *x = make_words(f, 3);

	make_team(&team, f, r, "layer", NULL);
	OK(philox_function_destroy(team.layer.function));
	options = team_options("layer", &team);
	options.flags |= PHILOX_FUNCTION_EAGER;
	make_function_of(&team.layer, r, &options);
	for (int i = 0; i < 4; i++)
		AGREED(&team, x, 0, PHILOX_CALL_EAGER, "1");
}

Test(runner_agree, asks_with_eager_where_all_is_eager, .timeout = 60)
{
	struct fixture f;
	struct philox_runner *r;
	struct team team;
	uint32_t *x;

	setenv("PHILOX_RUNNER", "eager", 1);
	fixture_open(&f, named_device() ? named_device() : "host:sync");
	r = make_runner_of(&f, "runner", 0);
	unsetenv("PHILOX_RUNNER");
	x = make_words(&f, 3);
	make_team(&team, &f, r, "layer", NULL);
	for (int i = 0; i < 4; i++)
		AGREED(&team, x, 0, PHILOX_CALL_EAGER, "1");
	fixture_close(&f);
}

/* --- more care than is needed here ---------------------------------------- */

/* A team whose next call is of a kind. */
static void make_team_for(struct team *team, struct fixture *f,
			  struct philox_runner *r, const char *name,
			  const uint32_t *x, enum philox_call_kind next)
{
	make_team(team, f, r, name, NULL);
	for (uint32_t i = PHILOX_CALL_WARMUP; i < (uint32_t)next; i++)
		kind_of_call(&team->layer, x, 0);
	team->asked[0] = '\0';
}

static const char *const kinds[] = {"", "an eager call", "a warm-up",
				    "a recording", "a replay"};

/* The reason says what it would have been, and so does the log, once. */
static void says_so(struct team *team, enum philox_call_kind wanted,
		    enum philox_call_kind agreed)
{
	char text[128];
	const char *reason = philox_function_reason(team->layer.function);

	snprintf(text, sizeof(text),
		 "it is %s, since other processes need more care: here it "
		 "would be %s",
		 kinds[agreed], kinds[wanted]);
	cr_assert_eq(strncmp(reason, text, strlen(text)), 0, "%s", reason);
	if (wanted == PHILOX_CALL_RECORD) {
		const char *own = strstr(reason, "a recording: nothing was "
						 "recorded under this key yet");
		cr_assert_not_null(own, "%s", reason);
	}
	LOGGED("agreed|");
	LOGGED(text);
}

static void takes_care(struct fixture *f, struct philox_runner *r,
		       enum philox_call_kind wanted,
		       enum philox_call_kind agreed)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	const unsigned before = wanted - PHILOX_CALL_WARMUP;
	char name[32], digits[2] = {(char)('0' + wanted), 0};
	unsigned n = before;

	snprintf(name, sizeof(name), "%d and %d", wanted, agreed);
	make_team_for(&team, f, r, name, x, wanted);
	log_texts(f);
	team.others = agreed;
	for (unsigned i = 0; i < 2; i++, n++) {
		struct layer_call call = new_call(&team.layer, x, 0);

		OK(try_call(&team.layer, &call));
		cr_assert_eq(call.call.kind, agreed);
		ASKED(&team, wanted == PHILOX_CALL_REPLAY &&
					     agreed == PHILOX_CALL_RECORD
				     ? "43"
				     : digits);
		SAME(read_numbers(f, call.outputs[0].address),
		     predict(0, name, 4 * n), "%s, call %u", name, n);
		OK(philox_ticket_release(team.layer.region, f->stream,
					 call.use.ticket));
		release_outputs(&team.layer, &call);
		if (!i)
			says_so(&team, wanted, agreed);
		cr_assert_eq(counts_of(&team.layer).missed_agreed, i + 1);
	}
	cr_assert_null(strstr(strstr(logged_texts(), "agreed|") + 1, "agreed|"),
		       "once");
	cr_assert_eq(team.layer.bodies, (before < 2 ? before : 2) + 2,
		     "run each time");
	/* and on as if nothing had been */
	team.others = PHILOX_CALL_REPLAY;
	KIND(&team.layer, x, 0,
	     wanted == PHILOX_CALL_WARMUP && agreed == PHILOX_CALL_EAGER
		     ? PHILOX_CALL_WARMUP
		     : wanted);
}

RUNNER_PROMISE(runner_agree, takes_the_care_that_any_process_needs)
{
	for (int wanted = PHILOX_CALL_WARMUP; wanted <= PHILOX_CALL_REPLAY;
	     wanted++)
		for (int agreed = PHILOX_CALL_EAGER; agreed < wanted; agreed++)
			takes_care(f, r, (enum philox_call_kind)wanted,
				   (enum philox_call_kind)agreed);
}

/* The old recording goes, but for outputs that are in its memory. */
RUNNER_PROMISE(runner_agree, records_again_what_others_record)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	struct layer_call kept, made;
	struct numbers saw;

	make_team_for(&team, f, r, "layer", x, PHILOX_CALL_RECORD);
	for (unsigned i = 0; i < 12; i++) {
		const unsigned bodies = team.layer.bodies;

		team.others = i % 3 ? PHILOX_CALL_REPLAY : PHILOX_CALL_RECORD;
		made = new_call(&team.layer, x, 0);
		OK(try_call(&team.layer, &made));
		cr_assert_eq(made.call.kind,
			     i % 3 ? PHILOX_CALL_REPLAY : PHILOX_CALL_RECORD);
		cr_assert_eq(team.layer.bodies, bodies + (i % 3 == 0));
		cr_assert_eq(counts_of(&team.layer).recordings, 1);
		cr_assert_eq(counts_of(&team.layer).unplayed, i % 3 == 0);
		SAME(read_numbers(f, made.outputs[0].address),
		     predict(0, "layer", 4 * (i + 1)), "call %u", i);
		release_outputs(&team.layer, &made);
	}
	kept = made_call(&team.layer, x, 0);
	saw = read_numbers(f, kept.outputs[0].address);
	team.others = PHILOX_CALL_EAGER;
	kind_of_call(&team.layer, x, 0);
	SAME(read_numbers(f, kept.outputs[0].address), saw, "kept");
	GOOD(r, &kept);
}

/* Warm-ups of other processes are none of this one's. */
RUNNER_PROMISE(runner_agree, has_no_warm_up_owed_after_those_of_others)
{
	struct team team;
	uint32_t *x[2] = {make_words(f, 3), make_words(f, 4)};

	make_team_for(&team, f, r, "layer", x[0], PHILOX_CALL_REPLAY);
	team.others = PHILOX_CALL_WARMUP;
	AGREED(&team, x[0], 0, PHILOX_CALL_WARMUP, "4");
	AGREED(&team, x[0], 0, PHILOX_CALL_WARMUP, "4");
	team.others = PHILOX_CALL_REPLAY;
	AGREED(&team, x[0], 0, PHILOX_CALL_REPLAY, "4");
	AGREED(&team, x[1], 0, PHILOX_CALL_RECORD, "33");
}

/* ... whatever this one has wasted meanwhile. */
RUNNER_PROMISE(runner_agree, wants_to_record_until_others_do)
{
	struct team team;
	uint32_t *x[4];
	struct layer_call call;

	for (uint32_t i = 0; i < 4; i++)
		x[i] = make_words(f, i);
	make_team(&team, f, r, "again",
		  &(struct philox_policy){.recordings = 1,
					  .warmups = PHILOX_NEVER});
	AGREED(&team, x[0], 0, PHILOX_CALL_RECORD, "33");
	team.others = PHILOX_CALL_EAGER;
	AGREED(&team, x[1], 0, PHILOX_CALL_EAGER, "3");
	AGREED(&team, x[1], 0, PHILOX_CALL_EAGER, "3");
	team.others = PHILOX_CALL_NONE;
	call = new_call(&team.layer, x[2], 0);
	FAILS(try_call(&team.layer, &call), PHILOX_ERROR_STATE);
	ASKED(&team, "3");
	team.others = PHILOX_CALL_REPLAY;
	AGREED(&team, x[1], 0, PHILOX_CALL_RECORD, "33");
	AGREED(&team, x[1], 0, PHILOX_CALL_REPLAY, "4");
	AGREED(&team, x[0], 0, PHILOX_CALL_EAGER, "1");
}

/* Bytes are each process's own; numbers of recordings are not. */
RUNNER_PROMISE(runner_agree, counts_recordings_and_no_bytes)
{
	struct team team;
	struct philox_function_desc options;
	struct philox_function *function;
	uint32_t *x[40];

	make_team(&team, f, r, "layer",
		  &(struct philox_policy){.recordings = 2,
					  .warmups = PHILOX_NEVER});
	options = team_options("other", &team);
	options.policy.bytes = 1 << 20;
	SAYS(philox_function_create(r, &options, &function),
	     PHILOX_ERROR_INVALID,
	     "function 'other': policy.bytes is not 0, but its body speaks to "
	     "other processes, which may have other bytes");
	for (uint32_t i = 0; i < 40; i++) {
		struct layer_call call;

		x[i] = make_words(f, i);
		call = new_call(&team.layer, x[i], 0);
		call.call.key = &i;
		OK(try_call(&team.layer, &call));
		release_outputs(&team.layer, &call);
		OK(philox_ticket_release(team.layer.region, f->stream,
					 call.use.ticket));
		team.asked[0] = '\0';
	}
	cr_assert_eq(counts_of(&team.layer).recordings, 32, "16 times 2");
	cr_assert_eq(counts_of(&team.layer).evicted, 8);
}

/* --- after a capture ------------------------------------------------------ */

RUNNER_PROMISE(runner_agree, keeps_a_recording_that_others_could_not_make)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_team_for(&team, f, r, "layer", x, PHILOX_CALL_RECORD);
	team.each = "31";
	AGREED(&team, x, 0, PHILOX_CALL_EAGER, "33");
	cr_assert_eq(team.layer.bodies, 3, "captured, and run");
	cr_assert_eq(counts_of(&team.layer).recordings, 1);
	cr_assert_eq(counts_of(&team.layer).record, 0);
	cr_assert_eq(counts_of(&team.layer).missed_agreed, 1);
	cr_assert_eq(counts_of(&team.layer).missed_refused, 0);
	SAME(call_forward(&team.layer, x, 0).saw, predict(0, "layer", 8),
	     "its first launch");
	ASKED(&team, "4");
	cr_assert_eq(counts_of(&team.layer).replay, 1);
	cr_assert_eq(team.layer.bodies, 3);
}

static int refuses;

static enum philox_status refuse(struct layer *layer, struct philox_run *run)
{
	(void)layer;
	if (refuses && philox_run_kind(run) == PHILOX_CALL_RECORD)
		OK(philox_run_refuse(run, "a grid depends on data"));
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_agree, tells_others_that_a_body_refused)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	refuses = 1;
	make_team(&team, f, r, "layer", &(struct philox_policy){.retry = 2});
	team.layer.hook = refuse;
	AGREED(&team, x, 0, PHILOX_CALL_WARMUP, "2");
	AGREED(&team, x, 0, PHILOX_CALL_EAGER, "31");
	cr_assert_eq(counts_of(&team.layer).missed_refused, 1);
	cr_assert_eq(counts_of(&team.layer).missed_agreed, 0);
	AGREED(&team, x, 0, PHILOX_CALL_EAGER, "1");
	AGREED(&team, x, 0, PHILOX_CALL_EAGER, "1");
	refuses = 0;
	SAME(call_forward(&team.layer, x, 0).saw, predict(0, "layer", 16),
	     "recorded");
	ASKED(&team, "33");
}

RUNNER_PROMISE(runner_agree, tells_others_that_a_refusal_is_an_error)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	refuses = 1;
	make_team(&team, f, r, "layer",
		  &(struct philox_policy){.refused = PHILOX_REFUSED_ERROR});
	team.layer.hook = refuse;
	AGREED(&team, x, 0, PHILOX_CALL_WARMUP, "2");
	call = new_call(&team.layer, x, 0);
	SAYS(try_call(&team.layer, &call), PHILOX_ERROR_UNSUPPORTED,
	     "function 'layer': its body refused to be recorded: a grid "
	     "depends on data");
	ASKED(&team, "30");
	AGREED(&team, x, 0, PHILOX_CALL_EAGER, "1");
	refuses = 0;
}
