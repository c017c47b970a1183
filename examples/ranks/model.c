/*
 * examples/ranks/model.c - what a rank has of the model
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model.h"
#include "weights.h"
#include "world.h"

/* --- regions -------------------------------------------------------------- */

static struct philox_region *make_region(struct model *model, const char *name,
					 const struct philox_op_desc *ops,
					 size_t n_ops, const char *differs)
{
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);
	struct philox_region *region;

	options.name = name;
	options.ops = ops;
	options.n_ops = n_ops;
	options.differs = &differs;
	options.n_differs = differs != NULL;
	TRY(philox_region_create(model->context, &options, &region));
	return region;
}

/* An operator for each tensor of the whole model, whoever holds it. */
static struct philox_region *make_weights_region(struct model *model)
{
	const struct tensors *tensors = &model->tensors;
	struct philox_op_desc *ops = calloc(tensors->n, sizeof(*ops));
	struct philox_region *region;

	if (!ops)
		world_fail("out of memory");
	for (size_t i = 0; i < tensors->n; i++)
		ops[i].name = tensors->list[i].name;
	region = make_region(model, "weights", ops, tensors->n, NULL);
	free(ops);
	return region;
}

static struct philox_region *make_layer_region(struct model *model,
					       uint64_t index)
{
	static const struct philox_op_desc ops[] = {
		[OP_WEIGHTS] = {.name = "attention's weights"},
		[OP_BEHIND_ATTENTION] = {.name = "behind attention"},
		[OP_WITHIN] = {.name = "within the MLP"},
		[OP_BEHIND_MLP] = {.name = "behind the MLP"},
	};
	char name[32];

	snprintf(name, sizeof(name), "layer %" PRIu64, index);
	return make_region(model, name, ops, sizeof(ops) / sizeof(ops[0]),
			   NULL);
}

/* Only the stages that draw a region's numbers have it. */
static void make_regions(struct model *model)
{
	static const struct philox_op_desc dropout = {.name = "dropout"};
	static const struct philox_op_desc noise = {.name = "noise"};
	const struct place *place = model->place;
	const char *differs = NULL;

	for (uint32_t i = 0; i < place->mesh.n_axes; i++)
		if (!strcmp(place->mesh.axes[i].name, "data"))
			differs = "data";
	model->weights = make_weights_region(model);
	model->noise = make_region(model, "noise", &noise, 1, differs);
	if (model->first)
		model->embedding =
			make_region(model, "embedding", &dropout, 1, NULL);
	for (size_t i = 0; i < model->layers.count; i++)
		model->layer[i].region =
			make_layer_region(model, model->layers.first + i);
}

/* Of the text each byte begins a sample, but for the last ones. */
static void make_data(struct model *model)
{
	const struct philox_source_desc text = {.samples = model->text_size -
							   model->shape->places,
						.weight = 1};
	struct philox_data_desc options = PHILOX_INIT(struct philox_data_desc);

	options.name = "text";
	options.sources = &text;
	options.n_sources = 1;
	options.source_size = sizeof(text);
	TRY(philox_data_create(model->context, &options, &model->data));
}

/* --- shards --------------------------------------------------------------- */

static struct philox_shard_desc make_shard(struct philox_shard_dim first,
					   struct philox_shard_dim second,
					   struct philox_shard_dim third)
{
	struct philox_shard_desc shard = PHILOX_INIT(struct philox_shard_desc);

	shard.n_dims = 3;
	shard.dims[0] = first;
	shard.dims[1] = second;
	shard.dims[2] = third;
	return shard;
}

static struct philox_shard_dim whole(uint64_t n)
{
	return (struct philox_shard_dim){.extent = n};
}

static void make_shards(struct model *model)
{
	const struct shape *shape = model->shape;
	const uint64_t places = shape->places;
	struct philox_shard_dim samples =
		place_dim(model->place, DATA, shape->samples);
	struct philox_shard_dim heads =
		place_dim(model->place, TENSOR, shape->heads);

	model->of_rows =
		make_shard(samples, whole(places), whole(shape->width));
	model->of_weights = make_shard(samples, heads, whole(places * places));
	/* [samples, places, blocks, columns of a block] */
	model->of_hidden = make_shard(samples, whole(places), heads);
	model->of_hidden.n_dims = 4;
	model->of_hidden.dims[3] = whole(shape->hidden);
}

void model_drop(struct model *model, const struct philox_pass *pass,
		uint32_t op, const struct philox_shard_desc *shard,
		const float *in, float *out)
{
	struct philox_span span;
	uint64_t n = 1;

	for (uint64_t i = 0; i < n; i++) {
		TRY(philox_shard_spans(shard, i, 1, &span, &n));
		TRY(philox_pass_dropout(pass, op, PHILOX_DTYPE_F32, span,
					model->shape->dropout, in, out));
		in += span.rows * span.count;
		out += span.rows * span.count;
	}
}

float *model_weights(const struct model *model, size_t tensor)
{
	return model->parameters + model->tensors.list[tensor].mine;
}

float *model_gradients(const struct model *model, size_t tensor)
{
	return model->gradients + model->samples.first * model->tensors.mine +
	       model->tensors.list[tensor].mine;
}

/* How much each rank of an axis gives, of n units of `size` numbers. */
static size_t *make_counts(const struct model *model, enum axis axis,
			   uint64_t n, size_t size)
{
	const uint32_t ranks = model->place->size[axis];
	struct place other = *model->place;
	size_t *counts = malloc(ranks * sizeof(*counts));

	if (!counts)
		world_fail("out of memory");
	for (uint32_t i = 0; i < ranks; i++) {
		other.at[axis] = i;
		counts[i] = place_range(&other, axis, n).count * size;
	}
	return counts;
}

/* --- all of it ------------------------------------------------------------ */

static void make_layers(struct model *model)
{
	model->layer = calloc(model->layers.count, sizeof(*model->layer));
	if (!model->layer)
		world_fail("out of memory");
	for (size_t i = 0; i < model->layers.count; i++) {
		struct layer *layer = &model->layer[i];

		layer->index = model->layers.first + i;
		for (int k = 0; k < LAYER_TENSORS; k++) {
			size_t tensor = tensor_of_layer(layer->index,
							(enum layer_tensor)k);

			layer->weights[k] = model_weights(model, tensor);
			layer->gradients[k] = model_gradients(model, tensor);
		}
	}
}

static void make_model(struct model *model)
{
	const struct shape *shape = model->shape;

	weights_make(model);
	make_layers(model);
	make_regions(model);
	make_data(model);
	make_shards(model);
	model->gradient_counts =
		make_counts(model, DATA, shape->samples, model->tensors.mine);
	model->part_counts = make_counts(model, TENSOR, shape->heads,
					 model->rows * shape->width);
}

int model_open(struct model *model, const struct options *options,
	       const struct place *place)
{
	const struct shape *shape = &options->shape;

	*model = (struct model){
		.options = options, .shape = shape, .place = place};
	model->samples = place_range(place, DATA, shape->samples);
	model->heads = place_range(place, TENSOR, shape->heads);
	model->layers = place_range(place, PIPELINE, shape->layers);
	model->rows = model->samples.count * shape->places;
	model->first = place->at[PIPELINE] == 0;
	model->last = place->at[PIPELINE] + 1 == place->size[PIPELINE];
	if (machine_open(model))
		return -1;
	model->tensors = tensors_make(shape, place);
	make_model(model);
	return 0;
}

void model_close(struct model *model)
{
	machine_close(model);
	tensors_free(&model->tensors);
	free(model->layer);
	free(model->gradient_counts);
	free(model->part_counts);
}
