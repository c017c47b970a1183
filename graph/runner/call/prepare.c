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

static int can_be_recorded(const struct request *request)
{
	return !request->key->wait &&
	       !inputs_unrecordable(request->function, request->key,
				    request->call);
}

/* Whether others have made theirs changes nothing here: it is kept. */
static enum philox_status agree_ahead(const struct request *request,
				      int refused, enum philox_status captured)
{
	enum philox_call_kind agreed;

	if (captured != PHILOX_OK && !refused)
		return agree_failed(request->function, captured);
	return agree_on(request,
			refused ? PHILOX_CALL_EAGER : PHILOX_CALL_RECORD,
			&agreed);
}

/* The function's reason is that of calls, unless a key waits for this one's. */
static enum philox_status capture_ahead(struct request *request,
					struct recording *old)
{
	struct philox_function *function = request->function;
	const struct philox_function_counts before = function->counts;
	const uint64_t began = runner_time();
	struct recording *recording = NULL;
	char reason[sizeof(function->reason)];
	int refused;
	enum philox_status status = call_dry(request);

	if (status != PHILOX_OK || (!old && request->key->wait))
		return status;
	memcpy(reason, function->reason, sizeof(reason));
	request_explain(request, "it is prepared");
	status = call_capture(request, old, &recording, &refused);
	if (recording) {
		call_post_recorded(request, &before, began);
		function->counts.prepared++;
		request->key->warmups = 0;
		request->key->body_not_run = 0;
	}
	if (!refused)
		memcpy(function->reason, reason, sizeof(reason));
	status = agree_ahead(request, refused, status);
	if (status == PHILOX_OK && recording)
		request->call->kind = PHILOX_CALL_RECORD;
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

/* EAGER: the call is passed over. *found is its recording. */
static enum philox_call_kind what_to_prepare(const struct request *request,
					     struct recording **found)
{
	*found = NULL;
	if (is_eager(request->function))
		return PHILOX_CALL_EAGER;
	*found = find_good(request);
	if (*found)
		return PHILOX_CALL_REPLAY;
	return can_be_recorded(request) ? PHILOX_CALL_RECORD
					: PHILOX_CALL_EAGER;
}

static enum philox_status prepare_begun(struct request *request)
{
	enum philox_status status = request_refuse_capturing(request);
	enum philox_call_kind kind;
	struct recording *found;

	request->call->kind = PHILOX_CALL_NONE;
	if (status == PHILOX_OK)
		status = live_unstick(request->function->runner);
	if (status != PHILOX_OK)
		return agree_failed(request->function, status);
	status = agree_on(request, what_to_prepare(request, &found), &kind);
	if (status != PHILOX_OK || kind != PHILOX_CALL_RECORD)
		return status;
	return capture_ahead(request, found);
}

static enum philox_status prepare(struct philox_function *function,
				  struct philox_call *call)
{
	struct request request = {
		.function = function, .call = call, .prepare = 1};
	enum philox_status status = request_begin(&request);

	if (status != PHILOX_OK)
		return agree_failed(function, status);
	return request_end(&request, prepare_begun(&request));
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
	status = runner_acquire(function->runner);
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
	runner_release(function->runner, status);
	return runner_report(function->runner, function, status);
}
