/*
 * examples/ranks/save.h - a training that can go on elsewhere
 *
 *   FOLDER/step-N       the set of philox's texts, one for each rank, and its
 *   FOLDER/step-N.0 ... manifest, which is written last
 *   FOLDER/step-N.model parameters and moments, whole, by rank 0
 *   FOLDER/latest       N, of the last that is complete
 *
 * A process may be killed at any moment: `latest` is replaced when all that it
 * names is there. All other files named step-N... are removed afterwards: what
 * was there before, and what a save that was killed has left. If `latest`
 * names this step already, the new files are step-N-again and so on, so that
 * files of two runs never stand under one name.
 */
#ifndef RANKS_SAVE_H
#define RANKS_SAVE_H

#include "model.h"

/* All ranks call these together. */

/* Makes the folder. Returns 0, or -1 on all ranks, if rank 0 has said why. */
int save_prepare(const struct model *model, const char *folder);

void save_training(struct model *model, const char *folder, uint64_t step);

/*
 * Returns the step that was saved, or 0 on all ranks if it cannot be loaded,
 * which one of them has said.
 */
uint64_t load_training(struct model *model, const char *folder);

/*
 * Rank 0 gets the whole of an array like model->parameters, which the caller
 * frees; the others get NULL.
 */
float *collect_whole(struct model *model, const float *array);

#endif
