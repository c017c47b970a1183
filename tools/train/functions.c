/*
 * tools/train/functions.c - the runner of a run, its functions, a call of one
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tools/train/train.h"

#define STEP      ((uint64_t)256 << 10) /* of the pool's growth */
#define WAITS_MAX 5000                  /* of a millisecond */

/*
 * Recordings of a key that were never replayed: in its first step a function is
 * recorded for each layer and slot.
 */

#define VECTOR         16 /* products read whole vectors */

/* --- descriptors ---------------------------------------------------------- */

#define IN(...)                                              \
	{                                                    \
		.origin = PHILOX_ORIGIN, .name = __VA_ARGS__ \
	}
#define OUT(string)                                       \
	{                                                 \
		.name = (string), .origin = PHILOX_ORIGIN \
	}

static const struct philox_input_desc input_inputs[INPUT_INPUTS] = {
	[INPUT_TEXT] = IN("text"), [INPUT_EMBEDDING] = IN("embedding")};
static const struct philox_output_desc input_outputs[INPUT_OUTPUTS] = {
	[INPUT_WORDS] = OUT("words"),
	[INPUT_HIDDEN] = OUT("hidden"),
	[INPUT_DROPPED] = OUT("dropped")};

static const struct philox_input_desc hidden_inputs[HIDDEN_INPUTS] = {
	[HIDDEN_X] = IN("x", .alignment = VECTOR),
	[HIDDEN_WEIGHTS] = IN("weights", .alignment = VECTOR)};
static const struct philox_output_desc hidden_outputs[HIDDEN_OUTPUTS] = {
	[HIDDEN_HIDDEN] = OUT("hidden"), [HIDDEN_DROPPED] = OUT("dropped")};

/* The words are few: copied, so that it does not matter where they are. */
static const struct philox_input_desc loss_inputs[LOSS_INPUTS] = {
	[LOSS_X] = IN("x", .alignment = VECTOR),
	[LOSS_WEIGHTS] = IN("weights", .alignment = VECTOR),
	[LOSS_TEXT] = IN("text"),
	[LOSS_WORDS] = IN("words", .kind = PHILOX_INPUT_COPIED)};
static const struct philox_output_desc loss_outputs[LOSS_OUTPUTS] = {
	[LOSS_GRADIENT] = OUT("gradient"), [LOSS_LOSS] = OUT("loss")};

static const struct philox_input_desc layer_inputs[LAYER_INPUTS] = {
	[LAYER_ABOVE] = IN("gradient above", .alignment = VECTOR),
	[LAYER_HIDDEN] = IN("hidden", .alignment = VECTOR),
	[LAYER_WEIGHTS] = IN("weights", .alignment = VECTOR)};
static const struct philox_output_desc layer_outputs[LAYER_OUTPUTS] = {
	[LAYER_GRADIENT] = OUT("gradient"),
	[LAYER_OF_WEIGHTS] = OUT("gradient of weights")};

static const struct philox_input_desc embedding_inputs[EMBEDDING_INPUTS] = {
	[EMBEDDING_TEXT] = IN("text"),
	[EMBEDDING_WORDS] = IN("words", .kind = PHILOX_INPUT_COPIED),
	[EMBEDDING_GRADIENT] = IN("gradient above")};
static const struct philox_output_desc embedding_outputs[] = {
	OUT("gradient of the embedding")};

static const struct philox_input_desc update_inputs[UPDATE_INPUTS] = {
	[UPDATE_PARAMETERS] = IN("parameters", .flags = PHILOX_INPUT_MUTATED),
	[UPDATE_FIRST] = IN("first moments", .flags = PHILOX_INPUT_MUTATED),
	[UPDATE_SECOND] = IN("second moments", .flags = PHILOX_INPUT_MUTATED),
	[UPDATE_CLOCK] = IN("clock"),
	[UPDATE_GRADIENTS] = IN("gradient of slot 0"),
	[UPDATE_GRADIENTS + 1] = IN("gradient of slot 1"),
	[UPDATE_GRADIENTS + 2] = IN("gradient of slot 2"),
	[UPDATE_GRADIENTS + 3] = IN("gradient of slot 3")};
_Static_assert(TRAIN_SLOTS == 4, "an input for each slot");
static const struct philox_param_desc update_values[] = {
	{.name = "rates", .bytes = sizeof(struct train_rates)}};

static const struct philox_input_desc finish_inputs[FINISH_INPUTS] = {
	[FINISH_CLOCK] = IN("clock", .flags = PHILOX_INPUT_MUTATED),
	[FINISH_LOSSES] = IN("losses"),
	[FINISH_HISTORY] = IN("history", .flags = PHILOX_INPUT_MUTATED)};
static const struct philox_param_desc finish_values[] = {
	{.name = "step", .bytes = sizeof(uint64_t)}};

static const struct philox_input_desc extra_inputs[] = {
	IN("total", .flags = PHILOX_INPUT_MUTATED)};

struct descriptor {
	const char *name;
	enum philox_function_mode mode;
	void (*body)(struct train_model *model);
	const struct philox_input_desc *inputs;
	size_t n_inputs;
	const struct philox_output_desc *outputs;
	size_t n_outputs;
	const struct philox_param_desc *values;
	size_t n_values;
	size_t n_uses;
};

#define LIST(array) (array), sizeof(array) / sizeof(*(array))
#define NONE        NULL, 0

static const struct descriptor descriptors[TRAIN_FUNCTIONS] = {
	[TRAIN_CALL_EXTRA] = {"extra", PHILOX_MODE_FORWARD, train_body_extra,
			      LIST(extra_inputs), NONE, NONE, 1},
	[TRAIN_CALL_INPUT] = {"input", PHILOX_MODE_FORWARD, train_body_input,
			      LIST(input_inputs), LIST(input_outputs), NONE, 1},
	[TRAIN_CALL_HIDDEN] = {"hidden layer", PHILOX_MODE_FORWARD,
			       train_body_hidden, LIST(hidden_inputs),
			       LIST(hidden_outputs), NONE, 1},
	[TRAIN_CALL_LOSS] = {"loss", PHILOX_MODE_FORWARD, train_body_loss,
			     LIST(loss_inputs), LIST(loss_outputs), NONE, 0},
	[TRAIN_CALL_LAYER] = {"layer backward", PHILOX_MODE_BACKWARD,
			      train_body_layer, LIST(layer_inputs),
			      LIST(layer_outputs), NONE, 1},
	[TRAIN_CALL_EMBEDDING] = {"embedding backward", PHILOX_MODE_BACKWARD,
				  train_body_embedding, LIST(embedding_inputs),
				  LIST(embedding_outputs), NONE, 0},
	[TRAIN_CALL_EXTRA_AGAIN] = {"extra backward", PHILOX_MODE_BACKWARD,
				    train_body_extra_again, LIST(extra_inputs),
				    NONE, NONE, 1},
	[TRAIN_CALL_UPDATE] = {"update", PHILOX_MODE_FORWARD, train_body_update,
			       LIST(update_inputs), NONE, LIST(update_values),
			       0},
	[TRAIN_CALL_FINISH] = {"finish", PHILOX_MODE_FORWARD, train_body_finish,
			       LIST(finish_inputs), NONE, LIST(finish_values),
			       0}};

/* --- a runner ------------------------------------------------------------- */

/* Every body's frame: the model's stream is the call's, its passes the run's. */
static enum philox_status run_function(void *user, struct philox_run *run)
{
	const struct train_function *function = user;
	struct train_model *model = function->model;
	philox_stream outer = model->stream;

	model->run = run;
	model->stream = philox_run_stream(run);
	function->body(model);
	model->stream = outer;
	model->run = NULL;
	return model->status;
}

static void make_function(struct train_model *model, enum train_function_id id)
{
	const struct descriptor *d = &descriptors[id];
	struct train_function *function = &model->runner->functions[id];
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	function->model = model;
	function->body = d->body;
	options.name = d->name;
	options.mode = d->mode;
	options.body = run_function;
	options.user = function;
	options.inputs = d->inputs;
	options.n_inputs = d->n_inputs;
	options.outputs = d->outputs;
	options.n_outputs = d->n_outputs;
	options.params = d->values;
	options.n_params = d->n_values;
	options.policy.refused = PHILOX_REFUSED_ERROR;
	train_check(model,
		    philox_function_create(model->runner->runner, &options,
					   &function->function));
}

static int is_extra(int id)
{
	return id == TRAIN_CALL_EXTRA || id == TRAIN_CALL_EXTRA_AGAIN;
}

void train_runner_open(struct train_model *model)
{
	struct philox_runner_desc options =
		PHILOX_INIT(struct philox_runner_desc);

	if (model->status)
		return;
	model->runner = calloc(1, sizeof(*model->runner));
	if (!model->runner) {
		train_fail(model, "no memory for a runner");
		return;
	}
	options.name = "runner of a step";
	options.pool_step = STEP;
	if (model->options->pool_given &&
	    model->options->pool == TRAIN_POOL_EXPANDABLE)
		options.pool_flags = PHILOX_POOL_EXPANDABLE;
	train_check(model, philox_runner_create(model->context, &options,
						&model->runner->runner));
	for (int id = 0; id < TRAIN_FUNCTIONS && !model->status; id++)
		if (model->options->ops || !is_extra(id))
			make_function(model, (enum train_function_id)id);
}

/* --- its end -------------------------------------------------------------- */

static void add_counts(struct train_counts *sum, const struct train_counts *one)
{
	sum->eager += one->eager;
	sum->warmups += one->warmups;
	sum->recordings += one->recordings;
	sum->replays += one->replays;
	if (one->device_calls > sum->device_calls)
		sum->device_calls = one->device_calls;
}

static void count_function(struct train_model *model, enum train_function_id id,
			   struct train_result *result)
{
	const struct train_function *function = &model->runner->functions[id];
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);

	if (!function->function || model->status)
		return;
	train_check(model,
		    philox_function_get_stats(function->function, &counts));
	result->counts[id] = (struct train_counts){
		descriptors[id].name, counts.eager,  counts.warmup,
		counts.record,        counts.replay, function->device_calls};
	add_counts(&result->all_counts, &result->counts[id]);
}

static void count_calls_of(struct train_model *model,
			   struct train_result *result)
{
	const struct train_function *input =
		&model->runner->functions[TRAIN_CALL_INPUT];

	for (int id = 0; id < TRAIN_FUNCTIONS; id++)
		count_function(model, (enum train_function_id)id, result);
	result->called = 1;
	result->all_counts.name = result->name;
	result->replays = result->all_counts.replays;
	if (result->replays || model->status)
		return;
	snprintf(result->not_replayed, sizeof(result->not_replayed),
		 "function '%s', for one, ran its body, as %.160s",
		 philox_function_name(input->function),
		 philox_function_reason(input->function));
}

/* CUDA says a little later that a graph is gone, see philox/pool.h. */
static enum philox_status destroy_runner(struct philox_runner *runner)
{
	const struct timespec moment = {.tv_nsec = 1000 * 1000};
	enum philox_status status = philox_runner_destroy(runner);

	for (int i = 0; status == PHILOX_ERROR_BUSY && i < WAITS_MAX; i++) {
		nanosleep(&moment, NULL);
		status = philox_runner_destroy(runner);
	}
	return status;
}

void train_runner_close(struct train_model *model, struct train_result *result)
{
	struct train_runner *runner = model->runner;

	if (!runner)
		return;
	count_calls_of(model, result);
	if (!model->status)
		train_check(model, philox_pool_get_stats(
					   philox_runner_pool(runner->runner),
					   &result->pool));
	if (!model->status && model->options->snapshot)
		train_check(model,
			    philox_runner_snapshot(runner->runner,
						   model->options->snapshot));
	train_check(model, destroy_runner(runner->runner));
	free(runner);
	model->runner = NULL;
}

/* --- a call --------------------------------------------------------------- */

struct philox_call_input train_memory(void *address, size_t bytes)
{
	return (struct philox_call_input){.address = address, .bytes = bytes};
}

struct philox_call_input train_output(const struct philox_output *output)
{
	return (struct philox_call_input){.address = output->address,
					  .bytes = output->bytes,
					  .output = output};
}

/* What a body branches on: which region is its layer's, and sizes. */
struct key {
	uint64_t layer, bytes;
};

static void note_device_calls(struct train_function *function, uint64_t calls)
{
	if (calls > function->device_calls)
		function->device_calls = calls;
}

void train_make_call(struct train_model *model, struct train_call *call)
{
	const struct descriptor *d = &descriptors[call->function];
	struct train_function *function =
		&model->runner->functions[call->function];
	const struct key key = {call->layer, call->inputs[0].bytes};
	struct philox_call made = PHILOX_INIT(struct philox_call);
	uint64_t before = philox_device_call_count(model->device, NULL);

	if (model->status)
		return;
	made.stream = model->stream;
	made.key = &key;
	made.key_bytes = sizeof(key);
	made.inputs = call->inputs;
	made.n_inputs = d->n_inputs;
	made.params = &call->value;
	made.n_params = d->n_values;
	made.passes = &call->use;
	made.n_passes = d->n_uses;
	if (call->function == TRAIN_CALL_UPDATE && model->rounded)
		made.n_passes = 1;
	made.outputs = call->outputs;
	made.n_outputs = d->n_outputs;
	model->runner->layer = call->layer;
	train_check(model, philox_function_call(function->function, &made));
	if (made.kind == PHILOX_CALL_REPLAY)
		note_device_calls(
			function,
			philox_device_call_count(model->device, NULL) - before);
}

void train_drop_output(struct train_model *model, struct philox_output *output)
{
	if (!model->status)
		train_check(model,
			    philox_output_release(model->runner->runner,
						  model->stream, output));
	*output = (struct philox_output){0};
}
