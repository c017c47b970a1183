/*
 * tools/train/model/rounded.c - weights that are kept in bf16, without others in
 * f32
 *
 * A set of parameters has a region of its own, and each of its updates a pass:
 * so a set has the same numbers whether all sets are updated in one capture or
 * each by a call of a runner's function.
 */
#include "tools/train/model/model.h"

struct train_part train_part_of(const struct train_model *model, int set)
{
	const struct train_weights *w = &model->weights[set];

	if (set == TRAIN_DEPTH)
		return (struct train_part){0, model->n_embedding};
	return (struct train_part){w->weight, (w->rows + 1) * w->columns};
}

void train_narrow_weights(struct train_model *model)
{
	for (int set = 0; set < TRAIN_SETS; set++) {
		const struct train_part part = train_part_of(model, set);
		const struct train_state state = train_state_of(
			model->first + part.offset, model->second + part.offset,
			part.floats);

		train_launch(model, model->stream, narrow, part.floats,
			     .parameters = model->parameters + part.offset,
			     .weights = state.weights);
	}
}

void train_update_rounded(struct train_model *model, int set,
			  struct train_adamw args)
{
	const size_t n = train_part_of(model, set).floats;
	struct train_pass pass = train_begin_update(model, set);
	struct train_adamw_block block = {.set = args, .n = n};

	for (uint32_t op = 0; op < TRAIN_ROUNDINGS; op++)
		train_pass_rng(&pass, op, &block.rngs[op]);
	train_put(model, model->stream, TRAIN_adamw_block, &block,
		  sizeof(block), (n + TRAIN_BLOCK - 1) / TRAIN_BLOCK);
	train_end_pass(&pass);
}
