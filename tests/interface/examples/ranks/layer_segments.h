/*
 * examples/ranks/layer_segments.h - what layer.c puts together: the bodies of a
 * layer's segments (segment.h), whose work is a struct layer_run
 */
#ifndef RANKS_LAYER_SEGMENTS_H
#define RANKS_LAYER_SEGMENTS_H

#include "layer.h"
#include "segment.h"

segment_body do_attention, do_mlp, do_residual, do_attention_again;
segment_body do_mlp_back, do_attention_back, do_input_back;

/* From x to the heads' parts, in a forward or again */
void compute_attention(struct model *model, struct layer_run *run,
		       const struct philox_pass *pass);

/* From the heads' parts to what the blocks of the MLP multiply last */
void compute_hidden(struct model *model, struct layer_run *run,
		    const struct philox_pass *pass);

#endif
