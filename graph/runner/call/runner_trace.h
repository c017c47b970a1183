/*
 * graph/runner/call/runner_trace.h - calls of functions in a trace
 *
 * See Note [Trace] in lib/trace/timeline.h. Nothing of this is in a journal.
 */
#ifndef GRAPH_RUNNER_CALL_RUNNER_TRACE_H
#define GRAPH_RUNNER_CALL_RUNNER_TRACE_H

#include "graph/runner/state/runner.h"

/*
 * trace_call_begin() says that a call begins, trace_call_end() how it was
 * executed and, if it ran the body, why.
 */
void trace_call_begin(const struct philox_function *function);
void trace_call_end(const struct philox_function *function,
		    const struct philox_call *call, enum philox_status status);

#endif
