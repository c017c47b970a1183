/*
 * graph/runner/state/fence.h - where on which streams outputs were released
 *
 * See Order in Note [Runner], graph/runner/state/runner.h.
 */
#ifndef GRAPH_RUNNER_STATE_FENCE_H
#define GRAPH_RUNNER_STATE_FENCE_H

#include "graph/runner/state/runner.h"

/*
 * points_note() notes that what is on a stream now comes before the next call.
 * Any thread. Errors: CAPTURE_UNSUPPORTED, MEMORY, those of the device.
 */
enum philox_status points_note(struct philox_runner *runner,
			       philox_stream stream);

/*
 * points_await() has a stream wait for all points that are not passed, and
 * points_wait() waits itself, on any thread. points_passed() says that something after those waits is in the chain.
 */
enum philox_status points_await(struct philox_runner *runner,
				philox_stream stream);
enum philox_status points_wait(struct philox_runner *runner);
void points_passed(struct philox_runner *runner);

void points_finish(struct philox_runner *runner);

#endif
