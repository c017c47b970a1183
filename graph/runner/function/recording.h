/*
 * graph/runner/function/recording.h - recordings: kept, found, launched
 */
#ifndef GRAPH_RUNNER_FUNCTION_RECORDING_H
#define GRAPH_RUNNER_FUNCTION_RECORDING_H

#include "graph/runner/state/runner.h"

#define RECORDING_DIFFERED "its replay differed from its body"

/*
 * recording_make() makes an empty one for a call. recording_keep() has it found
 * from then on, and recording_played() counts a replay. recording_retire() has it
 * found no more, recordings_retire() all those of a key,
 * recordings_retire_useless() those that are stale or spoiled, see below: their
 * launches may still be under way, and so runner_retire.c frees them. `why`, in
 * words that live on, is for the reason of the next recording of the key; NULL:
 * it has another one. recordings_free() frees the others of a function.
 */
enum philox_status recording_make(struct philox_function *function,
				  struct key *key,
				  const struct philox_call *call,
				  struct recording **recording);
enum philox_status recordings_reserve(struct philox_function *function);
void recording_keep(struct recording *recording);
void recording_played(struct recording *recording);
void recording_retire(struct recording *recording, const char *why);
void recordings_retire(struct key *key, struct philox_function *function,
		       const char *why);
void recordings_retire_useless(struct key *key,
			       struct philox_function *function);
void recording_free(struct recording *recording);
void recordings_free(struct philox_function *function);

/*
 * recording_is_stale() tells whether a region in one was destroyed;
 * recording_is_spoiled() whether the device finds that it uses memory which was
 * freed.
 */
int recording_is_stale(const struct recording *recording);
int recording_is_spoiled(const struct recording *recording);

/*
 * recording_find() finds one of the key for a call, of several one whose memory
 * holds no output; *in_use is that block, if all of them have one. NULL: there
 * is none.
 */
struct recording *recording_find(const struct philox_function *function,
				 const struct key *key,
				 const struct philox_call *call,
				 const struct live_block **in_use);

#endif
