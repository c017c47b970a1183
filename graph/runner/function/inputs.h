/*
 * graph/runner/function/inputs.h - the inputs of a call: static, copied, moved
 */
#ifndef GRAPH_RUNNER_FUNCTION_INPUTS_H
#define GRAPH_RUNNER_FUNCTION_INPUTS_H

#include "graph/runner/state/runner.h"

/* inputs_check() checks the inputs of a call against their descriptors. */
enum philox_status inputs_check(const struct philox_function *function,
				const struct philox_call *call);

/*
 * inputs_fit() checks that they have the sizes that they have under the key:
 * ERROR_INVALID. inputs_note() remembers them for the next call, and returns 1
 * if it has decided to copy one from now on.
 */
enum philox_status inputs_fit(const struct philox_function *function,
			      const struct key *key,
			      const struct philox_call *call);
int inputs_note(struct philox_function *function, struct key *key,
		const struct philox_call *call);

/* inputs_misaligned() tells whether the body cannot use one where it is. */
int inputs_misaligned(const struct philox_function *function,
		      const struct philox_call *call, size_t index);

/* inputs_copied() tells whether a recording has one copied. */
int inputs_copied(const struct philox_function *function, const struct key *key,
		  const struct philox_call *call, size_t index);

/*
 * inputs_hash() is equal for calls that one recording may serve; inputs_same()
 * tells whether a recording does, as far as its inputs go.
 */
uint64_t inputs_hash(const struct philox_function *function,
		     const struct key *key, const struct philox_call *call);
int inputs_same(const struct recording *recording,
		const struct philox_call *call);

/*
 * inputs_unrecordable() returns the name of an input because of which the calls
 * of a key cannot be recorded: mutated, copied and not written back. NULL: none.
 */
const char *inputs_unrecordable(const struct philox_function *function,
				const struct key *key,
				const struct philox_call *call);

/*
 * inputs_moved() writes which static inputs are elsewhere than in a recording,
 * all of them as far as there is room, and returns the first one's name, NULL if
 * there is none.
 */
const char *inputs_moved(const struct recording *recording,
			 const struct philox_call *call, char *text,
			 size_t size);

/*
 * inputs_copy_in() copies those inputs on a stream that have a buffer, to it
 * (buffers NULL: none has one);
 * inputs_copy_back() copies back those that are to be.
 */
enum philox_status inputs_copy_in(struct philox_function *function,
				  const struct philox_call *call,
				  void *const *buffers, philox_stream stream);
enum philox_status inputs_copy_back(struct philox_function *function,
				    const struct philox_call *call,
				    void *const *buffers, philox_stream stream);

#endif
