/*
 * graph/runner/state/live.h - which memory of a runner's pool holds outputs
 *
 * See Note [Runner] in graph/runner/state/runner.h.
 */
#ifndef GRAPH_RUNNER_STATE_LIVE_H
#define GRAPH_RUNNER_STATE_LIVE_H

#include "graph/runner/state/runner.h"

/* live_range() returns what a block takes in the pool. */
struct block_range live_range(const struct philox_runner *runner,
			      const void *address, size_t bytes);

/*
 * live_reserve() makes room for n live blocks in all. live_hold() counts one
 * more output in a block, which has room as there is some for each output;
 * `from` is the recording whose checkpoint has it, NULL if it is live in the
 * pool. live_let_go() counts one fewer. live_find() finds a live block, NULL: it
 * is none.
 */
enum philox_status live_reserve(struct philox_runner *runner, size_t n);
void live_hold(struct philox_runner *runner, uint64_t id,
	       struct block_range range, struct recording *from);
void live_let_go(struct philox_runner *runner, uint64_t id);
const struct live_block *live_find(const struct philox_runner *runner,
				   uint64_t id);

/* live_join() sorts ranges and joins those that touch; returns how many. */
size_t live_join(struct block_range *ranges, size_t n);

/* live_meets() finds a live block in ranges, NULL: none is. */
const struct live_block *live_meets(const struct philox_runner *runner,
				    const struct block_range *ranges, size_t n);

/*
 * live_unstick() ends a session that could not be ended when it was time, since
 * the device refused it.
 */
enum philox_status live_unstick(struct philox_runner *runner);

/*
 * live_settle() makes the pool's live blocks those of the runner. On an error
 * nothing has changed.
 */
enum philox_status live_settle(struct philox_runner *runner);

/* function_settle() does that in a call of a function, which counts the time. */
enum philox_status function_settle(struct philox_function *function);

#endif
