/*
 * graph/runner/call/runner_verify_text.h - what is said of a replay that differs
 */
#ifndef GRAPH_RUNNER_CALL_RUNNER_VERIFY_TEXT_H
#define GRAPH_RUNNER_CALL_RUNNER_VERIFY_TEXT_H

#include "graph/runner/call/verify.h"

#define REPLAY_TEXT 480

/*
 * replay_describe() writes what differs, why, and what of the call has changed
 * since it was recorded.
 */
enum philox_status replay_describe(struct replay_check *check,
				   const struct verify_item *item,
				   uint64_t place, enum verify_why why,
				   char text[REPLAY_TEXT]);

#endif
