/*
 * examples/ranks/model.h - what a rank has of the model, and how it computes
 *
 * A rank has the layers of its stage, of these its heads and its blocks of the
 * MLP, and of each micro-batch the rows of its samples. All randomness is in
 * regions that are shared along all axes: an operator's numbers belong to the
 * elements of a whole tensor, of which a rank draws its shard.
 *
 *   region       operators                         whole tensor
 *   weights      a tensor each                     the tensor
 *   embedding    dropout                           [samples, places, width]
 *   layer N      dropout of attention's weights    [samples, heads, places,
 *                                                  places]
 *                dropout behind attention          [samples, places, width]
 *                dropout within the MLP            [samples, places, columns]
 *                dropout behind the MLP            [samples, places, width]
 *
 * The residual stream is the same on all tensor ranks, so they draw the same
 * numbers for it. Which samples are read is told by data, whose only source is
 * the text, with a sample for each byte that one may begin with. One region
 * more, `noise`, differs along data: each data rank has noise of its own, which
 * is printed and trains nothing.
 */
#ifndef RANKS_MODEL_H
#define RANKS_MODEL_H

#include <stddef.h>
#include "comm.h"
#include "machine.h"
#include "options.h"
#include "place.h"
#include "tensors.h"

enum layer_op { OP_WEIGHTS, OP_BEHIND_ATTENTION, OP_WITHIN, OP_BEHIND_MLP };

enum { NOISE = 4 }; /* numbers of noise that a rank makes in each step */

struct layer {
	uint64_t index; /* in the whole model */
	struct philox_region *region;
	float *weights[LAYER_TENSORS];
	float *gradients[LAYER_TENSORS]; /* of this rank's first sample */
};

struct model {
	const struct options *options;
	const struct shape *shape;
	const struct place *place;
	struct philox_device *device;
	struct philox_context *context;
	philox_stream stream;
	struct comm *comm;
	int host;
	void **memory; /* all arrays, to free them */
	size_t n_memory;

	struct range samples, heads, layers; /* of this rank */
	size_t rows;                         /* of its samples */
	int first, last;                     /* stage */
	uint64_t graphs, launches;           /* of segments, so far */

	struct tensors tensors;
	float *parameters, *moments[2], *total; /* tensors.mine numbers each */
	float *gradients; /* as many for each sample, of all data ranks */
	size_t *gradient_counts, *part_counts; /* for comm_gather() */

	struct philox_region *weights, *noise, *embedding;
	struct philox_data *data; /* the samples of the run, on all ranks */
	struct philox_shard_desc of_rows, of_weights, of_hidden;
	struct layer *layer;
	const uint8_t *text;
	size_t text_size;
	uint64_t text_digest;
};

/*
 * Makes a rank's regions and arrays, which model_close() frees. All ranks call
 * it together. Returns 0, or -1 on all ranks if device, network or text cannot
 * be had, which one of them has said.
 */
int model_open(struct model *model, const struct options *options,
	       const struct place *place);
void model_close(struct model *model);

/* Where a tensor's numbers, and their gradients, are on this rank. */
float *model_weights(const struct model *model, size_t tensor);
float *model_gradients(const struct model *model, size_t tensor);

/* Dropout of a shard, by an operator of a pass. */
void model_drop(struct model *model, const struct philox_pass *pass,
		uint32_t op, const struct philox_shard_desc *shard,
		const float *in, float *out);

#endif
