/*
 * philox/plan.h - what a runner has learned, as a text
 *
 * A runner learns while it is used: which keys there are, what the body does
 * under each, which inputs have to be copied, what refused to be recorded and
 * why, how much memory it takes. A plan is all of that as a text. Loaded into a
 * runner of a new process that has made the same functions, it makes the
 * runner decide, call by call, as the one that was saved would have gone on:
 *
 *   philox_context_save(context, "step-1000.philox");
 *   philox_runner_save(runner, "step-1000.plan");
 *   ... in a new process, after the same functions were made ...
 *   philox_context_load(context, "step-1000.philox");
 *   philox_runner_load(runner, "step-1000.plan");
 *
 * It has no graphs, no addresses and no number of a device. So what was
 * recorded is recorded again, when its call comes: a call that would have been
 * replayed is the first time one that runs the body, which libraries need in
 * a new process (a dry warm-up if the policy has those, else a warm-up; none if
 * it has neither), then one that is recorded, and then replayed. A key that
 * runs its body anyway, since it waits or is early, needs no warm-up for that.
 *
 * Which addresses the recordings of a key had is not known to a plan. So as
 * many recordings as a key had are made without regard to `limit` and `after`
 * of the policy, and to PHILOX_MOVED_ERROR: those that come first. They count
 * as those of the plan did, first as ones that were replayed. They are over
 * when the key goes, or its recordings would be of no use any more. Of three
 * things the runner knows nothing any more: calls that were counted towards
 * `after`, replays towards `verify`, and where inputs were: the first call of a
 * key moves none of them. Outputs that were not released are.
 *
 * Reasons go with it: a key whose body refused to be recorded waits for as many
 * calls as it would have, and a backward whose forward was not recorded is not
 * either, if its ticket is pending still (philox/save.h). Limits of keys and
 * bytes go on as if all recordings of the plan were there.
 *
 * Load also takes the memory from the device that the pool had at its peak, so
 * that no recording has to; if that is not to be had a message says so
 * ("plan"), and the pool grows when it must.
 *
 * The text is plain ASCII with a version, a line for each thing and a checksum;
 * the same contents have only one spelling. Its form is in Note [Plan] in
 * graph/runner/plan/plan.h. `philox inspect` sums one up, `philox diff`
 * compares two.
 *
 * Thread rule: as of the runner (philox/runner.h). Not legal on a thread that
 * is capturing.
 */
#ifndef PHILOX_PLAN_H
#define PHILOX_PLAN_H

#include <stddef.h>
#include <philox/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * philox_runner_save_text() writes a runner's plan as a text that ends with a
 * NUL, and its size without that (`size` may be NULL). The caller frees the
 * text with free(). philox_runner_save() writes it to a file, completely or not
 * at all, as philox_context_save() does. Errors: PHILOX_ERROR_INVALID,
 * PHILOX_ERROR_BUSY (the runner is in use), PHILOX_ERROR_FILE,
 * PHILOX_ERROR_MEMORY.
 */
PHILOX_API enum philox_status philox_runner_save_text(
	struct philox_runner *runner, char **text, size_t *size);
PHILOX_API enum philox_status philox_runner_save(struct philox_runner *runner,
						 const char *path);

/*
 * philox_runner_load_text() loads a plan of `size` bytes (a NUL at its end is
 * not counted) into a runner of which no function has been called or prepared.
 * Each function of the plan must be there, described as it was: mode, flags,
 * inputs, outputs, values and policy, but for origins. Functions that are not
 * in the plan begin anew, and a second plan takes the place of the first. On
 * an error nothing has changed. Errors:
 * PHILOX_ERROR_INVALID, which names the line, for a text that is malformed, cut
 * or changed; PHILOX_ERROR_UNSUPPORTED for a newer version of the format, and
 * for a plan of another version of the library; PHILOX_ERROR_MISMATCH, which
 * names the first difference, for functions that are missing or described in
 * another way; PHILOX_ERROR_STATE (a function of the runner was called or
 * prepared); PHILOX_ERROR_BUSY, PHILOX_ERROR_FILE, PHILOX_ERROR_MEMORY.
 */
PHILOX_API enum philox_status philox_runner_load_text(
	struct philox_runner *runner, const char *text, size_t size);
PHILOX_API enum philox_status philox_runner_load(struct philox_runner *runner,
						 const char *path);

#ifdef __cplusplus
}
#endif
#endif
