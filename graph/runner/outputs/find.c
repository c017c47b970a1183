/*
 * graph/runner/outputs/find.c - outputs by name
 */
#include <stdlib.h>
#include <string.h>
#include <philox/runner.h>
#include "graph/runner/outputs/outputs.h"
#include "lib/state/state.h"

/* What a caller asks for. */
struct wanted {
	const char *function, *output, *label; /* label NULL: any */
	size_t index;
};

static int is_wanted(const struct output_slot *slot,
		     const struct wanted *wanted)
{
	const struct philox_function *function = slot->function;

	return slot->live && !slot->released &&
	       !strcmp(function->name, wanted->function) &&
	       !strcmp(function->outputs[slot->output].name, wanted->output) &&
	       (!wanted->label || !strcmp(slot->label, wanted->label));
}

static enum philox_status refuse_wanted(const struct philox_runner *runner,
					const struct wanted *wanted, size_t n)
{
	const char *label = wanted->label ? wanted->label : "";
	char with[96] = "";

	if (wanted->label)
		snprintf(with, sizeof(with), " with label '%.63s'", label);
	return status_set(PHILOX_ERROR_NOT_FOUND,
			  "runner '%s' has %zu output%s '%s' of function "
			  "'%s'%s that %s not released, and so none of index "
			  "%zu",
			  runner->name, n, status_s(n), wanted->output,
			  wanted->function, with, status_is(n), wanted->index);
}

static enum philox_status find_wanted(const struct philox_runner *runner,
				      const struct wanted *wanted,
				      struct philox_output *found)
{
	struct output_slot **list = calloc(runner->n_slots + 1, sizeof(*list));
	size_t n = 0;
	enum philox_status status = PHILOX_OK;

	if (!list)
		return outputs_no_room();
	for (size_t i = 0; i < runner->n_slots; i++)
		if (is_wanted(runner->slots[i], wanted))
			list[n++] = runner->slots[i];
	qsort(list, n, sizeof(*list), outputs_by_order);
	if (wanted->index < n)
		*found = list[wanted->index]->handle;
	else
		status = refuse_wanted(runner, wanted, n);
	free(list);
	return status;
}

enum philox_status philox_outputs_find(struct philox_runner *runner,
				       const char *function, const char *output,
				       const char *label, size_t index,
				       struct philox_output *found)
{
	const struct wanted wanted = {function, output, label, index};
	enum philox_status status;

	if (!runner)
		return context_null(NULL, "runner");
	if (!function || !output || !found)
		return context_null(runner->context, !function ? "function"
						     : !output ? "output"
							       : "found");
	NEED_PROCESS(runner->context);
	status = runner_acquire(runner);
	if (status != PHILOX_OK)
		return runner_report(runner, NULL, status);
	return runner_leave(runner, NULL, find_wanted(runner, &wanted, found));
}
