/*
 * philox/agree.h - do the ranks of a mesh still run one program?
 *
 * A rank that is one call ahead, that was seeded otherwise or that lacks a
 * region draws wrong numbers without any error. So ranks compare themselves
 * from time to time:
 *
 *   if (step % 100 == 0)
 *           status = philox_mesh_agree(context, gather, communicator);
 *
 * What ought to agree (Note [Agreement] in lib/save/agree.h): two ranks whose
 * coordinates differ along one axis only must have
 *
 *  - the same generators: how many, their seeds and offsets,
 *  - unless the axis has PHILOX_AXIS_STAGES: the same regions, with the same
 *    operators, generator, flags and axes along which they differ, and of each
 *    region that is shared along the axis the state and serial of its next
 *    forward, and its tickets with their states.
 *
 * What must agree between any two ranks follows, axis by axis. Tables of rows
 * must agree in name, size and generator; the states of their rows, which only
 * the device knows, are not compared. Saved contexts, graphs, pools and the
 * ledgers' capacities need not agree.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise. Ranks are to be
 * compared at the same place of their programs.
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
 * struct philox_mesh_digest is what a rank shows to the others: along[i] is for
 * axis i of the context's mesh, and equal (except by chance, one in 2^64) if
 * and only if what must agree along that axis agrees. It has no padding: its
 * bytes may be compared and sent. Begin with PHILOX_INIT().
 */
struct philox_mesh_digest {
	uint64_t size; /* sizeof(this struct) */
	uint64_t rank; /* of the context's mesh */
	uint64_t mesh; /* of names, sizes and flags of the axes: equal on all
			  ranks */
	uint64_t along[PHILOX_MESH_AXES]; /* 0 for axes that are not there */
};

/*
 * philox_mesh_digest() writes the digest of a context as it is. It costs time
 * in proportion to the context's regions and tickets, and does not wait for the
 * device. Do not compare digests of different versions of the library. Errors:
 * PHILOX_ERROR_INVALID, PHILOX_ERROR_MEMORY. Legal during capture.
 */
PHILOX_API enum philox_status philox_mesh_digest(
	struct philox_context *context, struct philox_mesh_digest *digest);

/*
 * philox_mesh_compare() compares the digests of all ranks of a world, in any
 * order: PHILOX_OK if they agree, else PHILOX_ERROR_MISMATCH, and the message
 * names the axis and the first ranks that differ along it. Errors:
 * PHILOX_ERROR_INVALID for a rank that comes twice or is missing. Legal during
 * capture.
 */
PHILOX_API enum philox_status philox_mesh_compare(
	const struct philox_mesh *mesh,
	const struct philox_mesh_digest *digests, size_t n);

/*
 * philox_mesh_describe() writes what ought to agree as a text that ends with a
 * NUL, and its size without that: lines in the manner of saved contexts,
 * whether or not passes are open. The caller frees it with free().
 * philox_mesh_explain() takes such texts of several ranks, in any order, and
 * says in words what differs first: PHILOX_ERROR_MISMATCH, with a message that
 * names the generator, region, operator or ticket, the axis, both values, and
 * the ranks that have each; PHILOX_OK if nothing differs. Errors:
 * PHILOX_ERROR_INVALID, which names the text, PHILOX_ERROR_MEMORY. Legal during
 * capture.
 */
PHILOX_API enum philox_status philox_mesh_describe(
	struct philox_context *context, char **text, size_t *size);
PHILOX_API enum philox_status philox_mesh_explain(const char *const *texts,
						  const size_t *sizes,
						  size_t n);

/*
 * philox_mesh_agree() does it all: it is called by all ranks of the mesh, and
 * gives all of them the same answer. `gather` is an allgather among them: rank
 * r gives `size` bytes at `mine`, the same size on all ranks, which arrive as
 * bytes r * size and so on of `all`. It returns PHILOX_OK, or an error that
 * philox_mesh_agree() returns. It is called once, with sizeof(struct
 * philox_mesh_digest), if all agree, and else twice more, for the texts and
 * their sizes. Without a mesh, or in a world of one rank, it is not called. A
 * rank that cannot make its part takes part all the same, and all ranks learn
 * of it. Returns PHILOX_ERROR_MISMATCH with the message of
 * philox_mesh_explain() if the ranks do not agree. Errors:
 * PHILOX_ERROR_INVALID, PHILOX_ERROR_MEMORY, those of gather. No lock is held
 * in `gather`, which may be called only on this thread. Legal during capture if
 * `gather` is.
 */
typedef enum philox_status philox_gather(void *user, const void *mine,
					 size_t size, void *all);
PHILOX_API enum philox_status philox_mesh_agree(struct philox_context *context,
						philox_gather *gather,
						void *user);

#ifdef __cplusplus
}
#endif
#endif
