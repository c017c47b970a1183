/*
 * philox/shard.h - which elements of a tensor a rank holds
 *
 * The numbers of a region that is shared along the axes of a mesh belong to the
 * elements of whole tensors (philox/mesh.h). A rank that holds a part of one
 * draws the spans (philox/fill.h) of that part. Here a part is described as
 * frameworks do it: the tensor's dimensions, and for each the way in which it
 * is cut:
 *
 *   [batch, sequence, hidden]: samples over data, columns over tensor ranks
 *
 *   struct philox_sharding shard = PHILOX_INIT(struct philox_sharding);
 *
 *   shard.n_dims = 3;
 *   shard.dims[0] = (struct philox_dim){batch, PHILOX_CUT_BLOCK, data, at};
 *   shard.dims[1] = (struct philox_dim){.extent = sequence};
 *   shard.dims[2] = (struct philox_dim){hidden, PHILOX_CUT_BLOCK, tensor, c};
 *   philox_shard_spans(&shard, 0, 1, &span, &n);
 *
 * Dimensions are in the order of the whole tensor's memory, the slowest first:
 * element (i0, i1, i2 ...) is element ((i0 n1 + i1) n2 + i2) ... of it. Whether
 * a dimension is batch, heads or sequence does not matter, and any number of
 * them may be cut.
 *
 * Part c of p parts of a dimension of n indices has, by kind of cut:
 *
 *   WHOLE    all n
 *   BLOCK    first + 0 .. count - 1, count = n / p, and one more for the n % p
 *            first parts: first = c (n / p) + min(c, n % p)
 *   CEIL     first = min(c k, n), up to min((c + 1) k, n) - 1, k = ceil(n / p):
 *            as torch.chunk() and DTensor cut
 *   BOUNDS   bounds[c] .. bounds[c + 1] - 1, given by the caller
 *   STRIDED  blocks of b indices dealt out in turn, b = `block` (0 means 1):
 *            those i with (i / b) % p = c
 *   ZIGZAG   of 2 p chunks, cut as BLOCK cuts 2 p parts, the chunks c and
 *            2 p - 1 - c, in this order: causal ring attention, as Megatron-LM
 *            and ring-flash-attention cut sequences that 2 p divides
 *
 * The parts of a cut hold each index exactly once, and each part has its
 * indices in rising order. A part may be empty. A dimension that two axes cut
 * into blocks, one within the other, is cut by BOUNDS; if the product of their
 * sizes divides it, also by BLOCK into that many parts.
 *
 * Thread rule: every function here may be called from any thread at any time.
 */
#ifndef PHILOX_SHARD_H
#define PHILOX_SHARD_H

#include <stddef.h>
#include <stdint.h>
#include <philox/fill.h>
#include <philox/sized.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PHILOX_SHARD_DIMS = 8 };

enum philox_cut {
	PHILOX_CUT_WHOLE = 0,
	PHILOX_CUT_BLOCK = 1,
	PHILOX_CUT_CEIL = 2,
	PHILOX_CUT_BOUNDS = 3,
	PHILOX_CUT_STRIDED = 4,
	PHILOX_CUT_ZIGZAG = 5
};

/* struct philox_dim is one dimension of a tensor, and how it is cut. */
struct philox_dim {
	uint64_t extent;        /* indices, of the whole tensor; may be 0 */
	enum philox_cut cut;    /* WHOLE: the other fields are ignored */
	uint32_t parts;         /* at least 1: ranks along an axis */
	uint32_t part;          /* below parts: the coordinate along it */
	uint32_t reserved;      /* 0 */
	uint64_t block;         /* STRIDED: indices in a row; 0 means 1 */
	const uint64_t *bounds; /* BOUNDS: parts + 1 of them, not falling, from
				   0 to extent; read during the call only */
};

/*
 * struct philox_sharding is a tensor, and the part of it that a rank holds.
 * Begin with PHILOX_INIT().
 */
struct philox_sharding {
	size_t size;       /* sizeof(this struct) */
	uint32_t n_dims;   /* 1 .. PHILOX_SHARD_DIMS */
	uint32_t reserved; /* 0 */
	struct philox_dim dims[PHILOX_SHARD_DIMS]; /* the first n_dims */
};

/*
 * philox_shard_spans() writes the spans of a shard, from number `from` on and
 * at most `capacity` of them, to spans[], and to *n how many it has in all. The
 * shard's own array is contiguous, in the order of the dimensions, each with
 * the indices of its part; the spans follow one another in it, so that span k
 * begins where the spans before it end:
 *
 *   offset 0; for each span: fill out + offset with it;
 *   offset += span.rows * span.count
 *
 * A span has one index of a dimension, or several of the part that follow each
 * other, with all that the part has of the dimensions after it. There are as
 * few of such spans as possible: at most one for each index that the part has
 * of the dimensions before the last cut one, or two if this one has a shorter
 * block or chunk at its end; and one in all if no other is cut, and it is by
 * BLOCK, CEIL or BOUNDS, or by STRIDED with an extent that parts x block
 * divides. Spans that begin and end anywhere would be fewer only for a part
 * that has blocks or chunks of two lengths, or both the first and the last
 * index of a dimension but not all of them.
 *
 * An empty shard has none. Any span takes the same time to find, so they may be
 * asked for one by one; only the bounds of BOUNDS are all checked in each call.
 * Errors: PHILOX_ERROR_INVALID, which names dimension and field;
 * PHILOX_ERROR_OVERFLOW for a tensor of more than 2^64 - 1 elements; nothing is
 * written then. `spans` may be NULL if capacity is 0. Needs no memory. Legal
 * during capture.
 */
PHILOX_API enum philox_status philox_shard_spans(
	const struct philox_sharding *shard, uint64_t from, size_t capacity,
	struct philox_span *spans, uint64_t *n);

/*
 * philox_shard_extent() writes how many indices of dimension `dim` the part
 * has; philox_shard_index() which index of the whole tensor is index `i` of the
 * part, which must be below that extent. Errors: PHILOX_ERROR_INVALID, which
 * names dimension and field, of any dimension; nothing is written then. Legal
 * during capture.
 */
PHILOX_API enum philox_status philox_shard_extent(
	const struct philox_sharding *shard, uint32_t dim, uint64_t *extent);
PHILOX_API enum philox_status philox_shard_index(
	const struct philox_sharding *shard, uint32_t dim, uint64_t i,
	uint64_t *index);

#ifdef __cplusplus
}
#endif
#endif
