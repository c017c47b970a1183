/*
 * graph/runner/state/runner_enter.h - a thread comes into a runner
 */
#ifndef GRAPH_RUNNER_STATE_RUNNER_ENTER_H
#define GRAPH_RUNNER_STATE_RUNNER_ENTER_H

#include "graph/runner/state/runner.h"

/*
 * runner_drain() releases the outputs whose tickets were used up since, within a
 * call or not.
 * runner_enter() is runner_take(), with that and with what calls have released.
 */
void runner_drain(struct philox_runner *runner, int within);
enum philox_status runner_enter(struct philox_runner *runner);

#endif
