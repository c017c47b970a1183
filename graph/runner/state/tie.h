/*
 * graph/runner/state/tie.h - outputs that are released with a ticket
 *
 * See Locks in Note [Runner], graph/runner/state/runner.h.
 */
#ifndef GRAPH_RUNNER_STATE_TIE_H
#define GRAPH_RUNNER_STATE_TIE_H

#include "graph/runner/state/runner.h"

/*
 * ties_make() ties an output to a pending ticket: ERROR_EXISTS, ERROR_MEMORY
 * and those of ticket_pending(). ties_forget() ends that; a slot without a tie
 * is left as it is.
 */
enum philox_status ties_make(struct output_slot *slot,
			     struct philox_region *region,
			     struct philox_ticket ticket);
void ties_forget(struct output_slot *slot);

/*
 * ties_next() takes an output whose ticket has been used up, for which the next
 * call waits, NULL: of none; it is not tied any more.
 */
struct output_slot *ties_next(struct philox_runner *runner);

/* ties_finish() ends all ties of a runner. */
void ties_finish(struct philox_runner *runner);

#endif
