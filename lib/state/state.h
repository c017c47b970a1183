/*
 * lib/state/state.h - a context: its log, journal, generators, regions and
 * their ledgers
 */
#ifndef LIB_STATE_STATE_H
#define LIB_STATE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/kernel.h>
#include <philox/mesh.h>
#include <philox/pass.h>
#include <philox/region.h>
#include "lib/base/base.h"
#include "lib/containers/map.h"
#include "lib/containers/order.h"
#include "lib/device/device.h"
#include "lib/trace/events.h"

/* --- log: messages to the caller's log callback --------------------------- */

/*
 * log_post() queues a message about `subject` (text, level and event are set
 * from the other arguments) on this thread. May be called with locks held.
 */
void log_post(struct philox_context *context, enum philox_log_level level,
	      const char *event, const struct philox_log_entry *subject,
	      const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * context_report() is the last thing every public call does, without locks: it
 * delivers the posted messages and, if the call failed, logs the error as one
 * about `subject` (NULL: nothing in particular). Returns `status`.
 */
enum philox_status context_report(struct philox_context *context,
				  enum philox_status status,
				  const struct philox_log_entry *subject);

/*
 * context_null() fails a call that was given NULL for its argument `name`. If
 * that is the context itself, or an object that would lead to it, `context` is
 * NULL and nothing is logged.
 */
enum philox_status context_null(struct philox_context *context,
				const char *name);

/* --- context: the context as the library's parts see it ------------------- */

/*
 * Locking. One lock guards generators, regions and their ledgers. It is held
 * for reservation and book-keeping, never while a callback of the user runs:
 * messages of a call are posted with log_post() and delivered by
 * context_report(), and saved contexts to be released are handed out of the
 * locked part and released after it.
 *
 * lib knows nothing of graphs: the work of a pass on a capturing stream, or
 * with cells, is done by hooks, which graph/ fills in. Making and destroying a
 * context is in lib/state/state.h.
 */

/*
 * The functions of graph/ for passes. All are called with the context's lock
 * held.
 *
 *  admit    ERROR_STATE if this thread is in a body or an eager form, whose run
 *           begins its passes.
 *  begin    a pass on a capturing stream: records it and gives it cells. `info`
 *           is ACTIVE. On failure nothing is recorded.
 *  commit   ends a captured pass; for a forward writes its placeholder.
 *  abort    ends a captured pass and marks its capture as not adoptable.
 *  join     makes another stream of the pass's capture depend on the head.
 *  at       gives a view of a captured pass, or of one with cells, cells of its
 *           own for the view's iteration.
 *  at_word  the same, for an iteration that a kernel reads from a word.
 *  root     changes what a stream says of its capture, if that is the body of a
 *           conditional node, to what is said of the capture around it.
 *  take     gives an eager pass a block of cells and fills it on its stream.
 *  give     ends the use of that block at this point of the pass's stream.
 *  live     ERROR_STATE if a pass with cells has ended, or its capture has ended:
 *           its cells may belong to another by now.
 *  reap     releases what was held by native graphs that are gone by now.
 *  broken   a call found the capture of a stream invalidated: keeps the first
 *           such call, for the end of that capture to report.
 *  read     copies a generator's state to device memory on a stream that is
 *           capturing: at each launch. On failure nothing is recorded.
 *  set      sets a generator's state at each launch of what a stream captures.
 *           On failure nothing is recorded.
 *  here     returns the id of a capture that this thread has begun in the
 *           context and is recording, or 0.
 *  quiet    whether no capture and no launch is in progress (ERROR_BUSY) and no
 *           unannounced launch is still to be reported (ERROR_UNANNOUNCED).
 *           Changes nothing.
 *  still    whether no capture is in progress, and no graph between prologue and
 *           epilogue (ERROR_BUSY). Changes nothing.
 *  ended    a pass that a body of a runner began (pass->run) ends: commits with
 *           these flags, or aborts. *kept 1: the runner will end it itself, when
 *           the body has succeeded, and nothing else is to happen now.
 *           ERROR_STATE, with nothing changed: it has ended, with its body too.
 *  noted    a pass that is captured has drawn, or has handed out states: see
 *           struct pass_note in lib/pass/pass.h. A help, which cannot fail.
 *  digest   computes the context's digest, with which a journal begins:
 *           ERROR_MEMORY. A room after this one computes it.
 *  tied     lists the outputs that are tied to a ticket, `tied` of its struct
 *           saved_context.
 *  outputs  lists the runners whose outputs were saved, in order of name, if
 *           neither these nor the context have changed since; the caller frees
 *           the list, the names are the runners'. ERROR_MEMORY.
 *  fits     ERROR_MISMATCH if a region that is to be made, a record that is in
 *           no list, is not what a text said of the unclaimed one of its name.
 *           ERROR_MEMORY. A room after this one compares them.
 */
/* What a ticket keeps, as it is found; items beyond `room` are counted. */
struct kept_list {
	struct philox_kept_item *items;
	size_t room, n;
	uint64_t bytes;
};

/* Outputs of a runner that were saved. */
struct saved_outputs {
	char *runner;    /* its name */
	uint64_t digest; /* the checksum of what was saved */
};

struct pass_note;

struct context_hooks {
	enum philox_status (*admit)(const struct philox_region *region);
	enum philox_status (*begin)(struct philox_pass *pass,
				    const struct capture_info *info);
	enum philox_status (*commit)(struct philox_pass *pass, unsigned flags,
				     struct philox_ticket *ticket);
	enum philox_status (*abort)(struct philox_pass *pass);
	enum philox_status (*join)(const struct philox_pass *view);
	enum philox_status (*at)(const struct philox_pass *pass,
				 struct philox_pass *view);
	enum philox_status (*at_word)(const struct philox_pass *pass,
				      const uint32_t *word,
				      struct philox_pass *view);
	void (*root)(struct philox_context *context, struct capture_info *info);
	enum philox_status (*take)(struct philox_pass *pass);
	void (*give)(struct philox_pass *pass);
	enum philox_status (*live)(const struct philox_pass *pass);
	void (*reap)(struct philox_context *context);
	void (*broken)(struct philox_context *context, philox_stream stream,
		       const char *call);
	enum philox_status (*read)(struct philox_generator *generator,
				   philox_stream stream,
				   const struct capture_info *info,
				   struct philox_state *to);
	enum philox_status (*set)(struct philox_generator *generator,
				  const struct capture_info *info,
				  struct philox_state state);
	uint64_t (*here)(struct philox_context *context);
	enum philox_status (*quiet)(struct philox_context *context);
	enum philox_status (*still)(struct philox_context *context);
	enum philox_status (*ended)(const struct philox_pass *pass,
				    int committed, unsigned flags, int *kept);
	void (*noted)(const struct philox_pass *pass,
		      const struct pass_note *note);
	enum philox_status (*digest)(const struct philox_context *context,
				     uint64_t *digest);
	void (*tied)(const void *tied, struct kept_list *list);
	enum philox_status (*outputs)(struct philox_context *context,
				      struct saved_outputs **list, size_t *n);
	enum philox_status (*fits)(const struct philox_region *unclaimed,
				   const struct philox_region *made);
};

/* The kinds of a pass, in philox_pass.kind. */
enum pass_kind {
	PASS_FORWARD = 1,
	PASS_BACKWARD = 2,
	PASS_VIEW = 4 /* added to it: another stream's view */
};

struct philox_generator {
	struct philox_context *context;
	size_t at; /* in the context's order, see generator_number() */
	struct philox_state state;
	uint32_t flags; /* enum philox_generator_flags */
	uint64_t high; /* the offset from which it was set back; 0: it was not */
	int told_back; /* that regions do not follow it */
	struct philox_region *first; /* of its regions, dead names too */
	size_t regions;                   /* alive ones that use it */
	size_t tables;                    /* the same */
	size_t data;                      /* the same */
	size_t reads; /* in captures: copies of its state, and sets of it */
	const struct philox_region *open; /* SHARED, with an open forward */
};

struct philox_context {
	struct philox_device *device;
	const struct context_hooks *hooks;
	struct graph_context *graphs; /* graph/'s part of the context */

	pthread_mutex_t lock; /* guards what follows */
	struct order generators;
	struct philox_generator *generator; /* the default one */
	struct philox_region *regions;      /* newest first, dead names too */
	struct map names;                   /* the same, by their keys */
	struct philox_rows *rows;      /* newest first, see lib/rows/rows.h */
	struct philox_rows *dead_rows; /* the same, destroyed */
	unsigned long dead_rows_seen;  /* see free_unheld() there */
	struct map tables;             /* `rows`, by their keys */
	struct philox_data *data;      /* newest first, see lib/data/data.h */
	struct map data_names;         /* the same, by their keys */
	struct philox_mesh mesh;       /* a copy; it stays once it is settled */
	const struct philox_region *drawn; /* the first that began a pass */
	unsigned comparing; /* calls that read the mesh without the lock */
	int took_text;                     /* a text was loaded into it */
	void (*log)(void *user, const struct philox_log_entry *entry);
	void *log_user;
	atomic_int recorded; /* has a journal or a trace: lib/state/state.h */
	struct record *journal;   /* NULL: none */
	struct trace *trace;      /* NULL: none; see lib/trace/trace.h */
	uint64_t events;          /* written into journals */
	unsigned number;          /* in the process, for journals */
	struct drawn_span *spans; /* see lib/pass/pass.h */

	int loaded; /* from a text, which gave it this digest, and which names
		       these outputs */
	uint64_t loaded_digest;
	struct saved_outputs *loaded_outputs;
	size_t n_loaded_outputs;
};

/* The order of training data, and how far a run has come: philox/data.h. */
struct philox_data {
	struct philox_context *context;
	struct philox_data *next, **link; /* in the context's list */
	char *name;
	uint64_t key; /* hash of the name */
	struct philox_generator *generator;
	struct philox_mixture_source *sources;
	uint32_t n_sources;
	uint64_t block;    /* positions */
	uint64_t order;    /* philox_mixture_hash() */
	uint64_t seed;     /* of the mixture */
	uint64_t position; /* at most 2^63 */
};

/* data_restart() begins data again, with the seed of their generator. */
static inline void data_restart(struct philox_data *data)
{
	data->seed = philox_fold(data->generator->state.seed, PHILOX_FOLD_DATA,
				 data->key);
	data->position = 0;
}

/*
 * state_store() puts a kernel on a stream that writes 16 bytes to memory that
 * the caller named `name`; the call's bytes are copied.
 */
enum philox_status state_store(struct philox_device *device,
			       philox_stream stream, const char *name, void *to,
			       struct philox_state state);

void context_lock(struct philox_context *context);
void context_unlock(struct philox_context *context);

/*
 * context_settle() is called for every pass that begins, with the lock: from
 * the first one on numbers are of the context's place in its mesh, which stays.
 * A text that was loaded settles it, too.
 */
static inline void context_settle(struct philox_context *context,
				  const struct philox_region *region)
{
	if (!context->drawn)
		context->drawn = region;
}

/*
 * NEED_PROCESS() comes before the first lock of every public function that
 * takes one: in a fork the lock may be held by a thread that is not there. It
 * returns from the function that uses it, and nothing is logged, for the log's
 * callback is behind that lock, too. Where an operation of the device comes
 * first, that refuses.
 */
#define NEED_PROCESS(context)                                  \
	do {                                                   \
		if (fork_is_child((context)->device))          \
			return fork_refuse((context)->device); \
	} while (0)

/*
 * context_broken() is called for every call of a pass that a device refused: if
 * the reason was an invalidated capture, the call is kept as one that found it.
 */
void context_broken(struct philox_context *context, philox_stream stream,
		    enum philox_status status, const char *call,
		    const char *region);

/* --- ledger: the ledger of forwards whose backward is owed ---------------- */

/*
 * Note [Ledger]
 * ~~~~~~~~~~~~~
 * A region's ledger records, for each forward whose backward is owed, the state
 * from which that forward drew. It is the only place where a backward finds its
 * numbers: nothing is ever inferred from the order of calls, so any order, any
 * repetition and any failure leave every other ticket alone. An entry goes
 * through these phases, for eager and captured passes and any mix of them:
 *
 *           open                 commit                commit (not retained)
 *   (none) ------> FORWARD_OPEN --------> PENDING ------------------> (none)
 *                      |                   |   ^  \                     ^
 *                abort |           release |   |   \ commit while       | the
 *                      v                   v   |    \ others read       | last
 *                    (none)              (none)|     `----> DONE -------' ends
 *                                              |
 *                       begin, retained commit, abort: nothing changes
 *
 *  - A forward reserves its state when it begins. Whether it commits or aborts,
 *    its numbers are never issued again (promise: freshness).
 *  - A backward begins on a PENDING entry and reads its state; beginning
 *    changes only the count of readers. At most one reader at a time may be
 *    consuming. An abort or a failed launch only takes the reader back
 *    (promise: transactions).
 *  - A consuming commit makes the entry DONE: no new reader may begin. The
 *    entry is removed with its last reader, and then its saved context is
 *    released, once.
 *  - A launch of a graph claims the entries it will consume before it updates
 *    anything, so that two launches, or two uses of one launch, cannot both
 *    have a ticket; the claim is taken back if the launch fails.
 *  - Serials count a region's forwards from 1 and never repeat, even when a
 *    region is destroyed and made again, so a stale ticket is always detected.
 *
 * Entries are in a table that only the user makes larger, and are found through
 * a hash of the serial in constant time, however many are pending. The ledger
 * uses only host memory; its owner locks it. An entry and its share of the index
 * cost at most 128 bytes.
 */

#define LEDGER_CAPACITY_MAX (1u << 28)

/* Set in the serial of a placeholder, which never enters a ledger. */
#define SERIAL_PLACEHOLDER (1ULL << 63)

enum ledger_phase {
	LEDGER_FREE = 0,
	LEDGER_FORWARD_OPEN,
	LEDGER_PENDING,
	LEDGER_DONE
};

enum ledger_use {
	LEDGER_RETAIN = 0, /* reads, any number at once */
	LEDGER_CONSUME,    /* an open consuming pass */
	LEDGER_CLAIM       /* a launch that will consume */
};

/*
 * What goes with a ticket, taken out of the ledger to be released without
 * locks: what the caller has attached, and what the library has tied.
 */
struct saved_context {
	void *saved;
	void (*release)(void *saved, philox_stream stream); /* NULL: none */
	void *tied;
	void (*untie)(void *tied, philox_stream stream); /* NULL: nothing */
};

struct ledger_entry {
	uint64_t serial;
	struct philox_state state;
	struct saved_context context;
	uint32_t readers;    /* open backward passes and running launches */
	uint8_t phase;       /* enum ledger_phase */
	uint8_t consuming;   /* enum ledger_use of the consuming reader, or 0 */
	uint32_t next;       /* free list */
	uint32_t iterations; /* that the forward has reserved, at least 1 */
};

/* A place of the index: the low word alone decides most comparisons. */
struct ledger_place {
	uint32_t entry;  /* its number + 1; 0: empty */
	uint32_t serial; /* the low word */
};

struct ledger {
	struct ledger_entry *entries;
	struct ledger_place *index; /* finds an entry by its serial */
	uint32_t index_bits;
	uint32_t capacity;
	uint32_t used;
	uint32_t free; /* first free entry, or capacity */
};

enum philox_status ledger_init(struct ledger *ledger, uint32_t capacity);
void ledger_finish(struct ledger *ledger);

/*
 * ledger_move() moves all entries of a ledger, whatever their phase, to one
 * that is new and not smaller, and leaves nothing of the first.
 */
void ledger_move(struct ledger *from, struct ledger *to);

/*
 * ledger_grow() makes room for more entries in all, with all entries in their
 * places; ERROR_MEMORY.
 */
enum philox_status ledger_grow(struct ledger *ledger, uint32_t capacity);

/*
 * ledger_open() begins a forward with the state of its first iteration;
 * ERROR_LIMIT when the table is full.
 */
enum philox_status ledger_open(struct ledger *ledger, uint64_t serial,
			       struct philox_state state, uint32_t iterations);

/* ledger_commit() makes an open forward pending; ERROR_STATE if not open. */
enum philox_status ledger_commit(struct ledger *ledger, uint64_t serial);

/* ledger_abort() removes an open forward; ERROR_STATE if it is not open. */
enum philox_status ledger_abort(struct ledger *ledger, uint64_t serial);

/*
 * ledger_begin() begins a backward of a pending forward that may take
 * *iterations of it, and writes how many it has and the state to draw from.
 * ERROR_RELEASED, ERROR_STATE (forward still open), ERROR_BUSY, ERROR_MISMATCH
 * (it has fewer).
 */
enum philox_status ledger_begin(struct ledger *ledger, uint64_t serial,
				enum ledger_use use, uint32_t *iterations,
				struct philox_state *state);

/*
 * ledger_end() ends a backward that was begun with `use`; with `consume` the
 * forward is used up. Writes the saved context to release, if any.
 * ERROR_STATE if no such backward is open.
 */
enum philox_status ledger_end(struct ledger *ledger, uint64_t serial,
			      enum ledger_use use, int consume,
			      struct saved_context *released);

/* ledger_retain() makes an open consuming backward one that retains. */
void ledger_retain(struct ledger *ledger, uint64_t serial);

/* ledger_drop() removes a pending forward that has no readers. */
enum philox_status ledger_drop(struct ledger *ledger, uint64_t serial,
			       struct saved_context *released);

/* ledger_pending() finds a pending forward for its saved context. */
enum philox_status ledger_pending(struct ledger *ledger, uint64_t serial,
				  struct ledger_entry **entry);

/*
 * ledger_list() lists the entries that are in a phase (LEDGER_FREE: in any
 * other) in order of serial, in memory that the caller frees: ERROR_MEMORY.
 */
enum philox_status ledger_list(const struct ledger *ledger,
			       enum ledger_phase phase,
			       const struct ledger_entry ***entries,
			       uint32_t *n);

/*
 * ledger_check() verifies the invariants of the table; see PHILOX_DEBUG. A
 * large table is walked only occasionally, so that a check costs little on
 * average.
 */
void ledger_check(const struct ledger *ledger);

static inline void saved_context_release(struct saved_context released,
					 philox_stream stream)
{
	if (released.untie)
		released.untie(released.tied, stream);
	if (released.release)
		released.release(released.saved, stream);
}

/* --- generator: the offset of a generator ---------------------------------- */

/*
 * With the context's lock. generator_move() sets an offset under the present
 * seed, and knows whether it was set back; generator_put_back() undoes one that
 * a launch made which was refused. generator_load() puts a saved state in.
 */
void generator_move(struct philox_generator *generator, uint64_t offset);
void generator_put_back(struct philox_generator *generator, uint64_t offset);
void generator_load(struct philox_generator *generator,
		    struct philox_state state);

/*
 * generator_tell_back() posts to the log, once for a generator, that a region
 * with a state of its own draws though its generator was set back: the caller
 * may expect old numbers, which would break freshness.
 */
void generator_tell_back(const struct philox_region *region);

/* generator_number() is how many of the context's generators are older. */
static inline size_t generator_number(const struct philox_generator *generator)
{
	return order_place(&generator->context->generators, generator->at);
}

/* --- region: regions as the library's parts see them ---------------------- */

/*
 * A region's record belongs to its name: it stays in its context when the
 * region is destroyed, with the offset and serial issued last, and is used
 * again when a region of that name is made. So numbers and serials never
 * repeat, and a pointer to a destroyed region is recognised as one. `life`
 * counts the lives of the name; passes and captured passes remember it.
 *
 * A record may be *unclaimed*: a text that was loaded ahead of its regions
 * (PHILOX_LOAD_AHEAD, philox/save.h) says that the region is alive, and nobody
 * has made it yet. Then it is not alive, but has all that it will be alive
 * with: operators, axes, generator, state, and a ledger that has room for its
 * tickets only. It counts among its generator's regions, a new seed restarts
 * it, a save writes it as alive.
 *
 * All functions here are called with the context's lock held.
 */

struct region_op {
	char *name; /* or NULL */
	uint32_t calls;
	uint32_t cell;    /* index of its first cell */
	uint64_t advance; /* of one call, in words */
	uint64_t shift;   /* SHARED: of its first call, from the forward's */
};

/*
 * The axes of a mesh along which a region differs, in ascending order of the
 * bytes of their names; and the highest offset and serial that coordinates that
 * are gone had for their next forward, as a set of texts has said
 * (lib/ranks/ranks.h), or 0: a name that ends its life takes them for its own.
 */
struct region_axes {
	char **names;
	size_t n;
	uint64_t offset;
	uint64_t serial;
};

struct philox_region {
	struct philox_context *context;
	struct philox_region *next; /* in the context's list */
	char *name;
	uint64_t key; /* hash of the name */

	uint64_t life; /* 0: never made; counts up when made */
	int alive;
	int unclaimed;                      /* and not alive */
	struct philox_generator *generator; /* NULL: destroyed since */
	struct philox_region *next_of_generator;
	struct philox_region **link; /* to this one, in the generator's list;
					NULL: it is in none */
	struct region_op *ops;
	uint32_t n_ops;
	uint32_t cells;
	uint32_t flags;
	uint64_t advance; /* of one forward, in words */
	struct ledger ledger;
	struct region_axes axes; /* along which it differs */

	struct philox_state state; /* of the next forward, unless SHARED */
	uint64_t serial;           /* of the next forward */
};

/* region_status() names a region in the message of a failure. */
enum philox_status region_status(const struct philox_region *region,
				 enum philox_status status);

/* region_is_whole() tells whether a text says that a region is alive. */
static inline int region_is_whole(const struct philox_region *region)
{
	return region->alive || region->unclaimed;
}

/* region_check_alive() gives ERROR_STALE for a region that was destroyed. */
enum philox_status region_check_alive(const struct philox_region *region);

/* region_is_life() tells whether a region is alive in this life of its name. */
static inline int region_is_life(const struct philox_region *region,
				 uint64_t life)
{
	return region->alive && region->life == life;
}

/* region_check_life() gives it for a region that is not in that life. */
enum philox_status region_check_life(const struct philox_region *region,
				     uint64_t life);

/* region_check_quiet() gives ERROR_BUSY while a pass that holds something of
 * the region is open, or a launch. */
enum philox_status region_check_quiet(const struct philox_region *region);

/* region_cell_state() returns the state of one call of an op in a forward. */
struct philox_state region_cell_state(const struct philox_region *region,
				      struct philox_state forward, uint32_t op,
				      uint32_t call);

/* region_restart() derives the seed again and begins at offset 0. */
void region_restart(struct philox_region *region);

/*
 * region_axes_check() checks the axes that options name, without a lock;
 * region_axes_find() whether a mesh, if it has any, has the n axes along which
 * the region of a name is to differ. region_axes_init() copies them, in order.
 * (lib/state/region.c)
 */
enum philox_status region_axes_check(const struct philox_region_desc *options);
enum philox_status region_axes_find(const struct philox_mesh *mesh,
				    const char *region, const char *const *axes,
				    size_t n);
enum philox_status region_axes_init(struct region_axes *axes,
				    const struct philox_region_desc *options);

/* region_free_ops() frees a table of operators; NULL is fine. */
void region_free_ops(struct region_op *ops, uint32_t n_ops);

/*
 * region_new() makes the record of a name that was never alive and is in no
 * list; NULL, with ERROR_MEMORY as the thread's status, if there is no memory.
 */
struct philox_region *region_new(struct philox_context *context,
				 const char *name);

/*
 * region_check_options() checks options that have their present size, without
 * the lock. region_fill() gives a record that has none the ledger, operators,
 * axes and sizes that they say, of which the mesh is the caller's business;
 * ERROR_MEMORY: then it has none. (lib/state/region_create.c)
 */
enum philox_status region_check_options(const struct philox_context *context,
					struct philox_region_desc *options);
enum philox_status region_fill(struct philox_region *region,
			       const struct philox_region_desc *options);

/*
 * region_end_life() ends what a region is alive or unclaimed with. The name
 * stays; the caller ends the ledger.
 */
void region_end_life(struct philox_region *region, struct ledger *dropped);

/*
 * region_take() makes a record that is not whole, and has its generator, an
 * unclaimed one, with what another has that is in no list.
 */
void region_take(struct philox_region *region, struct philox_region *from);

/* region_free() frees a record and all it still holds; needs no lock. */
void region_free(struct philox_region *region);

/*
 * region_reserve() makes room for n more names in a context: ERROR_MEMORY.
 * region_list() adds a record to the context's, for which there is room;
 * region_find() finds the record with a key, NULL: there is none.
 * region_set_generator() puts a record into its generator's list; NULL: none.
 */
enum philox_status region_reserve(struct philox_context *context, size_t n);
void region_list(struct philox_region *region);
struct philox_region *region_find(const struct philox_context *context,
				  uint64_t key);
void region_set_generator(struct philox_region *region,
			  struct philox_generator *generator);

/* region_find_cell() is philox_region_cell_index() with the lock held. */
size_t region_find_cell(const struct philox_region *region, uint32_t op,
			uint32_t call);

/* region_op_name() returns an operator's name for messages, never NULL. */
const char *region_op_name(const struct philox_region *region, uint32_t op);

/*
 * pass_begin_given() begins a pass that holds nothing, on a stream that does
 * not capture: it draws from a state that it is given, and reads no ticket.
 * pass_begin_dry() begins one that looks like a backward, of a body that is run
 * dry (graph/runner/state/state.h), from the state of the region's next
 * forward. The caller, who is told of their end by the hook `ended`, gives
 * their cells back. (lib/pass/pass.c)
 */
enum philox_status pass_begin_given(struct philox_region *region,
				    philox_stream stream, int backward,
				    unsigned flags, struct philox_state state,
				    struct philox_pass *pass);
enum philox_status pass_begin_dry(struct philox_region *region,
				  philox_stream stream, unsigned flags,
				  struct philox_pass *pass);

/* --- journal: writing the events of a context, one line for each ---------- */

/*
 * Note [Journal]
 * ~~~~~~~~~~~~~~
 * The first line is "philox journal 1", the version of the format. Each other
 * line is an event of a context: the context's number, the event's number, the
 * event, and fields, each a name and a value, all separated by one space.
 * Values are decimal numbers, seeds and digests of 16 hex digits, words, flags
 * (words with commas between, or "none") and names in quotation marks; in these
 * a quotation mark, a backslash and every byte that is not printable ASCII is
 * written \xHH, and one that is very long is cut and ends with "..#" and its
 * hash. Offsets are in 32-bit words.
 *
 *  context digest D       The journal begins here.
 *  context-load digest D  A saved context was loaded, and this is its digest.
 *  context-destroy
 *  mesh-set mesh M rank R The context has its place in a mesh: of each axis
 *                         "name=coordinate/size", with a space between. From
 *                         here on regions that differ have that place's seeds.
 *  generator-create generator N seed S offset O
 *  generator-set ...      Seeded, or its state set under another seed, to these
 *                         values: its regions and its data begin again.
 *  generator-move ...     Its state set under the seed it had: regions go on. One
 *                         that a launch sets comes before that launch's begin.
 *  generator-fold ...     Folded, and this is the outcome.
 *  generator-advance ...  Advanced, and this is the outcome.
 *  generator-destroy ...  From here on the numbers after it are one lower.
 *  region-create region R generator N flags F cells C advance W seed S offset O
 *                serial K State and serial of its next forward; then "differs
 *                         A" if it differs along axes: with a space between.
 *  region-destroy region R pending P
 *  rows-create rows R generator N count C seed S
 *                         A table of rows and its seed. Only the device knows
 *                         what its rows are drawn for.
 *  rows-destroy ...       The same fields.
 *  data-create data D generator N sources C block B order H seed S
 *                         Data, the hash of their order, and their seed.
 *  data-destroy ...       The same fields.
 *  data-seek data D position P
 *                         Their position is set, and this is it.
 *  data-advance ...       Advanced, and this is the outcome.
 *  forward-begin region R ticket K seed S offset O flags F
 *                         An eager forward reserves its state. Ticket 0: none.
 *  forward-commit, forward-abort, backward-begin, backward-commit,
 *  backward-abort ...     The same fields. A backward keeps its ticket if the
 *                         flags of its commit have "retain". The begin of a
 *                         pass, and launch-use below, end with "iterations I"
 *                         if there are more than one.
 *  ticket-release region R ticket K
 *  ticket-attach region R ticket K
 *  capture-begin capture C
 *                         A capture has its first pass; counted from 1.
 *  capture-forward capture C pass I region R flags F
 *  capture-backward capture C pass I region R forward J|launch flags F
 *                         A pass is recorded; a backward repeats pass J, or the
 *                         forward that each launch names. If J is a backward,
 *                         each launch names the forward of both. In a body
 *                         there is "body B" at the end; then "iterations I"
 *                         if it has more than one.
 *  capture-node capture C node N kind if|while|switch body B bodies M limit L
 *                         A conditional node is recorded, with M bodies, the
 *                         B-th of the capture and those after it; at the end
 *                         "around A" if it is in body A itself.
 *  capture-commit capture C pass I flags F
 *  capture-abort capture C pass I
 *  capture-value capture C value V name N size B
 *                         A value is made, the V-th from 0, of B bytes.
 *  capture-adopt capture C graph G passes N
 *  capture-drop capture C passes N
 *  value-set graph G value V bytes X
 *                         The launches from here on have these bytes there.
 *  launch-begin graph G sequence Q uses N
 *                         A launch has taken its tickets; its uses follow.
 *  launch-use use I pass forward|backward region R ticket K seed S offset O
 *                flags F  The state that a forward got or a backward was given.
 *  launch-use use I pass repeat region R forward J
 *                         It is linked to use J of the same graph.
 *  launch-commit graph G sequence Q
 *  launch-abort graph G sequence Q status E
 *                         It failed: its tickets are as they were before.
 *  launch-refuse graph G use I status E
 *                         It was refused for that use: nothing has changed.
 *  graph-destroy graph G
 *  check graph G launches N sequence Q
 *                         Launches that were not announced, found after Q.
 *  check graph G beyond N sequence Q
 *                         Runs that drew an iteration that there is not; Q is
 *                         the number of a body of the capture, or 2^32 and that
 *                         of a pass.
 *  check graph G cut N sequence Q
 *                         Loops that ended at their limits while the condition
 *                         held; Q is the number of a body of the capture.
 *
 *  pool-create pool P segments plain|expandable
 *  pool-alloc pool P segment I offset O size B tag T
 *  pool-free ...          The same fields. A place is the same on each device.
 *  pool-grow pool P bytes B
 *                         Taken from the device.
 *  pool-trim pool P bytes B
 *                         Given back to it.
 *  pool-wait pool P       The pool has made a stream wait for another.
 *  pool-order pool P      The caller has ordered two streams.
 *  pool-begin pool P session capture|warm-up
 *  pool-end pool P
 *  pool-rollback pool P   A session's end: well, or with its blocks undone.
 *  pool-checkpoint pool P blocks N
 *  pool-restore pool P blocks N freed F revived R
 *                         N live blocks now.
 *  pool-destroy pool P
 *
 * A trace (Note [Trace] in lib/trace/trace.h) also has
 *
 *  context-save digest D  The context was saved.
 *  function-begin runner R function F
 *  function-miss runner R function F miss M why W
 *                         A call was no replay after its key's warm-ups: M are
 *                         words, with commas between, as in `misses` of Note
 *                         [Runner snapshot].
 *  function-times runner R function F [PHASE N]...
 *                         Nanoseconds that the call took, by phase; before the
 *                         first call, `create`: that making the function took.
 *  plan-load runner R load N
 *  capture-times graph G end N instantiate N adopt N
 *                         Those of a plan's load, and of making a graph.
 *  function-end runner R function F kind eager|warm-up|record|replay|failed
 *                why W    A call of a runner's function, and why it was no
 *                         replay, in the words of philox_function_reason().
 *
 * An event's fields come in this order; lib/trace/events.h has them for the
 * compiler. Events of a context are counted from 1. A journal that begins later
 * has those from then on, first of all `context`; so it is if a context comes
 * back to a journal, and only there are numbers left out. `context-destroy` is
 * a context's last. A header stands once more where a descriptor of the process
 * was opened once more; a process that dies may leave a part of a line at the
 * end.
 *
 * Calls that were refused are not events, except launches: nothing has changed.
 * Events are written with the context's lock held, where they take effect, so
 * that their order is the true one.
 */

struct journal_text {
	char text[320];
};

/*
 * journal_name() quotes a name, journal_flags() spells flags of passes,
 * journal_iterations() is a field for more than one iteration, with a space
 * before it; journal_number() is a generator's number in its context.
 */
struct journal_text journal_name(const char *name);
struct journal_text journal_flags(unsigned flags);
struct journal_text journal_iterations(uint32_t iterations);
unsigned journal_number(const struct philox_generator *generator);

/*
 * journal_write() writes an event if the context has a journal or a trace; its
 * arguments are used only then. journal_trace() writes one that changes
 * nothing, and so is in no journal. May post a message.
 */
#define journal_write(context, ...)                          \
	do {                                                 \
		if ((context)->recorded)                     \
			journal_event(context, __VA_ARGS__); \
	} while (0)

void journal_event(struct philox_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void journal_trace(struct philox_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* journal_pass() writes that an eager pass begins, commits or aborts. */
void journal_pass(const struct philox_pass *pass, const char *event,
		  unsigned flags);

/* journal_ticket() writes what happened to a pending ticket. */
void journal_ticket(const struct philox_region *region, uint64_t serial,
		    const char *event);

/*
 * journal_generator() writes what a generator's state has become,
 * journal_generator_at() what it became at a place of a launch.
 */
void journal_generator(const struct philox_generator *generator,
		       const char *event);
void journal_generator_at(const struct philox_generator *generator,
			  const char *event, struct philox_state state);

/* journal_region() writes that a region was created. */
void journal_region(const struct philox_region *region);

/* journal_mesh() writes which mesh a context was given. */
void journal_mesh(struct philox_context *context);

/*
 * journal_begin() numbers a new context and begins the journal and the trace
 * that the environment asks for; on failure, ERROR_FILE or ERROR_MEMORY, the
 * context has neither. journal_finish() writes that the context is destroyed
 * and ends both. Without the lock.
 */
enum philox_status journal_begin(struct philox_context *context);
void journal_finish(struct philox_context *context);

/* --- trial: work that is done on trial ------------------------------------ */

/*
 * Note [Trial]
 * ~~~~~~~~~~~~
 * The eager form of a graph is run with the numbers of a launch that comes
 * after it (philox/graph.h), and must leave nothing behind. What it draws in
 * passes is given to it, and they hold nothing. What it does beside passes goes
 * through the trial that its thread is in:
 *
 *  - A generator that it moves, it moves in the trial alone: what an eager run
 *    would see is a copy, made when it is first asked for. It cannot seed one,
 *    which would restart regions that others draw from.
 *  - Data are neither moved nor destroyed.
 *  - A copy of a generator's state to device memory is of the state that the
 *    launch will copy there: `reads`, in order.
 *  - A table of rows is on the device, and is not destroyed in a trial. Before a trial's first work on one,
 *    `touch` is called, which keeps the table's states, and puts them back
 *    later.
 *
 * A trial is a thread's, from trial_begin() to trial_end(); other threads draw
 * as ever.
 */

struct philox_rows;

/* A generator, as the trial sees it. */
struct trial_generator {
	const struct philox_generator *generator;
	struct philox_state state;
};

struct trial {
	struct trial *outer; /* that this one is within, or NULL */
	struct philox_context *context;
	philox_stream stream; /* of its work */
	struct trial_generator *generators;
	size_t n_generators;
	const struct philox_state *const *reads; /* of the launch */
	size_t n_reads, next_read;
	enum philox_status (*touch)(struct trial *trial,
				    struct philox_rows *rows,
				    philox_stream stream);
	const char
		*refused; /* what it has tried and may not do; NULL: nothing */
};

/*
 * trial_begin() has this thread's calls be the trial's, of which context,
 * stream, reads and touch are set; trial_end() ends that, and forgets its
 * generators.
 */
void trial_begin(struct trial *trial);
void trial_end(struct trial *trial);

/* trial_here() returns the trial of a context that this thread is in, or NULL. */
struct trial *trial_here(const struct philox_context *context);

/*
 * trial_refuse() refuses a call that has effects a trial cannot undo, a
 * literal, and has the trial know: ERROR_UNSUPPORTED.
 */
enum philox_status trial_refuse(struct trial *trial, const char *what);

/*
 * trial_generator() finds a generator's copy, with the context's lock:
 * ERROR_MEMORY. Outside of trials it is the generator's state itself.
 */
enum philox_status trial_generator(struct philox_generator *generator,
				   struct philox_state **state);

/*
 * trial_read() writes the state that the next copy of one is of, with the
 * context's lock; ERROR_MISMATCH: the launch makes no such copy.
 */
enum philox_status trial_read(struct trial *trial, struct philox_state *state);

/* --- context_create: making and ending lib's part of a context ------------ */

/*
 * Called by graph/, which makes and destroys whole contexts and knows the order
 * in which their parts end.
 */

struct context_hooks;
struct philox_context;
struct philox_device;

/* context_init() makes the part of a context that lib owns. */
enum philox_status context_init(struct philox_context *context,
				struct philox_device *device,
				const struct context_hooks *hooks);

/*
 * context_end_regions() destroys the regions that are alive, callbacks and all,
 * while the context is still whole.
 */
void context_end_regions(struct philox_context *context);

/* context_finish() undoes context_init(). */
void context_finish(struct philox_context *context);

#endif
