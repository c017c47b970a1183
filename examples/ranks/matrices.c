/*
 * examples/ranks/matrices.c - the matrices of a layer, by what they hold
 */
#include "matrices.h"

struct matrix rows_of(const struct model *model, float *at)
{
	const size_t width = model->shape->width;

	return (struct matrix){at, {model->shape->places * width, 0}, width, 1};
}

struct matrix heads_of(const struct model *model, float *at, size_t columns)
{
	return (struct matrix){
		at,
		{model->shape->places * columns, model->rows * columns},
		columns,
		1};
}

struct matrix scores_of(const struct model *model, float *at)
{
	const size_t places = model->shape->places;

	return (struct matrix){
		at,
		{model->heads.count * places * places, places * places},
		places,
		1};
}

struct matrix hidden_of(const struct model *model, float *at)
{
	const size_t block = model->shape->hidden;
	const size_t columns = model->heads.count * block;

	return (struct matrix){
		at, {model->shape->places * columns, block}, columns, 1};
}

struct matrix weights_of(float *at, size_t rows, size_t columns)
{
	return (struct matrix){at, {0, rows * columns}, columns, 1};
}

struct matrix gradients_of(const struct model *model, float *at, size_t rows,
			   size_t columns)
{
	return (struct matrix){
		at, {model->tensors.mine, rows * columns}, columns, 1};
}

struct matrix parts_of(const struct model *model, float *at)
{
	const size_t width = model->shape->width;

	return heads_of(model, at + model->heads.first * model->rows * width,
			width);
}

struct matrix turned(struct matrix matrix)
{
	size_t row = matrix.row;

	matrix.row = matrix.column;
	matrix.column = row;
	return matrix;
}

void multiply(struct model *model, struct matrix out, size_t rows,
	      size_t columns, size_t depth, struct matrix left,
	      struct matrix right)
{
	const size_t samples = model->samples.count;
	const size_t heads = model->heads.count;

	LAUNCH(model, product, samples * heads * rows * columns, .out = out,
	       .left = left, .right = right, .batches = {samples, heads},
	       .rows = rows, .columns = columns, .depth = depth);
}

struct matrix third_of(const struct model *model, float *qkv, enum third which)
{
	const size_t width = model->shape->head_width;

	return heads_of(model, qkv + (size_t)which * width, 3 * width);
}
