/*
 * lib/ranks/agree.h - what ranks have to agree on, and how they compare it
 *
 * Note [Agreement]
 * ~~~~~~~~~~~~~~~~
 * What ought to agree is compared in three ways that share these rules: as
 * digests, as texts, and in the model of tests/support/agree_model.c. Two ranks
 * differ along the axes along which their coordinates differ.
 *
 *  generators   All ranks: how many, seeds and offsets, in order of creation.
 *  regions      Ranks that differ along no axis with PHILOX_AXIS_STAGES: the
 *               same are alive, each with the same shape: generator, flags,
 *               axes along which it differs, operators.
 *  their states Ranks that, besides, differ along no axis along which the
 *               region differs: the state and serial of its next forward, what
 *               others have issued (Note [Saved context]), whether a forward of
 *               a SHARED one is open, and its tickets, each with its serial,
 *               state, iterations, phase, open passes, and whether one of them
 *               uses it up.
 *  tables       As the shape of regions: name, generator and number of rows.
 *               Stages need not have the same tables, as only one of them
 *               samples.
 *
 * Nothing else: not how many tickets a region has room for, in which order
 * regions were made, captures, graphs, saved contexts, the rows of tables, which
 * the device holds, nor the device. Nor destroyed names: along which axes one
 * has differed is forgotten with its region, so its offset may rightly be
 * another on each rank; what it has issued shows again in the region that is
 * made of it.
 *
 * These rules hold between any two ranks if they hold between those that differ
 * along one axis only: from one rank to another there is a way along one axis
 * after the other, and no rule forbids a step that it allows the whole way. So
 * a digest for each axis is enough.
 *
 * Items are the generators together, each region and each table. The digest
 * along an axis is the sum of those of the items that ought to agree along it,
 * each made from its key, its shape and, unless it differs along the axis, its
 * states; tickets are added up, too. So nothing is sorted, and no memory taken.
 *
 * If ranks do not agree, their texts could fill the memory of each of 16,384
 * ranks. So they first look for one item that does not agree: they divide all
 * items by three bits of their keys, compare the eight sums, go on with the
 * first part that differs, and repeat this. The texts that they then send to
 * each other have only the generators and what is left in that part.
 *
 * All ranks call gather() equally often, as what they do next depends only on
 * what all have been sent. A rank that fails sends that, and the question ends
 * for all of them.
 *
 * Note [Text of a rank]
 * ~~~~~~~~~~~~~~~~~~~~~
 *   philox ranks 1
 *   axis "data" size 4 at 0
 *   generator 0 state 000000000000002a 0000000000000000
 *   region "block.0" alive generator 0 flags 0 next 9f86... 0000... serial 4
 *   op "dropout" calls 1 advance 4
 *   ticket 2 state 9f86d081884c7d65 0000000000000004
 *   ticket 3 state 9f86d081884c7d65 0000000000000008 open
 *   rows "requests" generator 0 count 2
 *   checksum 0123456789abcdef bytes 297
 *
 * The lines are those of Note [Saved context], except that
 *
 *  philox ranks V   is the first, and has a count of versions of its own, each
 *                   with all kinds of lines;
 *  region ...       is there for living regions only, and ends with " open" if
 *                   it is SHARED and a forward of it is open;
 *  ticket ...       is there in every phase. After the iterations come " open"
 *                   for a forward that is open, or " done" for a ticket that is
 *                   used up and still read; then " readers N" if N passes are
 *                   open on it, and then " pass" or " launch" if one that uses
 *                   it up is among them;
 *  rows ...         has no row below it, and "destroyed" and "none" do not
 *                   occur.
 */
#ifndef LIB_RANKS_AGREE_H
#define LIB_RANKS_AGREE_H

#include <philox/agree.h>
#include "lib/base/status.h"
#include "lib/save/part.h"

enum { AGREE_SPLIT_BITS = 3 };

_Static_assert(1 << AGREE_SPLIT_BITS == PHILOX_MESH_AXES,
	       "a digest has a sum for each part");

/*
 * agree_mesh() is a digest's word for a mesh, agree_digest() what
 * philox_mesh_digest() writes. agree_split() writes, in along[], the
 * sums of the eight parts that the items of a part are divided into, as they
 * count along one axis. Both with the lock held. (lib/ranks/digest.c)
 */
uint64_t agree_mesh(const struct philox_mesh *mesh);
void agree_digest(const struct philox_context *context,
		  struct philox_rank_digest *digest);
void agree_split(const struct philox_context *context, uint32_t axis,
		 const struct save_part *part,
		 struct philox_rank_digest *digest);

/*
 * The digests of all ranks of a mesh that was checked: order[r] is the number
 * of that of rank r.
 */
struct agree_digests {
	const struct philox_mesh *mesh;
	const struct philox_rank_digest *digests;
	size_t *order; /* of as many as the mesh has ranks */
	size_t n;
};

/* What a comparison has found: along which axis, and of which two ranks. */
struct agree_found {
	uint32_t axis;
	uint64_t ranks[2];
};

/*
 * agree_compare() is philox_mesh_compare(). On ERROR_MISMATCH, *found says
 * where, or has PHILOX_MESH_AXES as axis if the meshes differ; order[] is
 * filled in. agree_compare_part() compares one word of the digests along an
 * axis: 1, if it differs. (lib/ranks/agree_compare.c)
 */
enum philox_status agree_compare(const struct agree_digests *all,
				 struct agree_found *found);
int agree_compare_part(const struct agree_digests *all, uint32_t axis,
		       unsigned word, struct agree_found *found);

/*
 * agree_explain() is philox_mesh_explain() of texts that are there.
 * (lib/ranks/explain.c)
 */
enum philox_status agree_explain(const char *const *texts, const size_t *sizes,
				 size_t n);

#endif
