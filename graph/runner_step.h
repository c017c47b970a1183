/*
 * graph/runner_step.h - the outputs of a step, and what keeps them
 *
 * See Paths in Note [Runner], graph/runner.h.
 */
#ifndef GRAPH_RUNNER_STEP_H
#define GRAPH_RUNNER_STEP_H

#include "graph/runner.h"

/* step_reserve() makes room for n tickets that a call may give out. */
enum philox_status step_reserve(struct philox_runner *runner, size_t n);

/* step_follow() says of which path the call is, that has succeeded. */
void step_follow(struct philox_runner *runner, const struct philox_call *call);

/* step_owe() notes a ticket that the call gave out, for which there is room. */
void step_owe(struct philox_runner *runner, struct philox_region *region,
	      struct philox_ticket ticket);

#endif
