/*
 * graph/runner/call/run.h - one run of a body, in whatever kind of call
 */
#ifndef GRAPH_RUNNER_CALL_RUN_H
#define GRAPH_RUNNER_CALL_RUN_H

#include "graph/runner/state/runner.h"

/*
 * run_begin() makes a runner's run ready for a body that is called next;
 * run_body() calls it, and checks that it did what it had to: the message of an
 * error names the function. run_end() ends the run, whose script counts if it
 * `went` well.
 */
enum philox_status run_begin(struct philox_function *function,
			     struct philox_call *call, struct key *key,
			     enum philox_call_kind kind, philox_stream stream);
enum philox_status run_body(struct philox_run *run);
void run_end(struct philox_run *run, enum philox_status went);

/*
 * run_check_memory() checks that the pool's session has had no allocations but
 * those of the run: ERROR_STATE.
 */
enum philox_status run_check_memory(const struct philox_run *run,
				    uint64_t allocations);

/*
 * run_place_inputs() decides where the body finds the inputs: where they are,
 * or, if a call of this kind (a recording or not) has one copied, in memory of
 * the pool, which it takes. `buffers` gets that, NULL for the others.
 */
enum philox_status run_place_inputs(struct philox_run *run, void **buffers,
				    int recorded);

/* run_take_buffer() takes memory of the run's pool for a copy of an input. */
enum philox_status run_take_buffer(struct philox_run *run, size_t index,
				   void **buffer);

/*
 * run_output_place() says what an output is that a run or a recording has: in
 * an input of the call, or else in a block of the pool.
 */
struct output_place run_output_place(const struct philox_function *function,
				     const struct philox_call *call,
				     const struct run_output *output,
				     struct recording *from);

/*
 * run_hand_out() hands the outputs of a call out; `places` are the slots, one
 * for each. With call->outputs NULL they are released.
 */
void run_hand_out(const struct philox_function *function,
		  struct philox_call *call, struct output_slot *const *slots,
		  const struct output_place *places);

/*
 * The legacy stream cannot capture: run_stream() writes the stream that stands
 * in for that of a call, the same one unless it is the legacy stream, with
 * run_join() before and after the call's work. On any other stream it does
 * nothing.
 */
enum philox_status run_stream(struct philox_runner *runner,
			      philox_stream of_call, philox_stream *stream);
enum philox_status run_join(struct philox_runner *runner, philox_stream of_call,
			    int after);

#endif
