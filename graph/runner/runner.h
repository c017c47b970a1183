/*
 * graph/runner/runner.h - runners: made and destroyed
 */
#ifndef GRAPH_RUNNER_RUNNER_H
#define GRAPH_RUNNER_RUNNER_H

#include "graph/runner/state/state.h"

/* runners_finish() destroys the runners of a context that ends. */
void runners_finish(struct graph_context *graphs);

#endif
