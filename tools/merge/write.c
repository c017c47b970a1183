/*
 * tools/merge/write.c - writing a new set, all of it or nothing
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/mesh/mesh.h"
#include "lib/text/text.h"
#include "lib/save/save.h"
#include "tools/cli/cli.h"
#include "tools/merge/merge.h"

/* --- one rank ------------------------------------------------------------- */

static int has_item(const struct merge_item *item,
		    const struct philox_mesh *place)
{
	for (uint32_t i = 0; i < place->n_axes; i++)
		if (!item->made[i][place->axes[i].coordinate])
			return 0;
	return 1;
}

static enum philox_status want_item(struct saved *wanted,
				    const struct merge_item *item)
{
	const struct saved_table table = {.name = item->name};
	const struct saved_region region = {.name = item->name, .alive = 1};
	enum philox_status status;

	if (item->is_table)
		return saved_add_table(wanted, &table, NULL);
	status = saved_add_region(wanted, &region);
	for (size_t i = 0; status == PHILOX_OK && i < item->n_axes; i++)
		status = saved_add_axis(wanted, item->axes[i]);
	return status;
}

static enum philox_status want_all(const struct merge_job *job, uint64_t rank,
				   struct saved *wanted)
{
	enum philox_status status;

	saved_init(wanted);
	status = mesh_copy(&job->to, &wanted->mesh);
	if (status == PHILOX_OK)
		mesh_go(&wanted->mesh, rank);
	for (size_t i = 0; status == PHILOX_OK && i < job->n_items; i++)
		if (has_item(&job->items[i], &wanted->mesh))
			status = want_item(wanted, &job->items[i]);
	if (status != PHILOX_OK)
		saved_finish(wanted);
	return status;
}

/* Both are in order of name. */
static void count_fresh(struct merge_job *job, const struct merge *merge)
{
	size_t k = 0;

	for (size_t i = 0; i < merge->n_regions; i++) {
		if (!merge->regions[i].fresh)
			continue;
		while (strcmp(job->items[k].name, merge->regions[i].name))
			k++;
		job->items[k].fresh++;
	}
}

static enum philox_status write_made(const struct merge_job *job, uint64_t rank,
				     const struct saved *made)
{
	char *path = set_path(job->new_path, rank);
	struct text text;
	enum philox_status status = PHILOX_ERROR_MEMORY;

	if (path)
		status = save_write(made, &text);
	if (status == PHILOX_OK)
		status = text_put(&text, (struct text_target){.path = path});
	free(path);
	return status;
}

static enum philox_status write_rank(struct merge_job *job, uint64_t rank)
{
	struct saved wanted, made;
	struct merge merge;
	enum philox_status status = want_all(job, rank, &wanted);

	if (status != PHILOX_OK)
		return status;
	status = source_merge(&job->source, &wanted, &merge, &made);
	if (status == PHILOX_OK) {
		count_fresh(job, &merge);
		status = write_made(job, rank, &made);
		merge_finish(&merge);
		saved_finish(&made);
	}
	saved_finish(&wanted);
	return status;
}

/* --- all ranks ------------------------------------------------------------ */

static int check_absent(const char *path)
{
	if (access(path, F_OK))
		return 0;
	complain("merge",
		 "'%s' is there already: remove it, or give the new set "
		 "another path",
		 path);
	return 1;
}

static int check_all_absent(const struct merge_job *job)
{
	int status = check_absent(job->new_path);

	for (uint64_t rank = 0; !status && rank < mesh_world(&job->to);
	     rank++) {
		char *path = set_path(job->new_path, rank);

		status = path ? check_absent(path)
			      : complain("merge", "out of memory") - 1;
		free(path);
	}
	return status;
}

static void remove_written(const struct merge_job *job, uint64_t n)
{
	for (uint64_t rank = 0; rank < n; rank++) {
		char *path = set_path(job->new_path, rank);

		if (path)
			unlink(path);
		free(path);
	}
}

int merge_write(struct merge_job *job)
{
	uint64_t world = mesh_world(&job->to), n = 0;
	enum philox_status status = PHILOX_OK;

	if (check_all_absent(job))
		return 1;
	while (status == PHILOX_OK && n < world) {
		status = write_rank(job, n);
		n += status == PHILOX_OK;
	}
	mesh_go(&job->to, 0);
	if (status == PHILOX_OK)
		status = set_seal(&job->to, job->new_path);
	if (status == PHILOX_OK)
		return 0;
	complain("merge", "%s", philox_error_message());
	remove_written(job, n);
	return 1;
}
