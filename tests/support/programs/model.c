/*
 * tests/support/programs/model.c - see tests/support/programs/model.h
 */
#include "tests/support/programs/model.h"

#include <string.h>

/* A call on its way. */
struct at {
	struct model *model;
	struct model_function *function;
	const struct philox_policy *policy;
	struct model_key *key;
	const struct model_call *call;
	unsigned place; /* of the recording that it needs */
	int bars;
};

static uint32_t or_default(uint32_t field, uint32_t otherwise, uint32_t never)
{
	return field == PHILOX_NEVER ? never : field ? field : otherwise;
}

static uint32_t warmups_of(const struct philox_policy *policy)
{
	return or_default(policy->warmups, 1, 0);
}

/* --- keys ----------------------------------------------------------------- */

static struct model_key *find_key(struct model *model,
				  struct model_function *function,
				  unsigned number)
{
	struct model_key *key = &function->keys[number];

	if (!key->there)
		*key = (struct model_key){.there = 1,
					  .warmups =
						  warmups_of(&function->policy),
					  .dry = function->policy.dry};
	key->used = ++model->clock;
	return key;
}

static unsigned count_keys(const struct model_function *function)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MODEL_KEYS; i++)
		n += function->keys[i].there != 0;
	return n;
}

/* The one that was called longest ago goes. */
static void keep_limits(struct model_function *function,
			const struct model_key *now)
{
	while (function->policy.keys &&
	       count_keys(function) > function->policy.keys) {
		struct model_key *oldest = NULL;

		for (unsigned i = 0; i < MODEL_KEYS; i++) {
			struct model_key *key = &function->keys[i];

			if (key->there && key != now &&
			    (!oldest || key->used < oldest->used))
				oldest = key;
		}
		oldest->there = 0;
		function->dropped++;
	}
}

static unsigned count_recorded(const struct model_key *key,
			       enum model_recorded kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MODEL_SETS; i++)
		n += kind ? key->recorded[i] == kind : key->recorded[i] != 0;
	return n;
}

static unsigned owed(const struct model_key *key)
{
	return key->owed[UNPLAYED] + key->owed[PLAYED] + key->owed[PREPARED];
}

/* --- bodies --------------------------------------------------------------- */

static void run_body(struct at *at)
{
	at->function->bodies++;
	at->key->bodies++;
	at->key->known = 1;
	if (!at->call->refuses)
		return;
	at->function->refusals++;
	at->key->wait = or_default(at->policy->retry, 16, PHILOX_NEVER);
	at->bars = 1;
}

static void warm_up_dry(struct at *at)
{
	struct model_key *key = at->key;

	if (key->cold && !key->wait && at->policy->dry) {
		key->dry = 1;
		key->cold = 0;
	}
	for (; key->dry; key->dry--)
		run_body(at);
}

static enum philox_call_kind run_in_call(struct at *at,
					 enum philox_call_kind kind)
{
	run_body(at);
	at->key->cold = 0;
	return kind;
}

/* --- decisions ------------------------------------------------------------ */

static void note_return(struct at *at);

static uint32_t most_of(const struct philox_policy *policy)
{
	return policy->recordings ? policy->recordings : PHILOX_RECORDINGS;
}

/* The set that was used least recently, but not `kept`; -1: none. */
static int least_used(const struct model_key *key, int kept)
{
	int found = -1;

	for (int i = 0; i < MODEL_SETS; i++)
		if (key->recorded[i] && i != kept &&
		    (found < 0 || key->set_used[i] < key->set_used[found]))
			found = i;
	return found;
}

static void use_set(struct at *at)
{
	at->key->set_used[at->place] = ++at->model->clock;
	at->key->set_calls[at->place] = at->key->calls;
}

/* Whether the key keeps what it has. */
static int is_held(struct at *at)
{
	struct model_key *key = at->key;
	const int oldest = least_used(key, -1);

	if (count_recorded(key, NOT_RECORDED) < most_of(at->policy) ||
	    key->calls - key->set_calls[oldest] >= key->patience)
		return 0;
	at->function->holds++;
	return 1;
}

static void evict(struct at *at, int set)
{
	struct model_key *key = at->key;
	const uint32_t most = most_of(at->policy);
	const int wasted = key->recorded[set] == UNPLAYED;

	key->recorded[set] = NOT_RECORDED;
	at->function->evictions++;
	if (!wasted) {
		key->wasted -= key->wasted > 0;
		return;
	}
	if (key->patience && !key->on_trial[set])
		return;
	key->wasted++;
	if (key->wasted < most / 4)
		return;
	key->wasted = 0;
	key->patience = key->patience ? 2 * key->patience : 8 * most;
	if (key->patience > 1 << 20)
		key->patience = 1 << 20;
}

static void keep_bound(struct at *at)
{
	struct model_key *key = at->key;
	int newest = -1, oldest;

	for (int i = 0; i < MODEL_SETS; i++)
		if (key->recorded[i] &&
		    (newest < 0 || key->set_used[i] > key->set_used[newest]))
			newest = i;
	while (count_recorded(key, NOT_RECORDED) + owed(key) >
		       most_of(at->policy) &&
	       (oldest = least_used(key, newest)) >= 0)
		evict(at, oldest);
}

/* What a recording counts as: for one of the plan's, as long as there are. */
static enum model_recorded pay(struct model_key *key, int prepared)
{
	static const enum model_recorded order[2][3] = {
		{PLAYED, PREPARED, UNPLAYED}, {PREPARED, PLAYED, UNPLAYED}};

	for (int i = 0; i < 3; i++)
		if (key->owed[order[prepared][i]]) {
			key->owed[order[prepared][i]]--;
			return prepared ? PREPARED : order[0][i];
		}
	return prepared ? PREPARED : UNPLAYED;
}

/* Returns whether the body did not refuse. */
static int try_to_record(struct at *at, int prepared)
{
	run_body(at);
	if (at->call->refuses)
		return 0;
	at->key->on_trial[at->place] = !owed(at->key) && at->key->patience;
	at->key->recorded[at->place] = pay(at->key, prepared);
	use_set(at);
	return 1;
}

static int is_barred_by_ticket(const struct at *at)
{
	const struct model *model = at->model;

	for (unsigned i = 0; i < model->n_barred && i < MODEL_BARRED; i++)
		if (at->call->ticket && at->key->known &&
		    model->barred[i] == at->call->ticket)
			return 1;
	return 0;
}

static enum philox_call_kind decide_record(struct at *at)
{
	if (!owed(at->key) && is_held(at))
		return run_in_call(at, PHILOX_CALL_EAGER);
	if (try_to_record(at, 0))
		return PHILOX_CALL_RECORD;
	return run_in_call(at, PHILOX_CALL_EAGER);
}

static enum philox_call_kind decide(struct at *at)
{
	struct model_key *key = at->key;

	if (key->recorded[at->place]) {
		if (key->recorded[at->place] == UNPLAYED)
			key->recorded[at->place] = PLAYED;
		note_return(at);
		return PHILOX_CALL_REPLAY;
	}
	warm_up_dry(at);
	if (key->warmups) {
		key->warmups--;
		return run_in_call(at, PHILOX_CALL_WARMUP);
	}
	if (is_barred_by_ticket(at))
		return run_in_call(at, PHILOX_CALL_EAGER);
	if (key->wait) {
		key->wait -= key->wait != PHILOX_NEVER;
		at->bars = 1;
		return run_in_call(at, PHILOX_CALL_EAGER);
	}
	if (key->cold && warmups_of(at->policy) && !at->policy->dry)
		return run_in_call(at, PHILOX_CALL_WARMUP);
	return decide_record(at);
}

/* --- calls ---------------------------------------------------------------- */

static unsigned place_of(const struct model_function *function,
			 const struct model_key *key, unsigned place)
{
	return function->input == PHILOX_INPUT_COPIED || key->copied
		       ? (unsigned)MODEL_PLACES
		       : place;
}

/* Of the recordings from before the call: where one is that was used last. */
static int newest_before(const struct at *at, enum philox_call_kind kind)
{
	int newest = -1;

	for (int i = 0; i < MODEL_SETS; i++)
		if (at->key->recorded[i] &&
		    (kind != PHILOX_CALL_RECORD || i != (int)at->place) &&
		    (newest < 0 ||
		     at->key->set_used[i] > at->key->set_used[newest]))
			newest = i;
	return newest;
}

static void note_place(struct at *at, enum philox_call_kind kind, int expected)
{
	struct model_key *key = at->key;
	const int place = (int)at->call->place;
	const int newest = newest_before(at, kind);

	if (at->function->input != PHILOX_INPUT_AUTOMATIC || key->copied ||
	    expected || newest < 0 || newest == place)
		return;
	if (kind != PHILOX_CALL_RECORD && key->recorded[place]) {
		key->moves = 0;
		return;
	}
	if (++key->moves < PHILOX_AUTOMATIC_MOVES)
		return;
	key->copied = 1;
	memset(key->recorded, 0, sizeof(key->recorded));
	memset(key->owed, 0, sizeof(key->owed));
}

/* A replay of another recording than the one before. */
static void note_return(struct at *at)
{
	if (newest_before(at, PHILOX_CALL_REPLAY) != (int)at->place)
		at->key->moves = 0;
	use_set(at);
}

enum philox_call_kind model_call(struct model *model,
				 struct model_function *function,
				 const struct model_call *call, int *bars)
{
	struct at at = {.model = model,
			.function = function,
			.policy = &function->policy,
			.key = find_key(model, function, call->key),
			.call = call};
	const int expected = owed(at.key) != 0;
	enum philox_call_kind kind;

	at.place = place_of(function, at.key, call->place);
	kind = decide(&at);
	if (kind != PHILOX_CALL_REPLAY)
		note_place(&at, kind, expected);
	keep_limits(function, at.key);
	keep_bound(&at);
	at.key->calls++;
	*bars = at.bars;
	return kind;
}

int model_prepare(struct model *model, struct model_function *function,
		  const struct model_call *call)
{
	struct at at = {.model = model,
			.function = function,
			.policy = &function->policy,
			.key = find_key(model, function, call->key),
			.call = call};
	int recorded = 0;

	at.place = place_of(function, at.key, call->place);
	if (!at.key->wait && !at.key->recorded[at.place]) {
		warm_up_dry(&at);
		recorded = !at.key->wait && try_to_record(&at, 1);
		if (recorded)
			at.key->warmups = at.key->cold = 0;
	}
	keep_limits(function, at.key);
	keep_bound(&at);
	return recorded;
}

void model_bar(struct model *model, uint64_t serial)
{
	model->barred[model->n_barred++ % MODEL_BARRED] = serial;
}

unsigned model_again(const struct model_function *function)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MODEL_KEYS; i++)
		if (function->keys[i].there)
			n += 1 +
			     count_recorded(&function->keys[i], NOT_RECORDED);
	return n;
}

void model_reload(struct model_function *function)
{
	function->bodies = function->dropped = 0;
	function->evictions = function->holds = function->refusals = 0;
	for (unsigned i = 0; i < MODEL_KEYS; i++) {
		struct model_key *key = &function->keys[i];

		for (unsigned k = 0; k < MODEL_SETS; k++)
			key->owed[key->recorded[k]]++;
		key->owed[NOT_RECORDED] = 0;
		memset(key->recorded, 0, sizeof(key->recorded));
		key->cold = !key->warmups && !key->dry && !key->wait;
	}
}
