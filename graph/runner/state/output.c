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
	slot->function_call = slot->function->calls;
	slot->path = runner->path;
	slot->order = ++runner->handed;
	slot->data = NULL;
	slot->label[0] = '\0';
	if (place->in_pool)
		live_hold(slot, place);
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
static void let_go(struct output_slot *slot)
{
	const struct philox_function *function = slot->function;
	const struct philox_runner *runner = function->runner;
	const struct range range = live_let_go(slot);
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

struct words output_words(const struct philox_function *function, size_t index)
{
	const struct philox_output_desc *output = &function->outputs[index];
	struct words words;

	snprintf(words.text, sizeof(words.text),
		 "output '%.60s'%s%.60s%s of function '%s'", output->name,
		 *output->origin ? " (" : "", output->origin,
		 *output->origin ? ")" : "", function->name);
	return words;
}

static enum philox_status refuse_stale(const struct output_slot *slot,
				       const struct philox_output *output)
{
	const struct words words = output_words(slot->function, slot->output);

	if (slot->handle.generation == output->generation ||
	    slot->handle.address != output->address)
		return status_set(PHILOX_ERROR_STALE, "%s was released",
				  words.text);
	return status_set(PHILOX_ERROR_STALE,
			  "%s was released, and overwritten by call %" PRIu64
			  " of runner '%s', which handed it out again",
			  words.text, slot->call,
			  slot->function->runner->name);
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

/* --- memory without a handle ---------------------------------------------------- */

static int has_address(const struct philox_output *output, const void *address)
{
	const uintptr_t begin = (uintptr_t)output->address;

	return (uintptr_t)address >= begin &&
	       (uintptr_t)address - begin < output->bytes;
}

static int is_within(uintptr_t at, size_t bytes, uintptr_t begin, size_t size)
{
	return at >= begin && at - begin <= size &&
	       bytes <= size - (at - begin);
}

static int lies_whole_in(const struct live_block *block, const void *address,
			 size_t bytes)
{
	const uintptr_t begin = (uintptr_t)address;

	return is_within(begin, bytes, block->begin, block->bytes);
}

static struct output_slot *slot_for(const struct live_block *block,
				    const void *address, size_t bytes)
{
	struct output_slot *slot = block->slots, *found = NULL, *newest = NULL;

	for (; slot; slot = slot->beside) {
		if (slot->released)
			continue;
		if (!newest)
			newest = slot;
		if (is_within((uintptr_t)address, bytes,
			      (uintptr_t)slot->handle.address,
			      slot->handle.bytes) &&
		    (!found || slot->handle.bytes < found->handle.bytes))
			found = slot;
	}
	return found ? found : newest;
}

static void describe_slot(const struct output_slot *slot, const char *more,
			  char text[OUTPUTS_TEXT])
{
	const struct philox_output_desc *info =
		&slot->function->outputs[slot->output];

	snprintf(text, OUTPUTS_TEXT, "output '%s'%s%.80s%s of function '%s'%s",
		 info->name, *info->origin ? " (" : "", info->origin,
		 *info->origin ? ")" : "", slot->function->name, more);
}

/* The output that was there last; NULL: none is known. */
static const struct output_slot *released_at(const struct philox_runner *runner,
					     const void *address)
{
	const struct output_slot *found = NULL;

	for (size_t i = 0; i < runner->n_slots; i++) {
		const struct output_slot *slot = runner->slots[i];

		if (slot->in_pool && (!slot->live || slot->released) &&
		    has_address(&slot->handle, address) &&
		    (!found || slot->call > found->call))
			found = slot;
	}
	return found;
}

static const struct recording *recording_at(const struct philox_runner *runner,
					    const void *address)
{
	const uintptr_t at = (uintptr_t)address;
	const struct philox_function *function = runner->functions;
	const struct recording *recording;

	for (; function; function = function->next)
		for (recording = function->by_use.newest; recording;
		     recording = recording->links[USE_OF_FUNCTION].older)
			for (size_t i = 0; i < recording->n_ranges; i++)
				if (at >= recording->ranges[i].begin &&
				    at < recording->ranges[i].end)
					return recording;
	return NULL;
}

/* With the pool's lock. */
static void describe_rest(const struct philox_runner *runner,
			  const void *address, char text[OUTPUTS_TEXT])
{
	const struct recording *recording = recording_at(runner, address);
	struct pool_block block;

	if (pool_find(runner->pool->blocks, address, &block))
		snprintf(text, OUTPUTS_TEXT,
			 "block '%s' of %zu bytes of pool '%s', which is no "
			 "output",
			 block.tag, block.size, runner->name);
	else if (recording)
		snprintf(text, OUTPUTS_TEXT,
			 "memory of recording %" PRIu64
			 " of function '%s', which is no output",
			 recording->number, recording->function->name);
	else
		snprintf(text, OUTPUTS_TEXT, "%sfree memory of pool '%s'",
			 runner->guards ? "a guard zone or " : "",
			 runner->name);
}

static int is_of_pool(const struct philox_runner *runner, const void *address,
		      size_t bytes)
{
	const uintptr_t begin = (uintptr_t)address;
	const uintptr_t end =
		bytes < UINTPTR_MAX - begin ? begin + bytes : UINTPTR_MAX;
	int has;

	pool_lock(runner->pool);
	has = pool_has(runner->pool->blocks, (struct range){begin, end});
	pool_unlock(runner->pool);
	return has;
}

enum philox_status outputs_describe(const struct philox_runner *runner,
				    const void *address,
				    char text[OUTPUTS_TEXT])
{
	const struct live_block *block = live_at(runner, address);
	const struct output_slot *slot =
		block ? slot_for(block, address, 1) : NULL;

	*text = '\0';
	if (slot) {
		describe_slot(slot, "", text);
		return PHILOX_ERROR_INVALID;
	}
	if (!is_of_pool(runner, address, 1))
		return PHILOX_ERROR_INVALID;
	slot = released_at(runner, address);
	if (slot) {
		describe_slot(slot, ", which was released", text);
		return PHILOX_ERROR_STALE;
	}
	pool_lock(runner->pool);
	describe_rest(runner, address, text);
	pool_unlock(runner->pool);
	return PHILOX_ERROR_INVALID;
}

/* What begins before the pool reaches into it. */
static enum philox_status refuse_memory(const struct philox_runner *runner,
					const void *address, size_t bytes)
{
	char text[OUTPUTS_TEXT];
	enum philox_status status = outputs_describe(runner, address, text);

	if (!*text)
		return status_set(status,
				  "its %zu bytes at %p begin outside of pool "
				  "'%s' and end in it",
				  bytes, address, runner->name);
	return status_set(status, "its %zu bytes at %p are in %s", bytes,
			  address, text);
}

static enum philox_status refuse_leaving(const struct output_slot *slot,
					 const struct live_block *block,
					 const void *address, size_t bytes)
{
	char text[OUTPUTS_TEXT];

	describe_slot(slot, "", text);
	return status_set(PHILOX_ERROR_INVALID,
			  "its %zu bytes at %p begin in the block of %s, and "
			  "leave it: it has %zu bytes at %p",
			  bytes, address, text, block->bytes,
			  (void *)block->begin);
}

/*
 * A pointer that was kept from an output which was released is taken for the
 * output that has the place now, if there is one.
 */
enum philox_status outputs_at(struct philox_runner *runner, const void *address,
			      size_t bytes, struct output_slot **slot)
{
	const struct live_block *block = live_at(runner, address);
	struct output_slot *found =
		block ? slot_for(block, address, bytes) : NULL;

	*slot = NULL;
	if (found && lies_whole_in(block, address, bytes)) {
		*slot = found;
		return PHILOX_OK;
	}
	if (!bytes || !is_of_pool(runner, address, bytes))
		return PHILOX_OK;
	return found ? refuse_leaving(found, block, address, bytes)
		     : refuse_memory(runner, address, bytes);
}

void outputs_finish(struct philox_runner *runner)
{
	for (size_t i = 0; i < runner->n_slots; i++)
		free(runner->slots[i]);
	free(runner->slots);
	free(runner->live);
	free(runner->begins);
}
