/*
 * lib/ranks/steps.c - see Note [Texts of one step]
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/mesh/mesh.h"
#include "lib/ranks/ranks.h"
#include "lib/save/save.h"

/* Which texts say the same of what, if they are of one step; no padding. */
struct step_id {
	uint64_t key; /* of the region's name */
	uint64_t stages;
	uint64_t seed;
};

/* The next forward of a region, in the first text that has it. */
struct step {
	struct step_id id;
	uint64_t rank; /* whose text */
	uint64_t offset, serial;
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
	return status_set(
		PHILOX_ERROR_MISMATCH,
		"'%s.%" PRIu64 "' and '%s.%" PRIu64
		"' are not of one step: region '%.60s': the %s of its "
		"next forward is %" PRIu64 " in one, %" PRIu64 " in the other",
		path, a->rank, path, b->rank, region, what, value_in_a,
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
				  "no memory for %zu regions", steps->n + 1);
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

enum philox_status set_steps_add(struct steps *steps, const struct saved *saved,
				 const char *path)
{
	const uint64_t rank = mesh_rank(&saved->mesh);
	const uint64_t stages = stages_of(&saved->mesh);
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < saved->n_regions; i++) {
		const struct saved_region *region = &saved->regions[i];
		const struct step step = {
			.id = {region->key, stages, region->state.seed},
			.rank = rank,
			.offset = region->state.offset,
			.serial = region->serial};
		const struct step *first;

		if (!region->alive || region->n_axes)
			continue;
		first = find_step(steps, &step);
		status = first ? compare_step(path, region->name, first, &step)
			       : keep_step(steps, &step);
	}
	return status;
}
