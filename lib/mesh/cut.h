/*
 * lib/mesh/cut.h - the indices that a part has of one dimension
 *
 * Whatever the cut, a part's indices rise and are at most two pieces, each of
 * equal blocks at equal distances: a block or even strides are one piece, uneven
 * strides have a shorter block at their end, and zigzag is one piece of two
 * blocks if its chunks are equal, else two pieces.
 */
#ifndef LIB_MESH_CUT_H
#define LIB_MESH_CUT_H

#include <philox/shard.h>

/* Index i of a piece is first + i / count * step + i % count. */
struct cut_piece {
	uint64_t first;
	uint64_t blocks; /* at least 1 */
	uint64_t step;   /* from block to block; 0 if there is one */
	uint64_t count;  /* indices of a block */
};

/* The second piece has a count of 0 if one is enough, as the first if empty. */
struct cut {
	struct cut_piece piece[2];
};

/*
 * cut_check() checks dimension number `dim` of a shard; ERROR_INVALID names it
 * and the field. All the others need a dimension that was checked.
 */
enum philox_status cut_check(uint32_t dim, const struct philox_dim *given);

struct cut cut_of(const struct philox_dim *dim);

uint64_t cut_extent(const struct cut *cut);

/* cut_index() is the dimension's index of index `i`, below cut_extent(). */
uint64_t cut_index(const struct cut *cut, uint64_t i);

#endif
