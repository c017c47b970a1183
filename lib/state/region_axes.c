/*
 * lib/state/region_axes.c - the axes of a mesh along which a region differs
 *
 * See philox/mesh.h. Along all other axes a region is shared.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/state/region.h"

/* --- checking ------------------------------------------------------------- */

static enum philox_status check_name(
	const struct philox_region_options *options, size_t i)
{
	const char *name = options->differs[i];

	if (!name || !*name)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': differs[%zu] is %s",
				  options->name, i, name ? "empty" : "NULL");
	for (size_t j = 0; j < i; j++)
		if (!strcmp(name, options->differs[j]))
			return status_set(PHILOX_ERROR_INVALID,
					  "region '%s': differs names axis "
					  "'%s' twice",
					  options->name, name);
	return PHILOX_OK;
}

enum philox_status region_axes_check(
	const struct philox_region_options *options)
{
	enum philox_status status = PHILOX_OK;

	if (options->n_differs > PHILOX_MESH_AXES)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': n_differs is %zu, above %d",
				  options->name, options->n_differs,
				  PHILOX_MESH_AXES);
	if (options->n_differs && !options->differs)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': differs is NULL",
				  options->name);
	for (size_t i = 0; status == PHILOX_OK && i < options->n_differs; i++)
		status = check_name(options, i);
	if (status == PHILOX_OK && options->n_differs &&
	    options->flags & PHILOX_SHARED)
		status = status_set(PHILOX_ERROR_INVALID,
				    "region '%s': is PHILOX_SHARED, and is to "
				    "differ along axis '%s': it draws from "
				    "its generator, which all ranks share",
				    options->name, options->differs[0]);
	return status;
}

/* "data, tensor" */
static void list_axes(const struct philox_mesh *mesh, char *text, size_t size)
{
	size_t length = 0;

	*text = '\0';
	for (uint32_t i = 0; i < mesh->n_axes && length < size; i++)
		length += (size_t)snprintf(text + length, size - length, "%s%s",
					   i ? ", " : "", mesh->axes[i].name);
}

enum philox_status region_axes_find(const struct philox_context *context,
				    const struct philox_region_options *options)
{
	const struct philox_mesh *mesh = &context->mesh;
	char axes[128];

	if (!mesh->n_axes)
		return PHILOX_OK;
	for (size_t i = 0; i < options->n_differs; i++) {
		if (mesh_find(mesh, options->differs[i]))
			continue;
		list_axes(mesh, axes, sizeof(axes));
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': is to differ along '%s', which "
				  "is no axis of the context's mesh (%s)",
				  options->name, options->differs[i], axes);
	}
	return PHILOX_OK;
}

/* --- keeping -------------------------------------------------------------- */

static int compare_axes(const void *a, const void *b)
{
	const char *const *left = a, *const *right = b;

	return strcmp(*left, *right);
}

enum philox_status region_axes_init(struct region_axes *axes,
				    const struct philox_region_options *options)
{
	memset(axes, 0, sizeof(*axes));
	if (!options->n_differs)
		return PHILOX_OK;
	axes->names = calloc(options->n_differs, sizeof(*axes->names));
	for (size_t i = 0; axes->names && i < options->n_differs; i++) {
		axes->names[i] = strdup(options->differs[i]);
		if (!axes->names[i])
			break;
		axes->n++;
	}
	if (axes->n < options->n_differs) {
		region_axes_finish(axes);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for the axes of region '%s'",
				  options->name);
	}
	qsort(axes->names, axes->n, sizeof(*axes->names), compare_axes);
	return PHILOX_OK;
}

void region_axes_finish(struct region_axes *axes)
{
	for (size_t i = 0; i < axes->n; i++)
		free(axes->names[i]);
	free(axes->names);
	memset(axes, 0, sizeof(*axes));
}

uint64_t region_axes_seed(const struct region_axes *axes,
			  const struct philox_mesh *mesh, uint64_t seed)
{
	for (size_t i = 0; i < axes->n; i++) {
		const char *name = axes->names[i];

		seed = philox_axis_seed(seed, hash_text(name, strlen(name)),
					mesh_coordinate(mesh, name));
	}
	return seed;
}
