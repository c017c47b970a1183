/*
 * graph/runner/function/runner_retire.h - recordings that are not used any more
 *
 * See Going in Note [Runner], graph/runner/state/runner.h.
 */
#ifndef GRAPH_RUNNER_FUNCTION_RUNNER_RETIRE_H
#define GRAPH_RUNNER_FUNCTION_RUNNER_RETIRE_H

#include "graph/runner/state/runner.h"

/*
 * retired_mark() has an event on a stream, after a call's work, tell when the
 * launches of recordings that were retired are over; retired_sweep() frees those for which
 * it has come. What fails is done after a later call.
 */
void retired_mark(struct philox_runner *runner, philox_stream stream);
void retired_sweep(struct philox_runner *runner);

/*
 * retired_free() frees all of a function, whose launches are over; NULL: of all
 * functions, and the rest of what the list needs.
 */
void retired_free(struct philox_runner *runner,
		  const struct philox_function *function);

#endif
