/*
 * graph/runner/call/eager.h - calls that run the body
 */
#ifndef GRAPH_RUNNER_CALL_EAGER_H
#define GRAPH_RUNNER_CALL_EAGER_H

#include "graph/runner/state/runner.h"

/*
 * eager_call() runs the body as an eager call or a warm-up, with the work on
 * `stream`. On an error nothing has changed.
 */
enum philox_status eager_call(struct philox_function *function,
			      struct philox_call *call, struct key *key,
			      enum philox_call_kind kind, philox_stream stream);

/*
 * eager_dry() runs the body for one dry warm-up. Nothing changes but what it does
 * to memory of the caller.
 */
enum philox_status eager_dry(struct philox_function *function,
			     struct philox_call *call, struct key *key,
			     philox_stream stream);

#endif
