/*
 * graph/runner/function/key.c - the keys of a function
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/function/function.h"
#include "lib/base/base.h"

static void free_key(struct key *key)
{
	script_free(&key->script);
	free(key->inputs);
	free(key);
}

static int reserve_key(const struct philox_function *function, struct key *key)
{
	key->inputs = calloc(function->n_inputs + 1, sizeof(*key->inputs));
	return key->inputs != NULL;
}

struct key *key_new(const struct philox_function *function, const void *bytes,
		    size_t size)
{
	struct key *key = calloc(1, sizeof(*key) + size);

	if (key && !reserve_key(function, key)) {
		free_key(key);
		key = NULL;
	}
	if (!key)
		return NULL;
	key->hash = hash_text(bytes, size);
	key->size = size;
	if (size)
		memcpy(key->bytes, bytes, size);
	return key;
}

static void link_key(struct philox_function *function, struct key *key)
{
	map_put(&function->key_map, key->hash, key);
	key->next_in_function = function->keys;
	function->keys = key;
	function->counts.keys++;
}

/* Whether a key of this hash was dropped, `recorded`: with recordings. */
static int was_dropped(const struct philox_function *function, uint64_t hash,
		       int recorded)
{
	const struct dropped_key *dropped = function->dropped;
	const uint64_t n = function->n_dropped < DROPPED_KEYS
				   ? function->n_dropped
				   : DROPPED_KEYS;
	uint64_t i = 0;

	while (i < n &&
	       (dropped[i].hash != hash || dropped[i].recorded < recorded))
		i++;
	return i < n;
}

static enum philox_status make_key(struct philox_function *function,
				   const void *bytes, size_t size,
				   struct key **out)
{
	struct key *key =
		map_reserve(&function->key_map, function->key_map.count + 1)
			? key_new(function, bytes, size)
			: NULL;

	if (!key)
		return status_set(PHILOX_ERROR_MEMORY,
				  "function '%s': no memory for a key",
				  function->name);
	key->warmups = function->policy.warmups;
	key->dry = function->policy.dry;
	key->forgotten = was_dropped(function, key->hash, 0);
	if (was_dropped(function, key->hash, 1))
		key->drop_reason = "its key was forgotten, for policy.keys";
	link_key(function, key);
	*out = key;
	return PHILOX_OK;
}

struct key *key_find(const struct philox_function *function, const void *bytes,
		     size_t size)
{
	const struct map *map = &function->key_map;
	const struct map_entry *entry = map_find(map, hash_text(bytes, size));

	for (; entry; entry = map_find_next(map, entry)) {
		struct key *key = entry->value;

		if (key->size == size &&
		    (!size || memcmp(key->bytes, bytes, size) == 0))
			return key;
	}
	return NULL;
}

enum philox_status key_get(struct philox_function *function, const void *bytes,
			   size_t size, struct key **key)
{
	*key = key_find(function, bytes, size);
	return *key ? PHILOX_OK : make_key(function, bytes, size, key);
}

void key_drop(struct philox_function *function, struct key *key)
{
	struct key **link = &function->keys;

	recordings_retire(key, function, NULL);
	map_remove(&function->key_map, key->hash, key);
	while (*link != key)
		link = &(*link)->next_in_function;
	*link = key->next_in_function;
	free_key(key);
	function->counts.keys--;
}

void keys_free_list(struct key *list)
{
	struct key *key;

	while ((key = list)) {
		list = key->next_in_function;
		free_key(key);
	}
}

void keys_free(struct philox_function *function)
{
	keys_free_list(function->keys);
	function->keys = NULL;
	map_finish(&function->key_map);
	function->counts.keys = 0;
}

void keys_replace(struct philox_function *function, struct key *list,
		  const struct map *map)
{
	struct key *key;

	keys_free(function);
	function->key_map = *map;
	while ((key = list)) {
		list = key->next_in_function;
		link_key(function, key);
	}
}

/* --- what is said of a key --------------------------------------------------- */

void key_log(const struct philox_function *function, struct key *key,
	     enum logged about, const char *event, enum philox_call_kind kind,
	     const char *input, const char *text)
{
	if (key->logged & about)
		return;
	key->logged |= about;
	runner_post(function,
		    about == LOGGED_MOVED ? PHILOX_LOG_INFO
					  : PHILOX_LOG_WARNING,
		    event, kind, input, 0, ": %s%s", KEY_JOINT(key).text, text);
}

void key_refuse(struct philox_function *function, struct key *key,
		enum philox_call_kind kind, const char *reason)
{
	key->wait = function->policy.retry;
	function->runner->unrecorded = 1;
	snprintf(key->refused, sizeof(key->refused), "%s", reason);
	key_log(function, key, LOGGED_REFUSED, "not recorded", kind, NULL,
		reason);
}
