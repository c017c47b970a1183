/*
 * lib/state/context_mesh.c - a context's place in a mesh
 */
#include <string.h>
#include "lib/base/options.h"
#include "lib/mesh/mesh.h"
#include "lib/state/journal.h"
#include "lib/state/region.h"

#define MESH_SIZE_FIRST OPTIONS_FIRST(struct philox_mesh, axes)

/* With the context's lock held; takes the names of *mesh, or gives others. */
static enum philox_status set_mesh(struct philox_context *context,
				   struct philox_mesh *mesh)
{
	struct philox_mesh before = context->mesh;

	if (context->regions)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s' was made before the context's "
				  "mesh was set",
				  context->regions->name);
	context->mesh = *mesh;
	*mesh = before;
	return PHILOX_OK;
}

enum philox_status philox_context_set_mesh(struct philox_context *context,
					   const struct philox_mesh *mesh)
{
	struct philox_mesh taken, copy;
	enum philox_status status;

	if (!context || !mesh)
		return context_null(context, context ? "mesh" : "context");
	NEED_PROCESS(context);
	status = mesh_take(mesh, &taken);
	if (status == PHILOX_OK)
		status = mesh_copy(&taken, &copy);
	if (status == PHILOX_OK) {
		context_lock(context);
		status = set_mesh(context, &copy);
		if (status == PHILOX_OK)
			journal_mesh(context);
		context_unlock(context);
		mesh_finish(&copy);
	}
	return context_report(context, status, NULL);
}

enum philox_status philox_context_mesh(struct philox_context *context,
				       struct philox_mesh *mesh)
{
	enum philox_status status;

	if (!context || !mesh)
		return context_null(context, context ? "mesh" : "context");
	NEED_PROCESS(context);
	status = options_check_room("mesh", mesh->size, MESH_SIZE_FIRST,
				    sizeof(*mesh));
	if (status == PHILOX_OK) {
		context_lock(context);
		options_write(mesh, &context->mesh, sizeof(*mesh));
		context_unlock(context);
	}
	return context_report(context, status, NULL);
}
