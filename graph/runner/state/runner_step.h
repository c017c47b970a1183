/*
 * graph/runner/state/runner_step.h - the outputs of a step, and what keeps them
 *
 * See Paths in Note [Runner], graph/runner/state/runner.h.
 */
#ifndef GRAPH_RUNNER_STATE_RUNNER_STEP_H
#define GRAPH_RUNNER_STATE_RUNNER_STEP_H

#include "graph/runner/state/runner.h"

/* step_reserve() makes room for n tickets that a call may give out. */
enum philox_status step_reserve(struct philox_runner *runner, size_t n);

/*
 * step_follow() says of which path the call is, before it releases anything:
 * that of its inputs.
 */
void step_follow(struct philox_runner *runner, size_t n_inputs);

/*
 * step_owe() notes a ticket that a call of a path gave out, or that an output of
 * it is tied to; there is room.
 */
void step_owe(struct philox_runner *runner, struct philox_region *region,
	      struct philox_ticket ticket, uint64_t path);

#endif
