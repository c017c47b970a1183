/*
 * philox/agree.h - whether the ranks of a mesh still run one program
 *
 * A rank that is one call ahead, that was seeded otherwise or that lacks a
 * region draws wrong numbers without any error. So ranks compare themselves
 * from time to time:
 *
 *   if (step % 100 == 0)
 *           status = philox_mesh_agree(context, gather, communicator);
 *
 * What ought to agree (Note [Agreement] in lib/ranks/ranks.h): two ranks whose
 * coordinates differ along one axis only must have
 *
 *  - the same generators: how many, their seeds and offsets,
 *  - unless the axis has PHILOX_AXIS_STAGES: the same regions, with the same
 *    operators, generator, flags and axes along which they differ, and of each
 *    region that is shared along the axis the state and serial of its next
 *    forward, and its tickets with their states and open passes,
 *  - unless the axis has PHILOX_AXIS_STAGES: the same tables of rows, with the
 *    same size and generator. The states of rows, which only the device knows,
 *    are not compared.
 *
 * What must agree between any two ranks follows, axis by axis. Destroyed
 * regions, the order in which things were made, how many tickets a region has
 * room for, saved contexts, graphs, pools and devices need not agree.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise. Ranks are to be
 * compared at the same place of their programs, while no other thread begins or
 * ends passes, or launches. Nothing is written into journals or traces.
 */
#ifndef PHILOX_AGREE_H
#define PHILOX_AGREE_H

#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * struct philox_rank_digest is what a rank shows to the others: along[i] is for
 * axis i of the context's mesh, and two ranks that differ along this axis only
 * have the same along[i] if and only if (except by chance, one in 2^64) what
 * must agree between them does. It has no padding: its bytes may be compared
 * and sent. Begin with PHILOX_INIT().
 */
struct philox_rank_digest {
	uint64_t size; /* sizeof(this struct) */
	uint64_t rank; /* of the context's mesh */
	uint64_t mesh; /* of names, sizes and flags of the axes: equal on all
			  ranks */
	uint64_t along[PHILOX_MESH_AXES]; /* 0 for axes that are not there */
};

/*
 * philox_mesh_digest() writes the digest of a context as it is. It costs time
 * in proportion to the context's regions, operators and tickets (`philox bench
 * --only ranks` measures it), allocates no memory and does not wait for the
 * device. Do not compare digests of different versions of the library. Errors:
 * PHILOX_ERROR_INVALID. Legal during capture.
 */
PHILOX_API enum philox_status philox_mesh_digest(
	struct philox_context *context, struct philox_rank_digest *digest);

/*
 * philox_mesh_compare() compares the digests of all ranks of a world, in any
 * order: PHILOX_OK if they agree, else PHILOX_ERROR_MISMATCH, and the message
 * names the axis and the first ranks that differ along it, or the first of
 * another mesh. `mesh` is that of one of the ranks, any of them. Errors:
 * PHILOX_ERROR_INVALID for a number `n` that is not that of the ranks, and for
 * a rank that comes twice or is beyond them; PHILOX_ERROR_MEMORY. Legal during
 * capture.
 */
PHILOX_API enum philox_status philox_mesh_compare(
	const struct philox_mesh *mesh,
	const struct philox_rank_digest *digests, size_t n);

/*
 * philox_mesh_describe() writes what ought to agree as a text that ends with a
 * NUL, and its size without that (`size` may be NULL): lines in the manner of
 * saved contexts (Note [Text of a rank] in lib/ranks/ranks.h), whether or not
 * passes are open. The caller frees it with free(). On an error nothing is
 * written. Errors: PHILOX_ERROR_INVALID, PHILOX_ERROR_MEMORY. Legal during
 * capture.
 */
PHILOX_API enum philox_status philox_mesh_describe(
	struct philox_context *context, char **text, size_t *size);

/*
 * philox_mesh_explain() takes such texts of `n` ranks of one mesh, in any
 * order, and says in words what differs first: PHILOX_ERROR_MISMATCH, with a
 * message that names the axes, the generator, region, operator, ticket or
 * table, two values, and the ranks that have each; PHILOX_OK if nothing
 * differs. A few ranks of a world are enough: those that are there are
 * compared. Texts of different meshes are a PHILOX_ERROR_MISMATCH that names
 * the texts, counted from 0. Errors, which name the text: PHILOX_ERROR_INVALID
 * for one that is NULL, damaged, or of a rank that came before;
 * PHILOX_ERROR_UNSUPPORTED for one of a newer version; PHILOX_ERROR_MEMORY.
 * Legal during capture.
 */
PHILOX_API enum philox_status philox_mesh_explain(const char *const *texts,
						  const size_t *sizes,
						  size_t n);

/*
 * philox_mesh_agree() does it all: it is called by all ranks of the mesh, and
 * gives all of them the same answer: PHILOX_OK, or PHILOX_ERROR_MISMATCH with a
 * message as that of philox_mesh_explain().
 *
 * `gather` is an allgather among exactly these ranks, as many as
 * philox_mesh_world() says:
 *
 *   enum philox_status gather(void *user, const void *mine, size_t size,
 *                             void *all);
 *
 * Each gives `size` bytes at `mine`, the same size on all ranks, and on all of
 * them all bytes arrive at `all`, those of one rank after those of another, in
 * the same order every time. It returns PHILOX_OK, or an error that
 * philox_mesh_agree() returns. All ranks call it equally often, whatever they
 * lack: once, with sizeof(struct philox_rank_digest), if they agree, and at
 * most eight times otherwise; sums of parts lead them to one thing that
 * differs, and only the texts of that are sent. A rank that has no memory for
 * its text lets the others know; then all return PHILOX_ERROR_MISMATCH and name
 * axis and ranks.
 *
 * Without a mesh, or in a world of one rank, `gather` is not called. It has to
 * fail on all ranks or on none: a rank on which it fails does not call it
 * again, and others might wait for it. The same is true of a rank of a world of
 * more than 128 that has no memory for their digests, and of wrong arguments.
 *
 * Errors: PHILOX_ERROR_INVALID for two ranks of the same coordinates, on all
 * ranks; PHILOX_ERROR_MEMORY; those of gather. No lock is held in `gather`,
 * which is called on this thread, and may use the context, but not give it
 * another mesh. Legal during capture if `gather` is.
 */
PHILOX_API enum philox_status philox_mesh_agree(
	struct philox_context *context,
	enum philox_status (*gather)(void *, const void *, size_t, void *),
	void *user);

#ifdef __cplusplus
}
#endif
#endif
