/*
 * graph/runner/call/verify.h - replays that are verified
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#ifndef GRAPH_RUNNER_CALL_VERIFY_H
#define GRAPH_RUNNER_CALL_VERIFY_H

#include "graph/runner/state/runner.h"
#include "graph/verify/verify.h"

/* A replay that is to be verified. */
struct replay_check {
	struct recording *recording;
	struct philox_call *call;
	philox_stream stream;
	struct philox_verify verify;
	int open;       /* there is something to compare */
	int asked;      /* other processes verify theirs, too */
	size_t *pieces; /* of each input: the memory that it is in, from 1 */
	int reruns;
	int fell_back; /* the caller has got what the body made */
};

/*
 * replay_is_due() tells whether the function's next replay is to be verified,
 * and counts it.
 */
int replay_is_due(struct philox_function *function);

/*
 * replay_check_begin() runs the body before the launch, with its numbers.
 * replay_check_end() compares, after the launch, if it `went` well. Errors: those
 * of the body, ERROR_DIFFERS, those of the device.
 */
enum philox_status replay_check_begin(struct replay_check *check);
enum philox_status replay_check_end(struct replay_check *check,
				    enum philox_status went);

/* replay_checks_finish() frees what verification has taken of a runner. */
enum philox_status replay_checks_finish(struct philox_runner *runner);

#endif
