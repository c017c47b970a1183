/*
 * tests/runner/agree/verify.c - replays that processes verify together
 */
#include <stdio.h>
#include "tests/support/ranks/agree.h"

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
	ASKED(&team, "4444444"); /* the last four: bodies that explain */
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
		ASKED(&team, i ? "1" : "4444444");
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

/* --- bodies that explain a difference are run by all, or by none ---------- */

static void differs_with(struct team *team, const uint32_t *x, const char *each,
			 const char *asked, unsigned bodies)
{
	const unsigned before = team->layer.bodies;
	struct layer_call call = new_call(&team->layer, x, 0);

	team->each = each;
	FAILS(try_call(&team->layer, &call), PHILOX_ERROR_DIFFERS);
	NAMES("other processes");
	ASKED(team, asked);
	cr_assert_eq(team->layer.bodies - before, bodies, "%u bodies, not %u",
		     team->layer.bodies - before, bodies);
	LIVE(team->layer.f, team->layer.runner, 0);
}

RUNNER_PROMISE(runner_agree_verify, explains_until_one_cannot_go_on)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_verified(&team, f, r, x, 1, PHILOX_DIFFERS_ERROR);
	differs_with(&team, x, "441", "4444444", 5);
	AGREED(&team, x, 0, PHILOX_CALL_RECORD, "33");
	differs_with(&team, x, "4411", "4444", 1);
	AGREED(&team, x, 0, PHILOX_CALL_RECORD, "33");
	differs_with(&team, x, "44141", "44444", 2);
	AGREED(&team, x, 0, PHILOX_CALL_RECORD, "33");
	differs_with(&team, x, "4414441", "4444444", 4);
}

RUNNER_PROMISE(runner_agree_verify, fails_where_one_fails_while_it_explains)
{
	struct team team;
	struct layer_call call;
	uint32_t *x = make_words(f, 3);
	size_t before;

	make_verified(&team, f, r, x, 1, PHILOX_DIFFERS_EAGER);
	before = pending(team.layer.region);
	call = new_call(&team.layer, x, 0);
	team.each = "44140";
	FAILS(try_call(&team.layer, &call), PHILOX_ERROR_STATE);
	NAMES("other processes");
	ASKED(&team, "44444");
	PENDING(team.layer.region, before);
	LIVE(f, r, 0);
	AGREED(&team, x, 0, PHILOX_CALL_REPLAY, "444");
}

/* What the body takes, in whatever call. */
static enum philox_status take_much(struct layer *layer, struct philox_run *run)
{
	void *memory;

	(void)layer;
	return philox_run_alloc(run, 6 << 20, 0, "much", &memory);
}

static size_t lacks_at; /* the question after which there is no more memory */

static void take_away(struct team *team, uint32_t wanted)
{
	(void)wanted;
	OK(philox_device_limit_memory(team->layer.f->device,
				      strlen(team->asked) == lacks_at));
}

static void make_greedy(struct team *team, struct fixture *f,
			struct philox_runner *r, const uint32_t *x)
{
	const struct philox_policy policy = {.verify = 1};

	f->injected = 1;
	make_team(team, f, r, "layer", &policy);
	team->layer.hook = take_much;
	for (int i = 0; i < 2; i++)
		kind_of_call(&team->layer, x, 0);
	team->asked[0] = '\0';
	team->hook = take_away;
}

/* Where there is no memory for a body that explains, others are told. */
RUNNER_PROMISE(runner_agree_verify, stops_explaining_where_memory_lacks)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_greedy(&team, f, r, x);
	lacks_at = 4; /* before the first of those that explain */
	differs_with(&team, x, "441", "44441", 2);
	cr_assert_eq(counts_of(&team.layer).verified, 1);
	OK(philox_device_limit_memory(f->device, 0));
}

/* Where it could not be verified at all, none is asked to explain it. */
RUNNER_PROMISE(runner_agree_verify, has_no_bodies_where_it_was_not_verified)
{
	struct team team;
	uint32_t *x = make_words(f, 3);

	make_greedy(&team, f, r, x);
	lacks_at = 2; /* before the body */
	differs_with(&team, x, "441", "4441", 1);
	cr_assert_eq(counts_of(&team.layer).verified, 0);
	cr_assert_eq(counts_of(&team.layer).unverified, 1);
	lacks_at = 2;
	AGREED(&team, x, 0, PHILOX_CALL_REPLAY, "444");
	cr_assert_eq(counts_of(&team.layer).unverified, 2);
	team.each = "4410";
	{
		struct layer_call call = new_call(&team.layer, x, 0);

		FAILS(try_call(&team.layer, &call), PHILOX_ERROR_STATE);
	}
	OK(philox_device_limit_memory(f->device, 0));
}
