/*
 * graph/runner/state/output.c - outputs and their handles
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "graph/pool/pool.h"
#include "graph/runner/state/state.h"

/* --- slots -------------------------------------------------------------------- */

static enum philox_status make_slot(struct philox_function *function,
				    size_t index, struct output_slot **slot)
{
	struct philox_runner *runner = function->runner;
	enum philox_status status =
		runner_room(&runner->slots, &runner->slot_room,
			    runner->n_slots + 1, sizeof(*runner->slots));
	struct output_slot *made;

	if (status == PHILOX_OK)
		status = live_reserve(runner, runner->n_slots + 1);
	if (status != PHILOX_OK)
		return status;
	made = calloc(1, sizeof(*made));
	if (!made)
		return status_set(PHILOX_ERROR_MEMORY,
				  "function '%s': no memory for an output",
				  function->name);
	made->function = function;
	made->output = (uint32_t)index;
	made->handle.index = (uint32_t)runner->n_slots;
	runner->slots[runner->n_slots++] = made;
	*slot = made;
	return PHILOX_OK;
}

enum philox_status outputs_take(struct philox_function *function, size_t index,
				struct output_slot **slot)
{
	struct output_slot *spare = function->spare[index];

	if (!spare)
		return make_slot(function, index, slot);
	function->spare[index] = spare->next;
	spare->recording = 0;
	*slot = spare;
	return PHILOX_OK;
}

/* The old one goes back when its output is released. */
enum philox_status outputs_renew(struct output_slot **slot)
{
	struct output_slot *old = *slot;
	enum philox_status status;

	if (!old->live)
		return PHILOX_OK;
	status = outputs_take(old->function, old->output, slot);
	if (status != PHILOX_OK)
		return status;
	old->recorded = 0;
	(*slot)->recorded = 1;
	(*slot)->recording = old->recording;
	return PHILOX_OK;
}

/* One whose output is not released yet is given back by the release. */
void outputs_give(struct output_slot *slot)
{
	struct output_slot **spare = &slot->function->spare[slot->output];

	slot->recorded = 0;
	if (slot->live)
		return;
	slot->next = *spare;
	*spare = slot;
}

void outputs_hand(struct output_slot *slot, const struct output_place *place)
{
	struct philox_runner *runner = slot->function->runner;

	slot->handle.address = place->address;
	slot->handle.bytes = place->bytes;
	slot->handle.id = place->id;
	slot->handle.generation++;
	slot->live = 1;
	slot->filled = 0;
	slot->in_pool = place->in_pool;
	slot->call = runner->calls;
	slot->path = runner->path;
	slot->order = ++runner->handed;
	slot->data = NULL;
	slot->label[0] = '\0';
	if (place->in_pool)
		live_hold(runner, place->id, place->range, place->from);
}

/* The call may still need to know what its inputs were. */
void outputs_drop_later(struct output_slot *slot)
{
	struct philox_runner *runner = slot->function->runner;

	ties_forget(slot);
	slot->released = 1;
	slot->next = runner->later;
	runner->later = slot;
}

void outputs_drop_now(struct philox_runner *runner)
{
	struct output_slot *slot;

	while ((slot = runner->later)) {
		runner->later = slot->next;
		outputs_drop(slot);
	}
}

void outputs_fill(struct output_slot *slot, philox_stream stream)
{
	struct philox_runner *runner = slot->function->runner;
	const struct live_block *block =
		slot->in_pool ? live_find(runner, slot->handle.id) : NULL;

	if (block && block->refs == 1)
		slot->filled =
			pool_fill_range(runner->pool, stream, block->range);
}

/* Nobody else may be told that it is an output's any more. */
static void let_go(const struct output_slot *slot)
{
	const struct philox_function *function = slot->function;
	const struct philox_runner *runner = function->runner;
	const struct range range =
		live_let_go(function->runner, slot->handle.id);
	char why[192];

	if (range_is_empty(range))
		return;
	if (runner->pool->fills)
		pool_filled_range(runner->pool, range, slot->filled);
	if (!runner->pool->marked)
		return;
	snprintf(why, sizeof(why),
		 "output '%s' of function '%s' was released",
		 function->outputs[slot->output].name, function->name);
	pool_mark_free(runner->pool, range, why);
}

void outputs_drop(struct output_slot *slot)
{
	slot->live = slot->released = 0;
	ties_forget(slot);
	if (slot->in_pool)
		let_go(slot);
	if (!slot->recorded)
		outputs_give(slot);
}

/* --- handles ------------------------------------------------------------------ */

static enum philox_status refuse_stale(const struct output_slot *slot,
				       const struct philox_output *output)
{
	const struct philox_function *function = slot->function;
	const struct philox_output_desc *info =
		&function->outputs[slot->output];
	const char *open = *info->origin ? " (" : "";
	const char *close = *info->origin ? ")" : "";

	if (slot->handle.generation == output->generation ||
	    slot->handle.address != output->address)
		return status_set(PHILOX_ERROR_STALE,
				  "output '%s'%s%s%s of function '%s' was "
				  "released",
				  info->name, open, info->origin, close,
				  function->name);
	return status_set(PHILOX_ERROR_STALE,
			  "output '%s'%s%s%s of function '%s' was released, "
			  "and overwritten by call %" PRIu64
			  " of runner '%s', which handed it out again",
			  info->name, open, info->origin, close, function->name,
			  slot->call, function->runner->name);
}

enum philox_status outputs_find(struct philox_runner *runner,
				const struct philox_output *output,
				struct output_slot **slot)
{
	struct output_slot *found = output->index < runner->n_slots
					    ? runner->slots[output->index]
					    : NULL;

	if (!found || !output->generation ||
	    output->generation > found->handle.generation)
		return status_set(
			PHILOX_ERROR_INVALID,
			"runner '%s' has handed out no output %" PRIu32
			" of generation %" PRIu64,
			runner->name, output->index, output->generation);
	if (!found->live || found->released ||
	    found->handle.generation != output->generation)
		return refuse_stale(found, output);
	if (found->handle.address != output->address ||
	    found->handle.bytes != output->bytes ||
	    found->handle.id != output->id)
		return status_set(
			PHILOX_ERROR_INVALID,
			"output %" PRIu32 " of generation %" PRIu64
			" is not what runner '%s' has handed out as that",
			output->index, output->generation, runner->name);
	*slot = found;
	return PHILOX_OK;
}

void outputs_finish(struct philox_runner *runner)
{
	for (size_t i = 0; i < runner->n_slots; i++)
		free(runner->slots[i]);
	free(runner->slots);
	free(runner->live);
}
