/*
 * graph/runner/call/agree.h - processes settle on what a call is executed as
 *
 * See `agree` of struct philox_function_options. Functions that are not
 * PHILOX_FUNCTION_COLLECTIVE ask nobody, and it costs them nothing.
 */
#ifndef GRAPH_RUNNER_CALL_AGREE_H
#define GRAPH_RUNNER_CALL_AGREE_H

#include "graph/runner/call/request.h"

/*
 * agree_on() asks the other processes with the kind that this one wants, and
 * writes what all have agreed on. Where that is less, the call is counted as
 * missed for it and its reason says so, unless it is only prepared. Errors:
 * ERROR_STATE (others cannot make the call), ERROR_INVALID (the callback's
 * answer is no kind, or above `wanted`), what the callback returned.
 */
enum philox_status agree_on(const struct calling *calling,
			    enum philox_call_kind wanted,
			    enum philox_call_kind *agreed);

/*
 * agree_quietly() does the same of a function, and says nothing: for questions
 * that are no decisions of a kind.
 */
enum philox_status agree_quietly(struct philox_function *function,
				 enum philox_call_kind wanted,
				 enum philox_call_kind *agreed);

/*
 * agree_failed() asks with NONE, for a call that cannot be made, and returns its
 * error with the thread's message as it was, whatever the others say.
 */
enum philox_status agree_failed(struct philox_function *function,
				enum philox_status status);

#endif
