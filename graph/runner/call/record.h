/*
 * graph/runner/call/record.h - recording a call
 */
#ifndef GRAPH_RUNNER_CALL_RECORD_H
#define GRAPH_RUNNER_CALL_RECORD_H

#include "graph/runner/state/runner.h"

/*
 * record_call() captures the body, for launches; `ahead` is 1 if no call follows
 * at once. *broke is 1 if that failed since the body refused to be recorded, its
 * capture broke, or there is no room for what it takes: the reason is the
 * message, and an eager call may go well. On any error nothing has changed.
 */
enum philox_status record_call(struct philox_function *function,
			       struct philox_call *call, struct key *key,
			       philox_stream stream, int ahead,
			       struct recording **out, int *broke);

#endif
