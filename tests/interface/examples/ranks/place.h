/*
 * examples/ranks/place.h - where this rank is in the mesh, and what it holds
 *
 *   data      the samples of each micro-batch are cut over the data ranks
 *   tensor    attention's heads, and the MLP's columns in as many blocks, are
 *             cut over the tensor ranks
 *   pipeline  layers are cut over the stages
 *
 * Parts need not be even: the first ones have one more (philox/shard.h).
 */
#ifndef RANKS_PLACE_H
#define RANKS_PLACE_H

#include <stdint.h>
#include <philox.h>
#include "options.h"

enum axis { DATA, TENSOR, PIPELINE, AXES };

struct place {
	struct philox_mesh mesh;
	uint64_t rank, world;
	uint32_t size[AXES], at[AXES]; /* 1 and 0 for axes that are not there */
};

/* What a rank has of something that is cut: first, first + 1 ... */
struct range {
	uint64_t first, count;
};

/*
 * Puts rank `rank` of `world` in the mesh that a text describes (NULL: all
 * along data), if each rank gets a part of the model. Returns 0, or -1 and what
 * is wrong in message[200].
 */
int place_read(struct place *place, const struct shape *shape, const char *mesh,
	       uint64_t rank, uint64_t world, char message[200]);

/* The place of another rank of the same mesh. */
struct place place_of(const struct place *place, uint64_t rank);

/* A dimension of n indices that is cut along an axis, and this rank's part. */
struct philox_dim place_dim(const struct place *place, enum axis axis,
			    uint64_t n);
struct range place_range(const struct place *place, enum axis axis, uint64_t n);

/*
 * A number for the ranks that differ from this one along an axis only, and from
 * 0 to world - 1.
 */
int place_line(const struct place *place, enum axis axis);

#endif
