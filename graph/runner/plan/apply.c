/*
 * graph/runner/plan/apply.c - a plan that becomes what a runner has learned
 *
 * All memory is taken first; after that nothing can fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/function/function.h"
#include "graph/runner/plan/plan.h"

/* Names of regions, one after the other, for the scripts of keys. */
struct plan_names {
	char *end;
	char text[];
};

/* What a function is to have, before it has it. */
struct made_keys {
	struct script_share **scripts; /* as the plan's, but for the names */
	struct key *list;
	struct map map; /* with room for them */
	uint64_t expected_bytes;
};

/* --- names of regions --------------------------------------------------------- */

static size_t length_of_names(const struct plan_function *function)
{
	size_t length = 0;

	for (size_t i = 0; i < function->n_scripts; i++)
		for (size_t k = 0; k < function->scripts[i].n; k++) {
			const char *name = function->scripts[i].steps[k].region;

			length += name ? strlen(name) + 1 : 0;
		}
	return length;
}

static struct plan_names *make_names(const struct plan *plan)
{
	size_t length = 0;
	struct plan_names *names;

	for (size_t i = 0; i < plan->n_functions; i++)
		length += length_of_names(&plan->functions[i]);
	names = malloc(sizeof(*names) + length + 1);
	if (names)
		names->end = names->text;
	return names;
}

static const char *keep_name(struct plan_names *names, const char *name)
{
	const size_t size = name ? strlen(name) + 1 : 0;
	char *kept = names->end;

	if (!name)
		return NULL;
	memcpy(kept, name, size);
	names->end += size;
	return kept;
}

/* --- keys --------------------------------------------------------------------- */

static struct script_share *make_share(const struct plan_script *from,
				       struct plan_names *names)
{
	const size_t bytes = from->n * sizeof(*from->steps);
	struct script_share *share = malloc(sizeof(*share) + bytes);

	if (!share)
		return NULL;
	share->refs = 1;
	if (from->n)
		memcpy(share->steps, from->steps, bytes);
	for (size_t i = 0; i < from->n; i++)
		share->steps[i].region =
			keep_name(names, from->steps[i].region);
	return share;
}

static int make_scripts(const struct plan_function *from,
			struct plan_names *names, struct made_keys *made)
{
	made->scripts = calloc(from->n_scripts + 1, sizeof(*made->scripts));
	if (!made->scripts)
		return 0;
	for (size_t i = 0; i < from->n_scripts; i++) {
		made->scripts[i] = make_share(&from->scripts[i], names);
		if (!made->scripts[i])
			return 0;
	}
	return 1;
}

/* The body has to run once in this process, unless it would anyway. */
static int body_has_not_run(const struct plan_key *from)
{
	return !from->warmups && !from->dry && !from->wait;
}

static void fill_key(const struct plan_key *from, struct key *key)
{
	key->calls = from->calls;
	key->warmups = from->warmups;
	key->dry = from->dry;
	key->waste = from->waste;
	key->wait = from->wait;
	key->expected = from->expected;
	key->body_not_run = body_has_not_run(from);
	memcpy(key->label, from->label, sizeof(key->label));
	if (from->refused)
		snprintf(key->refused, sizeof(key->refused), "%s",
			 from->refused);
}

static struct key *make_loaded(const struct philox_function *function,
			       const struct plan_function *from, size_t index,
			       const struct made_keys *made)
{
	const struct plan_key *of = &from->keys[index];
	struct key *key = key_new(function, of->bytes, of->size);

	if (!key)
		return NULL;
	fill_key(of, key);
	if (from->n_inputs)
		memcpy(key->inputs, &from->takes[index * from->n_inputs],
		       from->n_inputs * sizeof(*key->inputs));
	key->used = index + 1;
	if (of->script != PLAN_NO_SCRIPT)
		script_share(&key->script, made->scripts[of->script],
			     from->scripts[of->script].n);
	return key;
}

static int make_keys(const struct philox_function *function,
		     const struct plan_function *from, struct plan_names *names,
		     struct made_keys *made)
{
	if (!make_scripts(from, names, made))
		return 0;
	if (!map_reserve(&made->map, from->n_keys))
		return 0;
	for (size_t i = from->n_keys; i--;) {
		struct key *key = make_loaded(function, from, i, made);

		if (!key)
			return 0;
		key->next_in_function = made->list;
		made->list = key;
		made->expected_bytes += key->expected.bytes;
	}
	return 1;
}

static void free_made(const struct plan *plan, struct made_keys *made)
{
	for (size_t i = 0; made && i < plan->n_functions; i++) {
		const size_t n = plan->functions[i].n_scripts;

		for (size_t k = 0; made[i].scripts && k < n; k++)
			script_unshare(made[i].scripts[k]);
		free(made[i].scripts);
		keys_free_list(made[i].list);
		map_finish(&made[i].map);
	}
	free(made);
}

/* --- loading ------------------------------------------------------------------- */

static const struct philox_function *find_alive(
	const struct plan *plan, struct philox_function *const *functions,
	const struct plan_barred *barred)
{
	for (size_t i = 0; barred->alive && i < plan->n_functions; i++)
		if (strcmp(plan->functions[i].name, barred->function) == 0)
			return functions[i];
	return NULL;
}

static void load_barred(const struct plan *plan, struct philox_runner *runner,
			struct philox_function *const *functions)
{
	memset(runner->tickets, 0, sizeof(runner->tickets));
	runner->n_tickets = plan->n_barred;
	for (size_t i = 0; i < plan->n_barred; i++) {
		const struct plan_barred *from = &plan->barred[i];
		struct unrecorded_ticket *to = &runner->tickets[i];

		to->ticket = from->ticket;
		to->function = find_alive(plan, functions, from);
		snprintf(to->name, sizeof(to->name), "%s", from->function);
		snprintf(to->reason, sizeof(to->reason), "%s", from->reason);
	}
}

static int has_calls(const struct plan_function *function)
{
	for (size_t i = 0; i < function->n_scripts; i++)
		for (size_t k = 0; k < function->scripts[i].n; k++)
			if (function->scripts[i].steps[k].kind == STEP_CALL)
				return 1;
	return 0;
}

/* Also those that are made later may be the ones that are called. */
static void note_calls(const struct plan *plan, struct philox_runner *runner)
{
	for (size_t i = 0; i < plan->n_functions; i++)
		runner->plan_calls |= has_calls(&plan->functions[i]);
	for (struct philox_function *function = runner->functions;
	     runner->plan_calls && function; function = function->next)
		function->called = 1;
}

/* Functions that are not in the plan begin anew, whatever one before said. */
static void load_keys(const struct plan *plan, struct philox_runner *runner,
		      struct philox_function *const *functions,
		      struct made_keys *made)
{
	for (struct philox_function *function = runner->functions; function;
	     function = function->next) {
		keys_free(function);
		function->expected_bytes = 0;
		function->waste = (struct waste){0};
	}
	note_calls(plan, runner);
	runner->calls = 0;
	for (size_t i = 0; i < plan->n_functions; i++) {
		keys_replace(functions[i], made[i].list, &made[i].map);
		functions[i]->expected_bytes = made[i].expected_bytes;
		functions[i]->waste = plan->functions[i].waste;
		made[i].list = NULL;
		made[i].map = (struct map){0};
		if (plan->functions[i].n_keys > runner->calls)
			runner->calls = plan->functions[i].n_keys;
	}
}

static void load_all(const struct plan *plan, struct philox_runner *runner,
		     struct philox_function *const *functions,
		     struct made_keys *made, struct plan_names *names)
{
	load_keys(plan, runner, functions, made);
	load_barred(plan, runner, functions);
	free(runner->plan.names);
	runner->plan = (struct runner_plan){.calls = runner->calls,
					     .load_ns = runner->plan.load_ns,
					    .live = plan->live,
					    .mapped = plan->mapped,
					    .names = names};
}

enum philox_status plan_apply(const struct plan *plan,
			      struct philox_runner *runner,
			      struct philox_function *const *functions)
{
	struct plan_names *names = make_names(plan);
	struct made_keys *made = calloc(plan->n_functions + 1, sizeof(*made));
	int whole = names && made;

	for (size_t i = 0; whole && i < plan->n_functions; i++)
		whole = make_keys(functions[i], &plan->functions[i], names,
				  &made[i]);
	if (whole) {
		load_all(plan, runner, functions, made, names);
		names = NULL;
	}
	free_made(plan, made);
	free(names);
	return whole ? PHILOX_OK : plan_no_room();
}

void plan_forget(struct philox_runner *runner)
{
	free(runner->plan.names);
	runner->plan.names = NULL;
}
