/*
 * tools/train/runner.c - one step whose layers are calls of a runner's
 * functions
 *
 * Even steps take a micro-batch after the other. In odd ones all forwards come
 * first, and their backwards out of order, one of them twice: then the outputs
 * of all of them are not released, and a function's recordings are used side by
 * side.
 */
#include "tools/train/train.h"

/* --- forward -------------------------------------------------------------- */

static struct philox_call_input text_of(const struct train_model *model)
{
	return train_memory(model->symbols, model->text->size);
}

static struct philox_call_input part_of(const struct train_model *model,
					float *array, int set)
{
	struct train_part part = train_part_of(model, set);

	return train_memory(array + part.offset, part.floats * sizeof(float));
}

static void call_extra(struct train_model *model, enum train_function_id id,
		       uint32_t *total)
{
	struct philox_ticket *ticket = &model->tickets[0][TRAIN_NOISE];
	struct train_call call = {.function = id, .layer = TRAIN_NOISE};

	if (!model->options->ops)
		return;
	call.inputs[0] = train_memory(total, TRAIN_EXTRA * sizeof(*total));
	call.use.ticket = *ticket;
	train_make_call(model, &call);
	*ticket = call.use.ticket;
}

static void call_input(struct train_model *model, unsigned slot)
{
	struct train_slot_outputs *out = &model->runner->slots[slot];
	struct train_call call = {.function = TRAIN_CALL_INPUT,
				  .layer = TRAIN_INPUT};

	call.inputs[INPUT_TEXT] = text_of(model);
	call.inputs[INPUT_EMBEDDING] =
		part_of(model, model->parameters, TRAIN_DEPTH);
	train_make_call(model, &call);
	model->tickets[slot][TRAIN_INPUT] = call.use.ticket;
	out->words = call.outputs[INPUT_WORDS];
	out->hidden[TRAIN_INPUT] = call.outputs[INPUT_HIDDEN];
	out->dropped = call.outputs[INPUT_DROPPED];
}

static void call_hidden(struct train_model *model, unsigned slot,
			enum train_layer layer)
{
	struct train_slot_outputs *out = &model->runner->slots[slot];
	struct train_call call = {.function = TRAIN_CALL_HIDDEN,
				  .layer = layer};

	call.inputs[HIDDEN_X] = train_output(&out->dropped);
	call.inputs[HIDDEN_WEIGHTS] =
		part_of(model, model->parameters, (int)layer - 1);
	train_make_call(model, &call);
	train_drop_output(model, &out->dropped);
	model->tickets[slot][layer] = call.use.ticket;
	out->hidden[layer] = call.outputs[HIDDEN_HIDDEN];
	out->dropped = call.outputs[HIDDEN_DROPPED];
}

/* The loss is read by who called, and then not needed. */
static void call_loss(struct train_model *model, unsigned slot)
{
	struct train_slot_outputs *out = &model->runner->slots[slot];
	struct train_call call = {.function = TRAIN_CALL_LOSS};

	call.inputs[LOSS_X] = train_output(&out->dropped);
	call.inputs[LOSS_WEIGHTS] =
		part_of(model, model->parameters, TRAIN_DEPTH - 1);
	call.inputs[LOSS_TEXT] = text_of(model);
	call.inputs[LOSS_WORDS] = train_output(&out->words);
	train_make_call(model, &call);
	train_drop_output(model, &out->dropped);
	train_copy(model, model->losses + slot, call.outputs[LOSS_LOSS].address,
		   sizeof(float));
	train_drop_output(model, &call.outputs[LOSS_LOSS]);
	out->gradient = call.outputs[LOSS_GRADIENT];
}

static void forward_slot(struct train_model *model, unsigned slot)
{
	if (slot == 0)
		call_extra(model, TRAIN_CALL_EXTRA, model->extra[0]);
	call_input(model, slot);
	call_hidden(model, slot, TRAIN_HIDDEN1);
	call_hidden(model, slot, TRAIN_HIDDEN2);
	call_loss(model, slot);
}

/* --- backward ------------------------------------------------------------- */

/* Returns the gradient below the layer. */
static struct philox_output call_layer(struct train_model *model, unsigned slot,
				       enum train_layer layer, unsigned flags,
				       const struct philox_output *above)
{
	struct train_slot_outputs *out = &model->runner->slots[slot];
	struct train_call call = {.function = TRAIN_CALL_LAYER, .layer = layer};

	call.inputs[LAYER_ABOVE] = train_output(above);
	call.inputs[LAYER_HIDDEN] = train_output(&out->hidden[layer]);
	call.inputs[LAYER_WEIGHTS] =
		part_of(model, model->parameters, (int)layer);
	call.use.ticket = model->tickets[slot][layer];
	call.use.flags = flags;
	train_make_call(model, &call);
	out->gradients[layer] = call.outputs[LAYER_OF_WEIGHTS];
	return call.outputs[LAYER_GRADIENT];
}

static void call_embedding(struct train_model *model, unsigned slot,
			   const struct philox_output *gradient)
{
	struct train_slot_outputs *out = &model->runner->slots[slot];
	struct train_call call = {.function = TRAIN_CALL_EMBEDDING};

	call.inputs[EMBEDDING_TEXT] = text_of(model);
	call.inputs[EMBEDDING_WORDS] = train_output(&out->words);
	call.inputs[EMBEDDING_GRADIENT] = train_output(gradient);
	train_make_call(model, &call);
	out->gradients[TRAIN_DEPTH] = call.outputs[0];
}

/* What a forward kept for its backward is needed until that is the last one. */
static void drop_kept(struct train_model *model, struct train_slot_outputs *out)
{
	train_drop_output(model, &out->gradient);
	for (int layer = 0; layer < TRAIN_DEPTH; layer++)
		train_drop_output(model, &out->hidden[layer]);
	train_drop_output(model, &out->words);
}

/* With PHILOX_PASS_RETAIN another one is to come. */
static void backward_slot(struct train_model *model, unsigned slot,
			  unsigned flags)
{
	struct train_slot_outputs *out = &model->runner->slots[slot];
	struct philox_output above = out->gradient;

	for (int layer = TRAIN_DEPTH - 1; layer >= 0; layer--) {
		struct philox_output below = call_layer(
			model, slot, (enum train_layer)layer, flags, &above);

		if (layer != TRAIN_DEPTH - 1)
			train_drop_output(model, &above);
		above = below;
	}
	call_embedding(model, slot, &above);
	train_drop_output(model, &above);
	if (flags & PHILOX_PASS_RETAIN)
		return;
	if (slot == 0)
		call_extra(model, TRAIN_CALL_EXTRA_AGAIN, model->extra[1]);
	drop_kept(model, out);
}

/* --- update --------------------------------------------------------------- */

static void call_update(struct train_model *model, int set)
{
	static const struct train_rates rates = {TRAIN_RATE, TRAIN_DECAY};
	const enum train_layer layer = (enum train_layer)set;
	struct train_slot_outputs *slots = model->runner->slots;
	struct train_call call = {.function = TRAIN_CALL_UPDATE,
				  .layer = model->rounded ? layer : TRAIN_INPUT,
				  .value = {&rates, sizeof(rates)}};

	call.inputs[UPDATE_PARAMETERS] = part_of(model, model->parameters, set);
	call.inputs[UPDATE_FIRST] = part_of(model, model->first, set);
	call.inputs[UPDATE_SECOND] = part_of(model, model->second, set);
	call.inputs[UPDATE_CLOCK] =
		train_memory(model->clock, sizeof(*model->clock));
	for (int slot = 0; slot < TRAIN_SLOTS; slot++)
		call.inputs[UPDATE_GRADIENTS + slot] =
			train_output(&slots[slot].gradients[set]);
	train_make_call(model, &call);
	for (int slot = 0; slot < TRAIN_SLOTS; slot++)
		train_drop_output(model, &slots[slot].gradients[set]);
}

static void call_finish(struct train_model *model, uint64_t step)
{
	struct train_call call = {.function = TRAIN_CALL_FINISH,
				  .value = {&step, sizeof(step)}};

	call.inputs[FINISH_CLOCK] =
		train_memory(model->clock, sizeof(*model->clock));
	call.inputs[FINISH_LOSSES] =
		train_memory(model->losses, TRAIN_SLOTS * sizeof(float));
	call.inputs[FINISH_HISTORY] = train_memory(
		model->history,
		model->options->steps * TRAIN_SLOTS * sizeof(float));
	train_make_call(model, &call);
}

/* --- a step --------------------------------------------------------------- */

/* A retained backward's gradient, and that it is the same the second time. */
static void keep_gradients(struct train_model *model,
			   struct philox_output gradients[TRAIN_SETS])
{
	for (int set = 0; set < TRAIN_SETS; set++) {
		struct train_part part = train_part_of(model, set);

		train_copy(model, model->spare_gradient + part.offset,
			   gradients[set].address, part.floats * sizeof(float));
		train_drop_output(model, &gradients[set]);
	}
}

static void same_gradients(struct train_model *model,
			   const struct philox_output gradients[TRAIN_SETS])
{
	for (int set = 0; set < TRAIN_SETS; set++) {
		struct train_part part = train_part_of(model, set);
		const float *kept = model->spare_gradient + part.offset;

		train_launch(model, model->stream, compare, part.floats,
			     .a = gradients[set].address,
			     .b = (const uint32_t *)kept,
			     .differs = model->retained_differs);
	}
}

static void step_in_order(struct train_model *model)
{
	for (unsigned slot = 0; slot < TRAIN_SLOTS; slot++) {
		forward_slot(model, slot);
		backward_slot(model, slot, 0);
	}
}

#define TWICE 2 /* the slot whose backward runs twice */

static void step_out_of_order(struct train_model *model,
			      struct train_result *result)
{
	static const unsigned order[] = {3, 0, TWICE, 1};
	struct philox_output *gradients = model->runner->slots[TWICE].gradients;
	size_t pending;

	for (unsigned slot = 0; slot < TRAIN_SLOTS; slot++)
		forward_slot(model, slot);
	pending = train_count_pending(model);
	if (pending > result->pending)
		result->pending = pending;
	backward_slot(model, TWICE, PHILOX_PASS_RETAIN);
	keep_gradients(model, gradients);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		backward_slot(model, order[i], 0);
	same_gradients(model, gradients);
}

void train_runner_step(struct train_model *model, uint64_t step,
		       struct train_result *result)
{
	if (model->status)
		return;
	if (step % 2)
		step_out_of_order(model, result);
	else
		step_in_order(model);
	for (int set = 0; set < TRAIN_SETS; set++)
		call_update(model, set);
	call_finish(model, step);
}
