/*
 * graph/runner/runner.h - runners: made and destroyed
 */
#ifndef GRAPH_RUNNER_RUNNER_H
#define GRAPH_RUNNER_RUNNER_H

#include "graph/runner/state/state.h"

/*
 * runners_check_idle() refuses to end a context while a call is in one of its
 * runners, the call of the body that asks for it, for example: ERROR_BUSY.
 */
enum philox_status runners_check_idle(const struct graph_context *graphs);

/* runners_finish() destroys the runners of a context that ends. */
void runners_finish(struct graph_context *graphs);

#endif
