/*
 * graph/runner/call/verify.c - replays that are verified
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include "graph/pool/pool.h"
#include "graph/runner/call/agree.h"
#include "graph/runner/call/runner_verify_parts.h"
#include "graph/runner/call/runner_verify_text.h"

int replay_is_due(struct philox_function *function)
{
	const uint32_t every =
		function->runner->verify ? 1 : function->policy.verify;

	return every && function->replays++ % every == 0;
}

/* --- the second pool ---------------------------------------------------------- */

/* Runners with long names may have the beginning of one in common. */
static enum philox_status name_spare(struct philox_runner *runner,
				     struct philox_pool_options *options)
{
	enum philox_status status = PHILOX_ERROR_EXISTS;
	char name[64];

	options->name = name;
	for (unsigned i = 1; status == PHILOX_ERROR_EXISTS && i; i++) {
		if (i == 1)
			snprintf(name, sizeof(name), "%.50s (verifying)",
				 runner->name);
		else
			snprintf(name, sizeof(name), "%.39s (verifying %u)",
				 runner->name, i);
		status = philox_pool_create(runner->context, options,
					    &runner->spare);
	}
	return status;
}

static enum philox_status make_spare(struct philox_runner *runner)
{
	struct philox_pool_options options =
		PHILOX_INIT(struct philox_pool_options);

	if (runner->spare)
		return PHILOX_OK;
	options.flags = runner->pool->flags & PHILOX_POOL_EXPANDABLE;
	options.range = runner->pool->range;
	options.step = runner->pool->step;
	options.limit = runner->pool->limit;
	return name_spare(runner, &options);
}

static enum philox_status end_stuck(struct philox_runner *runner)
{
	enum philox_status status;

	if (!runner->spare_stuck)
		return PHILOX_OK;
	status = philox_pool_end(runner->spare_stuck, PHILOX_ERROR_STATE, NULL);
	if (status == PHILOX_OK)
		runner->spare_stuck = NULL;
	return status;
}

enum philox_status replay_checks_finish(struct philox_runner *runner)
{
	enum philox_status status = end_stuck(runner);

	if (status == PHILOX_OK)
		status = philox_pool_destroy(runner->spare);
	if (status == PHILOX_OK)
		runner->spare = NULL;
	return status;
}

/* --- before the launch ------------------------------------------------------------------- */

static enum philox_status reserve_check(struct replay_check *check)
{
	const struct philox_function *function = check->recording->function;

	check->pieces = calloc(function->n_inputs + 1, sizeof(*check->pieces));
	if (check->pieces)
		return PHILOX_OK;
	check->verify.lacking = 1;
	return status_set(PHILOX_ERROR_MEMORY,
			  "there is no memory for a list of inputs");
}

/*
 * Bodies that speak to each other are run by all processes or by none: *asked
 * tells, and whether this process `can` its status.
 */
static enum philox_status agree_to_run(struct replay_check *check,
				       enum philox_status status, int *asked)
{
	struct philox_function *function = check->recording->function;
	const int can = status == PHILOX_OK;
	enum philox_call_kind agreed;
	struct status_message own;

	*asked = 0;
	if (!can && !check->verify.lacking)
		return agree_failed(function, status);
	status_keep(&own);
	status = agree_quietly(function,
			       can ? PHILOX_CALL_REPLAY : PHILOX_CALL_EAGER,
			       &agreed);
	if (status != PHILOX_OK) {
		check->verify.lacking = 0;
		return status;
	}
	*asked = agreed == PHILOX_CALL_REPLAY;
	if (*asked)
		return PHILOX_OK;
	check->verify.lacking = 1;
	status_restore(&own);
	return can ? status_set(PHILOX_ERROR_UNSUPPORTED,
				"another process cannot verify its own")
		   : PHILOX_ERROR_UNSUPPORTED;
}

static enum philox_status agree_to_check(struct replay_check *check,
					 enum philox_status status)
{
	if (!check->recording->function->agree)
		return status;
	return agree_to_run(check, status, &check->asked);
}

static enum philox_status agree_to_explain(struct philox_verify *verify,
					   enum philox_status status)
{
	int asked;

	return agree_to_run(verify->user, status, &asked);
}

static enum philox_status reserve_all(struct replay_check *check)
{
	struct philox_verify *verify = &check->verify;
	struct philox_function *function = check->recording->function;
	struct philox_runner *runner = function->runner;
	enum philox_status status = make_spare(runner);

	if (status == PHILOX_ERROR_MEMORY)
		verify->lacking = 1;
	if (status == PHILOX_OK)
		status = end_stuck(runner);
	if (status == PHILOX_OK)
		status = reserve_check(check);
	if (status != PHILOX_OK)
		return status;
	verify->graph = check->recording->graph;
	verify->pool = runner->spare;
	verify->stream = check->stream;
	verify->run = replay_run_body;
	verify->user = check;
	verify->agree = function->agree ? agree_to_explain : NULL;
	status = verify_open(verify);
	return status == PHILOX_OK ? replay_keep_mutated(check) : status;
}

static void close_check(struct replay_check *check)
{
	struct philox_runner *runner = check->recording->function->runner;
	struct philox_pool_session *stuck = verify_close(&check->verify);

	if (stuck)
		runner->spare_stuck = stuck;
	free(check->pieces);
	check->pieces = NULL;
	check->open = 0;
}

/* That it cannot be verified is told once, and is no reason not to launch. */
static void note_unverified(const struct replay_check *check)
{
	struct philox_function *function = check->recording->function;
	struct key *key = check->recording->key;

	function->counts.unverified++;
	if (key->told & TOLD_UNVERIFIED)
		return;
	key->told |= TOLD_UNVERIFIED;
	runner_post(function, PHILOX_LOG_WARNING, "not verified",
		    PHILOX_CALL_REPLAY, NULL, 0, "cannot be verified: %s",
		    philox_error_message());
}

enum philox_status replay_check_begin(struct replay_check *check)
{
	struct philox_function *function = check->recording->function;
	const uint64_t began = runner_time();
	enum philox_status status = agree_to_check(check, reserve_all(check));

	if (status == PHILOX_OK)
		status = verify_try(&check->verify);
	check->open = status == PHILOX_OK;
	if (!check->open) {
		const int lacking = check->verify.lacking;

		close_check(check);
		if (lacking)
			note_unverified(check);
		status = lacking ? PHILOX_OK
				 : status_prefix(status,
						 "function '%s', while a "
						 "replay was verified: ",
						 function->name);
	}
	function->counts.verify_ns += runner_time() - began;
	return status;
}

/* --- after the launch --------------------------------------------------------------------- */

static void tell_difference(const struct replay_check *check,
			    enum verify_why why, const char *text)
{
	struct philox_function *function = check->recording->function;
	struct key *key = check->recording->key;
	const int random = why == VERIFY_RANDOM;

	if (random && key->told & TOLD_RANDOM)
		return;
	if (random)
		key->told |= TOLD_RANDOM;
	runner_post(function, PHILOX_LOG_WARNING, "differs", PHILOX_CALL_REPLAY,
		    NULL, 0, "%s", text);
}

static enum philox_status act(struct replay_check *check, enum verify_why why,
			      const char *text)
{
	struct philox_function *function = check->recording->function;

	if (function->policy.differs == PHILOX_DIFFERS_ERROR) {
		check->recording->spoiled = why != VERIFY_RANDOM;
		return status_set(PHILOX_ERROR_DIFFERS, "function '%s': %s",
				  function->name, text);
	}
	tell_difference(check, why, text);
	if (why == VERIFY_RANDOM)
		return PHILOX_OK;
	check->fell_back = 1;
	return verify_give(&check->verify);
}

/* Another process's replay differs, and this one's does not. */
#define OTHERS "replays of other processes differ from their bodies"

/* The next replay is verified, too. */
static enum philox_status differ(struct replay_check *check,
				 const struct verify_item *item, uint64_t place)
{
	struct philox_function *function = check->recording->function;
	char text[REPLAY_TEXT] = OTHERS;
	enum verify_why why = VERIFY_UNKNOWN;
	enum philox_status status;

	function->counts.differed += item != NULL;
	function->replays = 0;
	status = verify_explain(&check->verify, &why);
	if (status != PHILOX_OK && !check->verify.lacking)
		return status;
	status = PHILOX_OK;
	if (item)
		status = replay_describe(check, item, place, why, text);
	else
		why = VERIFY_FROZEN;
	return status == PHILOX_OK ? act(check, why, text) : status;
}

/* What differs in one process is acted upon in all. */
static enum philox_status agree_on_outcome(struct replay_check *check,
					   const struct verify_item *item,
					   int *differs)
{
	enum philox_call_kind agreed;
	enum philox_status status;

	*differs = item != NULL;
	if (!check->asked)
		return PHILOX_OK;
	status = agree_quietly(check->recording->function,
			       item ? PHILOX_CALL_EAGER : PHILOX_CALL_REPLAY,
			       &agreed);
	*differs = status == PHILOX_OK && agreed < PHILOX_CALL_REPLAY;
	return status;
}

/* What could not be verified although others are: there is nothing to undo. */
static enum philox_status follow_others(struct replay_check *check)
{
	struct philox_function *function = check->recording->function;
	enum philox_call_kind agreed;
	int differs;
	enum philox_status status = agree_on_outcome(check, NULL, &differs);

	if (status == PHILOX_OK && differs) /* none runs a body to explain it */
		status = agree_quietly(function, PHILOX_CALL_EAGER, &agreed);
	if (status != PHILOX_OK || !differs)
		return status;
	function->replays = 0;
	if (function->policy.differs == PHILOX_DIFFERS_EAGER)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_DIFFERS, "function '%s': " OTHERS,
			  function->name);
}

static enum philox_status compare_replay(struct replay_check *check)
{
	struct philox_function *function = check->recording->function;
	const struct verify_item *item;
	struct verify_item found;
	uint64_t place;
	int differs;
	enum philox_status status =
		verify_compare(&check->verify, &item, &place);

	if (status != PHILOX_OK)
		return check->asked ? agree_failed(function, status) : status;
	function->counts.verified++;
	if (item)
		found = *item; /* explaining may move the list */
	status = agree_on_outcome(check, item, &differs);
	if (status != PHILOX_OK || !differs)
		return status;
	return differ(check, item ? &found : NULL, place);
}

/* A call that fails has not changed what it launched upon. */
static enum philox_status compare_or_undo(struct replay_check *check)
{
	struct status_message kept;
	enum philox_status status = compare_replay(check);

	if (status == PHILOX_OK)
		return PHILOX_OK;
	status_keep(&kept);
	verify_put_back(&check->verify);
	status_restore(&kept);
	return status;
}

enum philox_status replay_check_end(struct replay_check *check,
				    enum philox_status went)
{
	struct philox_function *function = check->recording->function;
	const uint64_t began = runner_time();

	if (!check->open && !check->asked)
		return went;
	if (went != PHILOX_OK && check->asked)
		agree_failed(function, went);
	else if (went == PHILOX_OK)
		went = check->open ? compare_or_undo(check)
				   : follow_others(check);
	if (check->open)
		close_check(check);
	function->counts.verify_ns += runner_time() - began;
	return went;
}
