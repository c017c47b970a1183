/*
 * graph/runner/function/key.h - the keys of a function
 */
#ifndef GRAPH_RUNNER_FUNCTION_KEY_H
#define GRAPH_RUNNER_FUNCTION_KEY_H

#include "graph/runner/state/runner.h"

/* key_find() finds a key, NULL: there is none. */
struct key *key_find(const struct philox_function *function, const void *bytes,
		     size_t size);

/* key_get() finds the key of a call, or makes one: ERROR_MEMORY. */
enum philox_status key_get(struct philox_function *function, const void *bytes,
			   size_t size, struct key **key);

/* key_drop() forgets a key and retires its recordings. */
void key_drop(struct philox_function *function, struct key *key);

/* keys_free() frees all keys of a function, which have no recordings. */
void keys_free(struct philox_function *function);

/*
 * Several keys at once. key_new() makes one that is in no list: all is 0 but its
 * bytes; NULL: no memory. keys_replace() frees the keys of a function, which
 * have no recordings, and puts those of a list, in the reverse of its order,
 * into an array of empty buckets, a power of two, which becomes the function's.
 * keys_free_list() frees a list.
 */
struct key *key_new(const struct philox_function *function, const void *bytes,
		    size_t size);
void keys_replace(struct philox_function *function, struct key *list,
		  struct key **buckets, size_t n_buckets);
void keys_free_list(struct key *list);

#endif
