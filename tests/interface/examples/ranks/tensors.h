/*
 * examples/ranks/tensors.h - the model's parameters: whole tensors, and the
 * parts of them that a rank holds
 *
 * Tensors that are cut over the tensor ranks consist of blocks, one for each
 * head, one after the other in memory, so a part is a piece of the whole. The
 * others are copied by all tensor ranks of their stage.
 */
#ifndef RANKS_TENSORS_H
#define RANKS_TENSORS_H

#include <stddef.h>
#include "place.h"

/* The tensors of a layer, in their order */
enum layer_tensor { NORM1, QKV, OUT, NORM2, UP, DOWN, LAYER_TENSORS };

struct tensor {
	char name[32];
	uint64_t blocks;   /* 1: not cut */
	uint64_t size;     /* numbers of a block */
	float std;         /* of its first numbers; 0: they are 1 */
	uint64_t at;       /* where it begins among all numbers of the model */
	uint64_t layer;    /* that has it */
	struct range part; /* this rank's blocks */
	size_t mine;       /* where they begin among this rank's numbers */
};

struct tensors {
	struct tensor *list; /* of the whole model, in one order on all ranks */
	size_t n;
	uint64_t total; /* numbers of the model */
	size_t mine;    /* numbers that this rank holds */
};

/*
 * The tensors of a model, as the rank at a place has them: the first stage has
 * the table of tokens and that of positions, the last one the final norm and
 * the logits. tensors_free() frees them.
 */
struct tensors tensors_make(const struct shape *shape,
			    const struct place *place);
void tensors_free(struct tensors *tensors);

/* Where they are in the list; `layer` counts those of the whole model. */
enum { TOKENS = 0, POSITIONS = 1 };
size_t tensor_of_layer(uint64_t layer, enum layer_tensor which);
size_t tensor_final_norm(const struct shape *shape);
size_t tensor_logits(const struct shape *shape);

/*
 * The whole model from all ranks' numbers: rank 0 gets all[total], the others
 * give theirs, mine[]. Ranks that copy a tensor must have the same bits.
 */
void tensors_collect(const struct tensors *tensors, const struct shape *shape,
		     const struct place *place, const float *mine, float *all);

/* The other way round, on a rank that has all numbers. */
void tensors_take(const struct tensors *tensors, const float *all, float *mine);

#endif
