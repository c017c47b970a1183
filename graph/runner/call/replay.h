/*
 * graph/runner/call/replay.h - launching a recording for a call
 */
#ifndef GRAPH_RUNNER_CALL_REPLAY_H
#define GRAPH_RUNNER_CALL_REPLAY_H

#include "graph/runner/state/runner.h"

/*
 * launch_recording() launches one on a stream for a call, as which nothing else
 * is done; `check` says how that is verified, NULL: it is not. On an error
 * nothing has changed but for numbers that are burnt.
 */
struct replay_check;

enum philox_status launch_recording(struct recording *recording,
				    struct philox_call *call,
				    philox_stream stream,
				    struct replay_check *check);

/*
 * launch_check() tells what that would fail for before any work is queued, such
 * as a ticket that is used up.
 */
enum philox_status launch_check(struct recording *recording,
				const struct philox_call *call,
				philox_stream stream);

#endif
