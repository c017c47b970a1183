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
static int is_early(const struct calling *calling)
{
	struct philox_function *function = calling->function;
	const uint32_t after = function->policy.after;
	size_t length = strlen(function->reason);
	struct seen_call *seen;

	if (after <= 1)
		return 0;
	seen = find_seen(calling->key,
			 inputs_hash(function, calling->key, calling->call));
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
static int is_limited(const struct calling *calling)
{
	struct philox_function *function = calling->function;
	struct key *key = calling->key;
	const uint32_t limit = function->policy.limit;
	size_t length = strlen(function->reason);

	if (key->unplayed < limit || (!limit && key->recordings == key->ahead))
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
	calling_tell(calling, TOLD_LIMIT, "eager", PHILOX_CALL_EAGER, NULL,
		     function->reason);
	return 1;
}

/* A call, whose reason is explained, is recorded, or its body is run after all. */
static enum philox_call_kind record_or_not(const struct calling *calling,
					   int limited)
{
	if (calling->key->debt.n) /* whatever `limit` and `after` say */
		return PHILOX_CALL_RECORD;
	if (is_early(calling) || (limited && is_limited(calling)))
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
static int is_ticket_barred(const struct calling *calling)
{
	struct philox_function *function = calling->function;
	const struct philox_runner *runner = function->runner;

	for (size_t i = 0; i < calling->call->n_uses; i++)
		for (size_t k = 0; k < BARRED_TICKETS; k++) {
			const struct barred_ticket *barred =
				&runner->tickets[k];
			struct philox_ticket ticket =
				calling->call->uses[i].ticket;

			if (!ticket.serial || barred->function == function ||
			    barred->ticket.serial != ticket.serial ||
			    barred->ticket.region_key != ticket.region_key ||
			    !is_read(&calling->key->script, i))
				continue;
			calling_explain(
				calling,
				"its ticket is of function '%s', which was not "
				"recorded: %.120s",
				barred->name, barred->reason);
			calling_tell(calling, TOLD_REFUSED, "not recorded",
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
enum barred { NOT_BARRED, BARRED_ITSELF, BARRED_BY_TICKET };

static enum barred what_bars(const struct calling *calling)
{
	struct philox_function *function = calling->function;
	const char *lost =
		inputs_unrecordable(function, calling->key, calling->call);

	if (lost) {
		calling_explain(
			calling,
			"input '%.60s' is mutated, and a copy of it would not "
			"be written back",
			lost);
		calling_tell(calling, TOLD_REFUSED, "not recorded",
			     PHILOX_CALL_EAGER, lost, function->reason);
		return BARRED_ITSELF;
	}
	if (is_ticket_barred(calling))
		return BARRED_BY_TICKET;
	if (!calling->key->wait)
		return NOT_BARRED;
	if (calling->key->wait != PHILOX_NEVER)
		calling->key->wait--;
	calling_explain(calling, "%s", calling->key->refused);
	return BARRED_ITSELF;
}

/* --- decisions ---------------------------------------------------------------------- */

static enum philox_call_kind decide_live(const struct calling *calling,
					 const struct live_block *in_use)
{
	struct philox_function *function = calling->function;

	function->counts.missed_live++;
	calling_explain(calling,
			"block %" PRIu64 " of its recording's memory holds an "
			"output that is not released",
			in_use->id);
	if (function->policy.live == PHILOX_LIVE_RECORD)
		return record_or_not(calling, 1);
	calling_tell(calling, TOLD_LIVE, "eager", PHILOX_CALL_EAGER, NULL,
		     function->reason);
	return PHILOX_CALL_EAGER;
}

static enum philox_status decide_moved(const struct calling *calling,
				       enum philox_call_kind *kind)
{
	struct philox_function *function = calling->function;
	char moved[400] = "";
	const char *first =
		calling->key->latest
			? inputs_moved(calling->key->latest, calling->call,
				       moved, sizeof(moved))
			: NULL;

	function->counts.missed_moved++;
	if (function->policy.moved == PHILOX_MOVED_ERROR)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "function '%s': inputs moved: %s",
				  function->name, moved);
	calling_explain(calling, "its inputs moved: %.160s", moved);
	calling_tell(calling, TOLD_MOVED, "moved", PHILOX_CALL_NONE, first,
		     moved);
	*kind = record_or_not(calling,
			      function->policy.moved == PHILOX_MOVED_LIMIT);
	return PHILOX_OK;
}

static void explain_new(const struct calling *calling)
{
	const struct key *key = calling->key;

	if (key->debt.n)
		calling_explain(calling, "it was recorded when its plan was "
					 "saved, and is recorded again");
	else if (key->lost)
		calling_explain(calling, "its recording was dropped: %.150s",
				key->lost);
	else
		calling_explain(calling,
				"nothing was recorded under this key yet");
}

static enum philox_call_kind decide_new(const struct calling *calling,
					const char *stale)
{
	struct philox_function *function = calling->function;

	if (stale) {
		function->counts.missed_stale++;
		calling_explain(calling,
				"what its recording uses was destroyed: %.160s",
				stale);
	} else {
		function->counts.missed_new++;
		explain_new(calling);
	}
	return record_or_not(calling, 0);
}

/* The body of a call that is recorded might be run: its barring is its own. */
static int is_barred(const struct calling *calling)
{
	struct philox_function *function = calling->function;
	const enum barred barred = what_bars(calling);

	if (!barred)
		return 0;
	function->counts.missed_refused++;
	function->runner->barred = barred == BARRED_ITSELF;
	return 1;
}

/* `stale`: why the call's recording is no more; NULL: there was none. */
static enum philox_status decide_missed(const struct calling *calling,
					const struct recording *found,
					const struct live_block *in_use,
					const char *stale,
					enum philox_call_kind *kind)
{
	enum philox_status status = calling_refuse_capturing(calling);

	if (status == PHILOX_OK)
		status = call_dry(calling);
	if (status != PHILOX_OK)
		return status;
	*kind = PHILOX_CALL_EAGER;
	if (calling->key->warmups) {
		calling_explain(calling, "it is warmed up under this key");
		*kind = PHILOX_CALL_WARMUP;
	} else if (is_barred(calling)) {
		return PHILOX_OK;
	} else if (debt_warms_up(calling->key, &calling->function->policy)) {
		calling_explain(calling, "its body has not run in this process "
					 "since its plan was loaded");
		*kind = PHILOX_CALL_WARMUP;
	} else if (found) {
		*kind = decide_live(calling, in_use);
	} else if (calling->key->recordings && !calling->key->debt.n &&
		   !stale) {
		return decide_moved(calling, kind);
	} else {
		*kind = decide_new(calling, stale);
	}
	return PHILOX_OK;
}

static enum philox_status decide_eager(const struct calling *calling)
{
	struct philox_function *function = calling->function;
	enum philox_status status = calling_refuse_capturing(calling);

	if (status != PHILOX_OK)
		return status;
	function->counts.missed_eager++;
	calling_explain(calling, "%s",
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
enum philox_status decide_stale(const struct calling *calling,
				struct decision *decision)
{
	struct philox_function *function = calling->function;
	char why[200];

	snprintf(why, sizeof(why), "%s", philox_error_message());
	decision->recording->spoiled = 1;
	decision->recording = NULL;
	runner_post(function, PHILOX_LOG_INFO, "stale", PHILOX_CALL_NONE, NULL,
		    0, "has recordings of what was destroyed: %s", why);
	recordings_retire_useless(calling->key, function);
	return decide_missed(calling, NULL, NULL, why, &decision->kind);
}

/* After the processes have agreed it is too late to do something else. */
static enum philox_status check_replay(const struct calling *calling,
				       struct decision *decision)
{
	enum philox_status status = launch_check(
		decision->recording, calling->call, calling->stream);

	return decide_is_stale(decision->recording, status)
		       ? decide_stale(calling, decision)
		       : status;
}

enum philox_status decide(const struct calling *calling,
			  struct decision *decision)
{
	const struct live_block *in_use = NULL;
	struct philox_function *function = calling->function;
	struct recording *found;
	enum philox_status status = PHILOX_OK;

	decision->kind = PHILOX_CALL_EAGER;
	decision->recording = NULL;
	decision->limited = calling->key->limited;
	if (function->runner->eager || function->flags & PHILOX_FUNCTION_EAGER)
		return decide_eager(calling);
	found = recording_find(function, calling->key, calling->call, &in_use);
	if (!found || in_use)
		return decide_missed(calling, found, in_use, NULL,
				     &decision->kind);
	decision->kind = PHILOX_CALL_REPLAY;
	decision->recording = found;
	if (calling->stream != calling->call->stream)
		status = calling_refuse_capturing(calling);
	if (status == PHILOX_OK && function->agree)
		status = check_replay(calling, decision);
	return status;
}

void decide_again(const struct calling *calling,
		  const struct decision *decision)
{
	struct philox_function *function = calling->function;
	struct key *key = calling->key;
	const uint32_t after = function->policy.after;

	key->limited = decision->limited;
	if (after > 1)
		find_seen(key, inputs_hash(function, key, calling->call))
			->times = after - 1;
}
