/*
 * lib/ranks/steps.c - see Note [Texts of one step]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/mesh/mesh.h"
#include "lib/ranks/ranks.h"
#include "lib/save/save.h"

enum step_kind { STEP_REGION, STEP_GENERATOR, STEP_DATA };

/* Of what texts say the same, if they are of one step; no padding. */
struct step_id {
	uint64_t kind; /* enum step_kind */
	uint64_t key;  /* of the name; the generator's number */
	uint64_t stages;
	uint64_t seed;
};

/* How far it has come in the first text that has it. */
struct step {
	struct step_id id;
	uint64_t rank; /* whose text */
	uint64_t offset;
	uint64_t serial; /* of a region's next forward */
};

/* The coordinates along the axes with stages, as one number. */
static uint64_t stages_of(const struct philox_mesh *mesh)
{
	uint64_t stages = 0;

	for (uint32_t i = 0; i < mesh->n_axes; i++)
		if (mesh->axes[i].flags & PHILOX_AXIS_STAGES)
			stages = stages * mesh->axes[i].n_ranks +
				 mesh->axes[i].coordinate;
	return stages;
}

static enum philox_status refuse_step(const char *path, const char *region,
				      const char *what, const struct step *a,
				      uint64_t value_in_a, const struct step *b,
				      uint64_t value_in_b)
{
	char place[128];

	if (a->id.kind == STEP_DATA)
		snprintf(place, sizeof(place), "data '%.60s': the position",
			 region);
	else if (region)
		snprintf(place, sizeof(place),
			 "region '%.60s': the %s of its next forward", region,
			 what);
	else
		snprintf(place, sizeof(place), "generator %" PRIu64 ": its %s",
			 a->id.key, what);
	return status_set(PHILOX_ERROR_MISMATCH,
			  "'%s.%" PRIu64 "' and '%s.%" PRIu64
			  "' are not of one step: %s is %" PRIu64
			  " in one, %" PRIu64 " in the other",
			  path, a->rank, path, b->rank, place, value_in_a,
			  value_in_b);
}

static enum philox_status compare_step(const char *path, const char *region,
				       const struct step *a,
				       const struct step *b)
{
	if (a->serial != b->serial)
		return refuse_step(path, region, "serial", a, a->serial, b,
				   b->serial);
	if (a->offset != b->offset)
		return refuse_step(path, region, "offset", a, a->offset, b,
				   b->offset);
	return PHILOX_OK;
}

/* --- the first of each ---------------------------------------------------- */

static uint64_t hash_of(const struct step *step)
{
	return hash_text((const char *)&step->id, sizeof(step->id));
}

/* NULL: this is the first. */
static const struct step *find_step(const struct steps *steps,
				    const struct step *step)
{
	struct map_entry *entry = map_find(&steps->numbers, hash_of(step));

	for (; entry; entry = map_find_next(&steps->numbers, entry)) {
		const struct step *kept =
			&steps->steps[(uintptr_t)entry->value - 1];

		if (!memcmp(&kept->id, &step->id, sizeof(kept->id)))
			return kept;
	}
	return NULL;
}

static enum philox_status keep_step(struct steps *steps,
				    const struct step *step)
{
	struct step *kept =
		array_grow(&steps->steps, steps->n, 1, sizeof(*kept));

	if (!kept || !map_reserve(&steps->numbers, steps->n + 1))
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for the steps of %zu regions, "
				  "generators and data",
				  steps->n + 1);
	*kept = *step;
	steps->n++;
	map_put(&steps->numbers, hash_of(step), (void *)(uintptr_t)steps->n);
	return PHILOX_OK;
}

void set_steps_finish(struct steps *steps)
{
	map_finish(&steps->numbers);
	free(steps->steps);
}

/* --- a text --------------------------------------------------------------- */

/* Compares it with the first of its kind, if there is one; NULL: no region. */
static enum philox_status add_step(struct steps *steps, const struct step *step,
				   const char *region, const char *path)
{
	const struct step *first = find_step(steps, step);

	return first ? compare_step(path, region, first, step)
		     : keep_step(steps, step);
}

static enum philox_status add_region(struct steps *steps,
				     const struct saved *saved,
				     const struct saved_region *region,
				     const char *path)
{
	const struct step step = {.id = {STEP_REGION, region->key,
					 stages_of(&saved->mesh),
					 region->state.seed},
				  .rank = mesh_rank(&saved->mesh),
				  .offset = region->state.offset,
				  .serial = region->serial};

	if (!region->alive || region->n_axes)
		return PHILOX_OK;
	return add_step(steps, &step, region->name, path);
}

static enum philox_status add_generator(struct steps *steps,
					const struct saved *saved,
					size_t number, const char *path)
{
	const struct saved_generator *generator = &saved->generators[number];
	const struct step step = {.id = {STEP_GENERATOR, number,
					 stages_of(&saved->mesh),
					 generator->state.seed},
				  .rank = mesh_rank(&saved->mesh),
				  .offset = generator->state.offset};

	if (generator->flags & PHILOX_GENERATOR_DIFFERS)
		return PHILOX_OK;
	return add_step(steps, &step, NULL, path);
}

static enum philox_status add_data(struct steps *steps,
				   const struct saved *saved,
				   const struct saved_data *data,
				   const char *path)
{
	const struct step step = {
		.id = {STEP_DATA, hash_text(data->name, strlen(data->name)),
		       stages_of(&saved->mesh), data->seed},
		.rank = mesh_rank(&saved->mesh),
		.offset = data->position};

	return add_step(steps, &step, data->name, path);
}

enum philox_status set_steps_add(struct steps *steps, const struct saved *saved,
				 const char *path)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < saved->n_regions; i++)
		status = add_region(steps, saved, &saved->regions[i], path);
	for (size_t i = 0; status == PHILOX_OK && i < saved->n_generators; i++)
		status = add_generator(steps, saved, i, path);
	for (size_t i = 0; status == PHILOX_OK && i < saved->n_data; i++)
		status = add_data(steps, saved, &saved->data[i], path);
	return status;
}
