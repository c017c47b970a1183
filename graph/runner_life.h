/*
 * graph/runner_life.h - runners: made and destroyed
 */
#ifndef GRAPH_RUNNER_LIFE_H
#define GRAPH_RUNNER_LIFE_H

#include "graph/runner.h"

/* runners_finish() destroys the runners of a context that ends. */
void runners_finish(struct graph_context *graphs);

#endif
