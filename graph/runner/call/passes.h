/*
 * graph/runner/call/passes.h - the passes of a body, and the tickets of its call
 *
 * See Note [Runner] in graph/runner/state/runner.h.
 */
#ifndef GRAPH_RUNNER_CALL_PASSES_H
#define GRAPH_RUNNER_CALL_PASSES_H

#include "graph/runner/state/runner.h"

/* The hook `ended`: see lib/state/context.h. */
enum philox_status run_passes_ended(const struct philox_pass *pass,
				    int committed, unsigned flags, int *kept);

/*
 * run_passes_whole() checks, after the body, that it has ended all its passes
 * and taken all entries of `uses`: ERROR_STATE, ERROR_INVALID. With
 * `graph_uses` it is that many passes that were captured.
 */
enum philox_status run_passes_whole(struct philox_run *run);

/*
 * run_passes_settle() uses the tickets of an eager call up that are to be, and
 * writes those of its forwards; run_passes_undo() leaves the ledger as it was.
 */
void run_passes_settle(struct philox_run *run);
void run_passes_undo(struct philox_run *run);

#endif
