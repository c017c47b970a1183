/*
 * graph/runner/plan/check.c - whether a plan may be loaded into a runner
 *
 * The first difference is named, with what the plan has first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/version.h>
#include "graph/runner/plan/plan.h"

/* --- words ------------------------------------------------------------------- */

static enum philox_status differs_in(const struct plan_function *function,
				     const char *what, const char *before,
				     const char *now)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "function '%s': %s is %s in the plan, but %s here",
			  function->name, what, before, now);
}

static enum philox_status same_number(const struct plan_function *function,
				      const char *what, uint64_t before,
				      uint64_t now)
{
	char in_plan[24], here[24];

	if (before == now)
		return PHILOX_OK;
	snprintf(in_plan, sizeof(in_plan), "%" PRIu64, before);
	snprintf(here, sizeof(here), "%" PRIu64, now);
	return differs_in(function, what, in_plan, here);
}

static void spell_times(char *text, size_t size, uint32_t number)
{
	if (number == PHILOX_NEVER)
		snprintf(text, size, "never");
	else
		snprintf(text, size, "%" PRIu32, number);
}

/* Numbers of calls that may be PHILOX_NEVER. */
static enum philox_status same_times(const struct plan_function *function,
				     const char *what, uint32_t before,
				     uint32_t now)
{
	char in_plan[24], here[24];

	if (before == now)
		return PHILOX_OK;
	spell_times(in_plan, sizeof(in_plan), before);
	spell_times(here, sizeof(here), now);
	return differs_in(function, what, in_plan, here);
}

static enum philox_status same_name(const struct plan_function *function,
				    const char *what, size_t index,
				    const char *before, const char *now)
{
	char which[40], in_plan[80], here[80];

	if (strcmp(before, now) == 0)
		return PHILOX_OK;
	snprintf(which, sizeof(which), "%s %zu", what, index);
	snprintf(in_plan, sizeof(in_plan), "'%.64s'", before);
	snprintf(here, sizeof(here), "'%.64s'", now);
	return differs_in(function, which, in_plan, here);
}

static enum philox_status same_part(const struct plan_function *function,
				    const char *field, const char *what,
				    const char *name, uint64_t before,
				    uint64_t now)
{
	char which[120];

	if (before == now)
		return PHILOX_OK;
	snprintf(which, sizeof(which), "%s of %s '%.64s'", field, what, name);
	return same_number(function, which, before, now);
}

/* --- descriptors --------------------------------------------------------------- */

static enum philox_status same_input(const struct plan_function *function,
				     size_t index,
				     const struct philox_input *now)
{
	const struct philox_input *before = &function->inputs[index];
	enum philox_status status =
		same_name(function, "input", index, before->name, now->name);

	if (status == PHILOX_OK)
		status = same_part(function, "the kind", "input", now->name,
				   before->kind, now->kind);
	if (status == PHILOX_OK)
		status = same_part(function, "flags", "input", now->name,
				   before->flags, now->flags);
	if (status == PHILOX_OK)
		status =
			same_part(function, "the alignment", "input", now->name,
				  before->alignment, now->alignment);
	if (status == PHILOX_OK)
		status = same_part(function, "elements", "input", now->name,
				   before->elements, now->elements);
	return status;
}

static enum philox_status same_output(const struct plan_function *function,
				      size_t index,
				      const struct philox_output_info *now)
{
	const struct philox_output_info *before = &function->outputs[index];
	enum philox_status status =
		same_name(function, "output", index, before->name, now->name);

	return status == PHILOX_OK
		       ? same_part(function, "elements", "output", now->name,
				   before->elements, now->elements)
		       : status;
}

static enum philox_status same_value(const struct plan_function *function,
				     size_t index,
				     const struct philox_value *now)
{
	const struct philox_value *before = &function->values[index];
	enum philox_status status =
		same_name(function, "value", index, before->name, now->name);

	return status == PHILOX_OK
		       ? same_part(function, "the size", "value", now->name,
				   before->bytes, now->bytes)
		       : status;
}

static enum philox_status same_parts(const struct plan_function *before,
				     const struct philox_function *now)
{
	enum philox_status status =
		same_number(before, "how many inputs it has", before->n_inputs,
			    now->n_inputs);

	if (status == PHILOX_OK)
		status = same_number(before, "how many outputs it has",
				     before->n_outputs, now->n_outputs);
	if (status == PHILOX_OK)
		status = same_number(before, "how many values it has",
				     before->n_values, now->n_values);
	for (size_t i = 0; status == PHILOX_OK && i < before->n_inputs; i++)
		status = same_input(before, i, &now->inputs[i]);
	for (size_t i = 0; status == PHILOX_OK && i < before->n_outputs; i++)
		status = same_output(before, i, &now->outputs[i]);
	for (size_t i = 0; status == PHILOX_OK && i < before->n_values; i++)
		status = same_value(before, i, &now->values[i]);
	return status;
}

static enum philox_status same_policy(const struct plan_function *function,
				      const struct philox_policy *now)
{
	const struct philox_policy *before = &function->policy;
	const struct {
		const char *field;
		uint64_t before, now;
		int is_times;
	} fields[] = {{"moved", before->moved, now->moved, 0},
		      {"live", before->live, now->live, 0},
		      {"refused", before->refused, now->refused, 0},
		      {"limit", before->limit, now->limit, 0},
		      {"warmups", before->warmups, now->warmups, 0},
		      {"dry", before->dry, now->dry, 0},
		      {"after", before->after, now->after, 1},
		      {"again", before->again, now->again, 1},
		      {"retry", before->retry, now->retry, 1},
		      {"keys", before->keys, now->keys, 0},
		      {"verify", before->verify, now->verify, 0},
		      {"differs", before->differs, now->differs, 0},
		      {"bytes", before->bytes, now->bytes, 0}};
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0;
	     status == PHILOX_OK && i < sizeof(fields) / sizeof(fields[0]);
	     i++) {
		char what[32];

		snprintf(what, sizeof(what), "policy.%s", fields[i].field);
		status = fields[i].is_times
				 ? same_times(function, what,
					      (uint32_t)fields[i].before,
					      (uint32_t)fields[i].now)
				 : same_number(function, what, fields[i].before,
					       fields[i].now);
	}
	return status;
}

static enum philox_status same_function(const struct plan_function *before,
					const struct philox_function *now)
{
	enum philox_status status =
		same_number(before, "its mode", before->mode, now->mode);

	if (status == PHILOX_OK)
		status =
			same_number(before, "flags", before->flags, now->flags);
	if (status == PHILOX_OK)
		status = same_parts(before, now);
	return status == PHILOX_OK ? same_policy(before, &now->policy) : status;
}

/* --- all of it ------------------------------------------------------------------- */

static int by_listed_name(const void *one, const void *other)
{
	const struct philox_function *const *a = one, *const *b = other;

	return strcmp((*a)->name, (*b)->name);
}

static int by_wanted_name(const void *name, const void *listed)
{
	return strcmp(name, (*(struct philox_function *const *)listed)->name);
}

static enum philox_status check_functions(const struct plan *plan,
					  struct philox_function **list,
					  size_t n,
					  struct philox_function **functions)
{
	enum philox_status status = PHILOX_OK;

	qsort(list, n, sizeof(*list), by_listed_name);
	for (size_t i = 0; status == PHILOX_OK && i < plan->n_functions; i++) {
		const struct plan_function *before = &plan->functions[i];
		struct philox_function **found =
			n ? bsearch(before->name, list, n, sizeof(*list),
				    by_wanted_name)
			  : NULL;

		if (!found)
			return status_set(PHILOX_ERROR_MISMATCH,
					  "function '%s' of the plan is not "
					  "in this runner",
					  before->name);
		functions[i] = *found;
		status = same_function(before, *found);
	}
	return status;
}

static enum philox_status check_state(const struct plan *plan,
				      const struct philox_runner *runner)
{
	if (runner->calls != runner->plan.calls)
		return status_set(PHILOX_ERROR_STATE,
				  "a function of this runner was called or "
				  "prepared: a plan is loaded before that");
	if (strcmp(plan->library, philox_version()) != 0)
		return status_set(PHILOX_ERROR_UNSUPPORTED,
				  "the plan is of version '%.40s' of the "
				  "library, this is '%s'",
				  plan->library, philox_version());
	return PHILOX_OK;
}

enum philox_status plan_check(const struct plan *plan,
			      const struct philox_runner *runner,
			      struct philox_function **functions)
{
	enum philox_status status = check_state(plan, runner);
	struct philox_function **list;
	size_t n = 0;

	if (status != PHILOX_OK)
		return status;
	for (struct philox_function *function = runner->functions; function;
	     function = function->next)
		n += !function->destroyed;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return plan_no_room();
	n = 0;
	for (struct philox_function *function = runner->functions; function;
	     function = function->next)
		if (!function->destroyed)
			list[n++] = function;
	status = check_functions(plan, list, n, functions);
	free(list);
	return status;
}
