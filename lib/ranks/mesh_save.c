/*
 * lib/ranks/mesh_save.c - the contexts of a mesh, saved and loaded
 */
#include <inttypes.h>
#include <stdlib.h>
#include <philox/mesh_save.h>
#include "lib/mesh/mesh.h"
#include "lib/save/collect.h"
#include "lib/text/file.h"
#include "lib/ranks/merge_place.h"
#include "lib/save/save.h"
#include "lib/save/saved.h"
#include "lib/ranks/load.h"
#include "lib/state/region.h"

/* --- saving --------------------------------------------------------------- */

static enum philox_status write_text_of(const struct written_text *saved,
					const char *path)
{
	char *of_rank = set_path(path, saved->rank);
	enum philox_status status;

	if (!of_rank)
		return status_set(PHILOX_ERROR_MEMORY, "no memory for a path");
	status = save_file_write(of_rank, saved->text, saved->size);
	free(of_rank);
	return status;
}

enum philox_status philox_mesh_save(struct philox_context *context,
				    const char *path)
{
	struct written_text saved;
	enum philox_status status;

	if (!context || !path)
		return context_null(context, context ? "path" : "context");
	NEED_PROCESS(context);
	status = save_file_check(path); /* of the set: PATH.RANK is a file */
	if (status == PHILOX_OK)
		status = save_text(context, __func__, &saved);
	if (status == PHILOX_OK) {
		status = write_text_of(&saved, path);
		free(saved.text);
	}
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
	status = save_apply(context, call, &made);
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

enum philox_status philox_mesh_load(struct philox_context *context,
				    const char *path)
{
	if (!context || !path)
		return context_null(context, context ? "path" : "context");
	NEED_PROCESS(context);
	return context_report(context, load_set(context, __func__, path), NULL);
}
