/*
 * lib/ranks/merge_make.c - what a rank of another mesh has, from what texts said
 *
 * See Note [Another mesh] in lib/ranks/merge.h.
 */
#include <inttypes.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/ranks/merge_make.h"
#include "lib/ranks/merge_place.h"
#include "lib/save/saved.h"
#include "lib/state/region.h"

/* Rule 4: the seed of the region at its new place. */
static uint64_t fresh_seed(const struct merge *merge,
			   const struct merge_region *of)
{
	const struct saved *wanted = merge->wanted;
	const struct saved_region *shape = &merge->kept.regions[of->shape];
	uint64_t seed = merge->kept.generators[shape->generator].seed;

	seed = philox_fold(seed, PHILOX_FOLD_REGION, shape->key);
	for (size_t i = 0; i < of->wanted->n_axes; i++) {
		const char *name = wanted->axes[of->wanted->axis + i];

		seed = philox_axis_seed(seed, hash_text(name, strlen(name)),
					mesh_coordinate(&wanted->mesh, name));
	}
	return seed;
}

static enum philox_status cannot_go_on(const struct merge *merge,
				       const struct merge_region *of)
{
	if (of->shape == MERGE_NONE)
		return status_set(
			PHILOX_ERROR_MISMATCH, "region '%s' is %s", of->name,
			of->highest.serial ? "destroyed in the set, and to be "
					     "loaded"
					   : "in no text of the set");
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s' differs along axis '%s', and no text "
			  "that has it is at the place of rank %" PRIu64
			  " along such axes",
			  of->name,
			  merge_axis(merge, &merge->kept,
				     &merge->kept.regions[of->shape],
				     of->wanted, 0),
			  mesh_rank(&merge->wanted->mesh));
}

/* Rule 3. */
static enum philox_status cannot_divide(const struct merge *merge,
					const struct merge_region *of,
					const char *axis)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s' differs along axis '%s', whose size was "
			  "%" PRIu32 " and is %" PRIu32 ": %zu ticket%s that "
			  "%s pending in the text of rank %" PRIu64
			  " cannot be divided",
			  of->name, axis, mesh_size_along(&merge->from, axis),
			  mesh_size_along(&merge->wanted->mesh, axis),
			  of->n_tickets, status_s(of->n_tickets),
			  status_is(of->n_tickets), of->ticket_rank);
}

/* What the line of a wanted region says. */
static enum philox_status find_line(struct merge *merge,
				    struct merge_region *of,
				    struct saved_region *line)
{
	const char *changed;

	if (of->shape == MERGE_NONE)
		return cannot_go_on(merge, of);
	changed = merge_changed_axis(merge, of);
	if (changed && of->n_tickets)
		return cannot_divide(merge, of, changed);
	if (of->next != MERGE_NONE) {
		*line = merge->kept.regions[of->next];
		return PHILOX_OK;
	}
	if (!changed)
		return cannot_go_on(merge, of);
	of->fresh = 1;
	*line = merge->kept.regions[of->shape];
	line->state.seed = fresh_seed(merge, of);
	line->state.offset = of->highest.offset;
	line->serial = of->highest.serial;
	return PHILOX_OK;
}

/*
 * Rule 5: said where it is above what the region itself issues next. A SHARED
 * one draws from its generator: it only has serials, and no coordinates.
 */
static void set_issued(struct saved_region *line, const struct merge_mark *gone)
{
	line->issued = line->issued_serial = 0;
	if (line->flags & PHILOX_SHARED) {
		if (line->serial < gone->serial)
			line->serial = gone->serial;
		return;
	}
	if (gone->offset <= line->state.offset && gone->serial <= line->serial)
		return;
	line->issued = gone->offset;
	line->issued_serial = gone->serial;
}

static enum philox_status make_wanted(struct merge *merge,
				      struct merge_region *of,
				      struct saved *made)
{
	const struct saved_region *wanted = of->wanted;
	struct saved_region line;
	enum philox_status status = find_line(merge, of, &line);

	if (status != PHILOX_OK)
		return status;
	set_issued(&line, &of->gone);
	status = saved_add_region(made, &line);
	for (size_t i = 0; status == PHILOX_OK && i < wanted->n_axes; i++)
		status = saved_add_axis(made,
					merge->wanted->axes[wanted->axis + i]);
	if (status == PHILOX_OK)
		status = saved_copy_ops(made, &merge->kept, &line);
	if (status == PHILOX_OK && of->next != MERGE_NONE)
		status = saved_copy_tickets(made, &merge->kept, &line);
	return status;
}

/* Rule 6. */
static enum philox_status make_destroyed(const struct merge_region *of,
					 struct saved *made)
{
	struct saved_region line = {.name = of->name,
				    .key = of->last.key,
				    .generator = of->last.generator,
				    .state = of->last.state,
				    .serial = of->highest.serial};

	line.state.offset = of->highest.offset;
	return saved_add_region(made, &line);
}

static enum philox_status make_tables(struct merge *merge, struct saved *made)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < merge->wanted->n_tables;
	     i++) {
		const struct merge_table *of = &merge->tables[i];
		const struct saved_table *table;

		if (of->kept == MERGE_NONE)
			return status_set(PHILOX_ERROR_MISMATCH,
					  "rows '%s' are in no text of the set",
					  of->name);
		table = &merge->kept.tables[of->kept];
		status = saved_add_table(made, table,
					 &merge->kept.rows[table->row]);
	}
	return status;
}

/* No context has two names with the same hash. */
static enum philox_status check_twins(const struct saved *made)
{
	const struct saved_region *twins[2];
	enum philox_status status = saved_find_twins(made, twins);

	if (status == PHILOX_OK && twins[0])
		status = status_set(PHILOX_ERROR_MISMATCH,
				    "the names of regions '%s' and '%s' of the "
				    "set have the same hash",
				    twins[0]->name, twins[1]->name);
	return status;
}

static enum philox_status make_all(struct merge *merge, struct saved *made)
{
	const struct saved *kept = &merge->kept;
	enum philox_status status =
		mesh_copy(&merge->wanted->mesh, &made->mesh);

	for (size_t i = 0; status == PHILOX_OK && i < kept->n_generators; i++)
		status = saved_add_generator(made, kept->generators[i]);
	for (size_t i = 0; status == PHILOX_OK && i < merge->n_regions; i++) {
		struct merge_region *of = &merge->regions[i];

		status = of->wanted ? make_wanted(merge, of, made)
				    : make_destroyed(of, made);
	}
	if (status == PHILOX_OK)
		status = make_tables(merge, made);
	return status == PHILOX_OK ? check_twins(made) : status;
}

enum philox_status merge_make(struct merge *merge, struct saved *made)
{
	enum philox_status status;

	saved_init(made);
	status = make_all(merge, made);
	if (status != PHILOX_OK)
		saved_finish(made);
	return status;
}
