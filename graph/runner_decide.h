/*
 * graph/runner_decide.h - what a call is executed as, and why
 */
#ifndef GRAPH_RUNNER_DECIDE_H
#define GRAPH_RUNNER_DECIDE_H

#include "graph/runner_calling.h"

struct decision {
	enum philox_call_kind kind;
	struct recording *recording; /* to replay */
};

/*
 * decide() decides it for a call, has the dry warm-ups that come first, and
 * explains why it is no replay. decide_stale() decides again after a replay of
 * what is no more, of which the thread's message says why. Errors:
 * ERROR_CAPTURE_UNSUPPORTED, ERROR_MISMATCH (PHILOX_MOVED_ERROR), those of
 * call_dry().
 */
enum philox_status decide(const struct calling *calling,
			  struct decision *decision);
enum philox_status decide_stale(const struct calling *calling,
				struct decision *decision);

#endif
