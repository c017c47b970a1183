/*
 * graph/runner/function/runner_limits.c - how many keys and bytes a function keeps
 */
#include "graph/runner/function/key.h"
#include "graph/runner/function/runner_limits.h"

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
	for (struct key *key = function->keys; key; key = key->also)
		key->holds = 0;
	for (struct recording *recording = function->recordings; recording;
	     recording = recording->also)
		recording->key->holds |= has_outputs(recording);
}

/* The one to go first; with `bytes` one that has recordings. NULL: none. */
static struct key *least_recent(const struct philox_function *function,
				const struct key *now, int bytes)
{
	struct key *found = NULL, *holds = NULL;

	for (struct key *key = function->keys; key; key = key->also) {
		struct key **best;

		if (key == now || (bytes && !key->recordings && !key->debt.n))
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
	if (key->recordings || key->debt.n || key->lost)
		function->dropped[function->n_dropped++ % GONE_KEYS] =
			key->hash;
	key_drop(function, key);
	function->counts.keys_dropped++;
}

/* Those of a plan count before they are recorded again. */
static uint64_t bytes_and_debts(const struct philox_function *function)
{
	return function->counts.bytes + function->debt_bytes;
}

void limits_keep(struct philox_function *function, const struct key *now)
{
	const struct philox_policy *policy = &function->policy;
	struct key *key;

	if ((!policy->keys || function->counts.keys <= policy->keys) &&
	    (!policy->bytes || bytes_and_debts(function) <= policy->bytes))
		return; /* as a rule */
	note_outputs(function);
	while (policy->keys && function->counts.keys > policy->keys &&
	       (key = least_recent(function, now, 0)))
		drop_one(function, key, "keys");
	while (policy->bytes && bytes_and_debts(function) > policy->bytes &&
	       (key = least_recent(function, now, 1)))
		drop_one(function, key, "bytes");
}
