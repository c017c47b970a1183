/*
 * examples/ranks/schedule.c - the micro-batches of a step, by the stages of a
 * pipeline: 1F1B
 */
#include <signal.h>
#include <stdlib.h>
#include "schedule.h"
#include "world.h"

/* --- arrays --------------------------------------------------------------- */

/*
 * What a backward needs is kept by each layer and slot; if it is computed again
 * one place is enough, and each keeps its input only.
 */
static struct activations *make_activations(struct model *model,
					    struct activations **shared)
{
	struct activations *a = *shared;

	if (a && !model->options->keep)
		return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		world_fail("out of memory");
	activations_make(model, a);
	*shared = a;
	return a;
}

static void make_layer_runs(struct schedule *schedule, struct slot *slot,
			    struct activations **shared)
{
	struct model *model = schedule->model;
	const size_t n = model->layers.count;
	const size_t wide = model->rows * model->shape->width;
	float *x = slot->x;

	slot->layers = calloc(n, sizeof(*slot->layers));
	if (!slot->layers)
		world_fail("out of memory");
	for (size_t i = 0; i < n; i++) {
		struct layer_run *run = &slot->layers[i];

		run->layer = &model->layer[i];
		run->a = make_activations(model, shared);
		run->scratch = &schedule->scratch;
		run->x = x;
		run->out = x = model_floats(model, wide);
	}
	slot->out = x;
}

/* Gradients of the layers' outputs: the slots take turns with them. */
static void share_gradients(struct schedule *schedule)
{
	struct model *model = schedule->model;
	const size_t n = model->layers.count;
	const size_t wide = model->rows * model->shape->width;
	float *gradient = schedule->of_x = model_floats(model, wide);

	for (size_t i = 0; i < n; i++) {
		float *above = model_floats(model, wide);

		for (size_t k = 0; k < schedule->n_slots; k++) {
			schedule->slots[k].layers[i].of_x = gradient;
			schedule->slots[k].layers[i].of_out = above;
		}
		gradient = above;
	}
	schedule->of_out = gradient;
	for (size_t k = 0; k < schedule->n_slots; k++) {
		schedule->slots[k].ends.of_x = schedule->of_x;
		schedule->slots[k].ends.of_out = schedule->of_out;
	}
}

/* The stages behind this one, which have begun before its first backward. */
static size_t stages_behind(const struct model *model)
{
	return model->place->size[PIPELINE] - 1 - model->place->at[PIPELINE];
}

void schedule_open(struct schedule *schedule, struct model *model)
{
	const size_t micro = model->shape->micro;
	struct activations *shared = NULL;

	*schedule = (struct schedule){.model = model};
	schedule->n_slots = stages_behind(model) + 1;
	if (schedule->n_slots > micro)
		schedule->n_slots = micro;
	schedule->slots = calloc(schedule->n_slots, sizeof(struct slot));
	schedule->losses = calloc(micro * model->samples.count, sizeof(float));
	schedule->begins =
		calloc(micro * model->samples.count, sizeof(uint32_t));
	if (!schedule->slots || !schedule->losses || !schedule->begins)
		world_fail("out of memory");
	scratch_make(model, &schedule->scratch);
	for (size_t i = 0; i < schedule->n_slots; i++) {
		struct slot *slot = &schedule->slots[i];

		slot->x =
			model_floats(model, model->rows * model->shape->width);
		make_layer_runs(schedule, slot, &shared);
		ends_make(model, &slot->ends);
		slot->ends.x = slot->x;
		slot->ends.out = slot->out;
	}
	share_gradients(schedule);
}

static int is_shared(const struct schedule *schedule)
{
	return !schedule->model->options->keep;
}

void schedule_close(struct schedule *schedule)
{
	for (size_t i = 0; i < schedule->n_slots; i++) {
		struct slot *slot = &schedule->slots[i];

		for (size_t k = 0; k < schedule->model->layers.count; k++)
			if (!is_shared(schedule) || i + k == 0)
				free(slot->layers[k].a);
		free(slot->layers);
	}
	free(schedule->slots);
	free(schedule->losses);
	free(schedule->begins);
}

/* --- one micro-batch ------------------------------------------------------ */

static struct slot *slot_of(const struct schedule *schedule, uint64_t micro)
{
	return &schedule->slots[micro % schedule->n_slots];
}

static void forward(struct schedule *schedule, uint64_t micro)
{
	struct model *model = schedule->model;
	struct slot *slot = slot_of(schedule, micro);
	const size_t n = model->samples.count;

	ends_take_samples(model, &slot->ends, schedule->begins + micro * n);
	if (model->first)
		ends_embed(model, &slot->ends);
	for (size_t i = 0; i < model->layers.count; i++)
		layer_forward(model, &slot->layers[i]);
	if (!model->last)
		return;
	ends_loss(model, &slot->ends);
	TRY(philox_memory_copy(model->device, model->stream,
			       schedule->losses + micro * n, slot->ends.loss,
			       n * sizeof(float)));
}

/* The samples' gradients, of all data ranks, in one order */
static void add_gradients(struct model *model)
{
	const size_t n = model->tensors.mine;

	comm_gather(model->comm, DATA, model->gradients,
		    model->gradient_counts);
	LAUNCH(model, accumulate, n, .gradients = model->gradients,
	       .total = model->total, .samples = model->shape->samples,
	       .stride = n);
}

static void backward(struct schedule *schedule, uint64_t micro)
{
	struct model *model = schedule->model;
	struct slot *slot = slot_of(schedule, micro);

	if (schedule->killed == micro + 1)
		raise(SIGKILL);
	if (model->last)
		ends_loss_back(model, &slot->ends);
	for (size_t i = model->layers.count; i-- > 0;)
		layer_backward(model, &slot->layers[i]);
	if (model->first)
		ends_embed_back(model, &slot->ends);
	add_gradients(model);
}

/* --- what stages send each other ------------------------------------------ */

/* With the stage before: the gradient of slot `back`, the input of `next`. */
static void swap_before(struct schedule *schedule, const struct slot *back,
			const struct slot *next)
{
	struct model *model = schedule->model;

	if (!model->first)
		comm_swap(model->comm, model->place->at[PIPELINE] - 1,
			  back ? schedule->of_x : NULL, next ? next->x : NULL,
			  model->rows * model->shape->width);
}

/* With the stage behind: the output of slot `done`, the gradient of `back`. */
static void swap_behind(struct schedule *schedule, const struct slot *done,
			const struct slot *back)
{
	struct model *model = schedule->model;

	if (!model->last)
		comm_swap(model->comm, model->place->at[PIPELINE] + 1,
			  done ? done->out : NULL,
			  back ? schedule->of_out : NULL,
			  model->rows * model->shape->width);
}

/* --- a step --------------------------------------------------------------- */

/*
 * All ranks of a mesh go through one sequence of samples: a step reads its
 * micro-batches one after the other, and a rank its part of each.
 */
static void read_samples(struct schedule *schedule)
{
	struct model *model = schedule->model;
	const struct range *mine = &model->samples;
	const uint64_t samples = model->shape->samples;
	const uint64_t micro = model->shape->micro;
	struct philox_mixture_sample *read = calloc(mine->count, sizeof(*read));
	uint64_t position;

	if (!read)
		world_fail("out of memory");
	TRY(philox_data_advance(model->data, micro * samples, &position));
	for (uint64_t m = 0; m < micro; m++) {
		TRY(philox_data_read(model->data,
				     position + m * samples + mine->first,
				     mine->count, read));
		for (size_t i = 0; i < mine->count; i++)
			schedule->begins[m * mine->count + i] =
				(uint32_t)read[i].sample;
	}
	free(read);
}

void schedule_step(struct schedule *schedule)
{
	const uint64_t micro = schedule->model->shape->micro;
	const uint64_t behind = stages_behind(schedule->model);
	const uint64_t ahead = behind < micro ? behind : micro;

	read_samples(schedule);
	for (uint64_t i = 0; i < ahead; i++) {
		swap_before(schedule, NULL, slot_of(schedule, i));
		forward(schedule, i);
		swap_behind(schedule, slot_of(schedule, i), NULL);
	}
	if (ahead < micro)
		swap_before(schedule, NULL, slot_of(schedule, ahead));
	for (uint64_t i = ahead; i < micro; i++) {
		const struct slot *done = slot_of(schedule, i);
		const struct slot *back = slot_of(schedule, i - ahead);
		const struct slot *next =
			i + 1 < micro ? slot_of(schedule, i + 1) : NULL;

		forward(schedule, i);
		swap_behind(schedule, done, back);
		backward(schedule, i - ahead);
		swap_before(schedule, back, next);
	}
	for (uint64_t i = micro - ahead; i < micro; i++) {
		swap_behind(schedule, NULL, slot_of(schedule, i));
		backward(schedule, i);
		swap_before(schedule, slot_of(schedule, i), NULL);
	}
	TRY(philox_stream_synchronize(schedule->model->device,
				      schedule->model->stream));
}
