/*
 * graph/runner/plan/take.c - what a runner has learned, as a plan
 *
 * Names, bytes and scripts stay the runner's.
 */
#include <stdlib.h>
#include <string.h>
#include <philox/status.h>
#include "graph/pool/pool.h"
#include "graph/runner/plan/plan.h"

/* --- keys ---------------------------------------------------------------------- */

static int by_use(const void *one, const void *other)
{
	const struct key *const *a = one, *const *b = other;

	return ((*a)->used > (*b)->used) - ((*a)->used < (*b)->used);
}

/* Those that calls came to, the one of the oldest call first. */
static struct key **sort_keys(const struct philox_function *function, size_t *n)
{
	struct key **keys = calloc(function->counts.keys + 1, sizeof(*keys));

	*n = 0;
	for (struct key *key = function->keys; keys && key;
	     key = key->next_in_function)
		if (key->used)
			keys[(*n)++] = key;
	if (keys)
		qsort(keys, *n, sizeof(struct key *), by_use);
	return keys;
}

static struct plan_key plan_of(struct key *key)
{
	struct plan_key made = {
		.bytes = key->bytes,
		.size = key->size,
		.script = PLAN_NO_SCRIPT,
		.calls = key->calls,
		.warmups = key->warmups,
		.dry = key->dry,
		.waste = key->waste,
		.wait = key->wait,
		.expected = {.n = key->recordings + key->expected.n,
			     .unplayed = key->unplayed + key->expected.unplayed,
			     .prepared = key->prepared + key->expected.prepared,
			     .bytes = key->recorded + key->expected.bytes},
		.refused = key->wait ? key->refused : NULL};

	memcpy(made.label, key->label, sizeof(made.label));
	return made;
}

static void take_inputs(struct plan_function *to, const struct key *key)
{
	for (size_t i = 0; i < to->n_inputs; i++)
		to->takes[to->n_takes++] = key->inputs[i];
}

/* The script is the next one, unless it is known. */
static enum philox_status take_script(struct plan_function *to,
				      struct plan_index *index,
				      const struct script *script,
				      size_t *number)
{
	enum philox_status status;

	if (!script->known)
		return PHILOX_OK;
	to->scripts[to->n_scripts] =
		(struct plan_script){script->steps, script->n};
	status = plan_index_put(index,
				plan_hash_script(&to->scripts[to->n_scripts]),
				to->n_scripts, number);
	if (status == PHILOX_OK && *number == to->n_scripts)
		to->n_scripts++;
	return status;
}

static enum philox_status take_keys(struct plan_function *to,
				    struct key *const *keys, size_t n)
{
	struct plan_index index = {.things = to, .same = plan_same_scripts};
	enum philox_status status = PHILOX_OK;

	to->scripts = calloc(n + 1, sizeof(*to->scripts));
	to->keys = calloc(n + 1, sizeof(*to->keys));
	to->takes = calloc(n * to->n_inputs + 1, sizeof(*to->takes));
	if (!to->scripts || !to->keys || !to->takes)
		return plan_no_room();
	for (size_t i = 0; status == PHILOX_OK && i < n; i++) {
		to->keys[i] = plan_of(keys[i]);
		take_inputs(to, keys[i]);
		status = take_script(to, &index, &keys[i]->script,
				     &to->keys[i].script);
		to->n_keys++;
	}
	map_finish(&index.numbers);
	return status;
}

/* --- functions ------------------------------------------------------------------- */

struct plan_function plan_signature(const struct philox_function *function)
{
	return (struct plan_function){.name = (char *)(uintptr_t)function->name,
				      .mode = (uint32_t)function->mode,
				      .flags = function->flags,
				      .inputs = function->inputs,
				      .outputs = function->outputs,
				      .params = function->params,
				      .n_inputs = function->n_inputs,
				      .n_outputs = function->n_outputs,
				      .n_params = function->n_params,
				      .policy = function->policy};
}

static enum philox_status take_function(struct plan_function *to,
					const struct philox_function *function)
{
	enum philox_status status;
	struct key **keys;
	size_t n;

	*to = plan_signature(function);
	to->waste = function->waste;
	keys = sort_keys(function, &n);
	if (!keys)
		return plan_no_room();
	status = take_keys(to, keys, n);
	free(keys);
	return status;
}

static int by_function_name(const void *one, const void *other)
{
	const struct philox_function *const *a = one, *const *b = other;

	return strcmp((*a)->name, (*b)->name);
}

struct philox_function **plan_list_functions(const struct philox_runner *runner,
					     size_t *n)
{
	struct philox_function *function, **list;
	size_t count = 0;

	for (function = runner->functions; function; function = function->next)
		count += !function->destroyed;
	list = calloc(count + 1, sizeof(*list));
	*n = 0;
	for (function = runner->functions; list && function;
	     function = function->next)
		if (!function->destroyed)
			list[(*n)++] = function;
	if (list)
		qsort(list, *n, sizeof(struct philox_function *),
		      by_function_name);
	return list;
}

static enum philox_status take_functions(struct plan *plan,
					 const struct philox_runner *runner)
{
	enum philox_status status = PHILOX_OK;
	size_t n;
	struct philox_function **list = plan_list_functions(runner, &n);

	plan->functions = calloc(n + 1, sizeof(*plan->functions));
	if (!list || !plan->functions)
		status = plan_no_room();
	while (status == PHILOX_OK && plan->n_functions < n) {
		status = take_function(&plan->functions[plan->n_functions],
				       list[plan->n_functions]);
		plan->n_functions++;
	}
	free(list);
	return status;
}

/* --- the rest -------------------------------------------------------------------- */

static enum philox_status take_barred(struct plan *plan,
				      struct philox_runner *runner)
{
	const uint64_t n = runner->n_tickets;

	plan->barred = calloc(UNRECORDED_TICKETS, sizeof(*plan->barred));
	if (!plan->barred)
		return plan_no_room();
	for (uint64_t i = n > UNRECORDED_TICKETS ? n - UNRECORDED_TICKETS : 0;
	     i < n; i++) {
		struct unrecorded_ticket *barred =
			&runner->tickets[i % UNRECORDED_TICKETS];

		plan->barred[plan->n_barred++] = (struct plan_barred){
			.ticket = barred->ticket,
			.function = barred->name,
			.alive = barred->function &&
				 !barred->function->destroyed,
			.reason = barred->reason};
	}
	return PHILOX_OK;
}

/* What a plan took ahead is not a peak of this runner's. */
static void take_peaks(struct plan *plan, const struct philox_runner *runner)
{
	const struct runner_plan *loaded = &runner->plan;
	struct pool_figures figures;

	pool_lock(runner->pool);
	pool_figures(runner->pool->blocks, &figures);
	pool_unlock(runner->pool);
	plan->live = loaded->live;
	plan->mapped = loaded->mapped;
	if (figures.live_peak > plan->live)
		plan->live = figures.live_peak;
	if (figures.mapped_peak > loaded->taken &&
	    figures.mapped_peak > plan->mapped)
		plan->mapped = figures.mapped_peak;
}

enum philox_status plan_take(struct philox_runner *runner, struct plan *plan)
{
	enum philox_status status;

	*plan = (struct plan){.borrowed = 1};
	plan->library = (char *)(uintptr_t)philox_version();
	take_peaks(plan, runner);
	status = take_functions(plan, runner);
	if (status == PHILOX_OK)
		status = take_barred(plan, runner);
	if (status != PHILOX_OK)
		plan_finish(plan);
	return status;
}
