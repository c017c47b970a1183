/*
 * lib/mesh/mesh.h - ranks in a mesh of named axes, and shards of tensors on
 * them
 */
#ifndef LIB_MESH_MESH_H
#define LIB_MESH_MESH_H

#include <philox/mesh.h>
#include "lib/base/base.h"

/* --- mesh: meshes of ranks for the library's own use ---------------------- */

/*
 * mesh_take() checks a mesh of any version and copies it to *mesh, with the
 * caller's names: all that philox_mesh_check() refuses. mesh_take_unplaced()
 * gives the copy coordinates of 0, whatever they were, right or wrong.
 */
enum philox_status mesh_take(const struct philox_mesh *given,
			     struct philox_mesh *mesh);
enum philox_status mesh_take_unplaced(const struct philox_mesh *given,
				      struct philox_mesh *mesh);

/*
 * mesh_copy() gives *copy names of its own, mesh_finish() frees those and
 * leaves a mesh without axes. ERROR_MEMORY.
 */
enum philox_status mesh_copy(const struct philox_mesh *mesh,
			     struct philox_mesh *copy);
void mesh_finish(struct philox_mesh *mesh);

/* mesh_find() finds an axis by its name; NULL if the mesh does not have it. */
const struct philox_axis *mesh_find(const struct philox_mesh *mesh,
				    const char *name);

/* mesh_coordinate() is 0 along an axis that the mesh does not have. */
uint32_t mesh_coordinate(const struct philox_mesh *mesh, const char *name);

/* mesh_size_along() is 1 along an axis that the mesh does not have. */
uint32_t mesh_size_along(const struct philox_mesh *mesh, const char *name);

/* Of a mesh that was checked. */
uint64_t mesh_world(const struct philox_mesh *mesh);
uint64_t mesh_rank(const struct philox_mesh *mesh);

/* mesh_go() sets the coordinates of a mesh that was checked to those of a rank
 * of its world. */
void mesh_go(struct philox_mesh *mesh, uint64_t rank);

#endif
