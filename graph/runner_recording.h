/*
 * graph/runner_recording.h - recordings: kept, found, launched
 */
#ifndef GRAPH_RUNNER_RECORDING_H
#define GRAPH_RUNNER_RECORDING_H

#include "graph/runner.h"

/*
 * recording_make() makes an empty one for a call. recording_keep() has it found
 * from then on. recording_retire() has it found no more: its launches may still
 * be under way, so it is freed with its function, by recordings_free().
 */
enum philox_status recording_make(struct philox_function *function,
				  struct key *key,
				  const struct philox_call *call,
				  struct recording **recording);
enum philox_status recordings_reserve(struct philox_function *function);
void recording_keep(struct recording *recording);
void recording_retire(struct recording *recording);
void recording_free(struct recording *recording);
void recordings_free(struct philox_function *function);

/*
 * recording_find() finds one of the key for a call, of several one whose memory
 * holds no output; *in_use is that block, if all of them have one. NULL: there
 * is none.
 */
struct recording *recording_find(const struct philox_function *function,
				 const struct key *key,
				 const struct philox_call *call,
				 const struct live_block **in_use);

/*
 * recording_launch() launches one on a stream for a call, as which nothing else
 * is done. On an error nothing has changed but for numbers that are burnt.
 */
enum philox_status recording_launch(struct recording *recording,
				    struct philox_call *call,
				    philox_stream stream);

#endif
