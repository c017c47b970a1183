/*
 * lib/ranks/load.c - what can be loaded into a mesh: a set, or one text
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <philox/mesh.h>
#include "lib/containers/array.h"
#include "lib/mesh/mesh.h"
#include "lib/ranks/ranks.h"
#include "lib/save/save.h"
#include "lib/state/state.h"
#include "lib/text/text.h"

static enum philox_status check_alone(const struct saved *saved)
{
	uint64_t world = mesh_world(&saved->mesh);

	if (world == 1)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MISMATCH,
			  "the text of rank %" PRIu64 " of %" PRIu64
			  ": load the manifest of their set",
			  mesh_rank(&saved->mesh), world);
}

static enum philox_status read_source(struct source *source, const char *text,
				      size_t size)
{
	const size_t length = strlen(SET_START);
	enum philox_status status;

	source->is_set = size >= length && !memcmp(text, SET_START, length);
	if (source->is_set)
		return set_read(text, size, &source->set);
	status = save_read(text, size, &source->single);
	if (status != PHILOX_OK)
		return status;
	status = check_alone(&source->single);
	if (status != PHILOX_OK)
		saved_finish(&source->single);
	return status;
}

enum philox_status source_open(const char *path, struct source *source)
{
	static const char *const starts[] = {SET_START, SAVE_START, NULL};
	static const struct file_kind kind = {starts, FILE_TEXT_MOST};
	struct text text;
	enum philox_status status = file_read(path, &kind, &text);

	if (status != PHILOX_OK)
		return status;
	memset(source, 0, sizeof(*source));
	source->path = path;
	return text_done(&text, path,
			 read_source(source, text.bytes, text.size));
}

void source_close(struct source *source)
{
	if (source->is_set)
		set_finish(&source->set);
	else
		saved_finish(&source->single);
}

const struct philox_mesh *source_mesh(const struct source *source)
{
	return source->is_set ? &source->set.mesh : &source->single.mesh;
}

uint64_t source_world(const struct source *source)
{
	return source->is_set ? source->set.n : 1;
}

/* --- the texts ------------------------------------------------------------ */

static enum philox_status copy_single(const struct saved *single,
				      struct saved *saved)
{
	struct text text;
	enum philox_status status = save_write(single, &text);

	if (status != PHILOX_OK)
		return status;
	status = save_read(text.bytes, text.size, saved);
	free(text.bytes);
	return status;
}

enum philox_status source_text(const struct source *source, uint64_t rank,
			       struct saved *saved)
{
	if (!source->is_set)
		return copy_single(&source->single, saved);
	return set_read_text(source->path, rank, &source->set.mesh,
			     &source->set.ends[rank], saved, NULL);
}

/* --- texts that say the same: see the note of that name ------------------- */

/* A text that was read. */
struct read_text {
	uint64_t rank;
	unsigned axes; /* that matter: bit i for axis i */
};

struct read_texts {
	struct read_text *texts;
	size_t n;
	struct map numbers; /* of them, counted from 1, by their contents */
};

static int has_contents(const struct source *source)
{
	return source->is_set && source->set.version >= SET_VERSION_CONTENTS;
}

static int is_same_place(const struct philox_mesh *mesh, unsigned axes,
			 uint64_t a, uint64_t b)
{
	struct philox_mesh at_a = *mesh, at_b = *mesh;

	mesh_go(&at_a, a);
	mesh_go(&at_b, b);
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		if ((axes >> i & 1) &&
		    at_a.axes[i].coordinate != at_b.axes[i].coordinate)
			return 0;
	return 1;
}

/* Whether the text of a rank would add nothing to those that were read. */
static int is_known(const struct source *source, const struct read_texts *read,
		    uint64_t rank)
{
	const struct map_entry *entry;

	if (!has_contents(source))
		return 0;
	entry = map_find(&read->numbers, source->set.ends[rank].contents);
	for (; entry; entry = map_find_next(&read->numbers, entry)) {
		const struct read_text *text =
			&read->texts[(uintptr_t)entry->value - 1];

		if (is_same_place(&source->set.mesh, text->axes, text->rank,
				  rank))
			return 1;
	}
	return 0;
}

static enum philox_status note_read(const struct source *source,
				    struct read_texts *read, uint64_t rank,
				    unsigned axes)
{
	struct read_text *added;

	if (!has_contents(source))
		return PHILOX_OK;
	added = array_grow(&read->texts, read->n, 1, sizeof(*added));
	if (!added || !map_reserve(&read->numbers, read->n + 1))
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for the contents of %zu text%s",
				  read->n + 1, status_s(read->n + 1));
	*added = (struct read_text){rank, axes};
	read->n++;
	map_put(&read->numbers, source->set.ends[rank].contents,
		(void *)(uintptr_t)read->n);
	return PHILOX_OK;
}

/* --- all texts that are needed -------------------------------------------- */

static enum philox_status merge_one(const struct source *source, uint64_t rank,
				    struct merge *merge,
				    struct read_texts *read)
{
	struct saved saved;
	enum philox_status status = source_text(source, rank, &saved);

	if (status != PHILOX_OK)
		return status;
	status = merge_add(merge, &saved, rank);
	if (status == PHILOX_OK)
		status = note_read(source, read, rank,
				   merge_axes(merge, &saved));
	saved_finish(&saved);
	if (status != PHILOX_OK)
		status_prefix(status, "'%s': ", source->path);
	return status;
}

/* The own text first, if there is one: see Note [Another mesh]. */
static enum philox_status merge_needed(const struct source *source,
				       struct merge *merge,
				       struct read_texts *read)
{
	uint64_t world = source_world(source);
	enum philox_status status = PHILOX_OK;

	if (merge->same) {
		status = merge_one(source, merge->own, merge, read);
		if (status != PHILOX_OK || !merge_lacks(merge))
			return status;
	}
	for (uint64_t rank = 0; status == PHILOX_OK && rank < world; rank++)
		if ((!merge->same || rank != merge->own) &&
		    !is_known(source, read, rank))
			status = merge_one(source, rank, merge, read);
	return status;
}

static enum philox_status merge_all(const struct source *source,
				    struct merge *merge)
{
	struct read_texts read = {.n = 0};
	enum philox_status status = merge_needed(source, merge, &read);

	map_finish(&read.numbers);
	free(read.texts);
	return status;
}

enum philox_status source_merge(const struct source *source,
				const struct saved *wanted, struct merge *merge,
				struct saved *made)
{
	enum philox_status status =
		merge_init(merge, wanted, source_mesh(source));

	if (status != PHILOX_OK)
		return status;
	status = merge_all(source, merge);
	if (status == PHILOX_OK) {
		status = merge_make(merge, made);
		if (status != PHILOX_OK)
			status_prefix(status, "'%s': ", source->path);
	}
	if (status != PHILOX_OK)
		merge_finish(merge);
	return status;
}

/* --- mesh_save: the contexts of a mesh, saved and loaded ------------------ */

/* --- saving --------------------------------------------------------------- */

static enum philox_status write_text_of(const struct written_text *saved,
					const char *path)
{
	char *of_rank = set_path(path, saved->rank);
	enum philox_status status;

	if (!of_rank) {
		free(saved->text.bytes);
		return status_set(PHILOX_ERROR_MEMORY, "no memory for a path");
	}
	status = text_put(&saved->text, (struct text_target){.path = of_rank});
	free(of_rank);
	return status;
}

enum philox_status philox_context_save_rank(struct philox_context *context,
					    const char *path)
{
	struct written_text saved;
	enum philox_status status;

	if (!context || !path)
		return context_null(context, context ? "path" : "context");
	NEED_PROCESS(context);
	status = file_check(path); /* of the set: PATH.RANK is a file */
	if (status == PHILOX_OK)
		status = save_text(context, __func__, &saved);
	if (status == PHILOX_OK)
		status = write_text_of(&saved, path);
	if (status == PHILOX_OK)
		save_trace(context, &saved);
	return context_report(context, status, NULL);
}

enum philox_status philox_mesh_seal(const struct philox_mesh *mesh,
				    const char *path)
{
	struct philox_mesh taken;
	enum philox_status status = mesh_take_unplaced(mesh, &taken);

	if (status == PHILOX_OK && !path)
		status = status_set(PHILOX_ERROR_INVALID, "path is NULL");
	return status == PHILOX_OK ? set_seal(&taken, path) : status;
}

/* --- loading -------------------------------------------------------------- */

static void log_fresh(struct philox_context *context, const struct merge *merge,
		      const struct merge_region *region)
{
	const struct philox_log_entry subject = {.region = region->name};
	uint32_t coordinate;
	const char *axis = merge_new_axis(merge, region, &coordinate);

	if (axis)
		log_post(context, PHILOX_LOG_INFO, "fresh", &subject,
			 "region '%s' starts fresh at offset %" PRIu64
			 ": the set has no coordinate %" PRIu32
			 " along axis '%s'",
			 region->name, region->highest.offset, coordinate,
			 axis);
	else
		log_post(context, PHILOX_LOG_INFO, "fresh", &subject,
			 "region '%s' starts fresh at offset %" PRIu64
			 ": the set has it at other coordinates only",
			 region->name, region->highest.offset);
}

static enum philox_status load_merged(struct philox_context *context,
				      const char *call,
				      const struct source *source,
				      const struct saved *wanted)
{
	struct merge merge;
	struct saved made;
	enum philox_status status = source_merge(source, wanted, &merge, &made);

	if (status != PHILOX_OK)
		return status;
	status = save_apply(context, call, &made, 0);
	if (status != PHILOX_OK)
		status_prefix(status, "'%s': ", source->path);
	for (size_t i = 0; status == PHILOX_OK && i < merge.n_regions; i++)
		if (merge.regions[i].fresh)
			log_fresh(context, &merge, &merge.regions[i]);
	saved_finish(&made);
	merge_finish(&merge);
	return status;
}

static enum philox_status load_set(struct philox_context *context,
				   const char *call, const char *path)
{
	struct source source;
	struct saved wanted;
	enum philox_status status = source_open(path, &source);

	if (status != PHILOX_OK)
		return status;
	context_lock(context);
	status = save_collect_wanted(context, &wanted);
	context_unlock(context);
	if (status == PHILOX_OK) {
		status = load_merged(context, call, &source, &wanted);
		saved_finish(&wanted);
	}
	source_close(&source);
	return status;
}

enum philox_status philox_context_load_ranks(struct philox_context *context,
					     const char *path)
{
	if (!context || !path)
		return context_null(context, context ? "path" : "context");
	NEED_PROCESS(context);
	return context_report(context, load_set(context, __func__, path), NULL);
}
