/*
 * philox/runner.h - functions that are warmed up, recorded and replayed by
 * themselves
 *
 * philox_capture_begin() and philox_graph_launch() are for who knows when to
 * capture. A runner takes a function of yours, the body, and does it: the first
 * call of a function runs the body as it is, the next one captures it and
 * launches the graph, and calls after that launch the graph again. A call that
 * cannot be replayed, since its memory has moved for instance, is recorded
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
 *   call.inputs[0].address = x;                    for each step
 *   philox_function_call(function, &call);
 *   ... call.outputs[0].address, call.passes[0].ticket ...
 *   philox_output_release(runner, stream, &call.outputs[0]);
 *
 * What a call is for. One function has many recordings. The caller's key says
 * what a call is like: shapes, flags, whatever the body branches on. Under one
 * key the body does the same each time; nothing is guessed. Within a key each
 * set of addresses of static inputs has a recording of its own.
 *
 * Memory. The body takes memory by philox_run_alloc(), and in no other way,
 * from the runner's pool, which all recordings share. An output is a block of
 * it, which is the caller's until it is released: nothing is given that memory
 * meanwhile. A recording writes where its capture did, so it can be replayed
 * only while none of that memory holds an output that is not released; a call
 * for which that is not so runs the body instead, or is recorded beside those
 * outputs (`live` of the policy). So outputs are to be released as soon as they
 * are not needed, in whatever order: one by one, with a ticket that they are
 * tied to, or all of a step by philox_runner_step_begin().
 *
 * Transactions. A call that fails has changed nothing: tickets are used up only
 * when the body has succeeded, forwards of a body that failed later are
 * released (their numbers are burnt), memory is as it was, and a capture that
 * broke leaves the stream usable. What the body did to memory of the caller
 * stays done, and so do copies of inputs that were queued; a key that is new,
 * and a recording that was made, stay for later calls. A ticket that the body
 * uses up is pending until the body has succeeded.
 *
 * Streams. A call's work is all on the caller's stream, warm-ups included. The
 * legacy stream cannot capture: there the runner's own stream stands in for it
 * and is joined by events, before and after. Calls on different streams wait
 * for each other, as launches of one pool do (philox/pool.h). Streams that
 * calls or releases were on live as long as the runner.
 *
 * Not for bodies: conditional nodes (philox/graph.h) and forwards of
 * several iterations.
 *
 * Verification. A captured program can be wrong in silence: a scalar that was
 * baked into it, memory that moved without a word, memory that nobody wrote.
 * The numbers of a launch can be drawn again, so a replay can be verified
 * (`verify` of the policy): the body is run first, with the numbers that the
 * launch is to draw, on copies of what it mutates, in memory of a second pool;
 * then the graph is launched, and outputs, mutated inputs and tables of rows
 * must be the same, bit for bit. If they are not, the body is run some more
 * times: one that differs from itself is not deterministic, one that depends on
 * what its memory held before reads what nobody has written, or leaves some of
 * an output unwritten, and what is left is a value that was frozen. The message
 * says which, the function, the output, the first element with both its values,
 * and what of the call has changed since it was recorded.
 *
 * A verified call waits for the device. Its body runs outside of any capture,
 * and leaves nothing behind: tickets are not touched, tables of rows that
 * philox was asked to change are put back (philox/rows.h; what they report
 * counts both runs), generators are not advanced. What a body changes by itself
 * must be an input that is MUTATED, or it is changed twice. A replay that
 * cannot be verified goes on, and a message says so, once for a key ("not
 * verified"): where a body gives a generator another seed or destroys a table
 * of rows, where there is no memory for the copies, and where an input that is
 * not aligned shares memory with one that is mutated. After a difference the
 * next replay is verified, too.
 *
 * PHILOX_RUNNER=eager in the environment makes every call of runners that are
 * created then an eager one, PHILOX_RUNNER=verify verifies every replay (of
 * collective functions in all processes, or in none).
 *
 * Ranks. Processes that run one program may decide differently: one loses a key
 * that others keep, or its memory moves. Where a body has collectives in it,
 * that hangs all of them: so such a function is PHILOX_FUNCTION_COLLECTIVE, and
 * its callback `agree` settles on one kind for each call. All decisions depend
 * on the sequence of calls, and on which inputs moved and outputs are not
 * released, never on time.
 *
 * Thread rule: one thread at a time uses a runner with its functions and
 * outputs; a call that finds another one in it, or that comes from a body,
 * gives PHILOX_ERROR_BUSY and changes nothing. Different runners may be used at
 * the same time. Nothing here is legal on a thread that is capturing, but for
 * what bodies call.
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

/* "file:line" of where it stands: for `origin` below. */
#define PHILOX_ORIGIN             PHILOX_ORIGIN_AT(__FILE__, __LINE__)
#define PHILOX_ORIGIN_AT(f, line) PHILOX_ORIGIN_OF(f, line)
#define PHILOX_ORIGIN_OF(f, line) f ":" #line

#define PHILOX_NEVER              UINT32_MAX

/* --- runners -------------------------------------------------------------- */

/*
 * struct philox_runner_desc describes a runner and its pool, which gets the
 * runner's name. Begin with PHILOX_INIT().
 */
struct philox_runner_desc {
	size_t size;         /* sizeof(this struct) */
	const char *name;    /* unique among the context's pools; copied; at
				most 63 bytes */
	uint32_t pool_flags; /* of enum philox_pool_flags, without STRICT */
	uint32_t reserved;   /* 0 */
	uint64_t pool_range; /* as in struct philox_pool_desc */
	uint64_t pool_step;
	uint64_t pool_limit;
};

/*
 * philox_runner_create() makes a runner and its pool. Errors:
 * PHILOX_ERROR_INVALID (names the field; PHILOX_RUNNER is neither unset nor
 * empty nor "eager" nor "verify"), those of philox_pool_create(), those of the
 * device.
 *
 * philox_runner_destroy() destroys a runner with its functions, recordings,
 * outputs and pool; NULL is allowed. Work on them must have finished. Outputs
 * that were not released are reported through the log. A runner is also
 * destroyed with its context. Errors: PHILOX_ERROR_BUSY, PHILOX_ERROR_MEMORY,
 * those of the device: then it is as it was.
 *
 * philox_runner_pool() returns the pool, for its figures, snapshots and checks;
 * it is the runner's: memory in it is taken by bodies alone, and it is neither
 * restored nor trimmed by others. NULL for NULL.
 */
PHILOX_API enum philox_status philox_runner_create(
	struct philox_context *context,
	const struct philox_runner_desc *options,
	struct philox_runner **runner);
PHILOX_API enum philox_status philox_runner_destroy(
	struct philox_runner *runner);
PHILOX_API struct philox_pool *philox_runner_pool(
	const struct philox_runner *runner);

/*
 * philox_runner_snapshot_text() writes what a runner has as a text that ends
 * with a NUL, and its size without that (`size` may be NULL); the caller frees
 * it with free(). philox_runner_snapshot() writes it to a file, completely or
 * not at all. It has functions, keys, recordings, where their inputs come from,
 * counts, last reasons, and the pool, by place, never an address, and a
 * checksum; `philox inspect` sums one up and draws it. Its form is in Note
 * [Runner snapshot] in graph/runner/snapshot/snapshot.h. The pool is made to
 * agree with the outputs that are not released, as it is before a body runs.
 * Errors: PHILOX_ERROR_INVALID, PHILOX_ERROR_BUSY, PHILOX_ERROR_FILE,
 * PHILOX_ERROR_MEMORY, those of the device.
 */
PHILOX_API enum philox_status philox_runner_snapshot_text(
	struct philox_runner *runner, char **text, size_t *size);
PHILOX_API enum philox_status philox_runner_snapshot(
	struct philox_runner *runner, const char *path);

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
 * with another address needs another recording. A copied one is copied by each
 * launch to memory of the recording: all of them by one kernel that takes a
 * table of their addresses, or by one for each 128. An automatic one is static
 * until its address has changed twice under a key, and copied from then on.
 *
 * An address that is not aligned as the descriptor says is copied in every kind
 * of call, so that the body can count on the alignment.
 *
 * A body that writes to an input must say so: MUTATED. If such an input has to
 * be copied, it is copied back after the body if WRITE_BACK is given; else a
 * copied one is never recorded, an automatic one stays static, and an address
 * that is not aligned is refused.
 */
enum philox_input_kind {
	PHILOX_INPUT_STATIC = 0,
	PHILOX_INPUT_COPIED = 1,
	PHILOX_INPUT_AUTOMATIC = 2
};

enum philox_input_flags {
	PHILOX_INPUT_MUTATED = 1,
	PHILOX_INPUT_WRITE_BACK = 2 /* with MUTATED */
};

/* Inputs, outputs and values of a function; all strings are copied. */
struct philox_input_desc {
	const char *name;    /* unique among the function's inputs */
	const char *origin;  /* where it comes from, for messages:
				 PHILOX_ORIGIN; NULL: "" */
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
	const char *name;     /* unique among the function's values */
	size_t bytes;         /* 1 .. 16 */
	uint64_t reserved[2]; /* 0 */
};

/* What to do with a call that finds a static input at another address. */
enum philox_moved {
	/* Record it, unless the key has `limit` recordings that were never
	 * replayed: then the body runs. Forty layers with one function get
	 * forty recordings; an input that moves at each call stops soon. */
	PHILOX_MOVED_LIMIT = 0,
	PHILOX_MOVED_RECORD = 1, /* record it */
	PHILOX_MOVED_ERROR = 2   /* refuse it: PHILOX_ERROR_MISMATCH */
};

/* ... outputs in the memory of its recording, which are not released. */
enum philox_live {
	PHILOX_LIVE_EAGER = 0, /* run the body */
	PHILOX_LIVE_RECORD = 1 /* record it beside them, within `limit` */
};

/* ... a body that refused to be recorded, or broke its capture. */
enum philox_refused {
	PHILOX_REFUSED_EAGER = 0, /* run the body */
	PHILOX_REFUSED_ERROR = 1  /* the call fails: PHILOX_ERROR_UNSUPPORTED,
				     or that of the capture */
};

/* ... a replay that was verified, and differs from what the body does. */
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

/*
 * What a function keeps. Where there are more keys or bytes than its limits
 * say, keys go with all of their recordings, the one that was called longest
 * ago first, but those whose recordings gave outputs that are not released
 * after all others; the key of the call on its way stays. A key that went is
 * new when it comes again.
 */
struct philox_policy {
	uint32_t moved;   /* enum philox_moved */
	uint32_t live;    /* enum philox_live */
	uint32_t refused; /* enum philox_refused */
	uint32_t limit;   /* recordings of a key that were never replayed; 0: 5;
			   PHILOX_NEVER: a key is recorded once, and not again
			   for a call that is unlike that (but see `again`, and
			   PHILOX_MOVED_RECORD). Those of
			   philox_function_prepare() do not count */
	uint32_t warmups; /* calls that run the body before the first one is
			     recorded; 0: 1; PHILOX_NEVER: none */
	uint32_t dry;     /* dry warm-ups, at most 1000, in the call that finds
			     a new key, before anything else, unless nothing is
			     recorded:
			     the body is run with PHILOX_PASS_WARMUP, and its
			     outputs are thrown away. What it does to other
			     memory it does each time: not for bodies that
			     update what they read */
	uint32_t after;   /* a call is recorded when it is the so-many-th one
			     under its key with its static addresses, warm-ups
			     not counted, of the last 64 sets of them; 0: 1 */
	uint32_t again;  /* calls that ran the body because of `limit` until one
			     more is recorded; 0, PHILOX_NEVER: none is */
	uint32_t retry;  /* calls under a key until recording is tried again
			     after one that was refused or broke; 0: 16;
			     PHILOX_NEVER: no more. A backward of another
			     function's forward that waits so is not recorded
			     either, for the last 64 tickets of such */
	uint32_t keys;   /* the most; 0: no limit */
	uint32_t verify; /* every so-many-th replay of the function is
			     verified, the first one too; 1: each; 0: none */
	uint32_t differs; /* enum philox_differs */
	uint64_t bytes;   /* the most, as counted by `bytes` of the counts; 0:
			     no limit */
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
 * EAGER for one that is passed over; which it then is in all processes. An
 * error that agree() returns is the call's, which fails; a process that died
 * should make it return one. An answer that is above what was asked with, or no
 * kind, is PHILOX_ERROR_INVALID.
 *
 * All processes call the function with the same policy, in which `dry` must be
 * 0, and the same number of times. What a launch would be refused for, such as
 * a ticket that is used up, is found before the question; what fails after the
 * last one, in a body that is run or on the device, is not shared. Nobody is
 * asked by what never became a call of the function: the runner is in use, or
 * of the process that this one was forked from, or the function was destroyed.
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
 * philox_function_create() makes a function. Errors: PHILOX_ERROR_INVALID
 * (names the field, or the input, output or value), PHILOX_ERROR_EXISTS (the
 * runner has one of that name), PHILOX_ERROR_MEMORY, PHILOX_ERROR_BUSY.
 *
 * philox_function_destroy() destroys it with its recordings, whose launches
 * must have finished; NULL is allowed. Its outputs stay until they are
 * released. Errors: PHILOX_ERROR_BUSY, PHILOX_ERROR_MEMORY and those of the
 * device: then it is as it was.
 *
 * philox_function_name() returns the name, which belongs to the function; ""
 * for NULL.
 */
PHILOX_API enum philox_status philox_function_create(
	struct philox_runner *runner,
	const struct philox_function_desc *options,
	struct philox_function **function);
PHILOX_API enum philox_status philox_function_destroy(
	struct philox_function *function);
PHILOX_API const char *philox_function_name(
	const struct philox_function *function);

/* --- calls ---------------------------------------------------------------- */

/*
 * struct philox_output is the handle of an output: plain data. Its memory is
 * the caller's to read and write until it is released.
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

struct philox_call_input {
	void *address;
	size_t bytes; /* the same in all calls under a key */
	const struct philox_output *output; /* the handle that it comes from,
					       or NULL: other memory */
	uint64_t id; /* of other memory: a number of the caller's, or 0 */
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
 * struct philox_call is one call. Begin with PHILOX_INIT(). `passes` has one
 * entry for each forward of the body, and for each backward that is named at
 * launch, in order of begin (struct philox_launch_pass: tickets of forwards are
 * written, those of backwards read). `outputs` is written; where it is NULL,
 * with n_outputs 0, the outputs are released at once.
 */
struct philox_call {
	size_t size; /* sizeof(this struct) */
	philox_stream stream;
	const void *key; /* bytes; compared, and copied */
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
};

/*
 * philox_function_call() calls a function. Whatever the kind, a call consumes
 * exactly the numbers of one run of the body. The body runs once in an eager
 * call, a warm-up and a recording, and not in a replay; twice where a recording
 * that failed is followed by an eager call. Serials of tickets may depend on
 * the kind: a forward that a backward of its own body uses up has one only
 * where the body is run.
 *
 * Errors, with nothing changed: PHILOX_ERROR_INVALID (names the field, input or
 * value, one of another size than in earlier calls under the key too; `uses`
 * has too few entries or too many), PHILOX_ERROR_STALE (an input's handle is
 * over), PHILOX_ERROR_MISMATCH (the body does something else than in earlier
 * calls under the key, and the message names the first difference; inputs have
 * moved, PHILOX_MOVED_ERROR), PHILOX_ERROR_CAPTURE_UNSUPPORTED (the stream is
 * capturing), PHILOX_ERROR_BUSY (the runner is in use), what the body returned;
 * PHILOX_ERROR_STATE (the body left a pass open, or an output undeclared);
 * those of philox_graph_launch(); PHILOX_ERROR_UNSUPPORTED and those of a
 * broken capture (PHILOX_REFUSED_ERROR); PHILOX_ERROR_DIFFERS (a replay was
 * verified and is not what the body does, PHILOX_DIFFERS_ERROR: mutated inputs
 * and tables of rows are put back; the numbers of its forwards are burnt); what
 * agree() returned, PHILOX_ERROR_STATE (other processes cannot make the call);
 * PHILOX_ERROR_MEMORY, PHILOX_ERROR_LIMIT, those of the device.
 */
PHILOX_API enum philox_status philox_function_call(
	struct philox_function *function, struct philox_call *call);

/*
 * philox_function_prepare() records calls ahead, before traffic comes, in the
 * order of the list: largest first, so that the smaller ones find room in the
 * memory of the largest. Nothing is launched, no number is consumed and no
 * ticket is read: of `passes` only n_passes counts (it may be NULL), outputs may
 * be NULL, and values only begin with what they are here. A call that has a
 * recording, or that cannot be recorded, is passed over, and its `kind` is
 * PHILOX_CALL_NONE; that of the others is PHILOX_CALL_RECORD. A key is warmed
 * up for it by dry warm-ups alone (`dry` of the policy), and by no call once it
 * is recorded.
 * *prepared, unless that is NULL, is how many of the calls have a recording
 * now. Errors, for the first call that fails, with those before it prepared: as
 * philox_function_call().
 */
PHILOX_API enum philox_status philox_function_prepare(
	struct philox_function *function, struct philox_call *calls, size_t n,
	size_t *prepared);

/*
 * struct philox_function_stats counts a function's calls since it was made.
 * philox_function_get_stats() writes it; philox_function_reason() returns, in
 * words, why its last call that ran the body did so, "" if there was none: it
 * belongs to the function until its next call. Errors: PHILOX_ERROR_INVALID,
 * PHILOX_ERROR_BUSY.
 *
 * Times are of the host, monotonic, in nanoseconds. What the device does while
 * nobody waits for it is in none of them.
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
	uint64_t missed_early;   /* of all above: `after` was not reached */
	uint64_t missed_limit;   /* of moved and live: the limit was met */
	uint64_t missed_refused; /* the body refused, or broke its capture */
	uint64_t missed_eager;   /* PHILOX_FUNCTION_EAGER, PHILOX_RUNNER */
	uint64_t missed_agreed;  /* other processes needed more care */
	uint64_t verified;       /* replays that were compared */
	uint64_t differed;       /* of them, those that differed */
	uint64_t unverified;     /* replays that could not be compared */
	uint64_t keys;           /* there are */
	uint64_t keys_dropped;   /* for the limits of the policy */
	uint64_t recordings;     /* there are */
	uint64_t unplayed;       /* of them, never replayed, nor prepared */
	uint64_t bytes;  /* that they take on the host, and on the device
				    beside the pool, as far as philox took it:
				    a driver has more for each graph */
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
};

PHILOX_API enum philox_status philox_function_get_stats(
	struct philox_function *function, struct philox_function_stats *counts);
PHILOX_API const char *philox_function_reason(
	const struct philox_function *function);

/* --- outputs -------------------------------------------------------------- */

/*
 * An output is released by the caller, with a ticket, or with its step.
 *
 * philox_output_release() says that an output is not needed any more: what was
 * put on `stream` until now is done with it before its memory is used again.
 * Its memory is free when the last output that shares it is released.
 *
 * philox_output_check() tells whether a handle is still good. A handle that was
 * released is not: PHILOX_ERROR_STALE, which names the function, the output,
 * its origin and, if it was handed out again, the call that overwrote it.
 *
 * philox_output_tie() ties an output to a pending ticket: it is released once,
 * when the ticket is used up or released in whatever way, after the work on the
 * stream that this is done on. A backward that retains the ticket keeps it.
 * What is attached to the ticket (philox_ticket_attach()) is not touched; a
 * ticket may have many outputs, of several runners; an output has one ticket at
 * most. One that is released in another way is not tied any more.
 *
 * philox_output_set_data() hangs a pointer of the caller's on an output, and
 * philox_output_get_data() writes it: NULL when the output has just been handed
 * out. Nothing is done with it.
 *
 * All of them may be called within a call of the runner, on its thread: by the
 * function that releases a saved context, for example. Errors of all:
 * PHILOX_ERROR_INVALID (not a handle of the runner), PHILOX_ERROR_STALE,
 * PHILOX_ERROR_BUSY (another thread is in the runner); of a release also
 * PHILOX_ERROR_CAPTURE_UNSUPPORTED (the stream is capturing) and those of the
 * device; of a tie also PHILOX_ERROR_EXISTS (it is tied), PHILOX_ERROR_MEMORY
 * and, of the ticket, PHILOX_ERROR_RELEASED, PHILOX_ERROR_MISMATCH (of another
 * region; the region is of another context) and PHILOX_ERROR_STATE (its forward
 * is open).
 */
PHILOX_API enum philox_status philox_output_release(
	struct philox_runner *runner, philox_stream stream,
	const struct philox_output *output);
PHILOX_API enum philox_status philox_output_check(
	struct philox_runner *runner, const struct philox_output *output);
PHILOX_API enum philox_status philox_output_tie(
	struct philox_runner *runner, const struct philox_output *output,
	struct philox_region *region, struct philox_ticket ticket);
PHILOX_API enum philox_status philox_output_set_data(
	struct philox_runner *runner, const struct philox_output *output,
	void *data);
PHILOX_API enum philox_status philox_output_get_data(
	struct philox_runner *runner, const struct philox_output *output,
	void **data);

/* For philox_runner_step_begin(). */
enum philox_step_flags {
	PHILOX_STEP_RELEASE_ALL =
		1 /* whatever a backward that is owed may need */
};

/*
 * philox_runner_step_begin() says that a step begins: outputs of calls so far
 * are not needed any more, after the work that is on `stream` now, and are
 * released.
 *
 * Calls that read each other's outputs, by handle, are a path. A path that gave
 * out tickets whose backward is still owed has not ended, and neither has one
 * with an output that was tied to such a ticket: its outputs stay, whichever of
 * its calls they are of, until a later philox_runner_step_begin() finds the
 * last of these tickets used up. *kept, unless it is NULL, is how many outputs
 * stay, and a message ("step", PHILOX_LOG_INFO) names one of them and a ticket
 * that keeps it. With PHILOX_STEP_RELEASE_ALL all outputs are released all the
 * same.
 *
 * Errors: PHILOX_ERROR_INVALID (flags), PHILOX_ERROR_BUSY (a thread is in the
 * runner), PHILOX_ERROR_CAPTURE_UNSUPPORTED, those of the device: then nothing
 * has changed.
 */
PHILOX_API enum philox_status philox_runner_step_begin(
	struct philox_runner *runner, philox_stream stream, unsigned flags,
	size_t *kept);

/* --- bodies --------------------------------------------------------------- */

/*
 * The functions below are for the body, on its thread, until it returns; run is
 * what it was called with. They are legal during the capture that the body may
 * be in, which is of mode THREAD_LOCAL, and so the body must keep the rules of
 * captures: it waits for nothing, and takes memory from the run. A body
 * returns PHILOX_OK or an error; that one of these functions failed is an error
 * even if the body returns PHILOX_OK.
 *
 * Under one key the body does the same each time: the same passes with the same
 * flags, memory of the same sizes, the same outputs and values, in the same
 * order. What differs first is named by PHILOX_ERROR_MISMATCH.
 */

/* philox_run_stream() returns the stream that the body's work goes to. */
PHILOX_API philox_stream philox_run_stream(const struct philox_run *run);

/*
 * philox_run_kind() returns how the call is executed: EAGER, WARMUP or RECORD;
 * EAGER, too, while a replay is verified.
 * It is for messages: a body that does something else for it is refused.
 */
PHILOX_API enum philox_call_kind philox_run_kind(const struct philox_run *run);

/*
 * philox_run_input() writes where an input is, aligned as its descriptor says,
 * and its size; `bytes` may be NULL. Errors: PHILOX_ERROR_INVALID.
 */
PHILOX_API enum philox_status philox_run_input(struct philox_run *run,
					       size_t index, void **address,
					       size_t *bytes);

/*
 * philox_run_param() writes the device address of the 16 bytes that hold a
 * value of the call (philox/graph.h): the call's own in an eager call, a
 * value of the graph in a recording, which each launch sets. Errors:
 * PHILOX_ERROR_INVALID, those of philox_capture_param() and of
 * philox_param_write().
 */
PHILOX_API enum philox_status philox_run_param(struct philox_run *run,
					       size_t index,
					       const void **address);

/*
 * philox_run_alloc() takes memory from the runner's pool on the run's stream,
 * as philox_pool_alloc() does; philox_run_free() frees it for what the body
 * allocates later, on that stream. What the body neither frees nor declares as
 * an output is free when it returns. A body that takes memory from the pool in
 * another way has failed (PHILOX_ERROR_STATE). Errors: as philox_pool_alloc()
 * and philox_pool_free(); PHILOX_ERROR_INVALID (a free of memory that is not of
 * this run, or is an output).
 */
PHILOX_API enum philox_status philox_run_alloc(struct philox_run *run,
					       size_t bytes, size_t alignment,
					       const char *tag, void **address);
PHILOX_API enum philox_status philox_run_free(struct philox_run *run,
					      void *address);

/*
 * philox_run_output() declares an output, each once: `bytes` bytes at `address`
 * in memory of this run, or in a static input. Whether it shares memory with an
 * input that is an output of the runner, or with another output, is found by
 * the ids of the pool's blocks; such memory is freed once, after the last
 * handle. Errors: PHILOX_ERROR_INVALID (no such output, other memory, in an
 * input that is or may be copied, beyond the end), PHILOX_ERROR_EXISTS (it was
 * declared).
 */
PHILOX_API enum philox_status philox_run_output(struct philox_run *run,
						size_t index, void *address,
						size_t bytes);

/*
 * philox_run_forward_begin() begins a forward on the run's stream, as
 * philox_forward_begin() does, for the next entry of the call's `passes`.
 *
 * philox_run_backward_begin() begins a backward. With the zero ticket it takes
 * the next entry of `passes`, whose ticket it repeats. With a ticket that
 * philox_pass_commit() or philox_pass_ticket() gave for an earlier pass of
 * this body it repeats that one and takes no entry: in a recording that ticket
 * is a placeholder, and the body need not know.
 *
 * The pass is drawn with, committed and aborted as any other, before the body
 * returns. One that is open then is ended by the runner, as one that is
 * aborted; to end it later is PHILOX_ERROR_STATE, but for an abort of one that
 * was recorded, and changes nothing. Its tickets are used up when the body has
 * succeeded. Flags as for philox_forward_begin() and philox_backward_begin(),
 * without PHILOX_PASS_WARMUP. Errors: as theirs; PHILOX_ERROR_INVALID (`passes`
 * has no further entry), PHILOX_ERROR_RELEASED (an earlier backward of this
 * body uses the ticket up), PHILOX_ERROR_MISMATCH (the ticket is not that of an
 * earlier pass, or is that of two of them, since two passes name it).
 */
PHILOX_API enum philox_status philox_run_forward_begin(
	struct philox_run *run, struct philox_region *region, unsigned flags,
	struct philox_pass *pass);
PHILOX_API enum philox_status philox_run_backward_begin(
	struct philox_run *run, struct philox_region *region,
	struct philox_ticket ticket, unsigned flags, struct philox_pass *pass);

/*
 * philox_run_refuse() says that what the body does now cannot be recorded, and
 * why (copied, at most 255 bytes; NULL: ""). In a recording the body then
 * returns, with any status, and the call runs it eagerly, or fails
 * (PHILOX_REFUSED_ERROR). In other kinds of call it goes on. In both the key is
 * not recorded for as many calls as the policy says. Errors:
 * PHILOX_ERROR_INVALID.
 *
 * philox_run_again() asks for one more warm-up after this one: the body, an
 * autotuner for example, is not yet as it will be. A call has 1000 dry ones at
 * most (PHILOX_ERROR_LIMIT). What it did now is not compared with what it does
 * later. In a recording that is PHILOX_ERROR_STATE.
 */
PHILOX_API enum philox_status philox_run_refuse(struct philox_run *run,
						const char *reason);
PHILOX_API enum philox_status philox_run_again(struct philox_run *run);

/* --- plans ---------------------------------------------------------------- */

/*
 * A runner learns while it is used: which keys there are, what the body does
 * under each, which inputs have to be copied, what refused to be recorded and
 * why, how much memory it takes. A plan is all of that as a text. Loaded into a
 * runner of a new process that has made the same functions, it makes the
 * runner decide, call by call, as the one that was saved would have gone on:
 *
 *   philox_context_save(context, "step-1000.philox");
 *   philox_plan_save(runner, "step-1000.plan");
 *   ... in a new process, after the same functions were made ...
 *   philox_context_load(context, "step-1000.philox");
 *   philox_plan_load(runner, "step-1000.plan");
 *
 * It has no graphs, no addresses and no number of a device. So what was
 * recorded is recorded again, when its call comes: a call that would have been
 * replayed is the first time one that runs the body, which libraries need in
 * a new process (a dry warm-up if the policy has those, else a warm-up; none if
 * it has neither), then one that is recorded, and then replayed. A key that
 * runs its body anyway, since it waits or is early, needs no warm-up for that.
 *
 * Which addresses the recordings of a key had is not known to a plan. So as
 * many recordings as a key had are made without regard to `limit` and `after`
 * of the policy, and to PHILOX_MOVED_ERROR: those that come first. They count
 * as those of the plan did, first as ones that were replayed. They are over
 * when the key goes, or its recordings would be of no use any more. Of three
 * things the runner knows nothing any more: calls that were counted towards
 * `after`, replays towards `verify`, and where inputs were: the first call of a
 * key moves none of them. Outputs that were not released are.
 *
 * Reasons go with it: a key whose body refused to be recorded waits for as many
 * calls as it would have, and a backward whose forward was not recorded is not
 * either, if its ticket is pending still (philox/save.h). Limits of keys and
 * bytes go on as if all recordings of the plan were there.
 *
 * Load also takes the memory from the device that the pool had at its peak, so
 * that no recording has to; if that is not to be had a message says so
 * ("plan"), and the pool grows when it must.
 *
 * The text is plain ASCII with a version, a line for each thing and a checksum;
 * the same contents have only one spelling. Its form is in Note [Plan] in
 * graph/runner/plan/plan.h. `philox inspect` sums one up, `philox diff`
 * compares two.
 *
 * Thread rule: as of the runner (philox/runner.h). Not legal on a thread that
 * is capturing.
 */

/*
 * philox_plan_save_text() writes a runner's plan as a text that ends with a
 * NUL, and its size without that (`size` may be NULL). The caller frees the
 * text with free(). philox_plan_save() writes it to a file, completely or not
 * at all, as philox_context_save() does. Errors: PHILOX_ERROR_INVALID,
 * PHILOX_ERROR_BUSY (the runner is in use), PHILOX_ERROR_FILE,
 * PHILOX_ERROR_MEMORY.
 */
PHILOX_API enum philox_status philox_plan_save_text(
	struct philox_runner *runner, char **text, size_t *size);
PHILOX_API enum philox_status philox_plan_save(struct philox_runner *runner,
					       const char *path);

/*
 * philox_plan_load_text() loads a plan of `size` bytes (a NUL at its end is
 * not counted) into a runner of which no function has been called or prepared.
 * Each function of the plan must be there, described as it was: mode, flags,
 * inputs, outputs, values and policy, but for origins. Functions that are not
 * in the plan begin anew, and a second plan takes the place of the first. On
 * an error nothing has changed. Errors:
 * PHILOX_ERROR_INVALID, which names the line, for a text that is malformed, cut
 * or changed; PHILOX_ERROR_UNSUPPORTED for a newer version of the format, and
 * for a plan of another version of the library; PHILOX_ERROR_MISMATCH, which
 * names the first difference, for functions that are missing or described in
 * another way; PHILOX_ERROR_STATE (a function of the runner was called or
 * prepared); PHILOX_ERROR_BUSY, PHILOX_ERROR_FILE, PHILOX_ERROR_MEMORY.
 */
PHILOX_API enum philox_status philox_plan_load_text(
	struct philox_runner *runner, const char *text, size_t size);
PHILOX_API enum philox_status philox_plan_load(struct philox_runner *runner,
					       const char *path);

#ifdef __cplusplus
}
#endif
#endif
