/*
 * graph/runner/call/call.c - a call of a function, and one that is prepared
 *
 * The steps of a call, in order: it is checked (request.c), decided (decide.c),
 * agreed on (graph/runner/function/agree.c), executed (replay.c, record.c,
 * eager.c) and ended here, where its reason is written.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "graph/runner/call/call.h"
#include "graph/runner/function/function.h"
#include "graph/runner/state/state.h"
#include "lib/state/state.h"

/* --- agreement ------------------------------------------------------------ */

/* The reason so far says why it would have been no replay. */
static void explain_less(const struct request *request,
			 struct decision *decision,
			 enum philox_call_kind wanted,
			 enum philox_call_kind agreed)
{
	static const char *const kinds[] = {"", "an eager call", "a warm-up",
					    "a recording", "a replay"};
	struct philox_function *function = request->function;
	const int replay = wanted == PHILOX_CALL_REPLAY;
	char own[sizeof(decision->reason.text)];

	snprintf(own, sizeof(own), "%s", replay ? "" : decision->reason.text);
	reason_write(
		&decision->reason,
		"it is %s, since other processes need more care: here it would "
		"be %s%s%.120s",
		kinds[agreed], kinds[wanted], *own ? ": " : "", own);
	function->counts.missed_agreed++;
	key_log(function, request->key, LOGGED_AGREED, "agreed", agreed, NULL,
		decision->reason.text);
}

/* Where others want less, the call is counted as missed for that. */
static enum philox_status agree_on_kind(const struct request *request,
					struct decision *decision,
					enum philox_call_kind wanted)
{
	enum philox_status status =
		agree_on(request->function, wanted, &decision->kind);

	if (status == PHILOX_OK && decision->kind < wanted && !request->prepare)
		explain_less(request, decision, wanted, decision->kind);
	return status;
}

static enum philox_status agree_on_decision(const struct request *request,
					    struct decision *decision)
{
	const enum philox_call_kind wanted = decision->kind;
	enum philox_status status = agree_on_kind(request, decision, wanted);

	return status;
}

/*
 * The second question: a recording of each process, or of none, is launched.
 * Whether others have made theirs changes nothing for one that is prepared.
 */
static enum philox_status agree_on_recording(const struct request *request,
					     struct decision *decision,
					     struct recording *made,
					     enum philox_status captured)
{
	struct philox_function *function = request->function;

	if (decision->refused)
		return agree_on_kind(request, decision, PHILOX_CALL_EAGER);
	if (captured == PHILOX_OK && function->agree && !request->prepare)
		captured = replay_ready(request, made);
	if (captured != PHILOX_OK)
		return agree_failed(function, captured);
	return agree_on_kind(request, decision, PHILOX_CALL_RECORD);
}

/* --- execution ------------------------------------------------------------ */

/* How long each part of a recording took, as far as the counts say. */
static void post_recorded(const struct request *request,
			  const struct decision *decision,
			  const struct philox_function_stats *before,
			  uint64_t began)
{
	const struct philox_function *function = request->function;
	const struct philox_function_stats *now = &function->counts;

	runner_post(function, PHILOX_LOG_INFO, "recorded", PHILOX_CALL_RECORD,
		    NULL, runner_time() - began,
		    "is recorded: %s%s (ns: restore %" PRIu64 ", body %" PRIu64
		    ", instantiate %" PRIu64 ", checkpoint %" PRIu64
		    ", first launch %" PRIu64 ")",
		    KEY_JOINT(request->key).text, decision->reason.text,
		    now->restore_ns - before->restore_ns,
		    now->record_ns - before->record_ns,
		    now->instantiate_ns - before->instantiate_ns,
		    now->checkpoint_ns - before->checkpoint_ns,
		    now->first_ns - before->first_ns);
}

/* It is launched, or the body is run if it is refused or others want so. */
static enum philox_status record(const struct request *request,
				 struct decision *decision)
{
	struct philox_function *function = request->function;
	const struct philox_function_stats counted = function->counts;
	const uint64_t began = runner_time();
	struct recording *made = NULL;
	enum philox_status status = record_call(request, decision, &made);

	status = agree_on_recording(request, decision, made, status);
	if (status == PHILOX_OK && !decision->refused &&
	    decision->kind == PHILOX_CALL_RECORD)
		status = replay_first(request, made);
	if (made)
		post_recorded(request, decision, &counted, began);
	if (status != PHILOX_OK)
		return status;
	function->counts.missed_refused += decision->refused != 0;
	if (decision->kind != PHILOX_CALL_RECORD)
		return eager_call(request, decision);
	request->call->kind = PHILOX_CALL_RECORD;
	function->counts.record++;
	return PHILOX_OK;
}

static enum philox_status run_or_record(const struct request *request,
					struct decision *decision)
{
	if (decision->kind == PHILOX_CALL_RECORD)
		return record(request, decision);
	return eager_call(request, decision);
}

/* What all processes have agreed to replay cannot be decided again. */
static enum philox_status replay_or_not(const struct request *request,
					struct decision *decision)
{
	struct recording *recording = decision->recording;
	enum philox_status status = replay_call(request, decision);

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

static enum philox_status execute(const struct request *request,
				  struct decision *decision)
{
	if (decision->kind == PHILOX_CALL_REPLAY)
		return replay_or_not(request, decision);
	return run_or_record(request, decision);
}

/* --- the end -------------------------------------------------------------- */

/* What was recorded with an input in place is no use once that is copied. */
static void note_inputs(const struct request *request,
			const struct decision *decision)
{
	struct philox_function *function = request->function;

	if (!inputs_note(function, request->key, request->call,
			 (enum philox_call_kind)request->call->kind,
			 decision->expected))
		return;
	runner_post(function, PHILOX_LOG_INFO, "copied", PHILOX_CALL_NONE, NULL,
		    0, "has automatic inputs that moved: they are copied");
	recordings_retire(request->key, function,
			  "an input that it had in place is copied");
}

/* A call that failed may leave a new key, but not one too many. */
static void keep_bounds(const struct request *request,
			enum philox_status status)
{
	struct philox_function *function = request->function;
	const uint32_t most = function->policy.keys;

	if (status == PHILOX_OK)
		bounds_keep(function, request->key);
	else if (request->key && request->fresh && most &&
		 function->counts.keys > most)
		key_drop(function, request->key);
}

static enum philox_status end_call(const struct request *request,
				   const struct decision *decision,
				   enum philox_status status)
{
	struct philox_function *function = request->function;

	if (decision->reason.written) /* while there is the key */
		reason_tell(&decision->reason, function, request->key);
	if (status == PHILOX_OK && !request->prepare)
		note_inputs(request, decision);
	keep_bounds(request, status);
	return status;
}

/* --- trace: calls of functions in a trace --------------------------------- */

/* What this call has added to, with commas between: "moved,limit"; or "". */
static void write_miss(const struct philox_function *function, char text[80])
{
	const struct philox_function_stats *before = &function->runner->traced;
	size_t length = 0;

	*text = '\0';
	for (const struct field *miss = count_misses; miss->kind; miss++)
		if (field_number(miss, &function->counts) !=
		    field_number(miss, before))
			length += (size_t)snprintf(text + length, 80 - length,
						   "%s%s", length ? "," : "",
						   miss->word);
}

#define PHASE(text, field) \
	{FIELD(NUMBER, struct philox_function_stats, field, text)}

/* Times of what a call may do, as they are called in a trace. */
static const struct field phases[] = {
	PHASE("dry", dry_ns),
	PHASE("eager", eager_ns),
	PHASE("warm-up", warmup_ns),
	PHASE("restore", restore_ns),
	PHASE("record", record_ns),
	PHASE("instantiate", instantiate_ns),
	PHASE("checkpoint", checkpoint_ns),
	PHASE("first", first_ns),
	PHASE("replay", replay_ns),
	PHASE("verify", verify_ns),
	PHASE("device", device_ns),
	FIELDS_END};

/* What this call has spent, by what. With the context's lock. */
static void trace_times(const struct philox_function *function)
{
	const struct philox_function_stats *before = &function->runner->traced;
	char text[400] = "";
	size_t length = 0;

	for (const struct field *phase = phases; phase->kind; phase++) {
		const uint64_t spent = field_number(phase, &function->counts) -
				       field_number(phase, before);

		if (spent)
			length += (size_t)snprintf(text + length,
						   sizeof(text) - length,
						   " %s %" PRIu64, phase->word,
						   spent);
	}
	if (length)
		journal_trace(function->runner->context,
			      EVENT("function-times", FUNCTION_TIMES),
			      journal_name(function->runner->name).text,
			      journal_name(function->name).text, text);
}

static void trace_begin(const struct philox_function *function)
{
	struct philox_context *context = function->runner->context;

	if (!context->trace)
		return;
	function->runner->traced = function->counts;
	context_lock(context);
	journal_trace(context, EVENT("function-begin", FUNCTION),
		      journal_name(function->runner->name).text,
		      journal_name(function->name).text);
	context_unlock(context);
}

static void trace_end(const struct philox_function *function,
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
		journal_trace(context, EVENT("function-miss", FUNCTION_MISS),
			      journal_name(function->runner->name).text,
			      journal_name(function->name).text, miss,
			      journal_name(function->reason).text);
	trace_times(function);
	journal_trace(context, EVENT("function-end", FUNCTION_END),
		      journal_name(function->runner->name).text,
		      journal_name(function->name).text,
		      ok ? runner_kind(call->kind) : "failed",
		      journal_name(replay ? ""
				   : ok   ? function->reason
					  : philox_error_message())
			      .text);
	context_unlock(context);
}

static void begin_reason(struct reason *reason)
{
	reason->written = 0;
	reason->option = NULL;
	*reason->text = '\0';
}

/* --- calls ---------------------------------------------------------------- */

static enum philox_status decide_first(const struct request *request,
				       struct decision *decision)
{
	struct philox_runner *runner = request->function->runner;
	enum philox_status status;

	retired_sweep(runner);
	status = session_end_stuck(&runner->stuck);
	return status == PHILOX_OK ? decide(request, decision) : status;
}

static enum philox_status run_steps(struct request *request,
				    struct decision *decision)
{
	enum philox_status status = request_check(request);

	if (status == PHILOX_OK)
		status = decide_first(request, decision);
	if (status != PHILOX_OK)
		return agree_failed(request->function, status);
	status = agree_on_decision(request, decision);
	return status == PHILOX_OK ? execute(request, decision) : status;
}

static enum philox_status call_function(struct philox_function *function,
					struct philox_call *call)
{
	struct request request = {.function = function, .call = call};
	struct decision decision;
	enum philox_status status;

	function->calls++;
	begin_reason(&decision.reason);
	status = end_call(&request, &decision, run_steps(&request, &decision));
	if (status != PHILOX_OK)
		return status;
	request.key->calls++;
	retired_mark(function->runner, request.stream);
	return PHILOX_OK;
}

enum philox_status philox_function_call(struct philox_function *function,
					struct philox_call *call)
{
	const struct status_message kept = status_kept();
	enum philox_status status;

	if (!function)
		return context_null(NULL, "function");
	if (!call && !function->agree)
		return context_null(function->runner->context, "call");
	NEED_PROCESS(function->runner->context);
	status = runner_acquire(function->runner);
	if (status != PHILOX_OK)
		return runner_report(function->runner, function, status);
	function->runner->said = kept;
	trace_begin(function);
	status = call_function(function, call);
	if (status != PHILOX_OK)
		function->counts.failed++;
	trace_end(function, call, status);
	if (status == PHILOX_OK)
		status_restore(&function->runner->said);
	return runner_leave(function->runner, function, status);
}

/* --- calls that are recorded ahead ---------------------------------------- */

/* The function's reason is that of calls, unless a key waits for this one's. */
static enum philox_status record_ahead(const struct request *request,
				       struct decision *decision)
{
	struct philox_function *function = request->function;
	const struct philox_function_stats before = function->counts;
	const uint64_t began = runner_time();
	struct recording *made = NULL;
	struct reason reason;
	enum philox_status status = eager_dry(request, decision);

	if (status != PHILOX_OK || (!decision->recording && request->key->wait))
		return status;
	reason = decision->reason;
	reason_write(&decision->reason, "it is prepared");
	status = record_call(request, decision, &made);
	if (made) {
		post_recorded(request, decision, &before, began);
		function->counts.prepared++;
		request->key->warmups = 0;
		request->key->body_not_run = 0;
	}
	if (!decision->refused)
		decision->reason = reason;
	status = agree_on_recording(request, decision, made, status);
	if (status == PHILOX_OK && made)
		request->call->kind = PHILOX_CALL_RECORD;
	return status;
}

static enum philox_status decide_ahead(const struct request *request,
				       struct decision *decision)
{
	enum philox_status status = function_refuse_capture(
		request->function, request->call->stream);

	request->call->kind = PHILOX_CALL_NONE;
	if (status == PHILOX_OK)
		status = session_end_stuck(&request->function->runner->stuck);
	if (status == PHILOX_OK)
		decide_prepare(request, decision);
	return status;
}

static enum philox_status prepare_steps(struct request *request,
					struct decision *decision)
{
	enum philox_status status = request_check(request);

	if (status == PHILOX_OK)
		status = decide_ahead(request, decision);
	if (status != PHILOX_OK)
		return agree_failed(request->function, status);
	status = agree_on_kind(request, decision, decision->kind);
	if (status != PHILOX_OK || decision->kind != PHILOX_CALL_RECORD)
		return status;
	return record_ahead(request, decision);
}

static enum philox_status prepare(struct philox_function *function,
				  struct philox_call *call)
{
	struct request request = {
		.function = function, .call = call, .prepare = 1};
	struct decision decision;

	begin_reason(&decision.reason);
	return end_call(&request, &decision,
			prepare_steps(&request, &decision));
}

/* Of an array of calls, each of the size that the caller knows. */
static struct philox_call *call_at(const struct philox_call *calls, size_t i)
{
	return (void *)((uintptr_t)calls + i * calls->size);
}

/* Keys may have gone since, for the limits. */
static size_t count_recorded(const struct philox_function *function,
			     const struct philox_call *calls, size_t n)
{
	const struct live_block *in_use;
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		const struct philox_call *call = call_at(calls, i);
		struct key *key =
			key_find(function, call->key, call->key_bytes);

		found += key && recording_find(function, key, call, &in_use);
	}
	return found;
}

enum philox_status philox_function_prepare(struct philox_function *function,
					   struct philox_call *calls,
					   size_t n_calls, size_t *prepared)
{
	const struct status_message kept = status_kept();
	size_t done = 0;
	enum philox_status status;

	if (!function)
		return context_null(NULL, "function");
	if (n_calls && !calls && !function->agree)
		return context_null(function->runner->context, "calls");
	NEED_PROCESS(function->runner->context);
	status = runner_acquire(function->runner);
	if (status != PHILOX_OK)
		return runner_report(function->runner, function, status);
	function->runner->said = kept;
	if (n_calls && !calls)
		status = agree_failed(function, status_set(PHILOX_ERROR_INVALID,
							   "calls is NULL"));
	while (status == PHILOX_OK && done < n_calls) {
		status = prepare(function, call_at(calls, done));
		done += status == PHILOX_OK;
	}
	if (prepared)
		*prepared = count_recorded(function, calls, done);
	if (status == PHILOX_OK)
		status_restore(&function->runner->said);
	return runner_leave(function->runner, function, status);
}
