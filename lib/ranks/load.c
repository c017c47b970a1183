/*
 * lib/ranks/load.c - see lib/ranks/load.h
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/text/file.h"
#include "lib/ranks/merge_make.h"
#include "lib/save/saved.h"
#include "lib/ranks/load.h"

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
	size_t size;
	char *text;
	enum philox_status status = save_file_read(path, &text, &size);

	if (status != PHILOX_OK)
		return status;
	memset(source, 0, sizeof(*source));
	source->path = path;
	status = read_source(source, text, size);
	free(text);
	if (status != PHILOX_OK)
		status_prefix(status, "'%s': ", path);
	return status;
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
	size_t size;
	char *text;
	enum philox_status status = save_write(single, &text, &size);

	if (status != PHILOX_OK)
		return status;
	status = save_read(text, size, saved);
	free(text);
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

static enum philox_status merge_one(const struct source *source, uint64_t rank,
				    struct merge *merge)
{
	struct saved saved;
	enum philox_status status = source_text(source, rank, &saved);

	if (status != PHILOX_OK)
		return status;
	status = merge_add(merge, &saved, rank);
	saved_finish(&saved);
	if (status != PHILOX_OK)
		status_prefix(status, "'%s': ", source->path);
	return status;
}

/* The own text first, if there is one: see Note [Another mesh]. */
static enum philox_status merge_all(const struct source *source,
				    struct merge *merge)
{
	uint64_t world = source_world(source);
	enum philox_status status = PHILOX_OK;

	if (merge->same) {
		status = merge_one(source, merge->own, merge);
		if (status != PHILOX_OK || !merge_lacks(merge))
			return status;
	}
	for (uint64_t rank = 0; status == PHILOX_OK && rank < world; rank++)
		if (!merge->same || rank != merge->own)
			status = merge_one(source, rank, merge);
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
