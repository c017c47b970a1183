/*
 * graph/runner_trace.c - calls of functions in a trace
 */
#include "graph/runner_trace.h"
#include "lib/state/journal.h"

void trace_call_begin(const struct philox_function *function)
{
	struct philox_context *context = function->runner->context;

	if (!context->trace)
		return;
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

	if (!context->trace)
		return;
	context_lock(context);
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
