/*
 * tools/train/runner.h - a run through functions of a runner
 *
 * What a layer does, forward and backward, is a function (philox/runner.h), and
 * all layers of a kind share it: its static inputs are the layer's parameters.
 * What a call gives goes to the next one by handle, and is released where it is
 * needed no more.
 */
#ifndef TOOLS_TRAIN_RUNNER_H
#define TOOLS_TRAIN_RUNNER_H

#include "tools/train/train.h"

/* Parts of the parameters that are updated by a call each: those of
 * model->weights, and the embedding. */
#define TRAIN_SETS        (TRAIN_DEPTH + 1)

#define TRAIN_INPUTS_MAX  (4 + TRAIN_SLOTS)
#define TRAIN_OUTPUTS_MAX 3

/* Inputs and outputs of the functions, by number. */
enum { INPUT_TEXT, INPUT_EMBEDDING, INPUT_INPUTS };
enum { INPUT_WORDS, INPUT_HIDDEN, INPUT_DROPPED, INPUT_OUTPUTS };
enum { HIDDEN_X, HIDDEN_WEIGHTS, HIDDEN_INPUTS };
enum { HIDDEN_HIDDEN, HIDDEN_DROPPED, HIDDEN_OUTPUTS };
enum { LOSS_X, LOSS_WEIGHTS, LOSS_TEXT, LOSS_WORDS, LOSS_INPUTS };
enum { LOSS_GRADIENT, LOSS_LOSS, LOSS_OUTPUTS };
enum { LAYER_ABOVE, LAYER_HIDDEN, LAYER_WEIGHTS, LAYER_INPUTS };
enum { LAYER_GRADIENT, LAYER_OF_WEIGHTS, LAYER_OUTPUTS };
enum { EMBEDDING_TEXT, EMBEDDING_WORDS, EMBEDDING_GRADIENT, EMBEDDING_INPUTS };
enum {
	UPDATE_PARAMETERS,
	UPDATE_FIRST,
	UPDATE_SECOND,
	UPDATE_CLOCK,
	UPDATE_GRADIENTS, /* one for each slot */
	UPDATE_INPUTS = UPDATE_GRADIENTS + TRAIN_SLOTS
};
enum { FINISH_CLOCK, FINISH_LOSSES, FINISH_HISTORY, FINISH_INPUTS };

/* What one micro-batch has at the moment: outputs that are not released. */
struct train_slot_outputs {
	struct philox_output words;
	struct philox_output hidden[TRAIN_DEPTH];
	struct philox_output dropped;  /* of the layer that was last */
	struct philox_output gradient; /* of the logits */
	struct philox_output gradients[TRAIN_SETS];
};

/* A function, and what its body is called with. */
struct train_function {
	struct train_model *model;
	struct philox_function *function; /* NULL: not in this run */
	void (*body)(struct train_model *model);
	uint64_t device_calls; /* the most of a replay */
};

struct train_runner {
	struct philox_runner *runner;
	struct train_function functions[TRAIN_FUNCTIONS];
	struct train_slot_outputs slots[TRAIN_SLOTS];
	enum train_layer layer; /* of the call on its way: its key has it */
};

/*
 * struct train_call is a call: what is not used stays 0. `use` is the ticket
 * that a backward takes, or that a forward gives.
 */
struct train_call {
	enum train_function_id function;
	enum train_layer layer; /* part of the key */
	struct philox_call_input inputs[TRAIN_INPUTS_MAX];
	struct philox_call_value value;
	struct philox_use use;
	struct philox_output outputs[TRAIN_OUTPUTS_MAX]; /* written */
};

/* Inputs of a call: memory of the model, and an output of another call. */
struct philox_call_input train_memory(void *address, size_t bytes);
struct philox_call_input train_output(const struct philox_output *output);

/* train_make_call() calls, train_drop_output() releases what a call gave. */
void train_make_call(struct train_model *model, struct train_call *call);
void train_drop_output(struct train_model *model, struct philox_output *output);

/* The bodies, with model->run. */
void train_body_input(struct train_model *model);
void train_body_hidden(struct train_model *model);
void train_body_loss(struct train_model *model);
void train_body_layer(struct train_model *model);
void train_body_embedding(struct train_model *model);
void train_body_update(struct train_model *model);
void train_body_finish(struct train_model *model);
void train_body_extra(struct train_model *model);
void train_body_extra_again(struct train_model *model);

#endif
