/*
 * graph/runner/call/call.h - a call of a function, step by step
 */
#ifndef GRAPH_RUNNER_CALL_CALL_H
#define GRAPH_RUNNER_CALL_CALL_H

#include "graph/runner/state/state.h"
#include "graph/verify/verify.h"

/* --- request: a call on its way: what is checked, told and kept ----------- */

struct request {
	struct philox_function *function;
	struct philox_call *call;
	struct key *key;
	philox_stream stream; /* that the work is on */
	int prepare; /* nothing is launched: philox_function_prepare() */
	int fresh;   /* the key is new */
};

/*
 * request_begin() checks a call against its function, finds its key and the
 * stream for its work: ERROR_INVALID, ERROR_STALE, ERROR_MEMORY, those of the
 * device.
 */
enum philox_status request_begin(struct request *request);

/*
 * request_end() ends a call, of which `status` came, and returns that: it keeps
 * to the limits of the policy.
 */
enum philox_status request_end(const struct request *request,
			       enum philox_status status);

/*
 * request_explain() writes why the call is not a replay; request_tell() logs a
 * decision about its key once; request_wait() has the key wait to be recorded,
 * for the reason that was explained.
 */
void request_explain(const struct request *request, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void request_tell(const struct request *request, enum logged about,
		  const char *event, enum philox_call_kind kind,
		  const char *input, const char *text);
void request_wait(const struct request *request, enum philox_call_kind kind);

/*
 * request_refuse_capturing() refuses a call on a stream that is capturing:
 * ERROR_CAPTURE_UNSUPPORTED. A launch asks by itself, but only its own stream.
 */
enum philox_status request_refuse_capturing(const struct request *request);

/* --- agree: processes settle on what a call is executed as ---------------- */

/*
 * See `agree` of struct philox_function_options. Functions that are not
 * PHILOX_FUNCTION_COLLECTIVE ask nobody, and it costs them nothing.
 */

/*
 * agree_on() asks the other processes with the kind that this one wants, and
 * writes what all have agreed on. Where that is less, the call is counted as
 * missed for it and its reason says so, unless it is only prepared. Errors:
 * ERROR_STATE (others cannot make the call), ERROR_INVALID (the callback's
 * answer is no kind, or above `wanted`), what the callback returned.
 */
enum philox_status agree_on(const struct request *request,
			    enum philox_call_kind wanted,
			    enum philox_call_kind *agreed);

/*
 * agree_quietly() does the same of a function, and says nothing: for questions
 * that are no decisions of a kind.
 */
enum philox_status agree_quietly(struct philox_function *function,
				 enum philox_call_kind wanted,
				 enum philox_call_kind *agreed);

/*
 * agree_failed() asks with NONE, for a call that cannot be made, and returns its
 * error with the thread's message as it was, whatever the others say.
 */
enum philox_status agree_failed(struct philox_function *function,
				enum philox_status status);

/* --- trace: calls of functions in a trace --------------------------------- */

/*
 * See Note [Trace] in lib/trace/trace.h. Nothing of this is in a journal.
 */

/*
 * trace_call_begin() says that a call begins, trace_call_end() how it was
 * executed and, if it ran the body, why.
 */
void trace_call_begin(const struct philox_function *function);
void trace_call_end(const struct philox_function *function,
		    const struct philox_call *call, enum philox_status status);

/* --- decide: what a call is executed as, and why -------------------------- */

struct decision {
	enum philox_call_kind kind;
	struct recording *recording; /* to replay */
	uint32_t limited;            /* of the key, before */
};

/*
 * decide() decides it for a call, has the dry warm-ups that come first, and
 * explains why it is no replay. decide_stale() decides again after a replay of
 * what is no more, of which the thread's message says why; decide_is_stale()
 * tells whether a launch failed for that. The replay of a function that is
 * COLLECTIVE is decided only if its launch would not be refused. Errors:
 * ERROR_CAPTURE_UNSUPPORTED, ERROR_MISMATCH (PHILOX_MOVED_ERROR), those of
 * call_dry() and launch_check().
 */
enum philox_status decide(const struct request *request,
			  struct decision *decision);
int decide_is_stale(const struct recording *recording,
		    enum philox_status launched);
enum philox_status decide_stale(const struct request *request,
				struct decision *decision);

/*
 * decide_again() is for a call that was decided to be recorded and is not, as
 * other processes want: the next one like it is decided in the same way, not
 * after as many calls as the policy says. Or processes that count from
 * different calls would never record together.
 */
void decide_again(const struct request *request,
		  const struct decision *decision);

/* --- run: one run of a body, in whatever kind of call --------------------- */

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

/* --- execute: the kinds of call, carried out ------------------------------ */

/*
 * call_eagerly() runs the body, as an eager call or a warm-up; call_replayed()
 * launches a recording; call_recorded() makes one, which is used instead of
 * `before` from then on unless that is NULL, and launches it, or runs the body if
 * that is refused and the policy allows it, or if other processes want so. All
 * write the call's kind and count it.
 */
enum philox_status call_eagerly(const struct request *request,
				enum philox_call_kind kind);
enum philox_status call_replayed(const struct request *request,
				 struct recording *recording);
enum philox_status call_recorded(const struct request *request,
				 struct recording *before);

/*
 * call_dry() has the dry warm-ups that the key is still to have: errors of the
 * body, and ERROR_LIMIT if it asks for more and more.
 */
enum philox_status call_dry(const struct request *request);

/*
 * call_capture() makes a recording, as above; *refused is 1 if that was refused, in
 * whatever way, and is no error by the policy. call_post_recorded() tells of one
 * whose making began with these counts at that time.
 */
enum philox_status call_capture(const struct request *request,
				struct recording *before,
				struct recording **recording, int *refused);
void call_post_recorded(const struct request *request,
			const struct philox_function_counts *before,
			uint64_t began);

/* --- eager: calls that run the body --------------------------------------- */

/*
 * eager_call() runs the body as an eager call or a warm-up, with the work on
 * `stream`. On an error nothing has changed.
 */
enum philox_status eager_call(struct philox_function *function,
			      struct philox_call *call, struct key *key,
			      enum philox_call_kind kind, philox_stream stream);

/*
 * eager_dry() runs the body for one dry warm-up. Nothing changes but what it does
 * to memory of the caller.
 */
enum philox_status eager_dry(struct philox_function *function,
			     struct philox_call *call, struct key *key,
			     philox_stream stream);

/* --- record: recording a call --------------------------------------------- */

/*
 * record_call() captures the body, for launches; `prepare` is 1 if no call follows
 * at once. *broke is 1 if that failed since the body refused to be recorded, its
 * capture broke, or there is no room for what it takes: the reason is the
 * message, and an eager call may go well. On any error nothing has changed.
 */
enum philox_status record_call(struct philox_function *function,
			       struct philox_call *call, struct key *key,
			       philox_stream stream, int prepare,
			       struct recording **out, int *broke);

/* --- replay: launching a recording for a call ----------------------------- */

/*
 * launch_recording() launches one on a stream for a call, as which nothing else
 * is done; `check` says how that is verified, NULL: it is not. On an error
 * nothing has changed but for numbers that are burnt.
 */
struct replay_check;

enum philox_status launch_recording(struct recording *recording,
				    struct philox_call *call,
				    philox_stream stream,
				    struct replay_check *check);

/*
 * launch_check() tells what that would fail for before any work is queued, such
 * as a ticket that is used up.
 */
enum philox_status launch_check(struct recording *recording,
				const struct philox_call *call,
				philox_stream stream);

/* --- passes: the passes of a body, and the tickets of its call ------------ */

/*
 * See Note [Runner] in graph/runner/state/state.h.
 */

/* The hook `ended`: see lib/state/state.h. */
enum philox_status run_passes_ended(const struct philox_pass *pass,
				    int committed, unsigned flags, int *kept);

/*
 * run_passes_whole() checks, after the body, that it has ended all its passes
 * and taken all entries of `uses`: ERROR_STATE, ERROR_INVALID. With
 * `graph_uses` it is that many passes that were captured.
 */
enum philox_status run_passes_whole(struct philox_run *run);

/*
 * run_passes_settle() uses the tickets of an eager call up that are to be, and
 * writes those of its forwards; run_passes_undo() leaves the ledger as it was.
 */
void run_passes_settle(struct philox_run *run);
void run_passes_undo(struct philox_run *run);

/* --- verify: replays that are verified ------------------------------------ */

/*
 * See Note [Verification] in graph/verify/verify.h.
 */

/* A replay that is to be verified. */
struct replay_check {
	struct recording *recording;
	struct philox_call *call;
	philox_stream stream;
	struct philox_verify verify;
	int open;       /* there is something to compare */
	int asked;      /* other processes verify theirs, too */
	size_t *pieces; /* of each input: the memory that it is in, from 1 */
	int reruns;
	int fell_back; /* the caller has got what the body made */
};

/*
 * replay_is_due() tells whether the function's next replay is to be verified,
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

/* --- verify_text: what is said of a replay that differs ------------------- */

#define REPLAY_TEXT 480

/*
 * replay_describe() writes what differs, why, and what of the call has changed
 * since it was recorded.
 */
enum philox_status replay_describe(struct replay_check *check,
				   const struct verify_item *item,
				   uint64_t place, enum verify_why why,
				   char text[REPLAY_TEXT]);

/* --- verify_parts: what the parts of verified replays ask of each other --- */

/* --- graph/runner/call/verify.c ------------------------------------------- */

/*
 * replay_keep_mutated() keeps what the body may change of its inputs.
 * replay_copy_of() returns where this run finds an input that is in memory that
 * was kept; NULL: in its own. replay_is_mutated() tells whether the body may
 * change it.
 */
enum philox_status replay_keep_mutated(struct replay_check *check);
void *replay_copy_of(const struct replay_check *check, uint32_t input);
int replay_is_mutated(const struct replay_check *check, uint32_t input);

/* --- graph/runner/call/verify.c ------------------------------------------- */

/* replay_run_body() runs the body with the numbers of the launch. */
enum philox_status replay_run_body(struct philox_verify *verify);

#endif
