/*
 * graph/runner/plan/runner_plan_steps.h - steps of scripts, read
 */
#ifndef GRAPH_RUNNER_PLAN_RUNNER_PLAN_STEPS_H
#define GRAPH_RUNNER_PLAN_RUNNER_PLAN_STEPS_H

#include "graph/runner/state/runner.h"
#include "lib/text/lines.h"

/* What steps of a script may name by number: those of its own, above it. */
struct step_counts {
	uint64_t passes, allocations;
	uint64_t outputs, values; /* of the function */
};

/*
 * plan_read_step() reads the rest of a line of a step; its region is new memory.
 */
struct step plan_read_step(struct reader *reader, struct step_counts *counts);

#endif
