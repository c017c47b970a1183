/*
 * graph/runner/call/request.h - a call on its way: what is checked, told and kept
 */
#ifndef GRAPH_RUNNER_CALL_REQUEST_H
#define GRAPH_RUNNER_CALL_REQUEST_H

#include "graph/runner/state/runner.h"

struct calling {
	struct philox_function *function;
	struct philox_call *call;
	struct key *key;
	philox_stream stream; /* that the work is on */
	int ahead; /* nothing is launched: philox_function_prepare() */
	int fresh; /* the key is new */
};

/*
 * calling_begin() checks a call against its function, finds its key and the
 * stream for its work: ERROR_INVALID, ERROR_STALE, ERROR_MEMORY, those of the
 * device.
 */
enum philox_status calling_begin(struct calling *calling);

/*
 * calling_end() ends a call, of which `status` came, and returns that: it keeps
 * to the limits of the policy.
 */
enum philox_status calling_end(const struct calling *calling,
			       enum philox_status status);

/*
 * calling_explain() writes why the call is not a replay; calling_tell() logs a
 * decision about its key once; calling_wait() has the key wait to be recorded,
 * for the reason that was explained.
 */
void calling_explain(const struct calling *calling, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void calling_tell(const struct calling *calling, enum told about,
		  const char *event, enum philox_call_kind kind,
		  const char *input, const char *text);
void calling_wait(const struct calling *calling, enum philox_call_kind kind);

/*
 * calling_refuse_capturing() refuses a call on a stream that is capturing:
 * ERROR_CAPTURE_UNSUPPORTED. A launch asks by itself, but only its own stream.
 */
enum philox_status calling_refuse_capturing(const struct calling *calling);

#endif
