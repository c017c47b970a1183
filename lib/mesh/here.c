/*
 * lib/mesh/here.c - a rank's place in a mesh, by number or from a launcher
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "lib/mesh/mesh.h"

/*
 * In this order: whoever starts processes within another's job comes first.
 * Sources: "torchrun (Elastic Launch)", Environment Variables, of PyTorch's
 * manual; "Environment variables set for MPI applications" of Open MPI's;
 * PMI_Init() of MPICH and what its Hydra sets for it; srun(1), and
 * env_array_for_step() in src/common/env.c of Slurm.
 *
 * The script of a batch job is no task that srun has started, and nor is a
 * shell of salloc: it has SLURM_PROCID, and SLURM_NTASKS if the job asked for
 * tasks, but no SLURM_STEP_NUM_TASKS.
 */
static const struct launcher {
	const char *rank, *world;
	int rank_alone; /* is set by others, too, and says nothing */
} launchers[] = {
	{"RANK", "WORLD_SIZE", 0},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", 0},
	{"PMI_RANK", "PMI_SIZE", 0},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", 1},
};

/* --- by number ------------------------------------------------------------ */

static enum philox_status place(struct philox_mesh *mesh, uint64_t rank,
				uint64_t world)
{
	struct philox_mesh taken;
	enum philox_status status = mesh_take_unplaced(mesh, &taken);

	if (status != PHILOX_OK)
		return status;
	if (mesh_world(&taken) != world)
		return status_set(PHILOX_ERROR_INVALID,
				  "mesh: the product of n_ranks is %" PRIu64
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

static int is_set(const struct launcher *launcher)
{
	return getenv(launcher->world) ||
	       (!launcher->rank_alone && getenv(launcher->rank));
}

static enum philox_status read_environment(uint64_t *rank, uint64_t *world)
{
	const size_t n = sizeof(launchers) / sizeof(launchers[0]);

	for (size_t i = 0; i < n; i++)
		if (is_set(&launchers[i]))
			return read_launcher(&launchers[i], rank, world);
	*rank = 0;
	*world = 1;
	return PHILOX_OK;
}

/* --- public --------------------------------------------------------------- */

enum philox_status philox_mesh_set_rank(struct philox_mesh *mesh, uint64_t rank,
					uint64_t world)
{
	return place(mesh, rank, world);
}

enum philox_status philox_mesh_from_environment(struct philox_mesh *mesh)
{
	uint64_t rank, world;
	enum philox_status status = read_environment(&rank, &world);

	return status == PHILOX_OK ? place(mesh, rank, world) : status;
}
