/*
 * graph/runner/call/decide.h - what a call is executed as, and why
 */
#ifndef GRAPH_RUNNER_CALL_DECIDE_H
#define GRAPH_RUNNER_CALL_DECIDE_H

#include "graph/runner/call/request.h"

struct decision {
	enum philox_call_kind kind;
	struct recording *recording; /* to replay */
	uint32_t limited;            /* of the key, before */
};

/*
 * decide() decides it for a call, has the dry warm-ups that come first, and
 * explains why it is no replay. decide_stale() decides again after a replay of
 * what is no more, of which the thread's message says why; decide_is_stale()
 * tells whether a launch failed for that. The replay of a function that is
 * COLLECTIVE is decided only if its launch would not be refused. Errors:
 * ERROR_CAPTURE_UNSUPPORTED, ERROR_MISMATCH (PHILOX_MOVED_ERROR), those of
 * call_dry() and launch_check().
 */
enum philox_status decide(const struct calling *calling,
			  struct decision *decision);
int decide_is_stale(const struct recording *recording,
		    enum philox_status launched);
enum philox_status decide_stale(const struct calling *calling,
				struct decision *decision);

/*
 * decide_again() is for a call that was decided to be recorded and is not, as
 * other processes want: the next one like it is decided in the same way, not
 * after as many calls as the policy says. Or processes that count from
 * different calls would never record together.
 */
void decide_again(const struct calling *calling,
		  const struct decision *decision);

#endif
