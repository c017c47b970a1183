/*
 * graph/runner/state/state.h - a runner, and the outputs that are alive
 */
#ifndef GRAPH_RUNNER_STATE_STATE_H
#define GRAPH_RUNNER_STATE_STATE_H

#include <pthread.h>
#include <philox/pool.h>
#include <philox/runner.h>
#include "alloc/pool/pool.h"
#include "graph/launch/launch.h"
#include "graph/verify/verify.h"
#include "lib/containers/map.h"
#include "lib/containers/ranges.h"

/* --- runner: runners and their functions ---------------------------------- */

/*
 * Note [Runner]
 * ~~~~~~~~~~~~~
 * Memory. A runner has one pool. Its user's view of it is the list of live
 * blocks: those that hold an output that is not released. The pool's own view
 * differs from that between calls, since a replay does not touch it. Before
 * anything is allocated the pool is made to agree (runner_settle()): a
 * checkpoint is joined from the pool as it is and from the checkpoints of the
 * recordings that gave the other live blocks, and restored. So a replay costs
 * nothing there, and blocks need not come back in the order they came.
 *
 * A recording knows the memory that its capture was given, all of it, as a list
 * of ranges. It can be replayed if no live block is in one of them: neither an
 * output of its own that was not released nor any other. No other condition is
 * needed, whatever ran before: what it reads is an input, whose address is
 * compared, and what it writes is in these ranges. So there are no paths and no
 * parents here.
 *
 * An eager call runs in a session of its own, as a warm-up does, which is
 * rolled back if it fails. It may be given memory that recordings use, and does
 * not harm them. A dry warm-up is one that is undone although it went well,
 * whose passes reserve nothing.
 *
 * Order. All work of a runner is in the chain of its pool (Note [Pools]), and
 * comes after the fences on other streams at which outputs were released. Such
 * a fence is forgotten only when something that waited for it has become the
 * chain's last link; a launch that failed half-way becomes that, too.
 *
 * Going. A recording that is not used any more, since it was retired or its key
 * was dropped, is freed when an event after all of its launches has come, and
 * no output needs its checkpoint.
 *
 * Paths. A call that reads outputs by handle is of their path, which thereby
 * become one, and any other begins one. The runner has a list of the tickets
 * that were given out, with their paths; those that are not pending any more
 * are struck off when somebody asks, or the list is full.
 *
 * Tickets. The body begins its passes through the run, which knows them all. In
 * an eager call a pass carries a number (struct philox_pass.run) by which its
 * end is found here: a forward commits at once, and is released if the body
 * fails; a backward's commit is put off until the body has succeeded, its hold
 * on the ticket being kept meanwhile, so that it cannot fail then. In a
 * recording the passes are the capture's.
 *
 * What a body did is written down as a script, by key, and compared while the
 * next one runs.
 *
 * Bodies within bodies. A body that calls a function runs that function's body
 * in its own run, in place: the same stream, memory, passes and script. The run
 * has a chain of struct nested meanwhile. A pass takes the next entry of each
 * list of passes on its way out, from the innermost, until one names its ticket,
 * or the call's own entries are reached.
 *
 * Locks. `owner` is the thread that is in the runner; all else is that
 * thread's, with two exceptions. The run's passes are looked at by the ends of
 * passes, on any thread, with the context's lock. And a ticket that is used up,
 * on any thread, puts the outputs that are tied to it on a list, `untied`, with
 * the context's lock, and a fence on another one, `fences`, with a lock of that
 * inside it; the next thread that enters the runner releases them. Where the
 * fence cannot be made, since the stream is capturing for example, that thread
 * tries, too, and the outputs live until it can. Memory of the pool that goes
 * back to the device waits for all fences.
 */

/* A block with outputs that are not released. */
struct live_block {
	uint64_t id;
	struct range range;        /* that it takes, with the pool's margins */
	uintptr_t begin;           /* without the margin */
	size_t bytes;              /* as asked for */
	uint32_t refs;             /* outputs that share it */
	struct output_slot *slots; /* these, the newest first */
	struct recording *from;    /* its checkpoint has the block; NULL: it
					 is live in the pool */
};

/* Where a live block begins. */
struct live_begin {
	uintptr_t begin;
	uint64_t id;
};

/* The place of an output's handles; it stays that function's and output's. */
struct output_slot {
	struct output_slot *next; /* of the function's free ones, or `later` */
	struct output_slot *beside; /* the next in its live block */
	struct philox_output handle;
	struct philox_function *function;
	uint32_t output;
	uint64_t recording; /* that has or had it, by number; 0: none */
	int recorded;       /* a recording has it */
	int live;           /* handed out and not released */
	int released;       /* released, but by the call on its way */
	int in_pool;        /* its block is the runner's */
	int filled;         /* with the pattern of the pool, to be released */
	uint64_t call;      /* that handed it out last, of all of the runner */
	uint64_t function_call; /* ... of its function's */
	uint64_t path;      /* of that call */
	uint64_t order;     /* counts the outputs that the runner handed out */
	void *data;
	char label[64];         /* of its caller's; "": none */
	struct output_tie *tie; /* to a ticket; NULL: none */
};

/* --- scripts --------------------------------------------------------------- */

enum step_kind {
	STEP_FORWARD,
	STEP_BACKWARD, /* named: `a` is UINT64_MAX; else it repeats pass `a` */
	STEP_ALLOC,
	STEP_FREE, /* of the a-th allocation */
	STEP_OUTPUT,
	STEP_VALUE,
	STEP_CALL,         /* of a function within the body: its steps follow */
	STEP_INNER_OUTPUT, /* ... that it declares, of `b` bytes */
	STEP_INNER_VALUE,  /* ... a parameter that it reads */
	STEP_RETURN        /* ... from it */
};

struct step {
	enum step_kind kind;
	unsigned flags;
	const char *region; /* lives as long as the context; of a call and its
			       return the function, of what is in it the output
			       or parameter: these as long as the runner */
	uint64_t a, b;
};

/* Steps that the keys of a plan share: they do not change. */
struct script_share {
	size_t refs;
	struct step steps[];
};

struct script {
	struct step *steps;
	size_t n, room;
	int known;                  /* a body has written it */
	struct script_share *share; /* that has its steps; NULL: its own */
};

/* --- keys and recordings --------------------------------------------------- */

/*
 * Recordings in the order of their last use: those of a function, and those of
 * a key.
 */
enum { USE_OF_FUNCTION, USE_OF_KEY, USE_LISTS };

struct use_list {
	struct recording *newest, *oldest;
};

struct use_links {
	struct recording *newer, *older;
};

/* How a key, or a function, wastes recordings: see struct philox_policy. */
struct waste {
	uint32_t wasted;   /* recordings that were evicted and never replayed,
			      less the others, since `patience` grew */
	uint32_t patience; /* calls without a recording's use until it may be
			      evicted; 0: none */
};

/* What is known of an input under a key. */
struct key_input {
	size_t bytes;
	uint32_t moves; /* in a row, to where no recording of the key had it */
	int copied;     /* an automatic one that moved too often */
	int pinned;     /* an output is in it: it is not copied */
};

enum logged {
	LOGGED_MOVED = 1,
	LOGGED_BOUND = 4,
	LOGGED_REFUSED = 8,
	LOGGED_UNVERIFIED = 16,
	LOGGED_RANDOM = 32,
	LOGGED_AGREED = 64,
	LOGGED_LABEL = 128
};

enum { DRY_MAX = 1000 }; /* dry warm-ups of a call */

enum { DROPPED_KEYS = 64, EVICTED_CALLS = 256 };

/* A key that was dropped for the limit of them, by its hash. */
struct dropped_key {
	uint64_t hash;
	int recorded; /* it had recordings, or would have had again */
};

/* A recording that was evicted, by its hash. */
struct evicted_call {
	uint64_t hash;
	const char *why; /* the policy's field; NULL: the entry is free */
};

/* Recordings that a key had when its plan was saved, and that are to be made
 * again: see Note [Plan] in graph/runner/plan/plan.h. */
struct expected {
	uint32_t n;
	uint32_t unplayed, prepared; /* of them */
	uint64_t bytes;              /* that they took */
};

struct key {
	struct key *next_in_function; /* of the function */
	uint64_t hash;
	struct script script;
	struct key_input *inputs;
	struct use_list by_use; /* its recordings */
	uint64_t calls;         /* that succeeded */
	uint64_t used;            /* the last call of it, of the runner's */
	uint32_t warmups, dry;    /* still to come */
	uint32_t wait;            /* calls until recording is tried again */
	struct waste waste;
	uint32_t recordings, unplayed;
	uint32_t prepared; /* recordings that were prepared */
	uint64_t recorded; /* bytes of its recordings */
	struct expected expected;
	int body_not_run; /* as it is now: of a plan, and not in this process, or a
			     function that it calls was destroyed */
	int forgotten;    /* a key like it was, for the limit of keys */
	int asked;        /* its body asked for another warm-up */
	int holds; /* outputs of its recordings are live: for bounds_keep() */
	unsigned logged;   /* enum logged: decisions that were logged */
	char label[64];    /* of the first call that gave one; "": none did */
	char refused[256]; /* why recording waits */
	const char
		*drop_reason; /* why a recording was dropped, and none was made
				    since; NULL: that did not happen */
	size_t size;
	unsigned char bytes[];
};

/* What a body declared; address NULL: not yet. */
struct run_output {
	void *address;
	size_t bytes;
	uint64_t id;    /* of its block, if it is in no input */
	uint32_t input; /* that it is in; UINT32_MAX: none */
	struct range range;
	size_t block_bytes; /* of the block, as asked for */
};

/* One output of a recording. */
struct recorded_output {
	struct output_slot *slot;
	struct run_output place;
};

/* An entry of a call's uses. */
struct recorded_entry {
	uint32_t use; /* of the graph */
	int forward;
	struct philox_region *region; /* of a forward */
};

/* Where an input of a recording was from, when that was made. */
struct recorded_source {
	const struct philox_function *function; /* NULL: other memory */
	uint32_t output;                        /* of the function */
	uint64_t recording; /* that handed it out, by number; 0: a call did */
	uint64_t id;        /* of other memory: the caller's */
};

/* An extent of a runner's pool that recordings write. */
struct pool_use {
	uint64_t extent; /* its number */
	size_t bytes;
	size_t users;          /* recordings */
	uintptr_t users_mixed; /* their addresses, xor-ed: of one, that one's */
};

/*
 * A step of a body that was recorded, beside those that its capture has: a
 * parameter that it asked for again, or something about memory.
 */
struct body_step {
	uint8_t kind;   /* enum program_kind */
	uint32_t after; /* steps of the capture before it */
	size_t index;   /* of the parameter, allocation, output or input */
	size_t of;      /* OUTPUT: the allocation that it is in */
	uint32_t input; /* OUTPUT: the input that it is in; UINT32_MAX: none */
	size_t bytes, alignment;
	size_t offset;     /* OUTPUT: in what it is in */
	uintptr_t address; /* ALLOC, BUFFER: of the memory */
	const struct pool_step *done; /* by a capture of the user's: with the
					 place; NULL: by a body */
	char tag[POOL_TAG_SIZE];
};

struct body_steps {
	struct body_step *items;
	size_t n, room;
	uint64_t lost; /* for which there was no room */
};

/* How long the parts of a recording took, in nanoseconds of the host. */
struct recording_times {
	uint64_t body, first, replay, checkpoint;
	uint64_t device_first, device_replay, device_replays; /* that were timed */
};

/* Note [Times of the device] in graph/runner/function/timer.c. */
struct launch_timer {
	philox_event begin, end;
	enum { TIMER_IDLE, TIMER_FIRST, TIMER_REPLAY } of;
};

/* An input as calls have it: 16 bytes, which are compared at each call. */
struct packed_input {
	const void *address; /* of one that is copied: a place of ours */
	size_t bytes;
};

/* See Note [Guess], graph/runner/function/function.h. */
struct guess {
	struct recording *next, *before; /* NULL: none */
	struct packed_input *inputs;     /* room for all of them */
	struct range pool; /* its span, when no input was within */
	int packed;        /* the array is filled */
	int twin;          /* another recording serves the same calls */
};

struct recording {
	uint64_t number;        /* in its runner, from 1 */
	struct recording *next; /* of those that are leaving */
	struct use_links links[USE_LISTS];
	uint64_t key_call, function_call; /* before the last one that used it */
	struct philox_function *function;
	struct key *key;
	uint64_t hash;
	struct philox_graph *graph;
	struct pool_checkpoint *checkpoint;
	const void **statics; /* of each input, NULL if it is copied */
	void **buffers;       /* of each input that is copied, else NULL */
	size_t copied;        /* how many have one */
	struct recorded_source *sources; /* of each input */
	struct recorded_output *outputs;
	struct output_slot **slots; /* for a launch */
	struct output_place *places;
	struct range *ranges; /* that it writes, in order */
	size_t n_ranges;
	struct philox_launch_pass *uses; /* of the graph */
	struct recorded_entry *entries;  /* of a call */
	size_t n_entries, n_uses;
	size_t *params;      /* of each: its index in the graph, or SIZE_MAX */
	const void **inputs; /* of each: where it was */
	struct philox_state *given; /* of each value: its bytes */
	struct body_steps steps;
	struct recording_times times;
	struct launch_timer timer;
	uint64_t replays;
	uint64_t bytes;        /* see struct philox_function_stats */
	struct pool_use **pool_uses; /* of the pool, that it writes */
	size_t n_pool_uses;
	uint64_t alone; /* bytes of those that only it writes */
	int prepared;   /* not by a call */
	int expected;   /* one was expected: counts as one that was replayed */
	int on_trial[USE_LISTS]; /* made while its list had some patience */
	int spoiled;    /* the device refused to launch it */
	int launched;   /* at least once */
	uint64_t settled; /* the last time its checkpoint was needed */
	struct guess guess;
};

/* --- functions -------------------------------------------------------------- */

enum { REASON_SIZE = 512 };

struct philox_function {
	struct philox_function *next; /* in the runner, newest first */
	struct philox_runner *runner;
	char name[64];
	int destroyed; /* it is kept for the messages about its outputs */
	int called;    /* bodies of others call it, or have */
	enum philox_function_mode mode;
	uint32_t flags;
	enum philox_status (*body)(void *user, struct philox_run *run);
	void *user;
	enum philox_status (*agree)(void *user, uint32_t wanted,
				    uint32_t *agreed); /* COLLECTIVE */
	struct philox_policy policy;                   /* defaults put in */
	struct philox_input_desc *inputs;
	struct philox_output_desc *outputs;
	struct philox_param_desc *params;
	size_t n_inputs, n_outputs, n_params;
	int automatic;    /* some inputs are */
	int mutated;      /* the same */
	uint64_t replays; /* tried so far: see `verify` of the policy */
	struct output_slot **spare; /* free slots of each output */

	struct map key_map; /* by their hashes, as the next one */
	struct key *keys;
	struct map recording_map;
	struct use_list by_use;  /* its recordings */
	struct waste waste;
	uint64_t expected_bytes; /* of all keys */
	struct evicted_call evicted[EVICTED_CALLS]; /* the latest */
	uint64_t n_evicted;              /* ever */
	struct dropped_key dropped[DROPPED_KEYS]; /* the latest ones */
	uint64_t n_dropped;                       /* ever */
	struct philox_function_stats counts;
	uint64_t calls; /* ever made, prepared ones not */
	char reason[REASON_SIZE];
};

/* --- a run of a body --------------------------------------------------------- */

struct run_block {
	struct philox_pool_block block;
	struct range range;
	size_t number; /* among those that bodies took; SIZE_MAX: it is not */
	int freed;
	uint32_t outputs; /* that are in it */
};

/*
 * A body that runs within another one: philox_run_call(). Meanwhile the run's
 * function, inputs, copied, params and outputs are its own; here are those of
 * the body around it.
 */
struct nested {
	struct nested *around; /* NULL: the call's own body */
	unsigned depth;        /* from 1 */
	struct philox_nested_call *call;
	size_t entries; /* of the call's passes that were taken */
	size_t first_pass, first_block; /* of the run: its own from there */
	struct philox_function *function;
	void **inputs;
	uint8_t *copied;
	void **params;
	struct run_output *outputs;
};

struct run {
	struct philox_run callback; /* first */
	struct philox_runner *runner;
	struct philox_function *function; /* NULL: no body is running */
	struct philox_call *call;
	struct key *key;
	enum philox_call_kind kind;
	struct philox_pool *pool; /* that its memory is from */
	struct verify *verify;    /* a replay is verified; NULL: none */
	int dry;                  /* a warm-up that is undone */
	philox_stream stream;

	enum philox_status status; /* of the first call of these that failed */
	struct status_message message;
	size_t step; /* of the script */
	int comparing;
	int refused, again;
	char reason[256]; /* that it refused for */
	const char *why;  /* the body is run */
	size_t entries;   /* of uses that were taken */
	uint64_t taken;   /* allocations from the pool */
	uint64_t capture; /* RECORD: its id */
	struct body_steps steps; /* RECORD */

	struct run_block *blocks;
	size_t n_blocks, block_room;
	size_t numbered;       /* of them, those that bodies took */
	struct nested *nested; /* the innermost; NULL: none */
	void **inputs;         /* where the body finds them */
	uint8_t *copied;       /* whether that is a copy */
	size_t input_room;
	void **params; /* NULL: not asked for */
	size_t param_room;
	struct run_output *outputs;
	size_t output_room;
};

/* --- base.c: runners ------------------------------------------------------ */

/* A stream on which outputs were released. */
struct fence {
	philox_stream stream;
	pthread_t thread; /* of a handle that means a stream per thread */
	philox_event event;
	uint64_t noted;   /* counts the releases there */
	uint64_t awaited; /* as it was at the last wait */
	uint64_t done;    /* ... that the chain has come after */
};

/* A ticket that a call gave out. */
struct owed_ticket {
	struct philox_region *region;
	struct philox_ticket ticket;
	uint64_t path;
	const struct philox_function *function; /* that gave it out; NULL: none
						   is known */
	uint64_t recording; /* that was launched; 0: none was */
	uint64_t call;      /* of the runner */
};

/* A ticket of a forward that was not recorded since its body refused, or so. */
struct unrecorded_ticket {
	struct philox_ticket ticket;
	const struct philox_function *function; /* NULL: of a plan, and there
						   it was destroyed */
	char name[64];                          /* of the function */
	char reason[128]; /* that it was not recorded for */
};

enum { UNRECORDED_TICKETS = 64 };

/* The reason of a function whose body refused, before what that said. */
#define REFUSED_BEGIN "its body refused to be recorded: "

/* What the last plan left. */
struct runner_plan {
	uint64_t calls;        /* `calls` of the runner when it was loaded */
	uint64_t live, mapped; /* the pool's peaks when it was saved */
	uint64_t taken;        /* the pool's mapped peak when it was loaded */
	uint64_t load_ns;      /* that loads took */
	struct plan_names *names; /* regions, for the scripts of keys */
};

/* The outputs as they were saved or loaded last. */
struct runner_outputs {
	uint64_t digest;  /* of that file */
	uint64_t context; /* the digest of the context then */
	uint64_t mark;    /* of which outputs there were */
};

struct philox_runner {
	struct philox_runner *next; /* in the context's list, by its lock */
	struct philox_context *context;
	struct philox_pool *pool;
	struct philox_pool *spare; /* to verify replays; NULL: not made yet */
	struct philox_pool_session *spare_stuck; /* see `stuck` */
	char name[64];
	int eager, verify;       /* PHILOX_RUNNER */
	int guards;              /* the pool's margins */
	int timed;               /* PHILOX_RUNNER_TIMES */
	_Atomic uintptr_t owner; /* the thread that is in it, or RUNNER_READER;
				    0: nobody */
	pthread_mutex_t reading; /* held by the reader */
	_Atomic uintptr_t reader; /* its thread; 0: there is none */
	atomic_int waiting;       /* threads that come in after the reader */
	struct philox_function *functions;
	struct map names; /* of those that were not destroyed */
	int plan_calls;   /* a plan had calls of functions to come */
	struct run run;
	uint64_t calls;
	uint64_t recordings; /* ever made, for the names of graphs */
	struct philox_function_stats traced; /* of the function of the call on
						 its way, as it began */
	struct philox_pool_session *stuck;   /* that could not be ended */
	struct status_message said; /* the message, if the call on its way goes
				       well: of the last one that failed */
	int unrecorded; /* the call on its way is eager for such a reason */
	struct unrecorded_ticket
		tickets[UNRECORDED_TICKETS]; /* the latest of them */
	uint64_t n_tickets;                  /* ever */
	struct runner_plan plan;
	struct runner_outputs saved;
	atomic_int has_saved; /* there is that, and it was not seen to have
				 changed */
	uint64_t handed;      /* outputs ever handed out */

	struct live_block *live;   /* sorted by id */
	struct live_begin *begins; /* of these, sorted by address */
	size_t n_live, live_room, begin_room;
	int unsettled; /* the pool's view may differ */
	uint64_t settlings;
	struct output_slot **slots;
	size_t n_slots, slot_room;
	struct output_slot *later; /* released by the call on its way */

	philox_stream own;     /* for the legacy stream; made when needed */
	philox_event joins[2]; /* before and after it */

	pthread_mutex_t fences_lock; /* guards the next two */
	struct fence *fences;
	size_t n_fences;
	_Atomic(struct output_tie *) untied; /* see Locks above */
	struct output_tie *ties;             /* by the context's lock */

	struct map pool_uses; /* of the pool, that recordings write */
	struct recording *leaving; /* not launched any more */
	struct recording *left;    /* ... before `last` was recorded */
	philox_event last;

	uint64_t paths; /* ever begun */
	uint64_t path;  /* of the call on its way, when it hands out */
	size_t handles; /* inputs of it that are in outputs, by handle or by
			     address */
	struct output_slot **input_slots; /* these, NULL for the others */
	size_t input_slot_room;
	struct owed_ticket *owed;
	size_t n_owed, owed_room;
};

/* runner_device() returns the device that a runner is on. */
static inline struct philox_device *runner_device(
	const struct philox_runner *runner)
{
	return runner->context->device;
}

/*
 * input_slot() returns the output that an input of the call on its way is, once
 * its handles were checked; NULL: it is none.
 */
static inline const struct output_slot *input_slot(
	const struct philox_runner *runner, size_t index)
{
	return runner->handles ? runner->input_slots[index] : NULL;
}

/* In `owner`: a reader of the pool is in the runner, for a moment. */
#define RUNNER_READER ((uintptr_t)1)

/*
 * runner_lock() takes the runner for this thread, after a reader if there is
 * one, or refuses: ERROR_BUSY. runner_try() does not wait: PHILOX_NOT_READY
 * while there is a reader; for threads that have the context's lock.
 * runner_release() gives it back and returns `status`. runner_is_here() tells
 * whether this thread has it. (graph/runner/state/base.c)
 *
 * runner_read_begin() takes it for a reader: 0 if a call is on its way or waits
 * for one, or if it is this thread's already. Without locks.
 */
enum philox_status runner_lock(struct philox_runner *runner);
enum philox_status runner_try(struct philox_runner *runner);
enum philox_status runner_release(struct philox_runner *runner,
				  enum philox_status status);
int runner_is_here(const struct philox_runner *runner);
int runner_read_begin(struct philox_runner *runner);
void runner_read_end(struct philox_runner *runner);

/*
 * runner_leave() is runner_release() and then runner_report(). Another thread
 * may destroy the runner as soon as this one has left it, so what is said of it
 * is copied before. For reports that come later than that, runner_subject() is
 * taken before the runner is, and subject_report() is the report.
 */
struct runner_subject {
	struct philox_context *context;
	char runner[64], function[64]; /* "": none */
};

struct runner_subject runner_subject(const struct philox_runner *runner,
				     const struct philox_function *function);
enum philox_status subject_report(const struct runner_subject *subject,
				  enum philox_status status);
enum philox_status runner_leave(struct philox_runner *runner,
				const struct philox_function *function,
				enum philox_status status);

/*
 * runner_said() notes the message that a callback of the user has left, if that
 * is another one than `before`: a call in it has failed.
 */
void runner_said(struct philox_runner *runner,
		 const struct status_message *before);

/* runner_kind() returns a kind's name; NULL: that of PHILOX_CALL_NONE. */
const char *runner_kind(enum philox_call_kind kind);

/* runner_time() returns nanoseconds of the host's monotonic clock. */
uint64_t runner_time(void);

/*
 * runner_report() ends a public call on a function, or on none, with an error
 * that names it; see context_report().
 */
enum philox_status runner_report(struct philox_runner *runner,
				 const struct philox_function *function,
				 enum philox_status status);

/*
 * runner_post() posts a message about a function's call. It begins with the
 * function: what is said goes on from there, or begins with ": ".
 */
void runner_post(const struct philox_function *function,
		 enum philox_log_level level, const char *event,
		 enum philox_call_kind kind, const char *input,
		 uint64_t nanoseconds, const char *format, ...)
	__attribute__((format(printf, 7, 8)));

/*
 * runner_room() sees to room for `need` items of `size` bytes: new ones are 0.
 * ERROR_MEMORY.
 */
enum philox_status runner_room(void *items, size_t *room, size_t need,
			       size_t size);

/* --- live: which memory of a runner's pool holds outputs ------------------ */

/*
 * See Note [Runner] in graph/runner/state/state.h.
 */

/* live_range() returns what a block takes in the pool. */
struct range live_range(const struct philox_runner *runner,
			      const void *address, size_t bytes);

struct output_place;

/*
 * live_reserve() makes room for n live blocks in all. live_hold() adds an output
 * to its block, which has room as there is some for each output. live_let_go()
 * takes it away, and returns the memory of a block that has none left, else an
 * empty range. live_find() finds a live block, NULL: it is none; live_at() finds
 * the one whose range has an address.
 */
enum philox_status live_reserve(struct philox_runner *runner, size_t n);
void live_hold(struct output_slot *slot, const struct output_place *place);
struct range live_let_go(struct output_slot *slot);
const struct live_block *live_find(const struct philox_runner *runner,
				   uint64_t id);
const struct live_block *live_at(const struct philox_runner *runner,
				 const void *address);

/* live_join() sorts ranges and joins those that touch; returns how many. */
size_t live_join(struct range *ranges, size_t n);

/* live_meets() finds a live block in ranges, NULL: none is. */
const struct live_block *live_meets(const struct philox_runner *runner,
				    const struct range *ranges, size_t n);

/*
 * live_settle() makes the pool's live blocks those of the runner. On an error
 * nothing has changed.
 */
enum philox_status live_settle(struct philox_runner *runner);

/* function_settle() does that in a call of a function, which counts the time. */
enum philox_status function_settle(struct philox_function *function);

/* --- output: outputs and their handles ------------------------------------ */

/* What a message says of something. */
struct words {
	char text[256];
};

/* output_words() describes an output of a function, with its origin. */
struct words output_words(const struct philox_function *function,
			  size_t index);

/* What an output is, before it is handed out. */
struct output_place {
	void *address;
	size_t bytes;
	uint64_t id;
	int in_pool; /* its block is the runner's: `id` and the next three */
	struct range range;
	size_t block_bytes; /* as asked for */
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
 * outputs_fill() fills the memory of an output that is to be released, after
 * pool_fill_begin(), if nothing else is in it.
 */
void outputs_fill(struct output_slot *slot, philox_stream stream);

/*
 * outputs_drop_later() releases an output within a call, whose handles end
 * at once, but whose memory is kept until outputs_drop_now(), which is when a
 * thread next comes into the runner.
 */
void outputs_drop_later(struct output_slot *slot);
void outputs_drop_now(struct philox_runner *runner);

/* outputs_find() finds the slot of a good handle: ERROR_STALE, ERROR_INVALID. */
enum philox_status outputs_find(struct philox_runner *runner,
				const struct philox_output *output,
				struct output_slot **slot);

/*
 * Memory that a call is given without a handle. outputs_at() finds the output
 * that it is in: the smallest of its block that has it whole, of those the
 * newest, or if none has it whole the block's newest; NULL: it is not of the
 * runner's pool. ERROR_STALE, ERROR_INVALID: it is, but lies whole in no block
 * of an output; the message tells what is there. outputs_describe() writes what
 * is at an address, "": nothing of the runner's pool.
 */
#define OUTPUTS_TEXT 256

enum philox_status outputs_at(struct philox_runner *runner, const void *address,
			      size_t bytes, struct output_slot **slot);
enum philox_status outputs_describe(const struct philox_runner *runner,
				    const void *address,
				    char text[OUTPUTS_TEXT]);

/* outputs_finish() frees what a runner that ends has of all this. */
void outputs_finish(struct philox_runner *runner);

/* --- tie: outputs that are released with a ticket ------------------------- */

/*
 * See Locks in Note [Runner], graph/runner/state/state.h.
 */

/*
 * ties_make() ties an output to a pending ticket: ERROR_EXISTS, ERROR_MEMORY
 * and those of ticket_pending(). ties_forget() ends that; a slot without a tie
 * is left as it is.
 */
enum philox_status ties_make(struct output_slot *slot,
			     struct philox_region *region,
			     struct philox_ticket ticket);
void ties_forget(struct output_slot *slot);

/*
 * ties_ticket() tells which ticket an output is tied to: *region is NULL if
 * there is none. 0: the ticket has been used up, and so has the output.
 */
int ties_ticket(const struct output_slot *slot, struct philox_region **region,
		struct philox_ticket *ticket);

/*
 * ties_next() takes an output whose ticket has been used up, for which the next
 * call waits, NULL: of none; it is not tied any more.
 */
struct output_slot *ties_next(struct philox_runner *runner);

/* The hook `tied`: see lib/state/state.h. */
void ties_list(const void *tied, struct kept_list *list);

/* ties_finish() ends all ties of a runner. */
void ties_finish(struct philox_runner *runner);

/* --- fence: where on which streams outputs were released ------------------ */

/*
 * See Order in Note [Runner], graph/runner/state/state.h.
 */

/*
 * fences_note() notes that what is on a stream now comes before the next call.
 * Any thread. Errors: CAPTURE_UNSUPPORTED, MEMORY, those of the device.
 */
enum philox_status fences_note(struct philox_runner *runner,
			       philox_stream stream);

/*
 * fences_await() has a stream wait for all fences that are not passed, and
 * fences_wait() waits itself, on any thread. fences_passed() says that
 * something after those waits is in the chain.
 */
enum philox_status fences_await(struct philox_runner *runner,
				philox_stream stream);
enum philox_status fences_wait(struct philox_runner *runner);
void fences_passed(struct philox_runner *runner);

void fences_finish(struct philox_runner *runner);

/*
 * The legacy stream cannot capture: legacy_stream() writes the stream that
 * stands in for that of a call, the same one unless it is the legacy stream,
 * with legacy_join() before and after the call's work. On any other stream it
 * does nothing.
 */
enum philox_status legacy_stream(struct philox_runner *runner,
				 philox_stream of_call, philox_stream *stream);
enum philox_status legacy_join(struct philox_runner *runner,
			       philox_stream of_call, int after);

/* --- release.c: the outputs of a step, and what keeps them ---------------- */

/*
 * See Paths in Note [Runner], graph/runner/state/state.h.
 */

/*
 * step_strike_off() forgets tickets that are not pending any more.
 * step_reserve() makes room for n tickets that a call may give out.
 */
void step_strike_off(struct philox_runner *runner);
enum philox_status step_reserve(struct philox_runner *runner, size_t n);

/*
 * step_follow() says of which path the call is, before it releases anything:
 * that of its inputs.
 */
void step_follow(struct philox_runner *runner, size_t n_inputs);

/*
 * step_owe() notes a ticket that a call of a path gave out, or that an output
 * of it is tied to; there is room.
 */
void step_owe(struct philox_runner *runner, struct owed_ticket owed);

/* --- release.c: a thread comes into a runner ------------------------------ */

/*
 * runner_drain() releases the outputs whose tickets were used up since, within
 * a call or not. runner_acquire() is runner_lock(), with that and with what
 * calls have released.
 */
void runner_drain(struct philox_runner *runner, int within);
enum philox_status runner_acquire(struct philox_runner *runner);

#endif
