/*
 * examples/adamw.c - an optimiser that is captured once
 *
 * AdamW has arguments that change with each step: the learning rate and the
 * corrections of its two averages. Taken by value, a capture would freeze them.
 * Here the kernel reads them from a cell, which the graph brings up to date at
 * each launch; eager code fills a cell of its own, for the same kernel. Weights
 * are bf16, rounded stochastically with fresh numbers in each step. Both ways
 * give the same bits.
 */
#include <math.h>
#include <string.h>
#include "try.h"

enum { N = 1000, STEPS = 20 };

struct step {
	float rate, correction1, correction2;
};

struct adamw {
	const struct step *step; /* in device memory */
	const uint16_t *weights; /* bf16 */
	const float *gradients;
	float *average1, *average2;
	float *updated; /* weights, to be rounded */
};

/* On a GPU this is a kernel, with the pointers as arguments. */
static void adamw(const void *args)
{
	const struct adamw *a = args;
	const struct step step = *a->step;

	for (int i = 0; i < N; i++) {
		const uint32_t bits = (uint32_t)a->weights[i] << 16;
		const float g = a->gradients[i];
		float w;

		memcpy(&w, &bits, sizeof(w));
		a->average1[i] = 0.9f * a->average1[i] + 0.1f * g;
		a->average2[i] = 0.95f * a->average2[i] + 0.05f * g * g;
		a->updated[i] =
			w - step.rate * (0.1f * w +
					 a->average1[i] / step.correction1 /
						 (sqrtf(a->average2[i] /
							step.correction2) +
						  1e-8f));
	}
}

static struct step step_of(int number)
{
	const double warm_up = number < 5 ? (number + 1) / 5.0 : 1;

	return (struct step){.rate = (float)(0.01 * warm_up),
			     .correction1 = (float)(1 - pow(0.9, number + 1)),
			     .correction2 = (float)(1 - pow(0.95, number + 1))};
}

struct run {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *region;
	philox_stream stream;
	void *weights, *gradients, *averages, *updated, *cell;
};

static void begin(struct run *run)
{
	const char *op = "round";
	static float gradients[N];
	static uint16_t weights[N];

	TRY(philox_device_open("host", &run->device));
	TRY(philox_context_create(run->device, &run->context));
	TRY(philox_region_create_named(run->context, "adamw", &op, 1,
				       &run->region));
	TRY(philox_stream_create(run->device, 0, &run->stream));
	TRY(philox_memory_alloc(run->device, sizeof(weights), &run->weights));
	TRY(philox_memory_alloc(run->device, sizeof(gradients),
				&run->gradients));
	TRY(philox_memory_alloc(run->device, 2 * sizeof(gradients),
				&run->averages));
	TRY(philox_memory_alloc(run->device, sizeof(gradients), &run->updated));
	TRY(philox_memory_alloc(run->device, PHILOX_VALUE_SIZE, &run->cell));
	for (int i = 0; i < N; i++) {
		gradients[i] = (float)(i % 7 - 3);
		weights[i] = 0x3f80; /* 1 */
	}
	TRY(philox_memory_copy(run->device, run->weights, weights,
			       sizeof(weights), run->stream));
	TRY(philox_memory_copy(run->device, run->gradients, gradients,
			       sizeof(gradients), run->stream));
	TRY(philox_memory_set(run->device, run->averages, 0,
			      2 * sizeof(gradients), run->stream));
	TRY(philox_stream_synchronize(run->device, run->stream));
}

static void end(struct run *run, uint16_t *weights)
{
	TRY(philox_memory_copy(run->device, weights, run->weights,
			       N * sizeof(*weights), run->stream));
	TRY(philox_stream_synchronize(run->device, run->stream));
	philox_context_destroy(run->context);
	TRY(philox_memory_free(run->device, run->cell));
	TRY(philox_memory_free(run->device, run->updated));
	TRY(philox_memory_free(run->device, run->averages));
	TRY(philox_memory_free(run->device, run->gradients));
	TRY(philox_memory_free(run->device, run->weights));
	TRY(philox_stream_destroy(run->device, run->stream));
	TRY(philox_device_close(run->device));
}

/* The work of a step, the same in eager code and in a capture. */
static void update(const struct run *run, const void *step)
{
	const struct adamw args = {.step = step,
				   .weights = run->weights,
				   .gradients = run->gradients,
				   .average1 = run->averages,
				   .average2 = (float *)run->averages + N,
				   .updated = run->updated};
	struct philox_pass pass;

	TRY(philox_forward_begin(run->region, run->stream, PHILOX_INFERENCE,
				 &pass));
	TRY(philox_launch_host(run->device, run->stream, adamw, &args,
			       sizeof(args)));
	TRY(philox_stochastic_round(&pass, 0, PHILOX_BF16,
				    philox_elements(0, N), run->updated,
				    run->weights));
	TRY(philox_forward_commit(&pass, NULL));
}

static void train_eagerly(uint16_t *weights)
{
	struct run run;

	begin(&run);
	for (int i = 0; i < STEPS; i++) {
		const struct step step = step_of(i);

		TRY(philox_value_write(run.context, run.stream, run.cell, &step,
				       sizeof(step)));
		update(&run, run.cell);
	}
	end(&run, weights);
}

static void train_captured(uint16_t *weights)
{
	struct step step = step_of(0);
	struct philox_use use = {{0, 0}, 0, 0};
	struct philox_graph *graph;
	struct run run;
	size_t index;
	void *cell;

	begin(&run);
	TRY(philox_capture_begin(run.context, run.stream));
	TRY(philox_capture_value(run.context, run.stream, "step", &step,
				 sizeof(step), &cell));
	update(&run, cell);
	TRY(philox_capture_end(run.context, run.stream, &graph));
	TRY(philox_graph_value_index(graph, "step", &index));
	for (int i = 0; i < STEPS; i++) {
		step = step_of(i);
		TRY(philox_graph_set_value(graph, index, &step, sizeof(step)));
		TRY(philox_graph_launch(graph, run.stream, &use, 1));
	}
	end(&run, weights);
}

int main(void)
{
	static uint16_t eager[N], captured[N];

	train_eagerly(eager);
	train_captured(captured);
	if (memcmp(eager, captured, sizeof(eager)) || eager[0] == 0x3f80)
		return 1;
	printf("%d steps, captured once: the bits of eager steps\n", STEPS);
	return 0;
}
