/*
 * graph/runner_recording.c - recordings: kept, found, launched
 */
#include <stdlib.h>
#include <string.h>
#include <philox/launch_value.h>
#include "graph/pool_checkpoint.h"
#include "graph/runner_inputs.h"
#include "graph/runner_memory.h"
#include "graph/runner_outputs.h"
#include "graph/runner_recording.h"
#include "graph/runner_run.h"

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
	made->values = calloc(function->n_values + 1, sizeof(*made->values));
	if (!made->statics || !made->buffers || !made->outputs ||
	    !made->slots || !made->places || !made->values)
		status = no_memory(function);
	else
		status = take_slots(made);
	if (status != PHILOX_OK) {
		recording_free(made);
		return status;
	}
	for (size_t i = 0; i < function->n_inputs; i++)
		if (!inputs_copied(function, key, call, i))
			made->statics[i] = call->inputs[i].address;
	*recording = made;
	return PHILOX_OK;
}

void recording_free(struct recording *recording)
{
	struct status_message kept;

	status_keep(&kept);
	for (size_t i = 0;
	     recording->outputs && i < recording->function->n_outputs &&
	     recording->outputs[i].slot;
	     i++)
		outputs_give(recording->outputs[i].slot);
	philox_graph_destroy(recording->graph);
	pool_checkpoint_free(recording->checkpoint);
	free(recording->statics);
	free(recording->buffers);
	free(recording->outputs);
	free(recording->slots);
	free(recording->places);
	free(recording->ranges);
	free(recording->uses);
	free(recording->entries);
	free(recording->forwards);
	free(recording->values);
	free(recording);
	status_restore(&kept);
}

/* --- found -------------------------------------------------------------------------- */

static struct recording **bucket_of(const struct philox_function *function,
				    uint64_t hash)
{
	return &function->buckets[hash & (function->n_buckets - 1)];
}

/* The oldest first: the calls of a step find theirs in the same order. */
static void append_to(struct recording **bucket, struct recording *recording)
{
	while (*bucket)
		bucket = &(*bucket)->next;
	recording->next = NULL;
	*bucket = recording;
}

/* As many buckets as recordings, at least. */
enum philox_status recordings_reserve(struct philox_function *function)
{
	size_t n = function->n_buckets ? function->n_buckets * 2 : 16;
	struct recording **before = function->buckets, **buckets, *next;

	if (function->counts.recordings < function->n_buckets)
		return PHILOX_OK;
	buckets = calloc(n, sizeof(struct recording *));
	if (!buckets)
		return no_memory(function);
	function->buckets = buckets;
	for (size_t i = 0; i < function->n_buckets; i++)
		for (struct recording *r = before[i]; r; r = next) {
			next = r->next;
			append_to(&buckets[r->hash & (n - 1)], r);
		}
	function->n_buckets = n;
	free(before);
	return PHILOX_OK;
}

void recording_keep(struct recording *recording)
{
	struct philox_function *function = recording->function;
	struct recording **bucket = bucket_of(function, recording->hash);

	append_to(bucket, recording);
	recording->also = function->recordings;
	function->recordings = recording;
	recording->key->latest = recording;
	recording->key->recordings++;
	recording->key->unplayed++;
	function->counts.recordings++;
	function->counts.unplayed++;
}

void recording_retire(struct recording *recording)
{
	struct philox_function *function = recording->function;
	struct recording **link = bucket_of(function, recording->hash);

	while (*link != recording)
		link = &(*link)->next;
	*link = recording->next;
	recording->retired = 1;
	recording->key->recordings--;
	function->counts.recordings--;
	if (!recording->replays) {
		recording->key->unplayed--;
		function->counts.unplayed--;
	}
	if (recording->key->latest == recording)
		recording->key->latest = NULL;
}

void recordings_free(struct philox_function *function)
{
	struct recording *recording;

	while ((recording = function->recordings)) {
		function->recordings = recording->also;
		recording_free(recording);
	}
	free(function->buckets);
	function->buckets = NULL;
	function->n_buckets = 0;
}

struct recording *recording_find(const struct philox_function *function,
				 const struct key *key,
				 const struct philox_call *call,
				 const struct live_block **in_use)
{
	const uint64_t hash = inputs_hash(function, key, call);
	struct recording *found = NULL;
	struct recording *recording =
		function->buckets ? *bucket_of(function, hash) : NULL;

	for (; recording; recording = recording->next) {
		if (recording->hash != hash || recording->key != key ||
		    !inputs_same(recording, call))
			continue;
		found = recording;
		*in_use = live_meets(function->runner, recording->ranges,
				     recording->n_ranges);
		if (!*in_use)
			break;
	}
	return found;
}

/* --- launched ------------------------------------------------------------------------- */

static enum philox_status set_values(const struct recording *recording,
				     const struct philox_call *call)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0;
	     status == PHILOX_OK && i < recording->function->n_values; i++)
		if (recording->values[i] != SIZE_MAX)
			status = philox_graph_set_value(
				recording->graph, recording->values[i],
				call->values[i].bytes, call->values[i].size);
	return status;
}

static enum philox_status check_entries(const struct recording *recording,
					const struct philox_call *call)
{
	const char *name = recording->function->name;

	if (call->n_uses == recording->n_entries)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "function '%s': uses has %zu entr%s, but its body "
			  "takes %zu",
			  name, call->n_uses, call->n_uses == 1 ? "y" : "ies",
			  recording->n_entries);
}

static void fill_uses(struct recording *recording,
		      const struct philox_call *call)
{
	for (size_t i = 0; i < recording->n_entries; i++)
		recording->uses[recording->entries[i]] = call->uses[i];
}

static void write_tickets(const struct recording *recording,
			  struct philox_call *call)
{
	for (size_t i = 0; i < recording->n_entries; i++)
		if (recording->forwards[i])
			call->uses[i].ticket =
				recording->uses[recording->entries[i]].ticket;
}

/* Between prologue and epilogue the memory of the graph is this launch's. */
static enum philox_status launch_between(const struct recording *recording,
					 const struct philox_call *call,
					 philox_stream stream)
{
	struct philox_function *function = recording->function;
	struct philox_runner *runner = function->runner;
	enum philox_status status = outputs_await(runner, stream);

	if (status == PHILOX_OK)
		status = run_join(runner, call->stream, 0);
	if (status == PHILOX_OK)
		status = inputs_copy_in(function, call, recording->buffers,
					stream);
	if (status == PHILOX_OK)
		status = philox_native_launch(runner_device(runner),
					      recording->graph->exec, stream);
	if (status == PHILOX_OK)
		status = inputs_copy_back(function, call, recording->buffers,
					  stream);
	if (status == PHILOX_OK)
		status = run_join(runner, call->stream, 1);
	return status;
}

static void place_outputs(const struct recording *recording,
			  const struct philox_call *call)
{
	const struct philox_function *function = recording->function;

	for (size_t i = 0; i < function->n_outputs; i++) {
		const struct recorded_output *output = &recording->outputs[i];

		recording->slots[i] = output->slot;
		recording->places[i] = run_output_place(
			function, call, &output->place, recording);
	}
}

static enum philox_status launch_graph(struct recording *recording,
				       const struct philox_call *call,
				       philox_stream stream)
{
	struct status_message kept;
	enum philox_status status = philox_graph_prologue(
		recording->graph, stream, recording->uses, recording->n_uses);

	if (status != PHILOX_OK)
		return status_prefix(
			status, "function '%s': ", recording->function->name);
	status = launch_between(recording, call, stream);
	status_keep(&kept);
	place_outputs(recording, call); /* before a use-up releases inputs */
	recording->function->runner->open = 1;
	philox_graph_epilogue(recording->graph, status);
	recording->function->runner->open = 0;
	status_restore(&kept);
	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status,
			     "function '%s': ", recording->function->name);
}

static void complete_launch(struct recording *recording,
			    struct philox_call *call)
{
	struct philox_function *function = recording->function;

	write_tickets(recording, call);
	run_hand_out(function, call, recording->slots, recording->places);
	recording->key->latest = recording;
}

enum philox_status recording_launch(struct recording *recording,
				    struct philox_call *call,
				    philox_stream stream)
{
	struct philox_function *function = recording->function;
	struct philox_runner *runner = function->runner;
	enum philox_status status = check_entries(recording, call);

	if (status == PHILOX_OK)
		status = live_reserve(runner, function->n_outputs);
	for (size_t i = 0; status == PHILOX_OK && i < function->n_outputs; i++)
		status = outputs_renew(&recording->outputs[i].slot);
	if (status == PHILOX_OK)
		status = set_values(recording, call);
	if (status != PHILOX_OK)
		return status;
	fill_uses(recording, call);
	status = launch_graph(recording, call, stream);
	if (status == PHILOX_OK)
		complete_launch(recording, call);
	return status;
}
