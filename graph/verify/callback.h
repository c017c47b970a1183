/*
 * graph/verify/callback.h - the passes of an eager form, and what else it asks for
 *
 * They have the numbers of the launch, and hold nothing; of each this knows
 * whether it has ended.
 */
#ifndef GRAPH_VERIFY_CALLBACK_H
#define GRAPH_VERIFY_CALLBACK_H

#include "graph/verify/verify.h"

enum verify_pass_state { VERIFY_OPEN, VERIFY_COMMITTED, VERIFY_ABORTED };

struct verify_pass {
	struct philox_pass pass; /* as it began */
	uint64_t number;         /* `run` of the callback's */
	enum verify_pass_state state;
};

/*
 * verify_passes_reserve() makes room for those of the graph, and
 * verify_passes_free() frees it. From verify_passes_begin() to
 * verify_passes_end() this thread is in the callback; then their cells are given
 * back. verify_passes_whole() checks that it has begun and committed each pass
 * of the graph: ERROR_STATE.
 */
enum philox_status verify_passes_reserve(struct philox_verify *verify);
void verify_passes_free(struct philox_verify *verify);
void verify_passes_begin(struct philox_verify *verify);
void verify_passes_end(struct philox_verify *verify);
enum philox_status verify_passes_whole(const struct philox_verify *verify);

/*
 * verify_passes_ended() notes the end of one, with the context's lock; 0: it is
 * of no eager form that is running, or has ended before.
 */
int verify_passes_ended(const struct philox_pass *pass, int committed);

#endif
