/*
 * tools/train/bodies.c - what the functions of a runner do
 *
 * The same arithmetic as in step.c. All that a body reads and writes comes from
 * its call, or from the runner's pool; only where a layer's region is, it has
 * to ask the call's layer, which is in the key.
 */
#include "tools/train/train.h"

/* --- inputs, memory, outputs ---------------------------------------------- */

static void *input_of(struct train_model *model, size_t index, size_t *bytes)
{
	void *address = NULL;

	if (bytes)
		*bytes = 0;
	if (!model->status)
		train_check(model, philox_run_input(model->run, index, &address,
						    bytes));
	return address;
}

static struct train_samples samples_of(struct train_model *model, size_t index,
				       const uint32_t *words)
{
	size_t bytes;
	const uint8_t *text = input_of(model, index, &bytes);

	return (struct train_samples){text, words,
				      (uint32_t)(bytes - TRAIN_CONTEXT)};
}

static void *take_of_run(struct train_model *model, size_t bytes,
			 const char *tag)
{
	void *address = NULL;

	if (!model->status)
		train_check(model, philox_run_alloc(model->run, bytes, 0, tag,
						    &address));
	return address;
}

static float *take_activations(struct train_model *model, const char *tag)
{
	return take_of_run(model, TRAIN_LAYER_SIZE, tag);
}

static void give_back(struct train_model *model, void *address)
{
	if (!model->status)
		train_check(model, philox_run_free(model->run, address));
}

static void declare(struct train_model *model, size_t index, void *address,
		    size_t bytes)
{
	if (!model->status)
		train_check(model, philox_run_output(model->run, index, address,
						     bytes));
}

static const void *value_of(struct train_model *model)
{
	const void *address = NULL;

	if (!model->status)
		train_check(model, philox_run_param(model->run, 0, &address));
	return address;
}

/* A layer's weights with the bias after them, for a width of columns. */
struct layer_weights {
	float *weight, *bias;
	size_t columns;
};

static struct layer_weights weights_of(struct train_model *model, size_t index)
{
	size_t bytes;
	float *weight = input_of(model, index, &bytes);
	size_t columns = bytes / sizeof(float) / (TRAIN_WIDTH + 1);

	if (!weight)
		return (struct layer_weights){0};
	return (struct layer_weights){weight, weight + TRAIN_WIDTH * columns,
				      columns};
}

/* --- forward -------------------------------------------------------------- */

void train_body_input(struct train_model *model)
{
	float *embedding = input_of(model, INPUT_EMBEDDING, NULL);
	size_t size = TRAIN_BATCH * sizeof(uint32_t);
	uint32_t *words = take_of_run(model, size, "samples");
	float *hidden = take_activations(model, "embedded");
	float *dropped = take_activations(model, "dropped");
	struct train_pass pass =
		train_begin_pass(model, 0, TRAIN_INPUT, TRAIN_FORWARD);

	train_draw_bits(&pass, TRAIN_PICK, TRAIN_BATCH, words);
	train_launch(model, model->stream, gather, TRAIN_BATCH * TRAIN_WIDTH,
		     .samples = samples_of(model, INPUT_TEXT, words),
		     .embedding = embedding, .out = hidden);
	train_drop(&pass, model->stream, hidden, dropped);
	train_end_pass(&pass);
	declare(model, INPUT_WORDS, words, size);
	declare(model, INPUT_HIDDEN, hidden, TRAIN_LAYER_SIZE);
	declare(model, INPUT_DROPPED, dropped, TRAIN_LAYER_SIZE);
}

void train_body_hidden(struct train_model *model)
{
	float *x = input_of(model, HIDDEN_X, NULL);
	struct layer_weights w = weights_of(model, HIDDEN_WEIGHTS);
	float *hidden = take_activations(model, "hidden");
	float *dropped = take_activations(model, "dropped");
	struct train_pass pass =
		train_begin_pass(model, 0, model->runner->layer, TRAIN_FORWARD);

	train_multiply(model, model->stream, TRAIN_PLAIN, TRAIN_BATCH,
		       w.columns, TRAIN_WIDTH, x, w.weight, hidden);
	train_launch(model, model->stream, bias_tanh, TRAIN_BATCH * TRAIN_WIDTH,
		     .x = hidden, .bias = w.bias, .columns = w.columns);
	train_drop(&pass, model->stream, hidden, dropped);
	train_end_pass(&pass);
	declare(model, HIDDEN_HIDDEN, hidden, TRAIN_LAYER_SIZE);
	declare(model, HIDDEN_DROPPED, dropped, TRAIN_LAYER_SIZE);
}

/* No pass: nothing is random above the last hidden layer. */
void train_body_loss(struct train_model *model)
{
	float *x = input_of(model, LOSS_X, NULL);
	struct layer_weights w = weights_of(model, LOSS_WEIGHTS);
	const uint32_t *words = input_of(model, LOSS_WORDS, NULL);
	size_t size = TRAIN_BATCH * w.columns * sizeof(float);
	float *logits = take_of_run(model, size, "logits");
	float *losses =
		take_of_run(model, TRAIN_BATCH * sizeof(float), "losses");
	float *loss = take_of_run(model, sizeof(float), "loss");

	train_multiply(model, model->stream, TRAIN_PLAIN, TRAIN_BATCH,
		       w.columns, TRAIN_WIDTH, x, w.weight, logits);
	train_launch(model, model->stream, softmax, TRAIN_BATCH,
		     .samples = samples_of(model, LOSS_TEXT, words),
		     .logits = logits, .bias = w.bias, .losses = losses,
		     .symbols = model->text->vocabulary, .columns = w.columns);
	train_launch(model, model->stream, mean, 1, .losses = losses,
		     .out = loss);
	give_back(model, losses);
	declare(model, LOSS_GRADIENT, logits, size);
	declare(model, LOSS_LOSS, loss, sizeof(float));
}

/* --- backward ------------------------------------------------------------- */

/* On the side stream, as nothing waits for it: see step.c. */
static void layer_weight_gradient(struct train_pass *pass, const float *hidden,
				  const float *above, size_t columns,
				  float *redrawn, float *out)
{
	struct train_model *model = pass->model;

	train_drop(pass, model->side, hidden, redrawn);
	train_multiply(model, model->side, TRAIN_LEFT_TURN, TRAIN_WIDTH,
		       columns, TRAIN_BATCH, redrawn, above, out);
	train_launch(model, model->side, column_sum, columns, .in = above,
		     .out = out + TRAIN_WIDTH * columns, .columns = columns);
}

static void layer_gradient_below(struct train_pass *pass, const float *hidden,
				 const float *above,
				 const struct layer_weights *w, float *out)
{
	struct train_model *model = pass->model;

	train_multiply(model, model->stream, TRAIN_RIGHT_TURN, TRAIN_BATCH,
		       TRAIN_WIDTH, w->columns, above, w->weight, out);
	train_drop(pass, model->stream, out, out);
	if (pass->layer != TRAIN_INPUT)
		train_launch(model, model->stream, tanh_backward,
			     TRAIN_BATCH * TRAIN_WIDTH, .gradient = out,
			     .tanh = hidden);
}

/*
 * All memory is taken before the side stream forks, and given back after it has
 * joined.
 */
void train_body_layer(struct train_model *model)
{
	float *above = input_of(model, LAYER_ABOVE, NULL);
	float *hidden = input_of(model, LAYER_HIDDEN, NULL);
	struct layer_weights w = weights_of(model, LAYER_WEIGHTS);
	size_t size = (TRAIN_WIDTH + 1) * w.columns * sizeof(float);
	float *gradient = take_activations(model, "gradient");
	float *of_weights = take_of_run(model, size, "gradient of weights");
	float *redrawn = take_activations(model, "redrawn");
	struct train_pass pass = train_begin_pass(
		model, 0, model->runner->layer, TRAIN_BACKWARD);

	if (model->status)
		return;
	train_order(model, model->fork, model->stream, model->side);
	layer_weight_gradient(&pass, hidden, above, w.columns, redrawn,
			      of_weights);
	layer_gradient_below(&pass, hidden, above, &w, gradient);
	train_order(model, model->join, model->side, model->stream);
	train_end_pass(&pass);
	give_back(model, redrawn);
	declare(model, LAYER_GRADIENT, gradient, TRAIN_LAYER_SIZE);
	declare(model, LAYER_OF_WEIGHTS, of_weights, size);
}

void train_body_embedding(struct train_model *model)
{
	const uint32_t *words = input_of(model, EMBEDDING_WORDS, NULL);
	float *above = input_of(model, EMBEDDING_GRADIENT, NULL);
	size_t size = model->n_embedding * sizeof(float);
	float *gradient = take_of_run(model, size, "gradient of the embedding");

	train_launch(model, model->stream, scatter, model->n_embedding,
		     .samples = samples_of(model, EMBEDDING_TEXT, words),
		     .gradient = above, .out = gradient);
	declare(model, 0, gradient, size);
}

/* --- update --------------------------------------------------------------- */

void train_body_update(struct train_model *model)
{
	size_t bytes;
	float *parameters = input_of(model, UPDATE_PARAMETERS, &bytes);
	size_t floats = bytes / sizeof(float);
	float *first = input_of(model, UPDATE_FIRST, NULL);
	float *second = input_of(model, UPDATE_SECOND, NULL);
	struct train_clock *clock = input_of(model, UPDATE_CLOCK, NULL);
	const struct train_rates *rates = value_of(model);
	const float *parts[TRAIN_SLOTS];
	float *mean = take_of_run(model, bytes, "mean gradient");
	struct train_adamw args;

	for (size_t slot = 0; slot < TRAIN_SLOTS; slot++)
		parts[slot] = input_of(model, UPDATE_GRADIENTS + slot, NULL);
	train_reduce_gradients(model, floats, parts, mean);
	args = (struct train_adamw){.parameters = parameters,
				    .gradient = mean,
				    .first = first,
				    .second = second,
				    .clock = clock,
				    .rates_at = rates};
	if (model->rounded)
		train_update_rounded(model, (int)model->runner->layer, args);
	else
		train_put(model, model->stream, TRAIN_adamw, &args,
			  sizeof(args), floats);
	give_back(model, mean);
}

void train_body_finish(struct train_model *model)
{
	struct train_clock *clock = input_of(model, FINISH_CLOCK, NULL);
	float *losses = input_of(model, FINISH_LOSSES, NULL);
	float *history = input_of(model, FINISH_HISTORY, NULL);
	const uint64_t *step = value_of(model);

	train_launch(model, model->stream, finish, 1, .clock = clock,
		     .step = step, .losses = losses, .history = history,
		     .steps = model->options->steps);
}

/* --- the extra operators -------------------------------------------------- */

static void extra_rows(struct train_model *model, enum train_kind kind)
{
	const uint64_t ops = model->options->ops;
	uint32_t *total = input_of(model, 0, NULL);
	uint32_t *rows = take_of_run(model, ops * TRAIN_EXTRA * sizeof(*rows),
				     "extra rows");
	struct train_pass pass = train_begin_pass(model, 0, TRAIN_NOISE, kind);

	for (uint32_t op = 0; op < ops && !model->status; op++)
		train_draw_bits(&pass, op, TRAIN_EXTRA,
				rows + op * TRAIN_EXTRA);
	train_launch(model, model->stream, add_rows, TRAIN_EXTRA, .rows = rows,
		     .n_rows = ops, .total = total);
	train_end_pass(&pass);
	give_back(model, rows);
}

void train_body_extra(struct train_model *model)
{
	extra_rows(model, TRAIN_FORWARD);
}

void train_body_extra_again(struct train_model *model)
{
	extra_rows(model, TRAIN_BACKWARD);
}
