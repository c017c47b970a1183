/*
 * graph/runner_call.c - a call: how it is executed, and why
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "graph/runner_eager.h"
#include "graph/runner_inputs.h"
#include "graph/runner_key.h"
#include "graph/runner_memory.h"
#include "graph/runner_outputs.h"
#include "graph/runner_record.h"
#include "graph/runner_recording.h"
#include "graph/runner_run.h"
#include "lib/base/options.h"
#include "lib/device/captures.h"

/* The size of the struct's first version. */
#define CALL_SIZE_FIRST OPTIONS_FIRST(struct philox_call, reserved)
OPTIONS_NO_PADDING(struct philox_call, reserved);

#define KEY_SIZE_MAX 4096

/* A call on its way. */
struct calling {
	struct philox_function *function;
	struct philox_call *call;
	struct key *key;
	philox_stream stream; /* that the work is on */
};

/* --- checks ---------------------------------------------------------------------------- */

static enum philox_status check_count(const struct philox_function *function,
				      const char *what, size_t n, size_t has,
				      const void *array)
{
	if (n != has)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s' has %zu %s%s, not %zu",
				  function->name, has, what, status_s(has), n);
	if (n && !array)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': %ss is NULL", function->name,
				  what);
	return PHILOX_OK;
}

static enum philox_status check_value(const struct philox_function *function,
				      const struct philox_call *call, size_t i)
{
	const struct philox_call_value *value = &call->values[i];

	if (value->bytes && value->size == function->values[i].bytes)
		return PHILOX_OK;
	if (!value->bytes)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': value '%s' is NULL",
				  function->name, function->values[i].name);
	return status_set(PHILOX_ERROR_INVALID,
			  "function '%s': value '%s' has %zu byte%s, not %zu",
			  function->name, function->values[i].name,
			  function->values[i].bytes,
			  status_s(function->values[i].bytes), value->size);
}

static enum philox_status check_call_use(const struct philox_function *function,
					 const struct philox_call *call,
					 size_t i)
{
	const struct philox_use *use = &call->uses[i];

	if (!use->reserved && !(use->flags & ~(uint32_t)PHILOX_RETAIN))
		return PHILOX_OK;
	return status_set(
		PHILOX_ERROR_INVALID,
		"function '%s', use %zu: %s is 0x%" PRIx32 ", but %s",
		function->name, i, use->reserved ? "reserved" : "flags",
		use->reserved ? use->reserved : use->flags,
		use->reserved ? "must be 0" : "a use takes PHILOX_RETAIN only");
}

static enum philox_status check_lists(const struct philox_function *function,
				      const struct philox_call *call)
{
	enum philox_status status =
		check_count(function, "input", call->n_inputs,
			    function->n_inputs, call->inputs);

	if (status == PHILOX_OK)
		status = check_count(function, "value", call->n_values,
				     function->n_values, call->values);
	if (status == PHILOX_OK && (call->outputs || call->n_outputs))
		status = check_count(function, "output", call->n_outputs,
				     function->n_outputs, call->outputs);
	if (status == PHILOX_OK && call->n_uses && !call->uses)
		status = status_set(PHILOX_ERROR_INVALID,
				    "function '%s': uses is NULL",
				    function->name);
	for (size_t i = 0; status == PHILOX_OK && i < call->n_values; i++)
		status = check_value(function, call, i);
	for (size_t i = 0; status == PHILOX_OK && i < call->n_uses; i++)
		status = check_call_use(function, call, i);
	return status;
}

static enum philox_status check_input_handles(
	const struct philox_function *function, const struct philox_call *call)
{
	struct output_slot *slot;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < call->n_inputs; i++) {
		if (!call->inputs[i].output)
			continue;
		status = outputs_find(function->runner, call->inputs[i].output,
				      &slot);
		if (status != PHILOX_OK)
			status_prefix(status, "function '%s', input '%s': ",
				      function->name, function->inputs[i].name);
	}
	return status;
}

static enum philox_status check_call(const struct philox_function *function,
				     const struct philox_call *call)
{
	enum philox_status status = options_check_size(
		"call", call, call->size, CALL_SIZE_FIRST, sizeof(*call));

	if (status == PHILOX_OK)
		status = options_check_reserved("call", call->reserved);
	if (status == PHILOX_OK && call->key_size > KEY_SIZE_MAX)
		status = status_set(PHILOX_ERROR_INVALID,
				    "function '%s': a key has at most %d "
				    "bytes, not %zu",
				    function->name, KEY_SIZE_MAX,
				    call->key_size);
	if (status == PHILOX_OK && call->key_size && !call->key)
		status = status_set(PHILOX_ERROR_INVALID,
				    "function '%s': key is NULL",
				    function->name);
	if (status == PHILOX_OK)
		status = check_lists(function, call);
	if (status == PHILOX_OK)
		status = inputs_check(function, call);
	if (status == PHILOX_OK)
		status = check_input_handles(function, call);
	return status;
}

/* --- reasons ----------------------------------------------------------------------------- */

static void explain(struct philox_function *function, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void explain(struct philox_function *function, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(function->reason, sizeof(function->reason), format,
		  arguments);
	va_end(arguments);
}

/* Logs a decision about a key once. */
static void tell(const struct calling *calling, enum told about,
		 const char *event, enum philox_call_kind kind,
		 const char *input, const char *text)
{
	if (calling->key->told & about)
		return;
	calling->key->told |= about;
	runner_post(calling->function,
		    about == TOLD_MOVED ? PHILOX_LOG_INFO : PHILOX_LOG_WARNING,
		    event, kind, input, 0, "%s", text);
}

/* With the function's reason, which is the key's until then. */
static void wait_to_record(const struct calling *calling,
			   enum philox_call_kind kind)
{
	struct philox_function *function = calling->function;

	calling->key->wait = function->policy.retry;
	function->runner->barred = 1;
	snprintf(calling->key->refused, sizeof(calling->key->refused), "%s",
		 function->reason);
	tell(calling, TOLD_REFUSED, "not recorded", kind, NULL,
	     function->reason);
}

/* --- the kinds of call --------------------------------------------------------------------- */

static enum philox_status call_eagerly(const struct calling *calling,
				       enum philox_call_kind kind)
{
	struct philox_function *function = calling->function;
	struct key *key = calling->key;
	enum philox_status status =
		eager_call(function, calling->call, key, kind, calling->stream);

	if (status != PHILOX_OK)
		return status;
	calling->call->kind = kind;
	if (kind == PHILOX_CALL_WARMUP)
		function->counts.warmup++;
	else
		function->counts.eager++;
	if (kind == PHILOX_CALL_WARMUP && !function->runner->run.again)
		key->warmups--;
	if (kind != PHILOX_CALL_WARMUP && function->runner->run.again)
		key->warmups++;
	if (function->runner->run.refused) {
		explain(function, "its body refused to be recorded: %s",
			function->runner->run.reason);
		wait_to_record(calling, kind);
	}
	return PHILOX_OK;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The body refused, or broke its capture: the message says how. */
static enum philox_status after_refusal(const struct calling *calling,
					enum philox_status status)
{
	struct philox_function *function = calling->function;
	char begin[96];
	const char *why = philox_error_message();

	snprintf(begin, sizeof(begin), "function '%s': ", function->name);
	if (strncmp(why, begin, strlen(begin)) == 0)
		why += strlen(begin);
	explain(function, "%s", why);
	function->counts.missed_refused++;
	wait_to_record(calling, PHILOX_CALL_RECORD);
	if (function->policy.refused == PHILOX_REFUSED_ERROR)
		return status;
	return call_eagerly(calling, PHILOX_CALL_EAGER);
}

static enum philox_status call_recorded(const struct calling *calling)
{
	struct philox_function *function = calling->function;
	struct recording *recording;
	uint64_t began = now_ns(), took;
	int broke;
	enum philox_status status =
		record_call(function, calling->call, calling->key,
			    calling->stream, &recording, &broke);

	if (status != PHILOX_OK && broke)
		return after_refusal(calling, status);
	if (status != PHILOX_OK)
		return status;
	took = now_ns() - began;
	function->counts.record_ns += took;
	calling->key->told &= ~(unsigned)TOLD_REFUSED;
	runner_post(function, PHILOX_LOG_INFO, "recorded", PHILOX_CALL_RECORD,
		    NULL, took, "is recorded: %s", function->reason);
	status = recording_launch(recording, calling->call, calling->stream);
	if (status != PHILOX_OK)
		return status;
	calling->call->kind = PHILOX_CALL_RECORD;
	function->counts.record++;
	return PHILOX_OK;
}

static enum philox_status call_replayed(const struct calling *calling,
					struct recording *recording)
{
	struct philox_function *function = calling->function;
	enum philox_status status =
		recording_launch(recording, calling->call, calling->stream);

	if (status != PHILOX_OK)
		return status;
	if (!recording->replays++) {
		recording->key->unplayed--;
		function->counts.unplayed--;
	}
	calling->call->kind = PHILOX_CALL_REPLAY;
	function->counts.replay++;
	return PHILOX_OK;
}

/* --- decisions -------------------------------------------------------------------------------- */

/* Records a call that is unlike those before, unless that is too many. */
static enum philox_status record_within_limit(const struct calling *calling,
					      int limited)
{
	struct philox_function *function = calling->function;
	const uint32_t limit = function->policy.limit;
	size_t length = strlen(function->reason);

	if (!limited || calling->key->unplayed < limit)
		return call_recorded(calling);
	function->counts.missed_limit++;
	snprintf(function->reason + length, sizeof(function->reason) - length,
		 "; the limit of %" PRIu32 " recording%s that were never "
		 "replayed is met",
		 limit, status_s(limit));
	tell(calling, TOLD_LIMIT, "eager", PHILOX_CALL_EAGER, NULL,
	     function->reason);
	return call_eagerly(calling, PHILOX_CALL_EAGER);
}

static enum philox_status decide_live(const struct calling *calling,
				      const struct live_block *in_use)
{
	struct philox_function *function = calling->function;

	function->counts.missed_live++;
	explain(function,
		"block %" PRIu64 " of its recording's memory holds an output "
		"that is not released",
		in_use->id);
	if (function->policy.live == PHILOX_LIVE_RECORD)
		return record_within_limit(calling, 1);
	tell(calling, TOLD_LIVE, "eager", PHILOX_CALL_EAGER, NULL,
	     function->reason);
	return call_eagerly(calling, PHILOX_CALL_EAGER);
}

static enum philox_status decide_moved(const struct calling *calling)
{
	struct philox_function *function = calling->function;
	char moved[400] = "";
	const char *first =
		calling->key->latest
			? inputs_moved(calling->key->latest, calling->call,
				       moved, sizeof(moved))
			: NULL;

	function->counts.missed_moved++;
	explain(function, "its inputs moved: %.200s", moved);
	if (function->policy.moved == PHILOX_MOVED_ERROR)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "function '%s': inputs moved: %s",
				  function->name, moved);
	tell(calling, TOLD_MOVED, "moved", PHILOX_CALL_NONE, first, moved);
	return record_within_limit(calling, function->policy.moved ==
						    PHILOX_MOVED_LIMIT);
}

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
			    !is_read(&calling->key->script, i) ||
			    barred->ticket.serial != ticket.serial ||
			    barred->ticket.region_key != ticket.region_key)
				continue;
			explain(function,
				"its ticket is of function '%s', which was not "
				"recorded: %.120s",
				barred->function->name,
				barred->function->reason);
			tell(calling, TOLD_REFUSED, "not recorded",
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
		explain(function,
			"input '%.60s' is mutated, and a copy of it would not "
			"be written back",
			lost);
		tell(calling, TOLD_REFUSED, "not recorded", PHILOX_CALL_EAGER,
		     lost, function->reason);
		return BARRED_ITSELF;
	}
	if (is_ticket_barred(calling))
		return BARRED_BY_TICKET;
	if (!calling->key->wait)
		return NOT_BARRED;
	if (calling->key->wait != PHILOX_NEVER)
		calling->key->wait--;
	explain(function, "%s", calling->key->refused);
	return BARRED_ITSELF;
}

/* A launch asks by itself, but only the stream that it is on. */
static enum philox_status refuse_capturing(const struct calling *calling)
{
	struct philox_function *function = calling->function;
	enum philox_status status = device_refuse_capture(
		runner_device(function->runner), calling->call->stream);

	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(
		status, "function '%s' cannot be called: ", function->name);
}

static enum philox_status decide(const struct calling *calling,
				 const struct recording *found,
				 const struct live_block *in_use)
{
	struct philox_function *function = calling->function;
	enum philox_status status = refuse_capturing(calling);
	enum barred barred;

	if (status != PHILOX_OK)
		return status;
	if (calling->key->warmups) {
		explain(function, "it is warmed up under this key");
		return call_eagerly(calling, PHILOX_CALL_WARMUP);
	}
	barred = what_bars(calling);
	if (barred) {
		function->counts.missed_refused++;
		function->runner->barred = barred == BARRED_ITSELF;
		return call_eagerly(calling, PHILOX_CALL_EAGER);
	}
	if (found)
		return decide_live(calling, in_use);
	if (calling->key->recordings)
		return decide_moved(calling);
	function->counts.missed_new++;
	explain(function, "nothing was recorded under this key yet");
	return call_recorded(calling);
}

/* A recording with a region that was destroyed is of no use any more. */
static enum philox_status replay_or_decide(const struct calling *calling)
{
	const struct live_block *in_use = NULL;
	struct recording *found = recording_find(
		calling->function, calling->key, calling->call, &in_use);
	enum philox_status status;

	if (!found || in_use)
		return decide(calling, found, in_use);
	if (calling->stream != calling->call->stream) {
		status = refuse_capturing(calling);
		if (status != PHILOX_OK)
			return status;
	}
	status = call_replayed(calling, found);
	if (status != PHILOX_ERROR_STALE)
		return status;
	recording_retire(found);
	return decide(calling, NULL, NULL);
}

static enum philox_status execute(const struct calling *calling)
{
	struct philox_function *function = calling->function;
	enum philox_status status;

	if (!function->runner->eager &&
	    !(function->flags & PHILOX_FUNCTION_EAGER))
		return replay_or_decide(calling);
	status = refuse_capturing(calling);
	if (status != PHILOX_OK)
		return status;
	function->counts.missed_eager++;
	explain(function, "%s",
		function->runner->eager ? "PHILOX_RUNNER is 'eager'"
					: "it is PHILOX_FUNCTION_EAGER");
	return call_eagerly(calling, PHILOX_CALL_EAGER);
}

/* What was recorded with an input in place is no use once that is copied. */
static void note_inputs(const struct calling *calling)
{
	struct philox_function *function = calling->function;
	struct recording *recording, *also;

	if (!inputs_note(function, calling->key, calling->call))
		return;
	runner_post(function, PHILOX_LOG_INFO, "copied", PHILOX_CALL_NONE, NULL,
		    0, "has automatic inputs that moved: they are copied");
	for (recording = function->recordings; recording; recording = also) {
		also = recording->also;
		if (recording->key == calling->key && !recording->retired)
			recording_retire(recording);
	}
}

static enum philox_status call_function(struct philox_function *function,
					struct philox_call *call)
{
	struct calling calling = {.function = function, .call = call};
	enum philox_status status;

	if (function->gone)
		return status_set(PHILOX_ERROR_STALE,
				  "function '%s' was destroyed",
				  function->name);
	status = check_call(function, call);
	if (status == PHILOX_OK)
		status = key_get(function, call->key, call->key_size,
				 &calling.key);
	if (status == PHILOX_OK)
		status = inputs_fit(function, calling.key, call);
	if (status == PHILOX_OK)
		status = run_stream(function->runner, call->stream,
				    &calling.stream);
	if (status != PHILOX_OK)
		return status;
	function->runner->calls++;
	function->runner->barred = 0;
	status = execute(&calling);
	if (status != PHILOX_OK)
		return status;
	note_inputs(&calling);
	calling.key->calls++;
	return PHILOX_OK;
}

enum philox_status philox_function_call(struct philox_function *function,
					struct philox_call *call)
{
	enum philox_status status;

	if (!function)
		return context_null(NULL, "function");
	if (!call)
		return context_null(function->runner->context, "call");
	NEED_PROCESS(function->runner->context);
	status = runner_enter(function->runner);
	if (status != PHILOX_OK)
		return runner_report(function->runner, function, status);
	status = call_function(function, call);
	if (status != PHILOX_OK)
		function->counts.failed++;
	runner_leave(function->runner, status);
	return runner_report(function->runner, function, status);
}
