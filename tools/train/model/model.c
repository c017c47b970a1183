/*
 * tools/train/model/model.c - the model: its objects, its memory, its
 * parameters
 *
 * All device memory is one block, laid out once, so that captured graphs find
 * everything at the same address in every run; with --pool only what outlives a
 * step. A run begins by overwriting the
 * block with NaN: nothing can leak unseen from one run into the next.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/train/model/model.h"

void train_check(struct train_model *model, enum philox_status status)
{
	if (status == PHILOX_OK || model->status != PHILOX_OK)
		return;
	model->status = status;
	snprintf(model->message, sizeof(model->message), "%s",
		 philox_error_message());
}

void train_fail(struct train_model *model, const char *format, ...)
{
	va_list args;

	if (model->status)
		return;
	model->status = PHILOX_ERROR_STATE;
	va_start(args, format);
	vsnprintf(model->message, sizeof(model->message), format, args);
	va_end(args);
}

void train_put(struct train_model *model, philox_stream stream,
	       enum train_kernel kernel, const void *args, size_t size,
	       size_t count)
{
	struct train_backend *backend = model->backend;
	const char *error = NULL;

	if (!model->status)
		error = backend->kernel(backend, stream, kernel, args, size,
					count);
	if (error)
		train_fail(model, "%s", error);
}

void train_copy(struct train_model *model, void *to, const void *from,
		size_t size)
{
	if (!model->status)
		train_check(model,
			    philox_memory_copy(model->device, model->stream, to,
					       from, size));
}

void train_set(struct train_model *model, void *to, int value, size_t size)
{
	if (!model->status)
		train_check(model,
			    philox_memory_set(model->device, model->stream, to,
					      value, size));
}

/* Waits even after a failure: queued work may point to the caller's stack. */
static void synchronize(struct train_model *model)
{
	if (model->status)
		return;
	train_check(model,
		    philox_stream_synchronize(model->device, model->stream));
	if (model->status)
		philox_device_synchronize(model->device);
}

void train_download(struct train_model *model, void *to, const void *from,
		    size_t size)
{
	train_copy(model, to, from, size);
	synchronize(model);
}

/* --- memory --------------------------------------------------------------- */

/* place() returns the address of the next part, aligned to 256 bytes. */
static void *place(struct train_model *model, size_t count, size_t size)
{
	uintptr_t address = (uintptr_t)model->memory + model->memory_size;

	model->memory_size += (count * size + 255) / 256 * 256;
	return (void *)address;
}

static float *place_floats(struct train_model *model, size_t count)
{
	return place(model, count, sizeof(float));
}

static void place_activations(struct train_model *model,
			      struct train_activations *a)
{
	for (int layer = 0; layer < TRAIN_DEPTH; layer++) {
		a->hidden[layer] =
			place_floats(model, TRAIN_BATCH * TRAIN_WIDTH);
		a->dropped[layer] =
			place_floats(model, TRAIN_BATCH * TRAIN_WIDTH);
		a->redrawn[layer] =
			place_floats(model, TRAIN_BATCH * TRAIN_WIDTH);
		a->gradient[layer] =
			place_floats(model, TRAIN_BATCH * TRAIN_WIDTH);
	}
	a->words = place(model, TRAIN_BATCH, sizeof(*a->words));
	a->logits = place_floats(model, TRAIN_BATCH * model->columns);
	a->losses = place_floats(model, TRAIN_BATCH);
}

/* Every part is a multiple of 16 floats long: whole cache lines. */
static size_t place_parameters(size_t *offset, size_t count)
{
	size_t place = *offset;

	*offset += count;
	return place;
}

static void lay_out_parameters(struct train_model *model)
{
	size_t offset = 0;

	model->columns = (model->text->vocabulary + 15) / 16 * 16;
	model->n_embedding = model->text->vocabulary * TRAIN_EMBED;
	place_parameters(&offset, model->n_embedding);
	for (int layer = 0; layer < TRAIN_DEPTH; layer++) {
		struct train_weights *w = &model->weights[layer];

		w->rows = TRAIN_WIDTH;
		w->columns =
			layer == TRAIN_DEPTH - 1 ? model->columns : TRAIN_WIDTH;
		w->weight = place_parameters(&offset, w->rows * w->columns);
		w->bias = place_parameters(&offset, w->columns);
	}
	model->n_parameters = offset;
}

/* The arrays of a step are last: not in the block if they are in a pool. */
static void place_arrays(struct train_model *model)
{
	struct train_arrays *arrays = &model->arrays;
	size_t n = model->n_parameters, before = model->memory_size;

	arrays->gradients = place_floats(model, n * TRAIN_SLOTS);
	arrays->mean_gradient = place_floats(model, n);
	arrays->recomputed_loss = place_floats(model, 1);
	arrays->extra_rows = place(model, model->options->ops * TRAIN_EXTRA,
				   sizeof(uint32_t));
	for (int slot = 0; slot < TRAIN_SLOTS; slot++)
		place_activations(model, &arrays->activations[slot]);
	model->arrays_size = model->memory_size - before;
	if (!model->options->pool_given)
		return;
	model->memory_size = before;
	memset(arrays, 0, sizeof(*arrays));
}

/* lay_out() gives everything its place; the first time it only counts bytes. */
static void lay_out(struct train_model *model)
{
	size_t n = model->n_parameters;

	model->memory_size = 0;
	model->symbols = place(model, model->text->size, 1);
	model->parameters = place_floats(model, n);
	model->first = place_floats(model, n);
	model->second = place_floats(model, n);
	model->spare_gradient = place_floats(model, n);
	model->losses = place_floats(model, TRAIN_SLOTS);
	model->history =
		place_floats(model, model->options->steps * TRAIN_SLOTS);
	model->clock = place(model, 1, sizeof(*model->clock));
	for (int i = 0; i < 2; i++)
		model->extra[i] = place(model, TRAIN_EXTRA, sizeof(uint32_t));
	model->retained_differs = place(model, 1, sizeof(uint32_t));
	model->micro = place(model, 1, sizeof(*model->micro));
	place_arrays(model);
}

static void open_memory(struct train_model *model)
{
	void *memory;

	lay_out_parameters(model);
	lay_out(model);
	train_check(model, philox_memory_alloc(model->device,
					       model->memory_size, &memory));
	if (model->status)
		return;
	model->memory = memory;
	lay_out(model);
}

/* --- objects -------------------------------------------------------------- */

static void open_region(struct train_model *model, const char *name,
			const struct philox_op_desc *ops, size_t n_ops,
			struct philox_region **region)
{
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = ops,
					     .n_ops = n_ops,
					     .pending = 2 * TRAIN_SLOTS};

	if (!model->status)
		train_check(model, philox_region_create(model->context,
							&options, region));
}

/* The extra operators have no names, only numbers. */
static void open_extra_region(struct train_model *model)
{
	size_t n_ops = model->options->ops;
	struct philox_op_desc *ops = calloc(n_ops, sizeof(*ops));

	if (!ops) {
		train_fail(model, "no memory for %zu operators", n_ops);
		return;
	}
	open_region(model, "extra", ops, n_ops, &model->regions[TRAIN_NOISE]);
	free(ops);
}

/* A set of weights in bf16 has a region of its own. */
static void open_updates(struct train_model *model)
{
	static const struct philox_op_desc ops[TRAIN_ROUNDINGS] = {
		[TRAIN_WEIGHT] = {.name = "weights"},
		[TRAIN_FIRST] = {.name = "first moments"},
		[TRAIN_SECOND] = {.name = "second moments"}};
	static const char *const names[TRAIN_SETS] = {
		"update of hidden 1", "update of hidden 2", "update of output",
		"update of embedding"};

	for (int set = 0; set < TRAIN_SETS; set++)
		open_region(model, names[set], ops, TRAIN_ROUNDINGS,
			    &model->updates[set]);
}

static void open_regions(struct train_model *model)
{
	static const struct philox_op_desc ops[] = {
		[TRAIN_DROP] = {.name = "dropout"},
		[TRAIN_PICK] = {.name = "pick samples"}};
	static const struct philox_op_desc initial = {.name = "initial values"};
	struct philox_region **regions = model->regions;

	open_region(model, "parameters", &initial, 1, &model->init);
	open_region(model, "input", ops, 2, &regions[TRAIN_INPUT]);
	open_region(model, "hidden 1", ops, 1, &regions[TRAIN_HIDDEN1]);
	open_region(model, "hidden 2", ops, 1, &regions[TRAIN_HIDDEN2]);
	if (model->options->ops && !model->status)
		open_extra_region(model);
	if (model->options->weights == TRAIN_WEIGHTS_BF16)
		open_updates(model);
}

static void open_streams(struct train_model *model)
{
	philox_stream *streams[] = {&model->stream, &model->side, &model->idle,
				    &model->inner};
	philox_event *events[] = {&model->fork, &model->join};
	int n = model->options->loop ? 4 : 3;

	for (int i = 0; i < n && !model->status; i++)
		train_check(model,
			    philox_stream_create(model->device, 0, streams[i]));
	for (int i = 0; i < 2 && !model->status; i++)
		train_check(model,
			    philox_event_create(model->device, events[i]));
}

static void open_backend(struct train_model *model)
{
	philox_stream streams[TRAIN_STREAMS] = {model->stream, model->side,
						model->inner};
	struct train_backend *(*open)(struct philox_device *,
				      const philox_stream[TRAIN_STREAMS],
				      char *, size_t) = train_host_open;
	char message[256];

	if (model->status)
		return;
#ifdef PHILOX_WITH_CUDA
	if (!philox_device_is_host(model->device))
		open = train_cuda_open;
#endif
	model->backend = open(model->device, streams, message, sizeof(message));
	if (!model->backend)
		train_fail(model, "%s", message);
}

void train_model_open(struct train_model *model)
{
	if (!model->device)
		train_check(model, philox_device_open(model->options->device,
						      &model->device));
	if (!model->status)
		train_check(model, philox_context_create(model->device,
							 &model->context));
	open_regions(model);
	open_streams(model);
	open_backend(model);
	if (!model->status)
		open_memory(model);
}

void train_model_close(struct train_model *model)
{
	philox_stream streams[] = {model->stream, model->side, model->idle,
				   model->inner};
	philox_event events[] = {model->fork, model->join};

	if (!model->device)
		return;
	train_check(model, philox_device_synchronize(model->device));
	philox_context_destroy(model->context);
	if (model->backend)
		model->backend->close(model->backend);
	train_check(model, philox_memory_free(model->device, model->memory));
	for (int i = 0; i < 2; i++)
		train_check(model,
			    philox_event_destroy(model->device, events[i]));
	for (int i = 0; i < 4; i++)
		train_check(model,
			    philox_stream_destroy(model->device, streams[i]));
	train_check(model, philox_device_close(model->device));
}

/* --- parameters ----------------------------------------------------------- */

static void draw_parameters(struct train_model *model)
{
	struct philox_span all = {.count = model->n_parameters};
	struct philox_pass pass;

	if (model->status)
		return;
	train_check(model, philox_forward_begin(model->init, model->stream,
						PHILOX_PASS_INFERENCE, &pass));
	if (model->status)
		return;
	train_check(model, philox_pass_normal(&pass, 0, PHILOX_DTYPE_F32, all,
					      0, 1, model->parameters));
	train_check(model, philox_pass_commit(&pass, 0, NULL));
}

static void scale_parameters(struct train_model *model)
{
	float factor = 1 / sqrtf(TRAIN_WIDTH);

	for (int layer = 0; layer < TRAIN_DEPTH; layer++) {
		const struct train_weights *w = &model->weights[layer];

		train_launch(model, model->stream, scale, w->rows * w->columns,
			     .x = model->parameters + w->weight,
			     .factor = factor);
		train_set(model, model->parameters + w->bias, 0,
			  w->columns * sizeof(float));
	}
}

void train_model_start(struct train_model *model)
{
	struct train_clock clock = train_clock_start();
	size_t size = model->n_parameters * sizeof(float);

	if (!model->status)
		train_check(model,
			    philox_generator_seed(
				    philox_context_generator(model->context),
				    model->options->seed));
	train_set(model, model->memory, 0xff, model->memory_size);
	train_copy(model, model->symbols, model->text->symbols,
		   model->text->size);
	draw_parameters(model);
	scale_parameters(model);
	train_set(model, model->first, 0, size);
	train_set(model, model->second, 0, size);
	if (model->rounded)
		train_narrow_weights(model);
	for (int i = 0; i < 2; i++)
		train_set(model, model->extra[i], 0,
			  TRAIN_EXTRA * sizeof(uint32_t));
	train_set(model, model->retained_differs, 0, sizeof(uint32_t));
	train_copy(model, model->clock, &clock, sizeof(clock));
	synchronize(model); /* `clock` must outlive its copy */
}
