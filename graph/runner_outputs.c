/*
 * graph/runner_outputs.c - outputs and their handles
 */
#include <inttypes.h>
#include <stdlib.h>
#include "graph/runner_memory.h"
#include "graph/runner_outputs.h"
#include "lib/device/captures.h"

/* --- slots -------------------------------------------------------------------- */

static enum philox_status make_slot(struct philox_function *function,
				    size_t index, struct output_slot **slot)
{
	struct philox_runner *runner = function->runner;
	enum philox_status status =
		runner_room(&runner->slots, &runner->slot_room,
			    runner->n_slots + 1, sizeof(*runner->slots));
	struct output_slot *made;

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
	slot->in_pool = place->in_pool;
	slot->call = runner->calls;
	slot->data = NULL;
	if (place->in_pool)
		live_hold(runner, place->id, place->range, place->from);
}

void outputs_drop(struct output_slot *slot)
{
	slot->live = 0;
	if (slot->in_pool)
		live_let_go(slot->function->runner, slot->handle.id);
	if (!slot->recorded)
		outputs_give(slot);
}

/* --- handles ------------------------------------------------------------------ */

static enum philox_status refuse_stale(const struct output_slot *slot,
				       const struct philox_output *output)
{
	const struct philox_function *function = slot->function;
	const struct philox_output_info *info =
		&function->outputs[slot->output];
	const char *open = *info->origin ? " (" : "";
	const char *close = *info->origin ? ")" : "";

	if (slot->handle.generation == output->generation)
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
	if (!found->live || found->handle.generation != output->generation)
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

/* --- streams of releases -------------------------------------------------------- */

static enum philox_status add_point(struct philox_runner *runner,
				    philox_stream stream,
				    struct release_point **point)
{
	struct release_point *points = realloc(
		runner->points, (runner->n_points + 1) * sizeof(*points));
	struct release_point made = {.stream = stream};
	enum philox_status status;

	if (!points)
		return status_set(PHILOX_ERROR_MEMORY,
				  "runner '%s': no memory for a release",
				  runner->name);
	runner->points = points;
	status = philox_event_create(runner_device(runner), &made.event);
	if (status != PHILOX_OK)
		return status_prefix(status, "runner '%s': ", runner->name);
	*point = &points[runner->n_points++];
	**point = made;
	return PHILOX_OK;
}

/* A later point of a stream takes the place of an earlier one. */
static enum philox_status note_point(struct philox_runner *runner,
				     philox_stream stream)
{
	struct release_point *point = NULL;
	enum philox_status status =
		device_refuse_capture(runner_device(runner), stream);

	for (size_t i = 0; i < runner->n_points; i++)
		if (runner->points[i].stream == stream)
			point = &runner->points[i];
	if (status == PHILOX_OK && !point)
		status = add_point(runner, stream, &point);
	if (status == PHILOX_OK)
		status = philox_event_record(runner_device(runner),
					     point->event, stream);
	if (status != PHILOX_OK)
		return status_prefix(status, "runner '%s': ", runner->name);
	point->pending = 1;
	return PHILOX_OK;
}

/* They stay pending until all have been waited for: waiting twice is harmless. */
enum philox_status outputs_await(struct philox_runner *runner,
				 philox_stream stream)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < runner->n_points; i++)
		if (runner->points[i].pending &&
		    runner->points[i].stream != stream)
			status =
				philox_event_wait(runner_device(runner), stream,
						  runner->points[i].event);
	if (status != PHILOX_OK)
		return status_prefix(status, "runner '%s': ", runner->name);
	for (size_t i = 0; i < runner->n_points; i++)
		runner->points[i].pending = 0;
	return PHILOX_OK;
}

void outputs_finish(struct philox_runner *runner)
{
	for (size_t i = 0; i < runner->n_points; i++)
		philox_event_destroy(runner_device(runner),
				     runner->points[i].event);
	for (size_t i = 0; i < runner->n_slots; i++)
		free(runner->slots[i]);
	free(runner->points);
	free(runner->slots);
	free(runner->live);
}

/* --- public --------------------------------------------------------------------- */

static enum philox_status release(struct philox_runner *runner,
				  const struct philox_output *output,
				  philox_stream stream)
{
	struct output_slot *slot;
	enum philox_status status = outputs_find(runner, output, &slot);

	if (status == PHILOX_OK)
		status = note_point(runner, stream);
	if (status == PHILOX_OK)
		outputs_drop(slot);
	return status;
}

/* The arguments of the four functions below. */
static enum philox_status enter(struct philox_runner *runner,
				const struct philox_output *output)
{
	if (!runner)
		return context_null(NULL, "runner");
	if (!output)
		return context_null(runner->context, "output");
	NEED_PROCESS(runner->context);
	if (runner_is_open(runner))
		return PHILOX_OK;
	return runner_report(runner, NULL, runner_enter(runner));
}

static enum philox_status leave(struct philox_runner *runner,
				enum philox_status status)
{
	if (!runner_is_open(runner))
		runner_leave(runner, status);
	return runner_report(runner, NULL, status);
}

enum philox_status philox_output_release(struct philox_runner *runner,
					 const struct philox_output *output,
					 philox_stream stream)
{
	enum philox_status status = enter(runner, output);

	if (status != PHILOX_OK)
		return status;
	return leave(runner, release(runner, output, stream));
}

enum philox_status philox_output_check(struct philox_runner *runner,
				       const struct philox_output *output)
{
	struct output_slot *slot;
	enum philox_status status = enter(runner, output);

	if (status != PHILOX_OK)
		return status;
	return leave(runner, outputs_find(runner, output, &slot));
}

enum philox_status philox_output_set_data(struct philox_runner *runner,
					  const struct philox_output *output,
					  void *data)
{
	struct output_slot *slot;
	enum philox_status status = enter(runner, output);

	if (status != PHILOX_OK)
		return status;
	status = outputs_find(runner, output, &slot);
	if (status == PHILOX_OK)
		slot->data = data;
	return leave(runner, status);
}

enum philox_status philox_output_data(struct philox_runner *runner,
				      const struct philox_output *output,
				      void **data)
{
	struct output_slot *slot;
	enum philox_status status = enter(runner, output);

	if (status != PHILOX_OK)
		return status;
	status = outputs_find(runner, output, &slot);
	if (status == PHILOX_OK && !data)
		status = status_set(PHILOX_ERROR_INVALID, "data is NULL");
	if (status == PHILOX_OK)
		*data = slot->data;
	return leave(runner, status);
}
