/*
 * lib/save/axes.c - see lib/save/axes.h
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/save/axes.h"
#include "lib/save/read.h"
#include "lib/text/lines.h"
#include "lib/state/region.h"

int save_has_axes(const struct saved *saved)
{
	if (saved->mesh.n_axes || saved->n_axes)
		return 1;
	for (size_t i = 0; i < saved->n_regions; i++)
		if (saved->regions[i].issued_serial)
			return 1;
	return 0;
}

/* --- writing -------------------------------------------------------------- */

void save_write_mesh(FILE *out, const struct philox_mesh *mesh, int placed)
{
	for (uint32_t i = 0; i < mesh->n_axes; i++) {
		const struct philox_axis *axis = &mesh->axes[i];

		fputs("axis ", out);
		save_write_name(out, axis->name);
		fprintf(out, " size %" PRIu32, axis->size);
		if (placed)
			fprintf(out, " at %" PRIu32, axis->coordinate);
		fputs(axis->flags & PHILOX_AXIS_STAGES ? " stages\n" : "\n",
		      out);
	}
}

void save_write_axes(FILE *out, const struct saved *saved,
		     const struct saved_region *region)
{
	for (size_t i = 0; i < region->n_axes; i++) {
		fputs("differs ", out);
		save_write_name(out, saved->axes[region->axis + i]);
		fputc('\n', out);
	}
	if (region->issued_serial)
		fprintf(out, "issued %" PRIu64 " serial %" PRIu64 "\n",
			region->issued, region->issued_serial);
}

/* --- reading -------------------------------------------------------------- */

static void need_version(struct reader *reader, const char *what)
{
	if (reader->version < SAVE_VERSION_MESH)
		reader_refuse(reader, "version %" PRIu64 " has no %s",
			      reader->version, what);
}

/* The mesh so far is fine: an axis more may break a rule of meshes. */
static void check_mesh(struct reader *reader, const struct philox_mesh *mesh)
{
	char text[512];

	if (reader->status != PHILOX_OK || philox_mesh_check(mesh) == PHILOX_OK)
		return;
	snprintf(text, sizeof(text), "%s", status_bare());
	reader_refuse(reader, "%s", text);
}

void reader_axis(struct reader *reader, struct philox_mesh *mesh, int placed)
{
	struct philox_axis axis = {0};

	if (placed)
		need_version(reader, "axes");
	if (mesh->n_axes == PHILOX_MESH_AXES)
		reader_refuse(reader, "more than %d axes", PHILOX_MESH_AXES);
	axis.name = reader_name(reader);
	reader_expect(reader, " size ");
	axis.size = (uint32_t)reader_decimal(reader, 1, UINT32_MAX);
	if (placed) {
		reader_expect(reader, " at ");
		axis.coordinate =
			(uint32_t)reader_decimal(reader, 0, UINT32_MAX);
	}
	if (reader_accept(reader, " stages"))
		axis.flags = PHILOX_AXIS_STAGES;
	if (reader->status != PHILOX_OK) {
		free((char *)axis.name);
		return;
	}
	mesh->axes[mesh->n_axes++] = axis;
	check_mesh(reader, mesh);
	reader_end_line(reader);
}

static void check_differs(struct reader *reader,
			  const struct saved_region *region, const char *name)
{
	const struct saved *saved = reader->saved;
	const char *last = NULL;

	if (reader->status != PHILOX_OK)
		return;
	if (region->n_axes)
		last = saved->axes[saved->n_axes - 1];
	if (region->n_ops || region->issued_serial)
		reader_refuse(reader, "%s", "an axis after an op");
	if (region->n_axes == PHILOX_MESH_AXES)
		reader_refuse(reader, "more than %d axes", PHILOX_MESH_AXES);
	if (region->flags & PHILOX_SHARED)
		reader_refuse(reader, "region '%s' is shared", region->name);
	if (!*name || (last && strcmp(last, name) >= 0))
		reader_refuse(reader, "axis '%s' comes twice or not in order",
			      name);
	if (saved->mesh.n_axes && !mesh_find(&saved->mesh, name))
		reader_refuse(reader, "there is no axis '%s'", name);
}

void reader_differs(struct reader *reader, struct saved_region *region)
{
	struct saved *saved = reader->saved;
	char *name;

	need_version(reader, "axes");
	name = reader_name(reader);
	check_differs(reader, region, name);
	reader_end_line(reader);
	saved->axes = reader_grow(reader, saved->axes, saved->n_axes,
				  sizeof(*saved->axes));
	if (reader->status != PHILOX_OK) {
		free(name);
		return;
	}
	saved->axes[saved->n_axes++] = name;
	region->n_axes++;
}

void reader_issued(struct reader *reader, struct saved_region *region)
{
	uint64_t offset, serial;

	need_version(reader, "lines 'issued'");
	offset = reader_decimal(reader, 0, UINT64_MAX);
	if (offset % 4)
		reader_refuse(reader,
			      "offset %" PRIu64 " is not a multiple of 4",
			      offset);
	reader_expect(reader, " serial ");
	serial = reader_decimal(reader, 1, SERIAL_PLACEHOLDER - 1);
	if (reader->status != PHILOX_OK)
		return;
	if (region->flags & PHILOX_SHARED)
		reader_refuse(reader, "region '%s' is shared", region->name);
	if (region->n_ops || region->issued_serial)
		reader_refuse(reader, "%s",
			      "it belongs after the axes of a region");
	if (offset <= region->state.offset && serial <= region->serial)
		reader_refuse(reader, "%s",
			      "neither is above what the region issues next");
	reader_end_line(reader);
	region->issued = offset;
	region->issued_serial = serial;
}

void reader_end_axes(struct reader *reader)
{
	if (reader->status == PHILOX_OK && !reader->rank &&
	    reader->version == SAVE_VERSION_MESH &&
	    !save_has_axes(reader->saved))
		reader->status = status_set(PHILOX_ERROR_INVALID,
					    "line 1: a text without axes is "
					    "below version %d",
					    SAVE_VERSION_MESH);
}

/* --- comparing ------------------------------------------------------------ */

/* What to do about a text of another mesh. */
#define OTHER_MESH "; philox_mesh_load() loads a set of texts of another mesh"

static enum philox_status differ_axis(const struct philox_axis *in_text,
				      const struct philox_axis *in_context)
{
	if (strcmp(in_text->name, in_context->name))
		return status_set(PHILOX_ERROR_MISMATCH,
				  "mesh: axis '%s' of the text is '%s' in the "
				  "context" OTHER_MESH,
				  in_text->name, in_context->name);
	if (in_text->size != in_context->size)
		return status_set(
			PHILOX_ERROR_MISMATCH,
			"mesh: the size of axis '%s' is %" PRIu32
			" in the text, %" PRIu32 " in the context" OTHER_MESH,
			in_text->name, in_text->size, in_context->size);
	if (in_text->coordinate != in_context->coordinate)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "mesh: the coordinate along axis '%s' is "
				  "%" PRIu32 " in the text, %" PRIu32
				  " in the context: it is the text of another "
				  "rank",
				  in_text->name, in_text->coordinate,
				  in_context->coordinate);
	if (in_text->flags != in_context->flags)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "mesh: axis '%s' has %sstages in the text, "
				  "%sstages in the context",
				  in_text->name, in_text->flags ? "" : "no ",
				  in_context->flags ? "" : "no ");
	return PHILOX_OK;
}

enum philox_status save_compare_mesh(const struct philox_mesh *in_text,
				     const struct philox_mesh *in_context)
{
	enum philox_status status = PHILOX_OK;

	if (in_text->n_axes != in_context->n_axes)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "mesh: %" PRIu32 " ax%s in the text, %" PRIu32
				  " in the context" OTHER_MESH,
				  in_text->n_axes,
				  in_text->n_axes == 1 ? "is" : "es",
				  in_context->n_axes);
	for (uint32_t i = 0; status == PHILOX_OK && i < in_text->n_axes; i++)
		status = differ_axis(&in_text->axes[i], &in_context->axes[i]);
	return status;
}

static enum philox_status differ_along(const char *region, const char *axis,
				       int in_text)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s': differs along axis '%s' in the %s, not "
			  "in the %s",
			  region, axis, in_text ? "text" : "context",
			  in_text ? "context" : "text");
}

/* Both are in order. */
enum philox_status save_compare_axes(const struct saved *saved,
				     const struct saved_region *in_text,
				     const struct philox_region *in_context)
{
	const struct region_axes *axes = &in_context->axes;

	for (size_t i = 0; i < in_text->n_axes || i < axes->n; i++) {
		const char *left = i < in_text->n_axes
					   ? saved->axes[in_text->axis + i]
					   : NULL;
		const char *right = i < axes->n ? axes->names[i] : NULL;
		int order = !left ? 1 : !right ? -1 : strcmp(left, right);

		if (order)
			return differ_along(in_text->name,
					    order < 0 ? left : right,
					    order < 0);
	}
	return PHILOX_OK;
}
