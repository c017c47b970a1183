/*
 * graph/runner/plan/runner_plan_index.c - a plan, freed, and what in it is the same
 */
#include <stdlib.h>
#include <string.h>
#include "graph/runner/plan/plan.h"
#include "lib/state/region.h"

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
