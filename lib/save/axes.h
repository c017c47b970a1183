/*
 * lib/save/axes.h - meshes, and axes along which regions differ, in texts
 *
 * See Note [Saved context] in lib/save/text.h.
 */
#ifndef LIB_SAVE_AXES_H
#define LIB_SAVE_AXES_H

#include <stdio.h>
#include <philox/mesh.h>
#include "lib/base/status.h"

struct philox_region;
struct reader;
struct saved;
struct saved_region;

/*
 * save_write_mesh() writes the axes of a mesh, and where on them a rank is if it
 * is `placed`; save_write_axes() along which of
 * them a region differs, and what others have issued. save_has_axes() tells
 * whether a text has any of these lines.
 */
int save_has_axes(const struct saved *saved);
void save_write_mesh(FILE *out, const struct philox_mesh *mesh, int placed);
void save_write_axes(FILE *out, const struct saved *saved,
		     const struct saved_region *region);

/*
 * The rest of the lines that begin with "axis ", of a text or of another text
 * about a mesh, "differs " and "issued "; the region that the last two belong to
 * is NULL if there is none, which has been refused. reader_end_axes() checks what only the whole text tells.
 */
void reader_axis(struct reader *reader, struct philox_mesh *mesh, int placed);
void reader_differs(struct reader *reader, struct saved_region *region);
void reader_issued(struct reader *reader, struct saved_region *region);
void reader_end_axes(struct reader *reader);

/*
 * save_compare_mesh() compares the mesh of a text with that of a context, and
 * save_compare_axes() the axes along which a region differs: ERROR_MISMATCH.
 */
enum philox_status save_compare_mesh(const struct philox_mesh *in_text,
				     const struct philox_mesh *in_context);
enum philox_status save_compare_axes(const struct saved *saved,
				     const struct saved_region *in_text,
				     const struct philox_region *in_context);

#endif
