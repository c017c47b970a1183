/*
 * graph/runner/call/execute.c - the kinds of call, carried out
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "graph/runner/call/call.h"
#include "graph/runner/function/function.h"

static void note_refusal(const struct request *request,
			 enum philox_call_kind kind)
{
	const struct philox_run *run = &request->function->runner->run;

	if (!run->refused)
		return;
	request_explain(request, REFUSED_BEGIN "%s", run->reason);
	request_wait(request, kind);
}

enum philox_status call_eagerly(const struct request *request,
				enum philox_call_kind kind)
{
	struct philox_function *function = request->function;
	struct key *key = request->key;
	enum philox_status status =
		eager_call(function, request->call, key, kind, request->stream);

	if (status != PHILOX_OK)
		return status;
	request->call->kind = kind;
	if (kind != PHILOX_CALL_WARMUP || !function->runner->run.again)
		key->body_not_run = 0;
	if (kind == PHILOX_CALL_WARMUP)
		function->counts.warmup++;
	else
		function->counts.eager++;
	if (kind == PHILOX_CALL_WARMUP && !function->runner->run.again &&
	    key->warmups) /* of another process, or since the body had not run */
		key->warmups--;
	if (kind != PHILOX_CALL_WARMUP && function->runner->run.again)
		key->warmups++;
	note_refusal(request, kind);
	return PHILOX_OK;
}

/* Some bodies are not done after one, and ask for more. */
enum philox_status call_dry(const struct request *request)
{
	struct philox_function *function = request->function;
	struct key *key = request->key;
	enum philox_status status = PHILOX_OK;

	expected_dry(request->key, &request->function->policy);
	for (int i = 0; status == PHILOX_OK && key->dry; i++) {
		if (i == DRY_MAX)
			return status_set(PHILOX_ERROR_LIMIT,
					  "function '%s': its body has asked "
					  "for more than %d dry warm-ups",
					  function->name, DRY_MAX);
		status = eager_dry(function, request->call, key,
				   request->stream);
		if (status != PHILOX_OK)
			return status;
		if (!function->runner->run.again)
			key->dry--;
		note_refusal(request, PHILOX_CALL_WARMUP);
	}
	return status;
}

/* The body refused, or broke its capture: the message says how. */
static void explain_refusal(const struct request *request)
{
	struct philox_function *function = request->function;
	char begin[96];
	const char *why = philox_error_message();

	snprintf(begin, sizeof(begin), "function '%s': ", function->name);
	if (strncmp(why, begin, strlen(begin)) == 0)
		why += strlen(begin);
	request_explain(request, "%s", why);
	request_wait(request, PHILOX_CALL_RECORD);
}

enum philox_status call_capture(const struct request *request,
				struct recording *before,
				struct recording **recording, int *refused)
{
	struct philox_function *function = request->function;
	enum philox_status status;

	*refused = 0;
	status = record_call(function, request->call, request->key,
			     request->stream, request->prepare, recording,
			     refused);
	if (*refused) {
		explain_refusal(request);
		*refused = function->policy.refused != PHILOX_REFUSED_ERROR;
	}
	if (status != PHILOX_OK)
		return status;
	if (before)
		recording_retire(before, NULL);
	request->key->logged &= ~(unsigned)LOGGED_REFUSED;
	return PHILOX_OK;
}

/* How long each part of a recording took, as far as the counts say. */
void call_post_recorded(const struct request *request,
			const struct philox_function_counts *before,
			uint64_t began)
{
	const struct philox_function_counts *now = &request->function->counts;

	runner_post(request->function, PHILOX_LOG_INFO, "recorded",
		    PHILOX_CALL_RECORD, NULL, runner_time() - began,
		    "is recorded: %s (ns: restore %" PRIu64 ", body %" PRIu64
		    ", instantiate %" PRIu64 ", checkpoint %" PRIu64
		    ", first launch %" PRIu64 ")",
		    request->function->reason,
		    now->restore_ns - before->restore_ns,
		    now->record_ns - before->record_ns,
		    now->instantiate_ns - before->instantiate_ns,
		    now->checkpoint_ns - before->checkpoint_ns,
		    now->first_ns - before->first_ns);
}

static enum philox_status launch_first(const struct request *request,
				       struct recording *recording,
				       struct replay_check *check)
{
	const uint64_t began = runner_time();
	enum philox_status status = launch_recording(recording, request->call,
						     request->stream, check);

	request->function->counts.first_ns += runner_time() - began;
	return status;
}

/* The second question: a recording of each process, or of none, is launched. */
static enum philox_status agree_on_recording(const struct request *request,
					     struct recording *made,
					     int refused,
					     enum philox_status captured,
					     enum philox_call_kind *agreed)
{
	struct philox_function *function = request->function;

	if (refused)
		return agree_on(request, PHILOX_CALL_EAGER, agreed);
	if (captured == PHILOX_OK && function->agree)
		captured = launch_check(made, request->call, request->stream);
	if (captured != PHILOX_OK)
		return agree_failed(function, captured);
	return agree_on(request, PHILOX_CALL_RECORD, agreed);
}

enum philox_status call_recorded(const struct request *request,
				 struct recording *before)
{
	struct philox_function *function = request->function;
	const struct philox_function_counts counted = function->counts;
	const uint64_t began = runner_time();
	struct recording *recording = NULL;
	enum philox_call_kind agreed;
	int refused;
	enum philox_status status =
		call_capture(request, before, &recording, &refused);

	status = agree_on_recording(request, recording, refused, status,
				    &agreed);
	if (status == PHILOX_OK && !refused && agreed == PHILOX_CALL_RECORD)
		status = launch_first(request, recording, NULL);
	if (recording)
		call_post_recorded(request, &counted, began);
	if (status != PHILOX_OK)
		return status;
	function->counts.missed_refused += refused != 0;
	if (agreed != PHILOX_CALL_RECORD)
		return call_eagerly(request, agreed);
	request->call->kind = PHILOX_CALL_RECORD;
	function->counts.record++;
	return PHILOX_OK;
}

static enum philox_status launch_again(const struct request *request,
				       struct recording *recording,
				       struct replay_check *check)
{
	const uint64_t began = runner_time();
	enum philox_status status;

	if (!recording->launched)
		return launch_first(request, recording, check);
	status = launch_recording(recording, request->call, request->stream,
				  check);
	request->function->counts.replay_ns += runner_time() - began;
	return status;
}

/* The caller has what the body made, as of a call that ran it. */
static void fall_back(const struct request *request,
		      struct recording *recording)
{
	struct philox_function *function = request->function;

	request_explain(request, RECORDING_DIFFERED);
	request_wait(request, PHILOX_CALL_EAGER);
	recording_retire(recording, RECORDING_DIFFERED);
	request->call->kind = PHILOX_CALL_EAGER;
	function->counts.eager++;
}

static void count_replay(const struct request *request,
			 struct recording *recording)
{
	recording_played(recording);
	request->call->kind = PHILOX_CALL_REPLAY;
	request->function->counts.replay++;
}

static enum philox_status replay_checked(const struct request *request,
					 struct recording *recording)
{
	struct replay_check check = {.recording = recording,
				     .call = request->call,
				     .stream = request->stream};
	enum philox_status status = launch_again(request, recording, &check);

	if (status != PHILOX_OK)
		return status;
	if (check.fell_back)
		fall_back(request, recording);
	else
		count_replay(request, recording);
	return PHILOX_OK;
}

enum philox_status call_replayed(const struct request *request,
				 struct recording *recording)
{
	enum philox_status status;

	if (replay_is_due(request->function))
		return replay_checked(request, recording);
	status = launch_again(request, recording, NULL);
	if (status == PHILOX_OK)
		count_replay(request, recording);
	return status;
}
