/*
 * graph/runner/function/bounds.c - how many recordings, bytes and keys a
 * function keeps
 *
 * See struct philox_policy in philox/runner.h. Lists are in the order of the
 * last use, so the one to go is found at their end.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "graph/runner/function/function.h"

/* --- which recording goes ------------------------------------------------- */

static int has_outputs(const struct recording *recording)
{
	const size_t n = recording->function->n_outputs;

	for (size_t i = 0; i < n; i++)
		if (recording->outputs[i].slot->live)
			return 1;
	return 0;
}

/* The least recently used one of a list, not `kept`; NULL: there is none. */
static struct recording *least_recent(const struct use_list *list, int which,
				      const struct recording *kept)
{
	struct recording *oldest = list->oldest, *next;

	if (oldest && oldest == kept)
		oldest = oldest->links[which].newer;
	next = oldest;
	while (next && (next == kept || has_outputs(next)))
		next = next->links[which].newer;
	return next ? next : oldest;
}

/* --- what is wasted ------------------------------------------------------- */

enum { PATIENCE_MAX = 1 << 20, PATIENCE_TIMES = 8 };

/* A recording that was never replayed was evicted of `n`. */
static void note_wasted(struct waste *waste, uint64_t n)
{
	uint64_t more = waste->patience ? (uint64_t)waste->patience * 2
					: n * PATIENCE_TIMES;

	if (++waste->wasted < n / 4)
		return;
	waste->wasted = 0;
	waste->patience = more < PATIENCE_MAX ? (uint32_t)more : PATIENCE_MAX;
}

/* One that was idle for so long that it was evicted was no waste. */
static void note_evicted(const struct recording *recording, int which,
			 struct waste *waste, uint64_t n)
{
	if (!recording_is_unplayed(recording))
		waste->wasted -= waste->wasted != 0;
	else if (!waste->patience || recording->on_trial[which])
		note_wasted(waste, n);
}

/* A collective function counts its recordings, since processes do so alike. */
#define COLLECTIVE_TIMES 16u

/* Whether a function with so much more is beyond its bounds. */
static int is_over(const struct philox_function *function, uint64_t recordings,
		   uint64_t bytes)
{
	const struct philox_policy *policy = &function->policy;
	const struct philox_function_stats *counts = &function->counts;

	if (function->agree)
		return counts->recordings + recordings >
		       (uint64_t)policy->recordings * COLLECTIVE_TIMES;
	return counts->bytes + function->expected_bytes + bytes > policy->bytes;
}

/* With one more recording like those that there are. */
static int would_be_over(const struct philox_function *function)
{
	const struct philox_function_stats *counts = &function->counts;

	return counts->recordings &&
	       is_over(function, 1, counts->bytes / counts->recordings);
}

static int key_holds(const struct philox_function *function,
		     const struct key *key)
{
	const struct recording *victim =
		least_recent(&key->by_use, USE_OF_KEY, NULL);

	return key->recordings >= function->policy.recordings && victim &&
	       key->calls - victim->key_call < key->waste.patience;
}

static int function_holds(const struct philox_function *function)
{
	const struct recording *victim =
		least_recent(&function->by_use, USE_OF_FUNCTION, NULL);

	return function->waste.patience && victim && would_be_over(function) &&
	       function_calls(function) - victim->function_call <
		       function->waste.patience;
}

const char *bounds_hold(const struct philox_function *function,
			const struct key *key)
{
	if (key_holds(function, key))
		return "its key keeps the recordings that it has, for "
		       "policy.recordings: those that it evicted were never "
		       "replayed";
	if (function_holds(function))
		return function->agree
			       ? "the function keeps the recordings that it "
				 "has, for policy.recordings: those that it "
				 "evicted were never replayed"
			       : "the function keeps the recordings that it "
				 "has, for policy.bytes: those that it evicted "
				 "were never replayed";
	return NULL;
}

/* --- evictions ------------------------------------------------------------ */

static void evict(struct recording *recording, const char *why)
{
	struct philox_function *function = recording->function;

	function->evicted[function->n_evicted++ % EVICTED_CALLS] =
		(struct evicted_call){recording->hash, why};
	function->counts.evicted++;
	runner_post(function, PHILOX_LOG_INFO, "evicted", PHILOX_CALL_NONE,
		    NULL, 0,
		    "evicts recording %" PRIu64 "%s for policy.%s; it was "
		    "replayed %" PRIu64 " time%s",
		    recording->number,
		    key_label(recording->key, " of ", "", "").text, why,
		    recording->replays, status_s(recording->replays));
	recording_retire(recording, NULL);
}

static void evict_of_key(struct recording *recording)
{
	note_evicted(recording, USE_OF_KEY, &recording->key->waste,
		     recording->function->policy.recordings);
	evict(recording, "recordings");
}

static void evict_of_function(struct recording *recording)
{
	struct philox_function *function = recording->function;

	note_evicted(recording, USE_OF_FUNCTION, &function->waste,
		     function->counts.recordings);
	evict(recording, function->agree ? "recordings" : "bytes");
}

/* Those that a plan has left, of the key that was called least recently. */
static int end_expected(struct philox_function *function, const struct key *now)
{
	struct key *found = NULL;

	for (struct key *key = function->keys; key; key = key->next_in_function)
		if (key != now && key->expected.n &&
		    (!found || key->used < found->used))
			found = key;
	if (found) {
		expected_end(found, function);
		found->drop_reason =
			function->agree
				? "it was given up before it was made again, "
				  "for policy.recordings"
				: "it was given up before it was made again, "
				  "for policy.bytes";
	}
	return found != NULL;
}

static void keep_recordings(struct philox_function *function, struct key *now)
{
	struct recording *kept = now->by_use.newest, *victim;

	while (now->recordings + now->expected.n >
		       function->policy.recordings &&
	       (victim = least_recent(&now->by_use, USE_OF_KEY, kept)))
		evict_of_key(victim);
	while (is_over(function, 0, 0)) {
		victim = least_recent(&function->by_use, USE_OF_FUNCTION, kept);
		if (victim)
			evict_of_function(victim);
		else if (!end_expected(function, now))
			return;
	}
}

/* --- keys ----------------------------------------------------------------- */

static void note_outputs(const struct philox_function *function)
{
	for (struct key *key = function->keys; key; key = key->next_in_function)
		key->holds = 0;
	for (struct recording *recording = function->by_use.newest; recording;
	     recording = recording->links[USE_OF_FUNCTION].older)
		recording->key->holds |= has_outputs(recording);
}

/* The one to go first; NULL: none. */
static struct key *least_recent_key(const struct philox_function *function,
				    const struct key *now)
{
	struct key *found = NULL, *holds = NULL;

	for (struct key *key = function->keys; key;
	     key = key->next_in_function) {
		struct key **best = key->holds ? &holds : &found;

		if (key != now && (!*best || key->used < (*best)->used))
			*best = key;
	}
	return found ? found : holds;
}

static void drop_one(struct philox_function *function, struct key *key)
{
	runner_post(function, PHILOX_LOG_INFO, "dropped", PHILOX_CALL_NONE,
		    NULL, 0, "forgets %s with %u recording%s, for policy.keys",
		    key_label(key, "", "a key", "").text,
		    (unsigned)key->recordings, status_s(key->recordings));
	function->dropped[function->n_dropped++ % DROPPED_KEYS] =
		(struct dropped_key){.hash = key->hash,
				     .recorded = key->recordings ||
						 key->expected.n ||
						 key->drop_reason};
	key_drop(function, key);
	function->counts.keys_dropped++;
}

static void keep_keys(struct philox_function *function, const struct key *now)
{
	const uint32_t most = function->policy.keys;
	struct key *key;

	if (!most || function->counts.keys <= most)
		return; /* as a rule */
	note_outputs(function);
	while (function->counts.keys > most &&
	       (key = least_recent_key(function, now)))
		drop_one(function, key);
}

void bounds_keep(struct philox_function *function, struct key *now)
{
	keep_keys(function, now);
	keep_recordings(function, now);
}
