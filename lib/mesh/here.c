/*
 * lib/mesh/here.c - a rank's place in a mesh, by number or from a launcher
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "lib/mesh/mesh.h"

/* In this order: whoever starts processes within another's job comes first. */
static const struct launcher {
	const char *rank, *world;
} launchers[] = {
	{"RANK", "WORLD_SIZE"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMI_RANK", "PMI_SIZE"},
	{"SLURM_PROCID", "SLURM_NTASKS"},
};

/* --- by number ------------------------------------------------------------ */

/* Coordinates that are there already do not matter, right or wrong. */
static enum philox_status take_unplaced(const struct philox_mesh *given,
					struct philox_mesh *mesh)
{
	struct philox_mesh unplaced;

	if (!given || given->size != sizeof(unplaced) ||
	    given->n_axes > PHILOX_MESH_AXES)
		return mesh_take(given, mesh);
	unplaced = *given;
	for (uint32_t i = 0; i < unplaced.n_axes; i++)
		unplaced.axes[i].coordinate = 0;
	return mesh_take(&unplaced, mesh);
}

static enum philox_status place(struct philox_mesh *mesh, uint64_t rank,
				uint64_t world)
{
	struct philox_mesh taken;
	enum philox_status status = take_unplaced(mesh, &taken);

	if (status != PHILOX_OK)
		return status;
	if (mesh_world(&taken) != world)
		return status_set(PHILOX_ERROR_INVALID,
				  "mesh: the product of its sizes is %" PRIu64
				  ", the world has %" PRIu64 " rank%s",
				  mesh_world(&taken), world, status_s(world));
	if (rank >= world)
		return status_set(PHILOX_ERROR_INVALID,
				  "mesh: rank %" PRIu64
				  " in a world of %" PRIu64,
				  rank, world);
	mesh_go(&taken, rank);
	for (uint32_t i = 0; i < taken.n_axes; i++)
		mesh->axes[i].coordinate = taken.axes[i].coordinate;
	return PHILOX_OK;
}

/* --- from a launcher ------------------------------------------------------ */

static enum philox_status read_number(const char *variable, uint64_t *number)
{
	const char *text = getenv(variable);
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s is '%s', not a decimal number", variable,
				  text);
	return PHILOX_OK;
}

static enum philox_status read_launcher(const struct launcher *launcher,
					uint64_t *rank, uint64_t *world)
{
	const char *missing = !getenv(launcher->rank)    ? launcher->rank
			      : !getenv(launcher->world) ? launcher->world
							 : NULL;
	enum philox_status status;

	if (missing)
		return status_set(PHILOX_ERROR_INVALID,
				  "%s is set in the environment, %s is not",
				  missing == launcher->rank ? launcher->world
							    : launcher->rank,
				  missing);
	status = read_number(launcher->rank, rank);
	if (status == PHILOX_OK)
		status = read_number(launcher->world, world);
	return status;
}

static enum philox_status read_environment(uint64_t *rank, uint64_t *world)
{
	const size_t n = sizeof(launchers) / sizeof(launchers[0]);

	for (size_t i = 0; i < n; i++)
		if (getenv(launchers[i].rank) || getenv(launchers[i].world))
			return read_launcher(&launchers[i], rank, world);
	*rank = 0;
	*world = 1;
	return PHILOX_OK;
}

/* --- public --------------------------------------------------------------- */

enum philox_status philox_mesh_place(struct philox_mesh *mesh, uint64_t rank,
				     uint64_t world)
{
	return place(mesh, rank, world);
}

enum philox_status philox_mesh_here(struct philox_mesh *mesh)
{
	uint64_t rank, world;
	enum philox_status status = read_environment(&rank, &world);

	return status == PHILOX_OK ? place(mesh, rank, world) : status;
}
