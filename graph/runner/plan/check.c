/*
 * graph/runner/plan/check.c - whether a plan may be loaded into a runner
 *
 * The first difference is named, with what the plan has first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/status.h>
#include "graph/runner/plan/plan.h"

/* A value in words: a text in quotation marks, or a number. */
static void spell(const struct plan_difference *difference, const void *object,
		  char text[80])
{
	const struct field *field = difference->field;

	if (field->kind == FIELD_NAME)
		snprintf(text, 80, "'%.64s'", field_text(field, object));
	else if (field->kind == FIELD_TIMES &&
		 field_number(field, object) == PHILOX_NEVER)
		snprintf(text, 80, "never");
	else
		snprintf(text, 80, "%" PRIu64, field_number(field, object));
}

static void spell_what(const struct plan_difference *difference, char text[120])
{
	const struct field *field = difference->field;
	const struct plan_part *part = difference->part;
	const char *called = field->spoken ? field->spoken : field_name(field);

	if (difference->of_policy)
		snprintf(text, 120, "policy.%s", called);
	else if (!part)
		snprintf(text, 120, "%s", called);
	else if (field->kind == FIELD_NAME)
		snprintf(text, 120, "%s %zu", part->word, difference->index);
	else
		snprintf(text, 120, "%s of %s '%.64s'", called, part->word,
			 field_text(part->fields, difference->other));
}

/* Different numbers of parts come before different parts. */
static int functions_differ(const struct plan_function *before,
			    const struct plan_function *now,
			    struct plan_difference *difference)
{
	if (!plan_functions_differ(before, now, difference))
		return 0;
	if (fields_differ(plan_function_fields, before, now))
		return 1;
	for (size_t i = 0; i < PLAN_PARTS; i++)
		if (plan_part_count(&plan_parts[i], before) !=
		    plan_part_count(&plan_parts[i], now)) {
			*difference = (struct plan_difference){
				.field = &plan_parts[i].count,
				.one = before,
				.other = now};
			return 1;
		}
	return 1;
}

static enum philox_status same_function(const struct plan_function *before,
					const struct philox_function *function)
{
	const struct plan_function now = plan_signature(function);
	struct plan_difference difference;
	char what[120], in_plan[80], here[80];

	if (!functions_differ(before, &now, &difference))
		return PHILOX_OK;
	spell_what(&difference, what);
	spell(&difference, difference.one, in_plan);
	spell(&difference, difference.other, here);
	return status_set(PHILOX_ERROR_MISMATCH,
			  "function '%s': %s is %s in the plan, but %s here",
			  before->name, what, in_plan, here);
}

/* --- all of it ------------------------------------------------------------------- */

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
	size_t n;

	if (status != PHILOX_OK)
		return status;
	list = plan_list_functions(runner, &n);
	if (!list)
		return plan_no_room();
	status = check_functions(plan, list, n, functions);
	free(list);
	return status;
}
