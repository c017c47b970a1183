/*
 * graph/runner/state/release.c - outputs in the caller's hands
 */
#include "graph/runner/state/runner_enter.h"
#include "graph/runner/state/output.h"
#include "graph/runner/state/fence.h"
#include "graph/runner/state/runner_step.h"
#include "graph/runner/state/tie.h"

static enum philox_status release(struct philox_runner *runner,
				  const struct philox_output *output,
				  philox_stream stream, int within)
{
	struct output_slot *slot;
	enum philox_status status = outputs_find(runner, output, &slot);

	if (status == PHILOX_OK)
		status = points_note(runner, stream);
	if (status != PHILOX_OK)
		return status;
	if (within)
		outputs_drop_later(slot);
	else
		outputs_drop(slot);
	return PHILOX_OK;
}

/* The arguments of the functions below, which calls may call, too. */
static enum philox_status enter(struct philox_runner *runner,
				const struct philox_output *output, int *within)
{
	if (!runner)
		return context_null(NULL, "runner");
	if (!output)
		return context_null(runner->context, "output");
	NEED_PROCESS(runner->context);
	*within = runner_is_here(runner);
	if (!*within)
		return runner_report(runner, NULL, runner_enter(runner));
	runner_drain(runner, 1);
	return PHILOX_OK;
}

static enum philox_status leave(struct philox_runner *runner,
				enum philox_status status, int within)
{
	if (!within)
		runner_leave(runner, status);
	return runner_report(runner, NULL, status);
}

enum philox_status philox_output_release(struct philox_runner *runner,
					 const struct philox_output *output,
					 philox_stream stream)
{
	int within;
	enum philox_status status = enter(runner, output, &within);

	if (status != PHILOX_OK)
		return status;
	return leave(runner, release(runner, output, stream, within), within);
}

enum philox_status philox_output_check(struct philox_runner *runner,
				       const struct philox_output *output)
{
	struct output_slot *slot;
	int within;
	enum philox_status status = enter(runner, output, &within);

	if (status != PHILOX_OK)
		return status;
	return leave(runner, outputs_find(runner, output, &slot), within);
}

static enum philox_status tie_output(struct philox_runner *runner,
				     const struct philox_output *output,
				     struct philox_region *region,
				     struct philox_ticket ticket)
{
	struct output_slot *slot;
	enum philox_status status = outputs_find(runner, output, &slot);

	if (status == PHILOX_OK && region->context != runner->context)
		status = status_set(PHILOX_ERROR_MISMATCH,
				    "region '%s' is of another context than "
				    "runner '%s'",
				    region->name, runner->name);
	if (status == PHILOX_OK)
		status = step_reserve(runner, 1);
	if (status == PHILOX_OK)
		status = ties_make(slot, region, ticket);
	if (status == PHILOX_OK)
		step_owe(runner, region, ticket, slot->path);
	return status;
}

enum philox_status philox_output_tie(struct philox_runner *runner,
				     const struct philox_output *output,
				     struct philox_region *region,
				     struct philox_ticket ticket)
{
	int within;
	enum philox_status status;

	if (!region)
		return context_null(runner ? runner->context : NULL, "region");
	status = enter(runner, output, &within);
	if (status != PHILOX_OK)
		return status;
	return leave(runner, tie_output(runner, output, region, ticket),
		     within);
}

enum philox_status philox_output_set_data(struct philox_runner *runner,
					  const struct philox_output *output,
					  void *data)
{
	struct output_slot *slot;
	int within;
	enum philox_status status = enter(runner, output, &within);

	if (status != PHILOX_OK)
		return status;
	status = outputs_find(runner, output, &slot);
	if (status == PHILOX_OK)
		slot->data = data;
	return leave(runner, status, within);
}

enum philox_status philox_output_data(struct philox_runner *runner,
				      const struct philox_output *output,
				      void **data)
{
	struct output_slot *slot;
	int within;
	enum philox_status status = enter(runner, output, &within);

	if (status != PHILOX_OK)
		return status;
	status = outputs_find(runner, output, &slot);
	if (status == PHILOX_OK && !data)
		status = status_set(PHILOX_ERROR_INVALID, "data is NULL");
	if (status == PHILOX_OK)
		*data = slot->data;
	return leave(runner, status, within);
}
