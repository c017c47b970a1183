/*
 * examples/ranks/report.c - what rank 0 prints, and collects for it
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "digest.h"
#include "report.h"
#include "save.h"
#include "world.h"

void report_begin(const struct model *model)
{
	const struct philox_mesh *mesh = &model->place->mesh;

	if (model->place->rank)
		return;
	printf("mesh");
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		printf(" %s=%" PRIu32, mesh->axes[i].name,
		       mesh->axes[i].n_ranks);
	printf(", %s, %s, %s\n", model->options->device,
	       model->options->eager ? "eager" : "captured",
	       model->options->keep ? "activations kept"
				    : "activations recomputed");
	fflush(stdout);
}

/* --- the loss ------------------------------------------------------------- */

/* One rank has the losses of its samples: a last stage's first tensor rank. */
static int has_losses(const struct place *place)
{
	return place->at[TENSOR] == 0 &&
	       place->at[PIPELINE] + 1 == place->size[PIPELINE];
}

/* Puts [micro, samples of a rank] where they belong in [micro, all]. */
static void put_part(const struct shape *shape, const struct place *place,
		     const uint32_t *part, uint32_t *all)
{
	struct range samples = place_range(place, DATA, shape->samples);

	for (uint64_t m = 0; m < shape->micro; m++)
		memcpy(all + m * shape->samples + samples.first,
		       part + m * samples.count, samples.count * sizeof(*all));
}

/* Numbers of 32 bits for each sample, of all ranks that have losses. */
static void collect_samples(const struct model *model, const void *mine,
			    void *all)
{
	const struct shape *shape = model->shape;
	uint32_t *theirs =
		malloc(shape->micro * shape->samples * sizeof(*theirs));

	if (!theirs)
		world_fail("out of memory");
	for (uint64_t rank = 0; rank < model->place->world; rank++) {
		struct place place = place_of(model->place, rank);
		struct range samples =
			place_range(&place, DATA, shape->samples);

		if (!has_losses(&place))
			continue;
		if (rank)
			world_receive(rank, theirs,
				      shape->micro * samples.count *
					      sizeof(*theirs));
		put_part(shape, &place, rank ? theirs : mine, all);
	}
	free(theirs);
}

/* The loss, and the order in which ranks have read the samples of the step. */
static void print_loss(const struct schedule *schedule, uint64_t step)
{
	const struct model *model = schedule->model;
	const uint64_t n = model->shape->micro * model->shape->samples;
	float *losses = malloc(n * sizeof(*losses));
	uint32_t *begins = malloc(n * sizeof(*begins));
	double sum = 0;

	if (!losses || !begins)
		world_fail("out of memory");
	collect_samples(model, schedule->losses, losses);
	collect_samples(model, schedule->begins, begins);
	for (uint64_t i = 0; i < n; i++)
		sum += (double)losses[i];
	printf("step %" PRIu64 " loss %.6f %a order %016" PRIx64 "\n", step,
	       sum / (double)n, sum / (double)n,
	       digest_of(begins, n * sizeof(*begins)));
	fflush(stdout);
	free(losses);
	free(begins);
}

void report_loss(const struct schedule *schedule, uint64_t step)
{
	const struct model *model = schedule->model;
	const size_t n = model->shape->micro * model->samples.count;

	if (model->place->rank == 0) {
		print_loss(schedule, step);
	} else if (has_losses(model->place)) {
		world_send(0, schedule->losses, n * sizeof(float));
		world_send(0, schedule->begins, n * sizeof(uint32_t));
	}
}

/* --- the end -------------------------------------------------------------- */

static int shows_noise(const struct place *place)
{
	return place->at[TENSOR] == 0 && place->at[PIPELINE] == 0;
}

static void print_noise(const struct model *model, const float mine[NOISE])
{
	float noise[NOISE];

	for (int i = 0; i < NOISE; i++)
		noise[i] = mine[i];
	for (uint64_t rank = 0; rank < model->place->world; rank++) {
		struct place place = place_of(model->place, rank);

		if (!shows_noise(&place))
			continue;
		if (rank)
			world_receive(rank, noise, sizeof(noise));
		printf("noise data=%" PRIu32, place.at[DATA]);
		for (int i = 0; i < NOISE; i++)
			printf(" %a", (double)noise[i]);
		printf("\n");
	}
}

void report_noise(const struct model *model, const float noise[NOISE])
{
	if (model->place->rank == 0)
		print_noise(model, noise);
	else if (shows_noise(model->place))
		world_send(0, noise, NOISE * sizeof(float));
}

/* Of rank 0: how often it took how few graphs to launch */
void report_graphs(const struct model *model)
{
	if (model->place->rank == 0)
		printf("graphs %" PRIu64 " launches %" PRIu64 "\n",
		       model->graphs, model->launches);
}

void report_parameters(struct model *model)
{
	const size_t size = model->tensors.total * sizeof(float);
	float *all = collect_whole(model, model->parameters);

	if (!all)
		return;
	printf("parameters %" PRIu64 " digest %016" PRIx64 "\n",
	       model->tensors.total, digest_of(all, size));
	free(all);
}
