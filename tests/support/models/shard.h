/*
 * tests/support/models/shard.h - parts of tensors, index by index
 *
 * The model is written from the formulas of philox/mesh.h alone: slow, and for
 * small tensors.
 */
#ifndef TESTS_SUPPORT_SHARD_MODEL_H
#define TESTS_SUPPORT_SHARD_MODEL_H

#include "tests/support/support.h"

enum { MODEL_ELEMENTS = 4096 };

/* --- what the formulas say ------------------------------------------------ */

/* The indices that a part has, in its order; at most MODEL_ELEMENTS. */
size_t model_indices(const struct philox_shard_dim *dim, uint64_t indices[]);

/* Elements of the whole tensor, in the order of the shard's own array. */
struct model {
	size_t n_dims;
	size_t extent[PHILOX_SHARD_DIMS]; /* indices of the part */
	size_t n;
	uint64_t element[MODEL_ELEMENTS];
};

void model_part(const struct philox_shard_desc *shard, struct model *model);

/* How many elements the tensor has. */
uint64_t model_whole(const struct philox_shard_desc *shard);

/* --- the fewest spans ----------------------------------------------------- */

/*
 * Of all ways to cut the elements into spans: that of the fewest, by trying
 * each. Spans begin and end anywhere, or have whole indices of a dimension as
 * philox_shard_spans() says.
 */
size_t model_fewest_anywhere(const struct model *model);
size_t model_fewest_of_indices(const struct model *model);

/*
 * Whether, in each dimension, all pieces of the part's indices that follow each
 * other have one length; and whether in one dimension it has the first and the
 * last index, but not all.
 */
int model_has_equal_pieces(const struct philox_shard_desc *shard);
int model_has_both_ends(const struct philox_shard_desc *shard);

#endif
