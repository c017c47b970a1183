/*
 * graph/verify/verify.h - replays compared with their eager form
 */
#ifndef GRAPH_VERIFY_VERIFY_H
#define GRAPH_VERIFY_VERIFY_H

#include <stdatomic.h>
#include <philox/fill.h>
#include <philox/pool.h>
#include <philox/graph.h>
#include "graph/launch/launch.h"
#include "lib/state/state.h"

/* --- callback: passes that a callback begins ------------------------------- */

/*
 * A body of a runner, or an eager form that a launch is compared with. Each of
 * their passes carries a number (struct philox_pass.run) by which its end is
 * found here, on whatever thread.
 */

enum callback_pass_state {
	CALLBACK_PASS_OPEN,
	CALLBACK_PASS_COMMITTED,
	CALLBACK_PASS_ABORTED
};

struct callback_pass {
	struct philox_pass pass;     /* as it began; its `run` is 0 */
	struct philox_ticket ticket; /* as the callback knows it */
	uint64_t number; /* `run` of the callback's; 0: the capture knows it */
	enum callback_pass_state state;
	unsigned flags;  /* of the callback's begin */
	unsigned commit; /* of its commit */
	uint32_t entry;  /* of uses; UINT32_MAX: none */
	uint32_t source; /* whose ticket it has: itself, or an earlier one */
	unsigned depth;  /* of the body that named its ticket; 0: the outermost,
			    or the call's entries did */
	int backward;
	int dry;   /* a backward: it holds nothing */
	int given; /* it holds nothing, and has the numbers of a launch */
};

/* What a run is of: each is within a struct of its own. */
enum callback_kind {
	CALLBACK_BODY, /* struct run (graph/runner/state/state.h) */
	CALLBACK_FORM  /* struct verify */
};

/* What users' callbacks are called with (philox/graph.h). */
struct philox_run {
	enum callback_kind kind;
	struct philox_run *next; /* in the context's list, by its lock */
	struct philox_context *context;
	_Atomic uintptr_t thread; /* that is in it; 0: none */
	struct philox_run *outer; /* that it is within, on that thread */
	int beginning;            /* that thread begins a pass of it */
	struct callback_pass *passes;
	size_t n_passes, pass_room;
};

/* callback_this_thread() is a thread's handle as a number that is not 0. */
uintptr_t callback_this_thread(void);

/*
 * From callback_begin() to callback_end() the ends of its passes are found;
 * from callback_enter() to callback_leave() this thread is in it, of which
 * callback_is_here() asks.
 */
void callback_begin(struct philox_run *callback,
		    struct philox_context *context);
void callback_end(struct philox_run *callback);
void callback_enter(struct philox_run *callback);
void callback_leave(struct philox_run *callback);
int callback_is_here(const struct philox_run *callback);

/*
 * callback_add() adds a pass, for which there is room, and has its end be found
 * if it is `numbered`: those of a recording are the capture's.
 * callback_placeholder() is a ticket by which a later pass names the one that
 * is added next. callback_give_cells() gives the cells of one back that holds
 * nothing else.
 */
void callback_add(struct philox_run *callback, struct philox_pass *pass,
		  const struct callback_pass *made, int numbered);
struct philox_ticket callback_placeholder(const struct philox_run *callback,
					  const struct philox_region *region);
void callback_give_cells(struct callback_pass *pass);

static inline int callback_is_form(const struct philox_run *run)
{
	return run && run->kind == CALLBACK_FORM;
}

/* The hooks `admit` and `ended`: see lib/state/state.h. */
enum philox_status callback_admit(const struct philox_region *region);
enum philox_status callback_pass_ended(const struct philox_pass *pass,
				       int committed, unsigned flags,
				       int *kept);

/* --- verify: a launch, compared with the eager form of its graph ---------- */

/*
 * Note [Verification]
 * ~~~~~~~~~~~~~~~~~~~
 * Between the prologue and the epilogue of a launch its numbers are known and
 * nobody else's. So there, before the graph is launched, its eager form is run
 * with them:
 *
 *   verify_open()    a session in a pool that the graph does not know
 *   verify_keep()    for each piece of memory that the graph changes: kept as
 *                    it is, and copied for the eager form
 *   verify_try()     the eager form, on trial (Note [Trial]), which may add
 *                    tables of rows to that memory
 *   verify_item()    for all that is to be compared
 *   ... the launch ...
 *   verify_compare() by a kernel, and waits; then, if something differs,
 *                    verify_explain(): why
 *   verify_put_back() or verify_give(), if need be: what the graph changed is as
 *                    it was before, or as the eager form has it
 *   verify_close()   all memory is free again
 *
 * Why. The eager form is run again a few times. If it differs from itself it is
 * not deterministic. Else it is run with memory that holds something else to
 * begin with, where it takes memory from the run: if that makes a difference,
 * it reads what it has not written. Else something was frozen in the graph, or
 * is read from memory that it should not know. All runs begin with the same
 * content of what they change, and with the same numbers.
 *
 * That memory is filled with one pattern in all runs but that last, so that
 * what nobody has written differs from what the graph finds.
 */

/* Memory that the graph changes. */
struct verify_memory {
	void *real;
	size_t bytes;
	void *kept;               /* what it was before the launch */
	void *copies[2];          /* the eager form's: of the first run, and of
				     the latest other one */
	size_t alignment, shift;  /* of the copies, and beyond that */
	struct philox_rows *rows; /* or NULL: which it changes in place */
	void *played;             /* rows: what the launch made of them */
};

/* What is compared. */
struct verify_item {
	const char *what; /* "output" */
	const char *name;
	const char *origin; /* "": none */
	uint32_t elements;  /* PHILOX_ELEMENTS() of a dtype; 0: bytes */
	size_t bytes;
	void *real;
	void *copies[2]; /* as above */
	size_t rows;     /* that many memories before that of the table; 0: it
			    is no table */
};

enum verify_why {
	VERIFY_FROZEN,
	VERIFY_RANDOM,    /* the eager form is not deterministic */
	VERIFY_UNWRITTEN, /* it reads what nobody has written */
	VERIFY_UNKNOWN    /* there was no memory to find out */
};

struct verify {
	struct trial trial; /* first */
	struct philox_graph *graph;
	struct philox_pool *pool;
	struct philox_pool_session *session;
	philox_stream stream;
	/* runs the eager form, and sets the copies of items of this turn */
	enum philox_status (*run)(struct verify *verify);
	void *user;
	/* NULL, or other processes run it as often as this one: before each run
	 * that explains, whether it can run here (`status`), and, as returned,
	 * whether it is to; ERROR_UNSUPPORTED: others cannot */
	enum philox_status (*agree)(struct verify *verify,
				    enum philox_status status);
	int turn;           /* which of the copies are in use */
	unsigned char fill; /* what memory of the run begins with */
	int lacking;        /* there was no memory for it */
	struct verify_memory *memory;
	size_t n_memory;
	struct verify_item *items;
	size_t n_items;
	uint64_t *firsts;   /* on the device: of each item, its first byte that
			      differs */
	uint64_t *places;   /* the same here, and two more words */
	size_t item_places; /* items that both have room for */
	const struct philox_state **reads;

	/* of philox_graph_launch_verified() alone */
	struct philox_run callback;
	const struct philox_verify_desc *options;
};

/*
 * verify_open() begins with a struct in which graph, pool, stream, run, user
 * and agree are set, and all else is 0; verify_close() ends, whatever has
 * failed, and returns the session of the pool if that could not be ended.
 */
enum philox_status verify_open(struct verify *verify);
struct philox_pool_session *verify_close(struct verify *verify);

/*
 * session_end_stuck() tries once more to end a session, NULL: there is none,
 * that could not be ended when it was time, since the device refused it.
 */
enum philox_status session_end_stuck(struct philox_pool_session **stuck);

/*
 * verify_reserve() takes all memory for what is kept of an array that the graph
 * changes, which verify_keep_reserved() then keeps, the i-th of those; so a
 * launch for which there is none is refused before it takes numbers.
 * verify_reserve_places() does so for what is to be compared.
 *
 * verify_keep() adds memory that the graph changes, whose copies begin `shift`
 * bytes after a multiple of an alignment. verify_add() adds what is compared.
 */
enum philox_status verify_reserve(struct verify *verify, void *real,
				  size_t bytes, size_t alignment);
enum philox_status verify_keep_reserved(struct verify *verify, size_t i);
enum philox_status verify_reserve_places(struct verify *verify, size_t items);
enum philox_status verify_keep(struct verify *verify, void *real, size_t bytes,
			       size_t alignment, size_t shift);
enum philox_status verify_add(struct verify *verify,
			      const struct verify_item *item);
enum philox_status verify_place(struct verify *verify, size_t i,
				const struct verify_item *item);

/*
 * verify_wait() waits for the stream: what was to be read from the device is in
 * `places` then. Where that fails for good they are given up, since the device
 * may still write to them.
 */
enum philox_status verify_wait(struct verify *verify);

/* verify_try() runs the eager form for the first time. */
enum philox_status verify_try(struct verify *verify);

/*
 * verify_compare() compares the first run with the launch or, with `again`,
 * with the latest run, waits, and writes the first item that differs and its
 * first byte that does; NULL: none does.
 */
enum philox_status verify_compare(struct verify *verify, int again,
				  const struct verify_item **item,
				  uint64_t *place);

/*
 * verify_explain() finds out why they differ, as far as there is memory for
 * that, and writes in words what of an item does, NULL: none here, and why: its
 * values are read from the device, which is waited for.
 * (graph/verify/explain.c)
 */
#define VERIFY_TEXT 480

enum philox_status verify_explain(struct verify *verify,
				  const struct verify_item *item,
				  uint64_t place, enum verify_why *why,
				  char text[VERIFY_TEXT]);

/*
 * verify_put_back() has all memory that the graph changed be as it was before
 * the launch; verify_give() has it, and all items, be what the first run made.
 */
enum philox_status verify_put_back(struct verify *verify);
enum philox_status verify_give(struct verify *verify);

/*
 * verify_begin_pass() begins the pass `index` of the graph with the numbers of
 * the launch: ERROR_MISMATCH if the graph has another one there.
 */
enum philox_status verify_begin_pass(struct verify *verify,
				     struct philox_region *region,
				     uint32_t index, int backward,
				     unsigned flags, struct philox_pass *pass);

/*
 * verify_paint() fills memory that the eager form has taken, with `status`;
 * that there was none is noted.
 */
enum philox_status verify_paint(struct verify *verify, void *address,
				size_t bytes, enum philox_status status);

/* --- forms: what an eager form asks of its run (graph/verify/launch.c) ---- */

/*
 * What the functions of philox/graph.h do where the run is that of an eager
 * form. form_refuse() is for what only bodies of runners have.
 */
philox_stream form_stream(const struct philox_run *run);
enum philox_status form_check(struct philox_run *run);
enum philox_status form_input(struct philox_run *run, size_t index,
			      void **address, size_t *bytes);
enum philox_status form_forward_begin(struct philox_run *run,
				      struct philox_region *region,
				      unsigned flags, struct philox_pass *pass);
enum philox_status form_backward_begin(struct philox_run *run,
				       struct philox_region *region,
				       struct philox_ticket ticket,
				       unsigned flags,
				       struct philox_pass *pass);
enum philox_status form_refuse(struct philox_run *run, const char *what);

/* --- parts: what the files of this room ask of each other ----------------- */

/* What memory of the eager form begins with, in all runs but the last. */
#define VERIFY_FILL       0xbb
#define VERIFY_FILL_OTHER 0x44

static inline struct philox_device *verify_device(const struct verify *verify)
{
	return verify->graph->context->device;
}

/* verify_first() keeps the first error, however many there are. */
static inline enum philox_status verify_first(enum philox_status status,
					      enum philox_status then)
{
	return status == PHILOX_OK ? then : status;
}

/*
 * verify_take() takes memory of the second pool, verify_copy() copies on a
 * stream: what there is no memory for is noted. verify_keep_on() keeps what
 * memory holds at a point of a stream, and verify_make_copy() copies that for a
 * run.
 */
enum philox_status verify_take(struct verify *verify, philox_stream stream,
			       size_t bytes, size_t alignment, void **address);
enum philox_status verify_copy(const struct verify *verify,
			       philox_stream stream, void *to, const void *from,
			       size_t bytes);
enum philox_status verify_keep_on(struct verify *verify, philox_stream stream,
				  const struct verify_memory *memory);
enum philox_status verify_make_copy(struct verify *verify,
				    struct verify_memory *memory);

/*
 * verify_rows_touch() is the trial's `touch`. verify_rows_undo() keeps what a
 * run has made of tables, and has them be as before; verify_rows_set() has them
 * be as before, or as the launch has left them. verify_rows_add() adds them to
 * what is compared, and verify_rows_place() says where the latest run's are.
 */
enum philox_status verify_rows_touch(struct trial *trial,
				     struct philox_rows *rows,
				     philox_stream stream);
enum philox_status verify_rows_undo(struct verify *verify);
enum philox_status verify_rows_set(struct verify *verify, int played);
enum philox_status verify_rows_add(struct verify *verify);
void verify_rows_place(struct verify *verify);

/* verify_run() runs the eager form on trial, and has tables be as before. */
enum philox_status verify_run(struct verify *verify);

#endif
