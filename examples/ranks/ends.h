/*
 * examples/ranks/ends.h - what the first and the last stage have beside layers:
 * the embedding, and the loss
 *
 * Both stages compute where the samples begin, from the run's data: so nothing
 * has to be sent for it.
 */
#ifndef RANKS_ENDS_H
#define RANKS_ENDS_H

#include "model.h"

enum end_segment { EMBED, EMBED_BACK, LOSS, LOSS_BACK, END_SEGMENTS };

/* The ends at work on a micro-batch. */
struct ends_run {
	uint32_t *begins;           /* of samples, in the text */
	float *embedded, *x, *of_x; /* first stage: x is the output */
	float *out, *of_out;        /* last stage: out is the input */
	float *norm, *inverse, *logits, *losses, *loss; /* loss: of samples */
	float *of_norm;
	struct philox_ticket ticket, none;
	struct philox_graph *graphs[END_SEGMENTS];
};

/* Makes the arrays, except x, of_x, out and of_out. */
void ends_make(struct model *model, struct ends_run *run);

/*
 * Takes where the samples of a micro-batch begin, memory of the host that stays
 * until the step ends.
 */
void ends_take_samples(struct model *model, struct ends_run *run,
		       const uint32_t *begins);

void ends_embed(struct model *model, struct ends_run *run);
void ends_embed_back(struct model *model, struct ends_run *run);
void ends_loss(struct model *model, struct ends_run *run);
void ends_loss_back(struct model *model, struct ends_run *run);

#endif
