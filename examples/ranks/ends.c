/*
 * examples/ranks/ends.c - what the first and the last stage have beside layers
 */
#include "ends.h"
#include "segment.h"
#include "world.h"

void ends_make(struct model *model, struct ends_run *run)
{
	const size_t rows = model->rows, wide = rows * model->shape->width;

	if (model->first || model->last)
		run->begins =
			(uint32_t *)model_floats(model, model->samples.count);
	if (model->first)
		run->embedded = model_floats(model, wide);
	if (!model->last)
		return;
	run->norm = model_floats(model, wide);
	run->inverse = model_floats(model, rows);
	run->logits = model_floats(model, rows * BYTES);
	run->losses = model_floats(model, rows);
	run->loss = model_floats(model, model->samples.count);
	run->of_norm = model_floats(model, wide);
}

void ends_take_samples(struct model *model, struct ends_run *run,
		       const uint32_t *begins)
{
	if (model->first || model->last)
		TRY(philox_memory_copy(model->device, model->stream,
				       run->begins, begins,
				       model->samples.count * sizeof(*begins)));
}

static struct batch batch_of(const struct model *model,
			     const struct ends_run *run)
{
	return (struct batch){model->text, run->begins, model->shape->places};
}

/* --- the embedding -------------------------------------------------------- */

static void do_embed(struct model *model, void *work,
		     struct philox_ticket *ticket)
{
	struct ends_run *run = work;
	const size_t width = model->shape->width;
	struct philox_pass pass;

	TRY(philox_forward_begin(model->embedding, model->stream, 0, &pass));
	LAUNCH(model, embed, model->rows * width, .batch = batch_of(model, run),
	       .tokens = model_weights(model, TOKENS),
	       .positions = model_weights(model, POSITIONS),
	       .out = run->embedded, .width = width);
	model_drop(model, &pass, 0, &model->of_rows, run->embedded, run->x);
	TRY(philox_pass_commit(&pass, 0, ticket));
}

static void do_embed_back(struct model *model, void *work,
			  struct philox_ticket *ticket)
{
	struct ends_run *run = work;
	const size_t width = model->shape->width;
	struct philox_pass pass;

	TRY(philox_backward_begin(model->embedding, model->stream, *ticket, 0,
				  &pass));
	model_drop(model, &pass, 0, &model->of_rows, run->of_x, run->of_x);
	LAUNCH(model, scatter, model->samples.count * BYTES * width,
	       .batch = batch_of(model, run), .gradient = run->of_x,
	       .tokens = model_gradients(model, TOKENS),
	       .positions = model_gradients(model, POSITIONS), .width = width,
	       .bytes = BYTES, .stride = model->tensors.mine);
	TRY(philox_pass_commit(&pass, 0, NULL));
}

/* --- the loss ------------------------------------------------------------- */

static struct matrix matrix_of(float *at, size_t sample, size_t columns)
{
	return (struct matrix){at, {sample, 0}, columns, 1};
}

static void multiply_samples(struct model *model, struct matrix out,
			     size_t rows, size_t columns, size_t depth,
			     struct matrix left, struct matrix right)
{
	const size_t samples = model->samples.count;

	LAUNCH(model, product, samples * rows * columns, .out = out,
	       .left = left, .right = right, .batches = {samples, 1},
	       .rows = rows, .columns = columns, .depth = depth);
}

static void do_loss(struct model *model, void *work,
		    struct philox_ticket *ticket)
{
	const struct shape *shape = model->shape;
	const size_t width = shape->width, places = shape->places;
	struct ends_run *run = work;
	const uint64_t terms = places * shape->samples * shape->micro;

	(void)ticket; /* of no forward with a backward */
	LAUNCH(model, norm, model->rows, .x = run->out,
	       .gain = model_weights(model, tensor_final_norm(shape)),
	       .out = run->norm, .inverse = run->inverse, .width = width);
	multiply_samples(model, matrix_of(run->logits, places * BYTES, BYTES),
			 places, BYTES, width,
			 matrix_of(run->norm, places * width, width),
			 matrix_of(model_weights(model, tensor_logits(shape)),
				   0, BYTES));
	LAUNCH(model, cross_entropy, model->rows, .batch = batch_of(model, run),
	       .logits = run->logits, .losses = run->losses, .bytes = BYTES,
	       .scale = 1 / (float)terms);
	LAUNCH(model, mean_loss, model->samples.count, .losses = run->losses,
	       .out = run->loss, .places = places);
}

static void do_loss_back(struct model *model, void *work,
			 struct philox_ticket *ticket)
{
	const struct shape *shape = model->shape;
	const size_t width = shape->width, places = shape->places;
	const size_t mine = model->tensors.mine;
	const size_t final = tensor_final_norm(shape);
	const size_t logits = tensor_logits(shape);
	struct ends_run *run = work;
	struct matrix above = matrix_of(run->logits, places * BYTES, BYTES);
	struct matrix norm = matrix_of(run->norm, places * width, width);
	struct matrix weights =
		matrix_of(model_weights(model, logits), 0, BYTES);

	(void)ticket;
	norm.row = 1; /* turned */
	norm.column = width;
	multiply_samples(model,
			 matrix_of(model_gradients(model, logits), mine, BYTES),
			 width, BYTES, places, norm, above);
	weights.row = 1; /* turned */
	weights.column = BYTES;
	multiply_samples(model, matrix_of(run->of_norm, places * width, width),
			 places, width, BYTES, above, weights);
	LAUNCH(model, norm_gain, model->samples.count * width, .x = run->out,
	       .inverse = run->inverse, .gradient = run->of_norm,
	       .out = model_gradients(model, final), .width = width,
	       .places = places, .stride = mine);
	LAUNCH(model, norm_back, model->rows, .x = run->out,
	       .gain = model_weights(model, final), .inverse = run->inverse,
	       .gradient = run->of_norm, .out = run->of_out, .width = width);
}

/* --- their segments ------------------------------------------------------- */

void ends_embed(struct model *model, struct ends_run *run)
{
	segment_run(model, &run->graphs[EMBED], do_embed, run, &run->ticket);
}

void ends_embed_back(struct model *model, struct ends_run *run)
{
	segment_run(model, &run->graphs[EMBED_BACK], do_embed_back, run,
		    &run->ticket);
}

void ends_loss(struct model *model, struct ends_run *run)
{
	segment_run(model, &run->graphs[LOSS], do_loss, run, &run->none);
}

void ends_loss_back(struct model *model, struct ends_run *run)
{
	segment_run(model, &run->graphs[LOSS_BACK], do_loss_back, run,
		    &run->none);
}
