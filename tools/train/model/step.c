/*
 * tools/train/model/step.c - one step: forwards, recomputes, backwards, the
 * update
 *
 * The same code runs eagerly and inside a capture; which of the two is the
 * stream's business. An array is taken where it is first written, and given
 * back where it is read last. Nothing random is kept: the backward draws every
 * dropout again, once to have the layer's output for the weights' gradient (on
 * the side stream) and once on the gradient that flows down.
 */
#include <string.h>
#include "tools/train/model/model.h"

/* --- streams -------------------------------------------------------------- */

void train_order(struct train_model *model, philox_event event,
		 philox_stream first, philox_stream then)
{
	if (!model->status)
		train_check(model,
			    philox_event_record(model->device, first, event));
	if (!model->status)
		train_check(model,
			    philox_event_wait(model->device, then, event));
}

void train_multiply(struct train_model *model, philox_stream stream,
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

struct train_activations *train_activations(struct train_model *model,
					    unsigned slot)
{
	return &model->arrays.activations[model->shared ? 0 : slot];
}

static struct train_samples samples(const struct train_model *model,
				    const struct train_activations *a)
{
	uint32_t places = (uint32_t)(model->text->size - TRAIN_CONTEXT);

	return (struct train_samples){model->symbols, a->words, places};
}

static float *take_floats(struct train_model *model, float *array, size_t count,
			  const char *tag)
{
	return train_take(model, model->stream, array, count * sizeof(float),
			  tag);
}

static float *take_layer(struct train_model *model, float *array,
			 const char *tag)
{
	return train_take(model, model->stream, array, TRAIN_LAYER_SIZE, tag);
}

/* The extra operators draw, in the first slot's passes, into a running sum. */
void train_extra(struct train_model *model, enum train_kind kind)
{
	uint64_t ops = model->options->ops;
	struct train_pass pass;
	uint32_t *rows;

	if (!ops)
		return;
	rows = train_take(model, model->stream, model->arrays.extra_rows,
			  ops * TRAIN_EXTRA * sizeof(*rows), "extra rows");
	pass = train_begin_pass(model, 0, TRAIN_NOISE, kind);
	for (uint32_t op = 0; op < ops && !model->status; op++)
		train_draw_bits(&pass, op, TRAIN_EXTRA,
				rows + op * TRAIN_EXTRA);
	train_launch(model, model->stream, add_rows, TRAIN_EXTRA, .rows = rows,
		     .n_rows = ops,
		     .total = model->extra[kind == TRAIN_BACKWARD]);
	train_end_pass(&pass);
	model->arrays.extra_rows = train_give(model, model->stream, rows);
}

static void input_layer(struct train_model *model, unsigned slot,
			enum train_kind kind)
{
	struct train_activations *a = train_activations(model, slot);
	struct train_pass pass =
		train_begin_pass(model, slot, TRAIN_INPUT, kind);

	a->words = train_take(model, model->stream, a->words,
			      TRAIN_BATCH * sizeof(*a->words), "samples");
	a->hidden[TRAIN_INPUT] =
		take_layer(model, a->hidden[TRAIN_INPUT], "embedded");
	a->dropped[TRAIN_INPUT] =
		take_layer(model, a->dropped[TRAIN_INPUT], "dropped");
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
	struct train_activations *a = train_activations(model, slot);
	const struct train_weights *w = &model->weights[layer - 1];
	struct train_pass pass = train_begin_pass(model, slot, layer, kind);

	a->hidden[layer] = take_layer(model, a->hidden[layer], "hidden");
	train_multiply(model, model->stream, TRAIN_PLAIN, TRAIN_BATCH,
		       w->columns, w->rows, a->dropped[layer - 1],
		       model->parameters + w->weight, a->hidden[layer]);
	a->dropped[layer - 1] =
		train_give(model, model->stream, a->dropped[layer - 1]);
	a->dropped[layer] = take_layer(model, a->dropped[layer], "dropped");
	train_launch(model, model->stream, bias_tanh, TRAIN_BATCH * TRAIN_WIDTH,
		     .x = a->hidden[layer], .bias = model->parameters + w->bias,
		     .columns = w->columns);
	train_drop(&pass, model->stream, a->hidden[layer], a->dropped[layer]);
	train_end_pass(&pass);
}

static void output_layer(struct train_model *model, unsigned slot, float *loss)
{
	struct train_activations *a = train_activations(model, slot);
	const struct train_weights *w = &model->weights[TRAIN_DEPTH - 1];
	float **last = &a->dropped[TRAIN_DEPTH - 1];

	a->logits = take_floats(model, a->logits, TRAIN_BATCH * w->columns,
				"logits");
	train_multiply(model, model->stream, TRAIN_PLAIN, TRAIN_BATCH,
		       w->columns, w->rows, *last,
		       model->parameters + w->weight, a->logits);
	*last = train_give(model, model->stream, *last);
	a->losses = take_floats(model, a->losses, TRAIN_BATCH, "losses");
	train_launch(model, model->stream, softmax, TRAIN_BATCH,
		     .samples = samples(model, a), .logits = a->logits,
		     .bias = model->parameters + w->bias, .losses = a->losses,
		     .symbols = model->text->vocabulary, .columns = w->columns);
	train_launch(model, model->stream, mean, 1, .losses = a->losses,
		     .out = loss);
	a->losses = train_give(model, model->stream, a->losses);
}

static void all_layers(struct train_model *model, unsigned slot,
		       enum train_kind kind, float *loss)
{
	input_layer(model, slot, kind);
	hidden_layer(model, slot, TRAIN_HIDDEN1, kind);
	hidden_layer(model, slot, TRAIN_HIDDEN2, kind);
	output_layer(model, slot, loss);
}

void train_forward_to(struct train_model *model, unsigned slot, float *loss)
{
	all_layers(model, slot, TRAIN_FORWARD, loss);
}

void train_forward(struct train_model *model, unsigned slot)
{
	if (slot == 0)
		train_extra(model, TRAIN_FORWARD);
	train_forward_to(model, slot, model->losses + slot);
}

void train_recompute(struct train_model *model, unsigned slot)
{
	float *loss = take_floats(model, model->arrays.recomputed_loss, 1,
				  "recomputed loss");

	all_layers(model, slot, TRAIN_RECOMPUTE, loss);
	model->arrays.recomputed_loss = train_give(model, model->stream, loss);
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

	float *redrawn = a->redrawn[pass->layer];

	train_order(model, model->fork, model->stream, model->side);
	redrawn = train_take(model, model->side, redrawn, TRAIN_LAYER_SIZE,
			     "redrawn");
	train_drop(pass, model->side, a->hidden[pass->layer], redrawn);
	train_multiply(model, model->side, TRAIN_LEFT_TURN, w->rows, w->columns,
		       TRAIN_BATCH, redrawn, above, gradients + w->weight);
	a->redrawn[pass->layer] = train_give(model, model->side, redrawn);
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
	float *gradient =
		take_layer(model, a->gradient[pass->layer], "gradient");

	a->gradient[pass->layer] = gradient;
	train_multiply(model, model->stream, TRAIN_RIGHT_TURN, TRAIN_BATCH,
		       w->rows, w->columns, above,
		       model->parameters + w->weight, gradient);
	train_drop(pass, model->stream, gradient, gradient);
	if (pass->layer != TRAIN_INPUT)
		train_launch(model, model->stream, tanh_backward,
			     TRAIN_BATCH * TRAIN_WIDTH, .gradient = gradient,
			     .tanh = a->hidden[pass->layer]);
}

/* After both streams are one again. */
static void give_all(struct train_model *model, struct train_activations *a)
{
	philox_stream stream = model->stream;

	for (int layer = 0; layer < TRAIN_DEPTH; layer++) {
		a->gradient[layer] =
			train_give(model, stream, a->gradient[layer]);
		a->hidden[layer] = train_give(model, stream, a->hidden[layer]);
	}
	a->logits = train_give(model, stream, a->logits);
	a->words = train_give(model, stream, a->words);
}

void train_take_gradients(struct train_model *model)
{
	struct train_arrays *arrays = &model->arrays;

	arrays->gradients =
		take_floats(model, arrays->gradients,
			    TRAIN_SLOTS * model->n_parameters, "gradients");
}

static float *slot_gradients(struct train_model *model, unsigned slot)
{
	train_take_gradients(model);
	if (model->status)
		return NULL;
	return model->arrays.gradients + slot * model->n_parameters;
}

void train_backward_to(struct train_model *model, unsigned slot,
		       float *gradient)
{
	struct train_activations *a = train_activations(model, slot);
	const float *above = a->logits;

	if (model->status)
		return;
	for (int layer = TRAIN_DEPTH - 1; layer >= 0; layer--) {
		struct train_pass pass = train_begin_pass(
			model, slot, (enum train_layer)layer, TRAIN_BACKWARD);

		weight_gradient(&pass, a, above, gradient);
		layer_gradient(&pass, a, above);
		train_end_pass(&pass);
		above = a->gradient[layer];
	}
	train_launch(model, model->stream, scatter, model->n_embedding,
		     .samples = samples(model, a), .gradient = above,
		     .out = gradient);
	train_order(model, model->join, model->side, model->stream);
}

void train_backward(struct train_model *model, unsigned slot)
{
	train_backward_to(model, slot, slot_gradients(model, slot));
	if (model->status)
		return;
	if (slot == 0)
		train_extra(model, TRAIN_BACKWARD);
	give_all(model, train_activations(model, slot));
}

void train_keep_gradient(struct train_model *model, unsigned slot)
{
	const float *gradient = slot_gradients(model, slot);

	train_copy(model, model->spare_gradient, gradient,
		   model->n_parameters * sizeof(float));
}

void train_same_gradient(struct train_model *model, unsigned slot)
{
	const float *gradient = slot_gradients(model, slot);

	train_launch(model, model->stream, compare, model->n_parameters,
		     .a = (const uint32_t *)gradient,
		     .b = (const uint32_t *)model->spare_gradient,
		     .differs = model->retained_differs);
}

/* --- before the first step ------------------------------------------------ */

/*
 * All products of a step, on nothing. A library loads its kernels when a
 * product first needs them, which not every driver allows during a capture.
 */
static size_t most_floats(const struct train_model *model)
{
	size_t most = 0;

	for (int layer = 0; layer < TRAIN_DEPTH; layer++) {
		const struct train_weights *w = &model->weights[layer];
		size_t longer = w->rows > w->columns ? w->rows : w->columns;
		size_t shorter = w->rows + w->columns - longer;
		size_t floats = longer *
				(shorter > TRAIN_BATCH ? shorter : TRAIN_BATCH);

		most = floats > most ? floats : most;
	}
	return most;
}

static void warm_up_products(struct train_model *model, float *a, float *b,
			     float *out)
{
	for (int layer = 0; layer < TRAIN_DEPTH; layer++) {
		const struct train_weights *w = &model->weights[layer];

		train_multiply(model, model->stream, TRAIN_PLAIN, TRAIN_BATCH,
			       w->columns, w->rows, a, b, out);
		train_multiply(model, model->stream, TRAIN_RIGHT_TURN,
			       TRAIN_BATCH, w->rows, w->columns, a, b, out);
		train_order(model, model->fork, model->stream, model->side);
		train_multiply(model, model->side, TRAIN_LEFT_TURN, w->rows,
			       w->columns, TRAIN_BATCH, a, b, out);
		train_order(model, model->join, model->side, model->stream);
	}
}

void train_warm_up(struct train_model *model)
{
	const size_t most = most_floats(model);
	void *memory = NULL;
	float *floats;

	train_check(model,
		    philox_memory_alloc(model->device,
					3 * most * sizeof(*floats), &memory));
	if (model->status)
		return;
	floats = memory;
	train_set(model, floats, 0xff, 3 * most * sizeof(*floats));
	warm_up_products(model, floats, floats + most, floats + 2 * most);
	train_check(model,
		    philox_stream_synchronize(model->device, model->stream));
	philox_memory_free(model->device, memory);
}

/* --- update --------------------------------------------------------------- */

void train_reduce_gradients(struct train_model *model, size_t count,
			    const float *const parts[TRAIN_SLOTS], float *mean)
{
	struct train_reduce args = {.out = mean};

	memcpy(args.parts, parts, sizeof(args.parts));
	train_put(model, model->stream, TRAIN_reduce, &args, sizeof(args),
		  count);
}

/* The sets are one kernel in f32, and one each in bf16. */
static void update_all(struct train_model *model, const float *mean)
{
	const struct train_adamw all = {.parameters = model->parameters,
					.gradient = mean,
					.first = model->first,
					.second = model->second,
					.clock = model->clock,
					.rates = {TRAIN_RATE, TRAIN_DECAY}};

	if (!model->rounded)
		train_put(model, model->stream, TRAIN_adamw, &all, sizeof(all),
			  model->n_parameters);
	for (int set = 0; set < TRAIN_SETS && model->rounded; set++) {
		const size_t offset = train_part_of(model, set).offset;
		struct train_adamw args = all;

		args.parameters += offset;
		args.gradient += offset;
		args.first += offset;
		args.second += offset;
		train_update_rounded(model, set, args);
	}
}

void train_update(struct train_model *model)
{
	struct train_arrays *arrays = &model->arrays;
	float *gradients = arrays->gradients, *mean;
	const float *parts[TRAIN_SLOTS];

	if (model->status)
		return;
	for (size_t slot = 0; slot < TRAIN_SLOTS; slot++)
		parts[slot] = gradients + slot * model->n_parameters;
	mean = take_floats(model, arrays->mean_gradient, model->n_parameters,
			   "mean gradient");
	train_reduce_gradients(model, model->n_parameters, parts, mean);
	arrays->gradients = train_give(model, model->stream, gradients);
	update_all(model, mean);
	arrays->mean_gradient = train_give(model, model->stream, mean);
	train_launch(model, model->stream, finish, 1, .clock = model->clock,
		     .step = &model->clock->step, .losses = model->losses,
		     .history = model->history, .steps = model->options->steps);
}
