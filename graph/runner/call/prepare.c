/*
 * graph/runner/call/prepare.c - calls that are recorded ahead
 */
#include <string.h>
#include "graph/runner/call/call.h"
#include "graph/runner/state/state.h"
#include "graph/runner/function/function.h"

static int is_eager(const struct philox_function *function)
{
	return function->runner->eager ||
	       function->flags & PHILOX_FUNCTION_EAGER;
}

static int can_be_recorded(const struct calling *calling)
{
	return !calling->key->wait &&
	       !inputs_unrecordable(calling->function, calling->key,
				    calling->call);
}

/* Whether others have made theirs changes nothing here: it is kept. */
static enum philox_status agree_ahead(const struct calling *calling,
				      int refused, enum philox_status captured)
{
	enum philox_call_kind agreed;

	if (captured != PHILOX_OK && !refused)
		return agree_failed(calling->function, captured);
	return agree_on(calling,
			refused ? PHILOX_CALL_EAGER : PHILOX_CALL_RECORD,
			&agreed);
}

/* The function's reason is that of calls, unless a key waits for this one's. */
static enum philox_status capture_ahead(struct calling *calling,
					struct recording *old)
{
	struct philox_function *function = calling->function;
	const struct philox_function_counts before = function->counts;
	const uint64_t began = runner_time();
	struct recording *recording = NULL;
	char reason[sizeof(function->reason)];
	int refused;
	enum philox_status status = call_dry(calling);

	if (status != PHILOX_OK || (!old && calling->key->wait))
		return status;
	memcpy(reason, function->reason, sizeof(reason));
	calling_explain(calling, "it is prepared");
	status = call_capture(calling, old, &recording, &refused);
	if (recording) {
		call_post_recorded(calling, &before, began);
		function->counts.prepared++;
		calling->key->warmups = 0;
		calling->key->cold = 0;
	}
	if (!refused)
		memcpy(function->reason, reason, sizeof(reason));
	status = agree_ahead(calling, refused, status);
	if (status == PHILOX_OK && recording)
		calling->call->kind = PHILOX_CALL_RECORD;
	return status;
}

/* A recording of the call that can be launched; those of its key that cannot go. */
static struct recording *find_good(const struct calling *calling)
{
	const struct live_block *in_use;
	struct recording *found = recording_find(
		calling->function, calling->key, calling->call, &in_use);

	if (!found ||
	    (!recording_is_stale(found) && !recording_is_spoiled(found)))
		return found;
	recordings_retire_useless(calling->key, calling->function);
	return NULL;
}

/* EAGER: the call is passed over. *found is its recording. */
static enum philox_call_kind what_to_prepare(const struct calling *calling,
					     struct recording **found)
{
	*found = NULL;
	if (is_eager(calling->function))
		return PHILOX_CALL_EAGER;
	*found = find_good(calling);
	if (*found)
		return PHILOX_CALL_REPLAY;
	return can_be_recorded(calling) ? PHILOX_CALL_RECORD
					: PHILOX_CALL_EAGER;
}

static enum philox_status prepare_begun(struct calling *calling)
{
	enum philox_status status = calling_refuse_capturing(calling);
	enum philox_call_kind kind;
	struct recording *found;

	calling->call->kind = PHILOX_CALL_NONE;
	if (status == PHILOX_OK)
		status = live_unstick(calling->function->runner);
	if (status != PHILOX_OK)
		return agree_failed(calling->function, status);
	status = agree_on(calling, what_to_prepare(calling, &found), &kind);
	if (status != PHILOX_OK || kind != PHILOX_CALL_RECORD)
		return status;
	return capture_ahead(calling, found);
}

static enum philox_status prepare(struct philox_function *function,
				  struct philox_call *call)
{
	struct calling calling = {
		.function = function, .call = call, .ahead = 1};
	enum philox_status status = calling_begin(&calling);

	if (status != PHILOX_OK)
		return agree_failed(function, status);
	return calling_end(&calling, prepare_begun(&calling));
}

/* Keys may have gone since, for the limits. */
static size_t count_recorded(const struct philox_function *function,
			     const struct philox_call *calls, size_t n)
{
	const struct live_block *in_use;
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		struct key *key =
			key_find(function, calls[i].key, calls[i].key_size);

		found += key &&
			 recording_find(function, key, &calls[i], &in_use);
	}
	return found;
}

enum philox_status philox_function_prepare(struct philox_function *function,
					   struct philox_call *calls, size_t n,
					   size_t *prepared)
{
	size_t done = 0;
	enum philox_status status;

	if (!function)
		return context_null(NULL, "function");
	if (n && !calls && !function->agree)
		return context_null(function->runner->context, "calls");
	NEED_PROCESS(function->runner->context);
	status = runner_enter(function->runner);
	if (status != PHILOX_OK)
		return runner_report(function->runner, function, status);
	if (n && !calls)
		status = agree_failed(function, status_set(PHILOX_ERROR_INVALID,
							   "calls is NULL"));
	while (status == PHILOX_OK && done < n) {
		status = prepare(function, &calls[done]);
		done += status == PHILOX_OK;
	}
	if (prepared)
		*prepared = count_recorded(function, calls, done);
	runner_leave(function->runner, status);
	return runner_report(function->runner, function, status);
}
