/*
 * lib/ranks/merge.h - the texts of one mesh made into the text of another's rank
 *
 * Note [Another mesh]
 * ~~~~~~~~~~~~~~~~~~~
 * A rank of a new mesh wants regions, and tables of rows, by name; the texts of
 * the old mesh are looked at one after the other, in order of rank, and each
 * name goes by these rules. An axis that a mesh lacks has size 1 and coordinate
 * 0 in it; so a text without a mesh is that of the only rank, and an axis with
 * another name is one that has gone and one that has come.
 *
 *  1. In all texts a name that is alive has the same shape: generator, flags,
 *     axes along which it differs, operators. What is wanted differs along the
 *     same of those axes that both meshes have.
 *  2. The axes that matter are those along which the region differs in the
 *     texts or is to differ. A text that is at the place of the new rank along
 *     them is one to go on from; where there are several, they must agree in
 *     state, serial and tickets. If no axis matters, that is all texts.
 *  3. If the size of an axis that matters has changed, no text may have tickets
 *     pending: a forward's numbers were those of coordinates that are no more.
 *  4. If there is no text to go on from, and such a size has changed, the region
 *     starts fresh: with the seed of its new place, and at the highest offset
 *     and serial that any text knows of the name, so that coordinates that were
 *     there once, even several meshes ago, never draw their numbers again. If
 *     no size has changed, it cannot be loaded.
 *  5. For the same reason a text says what coordinates have issued that are
 *     gone ("issued", Note [Saved context]): the highest of what all texts say
 *     of coordinates that the new mesh does not have, of what they have read
 *     before it of others, and of names that were destroyed.
 *  6. A name that is in a text, alive or destroyed, and is not wanted is a
 *     destroyed one with the highest offset and serial that any text knows of
 *     it: if it is made later, it goes on from there.
 *  7. Generators must agree in all texts; a table of rows in all that have it,
 *     row by row.
 *
 * If the mesh is the same, whatever the order of its axes and their flags, a
 * rank's own text comes first. What it has alive is taken as it is, what it has
 * and is not wanted is a destroyed name (rule 6), and names of other texts are
 * not known. Other texts are read, all of them, if something is wanted that the
 * own does not have, which has moved then; generators must agree with them too.
 */
#ifndef LIB_RANKS_MERGE_H
#define LIB_RANKS_MERGE_H

#include <stddef.h>
#include <stdint.h>
#include "lib/save/read.h"

#define MERGE_NONE SIZE_MAX /* no place in a table */

/* How far a name has come. */
struct merge_mark {
	uint64_t offset;
	uint64_t serial; /* 0: not there at all */
};

struct merge_region {
	char *name;
	const struct saved_region *wanted; /* NULL: nobody wants it */
	size_t shape; /* of all texts, in `kept`; or MERGE_NONE */
	size_t next;  /* to go on from, in `kept`; or MERGE_NONE */
	uint64_t shape_rank, next_rank;
	uint64_t ticket_rank;      /* the first that has tickets */
	size_t n_tickets;          /* its tickets; 0: none has any */
	struct merge_mark highest; /* in all texts */
	struct merge_mark gone;    /* at coordinates that will not be */
	struct saved_region last;  /* the text that last had it destroyed or
				      not wanted */
	int fresh;                 /* it starts so */
};

struct merge_table {
	const char *name;
	size_t kept; /* or MERGE_NONE */
	uint64_t rank;
};

struct merge {
	const struct saved *wanted;
	struct philox_mesh from; /* borrowed names; coordinates do not matter */
	int same;                /* the meshes are the same */
	uint64_t own;            /* if so, the text of the same place */
	struct saved kept;       /* regions and tables, in no order */
	int has_generators;
	uint64_t generator_rank;
	struct merge_region *regions; /* in order of their names */
	size_t n_regions, n_sorted;
	struct merge_table *tables; /* as `wanted` has them */
};

/*
 * merge_init() begins to make what a rank has in another mesh. `wanted` has the
 * mesh with the rank's place, the regions it wants with the axes along which
 * they are to differ, and tables, both in order of their names; nothing else in
 * it matters, and it must stay. `from` is the mesh of the texts. ERROR_MEMORY.
 */
enum philox_status merge_init(struct merge *merge, const struct saved *wanted,
			      const struct philox_mesh *from);

/*
 * merge_add() takes what is needed from the text of a rank of the old mesh:
 * ERROR_MISMATCH, which names region or generator, axis and ranks;
 * ERROR_MEMORY. If the mesh is the same, text merge->own comes first, and the
 * others only while merge_lacks() something.
 */
enum philox_status merge_add(struct merge *merge, const struct saved *saved,
			     uint64_t rank);
int merge_lacks(const struct merge *merge);

void merge_finish(struct merge *merge);

#endif
