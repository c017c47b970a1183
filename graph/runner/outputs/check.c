/*
 * graph/runner/outputs/check.c - whether saved outputs may be loaded
 *
 * The first thing that is missing or otherwise is named.
 */
#include <inttypes.h>
#include <string.h>
#include "graph/runner/function/function.h"
#include "graph/runner/outputs/outputs.h"
#include "lib/pass/pass.h"
#include "lib/save/save.h"

/* --- the context ---------------------------------------------------------- */

/* With the context's lock. NULL: the text did not name the runner's outputs. */
static const struct saved_outputs *named_outputs(
	const struct philox_runner *runner)
{
	const struct philox_context *context = runner->context;

	for (size_t i = 0; i < context->n_loaded_outputs; i++)
		if (!strcmp(context->loaded_outputs[i].runner, runner->name))
			return &context->loaded_outputs[i];
	return NULL;
}

static enum philox_status check_loaded(const struct philox_runner *runner)
{
	const struct philox_context *context = runner->context;
	uint64_t digest;
	enum philox_status status;

	if (!context->loaded)
		return status_set(PHILOX_ERROR_STATE,
				  "the context was not loaded from a text: "
				  "that of the same step is loaded before the "
				  "outputs");
	status = inspect_digest(context, &digest);
	if (status == PHILOX_OK && digest != context->loaded_digest)
		status = status_set(PHILOX_ERROR_STATE,
				    "the context has changed since it was "
				    "loaded: outputs are loaded before "
				    "anything else is done with it");
	return status;
}

static enum philox_status check_named(const struct outputs_file *file,
				      const struct philox_runner *runner)
{
	const struct saved_outputs *named = named_outputs(runner);

	if (!named)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "the text that the context was loaded from "
				  "names no outputs of this runner: they are "
				  "saved before the context, with nothing in "
				  "between");
	if (named->digest != file->checksum)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "the context was saved with outputs of "
				  "digest %016" PRIx64
				  ", these have %016" PRIx64
				  ": they are of another step",
				  named->digest, file->checksum);
	return PHILOX_OK;
}

static enum philox_status check_context(const struct outputs_file *file,
					const struct philox_runner *runner)
{
	enum philox_status status;

	if (strcmp(file->runner, runner->name) != 0)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "the outputs are those of runner '%s'",
				  file->runner);
	context_lock(runner->context);
	status = check_loaded(runner);
	if (status == PHILOX_OK)
		status = check_named(file, runner);
	context_unlock(runner->context);
	return status;
}

static enum philox_status check_empty(const struct philox_runner *runner)
{
	for (size_t i = 0; i < runner->n_slots; i++) {
		const struct output_slot *slot = runner->slots[i];

		if (slot->live)
			return status_set(
				PHILOX_ERROR_STATE,
				"output '%s' of function '%s' is not released: "
				"all outputs are, before others are loaded",
				slot->function->outputs[slot->output].name,
				slot->function->name);
	}
	return PHILOX_OK;
}

/* --- functions and their outputs ------------------------------------------ */

static enum philox_status find_function(const struct philox_runner *runner,
					const struct outputs_item *item,
					struct philox_function **found)
{
	struct philox_function *function =
		function_find(runner, item->function);

	if (!function)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "function '%s' of the saved outputs is not "
				  "in this runner",
				  item->function);
	*found = function;
	return PHILOX_OK;
}

static enum philox_status find_output(const struct outputs_item *item,
				      struct outputs_target *target)
{
	const struct philox_function *function = target->function;
	const struct philox_output_desc *info;
	size_t i = 0;

	while (i < function->n_outputs &&
	       strcmp(function->outputs[i].name, item->output) != 0)
		i++;
	if (i == function->n_outputs)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "function '%s' has no output '%s', which was "
				  "saved",
				  function->name, item->output);
	info = &function->outputs[i];
	if (info->elements != item->elements)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "output '%s' of function '%s': elements is "
				  "%" PRIu32 " in what was saved, but %" PRIu32
				  " here",
				  item->output, function->name, item->elements,
				  info->elements);
	target->output = i;
	return PHILOX_OK;
}

/* --- tickets -------------------------------------------------------------- */

/* With the context's lock. */
static struct philox_region *find_alive(const struct philox_runner *runner,
					const char *name)
{
	struct philox_region *region = runner->context->regions;

	while (region && (!region->alive || strcmp(region->name, name) != 0))
		region = region->next;
	return region;
}

static enum philox_status find_ticket(const struct philox_runner *runner,
				      const char *name, uint64_t serial,
				      struct philox_region **found)
{
	struct philox_region *region;
	struct ledger_entry *entry;
	enum philox_status status;

	context_lock(runner->context);
	region = find_alive(runner, name);
	if (region)
		status = ticket_pending(
			region, (struct philox_ticket){region->key, serial},
			&entry);
	else
		status = status_set(PHILOX_ERROR_MISMATCH,
				    "there is no region '%s'", name);
	context_unlock(runner->context);
	*found = region;
	return status;
}

static enum philox_status check_item(const struct outputs_item *item,
				     const struct philox_runner *runner,
				     struct outputs_target *target)
{
	enum philox_status status =
		find_function(runner, item, &target->function);

	if (status == PHILOX_OK)
		status = find_output(item, target);
	if (status != PHILOX_OK || !item->region)
		return status;
	status = find_ticket(runner, item->region, item->serial,
			     &target->region);
	if (status != PHILOX_OK)
		status_prefix(status,
			      "output '%s' of function '%s' cannot be tied: ",
			      item->output, item->function);
	return status;
}

enum philox_status outputs_file_check(const struct outputs_file *file,
				      struct philox_runner *runner,
				      struct outputs_target *targets,
				      struct philox_region **owed)
{
	enum philox_status status = check_context(file, runner);

	if (status == PHILOX_OK)
		status = check_empty(runner);
	for (size_t i = 0; status == PHILOX_OK && i < file->n_items; i++)
		status = check_item(&file->items[i], runner, &targets[i]);
	for (size_t i = 0; status == PHILOX_OK && i < file->n_owed; i++)
		status = find_ticket(runner, file->owed[i].region,
				     file->owed[i].serial, &owed[i]);
	return status;
}
