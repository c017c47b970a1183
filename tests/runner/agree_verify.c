/*
 * tests/runner/agree_verify.c - replays that processes verify together
 */
#include <stdio.h>
#include "tests/support/agree_bed.h"

static void make_verified(struct team *team, struct fixture *f,
			  struct philox_runner *r, const uint32_t *x,
			  uint32_t verify, uint32_t differs)
{
	const struct philox_policy policy = {.verify = verify,
					     .differs = differs};

	make_team(team, f, r, "layer", &policy);
	for (int i = 0; i < 2; i++)
		kind_of_call(&team->layer, x, 0);
	team->asked[0] = '\0';
}

RUNNER_PROMISE(runner_agree_verify, asks_before_the_body_and_after_comparing)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_verified(&team, f, r, x, 2, 0);
	for (unsigned i = 0; i < 4; i++) {
		const uint64_t bodies = team.layer.bodies;

		SAME(call_forward(&team.layer, x, 0).saw,
		     predict(0, "layer", 4 * (2 + i)), "call %u", i);
		ASKED(&team, i % 2 ? "4" : "444");
		cr_assert_eq(team.layer.bodies, bodies + !(i % 2));
	}
	cr_assert_eq(counts_of(&team.layer).verified, 2);
	cr_assert_eq(counts_of(&team.layer).replay, 4);
	cr_assert_eq(counts_of(&team.layer).missed_agreed, 0);
}

RUNNER_PROMISE(runner_agree_verify, is_done_by_all_or_by_none)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_verified(&team, f, r, x, 1, 0);
	log_texts(f);
	for (int i = 0; i < 2; i++) {
		const uint64_t bodies = team.layer.bodies;

		team.each = "41";
		AGREED(&team, x, 0, PHILOX_CALL_REPLAY, "44");
		cr_assert_eq(team.layer.bodies, bodies);
	}
	LOGGED("not verified|");
	LOGGED("another process cannot verify its own");
	cr_assert_eq(counts_of(&team.layer).verified, 0);
	cr_assert_eq(counts_of(&team.layer).unverified, 2);
	AGREED(&team, x, 0, PHILOX_CALL_REPLAY, "444");
	cr_assert_eq(counts_of(&team.layer).verified, 1);
}

RUNNER_PROMISE(runner_agree_verify, fails_everywhere_where_one_differs)
{
	struct team team;
	struct layer_call call;
	uint32_t *x = make_words(f, 3);
	size_t before;

	make_verified(&team, f, r, x, 1, PHILOX_DIFFERS_ERROR);
	before = pending(team.layer.region);
	team.each = "441";
	call = new_call(&team.layer, x, 0);
	FAILS(try_call(&team.layer, &call), PHILOX_ERROR_DIFFERS);
	NAMES("other processes");
	ASKED(&team, "444");
	PENDING(team.layer.region, before);
	LIVE(f, r, 0);
	cr_assert_eq(counts_of(&team.layer).verified, 1);
	cr_assert_eq(counts_of(&team.layer).differed, 0);
	AGREED(&team, x, 0, PHILOX_CALL_RECORD, "33");
	AGREED(&team, x, 0, PHILOX_CALL_REPLAY, "444");
}

/* The numbers are those of the launch: none is skipped. */
RUNNER_PROMISE(runner_agree_verify, falls_back_everywhere_where_one_differs)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_verified(&team, f, r, x, 1, PHILOX_DIFFERS_EAGER);
	team.each = "441";
	for (unsigned i = 0; i < 3; i++) {
		SAME(call_forward(&team.layer, x, 0).saw,
		     predict(0, "layer", 4 * (2 + i)), "call %u", i);
		ASKED(&team, i ? "1" : "444");
	}
	cr_assert_eq(counts_of(&team.layer).replay, 0);
	cr_assert_eq(counts_of(&team.layer).eager, 3);
}

RUNNER_PROMISE(runner_agree_verify, fails_where_others_cannot_go_on)
{
	static const char *const answers[] = {"40", "440"};
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_verified(&team, f, r, x, 1, 0);
	for (int i = 0; i < 2; i++) {
		struct layer_call call = new_call(&team.layer, x, 0);

		team.each = answers[i];
		FAILS(try_call(&team.layer, &call), PHILOX_ERROR_STATE);
		NAMES("other processes");
		LIVE(f, r, 0);
		AGREED(&team, x, 0, PHILOX_CALL_REPLAY, i ? "444444" : "44444");
	}
}
