/*
 * graph/runner/call/call.c - a call: decided, and carried out
 */
#include "graph/runner/call/agree.h"
#include "graph/runner/call/decide.h"
#include "graph/runner/state/runner_enter.h"
#include "graph/runner/function/inputs.h"
#include "graph/runner/call/execute.h"
#include "graph/runner/state/live.h"
#include "graph/runner/function/recording.h"
#include "graph/runner/function/runner_retire.h"
#include "graph/runner/call/runner_trace.h"

static enum philox_status run_or_record(const struct calling *calling,
					const struct decision *decision)
{
	if (decision->kind == PHILOX_CALL_RECORD)
		return call_recorded(calling, decision->recording);
	return call_eagerly(calling, decision->kind);
}

/* What all processes have agreed to replay cannot be decided again. */
static enum philox_status replay(const struct calling *calling,
				 struct decision *decision)
{
	struct recording *recording = decision->recording;
	enum philox_status status = call_replayed(calling, recording);

	if (!calling->function->agree && decide_is_stale(recording, status)) {
		status = decide_stale(calling, decision);
		return status == PHILOX_OK ? run_or_record(calling, decision)
					   : status;
	}
	if (status != PHILOX_OK && recording->spoiled)
		recording_retire(recording,
				 status == PHILOX_ERROR_DIFFERS
					 ? RECORDING_DIFFERED
					 : "the device refused to launch it");
	return status;
}

static enum philox_status agree_on_decision(const struct calling *calling,
					    struct decision *decision)
{
	const enum philox_call_kind wanted = decision->kind;
	enum philox_status status = agree_on(calling, wanted, &decision->kind);

	if (wanted == PHILOX_CALL_RECORD &&
	    (status != PHILOX_OK || decision->kind != wanted))
		decide_again(calling, decision);
	return status;
}

static enum philox_status execute(const struct calling *calling)
{
	struct decision decision;
	enum philox_status status = decide(calling, &decision);

	if (status != PHILOX_OK)
		return agree_failed(calling->function, status);
	status = agree_on_decision(calling, &decision);
	if (status != PHILOX_OK)
		return status;
	if (decision.kind == PHILOX_CALL_REPLAY)
		return replay(calling, &decision);
	return run_or_record(calling, &decision);
}

/* What was recorded with an input in place is no use once that is copied. */
static void note_inputs(const struct calling *calling)
{
	struct philox_function *function = calling->function;

	if (!inputs_note(function, calling->key, calling->call))
		return;
	runner_post(function, PHILOX_LOG_INFO, "copied", PHILOX_CALL_NONE, NULL,
		    0, "has automatic inputs that moved: they are copied");
	recordings_retire(calling->key, function,
			  "an input that it had in place is copied");
}

static enum philox_status call_function(struct philox_function *function,
					struct philox_call *call)
{
	struct calling calling = {.function = function, .call = call};
	enum philox_status status =
		call ? calling_begin(&calling)
		     : status_set(PHILOX_ERROR_INVALID, "call is NULL");

	if (status != PHILOX_OK)
		return agree_failed(function, status);
	retired_sweep(function->runner);
	status = live_unstick(function->runner);
	status = status == PHILOX_OK ? execute(&calling)
				     : agree_failed(function, status);
	status = calling_end(&calling, status);
	if (status != PHILOX_OK)
		return status;
	note_inputs(&calling);
	calling.key->calls++;
	retired_mark(function->runner, calling.stream);
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
	status = runner_enter(function->runner);
	if (status != PHILOX_OK)
		return runner_report(function->runner, function, status);
	trace_call_begin(function);
	status = call_function(function, call);
	if (status != PHILOX_OK)
		function->counts.failed++;
	trace_call_end(function, call, status);
	runner_leave(function->runner, status);
	return runner_report(function->runner, function, status);
}
