/*
 * graph/runner_prepare.c - calls that are recorded ahead
 */
#include "graph/runner_eager.h"
#include "graph/runner_enter.h"
#include "graph/runner_inputs.h"
#include "graph/runner_kinds.h"
#include "graph/runner_recording.h"

static int can_be_recorded(const struct calling *calling)
{
	const struct philox_function *function = calling->function;

	return !function->runner->eager &&
	       !(function->flags & PHILOX_FUNCTION_EAGER) &&
	       !inputs_unrecordable(function, calling->key, calling->call);
}

static enum philox_status capture_ahead(const struct calling *calling)
{
	struct philox_function *function = calling->function;
	const struct philox_function_counts before = function->counts;
	const uint64_t began = runner_time();
	struct recording *recording;
	int refused;
	enum philox_status status = eager_dry(function, calling->call,
					      calling->key, calling->stream);

	if (status != PHILOX_OK)
		return status;
	calling_explain(calling, "it is prepared");
	status = call_capture(calling, &recording, &refused);
	if (status != PHILOX_OK)
		return refused ? PHILOX_OK : status;
	call_post_recorded(calling, &before, began);
	function->counts.prepared++;
	calling->key->warmups = 0;
	calling->call->kind = PHILOX_CALL_RECORD;
	return PHILOX_OK;
}

static enum philox_status prepare(struct philox_function *function,
				  struct philox_call *call, size_t *prepared)
{
	struct calling calling = {
		.function = function, .call = call, .ahead = 1};
	const struct live_block *in_use;
	enum philox_status status = calling_begin(&calling);

	if (status == PHILOX_OK)
		status = calling_refuse_capturing(&calling);
	if (status != PHILOX_OK)
		return status;
	call->kind = PHILOX_CALL_NONE;
	if (!can_be_recorded(&calling))
		return PHILOX_OK;
	if (recording_find(function, calling.key, call, &in_use)) {
		++*prepared;
		return PHILOX_OK;
	}
	status = capture_ahead(&calling);
	*prepared += call->kind == PHILOX_CALL_RECORD;
	return status;
}

enum philox_status philox_function_prepare(struct philox_function *function,
					   struct philox_call *calls, size_t n,
					   size_t *prepared)
{
	size_t ready = 0;
	enum philox_status status;

	if (!function)
		return context_null(NULL, "function");
	if (n && !calls)
		return context_null(function->runner->context, "calls");
	NEED_PROCESS(function->runner->context);
	status = runner_enter(function->runner);
	if (status != PHILOX_OK)
		return runner_report(function->runner, function, status);
	for (size_t i = 0; status == PHILOX_OK && i < n; i++)
		status = prepare(function, &calls[i], &ready);
	if (prepared)
		*prepared = ready;
	runner_leave(function->runner, status);
	return runner_report(function->runner, function, status);
}
