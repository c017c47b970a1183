/*
 * examples/ranks/weights.h - a rank's parameters, and how they are drawn
 */
#ifndef RANKS_WEIGHTS_H
#define RANKS_WEIGHTS_H

#include "model.h"

/* Makes the arrays of parameters, and of their gradients and moments. */
void weights_make(struct model *model);

/* The first parameters: this rank's parts of the whole tensors. */
void weights_draw(struct model *model);

#endif
