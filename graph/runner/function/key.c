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
	free(key->seen);
	free(key);
}

static int reserve_key(const struct philox_function *function, struct key *key)
{
	key->inputs = calloc(function->n_inputs + 1, sizeof(*key->inputs));
	if (function->policy.after > 1)
		key->seen = calloc(SEEN_CALLS, sizeof(*key->seen));
	return key->inputs && (key->seen || function->policy.after <= 1);
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

/* Whether a key of this hash was dropped with recordings. */
static int was_dropped(const struct philox_function *function, uint64_t hash)
{
	const uint64_t n = function->n_dropped < DROPPED_KEYS
				   ? function->n_dropped
				   : DROPPED_KEYS;
	uint64_t i = 0;

	while (i < n && function->dropped[i] != hash)
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
	if (was_dropped(function, key->hash))
		key->drop_reason =
			"its key was forgotten, for a limit of the policy";
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
		    event, kind, input, 0, "%s", text);
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

/* --- limits: how many keys and bytes a function keeps --------------------- */

static int has_outputs(const struct recording *recording)
{
	const size_t n = recording->function->n_outputs;

	for (size_t i = 0; i < n; i++)
		if (recording->outputs[i].slot->live)
			return 1;
	return 0;
}

static void note_outputs(const struct philox_function *function)
{
	for (struct key *key = function->keys; key; key = key->next_in_function)
		key->holds = 0;
	for (struct recording *recording = function->recordings; recording;
	     recording = recording->next_in_function)
		recording->key->holds |= has_outputs(recording);
}

/* The one to go first; with `bytes` one that has recordings. NULL: none. */
static struct key *least_recent(const struct philox_function *function,
				const struct key *now, int bytes)
{
	struct key *found = NULL, *holds = NULL;

	for (struct key *key = function->keys; key;
	     key = key->next_in_function) {
		struct key **best;

		if (key == now ||
		    (bytes && !key->recordings && !key->expected.n))
			continue;
		best = key->holds ? &holds : &found;
		if (!*best || key->used < (*best)->used)
			*best = key;
	}
	return found ? found : holds;
}

static void drop_one(struct philox_function *function, struct key *key,
		     const char *what)
{
	runner_post(function, PHILOX_LOG_INFO, "dropped", PHILOX_CALL_NONE,
		    NULL, 0,
		    "forgets a key with %u recording%s, for the limit of %s",
		    (unsigned)key->recordings, status_s(key->recordings), what);
	if (key->recordings || key->expected.n || key->drop_reason)
		function->dropped[function->n_dropped++ % DROPPED_KEYS] =
			key->hash;
	key_drop(function, key);
	function->counts.keys_dropped++;
}

/* Those of a plan count before they are recorded again. */
static uint64_t bytes_and_expected(const struct philox_function *function)
{
	return function->counts.bytes + function->expected_bytes;
}

void limits_keep(struct philox_function *function, const struct key *now)
{
	const struct philox_policy *policy = &function->policy;
	struct key *key;

	if ((!policy->keys || function->counts.keys <= policy->keys) &&
	    (!policy->bytes || bytes_and_expected(function) <= policy->bytes))
		return; /* as a rule */
	note_outputs(function);
	while (policy->keys && function->counts.keys > policy->keys &&
	       (key = least_recent(function, now, 0)))
		drop_one(function, key, "keys");
	while (policy->bytes && bytes_and_expected(function) > policy->bytes &&
	       (key = least_recent(function, now, 1)))
		drop_one(function, key, "bytes");
}
