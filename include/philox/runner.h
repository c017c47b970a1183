/*
 * philox/runner.h - functions that are warmed up, recorded and replayed by
 * themselves
 *
 * philox_capture_begin() and philox_graph_launch() are for programs that decide
 * themselves when to capture. A runner decides it for a function of yours, the
 * body. The first call of a function runs the body, the next call captures it
 * and launches the graph, and later calls launch the graph again. A call that
 * cannot be replayed, for instance because its memory has moved, is recorded
 * again or runs the body, and the runner says why. However a call is executed,
 * it draws the same numbers, and its tickets come back in the same places:
 *
 *   enum philox_status layer(void *user, struct philox_run *run)
 *   {
 *           philox_run_input(run, 0, &x, &bytes);
 *           philox_run_alloc(run, bytes, 0, "y", &y);
 *           philox_run_forward_begin(run, region, 0, &pass);
 *           ... kernels on philox_run_stream(run) ...
 *           philox_pass_commit(&pass, 0, &ticket);
 *           return philox_run_output(run, 0, y, bytes);
 *   }
 *
 *   philox_runner_create(context, &runner_options, &runner);
 *   philox_function_create(runner, &options, &function);
 *
 *   inputs[0].address = x;              call.inputs, for each step
 *   philox_function_call(function, &call);
 *   ... call.outputs[0].address, call.passes[0].ticket ...
 *   philox_output_release(runner, stream, &call.outputs[0]);
 *
 * Keys. One function has many recordings. The caller's key identifies what a
 * call is like: shapes, flags, all that the body branches on. Under one key the
 * body does the same each time; nothing is guessed. Within a key each set of
 * addresses of static inputs has a recording of its own.
 *
 * Memory. The body takes memory with philox_run_alloc() only, from the runner's
 * pool, which all recordings share. An output is a block of it that belongs to
 * the caller until it is released; nothing else gets that memory meanwhile. A
 * recording writes where its capture did. So it is replayed only while none of
 * that memory holds an output that is not released. Otherwise the call is
 * recorded once more, beside those outputs. Release outputs as soon as they are
 * not needed, in any order: one by one, with a ticket that they are tied to, or
 * all of a step by philox_runner_step_begin().
 *
 * Bounds. All that can be replayed is replayed, and what can be recorded is
 * recorded, within two bounds of the policy: so many recordings of a key, and
 * so many bytes of a function. Where a bound is met, the recording that was
 * used least recently is evicted. Its call may be recorded again. A key that
 * only evicts recordings which were never replayed keeps those that it has, and
 * its other calls run the body; a message says so once.
 *
 * Transactions. A call that fails has changed nothing. Tickets are used up only
 * when the body has succeeded; until then a ticket that the body uses up is
 * pending. Forwards of a body that failed later are released, and their numbers
 * are burnt. Memory is as it was, and a capture that broke leaves the stream
 * usable. Three things stay: what the body did to memory of the caller, copies
 * of inputs that were queued, and keys and recordings that were made.
 *
 * Streams. All work of a call is on the caller's stream, warm-ups included. The
 * legacy stream cannot capture: there the runner's own stream takes its place,
 * joined by events before and after. Calls on different streams wait for each
 * other, as launches of one pool do (philox/pool.h). Streams of calls and
 * releases must live as long as the runner.
 *
 * Bodies have no conditional nodes (philox/graph.h) and no forwards of several
 * iterations. A body may call another function (philox_run_call()).
 *
 * Verification. A captured program can be wrong without a sign: a scalar that
 * was frozen, memory that moved, memory that nobody wrote. Since the numbers of
 * a launch can be drawn again, a replay can be verified (`verify` of the
 * policy). First the body runs with the numbers that the launch is to draw, on
 * copies of what it mutates, in memory of a second pool. Then the graph is
 * launched; outputs, mutated inputs and tables of rows must be the same, bit
 * for bit. If they are not, the body runs some more times to find the cause: a
 * body that differs from itself is not deterministic. One that depends on what
 * its memory held before reads what nobody has written, or leaves a part of an
 * output unwritten. Otherwise a value was frozen. The message gives the cause,
 * the function, the output, the first element with both its values, and what
 * has changed in the call since it was recorded.
 *
 * A verified call waits for the device. Its body runs outside of any capture
 * and leaves nothing: tickets are not touched, generators are not advanced, and
 * tables of rows that philox changed are put back (philox/rows.h; what they
 * report counts both runs). Memory that a body changes itself must be an input
 * that is MUTATED, or it changes twice. Some replays cannot be verified: their
 * body seeds a generator or destroys a table of rows, there is no memory for
 * the copies, or an input that is not aligned shares memory with a mutated one.
 * Such a replay proceeds, and a message says so once for a key ("not
 * verified"). After a difference the next replay is verified, too.
 *
 * Environment. PHILOX_RUNNER=eager makes every call of runners that are created
 * then an eager one. PHILOX_RUNNER=verify verifies every replay (of collective
 * functions: set it in all processes or in none).
 *
 * Ranks. Processes that run one program may decide differently: one evicts a
 * key that others keep, or its memory moves. If a body has collectives, all
 * processes then hang. Such a function is PHILOX_FUNCTION_COLLECTIVE, and its
 * callback `agree` settles on one kind for each call. All decisions depend on
 * the sequence of calls, on inputs that moved and on outputs that are not
 * released, never on time.
 *
 * Threads. One thread at a time uses a runner with its functions and outputs. A
 * call that finds another thread in the runner, or that comes from a body,
 * returns PHILOX_ERROR_BUSY and changes nothing; bodies have philox_run_call().
 * Different runners may be used at the same time. Only what bodies call is
 * legal on a thread that is capturing.
 */
#ifndef PHILOX_RUNNER_H
#define PHILOX_RUNNER_H

#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/device.h>
#include <philox/graph.h>
#include <philox/pass.h>
#include <philox/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct philox_runner;
struct philox_function;
struct philox_run;
struct philox_pool;

/* The text "file:line" of the place where it is written: for `origin`. */
#define PHILOX_ORIGIN             PHILOX_ORIGIN_AT(__FILE__, __LINE__)
#define PHILOX_ORIGIN_AT(f, line) PHILOX_ORIGIN_OF(f, line)
#define PHILOX_ORIGIN_OF(f, line) f ":" #line

#define PHILOX_NEVER              UINT32_MAX

/* --- runners -------------------------------------------------------------- */

enum philox_runner_flags {
	/*
	 * The device times the launches of recordings, between two events: see
	 * device_ns in struct philox_function_stats and
	 * philox_function_explain_text(). A launch that comes before the last
	 * one that was timed has ended is not timed, since nothing waits.
	 */
	PHILOX_RUNNER_TIMES = 1
};

/*
 * Describes a runner and its pool, which gets the runner's name. Begin with
 * PHILOX_INIT().
 */
struct philox_runner_desc {
	size_t size;         /* sizeof(this struct) */
	const char *name;    /* unique among the context's pools; copied; at
				most 63 bytes */
	uint32_t pool_flags; /* of enum philox_pool_flags, without STRICT */
	uint32_t flags;      /* of enum philox_runner_flags */
	uint64_t pool_range; /* as in struct philox_pool_desc */
	uint64_t pool_step;
	uint64_t pool_limit;
};

/*
 * Create a runner and its pool.
 *
 *   context    the context
 *   options    describes the runner; copied
 *   runner     written: the runner; its context destroys it at the latest
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   names the field, or an unknown flag; PHILOX_RUNNER
 *                          is set to anything else than "", "eager" and
 *                          "verify"
 *   those of philox_pool_create()
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_runner_create(
	struct philox_context *context,
	const struct philox_runner_desc *options,
	struct philox_runner **runner);

/*
 * Destroy a runner with its functions, recordings, outputs and pool.
 *
 *   runner     the runner, whose work has finished; NULL is allowed
 *
 * The log reports outputs that were not released.
 *
 * Returns PHILOX_OK, or an error; then the runner is as it was.
 * Errors:
 *   PHILOX_ERROR_BUSY     a thread is in the runner
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_runner_destroy(
	struct philox_runner *runner);

/*
 * Return the pool of a runner, for its figures, snapshots and checks.
 *
 *   runner     the runner, which the pool belongs to; NULL: NULL
 *
 * Nothing but the runner changes it: philox_pool_alloc(), _free(), _reserve(),
 * _restore(), _trim(), _session_begin() and _destroy() of it are
 * PHILOX_ERROR_STATE, in bodies too.
 *
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API struct philox_pool *philox_runner_pool(
	const struct philox_runner *runner);

/*
 * Write what a runner has as a text.
 *
 *   runner     the runner
 *   text       written: the text, which ends with a NUL; free it with free()
 *   bytes      written: its size without the NUL; NULL is allowed
 *
 * The text has functions, keys, recordings, where their inputs come from,
 * counts, last reasons and the pool, by place and without an address, and a
 * checksum. `philox inspect` sums one up and draws it. Its form is in Note
 * [Runner snapshot] in graph/runner/snapshot/snapshot.h. The pool is made to
 * agree with the outputs that are not released, as before a body runs.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_BUSY      a thread is in the runner
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_runner_snapshot_text(
	struct philox_runner *runner, char **text, size_t *bytes);

/*
 * Write what a runner has to a file, completely or not at all.
 *
 *   runner     the runner
 *   path       the file, which is replaced as philox_context_save() does it; a
 *              new one has the mode that the umask leaves
 *
 * The file has the text of philox_runner_snapshot_text().
 *
 * Returns PHILOX_OK, or an error; then the file is as it was.
 * Errors:
 *   PHILOX_ERROR_FILE      the file cannot be written
 *   those of philox_runner_snapshot_text()
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_runner_snapshot(
	struct philox_runner *runner, const char *path);

enum philox_snapshot_flags {
	PHILOX_SNAPSHOT_TIMES = 1 /* also what each phase took */
};

/*
 * Write what a runner has as a text, with more on request.
 *
 *   runner     the runner
 *   flags      of enum philox_snapshot_flags
 *   text       written: the text, which ends with a NUL; free it with free()
 *   bytes      written: its size without the NUL; NULL is allowed
 *
 * Without flags it is the text of philox_runner_snapshot_text(): equal runs
 * have equal texts. Times are on lines of their own, which begin with "times".
 * `philox explain --diff` leaves them out.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   the flags
 *   those of philox_runner_snapshot_text()
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_runner_snapshot_text_with(
	struct philox_runner *runner, unsigned flags, char **text,
	size_t *bytes);

/*
 * Write what a runner has to a file, with more on request.
 *
 *   runner     the runner
 *   flags      of enum philox_snapshot_flags
 *   path       the file, which is replaced
 *
 * The file has the text of philox_runner_snapshot_text_with().
 *
 * Returns PHILOX_OK, or an error; then the file is as it was.
 * Errors:
 *   PHILOX_ERROR_FILE      the file cannot be written
 *   those of philox_runner_snapshot_text_with()
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_runner_snapshot_with(
	struct philox_runner *runner, unsigned flags, const char *path);

/* --- functions ------------------------------------------------------------ */

/* What a function is, for messages and the log. */
enum philox_function_mode {
	PHILOX_MODE_FORWARD = 0,
	PHILOX_MODE_BACKWARD = 1,
	PHILOX_MODE_INFERENCE = 2
};

enum philox_function_flags {
	PHILOX_FUNCTION_EAGER = 1,     /* never recorded: host work, a grid that
					  depends on data */
	PHILOX_FUNCTION_COLLECTIVE = 2 /* its body speaks to other processes:
					  see `agree` of the options */
};

/*
 * How a recording gets an input. A static one is read where it is, and a call
 * with another address needs another recording; it is never copied. A copied
 * one is copied by each launch to memory of the recording. One kernel, with a
 * table of addresses, copies up to 128 of them.
 *
 * An automatic one, the default, is static at first. It is copied from then on
 * once it has moved PHILOX_AUTOMATIC_MOVES times in a row to an address that no
 * recording of the key has. Three kinds of it stay static for good: one of more
 * than PHILOX_AUTOMATIC_BYTES, one that is MUTATED without WRITE_BACK, and one
 * that an output is in. Weights of many layers that share a function are better
 * described as static, or they may be copied.
 *
 * An address that is not aligned as the descriptor says is copied in every kind
 * of call, so that the body can count on the alignment.
 *
 * A body that writes to an input must say so: MUTATED. If such an input has to
 * be copied, it is copied back after the body if WRITE_BACK is given. Otherwise
 * a copied one is never recorded, an automatic one stays static, and an address
 * that is not aligned is refused.
 *
 * An input that must never move, such as a parameter of a model, is FIXED: a
 * call that could be replayed if the input had not moved is refused.
 */
enum philox_input_kind {
	PHILOX_INPUT_AUTOMATIC = 0,
	PHILOX_INPUT_STATIC = 1,
	PHILOX_INPUT_COPIED = 2
};

#define PHILOX_AUTOMATIC_MOVES 16
#define PHILOX_AUTOMATIC_BYTES ((size_t)64 << 20)

enum philox_input_flags {
	PHILOX_INPUT_MUTATED = 1,
	PHILOX_INPUT_WRITE_BACK = 2, /* with MUTATED */
	PHILOX_INPUT_FIXED = 4       /* not with COPIED */
};

/* Inputs, outputs and parameters of a function; all strings are copied. */
struct philox_input_desc {
	const char *name;    /* unique among the function's inputs */
	const char *origin;  /* where it comes from, for messages:
				 PHILOX_ORIGIN; NULL, "": the function and output
				 whose handle a call gives */
	uint32_t kind;       /* enum philox_input_kind */
	uint32_t flags;      /* enum philox_input_flags */
	size_t alignment;    /* power of two, at most 64 KiB; 0: 1 */
	uint32_t elements;   /* what it has, for messages: PHILOX_ELEMENTS() of
				 a dtype; 0: bytes */
	uint32_t reserved32; /* 0 */
	uint64_t reserved;   /* 0 */
};

struct philox_output_desc {
	const char *name;    /* unique among the function's outputs */
	const char *origin;  /* as above */
	uint32_t elements;   /* as above */
	uint32_t reserved32; /* 0 */
	uint64_t reserved;   /* 0 */
};

struct philox_param_desc {
	const char *name;     /* unique among the function's parameters */
	size_t bytes;         /* 1 .. 16 */
	uint64_t reserved[2]; /* 0 */
};

/* What to do with a body that refused to be recorded, or broke its capture. */
enum philox_refused {
	PHILOX_REFUSED_EAGER = 0, /* run the body */
	PHILOX_REFUSED_ERROR = 1  /* the call fails: PHILOX_ERROR_UNSUPPORTED,
				     or that of the capture */
};

/* What to do with a verified replay that differs from its body. */
enum philox_differs {
	/* The call fails: PHILOX_ERROR_DIFFERS. Its recording is dropped, unless
	 * the body is not deterministic. */
	PHILOX_DIFFERS_ERROR = 0,
	/* A message ("differs"), and the caller gets what the body made: the
	 * call counts as an eager one, and its key waits for its next recording
	 * as after one that broke (`retry`). A body that is not deterministic
	 * gets the message alone: the replay is as good. */
	PHILOX_DIFFERS_EAGER = 1
};

/* The bounds of a policy that leaves them 0. */
#define PHILOX_RECORDINGS      64
#define PHILOX_RECORDING_BYTES ((uint64_t)64 << 30)

/*
 * What a function keeps, and how it is warmed up. All 0 is right for most
 * programs. Each field has a program in its comment that needs another value.
 *
 * Recordings are evicted for `recordings` and `bytes`, the least recently used
 * first; those that gave outputs which are not released come after all others.
 * For `keys`, the key that was called least recently is forgotten with all of
 * its recordings; it is new when it comes again. What the present call uses
 * stays. A recording that is evicted is freed when its launches have ended and
 * none of its outputs is left.
 *
 * A key wastes recordings if those that it evicts were never replayed. After a
 * quarter of `recordings` of these, more than of others, it keeps what it has:
 * it evicts a recording only if none of the last 8 times `recordings` calls of
 * the key used it. Where what it records then is wasted as well, the 8 become
 * 16, and so on. A function does the same if `bytes` makes it waste recordings,
 * with as many as it has in place of `recordings`.
 */
struct philox_policy {
	uint32_t refused;    /* enum philox_refused. A server that has promised
				a latency: PHILOX_REFUSED_ERROR */
	uint32_t recordings; /* of a key, the most; 0: PHILOX_RECORDINGS;
				PHILOX_NEVER: no bound. A model of 200 layers
				that share one function: 200 */
	uint32_t warmups; /* calls that run the body before the first one is
			     recorded; 0: 1; PHILOX_NEVER: none. Libraries that
			     tune themselves over several steps: as many */
	uint32_t dry;     /* dry warm-ups, at most 1000, in the call that finds
			     a new key, before anything else, unless nothing is
			     recorded:
			     the body is run with PHILOX_PASS_WARMUP, and its
			     outputs are thrown away. What it does to other
			     memory it does each time: not for bodies that
			     update what they read. A server that prepares its
			     batch sizes before the first request: 1 */
	uint32_t retry;   /* calls under a key until recording is tried again
			     after one that was refused or broke; 0: 16;
			     PHILOX_NEVER: no more. A backward of another
			     function's forward that waits so is not recorded
			     either, for the last 64 tickets of such. A body
			     that refuses in one step of many, to log: 1 */
	uint32_t keys;    /* the most; 0: no limit. A server whose requests have
			     any length: some hundreds */
	uint32_t verify;  /* every so-many-th replay of the function is
			     verified, the first one too; 1: each; 0: none. A
			     long training run: 1000 */
	uint32_t differs; /* enum philox_differs. That run, if it is to go on
			     after a difference: PHILOX_DIFFERS_EAGER */
	uint64_t bytes;   /* the most, as counted by `bytes` of the statistics;
			     0: PHILOX_RECORDING_BYTES; UINT64_MAX: no bound. A
			     GPU that is shared with others: less */
	uint64_t reserved[2]; /* 0 */
};

/*
 * struct philox_function_desc describes a function. Begin with
 * PHILOX_INIT(). The body is called with `user`; see "bodies" below.
 *
 * `agree` is for PHILOX_FUNCTION_COLLECTIVE, and then it must be there. It is
 * called with `user` and an enum philox_call_kind, and writes the least of what
 * all processes ask with, to be found by an allreduce of the minimum: the most
 * careful kind wins. Whatever has gone wrong in one process, it asks the
 * others, so that none waits for it in vain:
 *
 *   once in each call, before anything is captured or run, with the kind that
 *   this process would execute it as; with PHILOX_CALL_NONE if it cannot, since
 *   an argument is wrong for instance: then the call fails everywhere,
 *   PHILOX_ERROR_STATE in those that could
 *   after a recording was made, before it is launched: RECORD, or EAGER if it
 *   was refused or broke; NONE if the call fails for it
 *   before the body of a replay that is to be verified is run: REPLAY, or EAGER
 *   if it cannot be verified here, and then it is nowhere
 *   after it was compared: REPLAY, or EAGER if it differs, and then it is taken
 *   for different everywhere; NONE if the call fails for it
 *   before each body that is run to explain a difference: REPLAY, or EAGER if
 *   it cannot be run here, or the replay was not verified, and then no further
 *   one is run anywhere; NONE if the call fails for it
 *
 * A call may thus be executed with more care than this process needed, and its
 * reason says so: one that it would have replayed is recorded again, or runs
 * the body. philox_function_prepare() asks in the same way for each call:
 * REPLAY for one that has a recording, RECORD for one that is to be recorded,
 * EAGER for one that is passed over; then all processes do so. An error that
 * agree() returns is the call's, which fails. A process that died, or a
 * transport that failed, should make it return one: PHILOX_ERROR_DEVICE. An
 * answer that is above what was asked with, or no kind, is
 * PHILOX_ERROR_INVALID.
 *
 * All processes call the function with the same policy, in which `dry` must be
 * 0, and the same number of times. They evict alike: by numbers of recordings,
 * not by bytes. The policy's `bytes` must be 0; instead, the function keeps 16
 * times as many recordings as a key at most.
 *
 * What a launch would be refused for, such as a ticket that is used up, is
 * found before the question. What fails after the last one, in a body that is
 * run or on the device, is not shared. The question
 * is not asked if there is no call of the function: the runner is in use, or
 * belongs to the process that this one was forked from, or the function was
 * destroyed.
 *
 * agree() is called on the thread of the call, which is in the runner: as from
 * a body, calls there give PHILOX_ERROR_BUSY. The body draws, allocates and
 * runs collectives as any other.
 */
struct philox_function_desc {
	size_t size;      /* sizeof(this struct) */
	const char *name; /* unique in the runner; copied; at most 63 bytes */
	uint32_t mode;    /* enum philox_function_mode */
	uint32_t flags;   /* enum philox_function_flags */
	enum philox_status (*body)(void *user, struct philox_run *run);
	void *user;
	const struct philox_input_desc *inputs;
	size_t n_inputs; /* at most 2^20, as the next two */
	const struct philox_output_desc *outputs;
	size_t n_outputs;
	const struct philox_param_desc *params;
	size_t n_params;
	struct philox_policy policy; /* all 0: as said there */
	enum philox_status (*agree)(void *user, uint32_t wanted,
				    uint32_t *agreed);
};

/*
 * Create a function of a runner.
 *
 *   runner     the runner
 *   options    describes the function; copied, strings and arrays too
 *   function   written: the function; its runner destroys it at the latest
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   names the field, or the input, output or parameter
 *   PHILOX_ERROR_EXISTS    the runner has a function of that name
 *   PHILOX_ERROR_BUSY      a thread is in the runner
 *   PHILOX_ERROR_MEMORY
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_function_create(
	struct philox_runner *runner,
	const struct philox_function_desc *options,
	struct philox_function **function);

/*
 * Destroy a function with its recordings.
 *
 *   function   the function, whose launches have finished; NULL is allowed
 *
 * Its outputs stay until they are released.
 *
 * Returns PHILOX_OK, or an error; then the function is as it was.
 * Errors:
 *   PHILOX_ERROR_BUSY     a thread is in the runner
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_function_destroy(
	struct philox_function *function);

/*
 * Return the name of a function.
 *
 *   function   the function, which the name belongs to; NULL: ""
 *
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API const char *philox_function_name(
	const struct philox_function *function);

/* --- calls ---------------------------------------------------------------- */

/*
 * The handle of an output: plain data. The caller may read and write its memory
 * until it is released.
 */
struct philox_output {
	void *address;
	size_t bytes;
	uint64_t id;         /* of the block (philox/pool.h): two outputs of one
				id share memory. Of memory that is not the
				pool's: the id that the call gave its input */
	uint64_t generation; /* counts the handles given out with this index */
	uint32_t index;      /* the runner's number for it */
	uint32_t reserved;
};

/*
 * An input of a call. An address in the runner's pool is looked up if it has no
 * handle. In the block of an output that is not released, the input is as with
 * that output's handle. Other memory of the pool is refused, and so is a range
 * that leaves its block. A stale pointer whose place was handed out again is
 * taken for the new output. Only a handle tells them apart.
 */
struct philox_call_input {
	void *address;
	size_t bytes; /* the same in all calls under a key */
	const struct philox_output *output; /* the handle of the output that
					       it is in; NULL: looked up */
	uint64_t id; /* of memory that is not the pool's: a number of the
			caller's, or 0 */
};

struct philox_call_param {
	const void *data;
	size_t bytes; /* as the descriptor says */
};

/* How a call was executed. */
enum philox_call_kind {
	PHILOX_CALL_NONE = 0, /* none has succeeded */
	PHILOX_CALL_EAGER = 1,
	PHILOX_CALL_WARMUP = 2, /* eager, before a recording */
	PHILOX_CALL_RECORD = 3, /* recorded, and launched once */
	PHILOX_CALL_REPLAY = 4
};

/*
 * One call of a function. Begin with PHILOX_INIT(). `passes` has an entry for
 * each forward of the body, and for each backward that is named at launch, in
 * order of begin: tickets of forwards are written, those of backwards read
 * (struct philox_launch_pass). `outputs` is written; if it is NULL and
 * n_outputs is 0, the outputs are released at once.
 *
 * The label is a key in words, for messages, reasons, the log, snapshots, plans
 * and `philox explain`. The first call of a key that gives one sets it, or a
 * plan that is loaded and has one. A later call may give none. If it gives
 * another one, the key keeps its own, and a message ("label") says so, once for
 * a key.
 */
struct philox_call {
	size_t size; /* sizeof(this struct) */
	philox_stream stream;
	const void *key;  /* bytes; compared, and copied */
	size_t key_bytes; /* at most 4096 */
	const struct philox_call_input *inputs;
	size_t n_inputs;
	const struct philox_call_param *params;
	size_t n_params;
	struct philox_launch_pass *passes;
	size_t n_passes;
	struct philox_output *outputs;
	size_t n_outputs;
	uint32_t kind;     /* written: enum philox_call_kind */
	uint32_t reserved; /* 0 */
	const char *label; /* of the key; copied; at most 63 bytes; NULL, "":
			      none */
};

/*
 * Call a function: run its body, record it, or replay a recording.
 *
 *   function   the function
 *   call       read: stream, key, inputs, params and backwards' tickets.
 *              Written: forwards' tickets, outputs and kind
 *
 * A call of any kind consumes exactly the numbers of one run of the body. The
 * body runs once in an eager call, a warm-up and a recording, and not in a
 * replay. It runs twice if a recording fails and an eager call follows. Serials
 * of tickets may depend on the kind: a forward that a backward of its own body
 * uses up has a serial only where the body runs.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID    names the field, input or parameter, also one of
 *                           another size than in earlier calls under the key;
 *                           `passes` has too few or too many entries;
 *                           an input without a handle is in memory of the pool
 *                           that holds no output, or leaves its block
 *   PHILOX_ERROR_STALE      an input's handle was released; an input without a
 *                           handle is in an output that was released
 *   PHILOX_ERROR_MISMATCH   the body differs from earlier calls under the key,
 *                           and the message names the first difference; an
 *                           input that is FIXED has moved
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                           the stream is capturing
 *   PHILOX_ERROR_BUSY       a thread is in the runner
 *   what the body returned
 *   PHILOX_ERROR_STATE      the body left a pass open or an output undeclared;
 *                           other processes cannot make the call
 *   those of philox_graph_launch()
 *   PHILOX_ERROR_UNSUPPORTED, PHILOX_ERROR_CAPTURE_*
 *                           the body refused or broke its capture, and the
 *                           policy has PHILOX_REFUSED_ERROR
 *   PHILOX_ERROR_DIFFERS    a verified replay differs from the body, and the
 *                           policy has PHILOX_DIFFERS_ERROR: mutated inputs and
 *                           tables of rows are put back; the numbers of its
 *                           forwards are burnt
 *   what agree() returned
 *   PHILOX_ERROR_MEMORY, PHILOX_ERROR_LIMIT
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_function_call(
	struct philox_function *function, struct philox_call *call);

/*
 * Record calls of a function before they are made.
 *
 *   function   the function
 *   calls      the calls, all of one `size`, in the order of recording: largest
 *              first, so that smaller ones find room in the memory of the
 *              largest. `kind` is written: PHILOX_CALL_RECORD, or
 *              PHILOX_CALL_NONE for a call that has a recording already or
 *              cannot be recorded
 *   n_calls    how many
 *   prepared   written: how many of the calls have a recording now; NULL is
 *              allowed
 *
 * Nothing is launched, no number is consumed and no ticket is read. Of `passes`
 * only n_passes counts, and `passes` may be NULL. `outputs` may be NULL.
 * Parameters begin with the values that the call gives. Only dry warm-ups
 * (`dry` of the policy) warm up a key for it; once it is recorded, no call
 * does.
 *
 * Returns PHILOX_OK, or the error of the first call that fails; the calls
 * before it are prepared.
 * Errors: those of philox_function_call()
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_function_prepare(
	struct philox_function *function, struct philox_call *calls,
	size_t n_calls, size_t *prepared);

/*
 * Counts of a function's calls since it was created. Times are the host's,
 * monotonic, in nanoseconds; work of the device that nobody waits for is in
 * none of them.
 */
struct philox_function_stats {
	size_t size;    /* sizeof(this struct), set by the caller and kept */
	uint64_t eager; /* calls, by kind */
	uint64_t warmup;
	uint64_t record;
	uint64_t replay;
	uint64_t failed;
	uint64_t bodies;   /* runs of the body */
	uint64_t dry;      /* of them, dry warm-ups */
	uint64_t checking; /* of them, to verify replays */
	uint64_t prepared; /* recordings by philox_function_prepare() */
	/* why calls after a key's warm-ups were not replayed */
	uint64_t missed_new;     /* nothing is recorded: not yet, or it was
				    dropped */
	uint64_t missed_moved;   /* static inputs are elsewhere */
	uint64_t missed_live;    /* outputs are in its memory */
	uint64_t missed_stale;   /* a region of its recording was destroyed */
	uint64_t missed_evicted; /* their recording was evicted */
	uint64_t missed_bound;   /* of moved, live and evicted: the body was
				    run, since the key only wastes recordings */
	uint64_t missed_refused; /* the body refused, or broke its capture */
	uint64_t missed_eager;   /* PHILOX_FUNCTION_EAGER, PHILOX_RUNNER */
	uint64_t missed_agreed;  /* other processes needed more care */
	uint64_t verified;       /* replays that were compared */
	uint64_t differed;       /* of them, those that differed */
	uint64_t unverified;     /* replays that could not be compared */
	uint64_t keys;           /* there are */
	uint64_t keys_dropped;   /* for `keys` of the policy */
	uint64_t recordings;     /* there are */
	uint64_t unplayed;       /* of them, never replayed, nor prepared */
	uint64_t evicted;        /* for `recordings` and `bytes` */
	uint64_t bytes;  /* that they take on the host and on the device, as far
			    as philox took it: a driver has more for each graph;
			    with pool_bytes */
	uint64_t pool_bytes; /* of extents of the pool that one recording alone
				writes, which is this function's: its end would
				free them */
	uint64_t copies; /* inputs copied, back too */
	/* spent so far, by what */
	uint64_t create_ns;      /* making the function */
	uint64_t dry_ns;         /* dry warm-ups */
	uint64_t eager_ns;       /* eager calls */
	uint64_t warmup_ns;      /* warm-ups */
	uint64_t record_ns;      /* bodies while they are captured */
	uint64_t instantiate_ns; /* making graphs of captures */
	uint64_t checkpoint_ns;  /* keeping what the pool was */
	uint64_t restore_ns;     /* putting the pool back, in whatever call */
	uint64_t first_ns;       /* first launches */
	uint64_t replay_ns;      /* replays, with their verification */
	uint64_t verify_ns;      /* of that, verification, the device too */
	uint64_t device_ns;      /* launches as the device timed them, with their
				    copies; 0 without PHILOX_RUNNER_TIMES */
	uint64_t device_launches; /* that were timed, as far as it is known */
	uint64_t nested;         /* of `bodies`, those within the body of
				    another call: philox_run_call() */
};

/*
 * Write the statistics of a function.
 *
 *   function   the function
 *   stats      written; its size is set by the caller
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL; the size cannot be
 *   PHILOX_ERROR_BUSY      a thread is in the runner
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_function_get_stats(
	struct philox_function *function, struct philox_function_stats *stats);

/*
 * Return in words why the last call that ran the body did so.
 *
 *   function   the function, which the text belongs to until its next call; ""
 *              if no call ran the body
 *
 * For memory that is in use the text names an output, its function and the call
 * that handed it out. For inputs that moved it names some, and counts the rest;
 * the log ("moved") has all of them, for each recording that is made for it.
 * Where an option would change what was done, the text names that: of an input,
 * or of the policy of the function.
 *
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API const char *philox_function_reason(
	const struct philox_function *function);

/* --- programs ------------------------------------------------------------- */

/* Which recordings of a function are explained. Begin with PHILOX_INIT(). */
struct philox_explain_desc {
	size_t size;        /* sizeof(this struct) */
	const void *key;    /* of this key only; NULL: of any */
	size_t key_bytes;   /* of `key`; 0 with a key: the key without bytes */
	uint64_t recording; /* this one only, by its number; 0: any */
	uint32_t flags;     /* enum philox_explain_flags */
	uint32_t reserved;  /* 0 */
};

/*
 * Write what was recorded of a function as programs that people can read.
 *
 *   function   the function
 *   options    which of its recordings; NULL: all
 *   text       written: the text, which ends with a NUL; free it with free()
 *   bytes      written: its size without the NUL; NULL is allowed
 *
 * A program has a line for each input, and for each step in its order: passes,
 * draws with dtype, span, parameters and operator, states that are handed out,
 * launch parameters, allocations with their place in the pool, frees and
 * outputs. Then come the nodes of the graph by kind, replays, and outputs that
 * are alive, with the tickets that they are tied to. Nodes in the body of a
 * conditional node are at the body's end. Last are pending tickets that
 * launches of the recording gave out, with what they keep, as
 * philox_ticket_kept() lists it. If no key or recording is chosen, those that
 * other calls of the function gave out follow the last key. Of a key without a
 * recording the text says why there is none. The program of a recording keeps
 * 16384 steps of each part at most, and counts the rest. `philox explain`
 * prints the same of a snapshot, and compares two. Its form is in Note
 * [Program] in graph/runner/explain/explain.h. Equal runs have equal texts, but
 * for times.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID     an argument is NULL; names the option
 *   PHILOX_ERROR_NOT_FOUND   the function has no such key or recording
 *   PHILOX_ERROR_BUSY        a thread is in the runner
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_function_explain_text(
	struct philox_function *function,
	const struct philox_explain_desc *options, char **text, size_t *bytes);

/* --- outputs -------------------------------------------------------------- */

/*
 * The caller releases an output, or its ticket or its step does.
 */

/*
 * Release an output: its memory may be used again after work that is on a
 * stream now.
 *
 *   runner     the runner
 *   stream     the stream of the work; not capturing
 *   output     the handle
 *
 * The memory is free when the last output that shares it is released. To
 * "host:strict" it is unknown then, and with PHILOX_POOL_FILL it is filled: see
 * "Use after free" in philox/pool.h. For an output that is released within a
 * call, or with its ticket, that happens when the next call of the runner
 * begins.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   not a handle of the runner
 *   PHILOX_ERROR_STALE     the handle was released
 *   PHILOX_ERROR_BUSY      another thread is in the runner
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                          the stream is capturing
 *   those of the device
 * During capture: not legal on a thread that is capturing, but for releases of
 * saved contexts that a call makes.
 * Threads: the one that is in the runner, if any; else one at a time.
 */
PHILOX_API enum philox_status philox_output_release(
	struct philox_runner *runner, philox_stream stream,
	const struct philox_output *output);

/*
 * Check whether the handle of an output is still good.
 *
 *   runner     the runner
 *   output     the handle
 *
 * Returns PHILOX_OK if it is, or an error. For a handle that was released the
 * message names the function, the output, its origin and, if the memory was
 * handed out again, the call that overwrote it.
 * Errors:
 *   PHILOX_ERROR_INVALID   not a handle of the runner
 *   PHILOX_ERROR_STALE     the handle was released
 *   PHILOX_ERROR_BUSY      another thread is in the runner
 * During capture: not legal on a thread that is capturing, but for releases of
 * saved contexts that a call makes.
 * Threads: the one that is in the runner, if any; else one at a time.
 */
PHILOX_API enum philox_status philox_output_check(
	struct philox_runner *runner, const struct philox_output *output);

/*
 * Tie an output to a pending ticket, with which it is released.
 *
 *   runner     the runner
 *   output     the handle; tied to one ticket at most
 *   region     the ticket's region, of the runner's context
 *   ticket     a pending ticket; many outputs of several runners may be tied to
 *              it
 *
 * The output is released once, when the ticket is used up or released in any
 * way, after the work on the stream on which this is done. A backward that
 * retains the ticket keeps the output. What is attached to the ticket
 * (philox_ticket_attach()) is not touched. An output that is released otherwise
 * is no longer tied.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   not a handle of the runner
 *   PHILOX_ERROR_STALE     the handle was released
 *   PHILOX_ERROR_BUSY      another thread is in the runner
 *   PHILOX_ERROR_EXISTS    the output is tied
 *   PHILOX_ERROR_RELEASED  the ticket was used up, released or never issued
 *   PHILOX_ERROR_MISMATCH  the ticket is of another region; the region is of
 *                          another context
 *   PHILOX_ERROR_STATE     the ticket's forward is open
 *   PHILOX_ERROR_MEMORY
 * During capture: not legal on a thread that is capturing, but for releases of
 * saved contexts that a call makes.
 * Threads: the one that is in the runner, if any; else one at a time.
 */
PHILOX_API enum philox_status philox_output_tie(
	struct philox_runner *runner, const struct philox_output *output,
	struct philox_region *region, struct philox_ticket ticket);

/*
 * Attach a pointer of the caller to an output.
 *
 *   runner     the runner
 *   output     the handle
 *   data       kept until the output is released; philox does not follow it
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   not a handle of the runner
 *   PHILOX_ERROR_STALE     the handle was released
 *   PHILOX_ERROR_BUSY      another thread is in the runner
 * During capture: not legal on a thread that is capturing, but for releases of
 * saved contexts that a call makes.
 * Threads: the one that is in the runner, if any; else one at a time.
 */
PHILOX_API enum philox_status philox_output_set_data(
	struct philox_runner *runner, const struct philox_output *output,
	void *data);

/*
 * Write the pointer that is attached to an output.
 *
 *   runner     the runner
 *   output     the handle
 *   data       written: NULL until philox_output_set_data() is called for it
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   not a handle of the runner
 *   PHILOX_ERROR_STALE     the handle was released
 *   PHILOX_ERROR_BUSY      another thread is in the runner
 * During capture: not legal on a thread that is capturing, but for releases of
 * saved contexts that a call makes.
 * Threads: the one that is in the runner, if any; else one at a time.
 */
PHILOX_API enum philox_status philox_output_get_data(
	struct philox_runner *runner, const struct philox_output *output,
	void **data);

/*
 * Write the ticket that an output is tied to.
 *
 *   runner     the runner
 *   output     the handle
 *   region     written: the ticket's region; NULL if the output is not tied
 *   ticket     written: the ticket; the zero ticket if the output is not tied
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   not a handle of the runner; an argument is NULL
 *   PHILOX_ERROR_STALE     the handle was released
 *   PHILOX_ERROR_BUSY      another thread is in the runner
 * During capture: not legal on a thread that is capturing, but for releases of
 * saved contexts that a call makes.
 * Threads: the one that is in the runner, if any; else one at a time.
 */
PHILOX_API enum philox_status philox_output_get_tie(
	struct philox_runner *runner, const struct philox_output *output,
	struct philox_region **region, struct philox_ticket *ticket);

/*
 * Give an output a label, by which philox_outputs_find() finds it.
 *
 *   runner     the runner
 *   output     the handle
 *   label      the caller's name for this output, which several may share:
 *              copied, at most 63 bytes, without control characters; NULL: ""
 *
 * An output that is handed out has no label: "".
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   not a handle of the runner; the label is too long or
 *                          has a control character
 *   PHILOX_ERROR_STALE     the handle was released
 *   PHILOX_ERROR_BUSY      another thread is in the runner
 * During capture: not legal on a thread that is capturing, but for releases of
 * saved contexts that a call makes.
 * Threads: the one that is in the runner, if any; else one at a time.
 */
PHILOX_API enum philox_status philox_output_set_label(
	struct philox_runner *runner, const struct philox_output *output,
	const char *label);

/*
 * Find an output that is not released, by name.
 *
 *   runner     the runner
 *   function   the name of its function
 *   output     its name there
 *   label      its label; "": of those without a label; NULL: any label
 *   index      which of these, from 0, in the order in which they were handed
 *              out
 *   found      written: its handle
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID     an argument is NULL
 *   PHILOX_ERROR_NOT_FOUND   there are not so many
 *   PHILOX_ERROR_BUSY        a thread is in the runner
 *   PHILOX_ERROR_MEMORY
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_outputs_find(
	struct philox_runner *runner, const char *function, const char *output,
	const char *label, size_t index, struct philox_output *found);

/* For philox_runner_step_begin(). */
enum philox_step_flags {
	PHILOX_STEP_RELEASE_ALL =
		1 /* also outputs that a backward may still need */
};

/*
 * Begin a step: release the outputs of earlier calls.
 *
 *   runner     the runner
 *   stream     the outputs' memory may be used again after its work so far; not
 *              capturing
 *   flags      of enum philox_step_flags
 *   kept       written: how many outputs stay; NULL is allowed
 *
 * Calls that read each other's outputs, by handle, are a path. A path continues
 * while a ticket that it gave out, or that one of its outputs was tied to, is
 * owed a backward. The outputs of all its calls then stay until a later
 * philox_runner_step_begin() finds the last of these tickets used up. A message
 * ("step", PHILOX_LOG_INFO) names one output that stays and a ticket that keeps
 * it. With PHILOX_STEP_RELEASE_ALL no output stays.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   the flags
 *   PHILOX_ERROR_BUSY      a thread is in the runner
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                          the stream is capturing
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_runner_step_begin(
	struct philox_runner *runner, philox_stream stream, unsigned flags,
	size_t *kept);

/* --- bodies --------------------------------------------------------------- */

/*
 * A body calls the functions below on its thread until it returns, with the run
 * that it was called with. They are legal during the capture that the body may
 * be in. That capture is of mode THREAD_LOCAL, so the body keeps the rules of
 * captures: it waits for nothing, and takes memory from the run. A body returns
 * PHILOX_OK or an error. If one of these functions failed, the call fails even
 * if the body returns PHILOX_OK.
 *
 * Under one key the body does the same each time: the same passes with the same
 * flags, memory of the same sizes, the same outputs and parameters, in the same
 * order. PHILOX_ERROR_MISMATCH names the first difference.
 *
 * The eager form of philox_graph_launch_verified() is called with a run, too.
 * There philox_run_input() gives the arrays of the launch, each with what it
 * holds before the launch. Passes begin in the graph's order, with the numbers
 * of the launch and the flags and tickets that the capture was given. Tickets
 * of earlier passes are those that the form got. Such passes change no ledger.
 * What only bodies have is PHILOX_ERROR_UNSUPPORTED in an eager form: memory,
 * parameters, outputs, calls, refusals, further warm-ups.
 *
 * On the thread of a body or an eager form all passes begin with its run.
 * philox_forward_begin(), philox_forward_begin_loop() and
 * philox_backward_begin() are PHILOX_ERROR_STATE there, on every stream.
 */

/*
 * Return the stream for the work of a run.
 *
 *   run        the run; NULL: NULL
 *
 * During capture: legal in the one that the body is in.
 * Threads: the body's, until it returns.
 */
PHILOX_API philox_stream philox_run_stream(const struct philox_run *run);

/*
 * Return how a call is executed: EAGER, WARMUP or RECORD, for messages.
 *
 *   run        the run; of an eager form, and while a replay is verified: EAGER
 *
 * A body that does something else for it is refused.
 *
 * During capture: legal in the one that the body is in.
 * Threads: the body's, until it returns.
 */
PHILOX_API enum philox_call_kind philox_run_kind(const struct philox_run *run);

/*
 * Write where an input is.
 *
 *   run        the run
 *   index      of the function's inputs, or of the launch's arrays
 *   address    written: aligned as the input's descriptor says
 *   bytes      written: its size; NULL is allowed
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   run or address is NULL; no such input
 *   PHILOX_ERROR_STATE     the run has ended, or is of another thread
 * During capture: legal in the one that the body is in.
 * Threads: the body's, until it returns.
 */
PHILOX_API enum philox_status philox_run_input(struct philox_run *run,
					       size_t index, void **address,
					       size_t *bytes);

/*
 * Write the device address of the 16 bytes that hold a launch parameter.
 *
 *   run        the run
 *   index      of the function's parameters
 *   address    written: a cell of the call in an eager call; one of the graph,
 *              which each launch sets, in a recording (philox/graph.h)
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   run or address is NULL; no such parameter
 *   PHILOX_ERROR_STATE     the run has ended, or is of another thread
 *   those of philox_capture_param() and philox_param_write()
 * During capture: legal in the one that the body is in.
 * Threads: the body's, until it returns.
 */
PHILOX_API enum philox_status philox_run_param(struct philox_run *run,
					       size_t index,
					       const void **address);

/*
 * Allocate memory of the runner's pool on the run's stream.
 *
 *   run        the run
 *   bytes      as for philox_pool_alloc(), and so are the next two
 *   alignment
 *   tag
 *   address    written: the memory. It is free when the body returns, unless it
 *              is declared as an output
 *
 * Returns PHILOX_OK, or an error; then nothing is allocated.
 * Errors:
 *   PHILOX_ERROR_INVALID   run or address is NULL
 *   PHILOX_ERROR_STATE     the run has ended, or is of another thread
 *   those of philox_pool_alloc()
 * During capture: legal in the one that the body is in.
 * Threads: the body's, until it returns.
 */
PHILOX_API enum philox_status philox_run_alloc(struct philox_run *run,
					       size_t bytes, size_t alignment,
					       const char *tag, void **address);

/*
 * Free memory for what the body allocates later on the run's stream.
 *
 *   run        the run
 *   address    what philox_run_alloc() gave in this run; NULL is allowed
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   the memory is not of this run, or is an output
 *   PHILOX_ERROR_STATE     the run has ended, or is of another thread
 *   those of philox_pool_free()
 * During capture: legal in the one that the body is in.
 * Threads: the body's, until it returns.
 */
PHILOX_API enum philox_status philox_run_free(struct philox_run *run,
					      void *address);

/*
 * Declare an output, each of them once.
 *
 *   run        the run
 *   index      of the function's outputs
 *   address    in memory of this run, or in a static input
 *   bytes      its size; it ends within that memory
 *
 * Ids of the pool's blocks tell whether it shares memory with another output,
 * or with an input that is in an output of the runner. Shared memory is freed
 * once, after the last handle.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   no such output; other memory; in an input that is or
 *                          may be copied; beyond the end
 *   PHILOX_ERROR_EXISTS    it was declared
 *   PHILOX_ERROR_STATE     the run has ended, or is of another thread
 * During capture: legal in the one that the body is in.
 * Threads: the body's, until it returns.
 */
PHILOX_API enum philox_status philox_run_output(struct philox_run *run,
						size_t index, void *address,
						size_t bytes);

/*
 * Begin a forward on the run's stream.
 *
 *   run        the run
 *   region     the operator's region, of the runner's context
 *   flags      as for philox_forward_begin(), without PHILOX_PASS_WARMUP
 *   pass       written: the pass, open; draw with it, and commit or abort it,
 *              before the body returns
 *
 * It takes the next entry of the call's `passes`. The runner ends a pass that
 * is open when the body returns, as an aborted one. To end it later is
 * PHILOX_ERROR_STATE and changes nothing, except that a recorded pass may be
 * aborted.
 *
 * Returns PHILOX_OK, or an error; then no pass is open.
 * Errors:
 *   PHILOX_ERROR_INVALID    `passes` has no further entry; the flags
 *   PHILOX_ERROR_MISMATCH   the region is of another context; the body differs
 *                           from earlier calls under the key; in an eager form,
 *                           the graph's next pass is another one
 *   PHILOX_ERROR_STATE      the run has ended, or is of another thread
 *   those of philox_forward_begin()
 * During capture: legal in the one that the body is in.
 * Threads: the body's, until it returns.
 */
PHILOX_API enum philox_status philox_run_forward_begin(
	struct philox_run *run, struct philox_region *region, unsigned flags,
	struct philox_pass *pass);

/*
 * Begin a backward on the run's stream.
 *
 *   run        the run
 *   region     the operator's region, of the runner's context
 *   ticket     the zero ticket: the next entry of `passes` is taken, and its
 *              ticket repeated. A ticket that philox_pass_commit() or
 *              philox_pass_ticket() gave for an earlier pass of this body: that
 *              pass is repeated, and no entry is taken. In a recording such a
 *              ticket is a placeholder, which the body need not know
 *   flags      as for philox_backward_begin(), without PHILOX_PASS_WARMUP
 *   pass       as for philox_run_forward_begin()
 *
 * Its ticket is used up when the body has succeeded.
 *
 * Returns PHILOX_OK, or an error; then no pass is open.
 * Errors:
 *   PHILOX_ERROR_RELEASED   an earlier backward of this body uses the ticket up
 *   PHILOX_ERROR_MISMATCH   the ticket is not that of an earlier pass, or that
 *                           of two, since two passes name it
 *   those of philox_run_forward_begin() and philox_backward_begin()
 * During capture: legal in the one that the body is in.
 * Threads: the body's, until it returns.
 */
PHILOX_API enum philox_status philox_run_backward_begin(
	struct philox_run *run, struct philox_region *region,
	struct philox_ticket ticket, unsigned flags, struct philox_pass *pass);

/*
 * Refuse to be recorded: what the body does now cannot be captured.
 *
 *   run        the run
 *   reason     why, for messages: copied, at most 255 bytes; NULL: ""
 *
 * In a recording the body then returns, with any status, and the call runs it
 * eagerly or fails (PHILOX_REFUSED_ERROR). In other kinds of call it continues.
 * Either way the key is not recorded for as many calls as the policy says.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   run is NULL
 *   PHILOX_ERROR_STATE     the run has ended, or is of another thread
 * During capture: legal in the one that the body is in.
 * Threads: the body's, until it returns.
 */
PHILOX_API enum philox_status philox_run_refuse(struct philox_run *run,
						const char *reason);

/*
 * Ask for one more warm-up after this one.
 *
 *   run        the run
 *
 * For a body that is not yet as it will be, such as an autotuner. What it did
 * now is not compared with what it does later. A call has at most 1000 dry
 * warm-ups (PHILOX_ERROR_LIMIT).
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   run is NULL
 *   PHILOX_ERROR_STATE     this is a recording; the run has ended, or is of
 *                          another thread
 * During capture: legal in the one that the body is in.
 * Threads: the body's, until it returns.
 */
PHILOX_API enum philox_status philox_run_again(struct philox_run *run);

/* --- functions within bodies ---------------------------------------------- */

/*
 * A body may call a function of the same runner. That function's body then runs
 * in the caller's run: on its thread and stream, in its memory, and in its
 * capture if the run is recorded. So one call, one recording and one verified
 * replay cover both, and all of them draw the numbers of a body that has the
 * same lines in place:
 *
 *   struct philox_nested_call call = PHILOX_INIT(struct philox_nested_call);
 *   struct philox_nested_array x = {h, bytes}, y;
 *
 *   call.inputs = &x;
 *   call.n_inputs = 1;
 *   call.outputs = &y;
 *   call.n_outputs = 1;
 *   philox_run_call(run, block, &call);
 *   ... y.address ...
 *
 * Only this function calls from a body: philox_function_call() there gives
 * PHILOX_ERROR_BUSY.
 *
 * The called function needs no key, since the caller's key identifies what both
 * do. Its policy, keys and recordings take no part, and `agree` is not asked.
 * What its body does is a part of what the caller's body does under its key.
 *
 * Passes. Each forward of the called body, and each backward of it with the
 * zero ticket, takes the next entry of the caller's `passes`, in order of
 * begin, as if the caller had begun it. A caller that needs these tickets, or
 * gives its own, lists the passes in struct philox_nested_call.
 */

/* An input or an output of a function that a body calls. */
struct philox_nested_array {
	void *address;
	size_t bytes;
};

/*
 * A call of a function by a body. Begin with PHILOX_INIT().
 *
 * Inputs are in memory that the caller's body took, or in its inputs. One that
 * the function mutates is in such memory, or in an input that the caller
 * mutates, too. They are read where they are, whatever their kind, but for an
 * address that is not aligned as the descriptor says: that one is copied, and
 * copied back with WRITE_BACK.
 *
 * A parameter is the device address of its bytes: what philox_run_param() gave
 * the caller for one of the same size, or 16 bytes in such memory or in an
 * input, for a value that the caller makes or keeps constant.
 *
 * `passes` is NULL, or has an entry for each forward of the function's body and
 * for each backward with the zero ticket, in order of begin. A forward's ticket
 * is written. It is good in the caller's body, as philox_pass_commit() gives
 * it: in a recording it is a placeholder. It is the zero ticket for a forward
 * of an inference and for one that a backward of the called body used up. A
 * backward's ticket is read: one of an earlier pass of the caller's body, which
 * is then repeated and takes no entry of the caller; or the zero ticket, for
 * the caller's next entry. PHILOX_PASS_RETAIN retains a backward's ticket.
 *
 * `outputs` is written. Their memory is the caller's, as if the caller had
 * allocated it, without a handle of their own. If `outputs` is NULL and
 * n_outputs is 0, outputs are free when the function returns, as is all other
 * memory that its body allocated.
 */
struct philox_nested_call {
	size_t size; /* sizeof(this struct) */
	const struct philox_nested_array *inputs;
	size_t n_inputs;
	const void *const *params;
	size_t n_params;
	struct philox_launch_pass *passes;
	size_t n_passes;
	struct philox_nested_array *outputs;
	size_t n_outputs;
};

/*
 * Call a function from a body: run its body within this run.
 *
 *   run        the run of the caller's body. The called body gets the same one,
 *              which gives it its own inputs, parameters and outputs
 *   function   a function of the same runner; it may be the caller's own.
 *              Bodies are at most 64 calls deep
 *   call       read: inputs, parameters and backwards' tickets. Written:
 *              forwards' tickets and outputs
 *
 * The called body has ended its passes and declared its outputs when it
 * returns. If it fails, the caller's call fails with that error, whatever the
 * caller's body returns. If it refuses to be recorded, or asks for a further
 * warm-up, the caller does. So does a caller of a PHILOX_FUNCTION_EAGER
 * function. If a called function is destroyed, the recordings of its callers
 * are dropped, and their keys begin with a warm-up again.
 *
 * Returns PHILOX_OK, or an error; then nothing is written, and the run has
 * failed.
 * Errors:
 *   PHILOX_ERROR_INVALID     names the field, input or parameter; `passes` has
 *                            too few or too many entries; the function is
 *                            PHILOX_FUNCTION_COLLECTIVE, and the caller is not
 *   PHILOX_ERROR_MISMATCH    a function of another runner; the body differs
 *                            from earlier calls under the key
 *   PHILOX_ERROR_STALE       the function was destroyed
 *   PHILOX_ERROR_LIMIT       too many bodies deep
 *   PHILOX_ERROR_UNSUPPORTED this is a recording, and the function is
 *                            PHILOX_FUNCTION_EAGER or refused to be recorded;
 *                            this is an eager form
 *   PHILOX_ERROR_STATE       the body left a pass open or an output undeclared;
 *                            the run has ended, or is of another thread
 *   what the body returned
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: legal in the one that the body is in.
 * Threads: the body's, until it returns.
 */
PHILOX_API enum philox_status philox_run_call(struct philox_run *run,
					      struct philox_function *function,
					      struct philox_nested_call *call);

/* --- plans ---------------------------------------------------------------- */

/*
 * A runner learns while it is used: its keys and their labels, what the body
 * does under each, which inputs are copied, which bodies refuse to be recorded
 * and why, how much memory it takes. A plan is all of that as a text. Load it
 * into a runner of a new process that has made the same functions. That runner
 * then decides, call by call, as the saved one would have continued:
 *
 *   philox_context_save(context, "step-1000.philox");
 *   philox_plan_save(runner, "step-1000.plan");
 *   ... in a new process, after the same functions were made ...
 *   philox_context_load(context, "step-1000.philox");
 *   philox_plan_load(runner, "step-1000.plan");
 *
 * A plan has no graphs, no addresses and no number of a device. Recordings are
 * made again when their calls come. A call that would have been replayed first
 * runs the body, which libraries need in a new process: as a dry warm-up if the
 * policy has those, else as a warm-up, or not at all if it has neither. The
 * next one is recorded, later ones are replayed. A key that runs its body
 * anyway needs no warm-up for that.
 *
 * A plan does not know which addresses the recordings of a key had. So as many
 * recordings as a key had are made whatever the key wastes, and whatever is
 * FIXED: those that come first. They count as those of the plan did, first as
 * ones that were replayed, until the key is forgotten or its recordings would
 * be of no use. The runner forgets three things: replays that were counted
 * towards `verify`, where inputs were, and which recordings were evicted. The
 * first call of a key moves no input. Outputs that were not released are not
 * in a plan: philox_outputs_save() writes these.
 *
 * Reasons are kept: a key whose body refused to be recorded waits for as many
 * calls as it would have. A backward whose forward was not recorded is not
 * recorded either, if its ticket is still pending (philox/save.h). The bounds
 * of the policy count as if all recordings of the plan were there.
 *
 * A plan of version 1 is read. Its policy had other fields: `limit` becomes
 * `recordings`, and the default the default; `moved error` becomes FIXED of all
 * inputs that are not copied; `live` and `moved` need none. A plan with `after`
 * or `again` is refused: nothing is like them.
 *
 * A load also takes from the device the memory that the pool had at its peak,
 * so that no recording has to. If the device has less, a message ("plan") says
 * so, and the pool grows when it must.
 *
 * The text is plain ASCII with a version, a line for each thing and a checksum;
 * the same contents have one spelling. Its form is in Note [Plan] in
 * graph/runner/plan/plan.h. `philox inspect` sums one up, `philox diff`
 * compares two.
 */

/*
 * Write the plan of a runner as a text.
 *
 *   runner     the runner
 *   text       written: the text, which ends with a NUL; free it with free()
 *   bytes      written: its size without the NUL; NULL is allowed
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_BUSY      a thread is in the runner
 *   PHILOX_ERROR_MEMORY
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_plan_save_text(
	struct philox_runner *runner, char **text, size_t *bytes);

/*
 * Write the plan of a runner to a file, completely or not at all.
 *
 *   runner     the runner
 *   path       the file, which is replaced as philox_context_save() does it; a
 *              new one has the mode that the umask leaves
 *
 * Returns PHILOX_OK, or an error; then the file is as it was.
 * Errors:
 *   PHILOX_ERROR_FILE   the file cannot be written
 *   those of philox_plan_save_text()
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_plan_save(struct philox_runner *runner,
					       const char *path);

/*
 * Load a plan into a runner of which no function was called or prepared.
 *
 *   runner     the runner
 *   text       the plan
 *   bytes      its size; a NUL at its end is not counted
 *
 * The runner must have each function of the plan, described as it was: mode,
 * flags, inputs, outputs, parameters and policy, but for origins. Functions
 * that the plan does not have begin anew. A second plan replaces the first.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID       names the line of a text that is malformed, cut
 *                              or changed
 *   PHILOX_ERROR_UNSUPPORTED   a newer version of the format; a plan of another
 *                              version of the library; a field of version 1
 *                              that nothing is like, by name
 *   PHILOX_ERROR_MISMATCH      names the first function that is missing or
 *                              described otherwise
 *   PHILOX_ERROR_STATE         a function of the runner was called or prepared
 *   PHILOX_ERROR_BUSY          a thread is in the runner
 *   PHILOX_ERROR_MEMORY
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_plan_load_text(
	struct philox_runner *runner, const char *text, size_t bytes);

/*
 * Load a plan from a file.
 *
 *   runner     as for philox_plan_load_text()
 *   path       the file
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_FILE   the file cannot be read
 *   those of philox_plan_load_text()
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_plan_load(struct philox_runner *runner,
					       const char *path);

/* --- saved outputs -------------------------------------------------------- */

/*
 * A run that stops between a forward and its backward has outputs that are not
 * released. They can be saved and loaded, so that the run resumes there:
 *
 *   philox_outputs_save(runner, stream, "step-1000.outputs");
 *   philox_context_save(context, "step-1000.philox");
 *   philox_plan_save(runner, "step-1000.plan");
 *   ... in a new process, after the same regions and functions were made ...
 *   philox_context_load(context, "step-1000.philox");
 *   philox_plan_load(runner, "step-1000.plan");
 *   philox_outputs_load(runner, stream, "step-1000.outputs");
 *   philox_outputs_find(runner, "layer", "y", "micro 2", 0, &output);
 *
 * A file has the bytes of each output with its function, its name, its label
 * and the ticket that it is tied to. It also has which outputs share memory,
 * and which tickets keep outputs of their path (philox_runner_step_begin()).
 * Pointers of the caller are not in it (philox_output_set_data()).
 *
 * An output can be in memory that is not the pool's: in a static input of the
 * caller's. The caller saves that memory. The file names such an output, and a
 * load does not hand it out.
 *
 * Outputs are saved first, and their context then. The text of the context then
 * has a digest of the file, so that files of different steps are refused. It
 * has the digest only if nothing happened in between: no call of the runner, no
 * release, tie or label, and no pass of the context. If something did, a
 * message ("outputs", PHILOX_LOG_WARNING) says so once. Nothing tells philox of
 * bytes that the caller writes to outputs in between.
 *
 * A plan may be loaded before the outputs or after them. Recordings are made
 * again, as of a new runner or of the plan. In the same process they may stay:
 * release all outputs, load the context, load the outputs.
 *
 * Texts of the ranks of a mesh (philox/mesh.h) name the outputs of each rank.
 * philox_context_load_ranks() keeps that in a mesh of the same shape. In
 * another mesh the outputs of a rank are no longer its shards, and are refused.
 *
 * The lines of a file are text, with a version and a checksum; bytes of outputs
 * follow them as they are. Files are for machines of one byte order and for the
 * same dtypes. Their form is in Note [Saved outputs] in
 * graph/runner/outputs/outputs.h. `philox inspect` sums one up, `philox diff`
 * compares two.
 */

/*
 * Write the outputs of a runner that are not released into memory, and wait for
 * a stream.
 *
 *   runner     the runner
 *   stream     the bytes are those that outputs have after its work so far and
 *              after all calls of the runner; not capturing
 *   text       written: the file, which ends with a NUL; free it with free()
 *   bytes      written: its size without the NUL; NULL is allowed
 *
 * The host needs memory for all bytes, up to three times.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_BUSY      a thread is in the runner
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                          the stream is capturing
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_outputs_save_text(
	struct philox_runner *runner, philox_stream stream, char **text,
	size_t *bytes);

/*
 * Write the outputs of a runner that are not released to a file, completely or
 * not at all, and wait for a stream.
 *
 *   runner     the runner
 *   stream     as for philox_outputs_save_text()
 *   path       the file, which is replaced as philox_context_save() does it
 *
 * Returns PHILOX_OK, or an error; then the file is as it was.
 * Errors:
 *   PHILOX_ERROR_FILE   the file cannot be written
 *   those of philox_outputs_save_text()
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_outputs_save(struct philox_runner *runner,
						  philox_stream stream,
						  const char *path);

/*
 * Load outputs into a runner that has none, and wait for a stream.
 *
 *   runner     the runner, of the same name; all of its outputs are released
 *   stream     the outputs may be used after its work so far; not capturing
 *   text       the file
 *   bytes      its size; a NUL at its end is not counted
 *
 * The context was loaded from a text that was saved with these outputs, and has
 * not changed since. The runner must have each function of the file, with
 * outputs of the same names and elements. The outputs then take memory of the
 * runner's pool. They are tied to their tickets, and philox_outputs_find()
 * hands out their handles. Handles of the saved run are not handles of this
 * one.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID       names the line of a file that is malformed, cut
 *                              or changed
 *   PHILOX_ERROR_UNSUPPORTED   a newer version of the format
 *   PHILOX_ERROR_MISMATCH      the context's text names other outputs or none;
 *                              names the runner, the function, the output or
 *                              the region that is missing or otherwise
 *   PHILOX_ERROR_STATE         the context was not loaded, or has changed
 *                              since; an output is not released
 *   PHILOX_ERROR_RELEASED      the ticket of a tie is not pending
 *   PHILOX_ERROR_BUSY          a thread is in the runner
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                              the stream is capturing
 *   PHILOX_ERROR_MEMORY, PHILOX_ERROR_LIMIT
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_outputs_load_text(
	struct philox_runner *runner, philox_stream stream, const char *text,
	size_t bytes);

/*
 * Load outputs from a file.
 *
 *   runner     as for philox_outputs_load_text()
 *   stream     as for philox_outputs_load_text()
 *   path       the file
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_FILE   the file cannot be read
 *   those of philox_outputs_load_text()
 * During capture: not legal on a thread that is capturing.
 * Threads: one at a time for a runner with its functions and outputs.
 */
PHILOX_API enum philox_status philox_outputs_load(struct philox_runner *runner,
						  philox_stream stream,
						  const char *path);

#ifdef __cplusplus
}
#endif
#endif
