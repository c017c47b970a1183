/*
 * philox/mesh_save.h - the contexts of a mesh as a set of texts
 *
 * The ranks of a mesh (philox/mesh.h) save a text each, and one of them then
 * writes a manifest that names the set:
 *
 *   philox_mesh_save(context, "run/step-1000");       every rank
 *   ... a barrier of the program's own ...
 *   if (rank == 0)
 *           philox_mesh_seal(&mesh, "run/step-1000");
 *   ... later, on this mesh or on another one ...
 *   philox_mesh_load(context, "run/step-1000");       every rank
 *
 * The texts are PATH.0, PATH.1 and so on, by rank; the manifest is PATH itself.
 * It is written last and says of every text how it ends, so a set that was not
 * written to its end, or one of whose files is replaced afterwards, is refused.
 * Give each set a path of its own, and remove the old ones afterwards: at a
 * path that is used again, the text of a rank whose save failed may be that of
 * an earlier step, and philox_mesh_seal() finds most of these, but not all.
 * Each file is replaced whole or not at all, as philox_context_save() says. The
 * form of a manifest is described in Note [Set of texts] in lib/ranks/ranks.h.
 *
 * A set can be loaded by another mesh: fewer tensor ranks, more data ranks,
 * regions on other stages (Note [Another mesh] in lib/ranks/ranks.h). So can
 * the text that a single process has saved (philox/save.h), with or without a
 * mesh of one rank: give its path instead of a manifest's. An axis that a mesh
 * lacks counts as one of size 1, so an axis with another name is one that has
 * gone and one that has come. The context says which regions a rank has; for
 * each of them:
 *
 *  - The same mesh (names and sizes of axes, in any order), and the rank's own
 *    text has the region: as philox_context_load(). If it is in other texts
 *    only, it has moved here, and the rules below hold.
 *  - Shared along all axes: all texts that have the region must agree about it,
 *    and the run goes on bit for bit, tickets included.
 *  - It differs along some axes, and each of them has the size it had: the
 *    texts of the same coordinates along these axes must agree, and the run
 *    goes on bit for bit, tickets included.
 *  - It differs along an axis whose size has changed: coordinates that were
 *    there before go on with their own states; new ones start fresh, after the
 *    highest offset and serial that any coordinate has issued, so that no
 *    numbers repeat, which the log says (PHILOX_LOG_INFO, "fresh"). What
 *    coordinates that are gone have issued is kept for that in the texts to
 *    come. Tickets cannot be divided: if any text has some pending, that is
 *    PHILOX_ERROR_MISMATCH.
 *
 * Texts and context must agree along which axes a region differs, of those axes
 * that both meshes have; so a process that had no mesh goes on as rank 0 of
 * any. Operators, generator and flags must be the same, as for
 * philox_context_load().
 *
 * Names that this context does not have, alive or destroyed in any of the
 * texts, are destroyed ones after the load, which continue after the highest
 * offset and serial that any text knows if they are made again. On the same
 * mesh these are the names of the own text.
 *
 * Generators must agree in all texts. So must tables of rows, row by row, in
 * all texts that have them: PHILOX_ERROR_MISMATCH names the first table and
 * row. On the same mesh each rank has the generators and tables of its own
 * text, and they are compared only if other texts are read. `philox merge`
 * writes the set that a whole world of another mesh would have, from the set of
 * one.
 *
 * Thread rule: as philox/save.h.
 */
#ifndef PHILOX_MESH_SAVE_H
#define PHILOX_MESH_SAVE_H

#include <philox/context.h>
#include <philox/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * philox_mesh_save() writes the text of this rank's context to PATH.RANK. A
 * context without a mesh is rank 0. Errors: those of philox_context_save(),
 * also PHILOX_ERROR_INVALID for a path that the manifest cannot have: "" and
 * one that ends with a slash. Not legal during capture.
 */
PHILOX_API enum philox_status philox_mesh_save(struct philox_context *context,
					       const char *path);

/*
 * philox_mesh_seal() looks at the texts of all ranks of a mesh, whose
 * coordinates do not matter, and writes the manifest. One rank calls it, when
 * all have saved.
 *
 * It also finds texts of different steps: a region that is shared along all
 * axes must have the same next forward, its offset and serial, in all texts
 * that have it alive, unless an axis with PHILOX_AXIS_STAGES separates the
 * ranks, or their generators, so the region's seeds, differ. It does not
 * compare regions that differ along an axis, generators, tickets and tables of
 * rows; so texts of two saves between which no shared region has gone on are
 * taken for one set.
 *
 * Errors: PHILOX_ERROR_FILE for a text that is not there;
 * PHILOX_ERROR_INVALID for a path that philox_mesh_save() does not take, and
 * for a text that is damaged; PHILOX_ERROR_MISMATCH for one of another mesh or
 * rank, and for two of different steps; PHILOX_ERROR_MEMORY. The message names
 * the file or both; no manifest is written then. Legal during capture.
 */
PHILOX_API enum philox_status philox_mesh_seal(const struct philox_mesh *mesh,
					       const char *path);

/*
 * philox_mesh_load() loads from a set what this rank's context needs, as said
 * above. On the mesh that saved the set it reads one text beside the manifest,
 * on another one all of them, one after the other. Errors: PHILOX_ERROR_FILE
 * for a manifest or text that is not there or cannot be read;
 * PHILOX_ERROR_INVALID for one that is damaged, or for a text that is not the
 * one that the manifest names, with the file's name; PHILOX_ERROR_MISMATCH,
 * which names region, axis and ranks, for what cannot be loaded; and those of
 * philox_context_load_text(), which also says what happens to the context. On
 * an error nothing has changed, as there. Not legal during capture.
 */
PHILOX_API enum philox_status philox_mesh_load(struct philox_context *context,
					       const char *path);

#ifdef __cplusplus
}
#endif
#endif
