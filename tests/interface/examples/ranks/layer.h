/*
 * examples/ranks/layer.h - a layer, forward and backward, of one micro-batch
 *
 *   x1  = x + dropout(sum of all heads' parts of attention(norm(x)))
 *   out = x1 + dropout(sum of all blocks' parts of MLP(norm(x1)))
 *
 * The parts of a sum are gathered from the tensor ranks, which cuts forward and
 * backward into segments. The first one of the forward makes the ticket; the
 * others are passes of that ticket, as a recompute and a backward are.
 */
#ifndef RANKS_LAYER_H
#define RANKS_LAYER_H

#include "model.h"

enum layer_segment {
	ATTENTION,
	MLP,
	RESIDUAL,
	ATTENTION_AGAIN,
	MLP_BACK,
	ATTENTION_BACK,
	INPUT_BACK,
	LAYER_SEGMENTS
};

/* What a backward needs of its forward. */
struct activations {
	float *norm1, *inverse1, *qkv, *weights, *dropped, *heads;
	float *x1, *norm2, *inverse2, *up, *silu, *hidden;
};

/* Arrays that are used and left within a segment or two. */
struct scratch {
	float *parts, *sum, *drop; /* all blocks' parts */
	float *of_norm, *of_x1;    /* gradients: of rows x width */
	float *of_hidden, *of_heads, *of_weights, *of_qkv;
};

/* A layer at work on a micro-batch: always in the same arrays. */
struct layer_run {
	const struct layer *layer;
	struct activations *a;
	struct scratch *scratch;
	float *x, *out;       /* [rows, width] */
	float *of_out, *of_x; /* their gradients */
	struct philox_ticket ticket;
	struct philox_graph *graphs[LAYER_SEGMENTS];
};

void activations_make(struct model *model, struct activations *a);
void scratch_make(struct model *model, struct scratch *scratch);

void layer_forward(struct model *model, struct layer_run *run);
void layer_backward(struct model *model, struct layer_run *run);

#endif
