/*
 * tools/bench/runner/model.h - a model whose layers share two functions
 *
 * A forward and a backward function are called for each of 32 layers, with the
 * layer's weights as static inputs: the shape of Llama 7B, with a few numbers
 * for each tensor, since only the host's time is measured. A layer has two
 * dropouts. Activations go from layer to layer as outputs, and are released by
 * the backward that reads them.
 */
#ifndef TOOLS_BENCH_RUNNER_MODEL_H
#define TOOLS_BENCH_RUNNER_MODEL_H

#include "tools/bench/runner/parts.h"

#define LAYERS 32

/* wq, wk, wv, wo, w1, w2, w3 and two norms. */
#define N_WEIGHTS 9

enum { FORWARD, BACKWARD, WAYS };

/* Inputs after the weights; a backward has gradients of the weights, too. */
enum { X = N_WEIGHTS, FORWARD_INPUTS };
enum {
	DY = N_WEIGHTS,
	KEPT,
	GRADIENTS,
	BACKWARD_INPUTS = GRADIENTS + N_WEIGHTS
};

/* Outputs: the result, and what the backward reads. */
enum { Y, SAVED, FORWARD_OUTPUTS };
enum { DX, BACKWARD_OUTPUTS };

enum { ATTENTION, FEED_FORWARD, OPS };

struct model {
	struct bench *bench;
	struct runner_parts parts;
	struct philox_function *functions[WAYS];
	struct philox_graph *graphs[LAYERS][WAYS];
	char *memory; /* x, the gradient of the loss, weights, gradients */
	struct philox_call_input inputs[LAYERS][WAYS][BACKWARD_INPUTS];
	struct philox_output activations[LAYERS][FORWARD_OUTPUTS];
	struct philox_ticket tickets[LAYERS];
	int replayed; /* calls of the last step */
};

/*
 * model_make() makes the functions and captures the same graphs without them,
 * and model_record() takes steps until one is replayed as a whole: 0, or -1
 * after printing what failed. model_clean() is for either case.
 */
int model_make(struct model *of, struct bench *bench);
int model_record(struct model *of);
void model_clean(struct model *of);

/* model_is_replayed() tells whether all calls of the last step were replays. */
int model_is_replayed(const struct model *of);

/* One step, forward and backward: by calls, and by launches of the graphs. */
enum philox_status model_step(struct model *of);
enum philox_status model_launch(struct model *of);

#endif
