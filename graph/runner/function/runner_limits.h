/*
 * graph/runner/function/runner_limits.h - how many keys and bytes a function keeps
 */
#ifndef GRAPH_RUNNER_FUNCTION_RUNNER_LIMITS_H
#define GRAPH_RUNNER_FUNCTION_RUNNER_LIMITS_H

#include "graph/runner/state/runner.h"

/*
 * limits_keep() drops keys, but never this one, until the function is within
 * the limits of its policy, or no other key is left that would help.
 */
void limits_keep(struct philox_function *function, const struct key *now);

#endif
