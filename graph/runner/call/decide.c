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

/* --- too early, or too often ------------------------------------------------------ */

/* The entry of the call's static addresses, or the oldest, for them. */
static struct seen_call *find_seen(struct key *key, uint64_t hash)
{
	struct seen_call *seen;

	for (size_t i = 0; i < SEEN_CALLS; i++)
		if (key->seen[i].times && key->seen[i].hash == hash)
			return &key->seen[i];
	key->newest = (key->newest + 1) % SEEN_CALLS;
	seen = &key->seen[key->newest];
	*seen = (struct seen_call){.hash = hash};
	return seen;
}

/* Whether the call has not come often enough to be worth a recording. */
static int is_early(const struct request *request)
{
	struct philox_function *function = request->function;
	const uint32_t after = function->policy.after;
	size_t length = strlen(function->reason);
	struct seen_call *seen;

	if (after <= 1)
		return 0;
	seen = find_seen(request->key,
			 inputs_hash(function, request->key, request->call));
	if (++seen->times >= after) {
		seen->times = 0;
		return 0;
	}
	function->counts.missed_early++;
	snprintf(function->reason + length, sizeof(function->reason) - length,
		 "; it has come %" PRIu32 " time%s of %" PRIu32, seen->times,
		 status_s(seen->times), after);
	return 1;
}

/* Whether too many recordings of the key were never replayed. */
static int is_limited(const struct request *request)
{
	struct philox_function *function = request->function;
	struct key *key = request->key;
	const uint32_t limit = function->policy.limit;
	size_t length = strlen(function->reason);

	if (key->unplayed < limit ||
	    (!limit && key->recordings == key->prepared))
		return 0;
	if (function->policy.again != PHILOX_NEVER &&
	    key->limited >= function->policy.again) {
		key->limited = 0;
		return 0;
	}
	key->limited++;
	function->counts.missed_limit++;
	snprintf(function->reason + length, sizeof(function->reason) - length,
		 "; the limit of %" PRIu32 " recording%s that were never "
		 "replayed is met",
		 limit, status_s(limit));
	request_tell(request, LOGGED_LIMIT, "eager", PHILOX_CALL_EAGER, NULL,
		     function->reason);
	return 1;
}

/* A call, whose reason is explained, is recorded, or its body is run after all. */
static enum philox_call_kind record_or_not(const struct request *request,
					   int limited)
{
	if (request->key->expected.n) /* whatever `limit` and `after` say */
		return PHILOX_CALL_RECORD;
	if (is_early(request) || (limited && is_limited(request)))
		return PHILOX_CALL_EAGER;
	return PHILOX_CALL_RECORD;
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
static int has_unrecorded_ticket(const struct request *request)
{
	struct philox_function *function = request->function;
	const struct philox_runner *runner = function->runner;

	for (size_t i = 0; i < request->call->n_uses; i++)
		for (size_t k = 0; k < UNRECORDED_TICKETS; k++) {
			const struct unrecorded_ticket *unrecorded =
				&runner->tickets[k];
			struct philox_ticket ticket =
				request->call->uses[i].ticket;

			if (!ticket.serial ||
			    unrecorded->function == function ||
			    unrecorded->ticket.serial != ticket.serial ||
			    unrecorded->ticket.region_key !=
				    ticket.region_key ||
			    !is_read(&request->key->script, i))
				continue;
			request_explain(
				request,
				"its ticket is of function '%s', which was not "
				"recorded: %.120s",
				unrecorded->name, unrecorded->reason);
			request_tell(request, LOGGED_REFUSED, "not recorded",
				     PHILOX_CALL_EAGER, NULL, function->reason);
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

static enum obstacle find_obstacle(const struct request *request)
{
	struct philox_function *function = request->function;
	const char *lost =
		inputs_unrecordable(function, request->key, request->call);

	if (lost) {
		request_explain(
			request,
			"input '%.60s' is mutated, and a copy of it would not "
			"be written back",
			lost);
		request_tell(request, LOGGED_REFUSED, "not recorded",
			     PHILOX_CALL_EAGER, lost, function->reason);
		return OBSTACLE_OF_KEY;
	}
	if (has_unrecorded_ticket(request))
		return OBSTACLE_OF_TICKET;
	if (!request->key->wait)
		return NO_OBSTACLE;
	if (request->key->wait != PHILOX_NEVER)
		request->key->wait--;
	request_explain(request, "%s", request->key->refused);
	return OBSTACLE_OF_KEY;
}

/* --- decisions ---------------------------------------------------------------------- */

static enum philox_call_kind decide_live(const struct request *request,
					 const struct live_block *in_use)
{
	struct philox_function *function = request->function;

	function->counts.missed_live++;
	request_explain(request,
			"block %" PRIu64 " of its recording's memory holds an "
			"output that is not released",
			in_use->id);
	if (function->policy.live == PHILOX_LIVE_RECORD)
		return record_or_not(request, 1);
	request_tell(request, LOGGED_LIVE, "eager", PHILOX_CALL_EAGER, NULL,
		     function->reason);
	return PHILOX_CALL_EAGER;
}

static enum philox_status decide_moved(const struct request *request,
				       enum philox_call_kind *kind)
{
	struct philox_function *function = request->function;
	char moved[400] = "";
	const char *first =
		request->key->latest
			? inputs_moved(request->key->latest, request->call,
				       moved, sizeof(moved))
			: NULL;

	function->counts.missed_moved++;
	if (function->policy.moved == PHILOX_MOVED_ERROR)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "function '%s': inputs moved: %s",
				  function->name, moved);
	request_explain(request, "its inputs moved: %.160s", moved);
	request_tell(request, LOGGED_MOVED, "moved", PHILOX_CALL_NONE, first,
		     moved);
	*kind = record_or_not(request,
			      function->policy.moved == PHILOX_MOVED_LIMIT);
	return PHILOX_OK;
}

static void explain_new(const struct request *request)
{
	const struct key *key = request->key;

	if (key->expected.n)
		request_explain(request, "it was recorded when its plan was "
					 "saved, and is recorded again");
	else if (key->drop_reason)
		request_explain(request, "its recording was dropped: %.150s",
				key->drop_reason);
	else
		request_explain(request,
				"nothing was recorded under this key yet");
}

static enum philox_call_kind decide_new(const struct request *request,
					const char *stale)
{
	struct philox_function *function = request->function;

	if (stale) {
		function->counts.missed_stale++;
		request_explain(request,
				"what its recording uses was destroyed: %.160s",
				stale);
	} else {
		function->counts.missed_new++;
		explain_new(request);
	}
	return record_or_not(request, 0);
}

/* The body of a call that is recorded might be run: that obstacle is its own. */
static int has_obstacle(const struct request *request)
{
	struct philox_function *function = request->function;
	const enum obstacle obstacle = find_obstacle(request);

	if (obstacle == NO_OBSTACLE)
		return 0;
	function->counts.missed_refused++;
	function->runner->unrecorded = obstacle == OBSTACLE_OF_KEY;
	return 1;
}

/* `stale`: why the call's recording is no more; NULL: there was none. */
static enum philox_status decide_missed(const struct request *request,
					const struct recording *found,
					const struct live_block *in_use,
					const char *stale,
					enum philox_call_kind *kind)
{
	enum philox_status status = request_refuse_capturing(request);

	if (status == PHILOX_OK)
		status = call_dry(request);
	if (status != PHILOX_OK)
		return status;
	*kind = PHILOX_CALL_EAGER;
	if (request->key->warmups) {
		request_explain(request, "it is warmed up under this key");
		*kind = PHILOX_CALL_WARMUP;
	} else if (has_obstacle(request)) {
		return PHILOX_OK;
	} else if (expected_warm_up(request->key, &request->function->policy)) {
		request_explain(request, "its body has not run in this process "
					 "since its plan was loaded");
		*kind = PHILOX_CALL_WARMUP;
	} else if (found) {
		*kind = decide_live(request, in_use);
	} else if (request->key->recordings && !request->key->expected.n &&
		   !stale) {
		return decide_moved(request, kind);
	} else {
		*kind = decide_new(request, stale);
	}
	return PHILOX_OK;
}

static enum philox_status decide_eager(const struct request *request)
{
	struct philox_function *function = request->function;
	enum philox_status status = request_refuse_capturing(request);

	if (status != PHILOX_OK)
		return status;
	function->counts.missed_eager++;
	request_explain(request, "%s",
			function->runner->eager
				? "PHILOX_RUNNER is 'eager'"
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
	return decide_missed(request, NULL, NULL, why, &decision->kind);
}

/* After the processes have agreed it is too late to do something else. */
static enum philox_status check_replay(const struct request *request,
				       struct decision *decision)
{
	enum philox_status status = launch_check(
		decision->recording, request->call, request->stream);

	return decide_is_stale(decision->recording, status)
		       ? decide_stale(request, decision)
		       : status;
}

enum philox_status decide(const struct request *request,
			  struct decision *decision)
{
	const struct live_block *in_use = NULL;
	struct philox_function *function = request->function;
	struct recording *found;
	enum philox_status status = PHILOX_OK;

	decision->kind = PHILOX_CALL_EAGER;
	decision->recording = NULL;
	decision->limited = request->key->limited;
	if (function->runner->eager || function->flags & PHILOX_FUNCTION_EAGER)
		return decide_eager(request);
	found = recording_find(function, request->key, request->call, &in_use);
	if (!found || in_use)
		return decide_missed(request, found, in_use, NULL,
				     &decision->kind);
	decision->kind = PHILOX_CALL_REPLAY;
	decision->recording = found;
	if (request->stream != request->call->stream)
		status = request_refuse_capturing(request);
	if (status == PHILOX_OK && function->agree)
		status = check_replay(request, decision);
	return status;
}

void decide_again(const struct request *request,
		  const struct decision *decision)
{
	struct philox_function *function = request->function;
	struct key *key = request->key;
	const uint32_t after = function->policy.after;

	key->limited = decision->limited;
	if (after > 1)
		find_seen(key, inputs_hash(function, key, request->call))
			->times = after - 1;
}
