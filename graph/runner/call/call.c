/*
 * graph/runner/call/call.c - a call: decided, and carried out
 */
#include <stdio.h>
#include <string.h>
#include "graph/runner/call/call.h"
#include "graph/runner/function/function.h"
#include "graph/runner/state/state.h"
#include "lib/state/state.h"

static enum philox_status run_or_record(const struct request *request,
					const struct decision *decision)
{
	if (decision->kind == PHILOX_CALL_RECORD)
		return call_recorded(request, decision->recording);
	return call_eagerly(request, decision->kind);
}

/* What all processes have agreed to replay cannot be decided again. */
static enum philox_status replay(const struct request *request,
				 struct decision *decision)
{
	struct recording *recording = decision->recording;
	enum philox_status status = call_replayed(request, recording);

	if (!request->function->agree && decide_is_stale(recording, status)) {
		status = decide_stale(request, decision);
		return status == PHILOX_OK ? run_or_record(request, decision)
					   : status;
	}
	if (status != PHILOX_OK && recording->spoiled)
		recording_retire(recording,
				 status == PHILOX_ERROR_DIFFERS
					 ? RECORDING_DIFFERED
					 : "the device refused to launch it");
	return status;
}

static enum philox_status agree_on_decision(const struct request *request,
					    struct decision *decision)
{
	const enum philox_call_kind wanted = decision->kind;
	enum philox_status status = agree_on(request, wanted, &decision->kind);

	if (wanted == PHILOX_CALL_RECORD &&
	    (status != PHILOX_OK || decision->kind != wanted))
		decide_again(request, decision);
	return status;
}

static enum philox_status execute(const struct request *request)
{
	struct decision decision;
	enum philox_status status = decide(request, &decision);

	if (status != PHILOX_OK)
		return agree_failed(request->function, status);
	status = agree_on_decision(request, &decision);
	if (status != PHILOX_OK)
		return status;
	if (decision.kind == PHILOX_CALL_REPLAY)
		return replay(request, &decision);
	return run_or_record(request, &decision);
}

/* What was recorded with an input in place is no use once that is copied. */
static void note_inputs(const struct request *request)
{
	struct philox_function *function = request->function;

	if (!inputs_note(function, request->key, request->call))
		return;
	runner_post(function, PHILOX_LOG_INFO, "copied", PHILOX_CALL_NONE, NULL,
		    0, "has automatic inputs that moved: they are copied");
	recordings_retire(request->key, function,
			  "an input that it had in place is copied");
}

static enum philox_status call_function(struct philox_function *function,
					struct philox_call *call)
{
	struct request request = {.function = function, .call = call};
	enum philox_status status =
		call ? request_begin(&request)
		     : status_set(PHILOX_ERROR_INVALID, "call is NULL");

	if (status != PHILOX_OK)
		return agree_failed(function, status);
	retired_sweep(function->runner);
	status = live_unstick(function->runner);
	status = status == PHILOX_OK ? execute(&request)
				     : agree_failed(function, status);
	status = request_end(&request, status);
	if (status != PHILOX_OK)
		return status;
	note_inputs(&request);
	request.key->calls++;
	retired_mark(function->runner, request.stream);
	return PHILOX_OK;
}

enum philox_status philox_function_call(struct philox_function *function,
					struct philox_call *call)
{
	enum philox_status status;

	if (!function)
		return context_null(NULL, "function");
	if (!call && !function->agree)
		return context_null(function->runner->context, "call");
	NEED_PROCESS(function->runner->context);
	status = runner_acquire(function->runner);
	if (status != PHILOX_OK)
		return runner_report(function->runner, function, status);
	trace_call_begin(function);
	status = call_function(function, call);
	if (status != PHILOX_OK)
		function->counts.failed++;
	trace_call_end(function, call, status);
	runner_release(function->runner, status);
	return runner_report(function->runner, function, status);
}

/* --- trace: calls of functions in a trace --------------------------------- */

/* The counts of what calls missed, by the reason that a trace has. */
static const struct {
	const char *name;
	size_t place;
} misses[] = {
	{"new", offsetof(struct philox_function_counts, missed_new)},
	{"moved", offsetof(struct philox_function_counts, missed_moved)},
	{"live", offsetof(struct philox_function_counts, missed_live)},
	{"stale", offsetof(struct philox_function_counts, missed_stale)},
	{"early", offsetof(struct philox_function_counts, missed_early)},
	{"limit", offsetof(struct philox_function_counts, missed_limit)},
	{"refused", offsetof(struct philox_function_counts, missed_refused)},
	{"eager", offsetof(struct philox_function_counts, missed_eager)},
	{"agreed", offsetof(struct philox_function_counts, missed_agreed)},
};

static uint64_t miss_count(const struct philox_function_counts *counts,
			   size_t place)
{
	uint64_t count;

	memcpy(&count, (const char *)counts + place, sizeof(count));
	return count;
}

/* What this call has added to, with commas between: "moved,limit"; or "". */
static void write_miss(const struct philox_function *function, char text[80])
{
	const struct philox_function_counts *before = &function->runner->traced;
	size_t length = 0;

	*text = '\0';
	for (size_t i = 0; i < sizeof(misses) / sizeof(misses[0]); i++)
		if (miss_count(&function->counts, misses[i].place) !=
		    miss_count(before, misses[i].place))
			length += (size_t)snprintf(text + length, 80 - length,
						   "%s%s", length ? "," : "",
						   misses[i].name);
}

void trace_call_begin(const struct philox_function *function)
{
	struct philox_context *context = function->runner->context;

	if (!context->trace)
		return;
	function->runner->traced = function->counts;
	context_lock(context);
	journal_trace(context, "function-begin runner %s function %s",
		      journal_name(function->runner->name).text,
		      journal_name(function->name).text);
	context_unlock(context);
}

void trace_call_end(const struct philox_function *function,
		    const struct philox_call *call, enum philox_status status)
{
	struct philox_context *context = function->runner->context;
	const int ok = status == PHILOX_OK;
	const int replay = ok && call->kind == PHILOX_CALL_REPLAY;
	char miss[80];

	if (!context->trace)
		return;
	write_miss(function, miss);
	context_lock(context);
	if (*miss)
		journal_trace(
			context,
			"function-miss runner %s function %s miss %s why %s",
			journal_name(function->runner->name).text,
			journal_name(function->name).text, miss,
			journal_name(function->reason).text);
	journal_trace(context,
		      "function-end runner %s function %s kind %s why %s",
		      journal_name(function->runner->name).text,
		      journal_name(function->name).text,
		      ok ? runner_kind(call->kind) : "failed",
		      journal_name(replay ? ""
				   : ok   ? function->reason
					  : philox_error_message())
			      .text);
	context_unlock(context);
}
