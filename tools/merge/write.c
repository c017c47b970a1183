/*
 * tools/merge/write.c - writing a new set, all of it or nothing
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/mesh/mesh.h"
#include "lib/text/group.h"
#include "lib/text/text.h"
#include "lib/save/save.h"
#include "tools/cli/cli.h"
#include "tools/merge/merge.h"

/* Where the new set goes: its files, and its manifest in the making. */
struct merge_output {
	struct file_group *group;
	struct draft draft;
	struct merge all; /* of all texts, when a rank needs it */
	struct saved wanted; /* by any rank */
	int has_all;
};

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
	const struct saved_data data = {.name = item->name};
	const struct saved_region region = {.name = item->name, .alive = 1};
	enum philox_status status;

	if (item->kind == SAVE_TABLE)
		return saved_add_table(wanted, &table, NULL);
	if (item->kind == SAVE_DATA)
		return saved_add_data(wanted, &data);
	status = saved_add_region(wanted, &region);
	for (size_t i = 0; status == PHILOX_OK && i < item->n_axes; i++)
		status = saved_add_axis(wanted, item->axes[i]);
	return status;
}

/* What a rank wants, or any of them. */
static enum philox_status want_all(const struct merge_job *job, uint64_t rank,
				   int any, struct saved *wanted)
{
	enum philox_status status;

	saved_init(wanted);
	status = mesh_copy(&job->to, &wanted->mesh);
	if (status == PHILOX_OK)
		mesh_go(&wanted->mesh, rank);
	for (size_t i = 0; status == PHILOX_OK && i < job->n_items; i++)
		if (any || has_item(&job->items[i], &wanted->mesh))
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

/* Reads it again, as a load would: what cannot be read is not written. */
static enum philox_status write_made(struct merge_output *output, uint64_t rank,
				     const struct saved *made)
{
	char suffix[24];
	struct text text;
	enum philox_status status = save_write(made, &text);

	if (status != PHILOX_OK)
		return status;
	status = draft_add_text(&output->draft, text.bytes, text.size);
	snprintf(suffix, sizeof(suffix), ".%" PRIu64, rank);
	if (status == PHILOX_OK)
		status = file_group_add(output->group, suffix, text.bytes,
					text.size);
	free(text.bytes);
	return status;
}

/* What all texts say, of which each rank takes its part: once for all. */
static enum philox_status read_all(struct merge_job *job,
				   struct merge_output *output)
{
	enum philox_status status = want_all(job, 0, 1, &output->wanted);

	if (status != PHILOX_OK)
		return status;
	status = merge_init_all(&output->all, &output->wanted,
				source_mesh(&job->source));
	if (status != PHILOX_OK) {
		saved_finish(&output->wanted);
		return status;
	}
	output->has_all = 1;
	for (size_t i = 0; status == PHILOX_OK && i < job->n_texts; i++)
		status = merge_add(&output->all, &job->texts[i], i);
	return status;
}

static enum philox_status use_all(struct merge_job *job,
				  struct merge_output *output,
				  const struct saved *wanted)
{
	enum philox_status status = PHILOX_OK;

	if (!output->has_all)
		status = read_all(job, output);
	if (status == PHILOX_OK)
		merge_use(&output->all, wanted);
	return status;
}

/* The own text first, if there is one: see Note [Another mesh]. */
static enum philox_status make_same(struct merge_job *job,
				    struct merge_output *output,
				    const struct saved *wanted,
				    struct merge *merge, struct saved *made)
{
	enum philox_status status =
		merge_add(merge, &job->texts[merge->own], merge->own);
	const int lacks = status == PHILOX_OK && merge_lacks(merge);

	if (lacks)
		status = use_all(job, output, wanted);
	if (status == PHILOX_OK)
		status = merge_make_with(merge, lacks ? &output->all : NULL,
					 made);
	if (status == PHILOX_OK)
		count_fresh(job, merge);
	return status;
}

static enum philox_status make_rank(struct merge_job *job,
				    struct merge_output *output,
				    const struct saved *wanted,
				    struct saved *made)
{
	struct merge merge;
	enum philox_status status =
		merge_init(&merge, wanted, source_mesh(&job->source));

	if (status != PHILOX_OK)
		return status;
	if (merge.same) {
		status = make_same(job, output, wanted, &merge, made);
	} else {
		status = use_all(job, output, wanted);
		if (status == PHILOX_OK)
			status = merge_make(&output->all, made);
		if (status == PHILOX_OK)
			count_fresh(job, &output->all);
	}
	merge_finish(&merge);
	return status;
}

static enum philox_status write_rank(struct merge_job *job, uint64_t rank,
				     struct merge_output *output)
{
	struct saved wanted, made;
	enum philox_status status = want_all(job, rank, 0, &wanted);

	if (status != PHILOX_OK)
		return status;
	status = make_rank(job, output, &wanted, &made);
	if (status != PHILOX_OK)
		status_prefix(status, "'%s': ", job->old_path);
	if (status == PHILOX_OK) {
		status = write_made(output, rank, &made);
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

static enum philox_status write_manifest(struct merge_output *output)
{
	struct text text;
	enum philox_status status = set_write(&output->draft.set, &text);

	if (status != PHILOX_OK)
		return status;
	status = file_group_add(output->group, "", text.bytes, text.size);
	free(text.bytes);
	return status;
}

/* Until a signal comes: then the caller finds that it has come. */
static enum philox_status write_all_ranks(struct merge_job *job,
					  struct merge_output *output)
{
	const uint64_t world = mesh_world(&job->to);
	enum philox_status status = PHILOX_OK;

	for (uint64_t rank = 0;
	     status == PHILOX_OK && rank < world && !merge_signal(); rank++) {
		merge_progress("writing", 1, rank, world);
		status = write_rank(job, rank, output);
	}
	if (status == PHILOX_OK && !merge_signal())
		status = write_manifest(output);
	return status;
}

/* All of it, or nothing: the group ends in either way. */
static enum philox_status write_group(struct merge_job *job,
				      struct merge_output *output)
{
	enum philox_status status;

	output->draft = draft_of(&job->to, job->new_path); /* at rank 0 */
	status = write_all_ranks(job, output);
	if (status == PHILOX_OK && !merge_signal())
		status = file_group_end(output->group);
	else
		file_group_drop(output->group);
	draft_finish(&output->draft);
	if (output->has_all) {
		merge_finish(&output->all);
		saved_finish(&output->wanted);
	}
	if (status != PHILOX_OK)
		complain("merge", "%s", philox_error_message());
	return status;
}

/* What a killed merge has left is gone before it is looked for. */
int merge_write(struct merge_job *job)
{
	struct merge_output output = {.group = NULL};

	if (file_group_begin(job->new_path, &output.group) != PHILOX_OK) {
		complain("merge", "%s", philox_error_message());
		return 1;
	}
	if (check_all_absent(job)) {
		file_group_drop(output.group);
		return 1;
	}
	return write_group(job, &output) != PHILOX_OK || merge_signal();
}
