/*
 * graph/runner/function/function.h - functions of a runner
 */
#ifndef GRAPH_RUNNER_FUNCTION_FUNCTION_H
#define GRAPH_RUNNER_FUNCTION_FUNCTION_H

#include "graph/runner/state/runner.h"

/* function_end() frees what a function has but its names, which messages need. */
void function_end(struct philox_function *function);

/* function_free() frees the rest. */
void function_free(struct philox_function *function);

#endif
