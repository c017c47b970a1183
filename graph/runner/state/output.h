/*
 * graph/runner/state/output.h - outputs and their handles
 */
#ifndef GRAPH_RUNNER_STATE_OUTPUT_H
#define GRAPH_RUNNER_STATE_OUTPUT_H

#include "graph/runner/state/runner.h"

/* What an output is, before it is handed out. */
struct output_place {
	void *address;
	size_t bytes;
	uint64_t id;
	int in_pool; /* its block is the runner's: `id`, `range`, `from` */
	struct block_range range;
	struct recording *from;
};

/*
 * outputs_renew() puts another slot in the place of one in a recording whose
 * output is not released: ERROR_MEMORY.
 */
enum philox_status outputs_renew(struct output_slot **slot);

/*
 * outputs_take() takes a place for the handles of an output, outputs_give()
 * gives it back, for other calls. ERROR_MEMORY.
 */
enum philox_status outputs_take(struct philox_function *function, size_t index,
				struct output_slot **slot);
void outputs_give(struct output_slot *slot);

/*
 * outputs_hand() hands an output out, whose block has room in the runner's list
 * of live ones; outputs_drop() is a release without a stream.
 */
void outputs_hand(struct output_slot *slot, const struct output_place *place);
void outputs_drop(struct output_slot *slot);

/*
 * outputs_drop_later() releases an output within a call, whose handles are over
 * at once, but whose memory is kept until outputs_drop_now(), which is when a
 * thread next comes into the runner.
 */
void outputs_drop_later(struct output_slot *slot);
void outputs_drop_now(struct philox_runner *runner);

/* outputs_find() finds the slot of a good handle: ERROR_STALE, ERROR_INVALID. */
enum philox_status outputs_find(struct philox_runner *runner,
				const struct philox_output *output,
				struct output_slot **slot);

/* outputs_finish() frees what a runner that ends has of all this. */
void outputs_finish(struct philox_runner *runner);

#endif
