/*
 * graph/runner/call/runner_verify_parts.h - what the parts of verified replays ask of each
 * other
 */
#ifndef GRAPH_RUNNER_CALL_RUNNER_VERIFY_PARTS_H
#define GRAPH_RUNNER_CALL_RUNNER_VERIFY_PARTS_H

#include "graph/runner/call/verify.h"

/* --- graph/runner/call/runner_verify_inputs.c ------------------------------------------- */

/*
 * replay_keep_mutated() keeps what the body may change of its inputs.
 * replay_copy_of() returns where this run finds an input that is in memory that
 * was kept; NULL: in its own. replay_is_mutated() tells whether the body may
 * change it.
 */
enum philox_status replay_keep_mutated(struct replay_check *check);
void *replay_copy_of(const struct replay_check *check, uint32_t input);
int replay_is_mutated(const struct replay_check *check, uint32_t input);

/* --- graph/runner/call/runner_verify_body.c ---------------------------------------------- */

/* replay_run_body() runs the body with the numbers of the launch. */
enum philox_status replay_run_body(struct philox_verify *verify);

#endif
