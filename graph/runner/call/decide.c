/*
 * graph/runner/call/decide.c - what a call is executed as, and why
 *
 * Decisions depend on the sequence of calls, on which inputs moved and which
 * outputs are live, and on nothing else.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "graph/runner/function/function.h"
#include "graph/runner/call/call.h"

/* --- recorded, or not ------------------------------------------------------ */

/* A call whose reason is written is recorded, if its key wastes none. */
static void record_or_not(const struct request *request,
			  struct decision *decision)
{
	struct philox_function *function = request->function;
	const char *why = request->key->expected.n
				  ? NULL
				  : bounds_hold(function, request->key);

	decision->kind = why ? PHILOX_CALL_EAGER : PHILOX_CALL_RECORD;
	if (!why)
		return;
	function->counts.missed_bound++;
	reason_add(&decision->reason, "; %s", why);
	key_log(function, request->key, LOGGED_BOUND, "eager",
		PHILOX_CALL_EAGER, NULL, decision->reason.text);
}

/* --- what is against recordings ------------------------------------------------------- */

/* Whether an entry of the uses is read: that of a backward. */
static int is_read(const struct script *script, size_t entry)
{
	size_t next = 0;

	for (size_t i = 0; i < script->n; i++) {
		const struct step *step = &script->steps[i];

		if (step->kind != STEP_FORWARD &&
		    (step->kind != STEP_BACKWARD || step->a != UINT64_MAX))
			continue;
		if (next++ == entry)
			return step->kind == STEP_BACKWARD;
	}
	return 0;
}

/*
 * A backward of another function's forward that was not recorded is not worth a
 * recording. One of its own forwards waits with the key.
 */
static int has_unrecorded_ticket(const struct request *request,
				 struct decision *decision)
{
	struct philox_function *function = request->function;
	const struct philox_runner *runner = function->runner;

	for (size_t i = 0; i < request->call->n_passes; i++)
		for (size_t k = 0; k < UNRECORDED_TICKETS; k++) {
			const struct unrecorded_ticket *unrecorded =
				&runner->tickets[k];
			struct philox_ticket ticket =
				request->call->passes[i].ticket;

			if (!ticket.serial ||
			    unrecorded->function == function ||
			    unrecorded->ticket.serial != ticket.serial ||
			    unrecorded->ticket.region_key !=
				    ticket.region_key ||
			    !is_read(&request->key->script, i))
				continue;
			reason_write(
				&decision->reason,
				"its ticket is of function '%s', which was not "
				"recorded: %.120s",
				unrecorded->name, unrecorded->reason);
			key_log(function, request->key, LOGGED_REFUSED,
				"not recorded", PHILOX_CALL_EAGER, NULL,
				decision->reason.text);
			return 1;
		}
	return 0;
}

/*
 * Why a call is not recorded although nothing is known against it. A reason of
 * its own reaches the backwards of its forwards; one that came to it with a
 * ticket ends here.
 */
enum obstacle { NO_OBSTACLE, OBSTACLE_OF_KEY, OBSTACLE_OF_TICKET };

static enum obstacle find_obstacle(const struct request *request,
				   struct decision *decision)
{
	struct philox_function *function = request->function;
	const char *lost =
		inputs_unrecordable(function, request->key, request->call);

	if (lost) {
		reason_write(
			&decision->reason,
			"input '%.60s' is mutated, and a copy of it would not "
			"be written back without PHILOX_INPUT_WRITE_BACK",
			lost);
		key_log(function, request->key, LOGGED_REFUSED, "not recorded",
			PHILOX_CALL_EAGER, lost, decision->reason.text);
		return OBSTACLE_OF_KEY;
	}
	if (has_unrecorded_ticket(request, decision))
		return OBSTACLE_OF_TICKET;
	if (!request->key->wait)
		return NO_OBSTACLE;
	if (request->key->wait != PHILOX_NEVER)
		request->key->wait--;
	reason_write(&decision->reason, "%s", request->key->refused);
	decision->reason.option = OPTION_WAITS;
	return OBSTACLE_OF_KEY;
}

/* --- decisions ---------------------------------------------------------------------- */

static void decide_live(const struct request *request,
			struct decision *decision,
			const struct live_block *in_use)
{
	struct philox_function *function = request->function;

	function->counts.missed_live++;
	reason_live(&decision->reason, function->runner, in_use);
	record_or_not(request, decision);
}

/* Each recording that is made for it is told, and the first call that is not. */
static void log_moved_once(const struct request *request,
			   const struct decision *decision)
{
	struct key *key = request->key;

	if (decision->kind != PHILOX_CALL_RECORD && key->logged & LOGGED_MOVED)
		return;
	key->logged |= LOGGED_MOVED;
	log_moved(key->by_use.newest, request->call);
}

static enum philox_status decide_moved(const struct request *request,
				       struct decision *decision)
{
	struct philox_function *function = request->function;
	const struct recording *latest = request->key->by_use.newest;

	function->counts.missed_moved++;
	reason_write(&decision->reason, "its inputs moved: ");
	reason_moved(&decision->reason, latest, request->call);
	if (inputs_fixed_moved(latest, request->call))
		return status_set(PHILOX_ERROR_MISMATCH,
				  "function '%s': %s%s; PHILOX_INPUT_FIXED "
				  "refuses that",
				  function->name, KEY_JOINT(request->key).text,
				  decision->reason.text);
	reason_add(&decision->reason,
		   "; those of kind PHILOX_INPUT_COPIED may move");
	record_or_not(request, decision);
	log_moved_once(request, decision);
	return PHILOX_OK;
}

static void decide_evicted(const struct request *request,
			   struct decision *decision, const char *why)
{
	request->function->counts.missed_evicted++;
	reason_write(&decision->reason,
		     "its recording was evicted, for policy.%s", why);
	record_or_not(request, decision);
}

static void decide_new(const struct request *request, struct decision *decision)
{
	const struct key *key = request->key;

	request->function->counts.missed_new++;
	if (key->expected.n)
		reason_write(&decision->reason,
			     "it was recorded when its plan was saved, and is "
			     "recorded again");
	else if (key->drop_reason)
		reason_write(&decision->reason,
			     "its recording was dropped: %.150s",
			     key->drop_reason);
	else
		reason_write(&decision->reason,
			     "nothing was recorded under this key yet");
	record_or_not(request, decision);
}

static void decide_destroyed(const struct request *request,
			     struct decision *decision, const char *why)
{
	request->function->counts.missed_stale++;
	reason_write(&decision->reason,
		     "what its recording uses was destroyed: %.160s", why);
	record_or_not(request, decision);
}

static void decide_warm_up(const struct request *request,
			   struct decision *decision)
{
	const struct key *key = request->key;

	decision->kind = PHILOX_CALL_WARMUP;
	if (!key->warmups)
		reason_write(&decision->reason,
			     "its body has not run in this process since its "
			     "plan was loaded: it is warmed up, for "
			     "policy.warmups");
	else if (key->asked)
		reason_write(&decision->reason,
			     "it is warmed up under this key, as its body has "
			     "asked for");
	else
		reason_write(&decision->reason,
			     "it is warmed up under this key, for "
			     "policy.warmups");
	if (key->forgotten)
		reason_add(&decision->reason,
			   "; its key was forgotten, for policy.keys");
}

/* The body of a call that is recorded might be run: that obstacle is its own. */
static int has_obstacle(const struct request *request,
			struct decision *decision)
{
	struct philox_function *function = request->function;
	const enum obstacle obstacle = find_obstacle(request, decision);

	if (obstacle == NO_OBSTACLE)
		return 0;
	function->counts.missed_refused++;
	function->runner->unrecorded = obstacle == OBSTACLE_OF_KEY;
	return 1;
}

/* `stale`: why the call's recording is no more; NULL: there was none. */
static enum philox_status decide_missed(const struct request *request,
					struct decision *decision,
					const struct live_block *in_use,
					const char *stale)
{
	struct key *key = request->key;
	const char *evicted;
	enum philox_status status = function_refuse_capture(
		request->function, request->call->stream);

	if (status == PHILOX_OK)
		status = eager_dry(request, decision);
	if (status != PHILOX_OK)
		return status;
	decision->kind = PHILOX_CALL_EAGER;
	if (key->warmups) {
		decide_warm_up(request, decision);
	} else if (has_obstacle(request, decision)) {
		return PHILOX_OK;
	} else if (expected_warm_up(key, &request->function->policy)) {
		decide_warm_up(request, decision);
	} else if (in_use) {
		decide_live(request, decision, in_use);
	} else if (stale) {
		decide_destroyed(request, decision, stale);
	} else if (!key->expected.n &&
		   (evicted = evicted_find(request->function,
					   inputs_hash(request->function, key,
						       request->call)))) {
		decide_evicted(request, decision, evicted);
	} else if (key->recordings && !key->expected.n) {
		return decide_moved(request, decision);
	} else {
		decide_new(request, decision);
	}
	return PHILOX_OK;
}

static enum philox_status decide_eager(const struct request *request,
				       struct decision *decision)
{
	struct philox_function *function = request->function;
	enum philox_status status =
		function_refuse_capture(function, request->call->stream);

	if (status != PHILOX_OK)
		return status;
	function->counts.missed_eager++;
	reason_write(&decision->reason, "%s",
		     function->runner->eager ? "PHILOX_RUNNER is 'eager'"
					     : "it is PHILOX_FUNCTION_EAGER");
	return PHILOX_OK;
}

int decide_is_stale(const struct recording *recording,
		    enum philox_status launched)
{
	return launched == PHILOX_ERROR_STALE ||
	       (launched == PHILOX_ERROR_INVALID &&
		recording_is_spoiled(recording));
}

/*
 * Recordings of a region that was destroyed, or of memory that was freed, are of
 * no use any more.
 */
enum philox_status decide_stale(const struct request *request,
				struct decision *decision)
{
	struct philox_function *function = request->function;
	char why[200];

	snprintf(why, sizeof(why), "%s", philox_error_message());
	decision->recording->spoiled = 1;
	decision->recording = NULL;
	runner_post(function, PHILOX_LOG_INFO, "stale", PHILOX_CALL_NONE, NULL,
		    0, "has recordings of what was destroyed: %s", why);
	recordings_retire_useless(request->key, function);
	return decide_missed(request, decision, NULL, why);
}

/* After the processes have agreed it is too late to do something else. */
static enum philox_status check_replay(const struct request *request,
				       struct decision *decision)
{
	enum philox_status status = replay_ready(request, decision->recording);

	return decide_is_stale(decision->recording, status)
		       ? decide_stale(request, decision)
		       : status;
}

static int is_always_eager(const struct philox_function *function)
{
	return function->runner->eager ||
	       function->flags & PHILOX_FUNCTION_EAGER;
}

static void begin_decision(const struct request *request,
			   struct decision *decision)
{
	decision->kind = PHILOX_CALL_EAGER;
	decision->recording = NULL;
	decision->refused = 0;
	decision->expected = request->key->expected.n != 0;
}

static struct recording *find(const struct request *request,
			      const struct live_block **in_use)
{
	struct philox_function *function = request->function;
	struct recording *found = request->guessed;

	if (!found) {
		found = recording_find(function, request->key, request->call,
				       in_use);
		if (found && !*in_use)
			guess_pack(found, request->call);
		return found;
	}
	*in_use = live_meets(function->runner, found->ranges, found->n_ranges);
	return found;
}

enum philox_status decide(const struct request *request,
			  struct decision *decision)
{
	const struct live_block *in_use = NULL;
	struct philox_function *function = request->function;
	struct recording *found;
	enum philox_status status = PHILOX_OK;

	begin_decision(request, decision);
	if (is_always_eager(function))
		return decide_eager(request, decision);
	found = find(request, &in_use);
	if (!found || in_use)
		return decide_missed(request, decision, in_use, NULL);
	decision->kind = PHILOX_CALL_REPLAY;
	decision->recording = found;
	if (request->stream != request->call->stream)
		status = function_refuse_capture(function,
						 request->call->stream);
	if (status == PHILOX_OK && function->agree)
		status = check_replay(request, decision);
	return status;
}

/* A recording of the call that can be launched; those of its key that cannot go. */
static struct recording *find_good(const struct request *request)
{
	const struct live_block *in_use;
	struct recording *found = recording_find(
		request->function, request->key, request->call, &in_use);

	if (!found ||
	    (!recording_is_stale(found) && !recording_is_spoiled(found)))
		return found;
	recordings_retire_useless(request->key, request->function);
	return NULL;
}

void decide_prepare(const struct request *request, struct decision *decision)
{
	struct philox_function *function = request->function;
	const struct key *key = request->key;

	begin_decision(request, decision);
	if (is_always_eager(function))
		return;
	decision->recording = find_good(request);
	if (decision->recording)
		decision->kind = PHILOX_CALL_REPLAY;
	else if (!key->wait &&
		 !inputs_unrecordable(function, key, request->call))
		decision->kind = PHILOX_CALL_RECORD;
}
