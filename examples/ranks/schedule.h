/*
 * examples/ranks/schedule.h - the micro-batches of a step, by the stages of a
 * pipeline: 1F1B
 *
 * A stage first runs as many forwards as there are stages behind it, then one
 * forward and one backward in turn, then the backwards that are left:
 *
 *   stage 0   F0 F1 F2 B0 F3 B1 B2 B3
 *   stage 1   F0 F1 B0 F2 B1 F3 B2 B3
 *   stage 2   F0 B0 F1 B1 F2 B2 F3 B3
 *
 * (Narayanan et al., "Memory-efficient pipeline-parallel DNN training", 2021.)
 * Where both neighbours have something for each other they swap it, so that
 * neither waits for the other for ever.
 */
#ifndef RANKS_SCHEDULE_H
#define RANKS_SCHEDULE_H

#include "ends.h"
#include "layer.h"
#include "model.h"

/* A micro-batch that has gone forward and not yet back. */
struct slot {
	struct ends_run ends;
	struct layer_run *layers;
	float *x, *out; /* of the first layer, of the last */
};

struct schedule {
	struct model *model;
	struct slot *slots; /* as many as there may be at a time */
	size_t n_slots;
	struct scratch scratch;
	float *of_x, *of_out; /* gradients of a slot's x and out */
	float *losses;        /* last stage: [micro, samples], of the host */
	uint32_t *begins; /* where samples begin: [micro, samples], likewise */
	uint64_t killed; /* micro-batch in whose backward the process dies */
};

enum { NEVER = 0 };

void schedule_open(struct schedule *schedule, struct model *model);
void schedule_close(struct schedule *schedule);

/*
 * Runs a step's micro-batches. Afterwards model->total has the sums of their
 * gradients, on all data ranks, and schedule->losses the losses.
 */
void schedule_step(struct schedule *schedule);

#endif
