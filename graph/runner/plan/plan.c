/*
 * graph/runner/plan/plan.c - saving and loading the plan of a runner
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/plan.h>
#include "graph/pool/pool.h"
#include "graph/runner/plan/plan.h"
#include "graph/runner/state/state.h"
#include "lib/state/state.h"
#include "lib/text/text.h"

/* --- saving -------------------------------------------------------------------- */

static enum philox_status save_entered(struct philox_runner *runner,
				       struct text *text)
{
	struct plan plan;
	enum philox_status status = plan_take(runner, &plan);

	if (status != PHILOX_OK)
		return status;
	status = plan_write(&plan, text);
	plan_finish(&plan);
	return status;
}

static enum philox_status save_plan(struct philox_runner *runner,
				    struct text_target to)
{
	struct text text;
	enum philox_status status = runner_acquire(runner);

	if (status == PHILOX_OK)
		status = runner_release(runner, save_entered(runner, &text));
	if (status == PHILOX_OK)
		status = text_put(&text, to);
	return runner_report(runner, NULL, status);
}

enum philox_status philox_runner_save_text(struct philox_runner *runner,
					   char **text, size_t *size)
{
	if (!runner || !text)
		return context_null(runner ? runner->context : NULL,
				    runner ? "text" : "runner");
	NEED_PROCESS(runner->context);
	return save_plan(runner,
			 (struct text_target){.text = text, .size = size});
}

enum philox_status philox_runner_save(struct philox_runner *runner,
				      const char *path)
{
	if (!runner || !path)
		return context_null(runner ? runner->context : NULL,
				    runner ? "path" : "runner");
	NEED_PROCESS(runner->context);
	return save_plan(runner, (struct text_target){.path = path});
}

/* --- loading ------------------------------------------------------------------- */

static void post_plan(struct philox_runner *runner, enum philox_log_level level,
		      const char *text)
{
	const struct philox_log_entry subject = {.pool = runner->name};

	log_post(runner->context, level, "plan", &subject, "runner '%s' %s",
		 runner->name, text);
}

static void post_loaded(const struct plan *plan, struct philox_runner *runner)
{
	char text[160];
	size_t keys = 0;
	uint64_t recordings = 0;

	for (size_t i = 0; i < plan->n_functions; i++) {
		const struct plan_function *function = &plan->functions[i];

		keys += function->n_keys;
		for (size_t k = 0; k < function->n_keys; k++)
			recordings += function->keys[k].expected.n;
	}
	snprintf(text, sizeof(text),
		 "has a plan of %zu function%s, %zu key%s and %" PRIu64
		 " recording%s",
		 plan->n_functions, status_s(plan->n_functions), keys,
		 status_s(keys), recordings, status_s(recordings));
	post_plan(runner, PHILOX_LOG_INFO, text);
}

/* Nothing depends on it: without it the pool grows when it must. */
static void take_plan_memory(struct philox_runner *runner)
{
	struct philox_pool *pool = runner->pool;
	enum philox_status status = PHILOX_OK;
	struct pool_figures figures;

	pool_lock(pool);
	if (runner->plan.mapped)
		status = pool_take_ahead(pool, (size_t)runner->plan.mapped);
	pool_figures(pool->blocks, &figures);
	pool_unlock(pool);
	runner->plan.taken = figures.mapped_peak;
	if (status != PHILOX_OK) {
		char text[400];

		snprintf(text, sizeof(text),
			 "cannot take the memory of its plan ahead: %.300s",
			 philox_error_message());
		post_plan(runner, PHILOX_LOG_WARNING, text);
	}
}

static enum philox_status load_entered(struct philox_runner *runner,
				       const struct plan *plan)
{
	struct philox_function **functions =
		calloc(plan->n_functions + 1, sizeof(*functions));
	struct status_message kept;
	enum philox_status status;

	if (!functions)
		return plan_no_room();
	status = plan_check(plan, runner, functions);
	if (status == PHILOX_OK)
		status = plan_apply(plan, runner, functions);
	free(functions);
	if (status != PHILOX_OK)
		return status;
	status_keep(&kept);
	post_loaded(plan, runner);
	take_plan_memory(runner);
	status_restore(&kept);
	return PHILOX_OK;
}

static enum philox_status load_plan(struct philox_runner *runner,
				    const char *text, size_t size)
{
	struct plan plan;
	enum philox_status status = plan_read(text, size, &plan);

	if (status != PHILOX_OK)
		return status;
	status = runner_acquire(runner);
	if (status == PHILOX_OK)
		status = runner_release(runner, load_entered(runner, &plan));
	plan_finish(&plan);
	return status;
}

enum philox_status philox_runner_load_text(struct philox_runner *runner,
					   const char *text, size_t size)
{
	if (!runner || !text)
		return context_null(runner ? runner->context : NULL,
				    runner ? "text" : "runner");
	NEED_PROCESS(runner->context);
	return runner_report(runner, NULL, load_plan(runner, text, size));
}

enum philox_status philox_runner_load(struct philox_runner *runner,
				      const char *path)
{
	struct text text;
	enum philox_status status;

	if (!runner || !path)
		return context_null(runner ? runner->context : NULL,
				    runner ? "path" : "runner");
	NEED_PROCESS(runner->context);
	status = file_read(path, &text.bytes, &text.size);
	if (status == PHILOX_OK)
		status = text_done(&text, path,
				   load_plan(runner, text.bytes, text.size));
	return runner_report(runner, NULL, status);
}

/* --- index: a plan, freed, and what in it is the same --------------------- */

enum philox_status plan_no_room(void)
{
	return status_set(PHILOX_ERROR_MEMORY, "no memory for a plan");
}

/* --- freed ------------------------------------------------------------------- */

static void free_name(const char *name)
{
	free((void *)(uintptr_t)name);
}

static void free_scripts(struct plan_function *function)
{
	for (size_t i = 0; i < function->n_scripts; i++) {
		struct plan_script *script = &function->scripts[i];

		for (size_t k = 0; k < script->n; k++)
			free_name(script->steps[k].region);
		free(script->steps);
	}
}

static void free_contents(struct plan_function *function)
{
	free(function->name);
	for (size_t i = 0; i < function->n_inputs; i++)
		free_name(function->inputs[i].name);
	for (size_t i = 0; i < function->n_outputs; i++)
		free_name(function->outputs[i].name);
	for (size_t i = 0; i < function->n_values; i++)
		free_name(function->values[i].name);
	free(function->inputs);
	free(function->outputs);
	free(function->values);
	free_scripts(function);
	for (size_t i = 0; i < function->n_keys; i++) {
		free(function->keys[i].bytes);
		free(function->keys[i].refused);
	}
}

static void free_barred(struct plan_barred *barred)
{
	free(barred->function);
	free(barred->reason);
}

void plan_finish(struct plan *plan)
{
	for (size_t i = 0; i < plan->n_functions; i++) {
		struct plan_function *function = &plan->functions[i];

		if (!plan->borrowed)
			free_contents(function);
		free(function->scripts);
		free(function->keys);
		free(function->takes);
	}
	for (size_t i = 0; i < plan->n_barred && !plan->borrowed; i++)
		free_barred(&plan->barred[i]);
	if (!plan->borrowed)
		free(plan->library);
	free(plan->functions);
	free(plan->barred);
	memset(plan, 0, sizeof(*plan));
}

/* --- the same ------------------------------------------------------------------ */

int plan_same_keys(const void *function, size_t one, size_t other)
{
	const struct plan_function *of = function;
	const struct plan_key *a = &of->keys[one], *b = &of->keys[other];

	return a->size == b->size &&
	       (!a->size || memcmp(a->bytes, b->bytes, a->size) == 0);
}

static int same_regions(const char *one, const char *other)
{
	return one == other || (one && other && strcmp(one, other) == 0);
}

int plan_same_scripts(const void *function, size_t one, size_t other)
{
	const struct plan_function *of = function;
	const struct plan_script *a = &of->scripts[one];
	const struct plan_script *b = &of->scripts[other];

	if (a->n != b->n)
		return 0;
	for (size_t i = 0; i < a->n; i++) {
		const struct step *step = &a->steps[i], *as = &b->steps[i];

		if (step->kind != as->kind || step->flags != as->flags ||
		    step->a != as->a || step->b != as->b ||
		    !same_regions(step->region, as->region))
			return 0;
	}
	return 1;
}

static uint64_t mix_in(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

uint64_t plan_hash_script(const struct plan_script *script)
{
	uint64_t hash = script->n;

	for (size_t i = 0; i < script->n; i++) {
		const struct step *step = &script->steps[i];

		hash = mix_in(hash, (uint64_t)step->kind << 32 | step->flags);
		hash = mix_in(hash, step->a);
		hash = mix_in(hash, step->b);
		if (step->region)
			hash = mix_in(hash, hash_text(step->region,
						      strlen(step->region)));
	}
	return hash;
}

/* --- found by a hash -------------------------------------------------------------- */

static struct plan_place *index_place(const struct plan_index *index,
				      uint64_t hash, size_t number)
{
	size_t at = (size_t)hash & (index->room - 1);

	while (index->places[at].number &&
	       (index->places[at].hash != hash || number == SIZE_MAX ||
		!index->same(index->things, index->places[at].number - 1,
			     number)))
		at = (at + 1) & (index->room - 1);
	return &index->places[at];
}

/* At most half of the places are taken. */
static enum philox_status grow_index(struct plan_index *index)
{
	struct plan_index larger = *index;

	if (2 * index->n < index->room)
		return PHILOX_OK;
	larger.room = index->room ? 2 * index->room : 16;
	larger.places = calloc(larger.room, sizeof(*larger.places));
	if (!larger.places)
		return plan_no_room();
	for (size_t i = 0; i < index->room; i++)
		if (index->places[i].number)
			*index_place(&larger, index->places[i].hash, SIZE_MAX) =
				index->places[i];
	free(index->places);
	*index = larger;
	return PHILOX_OK;
}

enum philox_status plan_index_put(struct plan_index *index, uint64_t hash,
				  size_t number, size_t *found)
{
	enum philox_status status = grow_index(index);
	struct plan_place *place;

	if (status != PHILOX_OK)
		return status;
	place = index_place(index, hash, number);
	if (!place->number) {
		*place = (struct plan_place){hash, number + 1};
		index->n++;
	}
	*found = place->number - 1;
	return PHILOX_OK;
}
