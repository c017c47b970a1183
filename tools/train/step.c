/*
 * tools/train/step.c - one step: forwards, recomputes, backwards, the update
 *
 * The same code runs eagerly and inside a capture; which of the two is the
 * stream's business. Nothing random is kept: the backward draws every dropout
 * again, once to have the layer's output for the weights' gradient (on the side
 * stream) and once on the gradient that flows down.
 */
#include "tools/train/train.h"

/* --- streams -------------------------------------------------------------- */

/* order() makes one stream wait for the work that is on another now. */
static void order(struct train_model *model, philox_event event,
		  philox_stream first, philox_stream then)
{
	if (!model->status)
		train_check(model,
			    philox_event_record(model->device, event, first));
	if (!model->status)
		train_check(model,
			    philox_event_wait(model->device, then, event));
}

static void product(struct train_model *model, philox_stream stream,
		    enum train_form form, size_t rows, size_t columns,
		    size_t depth, const float *left, const float *right,
		    float *out)
{
	struct train_product product = {form, rows,  columns, depth,
					left, right, out};
	struct train_backend *backend = model->backend;
	const char *error = NULL;

	if (!model->status)
		error = backend->product(backend, stream, &product);
	if (error)
		train_fail(model, "%s", error);
}

/* --- forward -------------------------------------------------------------- */

static struct train_activations *activations(struct train_model *model,
					     unsigned slot)
{
	return &model->activations[model->shared ? 0 : slot];
}

static struct train_samples samples(const struct train_model *model,
				    const struct train_activations *a)
{
	uint32_t places = (uint32_t)(model->text->size - TRAIN_CONTEXT);

	return (struct train_samples){model->symbols, a->words, places};
}

/* The extra operators draw, in the first slot's passes, into a running sum. */
static void extra(struct train_model *model, enum train_kind kind)
{
	struct train_pass pass;

	if (!model->options->ops)
		return;
	pass = train_begin_pass(model, 0, TRAIN_NOISE, kind);
	for (uint32_t op = 0; op < model->options->ops; op++)
		train_draw_bits(&pass, op, TRAIN_EXTRA,
				model->extra_rows + op * TRAIN_EXTRA);
	train_launch(model, model->stream, add_rows, TRAIN_EXTRA,
		     .rows = model->extra_rows, .n_rows = model->options->ops,
		     .total = model->extra[kind == TRAIN_BACKWARD]);
	train_end_pass(&pass);
}

static void input_layer(struct train_model *model, unsigned slot,
			enum train_kind kind)
{
	struct train_activations *a = activations(model, slot);
	struct train_pass pass =
		train_begin_pass(model, slot, TRAIN_INPUT, kind);

	train_draw_bits(&pass, TRAIN_PICK, TRAIN_BATCH, a->words);
	train_launch(model, model->stream, gather, TRAIN_BATCH * TRAIN_WIDTH,
		     .samples = samples(model, a),
		     .embedding = model->parameters,
		     .out = a->hidden[TRAIN_INPUT]);
	train_drop(&pass, model->stream, a->hidden[TRAIN_INPUT],
		   a->dropped[TRAIN_INPUT]);
	train_end_pass(&pass);
}

static void hidden_layer(struct train_model *model, unsigned slot,
			 enum train_layer layer, enum train_kind kind)
{
	struct train_activations *a = activations(model, slot);
	const struct train_weights *w = &model->weights[layer - 1];
	struct train_pass pass = train_begin_pass(model, slot, layer, kind);

	product(model, model->stream, TRAIN_PLAIN, TRAIN_BATCH, w->columns,
		w->rows, a->dropped[layer - 1], model->parameters + w->weight,
		a->hidden[layer]);
	train_launch(model, model->stream, bias_tanh, TRAIN_BATCH * TRAIN_WIDTH,
		     .x = a->hidden[layer], .bias = model->parameters + w->bias,
		     .columns = w->columns);
	train_drop(&pass, model->stream, a->hidden[layer], a->dropped[layer]);
	train_end_pass(&pass);
}

static void output_layer(struct train_model *model, unsigned slot, float *loss)
{
	struct train_activations *a = activations(model, slot);
	const struct train_weights *w = &model->weights[TRAIN_DEPTH - 1];

	product(model, model->stream, TRAIN_PLAIN, TRAIN_BATCH, w->columns,
		w->rows, a->dropped[TRAIN_DEPTH - 1],
		model->parameters + w->weight, a->logits);
	train_launch(model, model->stream, softmax, TRAIN_BATCH,
		     .samples = samples(model, a), .logits = a->logits,
		     .bias = model->parameters + w->bias, .losses = a->losses,
		     .symbols = model->text->vocabulary, .columns = w->columns);
	train_launch(model, model->stream, mean, 1, .losses = a->losses,
		     .out = loss);
}

static void all_layers(struct train_model *model, unsigned slot,
		       enum train_kind kind, float *loss)
{
	input_layer(model, slot, kind);
	hidden_layer(model, slot, TRAIN_HIDDEN1, kind);
	hidden_layer(model, slot, TRAIN_HIDDEN2, kind);
	output_layer(model, slot, loss);
}

void train_forward(struct train_model *model, unsigned slot)
{
	if (slot == 0)
		extra(model, TRAIN_FORWARD);
	all_layers(model, slot, TRAIN_FORWARD, model->losses + slot);
}

void train_recompute(struct train_model *model, unsigned slot)
{
	all_layers(model, slot, TRAIN_RECOMPUTE, model->recomputed_loss);
}

/* The activations are last in the block. */
void train_forget(struct train_model *model)
{
	char *begin = (char *)model->activations[0].hidden[0];

	train_set(model, begin, 0xff,
		  (size_t)(model->memory + model->memory_size - begin));
}

/* --- backward ------------------------------------------------------------- */

/*
 * weight_gradient() is the part of a layer's backward that nothing waits for:
 * the gradient of the weights above it, from its output, drawn again.
 */
static void weight_gradient(struct train_pass *pass,
			    struct train_activations *a, const float *above,
			    float *gradients)
{
	struct train_model *model = pass->model;
	const struct train_weights *w = &model->weights[pass->layer];

	order(model, model->fork, model->stream, model->side);
	train_drop(pass, model->side, a->hidden[pass->layer],
		   a->redrawn[pass->layer]);
	product(model, model->side, TRAIN_LEFT_TURN, w->rows, w->columns,
		TRAIN_BATCH, a->redrawn[pass->layer], above,
		gradients + w->weight);
	train_launch(model, model->side, column_sum, w->columns, .in = above,
		     .out = gradients + w->bias, .columns = w->columns);
}

/*
 * layer_gradient() takes the gradient from above a layer to below its dropout.
 */
static void layer_gradient(struct train_pass *pass, struct train_activations *a,
			   const float *above)
{
	struct train_model *model = pass->model;
	const struct train_weights *w = &model->weights[pass->layer];
	float *gradient = a->gradient[pass->layer];

	product(model, model->stream, TRAIN_RIGHT_TURN, TRAIN_BATCH, w->rows,
		w->columns, above, model->parameters + w->weight, gradient);
	train_drop(pass, model->stream, gradient, gradient);
	if (pass->layer != TRAIN_INPUT)
		train_launch(model, model->stream, tanh_backward,
			     TRAIN_BATCH * TRAIN_WIDTH, .gradient = gradient,
			     .tanh = a->hidden[pass->layer]);
}

void train_backward(struct train_model *model, unsigned slot)
{
	struct train_activations *a = activations(model, slot);
	float *gradients = model->gradients + slot * model->n_parameters;
	const float *above = a->logits;

	for (int layer = TRAIN_DEPTH - 1; layer >= 0; layer--) {
		struct train_pass pass = train_begin_pass(
			model, slot, (enum train_layer)layer, TRAIN_BACKWARD);

		weight_gradient(&pass, a, above, gradients);
		layer_gradient(&pass, a, above);
		train_end_pass(&pass);
		above = a->gradient[layer];
	}
	train_launch(model, model->stream, scatter, model->n_embedding,
		     .samples = samples(model, a), .gradient = above,
		     .out = gradients);
	order(model, model->join, model->side, model->stream);
	if (slot == 0)
		extra(model, TRAIN_BACKWARD);
}

void train_keep_gradient(struct train_model *model, unsigned slot)
{
	train_copy(model, model->spare_gradient,
		   model->gradients + slot * model->n_parameters,
		   model->n_parameters * sizeof(float));
}

void train_same_gradient(struct train_model *model, unsigned slot)
{
	const float *gradient = model->gradients + slot * model->n_parameters;

	train_launch(model, model->stream, compare, model->n_parameters,
		     .a = (const uint32_t *)gradient,
		     .b = (const uint32_t *)model->spare_gradient,
		     .differs = model->retained_differs);
}

/* --- before the first step ------------------------------------------------ */

/*
 * All products of a step, on nothing. A library loads its kernels when a product
 * first needs them, which not every driver allows during a capture.
 */
void train_warm_up(struct train_model *model)
{
	struct train_activations *a = &model->activations[0];

	train_set(model, model->memory, 0xff, model->memory_size);
	for (int layer = 0; layer < TRAIN_DEPTH; layer++) {
		const struct train_weights *w = &model->weights[layer];
		float *out = layer == TRAIN_DEPTH - 1 ? a->logits
						      : a->hidden[layer + 1];
		float *weights = model->parameters + w->weight;

		product(model, model->stream, TRAIN_PLAIN, TRAIN_BATCH,
			w->columns, w->rows, a->dropped[layer], weights, out);
		product(model, model->stream, TRAIN_RIGHT_TURN, TRAIN_BATCH,
			w->rows, w->columns, out, weights, a->gradient[layer]);
		order(model, model->fork, model->stream, model->side);
		product(model, model->side, TRAIN_LEFT_TURN, w->rows,
			w->columns, TRAIN_BATCH, a->redrawn[layer], out,
			model->gradients + w->weight);
	}
	order(model, model->join, model->side, model->stream);
}

/* --- update --------------------------------------------------------------- */

void train_update(struct train_model *model)
{
	train_launch(model, model->stream, reduce, model->n_parameters,
		     .parts = model->gradients, .stride = model->n_parameters,
		     .out = model->mean_gradient);
	train_launch(model, model->stream, adamw, model->n_parameters,
		     .parameters = model->parameters,
		     .gradient = model->mean_gradient, .first = model->first,
		     .second = model->second, .clock = model->clock,
		     .rate = TRAIN_RATE, .decay = TRAIN_DECAY);
	train_launch(model, model->stream, finish, 1, .clock = model->clock,
		     .losses = model->losses, .history = model->history,
		     .steps = model->options->steps);
}
