/*
 * lib/ranks/agree_firsts.h - the first rank at the same coordinates
 *
 * Of some ranks of a mesh, not all of which need be there, and some of its
 * axes: the first that has a rank's coordinates along these. As agreement is
 * equality, a rank that agrees with it agrees with all of them.
 */
#ifndef LIB_RANKS_AGREE_FIRSTS_H
#define LIB_RANKS_AGREE_FIRSTS_H

#include <stddef.h>
#include <stdint.h>
#include <philox/mesh.h>
#include "lib/base/status.h"

struct agree_firsts {
	const struct philox_mesh *mesh; /* of any of the ranks */
	const uint64_t *ranks;          /* each once, in ascending order */
	size_t n;
	size_t *along[1 << PHILOX_MESH_AXES]; /* by axes; NULL: not made */
};

/*
 * agree_firsts_make() makes those along axes, bit i for axis i, unless they are
 * there; along[axes][r] is then the number of the first one of ranks[r].
 * ERROR_MEMORY.
 */
enum philox_status agree_firsts_make(struct agree_firsts *firsts,
				     unsigned axes);
void agree_firsts_finish(struct agree_firsts *firsts);

#endif
