/*
 * lib/ranks/merge.c - see Note [Another mesh]
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/mesh/mesh.h"
#include "lib/ranks/ranks.h"
#include "lib/save/save.h"
#include "lib/state/state.h"

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
	const struct difference_words words = difference_words(found);

	return status_set(PHILOX_ERROR_MISMATCH,
			  "%s: %s %s in the text of rank %" PRIu64
			  ", %s in that of rank %" PRIu64,
			  words.place, words.what, words.values[0], rank,
			  words.values[1], other);
}

/* --- names ---------------------------------------------------------------- */

static int compare_merged(const void *a, const void *b)
{
	const struct merge_region *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static struct keyed_by name_key(const char *name)
{
	struct keyed_by key = keyed_by(0);

	keyed_by_word(&key, name, strlen(name));
	return key;
}

static struct merge_region *find_merged(const struct merge *merge,
					const char *name)
{
	const struct keyed_by key = name_key(name);
	const size_t found = keyed_find(&merge->by_name, &key);

	return found == SIZE_MAX ? NULL : &merge->regions[found];
}

/* At the end: sort_merged() puts it in its place. */
static struct merge_region *add_merged(struct merge *merge, const char *name,
				       const struct saved_region *wanted)
{
	const struct keyed_by key = name_key(name);
	struct merge_region made = {.wanted = wanted,
				    .shape = MERGE_NONE,
				    .number = merge->n_regions};
	struct merge_region *added;

	made.name = strdup(name);
	if (!made.name)
		return NULL;
	added = array_grow(&merge->regions, merge->n_regions, 1,
			   sizeof(*added));
	if (!added ||
	    !keyed_put(&merge->by_name, &key, keyed_index(merge->n_regions))) {
		free(made.name);
		return NULL;
	}
	*added = made;
	merge->n_regions++;
	return added;
}

/* Once for all texts. What has a key gets another index: that never fails. */
static void sort_merged(struct merge *merge)
{
	if (merge->n_sorted == merge->n_regions)
		return;
	qsort(merge->regions, merge->n_regions, sizeof(*merge->regions),
	      compare_merged);
	for (size_t i = 0; i < merge->n_regions; i++) {
		const struct keyed_by key = name_key(merge->regions[i].name);

		keyed_put(&merge->by_name, &key, keyed_index(i));
	}
	merge->n_sorted = merge->n_regions;
}

/* --- the axes that matter to a region of another mesh: rules 1 and 2 ------ */

/*
 * The i-th axis that matters to a region of a text which is wanted: first those
 * along which it differs, then those along which it is to differ, some of them
 * once more; NULL after the last. Along an axis that the texts' mesh lacks,
 * which only a text without a mesh can name, there is one coordinate only:
 * nothing has differed yet.
 */
static const char *axis_that_matters(const struct merge *merge,
				     const struct saved *saved,
				     const struct saved_region *region,
				     const struct saved_region *wanted,
				     size_t i)
{
	for (size_t j = 0; j < region->n_axes; j++) {
		const char *name = saved->axes[region->axis + j];

		if (!mesh_find(&merge->from, name))
			continue;
		if (!i)
			return name;
		i--;
	}
	return i < wanted->n_axes ? merge->wanted->axes[wanted->axis + i]
				  : NULL;
}

static int region_has_axis(const struct saved *saved,
			   const struct saved_region *region, const char *name)
{
	for (size_t i = 0; i < region->n_axes; i++)
		if (!strcmp(saved->axes[region->axis + i], name))
			return 1;
	return 0;
}

/*
 * Along which of the axes that both meshes have a region differs, and is to
 * differ.
 */
static enum philox_status check_axes(const struct merge *merge,
				     const struct saved *saved,
				     const struct saved_region *region,
				     const struct saved_region *wanted,
				     uint64_t rank)
{
	for (uint32_t i = 0; i < merge->from.n_axes; i++) {
		const char *name = merge->from.axes[i].name;
		int differs = region_has_axis(saved, region, name);

		if (!mesh_find(&merge->wanted->mesh, name) ||
		    differs == region_has_axis(merge->wanted, wanted, name))
			continue;
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': %s along axis '%s' in the text "
				  "of rank %" PRIu64 ", and is %sto be loaded "
				  "as one that differs along it",
				  region->name,
				  differs ? "differs" : "is shared", name, rank,
				  differs ? "not " : "");
	}
	return PHILOX_OK;
}

/* Where a text is, seen from the place of the new rank, or of any of all. */
enum merge_lie {
	MERGE_HERE,      /* there, along the axes that matter */
	MERGE_ELSEWHERE, /* at coordinates that some other rank has */
	MERGE_GONE       /* at coordinates that none will have */
};

/* An axis that came before among those that matter. */
static int is_repeated(const struct merge *merge, const struct saved *saved,
		       const struct saved_region *region,
		       const struct saved_region *wanted, size_t n)
{
	const char *name = axis_that_matters(merge, saved, region, wanted, n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(axis_that_matters(merge, saved, region, wanted, i),
			    name))
			return 1;
	return 0;
}

/* The coordinates of `at` along the axes that matter, as one number. */
static uint64_t find_place(const struct merge *merge, const struct saved *saved,
			   const struct saved_region *region,
			   const struct saved_region *wanted,
			   const struct philox_mesh *at)
{
	uint64_t place = 0;
	const char *name;

	for (size_t i = 0;
	     (name = axis_that_matters(merge, saved, region, wanted, i)); i++)
		if (!is_repeated(merge, saved, region, wanted, i))
			place = place * mesh_size_along(&merge->wanted->mesh,
							name) +
				mesh_coordinate(at, name);
	return place;
}

static enum merge_lie find_lie(const struct merge *merge,
			       const struct saved *saved,
			       const struct saved_region *region,
			       const struct saved_region *wanted)
{
	const struct philox_mesh *to = &merge->wanted->mesh;
	enum merge_lie lie = MERGE_HERE;
	const char *name;

	for (size_t i = 0;
	     (name = axis_that_matters(merge, saved, region, wanted, i)); i++) {
		uint32_t here = mesh_coordinate(&saved->mesh, name);

		if (here >= mesh_size_along(to, name))
			return MERGE_GONE;
		if (here != mesh_coordinate(to, name) && !merge->all)
			lie = MERGE_ELSEWHERE;
	}
	return lie;
}

/* An axis that matters and has another size now. */
static const char *changed_axis(const struct merge *merge,
				const struct merge_region *of)
{
	const struct saved_region *shape = &merge->kept.regions[of->shape];
	const char *name;

	for (size_t i = 0; (name = axis_that_matters(merge, &merge->kept, shape,
						     of->wanted, i));
	     i++)
		if (mesh_size_along(&merge->from, name) !=
		    mesh_size_along(&merge->wanted->mesh, name))
			return name;
	return NULL;
}

const char *merge_new_axis(const struct merge *merge,
			   const struct merge_region *region,
			   uint32_t *coordinate)
{
	const struct saved_region *shape = &merge->kept.regions[region->shape];
	const char *name;

	for (size_t i = 0; (name = axis_that_matters(merge, &merge->kept, shape,
						     region->wanted, i));
	     i++) {
		*coordinate = mesh_coordinate(&merge->wanted->mesh, name);
		if (*coordinate >= mesh_size_along(&merge->from, name))
			return name;
	}
	return NULL;
}

/* --- one region of a text ------------------------------------------------- */

/* Two texts that have lost the generator of a name say nothing about it. */
static int note_name(struct saved_region *last,
		     const struct saved_region *region)
{
	if (last->serial && last->generator != SAVE_NO_GENERATOR &&
	    region->generator != SAVE_NO_GENERATOR &&
	    last->generator != region->generator)
		return -1;
	if (!last->serial || last->generator == SAVE_NO_GENERATOR)
		*last = *region;
	return 0;
}

static enum philox_status two_generators(const struct merge_region *of,
					 uint32_t generator, uint64_t rank,
					 uint32_t earlier)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s': generator is %" PRIu32
			  " in the text of rank %" PRIu64 ", %" PRIu32
			  " in an earlier one",
			  of->name, generator, rank, earlier);
}

/* Only a rank that does not want the name minds. */
static void note_any(struct merge_region *of, const struct saved_region *region,
		     uint64_t rank)
{
	if (!of->any.serial)
		of->other_generator = SAVE_NO_GENERATOR;
	if (!note_name(&of->any, region) ||
	    of->other_generator != SAVE_NO_GENERATOR)
		return;
	of->other_generator = region->generator;
	of->other_rank = rank;
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
	} else if (differ_region(&merge->kept, &merge->kept.regions[of->shape],
				 saved, region, DIFFER_SHAPE, &found)) {
		return disagree(&found, of->shape_rank, rank);
	}
	return check_axes(merge, saved, region, of->wanted, rank);
}

static struct keyed_by place_key(const struct merge_region *of, uint64_t place)
{
	struct keyed_by key = keyed_by(of->number);

	keyed_by_number(&key, place);
	return key;
}

static const struct merge_next *next_at(const struct merge *merge,
					const struct merge_region *of,
					uint64_t place)
{
	const struct keyed_by key = place_key(of, place);
	const size_t found = keyed_find(&merge->by_place, &key);

	return found == SIZE_MAX ? NULL : &of->nexts[found];
}

/* What the rank may go on from, or NULL. */
static const struct merge_next *next_of(const struct merge *merge,
					const struct merge_region *of)
{
	if (of->shape == MERGE_NONE)
		return NULL;
	return next_at(merge, of,
		       find_place(merge, &merge->kept,
				  &merge->kept.regions[of->shape], of->wanted,
				  &merge->wanted->mesh));
}

static enum philox_status add_next(struct merge *merge, struct merge_region *of,
				   const struct saved *saved,
				   const struct saved_region *region,
				   uint64_t rank, uint64_t place)
{
	const struct keyed_by key = place_key(of, place);
	struct merge_next next = {.place = place, .rank = rank};

	next.kept = of->shape_rank == rank ? of->shape
					   : keep(merge, saved, region);
	if (next.kept == MERGE_NONE)
		return PHILOX_ERROR_MEMORY;
	if (!array_grow(&of->nexts, of->n_nexts, 1, sizeof(next)) ||
	    !keyed_put(&merge->by_place, &key, keyed_index(of->n_nexts)))
		return no_memory_to_merge();
	of->nexts[of->n_nexts++] = next;
	return PHILOX_OK;
}

/* Rule 2. */
static enum philox_status go_on_from(struct merge *merge,
				     struct merge_region *of,
				     const struct saved *saved,
				     const struct saved_region *region,
				     uint64_t rank)
{
	const uint64_t place = find_place(merge, saved, region, of->wanted,
					  &saved->mesh);
	const struct merge_next *next = next_at(merge, of, place);
	struct difference found;

	if (!next)
		return add_next(merge, of, saved, region, rank, place);
	if (differ_region(&merge->kept, &merge->kept.regions[next->kept], saved,
			  region, DIFFER_STATES, &found))
		return disagree(&found, next->rank, rank);
	return PHILOX_OK;
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
	lie = find_lie(merge, saved, region, of->wanted);
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
	if (merge->all)
		note_any(of, region, rank);
	if (of->wanted && region->alive)
		return add_alive(merge, of, saved, region, rank);
	if (of->wanted)
		raise_mark(&of->gone, region->state.offset, region->serial);
	if (!note_name(&of->last, region))
		return PHILOX_OK;
	return two_generators(of, region->generator, rank, of->last.generator);
}

/* If the mesh is the same, other texts have only what has moved. */
static int is_needed(const struct merge *merge, const struct merge_region *of,
		     uint64_t rank)
{
	if (!merge->same || rank == merge->own)
		return 1;
	return of && of->wanted &&
	       (!of->n_nexts || of->nexts[0].rank != merge->own);
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

/* Rule 7, of generators that differ: only ranks of another mesh mind. */
static void note_own_generators(struct merge *merge, const struct saved *saved,
				uint64_t rank)
{
	for (size_t i = 0; !merge->same && i < saved->n_generators; i++) {
		struct saved_generator *kept = &merge->kept.generators[i];
		const struct philox_state state = saved->generators[i].state;

		if (!kept->flags)
			continue;
		if (kept->state.offset < state.offset)
			kept->state.offset = state.offset;
		if (kept->state.seed == state.seed || merge->seeds.found)
			continue;
		merge->seeds = (struct merge_seeds){
			1, i, rank, {kept->state.seed, state.seed}};
	}
}

static enum philox_status check_seeds(const struct merge *merge)
{
	const struct merge_seeds *seeds = &merge->seeds;

	if (!seeds->found)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MISMATCH,
			  "generator %zu: it differs between ranks, and its "
			  "seed is 0x%016" PRIx64
			  " in the text of rank %" PRIu64 ", 0x%016" PRIx64
			  " in that of rank %" PRIu64
			  ": no seed is that of all ranks of another mesh",
			  seeds->generator, seeds->seeds[0],
			  merge->generator_rank, seeds->seeds[1], seeds->rank);
}

static enum philox_status compare_generators(struct merge *merge,
					     const struct saved *saved,
					     uint64_t rank)
{
	struct difference found;

	if (differ_generators(&merge->kept, saved, DIFFER_SHAPE | DIFFER_STATES,
			      &found))
		return disagree(&found, merge->generator_rank, rank);
	note_own_generators(merge, saved, rank);
	return PHILOX_OK;
}

static enum philox_status merge_generators(struct merge *merge,
					   const struct saved *saved,
					   uint64_t rank)
{
	enum philox_status status = PHILOX_OK;

	if (merge->has_generators)
		return compare_generators(merge, saved, rank);
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
	if (differ_table(&merge->kept, &merge->kept.tables[of->kept], saved,
			 table, all, &found))
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

/* The same. */
static enum philox_status merge_one_data(struct merge *merge,
					 struct merge_table *of,
					 const struct saved_data *data,
					 uint64_t rank)
{
	const unsigned all = DIFFER_SHAPE | DIFFER_STATES;
	struct difference found;

	if (merge->same && of->kept != MERGE_NONE && of->rank == merge->own)
		return PHILOX_OK;
	if (of->kept == MERGE_NONE) {
		of->kept = merge->kept.n_data;
		of->rank = rank;
		return saved_add_data(&merge->kept, data);
	}
	if (differ_data(&merge->kept.data[of->kept], data, all, &found))
		return disagree(&found, of->rank, rank);
	return PHILOX_OK;
}

static enum philox_status merge_data_of(struct merge *merge,
					const struct saved *saved,
					uint64_t rank)
{
	enum philox_status status = PHILOX_OK;
	size_t i = 0, k = 0;

	while (status == PHILOX_OK && i < saved->n_data && k < merge->n_data) {
		int order = strcmp(saved->data[i].name, merge->data[k].name);

		if (!order)
			status = merge_one_data(merge, &merge->data[k],
						&saved->data[i], rank);
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
	if (status == PHILOX_OK)
		status = merge_tables_of(merge, saved, rank);
	if (status == PHILOX_OK)
		status = merge_data_of(merge, saved, rank);
	if (status == PHILOX_OK && merge->same && rank == merge->own)
		status = saved_copy_outputs(&merge->kept, saved);
	return status;
}

unsigned merge_axes(const struct merge *merge, const struct saved *saved)
{
	const struct philox_axis *first = merge->from.axes;
	unsigned axes = 0;

	for (size_t i = 0; i < saved->n_regions; i++) {
		const struct saved_region *region = &saved->regions[i];
		const struct merge_region *of =
			find_merged(merge, region->name);
		const char *name;

		if (!of || !of->wanted || !region->alive)
			continue;
		for (size_t k = 0;
		     (name = axis_that_matters(merge, saved, region, of->wanted,
					       k));
		     k++)
			if (mesh_find(&merge->from, name))
				axes |= 1u << (mesh_find(&merge->from, name) -
					       first);
	}
	return axes;
}

int merge_lacks(const struct merge *merge)
{
	for (size_t i = 0; i < merge->n_regions; i++)
		if (merge->regions[i].wanted && !merge->regions[i].n_nexts)
			return 1;
	for (size_t i = 0; i < merge->wanted->n_tables; i++)
		if (merge->tables[i].kept == MERGE_NONE)
			return 1;
	for (size_t i = 0; i < merge->wanted->n_data; i++)
		if (merge->data[i].kept == MERGE_NONE)
			return 1;
	return 0;
}

/* --- before the first text ------------------------------------------------ */

/* Rule of the same mesh: every axis of either has one size. */
static int is_same_mesh(const struct philox_mesh *a,
			const struct philox_mesh *b)
{
	for (uint32_t i = 0; i < a->n_axes; i++)
		if (a->axes[i].n_ranks != mesh_size_along(b, a->axes[i].name))
			return 0;
	for (uint32_t i = 0; i < b->n_axes; i++)
		if (b->axes[i].n_ranks != mesh_size_along(a, b->axes[i].name))
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
	merge->data = calloc(wanted->n_data + 1, sizeof(*merge->data));
	if (!merge->tables || !merge->data)
		return no_memory_to_merge();
	merge->n_data = wanted->n_data;
	for (size_t i = 0; i < wanted->n_data; i++)
		merge->data[i] = (struct merge_table){
			.name = wanted->data[i].name, .kept = MERGE_NONE};
	merge->n_tables = wanted->n_tables;
	for (size_t i = 0; i < wanted->n_tables; i++)
		merge->tables[i] = (struct merge_table){
			.name = wanted->tables[i].name, .kept = MERGE_NONE};
	for (size_t i = 0; i < wanted->n_regions; i++)
		if (!add_merged(merge, wanted->regions[i].name,
				&wanted->regions[i]))
			return no_memory_to_merge();
	merge->n_sorted = merge->n_regions; /* as the wanted ones are */
	return PHILOX_OK;
}

static enum philox_status begin_merge(struct merge *merge,
				      const struct saved *wanted,
				      const struct philox_mesh *from, int all)
{
	enum philox_status status;

	memset(merge, 0, sizeof(*merge));
	merge->wanted = wanted;
	merge->all = all;
	merge->from = *from;
	merge->same = !all && is_same_mesh(from, &wanted->mesh);
	if (merge->same)
		merge->own = own_rank(merge);
	saved_init(&merge->kept);
	status = list_wanted(merge);
	if (status != PHILOX_OK)
		merge_finish(merge);
	return status;
}

enum philox_status merge_init(struct merge *merge, const struct saved *wanted,
			      const struct philox_mesh *from)
{
	return begin_merge(merge, wanted, from, 0);
}

enum philox_status merge_init_all(struct merge *merge,
				  const struct saved *wanted,
				  const struct philox_mesh *from)
{
	return begin_merge(merge, wanted, from, 1);
}

/* Both are in order of name. */
void merge_use(struct merge *merge, const struct saved *wanted)
{
	size_t k = 0;

	sort_merged(merge);
	merge->wanted = wanted;
	for (size_t i = 0; i < merge->n_regions; i++) {
		struct merge_region *of = &merge->regions[i];
		const struct saved_region *next = &wanted->regions[k];
		const int is_wanted = k < wanted->n_regions &&
				      !strcmp(of->name, next->name);

		of->wanted = is_wanted ? next : NULL;
		of->fresh = 0;
		k += (size_t)is_wanted;
	}
}

void merge_finish(struct merge *merge)
{
	for (size_t i = 0; i < merge->n_regions; i++) {
		free(merge->regions[i].nexts);
		free(merge->regions[i].name);
	}
	free(merge->regions);
	keyed_finish(&merge->by_name);
	keyed_finish(&merge->by_place);
	free(merge->tables);
	free(merge->data);
	saved_finish(&merge->kept);
	memset(merge, 0, sizeof(*merge));
}

/* --- what a rank of another mesh has, from what texts said ---------------- */

/* Rule 4: the seed of the region at its new place. */
static uint64_t fresh_seed(const struct merge *merge,
			   const struct merge_region *of)
{
	const struct saved *wanted = merge->wanted;
	const struct saved_region *shape = &merge->kept.regions[of->shape];
	uint64_t seed = merge->kept.generators[shape->generator].state.seed;

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
			  axis_that_matters(merge, &merge->kept,
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
	const struct merge_next *next = next_of(merge, of);
	const char *changed;

	if (of->shape == MERGE_NONE)
		return cannot_go_on(merge, of);
	changed = changed_axis(merge, of);
	if (changed && of->n_tickets)
		return cannot_divide(merge, of, changed);
	if (next) {
		*line = merge->kept.regions[next->kept];
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
	if (line->flags & PHILOX_REGION_SHARED) {
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
	if (status == PHILOX_OK && !of->fresh)
		status = saved_copy_tickets(made, &merge->kept, &line);
	return status;
}

/* Rule 6. */
static enum philox_status make_destroyed(const struct merge *merge,
					 const struct merge_region *of,
					 struct saved *made)
{
	const struct saved_region *last = merge->all ? &of->any : &of->last;
	struct saved_region line = {.name = of->name,
				    .key = last->key,
				    .generator = last->generator,
				    .state = last->state,
				    .serial = of->highest.serial};

	if (!last->serial)
		return PHILOX_OK; /* no text has it: another rank wants it */
	if (merge->all && of->other_generator != SAVE_NO_GENERATOR)
		return two_generators(of, of->other_generator, of->other_rank,
				      last->generator);
	line.state.offset = of->highest.offset;
	return saved_add_region(made, &line);
}

/* In a list in order of name, which has it. */
static const struct merge_table *find_kept(const struct merge_table *list,
					   size_t n, const char *name)
{
	size_t first = 0, end = n;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (strcmp(list[middle].name, name) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	return &list[first];
}

/* From `all`, unless it is NULL, if no text of `merge` has it. */
static enum philox_status make_table(const struct merge *merge,
				     const struct merge *all, const char *name,
				     struct saved *made)
{
	const struct merge_table *of =
		find_kept(merge->tables, merge->n_tables, name);
	const struct saved_table *table;

	if (of->kept == MERGE_NONE && all)
		return make_table(all, NULL, name, made);
	if (of->kept == MERGE_NONE)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "rows '%s' are in no text of the set", name);
	table = &merge->kept.tables[of->kept];
	return saved_add_table(made, table, &merge->kept.rows[table->row]);
}

static enum philox_status make_tables(const struct merge *merge,
				      const struct merge *all,
				      struct saved *made)
{
	const struct saved *wanted = merge->wanted;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < wanted->n_tables; i++)
		status = make_table(merge, all, wanted->tables[i].name, made);
	return status;
}

/* The same. */
static enum philox_status make_one_data(const struct merge *merge,
					const struct merge *all,
					const char *name, struct saved *made)
{
	const struct merge_table *of =
		find_kept(merge->data, merge->n_data, name);

	if (of->kept == MERGE_NONE && all)
		return make_one_data(all, NULL, name, made);
	if (of->kept == MERGE_NONE)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "data '%s' are in no text of the set", name);
	return saved_add_data(made, &merge->kept.data[of->kept]);
}

static enum philox_status make_data(const struct merge *merge,
				    const struct merge *all, struct saved *made)
{
	const struct saved *wanted = merge->wanted;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < wanted->n_data; i++)
		status = make_one_data(merge, all, wanted->data[i].name, made);
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

/* From `all`, unless it is NULL, if the own text lacks it. */
static enum philox_status make_region(struct merge *merge, struct merge *all,
				      struct merge_region *of,
				      struct saved *made)
{
	struct merge_region *of_all;
	enum philox_status status;

	if (!of->wanted)
		return make_destroyed(merge, of, made);
	if (!all || of->n_nexts)
		return make_wanted(merge, of, made);
	of_all = find_merged(all, of->name);
	status = make_wanted(all, of_all, made);
	of->fresh = of_all->fresh;
	return status;
}

static enum philox_status make_all(struct merge *merge, struct merge *all,
				   struct saved *made)
{
	const struct saved *kept = &merge->kept;
	enum philox_status status = check_seeds(merge);

	if (status == PHILOX_OK)
		status = mesh_copy(&merge->wanted->mesh, &made->mesh);
	for (size_t i = 0; status == PHILOX_OK && i < kept->n_generators; i++)
		status = saved_add_generator(made, kept->generators[i]);
	for (size_t i = 0; status == PHILOX_OK && i < merge->n_regions; i++)
		status = make_region(merge, all, &merge->regions[i], made);
	if (status == PHILOX_OK)
		status = make_tables(merge, all, made);
	if (status == PHILOX_OK)
		status = make_data(merge, all, made);
	if (status == PHILOX_OK)
		status = saved_copy_outputs(made, kept);
	return status == PHILOX_OK ? check_twins(made) : status;
}

enum philox_status merge_make(struct merge *merge, struct saved *made)
{
	return merge_make_with(merge, NULL, made);
}

enum philox_status merge_make_with(struct merge *merge, struct merge *all,
				   struct saved *made)
{
	enum philox_status status;

	saved_init(made);
	sort_merged(merge);
	status = make_all(merge, all, made);
	if (status != PHILOX_OK)
		saved_finish(made);
	return status;
}
