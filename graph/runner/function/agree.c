/*
 * graph/runner/function/agree.c - processes settle on what a call is executed as
 *
 * A question is always asked of all, and all ask the same number of them: the
 * first one of a call, and then that which belongs to the kind they agreed on.
 */
#include <inttypes.h>
#include "graph/runner/function/function.h"

static enum philox_status refuse_answer(const struct philox_function *function,
					enum philox_call_kind wanted,
					uint32_t answer)
{
	if (answer > PHILOX_CALL_REPLAY)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': its processes cannot agree: "
				  "agree() was asked with %d and wrote %" PRIu32
				  ", which is no kind of call",
				  function->name, (int)wanted, answer);
	return status_set(PHILOX_ERROR_INVALID,
			  "function '%s': its processes cannot agree: agree() "
			  "was asked with %d and wrote %" PRIu32
			  ", but it writes the least of what all ask with",
			  function->name, (int)wanted, answer);
}

static enum philox_status name_failure(const struct philox_function *function,
				       const struct status_message *before,
				       enum philox_status status)
{
	if (!status_is_other(before))
		return status_set(status,
				  "function '%s': its processes cannot agree: "
				  "agree() returned %s",
				  function->name, philox_status_name(status));
	return status_prefix(
		status,
		"function '%s': its processes cannot agree: ", function->name);
}

/* The message is the callback's if it fails, and else as it was before. */
static enum philox_status ask_others(struct philox_function *function,
				     enum philox_call_kind wanted,
				     uint32_t *answer)
{
	enum philox_status status;
	const struct status_message before = status_kept();

	const struct status_message said = function->runner->said;

	*answer = UINT32_MAX;
	status_restore(&said);
	status = function->agree(function->user, (uint32_t)wanted, answer);
	runner_said(function->runner, &said);
	if (status != PHILOX_OK)
		return name_failure(function, &said, status);
	if (*answer > (uint32_t)wanted)
		return refuse_answer(function, wanted, *answer);
	status_restore(&before);
	return PHILOX_OK;
}

enum philox_status agree_on(struct philox_function *function,
			    enum philox_call_kind wanted,
			    enum philox_call_kind *agreed)
{
	enum philox_status status;
	uint32_t answer;

	*agreed = wanted;
	if (!function->agree)
		return PHILOX_OK;
	status = ask_others(function, wanted, &answer);
	if (status != PHILOX_OK)
		return status;
	if (answer == PHILOX_CALL_NONE)
		return status_set(PHILOX_ERROR_STATE,
				  "function '%s': other processes cannot make "
				  "the call",
				  function->name);
	*agreed = (enum philox_call_kind)answer;
	return PHILOX_OK;
}

/* A function that was destroyed may have no `user` any more. */
enum philox_status agree_failed(struct philox_function *function,
				enum philox_status status)
{
	const struct status_message own = status_kept();
	uint32_t answer;

	if (!function->agree || function->destroyed)
		return status;
	ask_others(function, PHILOX_CALL_NONE, &answer);
	status_restore(&own);
	return status;
}
