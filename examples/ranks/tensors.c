/*
 * examples/ranks/tensors.c - the model's parameters, whole and in parts
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tensors.h"
#include "world.h"

size_t tensor_of_layer(uint64_t layer, enum layer_tensor which)
{
	return 2 + (size_t)layer * LAYER_TENSORS + which;
}

size_t tensor_final_norm(const struct shape *shape)
{
	return tensor_of_layer(shape->layers, 0);
}

size_t tensor_logits(const struct shape *shape)
{
	return tensor_final_norm(shape) + 1;
}

/* --- the list ------------------------------------------------------------- */

/* A tensor of blocks x size numbers. */
static void describe(struct tensor *tensor, uint64_t layer, const char *name,
		     uint64_t blocks, uint64_t size, float std)
{
	snprintf(tensor->name, sizeof(tensor->name), "%s", name);
	tensor->layer = layer;
	tensor->blocks = blocks;
	tensor->size = size;
	tensor->std = std;
}

static void describe_layer(struct tensor *t, const struct shape *shape,
			   uint64_t layer)
{
	const uint64_t width = shape->width, heads = shape->heads;
	const uint64_t head = shape->head_width, hidden = shape->hidden;
	const float std = philox_root(1 / (float)width);

	describe(t + NORM1, layer, "norm 1", 1, width, 0);
	describe(t + QKV, layer, "qkv", heads, width * 3 * head, std);
	describe(t + OUT, layer, "out", heads, head * width, std / 4);
	describe(t + NORM2, layer, "norm 2", 1, width, 0);
	describe(t + UP, layer, "up", heads, width * hidden, std);
	describe(t + DOWN, layer, "down", heads, hidden * width, std / 8);
	for (int i = 0; i < LAYER_TENSORS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "layer %u %.8s", (unsigned)layer,
			 t[i].name);
		memcpy(t[i].name, name, sizeof(name));
	}
}

static void describe_all(struct tensor *list, const struct shape *shape)
{
	const uint64_t width = shape->width, last = shape->layers - 1;

	describe(list + TOKENS, 0, "tokens", 1, BYTES * width, 1);
	describe(list + POSITIONS, 0, "positions", 1, shape->places * width,
		 0.5f);
	for (uint64_t i = 0; i < shape->layers; i++)
		describe_layer(list + tensor_of_layer(i, 0), shape, i);
	describe(list + tensor_final_norm(shape), last, "final norm", 1, width,
		 0);
	describe(list + tensor_logits(shape), last, "logits", 1, width * BYTES,
		 0.1f * philox_root(1 / (float)width));
}

static struct range part_of(const struct tensor *tensor,
			    const struct shape *shape,
			    const struct place *place)
{
	struct range layers = place_range(place, PIPELINE, shape->layers);

	if (tensor->layer < layers.first ||
	    tensor->layer >= layers.first + layers.count)
		return (struct range){0, 0};
	if (tensor->blocks == 1)
		return (struct range){0, 1};
	return place_range(place, TENSOR, tensor->blocks);
}

struct tensors tensors_make(const struct shape *shape,
			    const struct place *place)
{
	struct tensors tensors = {.n = tensor_logits(shape) + 1};

	tensors.list = calloc(tensors.n, sizeof(*tensors.list));
	if (!tensors.list)
		world_fail("out of memory");
	describe_all(tensors.list, shape);
	for (size_t i = 0; i < tensors.n; i++) {
		struct tensor *tensor = &tensors.list[i];

		tensor->at = tensors.total;
		tensor->mine = tensors.mine;
		tensor->part = part_of(tensor, shape, place);
		tensors.total += tensor->blocks * tensor->size;
		tensors.mine += tensor->part.count * tensor->size;
	}
	return tensors;
}

void tensors_free(struct tensors *tensors)
{
	free(tensors->list);
}

/* --- the whole model ------------------------------------------------------ */

/* Puts a rank's part of a tensor into the whole, if it does not differ there. */
static void put_part(const struct tensor *tensor, uint64_t rank,
		     const float *mine, float *all, unsigned char *known)
{
	const size_t n = tensor->part.count * tensor->size;
	const uint64_t at = tensor->at + tensor->part.first * tensor->size;

	if (n && known[at] && memcmp(all + at, mine, n * sizeof(float)))
		world_fail("rank %u has another copy of '%s' than lower ranks",
			   (unsigned)rank, tensor->name);
	memcpy(all + at, mine, n * sizeof(float));
	memset(known + at, 1, n);
}

static void put_rank(const struct shape *shape, const struct place *place,
		     const float *mine, float *all, unsigned char *known)
{
	struct tensors tensors = tensors_make(shape, place);

	for (size_t i = 0; i < tensors.n; i++)
		put_part(&tensors.list[i], place->rank,
			 mine + tensors.list[i].mine, all, known);
	tensors_free(&tensors);
}

static void collect_at_0(const struct tensors *tensors,
			 const struct shape *shape, const struct place *place,
			 const float *mine, float *all)
{
	unsigned char *known = calloc(tensors->total, 1);
	float *theirs = malloc(tensors->total * sizeof(float));

	if (!known || !theirs)
		world_fail("out of memory");
	put_rank(shape, place, mine, all, known);
	for (uint64_t rank = 1; rank < place->world; rank++) {
		struct place other = place_of(place, rank);
		struct tensors its = tensors_make(shape, &other);

		world_receive(rank, theirs, its.mine * sizeof(float));
		put_rank(shape, &other, theirs, all, known);
		tensors_free(&its);
	}
	if (memchr(known, 0, tensors->total))
		world_fail("no rank holds a part of the model");
	free(theirs);
	free(known);
}

void tensors_collect(const struct tensors *tensors, const struct shape *shape,
		     const struct place *place, const float *mine, float *all)
{
	if (place->rank == 0)
		collect_at_0(tensors, shape, place, mine, all);
	else
		world_send(0, mine, tensors->mine * sizeof(float));
}

void tensors_take(const struct tensors *tensors, const float *all, float *mine)
{
	for (size_t i = 0; i < tensors->n; i++) {
		const struct tensor *t = &tensors->list[i];

		memcpy(mine + t->mine, all + t->at + t->part.first * t->size,
		       t->part.count * t->size * sizeof(float));
	}
}
