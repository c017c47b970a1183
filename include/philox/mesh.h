/*
 * philox/mesh.h - ranks: many processes, one random program
 *
 * A rank is a place in a mesh of named axes: data, tensor, sequence, pipeline,
 * expert, or whatever a program calls them. A context that has a mesh knows its
 * place in it:
 *
 *   struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);
 *
 *   mesh.n_axes = 2;
 *   mesh.axes[0] = (struct philox_axis){.name = "data", .size = 4};
 *   mesh.axes[1] = (struct philox_axis){.name = "tensor", .size = 2};
 *   philox_mesh_here(&mesh);               started by mpirun or torchrun
 *   philox_context_set_mesh(context, &mesh);
 *
 * Numbers depend on who draws them only where a region asks for it. A region is
 * shared along every axis unless it says that it differs along it:
 *
 *  - Shared: all ranks have the numbers of one tensor. Each draws the span of
 *    its shard (philox/shard.h): a data rank the rows of its samples, a tensor
 *    rank its columns or heads; ranks that hold copies draw the same numbers.
 *    So N ranks train to the bits of one process.
 *  - Different: each coordinate has numbers of its own, for noise that a rank
 *    makes for itself. Names and coordinates of those axes are folded into the
 *    region's seed, axis by axis in the order of the bytes of their names:
 *
 *      seed = fold(generator seed, PHILOX_FOLD_REGION, FNV-1a(region))
 *      for each axis along which the region differs:
 *              seed = philox_axis_seed(seed, FNV-1a(axis), coordinate)
 *
 *    where coordinate 0 folds nothing.
 *
 * So without a mesh, on rank 0, and along axes of size 1 all numbers are those
 * of a single process, and no number depends on the size of a mesh, on the
 * order of its axes or on the number of ranks. Neither time nor memory to set a
 * rank up grow with the world. In captured graphs nothing is added.
 *
 * Two keys (seeds of operators, philox/region.h) that ought to differ are equal
 * by chance only. Taking each step of a derivation for a random function of 64
 * bits to 64 bits, n keys of operators in m regions that differ along a axes,
 * of one generator, hold a pair of equals with a probability of at most
 *
 *   (n (n - 1) + (a + 1) m (m - 1)) / 2^65
 *
 * with each coordinate's region and key counted as one of its own. 16,384 ranks
 * that all make noise in 96 regions of 20 operators: below 3 in 10^5.
 *
 * Tables of rows (philox/rows.h) are shared along all axes: row r of a table
 * has the same numbers on every rank, as tensor ranks that sample one token
 * need. Ranks that serve requests of their own use different rows of one table,
 * or tables of different names.
 *
 * philox speaks to no network: MPI, NCCL or sockets do. Where ranks have to be
 * compared (philox/agree.h) it takes a callback. A context with a mesh is saved
 * by all ranks as a set of texts (philox/mesh_save.h), which another mesh can
 * load.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
 */
#ifndef PHILOX_MESH_H
#define PHILOX_MESH_H

#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/sized.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PHILOX_MESH_AXES = 8 };

enum philox_axis_flags {
	/* Each coordinate has regions of its own: the stages of a pipeline, the
	 * places of experts. Ranks that differ along such an axis are not asked
	 * to have the same regions (philox/agree.h), only the same generators;
	 * numbers do not depend on this. */
	PHILOX_AXIS_STAGES = 1
};

/* struct philox_axis is one axis of a mesh, and where on it this rank is. */
struct philox_axis {
	const char *name;    /* not empty, unlike those of the other axes */
	uint32_t size;       /* ranks along it, at least 1 */
	uint32_t coordinate; /* of this rank, below size */
	uint32_t flags;      /* enum philox_axis_flags */
	uint32_t reserved;   /* 0 */
};

/*
 * struct philox_mesh is a mesh as one of its ranks sees it. Begin with
 * PHILOX_INIT(). The axes' names are the caller's. An axis that is not there
 * counts as one of size 1, and no axes as the mesh of a single process.
 */
struct philox_mesh {
	size_t size;       /* sizeof(this struct) */
	uint32_t n_axes;   /* 0 .. PHILOX_MESH_AXES */
	uint32_t reserved; /* 0 */
	struct philox_axis axes[PHILOX_MESH_AXES];
};

/*
 * philox_mesh_check() checks a mesh: 8 axes at most, each with a name that no
 * other axis has, a size of at least 1 and a coordinate below it, and a world
 * (the product of the sizes) of at most 2^32 ranks. Errors:
 * PHILOX_ERROR_INVALID, which names the axis. Legal during capture.
 */
PHILOX_API enum philox_status philox_mesh_check(const struct philox_mesh *mesh);

/*
 * philox_mesh_world() writes how many ranks a mesh has: the product of its
 * sizes. philox_mesh_rank() writes which of them this one is, counted from 0,
 * the last axis varying fastest:
 *
 *   rank = (... (c0 s1 + c1) s2 + c2 ...) of coordinates c and sizes s
 *
 * Errors: those of philox_mesh_check(). Legal during capture.
 */
PHILOX_API enum philox_status philox_mesh_world(const struct philox_mesh *mesh,
						uint64_t *world);
PHILOX_API enum philox_status philox_mesh_rank(const struct philox_mesh *mesh,
					       uint64_t *rank);

/*
 * philox_mesh_place() sets the coordinates of a mesh, whatever they were, to
 * those of rank `rank` in a world of `world` ranks, by the formula above; the
 * rest of the mesh stays.
 * Errors: those of philox_mesh_check(); PHILOX_ERROR_INVALID for a product of
 * the sizes that is not `world`, and for a rank beyond it; then the mesh is as
 * before. Legal during capture.
 */
PHILOX_API enum philox_status philox_mesh_place(struct philox_mesh *mesh,
						uint64_t rank, uint64_t world);

/*
 * philox_mesh_here() does so with the rank and the world that a launcher has
 * put into the environment: the first of these pairs of which a variable is
 * set:
 *
 *   RANK                  WORLD_SIZE            torchrun
 *   OMPI_COMM_WORLD_RANK  OMPI_COMM_WORLD_SIZE  Open MPI's mpirun
 *   PMI_RANK              PMI_SIZE              MPICH's, Intel's
 *   SLURM_PROCID          SLURM_STEP_NUM_TASKS  srun
 *
 * and without any of them rank 0 of 1. SLURM_PROCID alone counts as not set:
 * the script of a batch job has it, too, which is one process. Errors: those of
 * philox_mesh_place(); PHILOX_ERROR_INVALID, which names the variable, for one
 * that is not a decimal number below 2^64 and for one whose pair is not set,
 * even if a later pair is. Then the mesh is as before. Must not run while
 * another thread changes the environment. Legal during capture.
 */
PHILOX_API enum philox_status philox_mesh_here(struct philox_mesh *mesh);

/*
 * philox_context_set_mesh() gives a context its place in a mesh, of which it
 * keeps a copy: before its first region is made, since regions are made for a
 * place; another mesh may replace it until then. Errors: those of
 * philox_mesh_check(); PHILOX_ERROR_STATE, which names a region, if one was
 * made already, even if it was destroyed since: its name has numbers of that
 * place. Legal during capture.
 */
PHILOX_API enum philox_status philox_context_set_mesh(
	struct philox_context *context, const struct philox_mesh *mesh);

/*
 * philox_context_mesh() writes the mesh of a context, with no axes if it has
 * none. The names belong to the context and live until another mesh is set.
 * Errors: PHILOX_ERROR_INVALID (NULL, a wrong `size`). Legal during capture.
 */
PHILOX_API enum philox_status philox_context_mesh(
	struct philox_context *context, struct philox_mesh *mesh);

#ifdef __cplusplus
}
#endif
#endif
