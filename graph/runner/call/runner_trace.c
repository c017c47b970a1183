/*
 * graph/runner/call/runner_trace.c - calls of functions in a trace
 */
#include "graph/runner/call/runner_trace.h"
#include <stdio.h>
#include <string.h>
#include "lib/state/journal.h"

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
