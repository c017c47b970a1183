/*
 * examples/ranks/main.c - a small language model, trained by a mesh of ranks
 *
 *   mpicc -O3 -ffp-contract=off examples/ranks/[a-z]*.c -o ranks \
 *           $(pkg-config --cflags --libs philox) -lm
 *   mpirun -n 4 ./ranks --mesh data=2,tensor=2
 *
 * philox is the only source of randomness: the first weights, the samples of
 * each micro-batch, and dropout. Every mesh reads the same samples in the same
 * order, and gives the same losses and parameters, to the last bit, and so does
 * a run that was killed and went on with another mesh.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "model.h"
#include "report.h"
#include "save.h"
#include "schedule.h"
#include "weights.h"
#include "world.h"

enum { WRONG = 2 }; /* exit status: the command line, or a file */

struct training {
	struct model model;
	struct schedule schedule;
	const struct options *options;
	uint64_t step, begun; /* done, also before this run */
	float *noise;         /* on the device */
	float said[NOISE];
};

/* --- a step --------------------------------------------------------------- */

/* What each data rank draws for itself; it trains nothing. */
static void draw_noise(struct training *training)
{
	struct model *model = &training->model;
	struct philox_pass pass;

	TRY(philox_forward_begin(model->noise, model->stream,
				 PHILOX_PASS_INFERENCE, &pass));
	TRY(philox_pass_normal(&pass, 0, PHILOX_DTYPE_F32,
			       philox_span_elements(0, NOISE), 0, 1,
			       training->noise));
	TRY(philox_pass_commit(&pass, 0, NULL));
	model_download(model, training->said, training->noise,
		       sizeof(training->said));
}

/* Every rank updates what it holds; copies see the same gradients. */
static void update(struct training *training)
{
	struct model *model = &training->model;
	double powers[2] = {1, 1};

	for (uint64_t i = 0; i <= training->step; i++) {
		powers[0] *= (double)ADAM_BETA1;
		powers[1] *= (double)ADAM_BETA2;
	}
	LAUNCH(model, adam, model->tensors.mine,
	       .parameters = model->parameters, .total = model->total,
	       .first = model->moments[0], .second = model->moments[1],
	       .rate = model->shape->rate,
	       .correction = {(float)(1 / (1 - powers[0])),
			      (float)(1 / (1 - powers[1]))});
}

/* The last rank is killed when some micro-batches have gone back. */
static uint64_t dies_at(const struct training *training)
{
	const struct place *place = training->model.place;

	if (training->options->kill_at != training->step + 1 ||
	    place->rank + 1 != place->world)
		return NEVER;
	return training->model.shape->micro / 2 + 1;
}

/* Returns 0, or -1 if the ranks do not agree, which rank 0 says. */
static int compare_ranks(const struct training *training)
{
	struct model *model = (struct model *)&training->model;

	if (philox_context_agree(model->context, world_gather, NULL) ==
	    PHILOX_OK)
		return 0;
	if (model->place->rank == 0)
		fprintf(stderr, "ranks: after step %" PRIu64 ": %s\n",
			training->step, philox_error_message());
	return -1;
}

static int is_due(uint64_t step, uint64_t every)
{
	return every && step % every == 0;
}

static int run_step(struct training *training)
{
	const struct options *options = training->options;
	struct model *model = &training->model;

	training->schedule.killed = dies_at(training);
	draw_noise(training);
	schedule_step(&training->schedule);
	update(training);
	training->step++;
	report_loss(&training->schedule, training->step);
	if (is_due(training->step, options->agree) && compare_ranks(training))
		return -1;
	if (options->save && (is_due(training->step, options->every) ||
			      training->step == options->steps))
		save_training(model, options->save, training->step);
	return 0;
}

/* --- all steps ------------------------------------------------------------ */

/* Layers of a stage are compared along data and tensor only. */
static void check_stray(const struct options *options,
			const struct place *place, char message[200])
{
	if (options->stray != NO_RANK &&
	    place->size[DATA] * place->size[TENSOR] == 1)
		snprintf(
			message, 200,
			"--stray: needs several ranks along data or tensor; nobody else has the layers of rank %llu",
			(unsigned long long)options->stray);
}

/* A forward that the others do not draw: what --agree is to find. */
static void stray(struct training *training)
{
	struct model *model = &training->model;
	struct philox_pass pass;

	if (model->place->rank != training->options->stray)
		return;
	TRY(philox_forward_begin(model->layer[0].region, model->stream,
				 PHILOX_PASS_INFERENCE, &pass));
	TRY(philox_pass_commit(&pass, 0, NULL));
}

/* Returns 0, or -1 if a folder is not as it should be, which a rank said. */
static int begin_training(struct training *training)
{
	struct model *model = &training->model;

	if (training->options->save &&
	    save_prepare(model, training->options->save))
		return -1;
	training->noise = model_floats(model, NOISE);
	schedule_open(&training->schedule, model);
	if (!training->options->resume) {
		weights_draw(model);
		return 0;
	}
	training->step = load_training(model, training->options->resume);
	training->begun = training->step;
	return training->step ? 0 : -1;
}

/* Returns an exit status. */
static int train(const struct options *options, const struct place *place)
{
	struct training training = {.options = options};
	int status = 0;

	if (model_open(&training.model, options, place))
		return WRONG;
	if (begin_training(&training))
		return WRONG;
	report_begin(&training.model);
	stray(&training);
	while (!status && training.step < options->steps)
		status = run_step(&training) ? 1 : 0;
	if (!status && training.step > training.begun)
		report_noise(&training.model, training.said);
	if (!status) {
		report_graphs(&training.model);
		report_parameters(&training.model);
	}
	schedule_close(&training.schedule);
	model_close(&training.model);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;
	struct place place;
	char message[200] = "";
	uint64_t rank, world;
	int status = WRONG;

	world_begin(&argc, &argv, &rank, &world);
	if (!options_read(&options, argc, argv, world, message) &&
	    !options.help &&
	    !place_read(&place, &options.shape, options.mesh, rank, world,
			message))
		check_stray(&options, &place, message);
	if (world_is_well(message)) {
		status = 0;
		if (!options.help)
			status = train(&options, &place);
		else if (rank == 0)
			options_help();
	}
	world_end();
	return status;
}
