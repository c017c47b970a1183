/*
 * lib/ranks/merge.c - see Note [Another mesh]
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/save/differ.h"
#include "lib/ranks/merge.h"
#include "lib/ranks/merge_place.h"
#include "lib/save/saved.h"

static enum philox_status no_memory_to_merge(void)
{
	return status_set(PHILOX_ERROR_MEMORY,
			  "no memory to load from another mesh");
}

static void raise_mark(struct merge_mark *mark, uint64_t offset,
		       uint64_t serial)
{
	if (mark->offset < offset)
		mark->offset = offset;
	if (mark->serial < serial)
		mark->serial = serial;
}

static enum philox_status disagree(const struct difference *found,
				   uint64_t rank, uint64_t other)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "%s: %s %s in the text of rank %" PRIu64
			  ", %s in that of rank %" PRIu64,
			  found->place, found->what, found->values[0], rank,
			  found->values[1], other);
}

/* --- names ---------------------------------------------------------------- */

static int compare_merged(const void *a, const void *b)
{
	const struct merge_region *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static struct merge_region *find_merged(const struct merge *merge, char *name)
{
	const struct merge_region key = {.name = name};

	if (!merge->n_sorted)
		return NULL;
	return bsearch(&key, merge->regions, merge->n_sorted, sizeof(key),
		       compare_merged);
}

/* At the end: sort_merged() puts it in its place. */
static struct merge_region *add_merged(struct merge *merge, const char *name,
				       const struct saved_region *wanted)
{
	struct merge_region made = {
		.wanted = wanted, .shape = MERGE_NONE, .next = MERGE_NONE};
	size_t n = merge->n_regions;
	struct merge_region *larger = merge->regions;

	made.name = strdup(name);
	if (made.name && !(n & (n - 1)))
		larger = realloc(larger, (n ? 2 * n : 1) * sizeof(*larger));
	if (!made.name || !larger) {
		free(made.name);
		return NULL;
	}
	merge->regions = larger;
	merge->regions[merge->n_regions++] = made;
	return &merge->regions[n];
}

static void sort_merged(struct merge *merge)
{
	if (merge->n_sorted < merge->n_regions)
		qsort(merge->regions, merge->n_regions, sizeof(*merge->regions),
		      compare_merged);
	merge->n_sorted = merge->n_regions;
}

/* --- one region of a text ------------------------------------------------- */

/* Two texts that have lost the generator of a name say nothing about it. */
static enum philox_status note_name(struct merge_region *of,
				    const struct saved_region *region,
				    uint64_t rank)
{
	struct saved_region *last = &of->last;

	if (last->serial && last->generator != SAVE_NO_GENERATOR &&
	    region->generator != SAVE_NO_GENERATOR &&
	    last->generator != region->generator)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': generator is %" PRIu32
				  " in the text of rank %" PRIu64 ", %" PRIu32
				  " in an earlier one",
				  of->name, region->generator, rank,
				  last->generator);
	if (!last->serial || last->generator == SAVE_NO_GENERATOR)
		*last = *region;
	return PHILOX_OK;
}

/* Keeps a region that is alive; returns where, or MERGE_NONE. */
static size_t keep(struct merge *merge, const struct saved *saved,
		   const struct saved_region *region)
{
	size_t place = merge->kept.n_regions;

	return saved_copy_region(&merge->kept, saved, region) == PHILOX_OK
		       ? place
		       : MERGE_NONE;
}

/* Rule 1. */
static enum philox_status compare_shapes(struct merge *merge,
					 struct merge_region *of,
					 const struct saved *saved,
					 const struct saved_region *region,
					 uint64_t rank)
{
	struct difference found;

	if (of->shape == MERGE_NONE) {
		of->shape = keep(merge, saved, region);
		of->shape_rank = rank;
		if (of->shape == MERGE_NONE)
			return PHILOX_ERROR_MEMORY;
	} else if (save_differ_region(&merge->kept,
				      &merge->kept.regions[of->shape], saved,
				      region, DIFFER_SHAPE, &found)) {
		return disagree(&found, of->shape_rank, rank);
	}
	return merge_check_axes(merge, saved, region, of->wanted, rank);
}

/* Rule 2. */
static enum philox_status go_on_from(struct merge *merge,
				     struct merge_region *of,
				     const struct saved *saved,
				     const struct saved_region *region,
				     uint64_t rank)
{
	struct difference found;

	if (of->next != MERGE_NONE) {
		if (save_differ_region(&merge->kept,
				       &merge->kept.regions[of->next], saved,
				       region, DIFFER_STATES, &found))
			return disagree(&found, of->next_rank, rank);
		return PHILOX_OK;
	}
	of->next_rank = rank;
	of->next =
		of->shape_rank == rank ? of->shape : keep(merge, saved, region);
	return of->next == MERGE_NONE ? PHILOX_ERROR_MEMORY : PHILOX_OK;
}

static enum philox_status add_alive(struct merge *merge,
				    struct merge_region *of,
				    const struct saved *saved,
				    const struct saved_region *region,
				    uint64_t rank)
{
	enum philox_status status;
	enum merge_lie lie;

	status = compare_shapes(merge, of, saved, region, rank);
	if (status != PHILOX_OK)
		return status;
	if (region->n_tickets && !of->n_tickets) {
		of->n_tickets = region->n_tickets;
		of->ticket_rank = rank;
	}
	raise_mark(&of->gone, region->issued, region->issued_serial);
	lie = merge_find_lie(merge, saved, region, of->wanted);
	if (lie == MERGE_GONE)
		raise_mark(&of->gone, region->state.offset, region->serial);
	return lie == MERGE_HERE ? go_on_from(merge, of, saved, region, rank)
				 : PHILOX_OK;
}

/* Rules 4 to 6: how far the name has come. */
static enum philox_status add_named(struct merge *merge,
				    struct merge_region *of,
				    const struct saved *saved,
				    const struct saved_region *region,
				    uint64_t rank)
{
	raise_mark(&of->highest, region->state.offset, region->serial);
	raise_mark(&of->highest, region->issued, region->issued_serial);
	if (of->wanted && region->alive)
		return add_alive(merge, of, saved, region, rank);
	if (of->wanted)
		raise_mark(&of->gone, region->state.offset, region->serial);
	return note_name(of, region, rank);
}

/* If the mesh is the same, other texts have only what has moved. */
static int is_needed(const struct merge *merge, const struct merge_region *of,
		     uint64_t rank)
{
	if (!merge->same || rank == merge->own)
		return 1;
	return of && of->wanted &&
	       (of->next == MERGE_NONE || of->next_rank != merge->own);
}

static enum philox_status merge_region_of(struct merge *merge,
					  const struct saved *saved,
					  const struct saved_region *region,
					  uint64_t rank)
{
	struct merge_region *of = find_merged(merge, region->name);

	if (!is_needed(merge, of, rank))
		return PHILOX_OK;
	if (!of)
		of = add_merged(merge, region->name, NULL);
	return of ? add_named(merge, of, saved, region, rank)
		  : no_memory_to_merge();
}

/* --- the rest of a text --------------------------------------------------- */

static enum philox_status merge_generators(struct merge *merge,
					   const struct saved *saved,
					   uint64_t rank)
{
	enum philox_status status = PHILOX_OK;
	struct difference found;

	if (merge->has_generators)
		return save_differ_generators(&merge->kept, saved, &found)
			       ? disagree(&found, merge->generator_rank, rank)
			       : PHILOX_OK;
	for (size_t i = 0; status == PHILOX_OK && i < saved->n_generators; i++)
		status =
			saved_add_generator(&merge->kept, saved->generators[i]);
	merge->has_generators = 1;
	merge->generator_rank = rank;
	return status;
}

/* Rule 7. */
static enum philox_status merge_table_of(struct merge *merge,
					 struct merge_table *of,
					 const struct saved *saved,
					 const struct saved_table *table,
					 uint64_t rank)
{
	const unsigned all = DIFFER_SHAPE | DIFFER_STATES;
	struct difference found;

	if (merge->same && of->kept != MERGE_NONE && of->rank == merge->own)
		return PHILOX_OK;
	if (of->kept == MERGE_NONE) {
		of->kept = merge->kept.n_tables;
		of->rank = rank;
		return saved_add_table(&merge->kept, table,
				       &saved->rows[table->row]);
	}
	if (save_differ_table(&merge->kept, &merge->kept.tables[of->kept],
			      saved, table, all, &found))
		return disagree(&found, of->rank, rank);
	return PHILOX_OK;
}

/* Both are in order of name. */
static enum philox_status merge_tables_of(struct merge *merge,
					  const struct saved *saved,
					  uint64_t rank)
{
	enum philox_status status = PHILOX_OK;
	size_t i = 0, k = 0;

	while (status == PHILOX_OK && i < saved->n_tables &&
	       k < merge->wanted->n_tables) {
		int order =
			strcmp(saved->tables[i].name, merge->tables[k].name);

		if (!order)
			status = merge_table_of(merge, &merge->tables[k], saved,
						&saved->tables[i], rank);
		i += order <= 0;
		k += order >= 0;
	}
	return status;
}

enum philox_status merge_add(struct merge *merge, const struct saved *saved,
			     uint64_t rank)
{
	enum philox_status status = merge_generators(merge, saved, rank);

	for (size_t i = 0; status == PHILOX_OK && i < saved->n_regions; i++)
		status =
			merge_region_of(merge, saved, &saved->regions[i], rank);
	sort_merged(merge);
	return status == PHILOX_OK ? merge_tables_of(merge, saved, rank)
				   : status;
}

int merge_lacks(const struct merge *merge)
{
	for (size_t i = 0; i < merge->n_regions; i++)
		if (merge->regions[i].wanted &&
		    merge->regions[i].next == MERGE_NONE)
			return 1;
	for (size_t i = 0; i < merge->wanted->n_tables; i++)
		if (merge->tables[i].kept == MERGE_NONE)
			return 1;
	return 0;
}

/* --- before the first text ------------------------------------------------ */

/* Rule of the same mesh: every axis of either has one size. */
static int is_same_mesh(const struct philox_mesh *a,
			const struct philox_mesh *b)
{
	for (uint32_t i = 0; i < a->n_axes; i++)
		if (a->axes[i].size != mesh_size_along(b, a->axes[i].name))
			return 0;
	for (uint32_t i = 0; i < b->n_axes; i++)
		if (b->axes[i].size != mesh_size_along(a, b->axes[i].name))
			return 0;
	return 1;
}

/* The rank of the old mesh at the place of the new one. */
static uint64_t own_rank(const struct merge *merge)
{
	struct philox_mesh from = merge->from;

	for (uint32_t i = 0; i < from.n_axes; i++)
		from.axes[i].coordinate = mesh_coordinate(&merge->wanted->mesh,
							  from.axes[i].name);
	return mesh_rank(&from);
}

static enum philox_status list_wanted(struct merge *merge)
{
	const struct saved *wanted = merge->wanted;

	merge->tables = calloc(wanted->n_tables + 1, sizeof(*merge->tables));
	if (!merge->tables)
		return no_memory_to_merge();
	for (size_t i = 0; i < wanted->n_tables; i++)
		merge->tables[i] = (struct merge_table){
			.name = wanted->tables[i].name, .kept = MERGE_NONE};
	for (size_t i = 0; i < wanted->n_regions; i++)
		if (!add_merged(merge, wanted->regions[i].name,
				&wanted->regions[i]))
			return no_memory_to_merge();
	sort_merged(merge);
	return PHILOX_OK;
}

enum philox_status merge_init(struct merge *merge, const struct saved *wanted,
			      const struct philox_mesh *from)
{
	enum philox_status status;

	memset(merge, 0, sizeof(*merge));
	merge->wanted = wanted;
	merge->from = *from;
	merge->same = is_same_mesh(from, &wanted->mesh);
	if (merge->same)
		merge->own = own_rank(merge);
	saved_init(&merge->kept);
	status = list_wanted(merge);
	if (status != PHILOX_OK)
		merge_finish(merge);
	return status;
}

void merge_finish(struct merge *merge)
{
	for (size_t i = 0; i < merge->n_regions; i++)
		free(merge->regions[i].name);
	free(merge->regions);
	free(merge->tables);
	saved_finish(&merge->kept);
	memset(merge, 0, sizeof(*merge));
}
