/*
 * tests/support/ranks/shard.h - random tensors and their parts
 */
#ifndef TESTS_SUPPORT_SHARD_BED_H
#define TESTS_SUPPORT_SHARD_BED_H

#include "tests/support/models/shard.h"

enum { SHARD_PARTS = 16 }; /* of a dimension, at most */

/* --- random tensors ------------------------------------------------------- */

/* Below n. */
uint32_t shard_random(uint32_t n);

/*
 * A tensor of `n_dims` dimensions and at most `elements` elements, of which
 * each dimension is cut in a random way; each `part` is 0. Bounds are in
 * `bounds`, which the shard points to.
 */
struct shard_bounds {
	uint64_t bound[PHILOX_SHARD_DIMS][SHARD_PARTS + 1];
};

struct philox_shard_desc shard_tensor(uint32_t n_dims, uint64_t elements,
				      struct shard_bounds *bounds);

/*
 * FOR_EACH_TENSOR(shard, bounds, tensors, elements) { ... } has many of them,
 * in all numbers of dimensions.
 */
#define FOR_EACH_TENSOR(shard, bounds, tensors, elements)                     \
	for (unsigned left_ = (tensors); left_; left_--)                      \
		for (struct philox_shard_desc                                 \
			     shard = shard_tensor(                            \
				     1 + left_ % PHILOX_SHARD_DIMS, elements, \
				     bounds),                                 \
			     *once_ = &shard;                                 \
		     once_; once_ = NULL)

/* Goes on to the next of all combinations of parts; 0 after the last. */
int shard_next_part(struct philox_shard_desc *shard);

/* A line that says which part of which tensor this is; valid until the next. */
const char *shard_say(const struct philox_shard_desc *shard);

/* --- what philox says ----------------------------------------------------- */

/* All spans, of which there are at most MODEL_ELEMENTS; how many. */
uint64_t shard_spans(const struct philox_shard_desc *shard,
		     struct philox_span spans[]);

uint64_t shard_extent(const struct philox_shard_desc *shard, uint32_t dim);
uint64_t shard_index(const struct philox_shard_desc *shard, uint32_t dim,
		     uint64_t i);

/* A part of a tensor of one dimension. */
struct philox_shard_desc shard_line(uint64_t extent, enum philox_shard_cut cut,
				    uint32_t parts, uint32_t part);

#endif
