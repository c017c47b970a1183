/*
 * graph/runner/state/runner_enter.c - a thread comes into a runner
 */
#include "graph/runner/state/runner_enter.h"
#include "graph/runner/state/output.h"
#include "graph/runner/state/tie.h"

void runner_drain(struct philox_runner *runner, int within)
{
	struct output_slot *slot;

	while ((slot = ties_next(runner)))
		if (within)
			outputs_drop_later(slot);
		else
			outputs_drop(slot);
}

enum philox_status runner_enter(struct philox_runner *runner)
{
	enum philox_status status = runner_take(runner);

	if (status != PHILOX_OK)
		return status;
	outputs_drop_now(runner);
	runner_drain(runner, 0);
	return PHILOX_OK;
}
