/*
 * graph/runner/call/call.h - a call of a function, step by step
 */
#ifndef GRAPH_RUNNER_CALL_CALL_H
#define GRAPH_RUNNER_CALL_CALL_H

#include "graph/runner/function/function.h"
#include "graph/runner/state/state.h"
#include "graph/verify/verify.h"

/* --- request: the arguments of a call, checked ---------------------------- */

struct request {
	struct philox_function *function;
	struct philox_call *call;
	struct key *key;      /* NULL: not found yet */
	struct recording *guessed; /* that it will find; NULL: look it up */
	philox_stream stream; /* that the work is on */
	int prepare; /* nothing is launched: philox_function_prepare() */
	int fresh;   /* the key is new */
};

/*
 * request_check() checks a call against its function, finds its key and the
 * stream for its work: ERROR_INVALID, ERROR_STALE, ERROR_MEMORY, those of the
 * device.
 */
enum philox_status request_check(struct request *request);

/* --- decide: what a call is executed as, and why -------------------------- */

struct decision {
	enum philox_call_kind kind;
	struct recording *recording; /* to replay, or to be recorded again */
	int refused;      /* the body, to be recorded, and may be run */
	int expected;     /* a plan has recordings of the key to be made again */
	struct reason reason;
};

/*
 * decide() decides it for a call, has the dry warm-ups that come first, and
 * explains why it is no replay. decide_stale() decides again after a replay of
 * what is no more, of which the thread's message says why; decide_is_stale()
 * tells whether a launch failed for that. The replay of a function that is
 * COLLECTIVE is decided only if its launch would not be refused. Errors:
 * ERROR_CAPTURE_UNSUPPORTED, ERROR_MISMATCH (a FIXED input moved), those of
 * eager_dry() and replay_ready().
 */
enum philox_status decide(const struct request *request,
			  struct decision *decision);
int decide_is_stale(const struct recording *recording,
		    enum philox_status launched);
enum philox_status decide_stale(const struct request *request,
				struct decision *decision);

/*
 * decide_prepare() decides whether a call is recorded ahead: RECORD, REPLAY if
 * it was recorded already, EAGER if it cannot be.
 */
void decide_prepare(const struct request *request, struct decision *decision);

/* --- run: one run of a body, in whatever kind of call --------------------- */

/*
 * run_begin() makes a runner's run ready for a body that is called next;
 * run_body() calls it, and checks that it did what it had to: the message of an
 * error names the function. run_end() ends the run, whose script counts if it
 * `went` well.
 */
enum philox_status run_begin(const struct request *request,
			     enum philox_call_kind kind);
enum philox_status run_body(struct run *run);
void run_end(struct run *run, enum philox_status went);

/*
 * Of the body that runs, or has: run_name_function() names its function in the
 * message of an error; run_outputs_whole() checks that it has declared all its
 * outputs; run_input_bytes() is the size of an input of it; run_block_at() finds
 * memory that it took and did not free, NULL: none.
 */
enum philox_status run_name_function(const struct run *run,
				     const struct status_message *before,
				     enum philox_status status);
enum philox_status run_outputs_whole(struct run *run);
size_t run_input_bytes(const struct run *run, size_t index);
struct run_block *run_block_at(const struct run *run, const void *address);

/* range_is_in() tells whether a range lies within another one. */
int range_is_in(const void *address, size_t bytes, const void *base,
		size_t size);

/*
 * run_place_inputs() decides where the body finds the inputs: where they are,
 * or, if a call of this kind (a recording or not) has one copied, in memory of
 * the pool, which it takes. `buffers` gets that, NULL for the others.
 */
enum philox_status run_place_inputs(struct run *run, void **buffers,
				    int recorded);

/* run_take_buffer() takes memory of the run's pool for a copy of an input. */
enum philox_status run_take_buffer(struct run *run, size_t index,
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

/* --- eager: calls that run the body --------------------------------------- */

/*
 * eager_call() runs the body, as an eager call or a warm-up. On an error nothing
 * has changed. eager_dry() has the dry warm-ups that the key is still to have, of
 * which nothing changes but what they do to memory of the caller: errors of the
 * body, and ERROR_LIMIT if it asks for more and more.
 */
enum philox_status eager_call(const struct request *request,
			      struct decision *decision);
enum philox_status eager_dry(const struct request *request,
			     struct decision *decision);

/* --- record: recording a call --------------------------------------------- */

/*
 * record_call() captures the body, for launches: the recording is used instead
 * of the decision's from then on. `refused` of the decision is 1 if that failed
 * since the body refused to be recorded, its capture broke, or there is no room
 * for what it takes, and the policy has it be run instead. On any error nothing
 * has changed but that its key waits.
 */
enum philox_status record_call(const struct request *request,
			       struct decision *decision,
			       struct recording **recording);

/* --- replay: launching a recording for a call ----------------------------- */

/*
 * replay_call() launches the recording of a decision, replay_first() one that was
 * just made. On an error nothing has changed but for numbers that are burnt.
 * replay_ready() tells what a launch would fail for before any work is queued,
 * such as a ticket that is used up.
 */
enum philox_status replay_call(const struct request *request,
			       struct decision *decision);
enum philox_status replay_first(const struct request *request,
				struct recording *recording);
enum philox_status replay_ready(const struct request *request,
				struct recording *recording);

/* --- passes: the passes of a body, and the tickets of its call ------------ */

/*
 * See Note [Runner] in graph/runner/state/state.h.
 */

/*
 * run_passes_whole() checks, after the body, that it has ended all its passes
 * and taken all entries of its passes: ERROR_STATE, ERROR_INVALID.
 * run_passes_give() writes the tickets of a nested call then.
 */
enum philox_status run_passes_whole(struct run *run);
void run_passes_give(struct run *run);

/*
 * run_passes_settle() uses up the tickets that an eager call consumes, and
 * writes those of its forwards; run_passes_undo() leaves the ledger as it was.
 */
void run_passes_settle(struct run *run);
void run_passes_undo(struct run *run);

/* --- body: what a body asks of its run ------------------------------------ */

/*
 * body_report() ends a call of the body: one that failed fails the run.
 * body_refuse() has the run refuse to be recorded.
 */
enum philox_status body_report(struct run *run, enum philox_status status);
void body_refuse(struct run *run, const char *reason);

/* --- verify: replays that are verified ------------------------------------ */

/*
 * See Note [Verification] in graph/verify/verify.h.
 */

/* A replay that is to be verified. */
struct replay_check {
	const struct request *request;
	struct recording *recording;
	struct verify verify;
	int open;       /* there is something to compare */
	int asked;      /* other processes verify theirs, too */
	size_t *pieces; /* of each input: the memory that it is in, from 1 */
	struct words *origins; /* of each input that has none in its descriptor */
	int reruns;
	int fell_back; /* the caller has got what the body made */
};

/*
 * replay_is_due() tells whether the function's next replay must be verified,
 * and counts it.
 */
int replay_is_due(struct philox_function *function);

/*
 * replay_check_begin() runs the body before the launch, with its numbers.
 * replay_check_end() compares, after the launch, if it `went` well. Errors: those
 * of the body, ERROR_DIFFERS, those of the device.
 */
enum philox_status replay_check_begin(struct replay_check *check);
enum philox_status replay_check_end(struct replay_check *check,
				    enum philox_status went);

/* replay_checks_finish() frees what verification has taken of a runner. */
enum philox_status replay_checks_finish(struct philox_runner *runner);

#endif
