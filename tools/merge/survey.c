/*
 * tools/merge/survey.c - what the texts of a set have, and on which ranks
 */
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/mesh/mesh.h"
#include "lib/save/save.h"
#include "tools/cli/cli.h"
#include "tools/merge/merge.h"

static int compare_items(const void *a, const void *b)
{
	const struct merge_item *left = a, *right = b;

	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* --- one item ------------------------------------------------------------- */

static int make_item(const struct philox_mesh *mesh, const char *name,
		     enum save_item kind, struct merge_item *item)
{
	*item = (struct merge_item){.name = strdup(name), .kind = kind};
	for (uint32_t i = 0; item->name && i < mesh->n_axes; i++) {
		item->old[i] = calloc(mesh->axes[i].n_ranks, 1);
		if (!item->old[i])
			return -1;
	}
	return item->name ? 0 : -1;
}

/* Along which axes it differs is the same in all texts, or it is refused. */
static int copy_axes(struct merge_item *item, const struct saved *saved,
		     const struct saved_region *region)
{
	item->axes =
		calloc(region->n_axes + PHILOX_MESH_AXES, sizeof(*item->axes));
	for (size_t i = 0; item->axes && i < region->n_axes; i++) {
		item->axes[i] = strdup(saved->axes[region->axis + i]);
		if (!item->axes[i])
			return -1;
		item->n_axes++;
	}
	return item->axes ? 0 : -1;
}

static void free_item(struct merge_item *item)
{
	for (size_t i = 0; i < item->n_axes; i++)
		free(item->axes[i]);
	for (int i = 0; i < PHILOX_MESH_AXES; i++) {
		free(item->old[i]);
		free(item->made[i]);
	}
	free(item->axes);
	free(item->name);
}

void merge_free_items(struct merge_job *job)
{
	for (size_t i = 0; i < job->n_items; i++)
		free_item(&job->items[i]);
	free(job->items);
	job->items = NULL;
	job->n_items = 0;
	for (size_t i = 0; i < job->n_texts; i++)
		saved_finish(&job->texts[i]);
	keyed_finish(&job->by_name);
	free(job->texts);
	job->texts = NULL;
	job->n_texts = 0;
}

/* --- one text ------------------------------------------------------------- */

/* The one that there is, or a new one; NULL: out of memory. */
static struct merge_item *find_item(struct merge_job *job, const char *name,
				    enum save_item kind)
{
	struct keyed_by key = keyed_by(kind);
	struct merge_item *found;
	size_t index;

	keyed_by_word(&key, name, strlen(name));
	index = keyed_find(&job->by_name, &key);
	if (index != SIZE_MAX)
		return &job->items[index];
	found = array_grow(&job->items, job->n_items, 1, sizeof(*found));
	if (!found ||
	    !keyed_put(&job->by_name, &key, keyed_index(job->n_items)))
		return NULL;
	job->n_items++;
	return make_item(source_mesh(&job->source), name, kind, found) ? NULL
								       : found;
}

static void note_place(struct merge_item *item, const struct philox_mesh *mesh)
{
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		item->old[i][mesh->axes[i].coordinate] = 1;
	item->ranks++;
}

/* Those that have no axes of their own. */
static int note_items(struct merge_job *job, const struct saved *saved,
		      enum save_item kind)
{
	const void *of;

	for (size_t i = 0; (of = saved_item(saved, kind, i)); i++) {
		struct merge_item *item = find_item(job, saved_name(of), kind);

		if (!item)
			return -1;
		note_place(item, &saved->mesh);
	}
	return 0;
}

static int note_text(struct merge_job *job, const struct saved *saved)
{
	for (size_t i = 0; i < saved->n_regions; i++) {
		const struct saved_region *region = &saved->regions[i];
		struct merge_item *item;

		if (!region->alive)
			continue;
		item = find_item(job, region->name, SAVE_REGION);
		if (!item || (!item->axes && copy_axes(item, saved, region)))
			return -1;
		note_place(item, &saved->mesh);
	}
	return note_items(job, saved, SAVE_TABLE) ||
			       note_items(job, saved, SAVE_DATA)
		       ? -1
		       : 0;
}

static void sort_items(struct merge_job *job)
{
	keyed_finish(&job->by_name);
	if (job->n_items)
		qsort(job->items, job->n_items, sizeof(*job->items),
		      compare_items);
}

int merge_survey(struct merge_job *job)
{
	uint64_t world = source_world(&job->source);
	int result = 0;

	for (uint64_t rank = 0; !result && rank < world; rank++) {
		struct saved *saved = array_grow(&job->texts, job->n_texts, 1,
						 sizeof(*saved));

		if (merge_signal())
			return 1;
		merge_progress("reading", 0, rank, world);
		if (saved &&
		    source_text(&job->source, rank, saved) != PHILOX_OK) {
			complain("merge", "%s", philox_error_message());
			return 1;
		}
		job->n_texts += saved != NULL;
		result = saved ? note_text(job, saved) : -1;
	}
	if (result)
		complain("merge", "out of memory");
	else
		sort_items(job);
	return result ? 1 : 0;
}
