/*
 * graph/runner/function/recording.c - recordings: kept, found, launched
 */
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "graph/runner/function/function.h"
#include "graph/runner/state/state.h"
#include "lib/device/device.h"

/* --- made and freed --------------------------------------------------------------- */

static enum philox_status no_memory(const struct philox_function *function)
{
	return status_set(PHILOX_ERROR_MEMORY,
			  "function '%s': no memory for a recording",
			  function->name);
}

static enum philox_status take_slots(struct recording *recording)
{
	struct philox_function *function = recording->function;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < function->n_outputs;
	     i++) {
		struct output_slot **slot = &recording->outputs[i].slot;

		status = outputs_take(function, i, slot);
		if (status == PHILOX_OK)
			(*slot)->recorded = 1;
	}
	return status;
}

enum philox_status recording_make(struct philox_function *function,
				  struct key *key,
				  const struct philox_call *call,
				  struct recording **recording)
{
	struct recording *made = calloc(1, sizeof(*made));
	enum philox_status status;

	if (!made)
		return no_memory(function);
	made->function = function;
	made->key = key;
	made->hash = inputs_hash(function, key, call);
	made->statics = calloc(function->n_inputs + 1, sizeof(void *));
	made->buffers = calloc(function->n_inputs + 1, sizeof(void *));
	made->outputs = calloc(function->n_outputs + 1, sizeof(*made->outputs));
	made->slots = calloc(function->n_outputs + 1, sizeof(*made->slots));
	made->places = calloc(function->n_outputs + 1, sizeof(*made->places));
	made->params = calloc(function->n_params + 1, sizeof(*made->params));
	made->inputs = calloc(function->n_inputs + 1, sizeof(void *));
	made->given = calloc(function->n_params + 1, sizeof(*made->given));
	made->guess.inputs =
		calloc(function->n_inputs + 1, sizeof(*made->guess.inputs));
	if (!made->statics || !made->buffers || !made->outputs ||
	    !made->slots || !made->places || !made->params || !made->inputs ||
	    !made->given || !made->guess.inputs)
		status = no_memory(function);
	else
		status = take_slots(made);
	if (status != PHILOX_OK) {
		recording_free(made);
		return status;
	}
	for (size_t i = 0; i < function->n_inputs; i++) {
		made->inputs[i] = call->inputs[i].address;
		if (!inputs_copied(function, key, call, i))
			made->statics[i] = call->inputs[i].address;
	}
	for (size_t i = 0; i < function->n_params; i++)
		memcpy(&made->given[i], call->params[i].data,
		       call->params[i].bytes);
	*recording = made;
	return PHILOX_OK;
}

void recording_free(struct recording *recording)
{
	const struct status_message kept = status_kept();

	for (size_t i = 0;
	     recording->outputs && i < recording->function->n_outputs &&
	     recording->outputs[i].slot;
	     i++)
		outputs_give(recording->outputs[i].slot);
	timer_finish(recording);
	philox_graph_destroy(recording->graph);
	pool_checkpoint_free(recording->checkpoint);
	free(recording->statics);
	free(recording->buffers);
	free(recording->outputs);
	free(recording->slots);
	free(recording->places);
	free(recording->sources);
	free(recording->ranges);
	free(recording->uses);
	free(recording->entries);
	free(recording->params);
	free(recording->inputs);
	free(recording->given);
	free(recording->guess.inputs);
	pool_uses_free(recording);
	free(recording->steps.items);
	free(recording);
	status_restore(&kept);
}

/* --- of use ----------------------------------------------------------------------- */

int recording_is_stale(const struct recording *recording)
{
	struct philox_context *context = recording->function->runner->context;
	const struct capture *capture = recording->graph->capture;
	int stale = 0;

	context_lock(context);
	for (uint32_t i = 0; capture && i < capture->n_passes; i++)
		stale |= !region_is_life(capture->passes[i].region,
					 capture->passes[i].life);
	context_unlock(context);
	return stale;
}

int recording_is_spoiled(const struct recording *recording)
{
	enum philox_status status;
	const struct status_message kept = status_kept();

	status = device_exec_check(runner_device(recording->function->runner),
				   recording->graph->exec);
	status_restore(&kept);
	return status != PHILOX_OK;
}

/* What is expected of the key used the same regions. */
static int has_stale(const struct key *key)
{
	const struct recording *recording = key->by_use.newest;

	while (key->expected.n && recording && !recording_is_stale(recording))
		recording = recording->links[USE_OF_KEY].older;
	return key->expected.n && recording;
}

void recordings_retire_useless(struct key *key,
			       struct philox_function *function)
{
	struct recording *recording, *next;

	if (has_stale(key))
		expected_end(key, function);
	for (recording = key->by_use.oldest; recording; recording = next) {
		next = recording->links[USE_OF_KEY].newer;
		if (recording->spoiled || recording_is_stale(recording) ||
		    recording_is_spoiled(recording))
			recording_retire(recording,
					 "what it used was destroyed");
	}
}

/* --- found -------------------------------------------------------------------------- */

enum philox_status recording_reserve(struct recording *recording)
{
	struct map *map = &recording->function->recording_map;

	return map_reserve(map, map->count + 1) && pool_uses_reserve(recording)
		       ? PHILOX_OK
		       : no_memory(recording->function);
}

/* What it is evicted for counts as waste again only if it was made on trial. */
static void note_trial(struct recording *recording)
{
	const struct key *key = recording->key;

	if (key->expected.n)
		return;
	recording->on_trial[USE_OF_KEY] = key->waste.patience != 0;
	recording->on_trial[USE_OF_FUNCTION] =
		recording->function->waste.patience != 0;
}

void recording_keep(struct recording *recording)
{
	struct philox_function *function = recording->function;

	note_trial(recording);
	expected_made(recording);
	map_put(&function->recording_map, recording->hash, recording);
	guess_twins(function, recording->key, recording->hash);
	guess_follow(recording);
	use_begin(recording);
	pool_uses_begin(recording);
	evicted_forget(function, recording->hash);
	recording->key->drop_reason = NULL;
	recording->key->recordings++;
	recording->key->recorded += recording->bytes;
	function->counts.recordings++;
	function->counts.bytes += recording->bytes;
	recording->key->prepared += recording->prepared != 0;
	if (recording->prepared || recording->expected)
		return;
	recording->key->unplayed++;
	function->counts.unplayed++;
}

int recording_is_unplayed(const struct recording *recording)
{
	return !recording->replays && !recording->prepared &&
	       !recording->expected;
}

void recording_played(struct recording *recording)
{
	struct key *key = recording->key;

	if (recording_is_unplayed(recording)) {
		key->unplayed--;
		recording->function->counts.unplayed--;
	}
	recording->replays++;
	guess_follow(recording);
	if (key->by_use.newest != recording)
		inputs_returned(key, key->by_use.newest, recording);
	use_again(recording);
}

/* No call finds it any more. */
static void unlink_recording(struct recording *recording)
{
	map_remove(&recording->function->recording_map, recording->hash,
		   recording);
	guess_end(recording);
	pool_uses_end(recording);
	use_end(recording);
}

void recording_retire(struct recording *recording, const char *why)
{
	struct philox_function *function = recording->function;
	struct philox_runner *runner = function->runner;
	struct key *key = recording->key;

	unlink_recording(recording);
	key->recordings--;
	key->recorded -= recording->bytes;
	key->prepared -= recording->prepared != 0;
	function->counts.recordings--;
	function->counts.bytes -= recording->bytes;
	if (recording_is_unplayed(recording)) {
		key->unplayed--;
		function->counts.unplayed--;
	}
	if (why)
		key->drop_reason = why;
	recording->key = NULL;
	recording->next = runner->leaving;
	runner->leaving = recording;
}

void recordings_retire(struct key *key, struct philox_function *function,
		       const char *why)
{
	struct recording *recording, *next;

	if (key->expected.n && why)
		key->drop_reason = why;
	expected_end(key, function);
	for (recording = key->by_use.newest; recording; recording = next) {
		next = recording->links[USE_OF_KEY].older;
		recording_retire(recording, why);
	}
}

void recordings_free(struct philox_function *function)
{
	struct recording *recording;

	while ((recording = function->by_use.newest)) {
		unlink_recording(recording);
		recording_free(recording);
	}
	map_finish(&function->recording_map);
}

/* The oldest first: the calls of a step find theirs in the same order. */
struct recording *recording_find(const struct philox_function *function,
				 const struct key *key,
				 const struct philox_call *call,
				 const struct live_block **in_use)
{
	const struct map *map = &function->recording_map;
	const struct map_entry *entry =
		map_find(map, inputs_hash(function, key, call));
	struct recording *found = NULL;

	for (; entry; entry = map_find_next(map, entry)) {
		struct recording *recording = entry->value;

		if (recording->key != key || !inputs_same(recording, call))
			continue;
		found = recording;
		*in_use = live_meets(function->runner, recording->ranges,
				     recording->n_ranges);
		if (!*in_use)
			break;
	}
	return found;
}

/* --- expected: recordings of a plan that are to be made again ------------- */

int expected_warm_up(const struct key *key, const struct philox_policy *policy)
{
	return key->body_not_run && policy->warmups && !policy->dry;
}

/* While a key waits its body runs in any case. */
void expected_dry(struct key *key, const struct philox_policy *policy)
{
	if (!key->body_not_run || key->wait || !policy->dry)
		return;
	key->body_not_run = 0;
	key->dry = 1;
}

/* Those that count least for `limit` come first. */
void expected_made(struct recording *recording)
{
	struct expected *expected = &recording->key->expected;
	uint64_t bytes;

	if (!expected->n)
		return;
	bytes = expected->bytes / expected->n;
	if (recording->prepared) {
		if (expected->prepared)
			expected->prepared--;
		else if (expected->unplayed == expected->n)
			expected->unplayed--;
	} else if (expected->n > expected->unplayed + expected->prepared) {
		recording->expected = 1;
	} else if (expected->prepared) {
		expected->prepared--;
		recording->prepared = 1;
	} else {
		expected->unplayed--;
	}
	expected->n--;
	expected->bytes -= bytes;
	recording->function->expected_bytes -= bytes;
}

void expected_end(struct key *key, struct philox_function *function)
{
	function->expected_bytes -= key->expected.bytes;
	key->expected = (struct expected){0};
}

/* --- retire: recordings that are not used any more ------------------------ */

/*
 * See Going in Note [Runner], graph/runner/state/state.h.
 */

void retired_mark(struct philox_runner *runner, philox_stream stream)
{
	struct philox_device *device = runner_device(runner);
	struct status_message kept;

	if (!runner->leaving || runner->left)
		return;
	kept = status_kept();
	if ((runner->last ||
	     philox_event_create(device, &runner->last) == PHILOX_OK) &&
	    philox_event_record(device, stream, runner->last) == PHILOX_OK) {
		runner->left = runner->leaving;
		runner->leaving = NULL;
	}
	status_restore(&kept);
}

/* An output that is not released may have to be put back by its checkpoint. */
static int is_needed(const struct recording *recording)
{
	const struct philox_runner *runner = recording->function->runner;

	for (size_t i = 0; i < runner->n_live; i++)
		if (runner->live[i].from == recording)
			return 1;
	return 0;
}

static void free_some(struct recording **list,
		      const struct philox_function *function, int needed)
{
	struct recording *recording;

	while ((recording = *list)) {
		if ((function && recording->function != function) ||
		    (!needed && is_needed(recording))) {
			list = &recording->next;
			continue;
		}
		*list = recording->next;
		recording_free(recording);
	}
}

void retired_sweep(struct philox_runner *runner)
{
	if (runner->left &&
	    device_event_reached(runner_device(runner), runner->last))
		free_some(&runner->left, NULL, 0);
}

void retired_free(struct philox_runner *runner,
		  const struct philox_function *function)
{
	free_some(&runner->leaving, function, 1);
	free_some(&runner->left, function, 1);
	if (!function)
		philox_event_destroy(runner_device(runner), runner->last);
}
