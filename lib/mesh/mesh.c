/*
 * lib/mesh/mesh.c - meshes of ranks: checked, counted, walked through
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/mesh/mesh.h"

#define WORLD_MAX (UINT64_C(1) << 32)

/* The size of the struct's first version. */
#define MESH_SIZE_FIRST OPTIONS_FIRST(struct philox_mesh, axes)
OPTIONS_NO_PADDING(struct philox_mesh, axes);

/* --- checking ------------------------------------------------------------- */

static uint64_t axis_key(const struct philox_axis *axis)
{
	return hash_text(axis->name, strlen(axis->name));
}

static enum philox_status check_name(const struct philox_mesh *mesh, uint32_t i)
{
	const struct philox_axis *axis = &mesh->axes[i];
	enum philox_status status;

	if (!axis->name || !*axis->name)
		return status_set(PHILOX_ERROR_INVALID,
				  "mesh: the name of axis %" PRIu32 " is %s", i,
				  axis->name ? "empty" : "NULL");
	status = name_check(axis->name, "mesh: the name of axis %" PRIu32, i);
	if (status != PHILOX_OK)
		return status;
	for (uint32_t j = 0; j < i; j++) {
		if (!strcmp(axis->name, mesh->axes[j].name))
			return status_set(PHILOX_ERROR_INVALID,
					  "mesh: axes %" PRIu32 " and %" PRIu32
					  " are both named '%s'",
					  j, i, axis->name);
		if (axis_key(axis) == axis_key(&mesh->axes[j]))
			return status_set(PHILOX_ERROR_INVALID,
					  "mesh: the names of axes '%s' and "
					  "'%s' have the same hash",
					  mesh->axes[j].name, axis->name);
	}
	return PHILOX_OK;
}

static enum philox_status check_axis(const struct philox_axis *axis)
{
	if (!axis->n_ranks)
		return status_set(PHILOX_ERROR_INVALID,
				  "mesh: n_ranks of axis '%s' is 0",
				  axis->name);
	if (axis->coordinate >= axis->n_ranks)
		return status_set(PHILOX_ERROR_INVALID,
				  "mesh: the coordinate along axis '%s' is "
				  "%" PRIu32
				  ", not below its n_ranks, %" PRIu32,
				  axis->name, axis->coordinate, axis->n_ranks);
	if (axis->flags & ~(uint32_t)PHILOX_AXIS_STAGES)
		return status_set(PHILOX_ERROR_INVALID,
				  "mesh: flags 0x%" PRIx32 " of axis '%s' is "
				  "not 0 or PHILOX_AXIS_STAGES",
				  axis->flags, axis->name);
	if (axis->reserved)
		return status_set(PHILOX_ERROR_INVALID,
				  "mesh: reserved of axis '%s' is not 0",
				  axis->name);
	return PHILOX_OK;
}

static enum philox_status check_axes(const struct philox_mesh *mesh)
{
	enum philox_status status = PHILOX_OK;
	uint64_t world = 1;

	for (uint32_t i = 0; status == PHILOX_OK && i < mesh->n_axes; i++) {
		const struct philox_axis *axis = &mesh->axes[i];

		status = check_name(mesh, i);
		if (status == PHILOX_OK)
			status = check_axis(axis);
		if (status != PHILOX_OK)
			return status;
		world *= axis->n_ranks;
		if (world > WORLD_MAX)
			status = status_set(PHILOX_ERROR_INVALID,
					    "mesh: more than 2^32 ranks with "
					    "axis '%s'",
					    axis->name);
	}
	return status;
}

/* A copy of a mesh of any version, not checked but for how many axes it has. */
static enum philox_status take_struct(const struct philox_mesh *given,
				      struct philox_mesh *mesh)
{
	enum philox_status status;

	if (!given)
		return status_set(PHILOX_ERROR_INVALID, "mesh is NULL");
	status = options_copy("mesh", given, given->size, MESH_SIZE_FIRST,
			      sizeof(*mesh), mesh);
	if (status == PHILOX_OK)
		status = options_check_reserved("mesh", mesh->reserved);
	if (status != PHILOX_OK)
		return status;
	mesh->size = sizeof(*mesh);
	if (mesh->n_axes > PHILOX_MESH_AXES)
		return status_set(PHILOX_ERROR_INVALID,
				  "mesh: n_axes is %" PRIu32 ", above %d",
				  mesh->n_axes, PHILOX_MESH_AXES);
	return PHILOX_OK;
}

enum philox_status mesh_take(const struct philox_mesh *given,
			     struct philox_mesh *mesh)
{
	enum philox_status status = take_struct(given, mesh);

	return status == PHILOX_OK ? check_axes(mesh) : status;
}

enum philox_status mesh_take_unplaced(const struct philox_mesh *given,
				      struct philox_mesh *mesh)
{
	enum philox_status status = take_struct(given, mesh);

	if (status != PHILOX_OK)
		return status;
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		mesh->axes[i].coordinate = 0;
	return check_axes(mesh);
}

/* --- a copy --------------------------------------------------------------- */

enum philox_status mesh_copy(const struct philox_mesh *mesh,
			     struct philox_mesh *copy)
{
	*copy = *mesh;
	for (uint32_t i = 0; i < mesh->n_axes; i++) {
		copy->axes[i].name = strdup(mesh->axes[i].name);
		if (copy->axes[i].name)
			continue;
		copy->n_axes = i;
		mesh_finish(copy);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a mesh of %" PRIu32 " ax%s",
				  mesh->n_axes,
				  mesh->n_axes == 1 ? "is" : "es");
	}
	return PHILOX_OK;
}

void mesh_finish(struct philox_mesh *mesh)
{
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		free((char *)mesh->axes[i].name);
	memset(mesh, 0, sizeof(*mesh));
	mesh->size = sizeof(*mesh);
}

/* --- of a mesh that was checked ------------------------------------------- */

const struct philox_axis *mesh_find(const struct philox_mesh *mesh,
				    const char *name)
{
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		if (!strcmp(mesh->axes[i].name, name))
			return &mesh->axes[i];
	return NULL;
}

uint32_t mesh_coordinate(const struct philox_mesh *mesh, const char *name)
{
	const struct philox_axis *axis = mesh_find(mesh, name);

	return axis ? axis->coordinate : 0;
}

uint32_t mesh_size_along(const struct philox_mesh *mesh, const char *name)
{
	const struct philox_axis *axis = mesh_find(mesh, name);

	return axis ? axis->n_ranks : 1;
}

uint64_t mesh_world(const struct philox_mesh *mesh)
{
	uint64_t world = 1;

	for (uint32_t i = 0; i < mesh->n_axes; i++)
		world *= mesh->axes[i].n_ranks;
	return world;
}

uint64_t mesh_rank(const struct philox_mesh *mesh)
{
	uint64_t rank = 0;

	for (uint32_t i = 0; i < mesh->n_axes; i++)
		rank = rank * mesh->axes[i].n_ranks + mesh->axes[i].coordinate;
	return rank;
}

void mesh_go(struct philox_mesh *mesh, uint64_t rank)
{
	for (uint32_t i = mesh->n_axes; i--; rank /= mesh->axes[i].n_ranks)
		mesh->axes[i].coordinate =
			(uint32_t)(rank % mesh->axes[i].n_ranks);
}

/* --- public --------------------------------------------------------------- */

enum philox_status philox_mesh_check(const struct philox_mesh *mesh)
{
	struct philox_mesh taken;

	return mesh_take(mesh, &taken);
}

enum philox_status philox_mesh_world_size(const struct philox_mesh *mesh,
					  uint64_t *world)
{
	struct philox_mesh taken;
	enum philox_status status = mesh_take(mesh, &taken);

	if (status == PHILOX_OK && !world)
		status = status_set(PHILOX_ERROR_INVALID, "world is NULL");
	if (status == PHILOX_OK)
		*world = mesh_world(&taken);
	return status;
}

enum philox_status philox_mesh_rank(const struct philox_mesh *mesh,
				    uint64_t *rank)
{
	struct philox_mesh taken;
	enum philox_status status = mesh_take(mesh, &taken);

	if (status == PHILOX_OK && !rank)
		status = status_set(PHILOX_ERROR_INVALID, "rank is NULL");
	if (status == PHILOX_OK)
		*rank = mesh_rank(&taken);
	return status;
}
