/*
 * graph/runner/function/script.h - what a body does under a key, compared with before
 */
#ifndef GRAPH_RUNNER_FUNCTION_SCRIPT_H
#define GRAPH_RUNNER_FUNCTION_SCRIPT_H

#include "graph/runner/state/runner.h"

/*
 * run_fail() keeps the first failure of a run with the thread's message, and
 * returns `status`.
 */
enum philox_status run_fail(struct philox_run *run, enum philox_status status);

/* run_is_ours() tells whether a run's body is running, and on this thread. */
int run_is_ours(const struct philox_run *run);

/* run_check() refuses a run whose body is not running on this thread. */
enum philox_status run_check(const struct philox_run *run);

/*
 * script_begin() begins a run; script_step() takes its next step: ERROR_MISMATCH
 * if an earlier run did something else, ERROR_MEMORY. script_end() ends it: an
 * earlier run may have done more. script_forget() forgets what a run did that
 * does not count. script_free() frees one, and has it be empty.
 *
 * script_share() has an empty script be the n steps that others have, too;
 * script_unshare() gives up one reference to them.
 */
void script_begin(struct philox_run *run);
enum philox_status script_step(struct philox_run *run, const struct step *step);
enum philox_status script_end(struct philox_run *run);
void script_forget(struct philox_run *run);
void script_free(struct script *script);
void script_share(struct script *script, struct script_share *share, size_t n);
void script_unshare(struct script_share *share);

#endif
