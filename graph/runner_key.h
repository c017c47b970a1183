/*
 * graph/runner_key.h - the keys of a function
 */
#ifndef GRAPH_RUNNER_KEY_H
#define GRAPH_RUNNER_KEY_H

#include "graph/runner.h"

/* key_find() finds a key, NULL: there is none. */
struct key *key_find(const struct philox_function *function, const void *bytes,
		     size_t size);

/* key_get() finds the key of a call, or makes one: ERROR_MEMORY. */
enum philox_status key_get(struct philox_function *function, const void *bytes,
			   size_t size, struct key **key);

/* key_drop() forgets a key and retires its recordings. */
void key_drop(struct philox_function *function, struct key *key);

/* keys_free() frees all keys of a function. */
void keys_free(struct philox_function *function);

#endif
