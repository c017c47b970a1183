/*
 * tests/runner/agree/prepare.c - calls that processes prepare together
 */
#include <stdlib.h>
#include "tests/support/ranks/agree.h"

/* Prepares one call, after which so many have a recording. */
static void prepares(struct team *team, const uint32_t *x, uint32_t key,
		     enum philox_call_kind kind, size_t wanted,
		     const char *digits)
{
	struct layer_call call = new_call(&team->layer, x, key);

	call.call.kind = 77;
	PREPARED(&team->layer, &call, 1, wanted);
	cr_assert_eq(call.call.kind, kind, "kind %u", call.call.kind);
	ASKED(team, digits);
}

RUNNER_PROMISE(runner_agree_prepare, asks_for_each_call)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	struct layer_call calls[3];

	make_team(&team, f, r, "layer", NULL);
	for (uint32_t i = 0; i < 3; i++)
		calls[i] = new_call(&team.layer, x, i / 2);
	PREPARED(&team.layer, calls, 3, 3);
	ASKED(&team, "33433");
	PREPARED(&team.layer, calls, 3, 3);
	ASKED(&team, "444");
	cr_assert_eq(counts_of(&team.layer).prepared, 2);
	cr_assert_eq(counts_of(&team.layer).missed_agreed, 0);
	AGREED(&team, x, 0, PHILOX_CALL_REPLAY, "4");
	OK(philox_function_prepare(team.layer.function, NULL, 0, NULL));
	ASKED(&team, "");
}

RUNNER_PROMISE(runner_agree_prepare, passes_over_what_others_do)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_team(&team, f, r, "layer", NULL);
	for (uint32_t others = PHILOX_CALL_EAGER; others <= PHILOX_CALL_WARMUP;
	     others++) {
		team.others = others;
		prepares(&team, x, 0, PHILOX_CALL_NONE, 0, "3");
	}
	cr_assert_eq(team.layer.bodies, 0);
	team.others = PHILOX_CALL_REPLAY;
	prepares(&team, x, 0, PHILOX_CALL_RECORD, 1, "33");
	team.others = PHILOX_CALL_EAGER;
	prepares(&team, x, 0, PHILOX_CALL_NONE, 1, "4");
	cr_assert_eq(team.layer.bodies, 1);
	cr_assert_eq(counts_of(&team.layer).missed_agreed, 0);
	cr_assert_str_eq(philox_function_reason(team.layer.function), "");
}

RUNNER_PROMISE(runner_agree_prepare, records_again_what_others_record)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_team(&team, f, r, "layer", NULL);
	settle(&team.layer, x, 0);
	team.asked[0] = '\0';
	team.others = PHILOX_CALL_RECORD;
	prepares(&team, x, 0, PHILOX_CALL_RECORD, 1, "43");
	cr_assert_eq(team.layer.bodies, 3);
	cr_assert_eq(counts_of(&team.layer).recordings, 1);
	cr_assert_eq(counts_of(&team.layer).prepared, 1);
	team.others = PHILOX_CALL_REPLAY;
	SAME(call_forward(&team.layer, x, 0).saw, predict(0, "layer", 20),
	     "the new one");
	ASKED(&team, "4");
}

RUNNER_PROMISE(runner_agree_prepare, keeps_a_recording_that_others_lack)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_team(&team, f, r, "layer", NULL);
	team.each = "31";
	prepares(&team, x, 0, PHILOX_CALL_RECORD, 1, "33");
	cr_assert_eq(team.layer.bodies, 1, "and nothing is run");
	AGREED(&team, x, 0, PHILOX_CALL_REPLAY, "4");
}

static enum philox_status refuse(struct layer *layer, struct philox_run *run)
{
	(void)layer;
	return philox_run_refuse(run, "a grid depends on data");
}

/* A body that refuses, then a key that waits, then one that is eager. */
RUNNER_PROMISE(runner_agree_prepare, tells_others_what_it_passes_over)
{
	struct team team;
	struct philox_function_desc options;
	uint32_t *x = make_words(f, 3);

	make_team(&team, f, r, "layer", NULL);
	team.layer.hook = refuse;
	prepares(&team, x, 0, PHILOX_CALL_NONE, 0, "31");
	prepares(&team, x, 0, PHILOX_CALL_NONE, 0, "1");
	cr_assert_eq(team.layer.bodies, 1);
	OK(philox_function_destroy(team.layer.function));
	options = team_options("layer", &team);
	options.flags |= PHILOX_FUNCTION_EAGER;
	make_function_of(&team.layer, r, &options);
	prepares(&team, x, 0, PHILOX_CALL_NONE, 0, "1");
	cr_assert_eq(team.layer.bodies, 1);
}

/* The list ends at the call that fails; the others are told of no more. */
RUNNER_PROMISE(runner_agree_prepare, tells_others_of_a_failure)
{
	struct team team;
	uint32_t *x = make_words(f, 3);
	struct layer_call calls[3];
	size_t prepared = 99;

	make_team(&team, f, r, "layer", NULL);
	for (uint32_t i = 0; i < 3; i++)
		calls[i] = new_call(&team.layer, x, i);
	calls[1].call.n_inputs = 2;
	FAILS(try_prepare(&team.layer, calls, 3, &prepared),
	      PHILOX_ERROR_INVALID);
	NAMES("1 input, not 2");
	ASKED(&team, "330");
	cr_assert_eq(prepared, 1);
	FAILS(philox_function_prepare(team.layer.function, NULL, 3, &prepared),
	      PHILOX_ERROR_INVALID);
	NAMES("calls is NULL");
	ASKED(&team, "0");
	cr_assert_eq(prepared, 0);
	team.layer.returns = PHILOX_ERROR_LIMIT;
	FAILS(try_prepare(&team.layer, &calls[2], 1, NULL), PHILOX_ERROR_LIMIT);
	ASKED(&team, "30");
}

RUNNER_PROMISE(runner_agree_prepare, fails_where_others_do)
{
	static const char *const each[] = {"0", "30"};
	struct team team;
	uint32_t *x = make_words(f, 3);
	struct layer_call call;
	size_t prepared;

	make_team(&team, f, r, "layer", NULL);
	call = new_call(&team.layer, x, 0);
	for (size_t i = 0; i < 2; i++) {
		prepared = 99;
		team.each = each[i];
		SAYS(try_prepare(&team.layer, &call, 1, &prepared),
		     PHILOX_ERROR_STATE,
		     "function 'layer': other processes cannot make the call");
		ASKED(&team, i ? "33" : "3");
		cr_assert_eq(call.call.kind, PHILOX_CALL_NONE);
		cr_assert_eq(prepared, 0);
		PENDING(team.layer.region, 0);
		LIVE(f, r, 0);
	}
	team.fails = PHILOX_ERROR_DEVICE;
	SAYS(try_prepare(&team.layer, &call, 1, NULL), PHILOX_ERROR_DEVICE,
	     "function 'layer': its processes cannot agree: agree() returned "
	     "PHILOX_ERROR_DEVICE");
	team.fails = PHILOX_OK;
	team.asked[0] = '\0';
	SAME(call_forward(&team.layer, x, 0).saw, predict(0, "layer", 0),
	     "the recording was kept");
	ASKED(&team, "4");
}
