/*
 * examples/ranks/weights.c - a rank's parameters, and how they are drawn
 */
#include <stdlib.h>
#include "weights.h"
#include "world.h"

/* This rank's part of a tensor. */
static void draw_tensor(struct model *model, const struct philox_pass *pass,
			size_t index)
{
	const struct tensor *tensor = &model->tensors.list[index];
	struct philox_sharding shard = PHILOX_INIT(struct philox_sharding);
	float *out = model_weights(model, index);
	struct philox_span span;
	uint64_t n = 1;

	shard.n_dims = 2;
	shard.dims[0] = place_dim(model->place, TENSOR, tensor->blocks);
	shard.dims[1] = (struct philox_dim){.extent = tensor->size};
	if (tensor->blocks == 1)
		shard.dims[0].cut = PHILOX_CUT_WHOLE;
	for (uint64_t i = 0; i < n; i++) {
		TRY(philox_shard_spans(&shard, i, 1, &span, &n));
		TRY(philox_normal(pass, (uint32_t)index, PHILOX_F32, span, 0,
				  tensor->std, out));
		out += span.rows * span.count;
	}
}

static void set_to_ones(struct model *model, size_t index)
{
	const size_t n = model->tensors.list[index].size;
	float *ones = malloc(n * sizeof(float));

	if (!ones)
		world_fail("out of memory");
	for (size_t i = 0; i < n; i++)
		ones[i] = 1;
	model_upload(model, model_weights(model, index), ones,
		     n * sizeof(float));
	free(ones);
}

void weights_draw(struct model *model)
{
	struct philox_pass pass;

	TRY(philox_forward_begin(model->weights, model->stream,
				 PHILOX_INFERENCE, &pass));
	for (size_t i = 0; i < model->tensors.n; i++) {
		const struct tensor *tensor = &model->tensors.list[i];

		if (!tensor->part.count)
			continue;
		if (tensor->std > 0)
			draw_tensor(model, &pass, i);
		else
			set_to_ones(model, i);
	}
	TRY(philox_forward_commit(&pass, NULL));
}

void weights_make(struct model *model)
{
	const size_t n = model->tensors.mine, size = n * sizeof(float);

	model->parameters = model_floats(model, n);
	model->total = model_floats(model, n);
	TRY(philox_memory_set(model->device, model->total, 0, size,
			      model->stream));
	for (int i = 0; i < 2; i++) {
		model->moments[i] = model_floats(model, n);
		TRY(philox_memory_set(model->device, model->moments[i], 0, size,
				      model->stream));
	}
	model->gradients = model_floats(model, model->shape->samples * n);
}
