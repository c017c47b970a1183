/*
 * lib/ranks/ranks.h - the ranks of a mesh: do they agree, their texts as one
 * set, other meshes
 */
#ifndef LIB_RANKS_RANKS_H
#define LIB_RANKS_RANKS_H

#include <stddef.h>
#include <stdint.h>
#include <philox/mesh.h>
#include "lib/base/base.h"
#include "lib/names/keyed.h"
#include "lib/containers/map.h"
#include "lib/save/part.h"
#include "lib/save/save.h"

/* --- agree: what ranks have to agree on, and how they compare it ---------- */

/*
 * Note [Agreement]
 * ~~~~~~~~~~~~~~~~
 * What ought to agree is compared in three ways that share these rules: as
 * digests, as texts, and in the model of tests/support/models/agree.c. Two
 * ranks differ along the axes along which their coordinates differ.
 *
 *  generators   All ranks: how many, in order of creation; which of them have
 *               PHILOX_GENERATOR_DIFFERS, and seeds and offsets of the others.
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
 *  data         As a region that differs along no axis: the shape is generator,
 *               sources, block and order, the states are seed and position.
 *
 * Nothing else: not how many tickets a region has room for, in which order
 * regions were made, captures, graphs, saved contexts, the rows of tables,
 * which the device holds, nor the device. Nor destroyed names: along which axes
 * one has differed is forgotten with its region, so its offset may rightly be
 * another on each rank; what it has issued shows again in the region that is
 * made of it.
 *
 * These rules hold between any two ranks if they hold between those that differ
 * along one axis only: from one rank to another there is a way along one axis
 * after the other, and no rule forbids a step that it allows the whole way. So
 * a digest for each axis is enough.
 *
 * Items are the generators together, each region, each table and each data. The
 * digest along an axis is the sum of those of the items that ought to agree
 * along it, each made from its key, its shape and, unless it differs along the
 * axis, its states; tickets are added up, too. So nothing is sorted, and no
 * memory taken.
 *
 * If ranks do not agree, their texts could fill the memory of each of 16,384
 * ranks. So they first look for one item that does not agree: they divide all
 * items by three bits of their keys, compare the eight sums, continue with the
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
 *                   with all kinds of lines: 3 if there are data, else 2 if a
 *                   generator differs, else 1.
 *                   The state of such a one is there, but is not compared;
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

enum { AGREE_SPLIT_BITS = 3 };

_Static_assert(1 << AGREE_SPLIT_BITS == PHILOX_MESH_AXES,
	       "a digest has a sum for each part");

/*
 * agree_digest() is what philox_context_rank_digest() writes. agree_split()
 * writes, in along[], the sums of the eight parts that the items of a part are
 * divided into, as they count along one axis. Both with the lock held.
 * (lib/ranks/digest.c)
 */
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
 * axis: 1, if it differs. (lib/ranks/digest.c)
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

/* --- steps: whether the texts of a set are of one step -------------------- */

/*
 * Note [Texts of one step]
 * ~~~~~~~~~~~~~~~~~~~~~~~~
 * A rank whose save failed or is late leaves the text of an earlier save at the
 * path of its next one. Each of these texts is whole, and of its mesh and rank;
 * what shows it is how far regions and generators have come. Two texts are of
 * one step only if these are the same in both, which no axis with
 * PHILOX_AXIS_STAGES separates:
 *
 *  - the next forward, its serial and its offset, of a region that is in both,
 *    alive, shared along all axes, and has the same seed in both: ranks may
 *    have other generators;
 *  - the position of data that are in both with the same seed;
 *  - the offset of a generator that has the same number and the same seed in
 *    both, and does not differ between ranks. A SHARED region's offset is that
 *    of its generator. So a forward of it that owes no backward leaves a trace
 *    here only.
 *
 * Ranks on other stages need not move generators alike to be of one step: only
 * another mesh wants generators to agree there.
 *
 * The texts are read one after the other, and what is kept of them is one step
 * for each such region or generator, seed and combination of stages, as the
 * first text has it. It is looked up by their hash: so a seal takes time and
 * memory in proportion to the texts.
 */

struct saved;
struct step;

/* What the texts so far say. */
struct steps {
	struct step *steps; /* in the order in which they came */
	size_t n;
	struct map numbers; /* of them, counted from 1, by their hashes */
};

/*
 * set_steps_add() compares the text of one more rank, of a set that is to be at
 * a path, with those before: ERROR_MISMATCH, which names two texts;
 * ERROR_MEMORY.
 */
enum philox_status set_steps_add(struct steps *steps, const struct saved *saved,
				 const char *path);
void set_steps_finish(struct steps *steps);

/* --- set: the texts of all ranks of a mesh as one set --------------------- */

/*
 * Note [Set of texts]
 * ~~~~~~~~~~~~~~~~~~~
 * The text of rank R is the file PATH.R (Note [Saved context]); the manifest,
 * PATH itself, is a text like it:
 *
 *   philox set 2
 *   axis "data" size 2
 *   axis "stage" size 2 stages
 *   text 0 checksum 0123456789abcdef bytes 397 contents 5d0a2f3c9e41b786
 *   text 1 checksum 8b51f0cdfe2ae5ee bytes 401 contents 90be61d7f2c8a435
 *   text 2 checksum 0c13ffa3b86c9d10 bytes 397 contents 5d0a2f3c9e41b786
 *   text 3 checksum 63ae0b48e3a4f9c2 bytes 401 contents 90be61d7f2c8a435
 *   checksum 3f2e3b1c5d60a98e bytes 335
 *
 *  philox set V       The version, 2. Texts of version 1 lack "contents".
 *  axis NAME size N [stages]
 *                     The axes of the mesh, in order; none for a single rank
 *                     without a mesh.
 *  text R checksum H bytes B contents C
 *                     For each rank from 0 on: what the last line of its text
 *                     says; and FNV-1a, 64 bits, of those of its lines that
 *                     make it another one than that of another rank: all but
 *                     the first, the axes, outputs and the checksum. See Note
 *                     [Texts that say the same].
 *  checksum H bytes B That of the manifest.
 *
 * A manifest is written when all texts were found whole, to be those of its
 * mesh and their ranks, and of one step (Note [Texts of one step]). A text that
 * was saved afterwards, or is of another set, ends otherwise: so a set is read
 * only if nothing has changed since. A save that is killed leaves texts without
 * a manifest. Since the manifest says how texts end, they need not be read to
 * know that they are those of the set, but they are read whole before anything
 * is done with them.
 */

#define SET_VERSION          2
#define SET_VERSION_CONTENTS 2 /* the first with contents */
#define SET_START            "philox set "

/* What the last line of a text says, and the hash of its contents. */
struct set_end {
	uint64_t checksum;
	uint64_t bytes;
	uint64_t contents; /* of a text that was read, and of version 2 */
};

extern const struct field set_end_fields[];

struct set {
	struct philox_mesh mesh; /* at rank 0; its names are its own */
	struct set_end *ends;    /* one for each rank */
	size_t n;
	uint64_t version;
};

/*
 * set_read() reads a manifest: ERROR_INVALID, ERROR_UNSUPPORTED, ERROR_MEMORY.
 * The memory it takes is in proportion to the text. set_write() writes one.
 */
enum philox_status set_read(const char *text, size_t size, struct set *set);
enum philox_status set_write(const struct set *set, struct text *text);
void set_finish(struct set *set);

/* set_path() makes the path of a rank's text, for free(); NULL: no memory. */
char *set_path(const char *path, uint64_t rank);

/*
 * set_read_text() reads the text of a rank, which must be whole, of that rank
 * of the mesh, and end as `expected` says, unless that is NULL. *end is how it
 * ends; NULL if nobody asks. Every error names the file: ERROR_FILE,
 * ERROR_INVALID for a text that is damaged or not the expected one,
 * ERROR_UNSUPPORTED, ERROR_MISMATCH for one of another mesh or rank,
 * ERROR_MEMORY.
 */
enum philox_status set_read_text(const char *path, uint64_t rank,
				 const struct philox_mesh *mesh,
				 const struct set_end *expected,
				 struct saved *saved, struct set_end *end);

/*
 * A manifest in the making, for texts that come in order of rank. draft_of()
 * begins one for a path and a mesh, both borrowed. draft_add() takes how the
 * next text ends, if it is of one step with those before: ERROR_MISMATCH,
 * ERROR_MEMORY. draft_add_text() reads it, too, and wants it to be that of the
 * next rank: the errors of set_read_text(). set_write() of its set writes the
 * manifest; draft_finish() ends it.
 */
struct draft {
	struct set set; /* with borrowed names */
	struct steps steps;
	const char *path;
};

struct draft draft_of(const struct philox_mesh *mesh, const char *path);

enum philox_status draft_add(struct draft *draft, const struct saved *saved,
			     const struct set_end *end);
enum philox_status draft_add_text(struct draft *draft, const char *text,
				  size_t size);
void draft_finish(struct draft *draft);

/*
 * set_seal() reads the texts of all ranks of a mesh that was taken without its
 * coordinates, and writes the manifest: the errors of philox_mesh_seal().
 */
enum philox_status set_seal(const struct philox_mesh *mesh, const char *path);

/* --- merge: the texts of one mesh made into the text of another's rank ---- */

/*
 * Note [Another mesh]
 * ~~~~~~~~~~~~~~~~~~~
 * A rank of a new mesh wants regions, tables of rows and data, by name; the
 * texts of the old mesh are looked at one after the other, in order of rank,
 * and each name goes by these rules. An axis that a mesh lacks has size 1 and
 * coordinate 0 in it; so a text without a mesh is that of the only rank, and an
 * axis with another name is one that has gone and one that has come.
 *
 *  1. In all texts a name that is alive has the same shape: generator, flags,
 *     axes along which it differs, operators. What is wanted differs along the
 *     same of those axes that both meshes have.
 *  2. The axes that matter are those along which the region differs in the
 *     texts or will differ. A text that is at the place of the new rank along
 *     them is one to continue from; where there are several, they must agree in
 *     state, serial and tickets. If no axis matters, that is all texts.
 *  3. If the size of an axis that matters has changed, no text may have tickets
 *     pending: a forward's numbers were those of coordinates that no longer exist.
 *  4. If there is no text to continue from, and such a size has changed, the
 *     region starts fresh: with the seed of its new place, and at the highest
 *     offset and serial that any text knows of the name, so that coordinates
 *     that were there once, even several meshes ago, never draw their numbers
 *     again. If no size has changed, it cannot be loaded.
 *  5. For the same reason a text says what former coordinates have
 *     issued ("issued", Note [Saved context]): the highest of what all texts say
 *     of coordinates that the new mesh does not have, of what they have read
 *     before it of others, and of names that were destroyed.
 *  6. A name that is in a text, alive or destroyed, and is not wanted is a
 *     destroyed one with the highest offset and serial that any text knows of
 *     it: if it is made later, it continues there.
 *  7. Generators must agree in all texts; a table of rows in all that have it,
 *     row by row; and data in all that have them, with seed and position. Of a
 *     generator that differs between ranks nothing says which of them had a
 *     state in common, so that they would have to go on with it together. So
 *     all ranks of the new mesh have the highest offset that any text has,
 *     after which no number comes again on any of them; and its seed must be
 *     the same in all texts.
 *
 * If the mesh is the same, whatever the order of its axes and their flags, a
 * rank's own text comes first. What it has alive is taken as it is, what it has
 * and is not wanted is a destroyed name (rule 6), and names of other texts are
 * not known. Other texts are read, all of them, if something is wanted that the
 * own does not have, which has moved then; generators must agree with them too,
 * but for those that differ.
 * The outputs of runners that the own text names are the rank's. From another
 * mesh no outputs are taken: their tensors were shards of that mesh.
 *
 * All that this needs of the texts, but for rule 2, is the same for every rank
 * of the new mesh. What is made for all of them at once keeps, for each region,
 * what ranks at each place along the axes that matter go on from; so each text
 * is looked at once.
 *
 * Note [Texts that say the same]
 * ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
 * A text adds nothing to what was taken from another one (Note [Another mesh])
 * if all its lines but the first, those of axes and those of outputs are the
 * same, and it is at the same place along the axes that matter to those regions
 * of it that are wanted. For whatever is taken depends on nothing else: names,
 * shapes, states and tickets are compared with what is there, and are the same;
 * marks are raised to what they are; and whether a region is here, elsewhere or
 * gone is asked of the coordinates along the axes that matter to it. Outputs
 * are taken from the own text only, which is always read. What a text refuses
 * the other one had refused before. The rank in a message is that of the first
 * text that has a value, which is read.
 *
 * So of texts whose contents have the same hash, as the manifest says, one is
 * read; two others have it by chance only, one in 2^64. Ranks apart along an
 * axis along which a region differs have other seeds of it, and so other
 * contents. But what decides is the place, as a text may be made by hand.
 *
 * A text that is not read may be damaged or gone: what is loaded is what was
 * sealed, when all texts had been read.
 */

#define MERGE_NONE SIZE_MAX /* no place in a table */

/* How far a name has come. */
struct merge_mark {
	uint64_t offset;
	uint64_t serial; /* 0: not there at all */
};

/* What a region may go on from, for ranks at one place. */
struct merge_next {
	uint64_t place; /* along the axes that matter, as one number */
	size_t kept;
	uint64_t rank; /* whose text it is of */
};

struct merge_region {
	char *name;
	const struct saved_region *wanted; /* NULL: nobody wants it */
	size_t shape; /* of all texts, in `kept`; or MERGE_NONE */
	uint64_t shape_rank;
	uint64_t number;          /* in order of appearance */
	struct merge_next *nexts; /* the same */
	size_t n_nexts;
	uint64_t ticket_rank;      /* the first that has tickets */
	size_t n_tickets;          /* its tickets; 0: none has any */
	struct merge_mark highest; /* in all texts */
	struct merge_mark gone;    /* at coordinates that will not be */
	struct saved_region last;  /* the first text that has it destroyed or
				      not wanted */
	struct saved_region any;   /* for all ranks: that has it at all */
	uint64_t other_rank;       /* a text where `any` has another generator */
	uint32_t other_generator;  /* that one, if it is not that of `any` */
	int fresh;                 /* it starts so */
};

/* A generator that differs, whose seed is another in some text than in the
 * first. */
struct merge_seeds {
	int found;
	size_t generator;
	uint64_t rank; /* the second one's */
	uint64_t seeds[2];
};

struct merge_table {
	const char *name;
	size_t kept; /* or MERGE_NONE */
	uint64_t rank;
};

struct merge {
	const struct saved *wanted;
	int all;                 /* of all ranks, wherever they are */
	struct philox_mesh from; /* borrowed names; coordinates do not matter */
	int same;                /* the meshes are the same */
	uint64_t own;            /* if so, the text of the same place */
	struct saved kept;       /* regions, tables and data, in no order */
	int has_generators;
	uint64_t generator_rank;
	struct merge_seeds seeds;
	struct merge_region *regions; /* by name, once it is made */
	size_t n_regions, n_sorted;
	struct keyed by_name;  /* regions */
	struct keyed by_place; /* what to go on from, by region and place */
	struct merge_table *tables; /* in order of their names */
	struct merge_table *data;   /* the same, for data */
	size_t n_tables, n_data;
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

/*
 * merge_axes() gives those axes of the texts' mesh, bit i for axis i, that
 * matter to what is wanted of a text that was added: Note [Texts that say the
 * same].
 */
unsigned merge_axes(const struct merge *merge, const struct saved *saved);

/*
 * merge_init_all() begins to make what all ranks have: `wanted` has what any of
 * them wants. Every text is added once, in order of rank. Then merge_use() says
 * which rank it is and what that one wants, before merge_make(): its place, and
 * regions and tables in order of their names, of those of all. It has to stay.
 */
enum philox_status merge_init_all(struct merge *merge,
				  const struct saved *wanted,
				  const struct philox_mesh *from);
void merge_use(struct merge *merge, const struct saved *wanted);

/*
 * merge_make_with() is merge_make() of a rank whose mesh is the same and whose
 * own text was added, and lacks something: that comes from what was made of all
 * texts, of which it is the rank in use.
 */
enum philox_status merge_make_with(struct merge *merge, struct merge *all,
				   struct saved *made);

void merge_finish(struct merge *merge);

/*
 * merge_new_axis() names, of a region that some text had alive, an axis along
 * which the new rank is at a coordinate, *coordinate, that the old mesh did not
 * have; or NULL.
 */
const char *merge_new_axis(const struct merge *merge,
			   const struct merge_region *region,
			   uint32_t *coordinate);

/*
 * merge_make() makes the contents of the new rank's text, when all texts that
 * are needed were added: ERROR_MISMATCH, which names region and axis, for what
 * cannot be; ERROR_MEMORY. Regions that start fresh have `fresh` set.
 */
enum philox_status merge_make(struct merge *merge, struct saved *made);

/* --- load: what can be loaded into a mesh: a set, or one text ------------- */

/*
 * The text of a context whose world has one rank is as good as a set of it.
 */

struct source {
	const char *path; /* the caller's */
	int is_set;
	struct set set;
	struct saved single; /* if it is none */
};

/*
 * source_open() reads the file at a path: ERROR_FILE, ERROR_INVALID,
 * ERROR_UNSUPPORTED; ERROR_MISMATCH for the text of one rank of many;
 * ERROR_MEMORY. Each names the file.
 */
enum philox_status source_open(const char *path, struct source *source);
void source_close(struct source *source);

/* source_mesh() is the mesh that it was saved by, at any place. */
const struct philox_mesh *source_mesh(const struct source *source);

/* source_world() is how many texts it has. */
uint64_t source_world(const struct source *source);

/*
 * source_text() reads the text of a rank; in a set it must be the one that the
 * manifest names. The caller ends with saved_finish().
 */
enum philox_status source_text(const struct source *source, uint64_t rank,
			       struct saved *saved);

/*
 * source_merge() makes what a rank has in another mesh (merge_init()), from as
 * many of the texts as it needs, one at a time: Note [Texts that say the same].
 * *merge says which regions start fresh; the caller finishes it if all went
 * well. Errors: those of source_text() and of lib/ranks/ranks.h; all name the
 * file.
 */
enum philox_status source_merge(const struct source *source,
				const struct saved *wanted, struct merge *merge,
				struct saved *made);

#endif
