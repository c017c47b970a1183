/*
 * examples/ranks/matrices.h - the matrices of a layer, by what they hold
 *
 * Of each sample (the first batch index) and each head or block of the MLP (the
 * second), of this rank.
 */
#ifndef RANKS_MATRICES_H
#define RANKS_MATRICES_H

#include "model.h"

/* [rows, width]: one for all heads */
struct matrix rows_of(const struct model *model, float *at);

/* [heads, rows, columns] */
struct matrix heads_of(const struct model *model, float *at, size_t columns);

/* [samples, heads, places, places] */
struct matrix scores_of(const struct model *model, float *at);

/* [rows, blocks, columns of a block] */
struct matrix hidden_of(const struct model *model, float *at);

/* [blocks, rows, columns] of weights: one for all samples */
struct matrix weights_of(float *at, size_t rows, size_t columns);

/* The same of their gradients, which each sample has */
struct matrix gradients_of(const struct model *model, float *at, size_t rows,
			   size_t columns);

/* The parts of a sum [heads of all ranks, rows, width]: this rank's */
struct matrix parts_of(const struct model *model, float *at);

/* The three matrices in an array [heads, rows, 3, head_width] */
enum third { Q, K, V };
struct matrix third_of(const struct model *model, float *qkv, enum third which);

struct matrix turned(struct matrix matrix);

/* out (rows x columns) = left times right, for all samples and heads */
void multiply(struct model *model, struct matrix out, size_t rows,
	      size_t columns, size_t depth, struct matrix left,
	      struct matrix right);

#endif
