/*
 * graph/runner/call/execute.h - the kinds of call, carried out
 */
#ifndef GRAPH_RUNNER_CALL_EXECUTE_H
#define GRAPH_RUNNER_CALL_EXECUTE_H

#include "graph/runner/call/request.h"

/*
 * call_eagerly() runs the body, as an eager call or a warm-up; call_replayed()
 * launches a recording; call_recorded() makes one, which is used instead of
 * `before` from then on unless that is NULL, and launches it, or runs the body if
 * that is refused and the policy allows it, or if other processes want so. All
 * write the call's kind and count it.
 */
enum philox_status call_eagerly(const struct calling *calling,
				enum philox_call_kind kind);
enum philox_status call_replayed(const struct calling *calling,
				 struct recording *recording);
enum philox_status call_recorded(const struct calling *calling,
				 struct recording *before);

/*
 * call_dry() has the dry warm-ups that the key is still to have: errors of the
 * body, and ERROR_LIMIT if it asks for more and more.
 */
enum philox_status call_dry(const struct calling *calling);

/*
 * call_capture() makes a recording, as above; *refused is 1 if that was refused, in
 * whatever way, and is no error by the policy. call_post_recorded() tells of one
 * whose making began with these counts at that time.
 */
enum philox_status call_capture(const struct calling *calling,
				struct recording *before,
				struct recording **recording, int *refused);
void call_post_recorded(const struct calling *calling,
			const struct philox_function_counts *before,
			uint64_t began);

#endif
