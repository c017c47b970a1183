/*
 * lib/ranks/steps.c - see Note [Texts of one step]
 */
#include <inttypes.h>
#include <stdlib.h>
#include "lib/mesh/mesh.h"
#include "lib/save/read.h"
#include "lib/ranks/steps.h"

/* The next forward of a region, in the first text that has it. */
struct step {
	uint64_t key, stages; /* which region this is */
	uint64_t rank;        /* whose text */
	uint64_t seed, offset, serial;
};

static int compare_steps(const void *a, const void *b)
{
	const struct step *left = a, *right = b;

	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return left->stages < right->stages   ? -1
	       : left->stages > right->stages ? 1
					      : 0;
}

/* The coordinates along the axes with stages, as one number. */
static uint64_t stages_of(const struct philox_mesh *mesh)
{
	uint64_t stages = 0;

	for (uint32_t i = 0; i < mesh->n_axes; i++)
		if (mesh->axes[i].flags & PHILOX_AXIS_STAGES)
			stages = stages * mesh->axes[i].size +
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
	if (a->seed != b->seed)
		return PHILOX_OK;
	if (a->serial != b->serial)
		return refuse_step(path, region, "serial", a, a->serial, b,
				   b->serial);
	if (a->offset != b->offset)
		return refuse_step(path, region, "offset", a, a->offset, b,
				   b->offset);
	return PHILOX_OK;
}

static enum philox_status grow_steps(struct steps *steps)
{
	size_t room = steps->room ? 2 * steps->room : 64;
	struct step *larger;

	if (steps->n < steps->room)
		return PHILOX_OK;
	larger = realloc(steps->steps, room * sizeof(*larger));
	if (!larger)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for %zu regions", room);
	steps->steps = larger;
	steps->room = room;
	return PHILOX_OK;
}

enum philox_status save_steps_add(struct steps *steps,
				  const struct saved *saved, const char *path)
{
	const uint64_t rank = mesh_rank(&saved->mesh);
	const uint64_t stages = stages_of(&saved->mesh);
	const size_t before = steps->n;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < saved->n_regions; i++) {
		const struct saved_region *region = &saved->regions[i];
		const struct step step = {.key = region->key,
					  .stages = stages,
					  .rank = rank,
					  .seed = region->state.seed,
					  .offset = region->state.offset,
					  .serial = region->serial};
		const struct step *first;

		if (!region->alive || region->n_axes)
			continue;
		first = before ? bsearch(&step, steps->steps, before,
					 sizeof(step), compare_steps)
			       : NULL;
		if (first)
			status = compare_step(path, region->name, first, &step);
		else if ((status = grow_steps(steps)) == PHILOX_OK)
			steps->steps[steps->n++] = step;
	}
	if (steps->n > before)
		qsort(steps->steps, steps->n, sizeof(*steps->steps),
		      compare_steps);
	return status;
}

void save_steps_finish(struct steps *steps)
{
	free(steps->steps);
	steps->steps = NULL;
	steps->n = steps->room = 0;
}
