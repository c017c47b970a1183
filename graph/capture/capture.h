/*
 * graph/capture/capture.h - a capture: its passes, cells, bodies, head
 */
#ifndef GRAPH_CAPTURE_CAPTURE_H
#define GRAPH_CAPTURE_CAPTURE_H

#include <stddef.h>
#include <philox/fill.h>
#include <philox/graph.h>
#include "alloc/arena.h"
#include "graph/capture/context.h"
#include "lib/device/device.h"
#include "lib/device/kernels.h"
#include "lib/state/state.h"

/* --- capture.c: whether a native graph is still there --------------------- */

/*
 * The memory of a capture must stay for as long as its native graph and all
 * executable graphs made from it, which the library may not own. A lifeline is
 * shared by one of our records and a native graph; when the graph and all made
 * from it are gone, or its capture is invalidated, the device releases its
 * reference, on any thread: that only sets a flag, since it may not call the
 * device, and a later call of ours sees it.
 */

struct lifeline;

/*
 * Of many lifelines a later call need not ask each: those that have a list are
 * put there as they go, without a lock. It lives as long as its maker, and as the
 * last native graph that may put something there.
 */
struct lifelines;

/*
 * lifelines_create() makes a list; NULL: no memory. lifelines_put() ends it for
 * its maker. lifelines_see() calls `gone` for the record of each lifeline that
 * went since the last call, unless that was put: with the lock under which they
 * are put.
 */
struct lifelines *lifelines_create(void);
void lifelines_put(struct lifelines *list);
void lifelines_see(struct lifelines *list, void (*gone)(void *record));

/*
 * lifeline_attach() makes one and gives its other reference to a native graph,
 * which may be in capture: ERROR_MEMORY, those of device_graph_retain(). The
 * list may be NULL; `record` is what lifelines_see() tells of it.
 */
enum philox_status lifeline_attach(struct philox_device *device,
				   philox_native_graph native,
				   struct lifelines *list, void *record,
				   struct lifeline **lifeline);

/* lifeline_put() gives our reference up. */
void lifeline_put(struct lifeline *lifeline);

/* lifeline_is_gone() tells whether the native graph is. */
int lifeline_is_gone(const struct lifeline *lifeline);

/* --- topology: a kernel of ours that what a graph draws comes after -------- */

/*
 * A graph that is being captured has one: the head, or in a body the kernel
 * that counts its runs. It depends on nothing, or, if all that has been
 * captured so far is one line, on the end of that line, which then continues
 * from it; so a graph that is one line stays one. What draws depends on it, by an
 * edge unless it does so anyway. Where nodes have priorities, what draws on a
 * stream of high priority would wait for it, so it has the highest of the
 * streams that draw.
 */

enum { DEPEND_AFTER = 8 };

struct first_node {
	device_node node;
	device_node after[DEPEND_AFTER]; /* some nodes that come after it */
	uint32_t n_after;                /* ever noted */
	int priority; /* the highest of the streams that draw */
};

/*
 * depend_add() adds the kernel to the graph that a stream with these tips is
 * capturing.
 */
enum philox_status depend_add(struct philox_device *device,
			      philox_native_graph native,
			      const struct capture_tips *tips,
			      const struct kernel_call *call,
			      struct first_node *first);

/* depend_set() changes the kernel's arguments; its priority stays. */
enum philox_status depend_set(struct philox_device *device,
			      struct first_node *first,
			      const struct kernel_call *call);

/* depend_raise() gives it the priority of a stream that draws, if higher. */
enum philox_status depend_raise(struct philox_device *device,
				struct first_node *first, philox_stream stream);

/*
 * depend_on() makes what a stream of that capture records next come after the
 * kernel, and gives that the stream's priority if it is higher. The tips are the
 * stream's, of before or after depend_add(), which leaves them as they are.
 */
enum philox_status depend_on(struct philox_device *device,
			     struct first_node *first, philox_stream stream,
			     const struct capture_tips *tips);

/* --- head: the head: how a captured graph gets its states ----------------- */

/*
 * Note [Head]
 * ~~~~~~~~~~~
 * The host knows the state of every ticket; a captured graph must get these
 * states at each launch, cheaply and in launch order. So the first philox work
 * in a capture adds one node to it, the head: a kernel that fills the cells
 * from which all captured kernels read their states.
 *
 * Whatever draws comes after the head, by an edge only where it would not
 * otherwise (graph/capture/capture.h): a graph that is one line, which CUDA
 * launches faster than others, stays one. If all that has been captured so far
 * comes before the stream's next node, the head takes that place; else it is a
 * root, and each branch that draws gets an edge from it.
 *
 * The head's parameters are the message: a sequence number and one state per
 * slot (a forward, with the backwards paired with it in the same capture, or a
 * backward named at launch), by value. philox_graph_launch() sets them on the
 * executable graph before it launches; CUDA applies that only to later
 * launches, so replays may queue up. But for the first launch, see below, this
 * needs no stream work, copy or allocation.
 *
 * The head derives each cell's operator seed from its slot's region seed. A
 * message is new if its number is above that of the last one that was taken. A
 * launch without philox repeats the last message, or has number 0, which is
 * never new: the head then writes poison into all cells, which makes our
 * kernels write NaN or all-ones, and reports the launch to the host. A launch
 * that failed only leaves a gap in the sequence numbers.
 *
 * Nothing of this waits for the device while passes are captured, since the
 * device may be full, or wait for work that comes after the capture. A head has
 * two control blocks, and the message says which counts. The open one is in
 * mapped host memory with its map: the host writes both as passes are recorded,
 * and they are true at once. Messages of number 0 name it, and only they. The
 * node has one from the start and an executable graph until its first launch
 * through philox; so nothing reads a cell that a head has not written. The
 * sealed one is in device memory, where heads read it fast. All messages above
 * 0 name it. It is copied there, with its map and the numbers of its parts (see
 * below), all 0, in stream order, on the stream of the first launch; since CUDA
 * runs the launches of one executable graph one after the other, all wait for
 * that copy. If the first launch fails, an event takes its place. It is copied
 * once: again would undo what heads have written.
 *
 * A head has as many threads as it has work for, from one warp to many blocks,
 * and none waits for another. The cells are divided into parts of HEAD_PART,
 * and each part has a number of its own, of the last message that it took. The
 * warp that fills a part raises its number to the message's by one atomic
 * maximum, whose answer says whether the message was new. The answers agree:
 *
 *  - Only the graph's own executable graph ever has a message with a number; we
 *    set it there alone, while a node of the captured graph keeps number 0,
 *    which all other executable graphs, clones and child graphs copy.
 *  - Launches of one executable graph run one after the other (cudaGraphLaunch:
 *    "ordered behind [...] any previous launches of hGraphExec"). So when a
 *    head with a number begins, those before it are done, all parts have one
 *    number, and all give one answer. Heads with number 0 neither read nor
 *    change one.
 *  - Were two heads with one message to run at once after all, each part would
 *    go to exactly one of them, and part 0, which reports, to one only.
 *
 * So what overlaps is an announced launch and others with number 0, which share
 * its cells. These always report, whatever the order, since their answer does
 * not depend on it; several may do so at once.
 *
 * Each control block has a report of its own, so that a head that counts in one
 * finds all that it needs there; the host adds them up. It is in mapped host
 * memory, written by heads alone: the counts must be 0 before the first launch,
 * and in device memory that would mean to wait for a stream. A head counts
 * itself by an addition that is atomic among the threads of one device, as
 * heads of a graph are; that holds in memory of any kind (CUDA C++ memory
 * model, "Atomicity"), while it is up to the bus whether it is atomic for the
 * host too. So the host does not look at that word: the head writes what it
 * found into another one, for the host, after a fence, and looks whether the
 * count has grown meanwhile, in which case it writes again. Of all who write,
 * the last one finds no newer count (else it would write again), so in the end
 * that word is right; until then it may go back, and the host takes only what
 * is above what it has seen. The number that is reported with it is that of the
 * last message: the sealed control block has it, and the host writes it into
 * the open one after each launch.
 *
 * A cell is written and read as one access of 16 bytes (philox_read_cell()), so
 * whoever reads it gets a state of an announced launch or poison. A kernel of
 * an announced launch comes after its own head, and the next announced head
 * comes after the kernel; so it gets its own state, or poison. One of another
 * launch comes after poison and may get the state of any announced launch that
 * runs meanwhile. philox/graph.h says so. Each kernel and each thread reads for
 * itself: one may get poison and the next the state.
 */

/*
 * Note [Heads that run ahead]
 * ~~~~~~~~~~~~~~~~~~~~~~~~~~~
 * New parameters of a node need the native graph that the node is of. If the
 * owner of an adopted graph has destroyed that (PyTorch does), there is none: a
 * node of a clone is not valid for it, and an update of the whole graph at each
 * launch would cost as many nodes as it has. So its head keeps number 0 for
 * good, and a launch runs another head before the graph, on the launch's
 * stream, with the message. That one fills the cells, as a head in a graph
 * does, and tells the open control block, once it has taken its message, where
 * the sealed one is. A head of number 0 that finds this looks there. A second
 * number for each part says which message the graph's head found last. If there
 * is a newer one the cells have been filled for this launch, and it leaves them
 * alone; if not, nobody has announced the launch, and it writes poison.
 *
 * What fills the cells is now not in the graph, whose launches CUDA orders. So
 * an event after each launch has the next head wait for it, and the memory of a
 * head stays until it has been reached. A launch that fails is followed by one
 * more head of number 0, which takes the message away. A launch that philox was
 * not told about has no such event: one that is still to run when the next head
 * does, on another stream, may take the message in that one's place. So an
 * executable graph is here what a second one is elsewhere: philox/graph.h says
 * what may happen to launches that overlap, and these count as such.
 */

/* How far the copy of a sealed control block has come. */
enum head_copy {
	HEAD_NOT_COPIED,
	HEAD_SENT,    /* is to be followed by a launch */
	HEAD_COPYING, /* was not: until the event has been reached */
	HEAD_COPIED   /* a launch came after it, and further ones after that */
};

/* A head's memory. Each map comes after its control block. */
struct head {
	struct arena_block report; /* mapped: one for each control block, one
				      for bodies, and one for loops */
	struct arena_block open;   /* mapped: the open control block */
	struct arena_block staged; /* mapped: what the sealed one is to be */
	struct arena_block sealed; /* device memory */
	struct arena_block staged_more, sealed_more; /* what bodies need */
	int more_sent;                               /* that is copied, too */
	uint64_t cells;                              /* entries of the map */
	uint64_t room;    /* for entries, in `staged` */
	uint64_t seen[4]; /* counts of the reports */
	enum head_copy copy;
	philox_event copied;
	philox_event ran; /* ahead: after all kernels of the last launch */
	const struct philox_device *device;
};

/* A message under construction, reused for every launch. */
struct head_message {
	struct head_args *args;
	uint32_t capacity;
};

/*
 * head_create() takes memory for a head without cells; legal during capture,
 * and waits for nothing, as everything here.
 */
enum philox_status head_create(struct graph_context *graphs, struct head *head);

/*
 * head_destroy() frees that memory; a zero head is fine. It must be idle, that
 * is, without a copy of its own under way, unless its arenas end next.
 */
void head_destroy(struct graph_context *graphs, struct head *head);
int head_is_idle(struct graph_context *graphs, struct head *head);

/*
 * head_reserve() makes room for more entries of the map, which
 * head_add_region() and head_add_state() then add: for the cells of one region,
 * in order, `shift` words further on, and for one cell with a slot's state as
 * it is. Only until the head is sealed.
 */
enum philox_status head_reserve(struct graph_context *graphs, struct head *head,
				uint64_t cells);
void head_add_region(struct head *head, const struct philox_region *region,
		     void *cells, uint32_t slot, uint64_t shift);
void head_add_state(struct head *head, void *cell, uint32_t slot);

/*
 * head_seal() takes the device memory of the sealed control block, its map and
 * the numbers after it; sealing again does nothing.
 */
enum philox_status head_seal(struct graph_context *graphs, struct head *head);

/*
 * head_seal_more() takes further device memory that head_send() is to fill, and
 * writes where its content is to be put, and where it will be. Again it gives
 * the same.
 */
enum philox_status head_seal_more(struct graph_context *graphs,
				  struct head *head, size_t size, char **host,
				  char **device);

/*
 * head_body_report() returns the device address of the report of bodies; that
 * of loops follows it.
 */
struct head_report *head_body_report(const struct head *head);

/*
 * See Note [Heads that run ahead]. head_prepare_ahead() takes what such a head
 * needs; head_run_ahead() says of a sealed one, which is not sent yet, that it
 * is one. head_launch_ahead() runs it on a stream, head_ran_ahead() notes that
 * all of its launch has been put there.
 */
enum philox_status head_prepare_ahead(struct philox_device *device,
				      struct head *head);
void head_run_ahead(struct head *head);
enum philox_status head_launch_ahead(struct philox_device *device,
				     const struct head *head,
				     const struct head_message *message,
				     philox_stream stream);
void head_ran_ahead(struct philox_device *device, const struct head *head,
		    philox_stream stream);

/*
 * head_send() has the sealed control block in device memory before what the
 * stream gets next, a launch, whose outcome head_sent() is told; the stream
 * must not be capturing. They take no lock: calls for one head come one at a
 * time.
 */
enum philox_status head_send(struct philox_device *device, struct head *head,
			     philox_stream stream);
void head_sent(struct philox_device *device, struct head *head,
	       philox_stream stream, enum philox_status launched);

/*
 * head_untold() returns how many the next call below will return,
 * head_beyond_untold() and head_cut_untold() the same of those after it.
 */
uint64_t head_untold(const struct head *head);
uint64_t head_beyond_untold(const struct head *head);
uint64_t head_cut_untold(const struct head *head);

/*
 * head_unannounced() returns how many unannounced launches happened since the
 * last call, and writes the repeated sequence number if there were any.
 */
uint64_t head_unannounced(struct head *head, uint64_t *sequence);

/*
 * head_beyond() returns how many reports of bodies (Note [Bodies]) came since
 * the last call, and writes the number of a body, or of a pass, that one is of.
 */
uint64_t head_beyond(struct head *head, uint64_t *number);

/*
 * head_cut() returns how many loops were ended at their limits since the last
 * call though their conditions held, and writes the number of one's body.
 */
uint64_t head_cut(struct head *head, uint64_t *number);

/* head_note_taken() notes the number of a message that was launched. */
void head_note_taken(const struct head *head, uint64_t sequence);

/*
 * head_message_init() makes a message for `slots` states, all zero, with
 * sequence number 0; ERROR_LIMIT if there are more than the device's head_max.
 */
enum philox_status head_message_init(struct head_message *message,
				     const struct head *head, uint64_t slots);
void head_message_finish(struct head_message *message);

/* head_message_number() numbers a message; the head is sealed, or 0 is given. */
void head_message_number(struct head_message *message, const struct head *head,
			 uint64_t sequence);

/* head_call() returns the launch of a head with a message. */
struct kernel_call head_call(const struct head *head,
			     const struct head_message *message);

/* --- capture: captures and the passes they record ------------------------- */

/*
 * Note [Captured passes]
 * ~~~~~~~~~~~~~~~~~~~~~~
 * Each pass asks the stream for its capture, which is an id, unique in the
 * process. Nothing keeps a flag "capturing", so captures may overlap on threads
 * and fork to other streams.
 *
 * A pass on a capturing stream draws no numbers and makes no live ticket. It
 * records a struct captured_pass: which region, forward or backward, and for a
 * backward what it repeats. Begun with the zero ticket, the forward is named at
 * each launch. Begun with a placeholder, it is linked to the pass of the same
 * capture that the placeholder stands for: a forward, or a backward named at
 * launch. A pass and those linked to it share one set of cells and one slot in
 * the message of the head (Note [Head]), and at most one of them uses the
 * ticket up: the rules of Note [Ledger] hold among the backwards of a source as
 * among those of a ticket, but are applied once, at capture.
 *
 * A state of a generator that is set in a capture (struct state_set) is no work
 * of the device. A launch sets it while it claims its passes, before the pass
 * that came after it; so SHARED passes after it and copies of the state see it.
 * If the launch is refused, it is put back with the claims.
 *
 * The device memory of a capture lives as long as the native graph and all
 * executable graphs made from it. The native graph holds a reference to the
 * capture's lifeline, whose release only sets a flag, since it may not call
 * CUDA; a later call reaps the capture. When a capture is invalidated, its
 * graph goes, and so does its lifeline.
 *
 * A capture is first recording; then it is sealed, when a graph is made from it
 * (philox_graph_adopt(), philox_capture_end()), or dropped. A pass that is
 * still open or was aborted prevents sealing. Guarded by the context's lock,
 * which is not held while a graph is instantiated or tried: until that has ended
 * nothing else may happen to the capture.
 */

enum captured_phase { CAPTURED_OPEN, CAPTURED_COMMITTED, CAPTURED_ABORTED };

#define CAPTURED_NO_SOURCE UINT32_MAX
#define CAPTURED_NO_BODY   UINT32_MAX

struct captured_pass {
	struct philox_region *region;
	uint64_t life;       /* of the region */
	uint32_t slot;       /* of the message */
	uint32_t flags;      /* of begin and commit */
	uint32_t source;     /* linked: index of the pass it is linked to */
	uint32_t body;       /* that it is in, or CAPTURED_NO_BODY */
	uint32_t iterations; /* a launch reserves them, or its ticket needs
				them; linked: 1 */
	uint8_t phase;
	uint8_t backward;
	uint8_t consuming;           /* source: a consuming backward is open */
	uint8_t consumed;            /* source: one was committed */
	struct arena_block cells;    /* zero if it has those of its source */
	struct arena_block known;    /* named at launch, with a view by word: a
					cell with its ticket's iterations */
	uint32_t known_slot;         /* of that */
	struct philox_state *states; /* what it draws from */
};

/*
 * Bytes that each launch brings along (philox/graph.h): a cell with a
 * slot of the message, like the state of a generator below. The head stores the
 * slot's 16 bytes as they are, or poison. A graph's message keeps those that
 * were set last, from launch to launch.
 */
struct captured_param {
	char *name;
	uint32_t slot;
	uint32_t size;
	struct arena_block cell;
	struct philox_state initial; /* its bytes, zeros after them */
};

/* A copy of a generator's state that each launch makes. */
struct state_read {
	struct philox_generator *generator;
	uint32_t before; /* the pass it comes before */
	uint32_t slot;
	struct arena_block cell;
};

/* A generator's offset that each launch sets. */
struct state_set {
	struct philox_generator *generator;
	uint32_t before; /* the pass it comes before */
	uint32_t reads;  /* copies of states that come before it */
	struct philox_state state;
	uint64_t was; /* the offset before, in the launch that is claimed */
};

/*
 * Conditional nodes and their bodies: see Note [Bodies] in
 * graph/capture/capture.h.
 */
enum body_phase { BODY_NEW, BODY_OPEN, BODY_CAPTURED };

struct captured_body {
	uint64_t id;          /* of its capture, once it is begun */
	philox_stream stream; /* the same */
	philox_native_graph native;
	struct first_node first; /* its kernel */
	uint8_t phase;
	uint32_t node;              /* index of its node */
	uint32_t slot;              /* of its control */
	struct arena_block control; /* two states */
	uint64_t limit;
	uint8_t ends; /* its last kernel ends the loop */
	struct body_cell *cells; /* the map's, until it is sealed */
	uint32_t n_cells;
	struct body_map *map; /* device address, once it is sealed */
};

struct conditional_node {
	enum philox_conditional_kind kind;
	uint32_t around; /* body that it is in, or CAPTURED_NO_BODY */
	uint32_t body;   /* index of its first */
	uint32_t bodies; /* and how many it has */
	uint32_t limit;
	uint32_t sets; /* kernels in its bodies that set its condition */
	int branched;  /* one is in a body within */
	int own;       /* the caller's */
	int ended;
	device_condition condition;
};

/*
 * What was recorded, step by step, for the text of its program
 * (graph/runner/explain). A capture notes the steps from FORWARD on to
 * BODY_END, in the order in which they were asked for; the others are those of
 * the body of a runner's function. At most PROGRAM_MOST steps are kept, and the
 * rest are counted.
 */
enum program_kind {
	PROGRAM_FORWARD,
	PROGRAM_BACKWARD,
	PROGRAM_COMMIT,
	PROGRAM_DRAW,
	PROGRAM_CELL,   /* a kernel of the caller's gets an operator's state */
	PROGRAM_CELLS,  /* ... all states of a pass */
	PROGRAM_STATE,  /* a generator's state is copied */
	PROGRAM_VALUE,  /* a launch parameter is asked for */
	PROGRAM_BODY,   /* of a conditional node: what follows is in it */
	PROGRAM_BODY_END,
	PROGRAM_ALLOC,
	PROGRAM_FREE,
	PROGRAM_BUFFER, /* memory for a copy of an input */
	PROGRAM_OUTPUT,
	PROGRAM_CALL,  /* of a function within: its steps follow */
	PROGRAM_INNER, /* an output of it */
	PROGRAM_RETURN
};

enum { PROGRAM_MOST = 16384 };

struct program_step {
	uint8_t kind;
	uint8_t dist, dtype, layout; /* of a draw; no layout: 0 */
	uint32_t pass;      /* of the capture; STATE, VALUE, BODY: its number */
	uint32_t flags;     /* of a begin or a commit */
	uint32_t op, call;  /* of the region of the pass */
	uint32_t iteration; /* that a view draws; UINT32_MAX: by a word */
	struct philox_span span;
	uint64_t with[4]; /* a draw's parameters: the bits of doubles, or
			     integers */
};

struct program {
	struct program_step *steps;
	uint32_t n, room;
	uint64_t lost; /* steps for which there was no room */
};

struct capture {
	struct capture *next, **link; /* in one of the context's lists */
	struct capture *next_ending;  /* in its list of those */
	int ending;                   /* it is there */
	struct graph_context *graphs;
	uint64_t id;                /* the device's */
	uint32_t serial;            /* ours, in placeholders */
	philox_native_graph native; /* while it is being captured */
	struct first_node first;    /* the head's node */
	struct head head;
	struct lifeline *lifeline;
	struct captured_pass *passes;
	uint32_t n_passes;
	uint32_t capacity;        /* of passes */
	struct state_read *reads; /* in order of recording */
	uint32_t n_reads;
	struct state_set *sets; /* in order of recording */
	uint32_t n_sets;
	struct captured_param *params; /* in order of recording */
	uint32_t n_params;
	struct conditional_node *nodes; /* in order of recording */
	uint32_t n_nodes;
	struct captured_body *bodies; /* the same */
	uint32_t n_bodies;
	struct arena_block *views; /* cells of views (philox_pass_at()) */
	uint32_t n_views;
	uint32_t message_slots;
	uint32_t node_capacity; /* of the node's message */
	struct program program;
	int dropped;
	int sealing;       /* a graph is being made of it, without the lock */
	const char *graph; /* sealed: the name of the graph made from it */
	char last[128];    /* the last call that found it valid */
	char broken[160];  /* why no graph can be made of it, or "" */
};

/*
 * capture_find() finds a recording or sealed capture by the device's id;
 * capture_around() does so also by that of a body in it.
 */
struct capture *capture_find(struct graph_context *graphs, uint64_t id);
struct capture *capture_around(struct graph_context *graphs, uint64_t id);

/* capture_refuse_body() refuses the id of a body: ERROR_INVALID. */
enum philox_status capture_refuse_body(struct graph_context *graphs,
				       uint64_t id);

/*
 * capture_root() changes what a stream said of its capture, if that is of a
 * body, to what is said of the capture around it: the hook `root`.
 */
void capture_root(struct philox_context *context, struct capture_info *info);

/* capture_was_dropped() tells whether one of that id is dropped, not freed. */
int capture_was_dropped(const struct graph_context *graphs, uint64_t id);

/*
 * capture_get() finds the record of the capture that a stream is in, perhaps in
 * a body, or makes one: then it adds the head to the capture's graph.
 */
enum philox_status capture_get(struct graph_context *graphs,
			       const struct capture_info *info,
			       struct capture **capture);

/*
 * capture_depend() makes what the stream records next come after the
 * head or, in the body whose capture has that id, after the body's kernel, by
 * an edge unless it does so anyway; that kernel, those of the bodies around it
 * and the head have at least the stream's priority then. The tips are what the stream has said in
 * this call, or NULL: then it is asked.
 */
enum philox_status capture_depend(struct capture *capture, uint64_t id,
				  philox_stream stream,
				  const struct capture_tips *tips);

/*
 * capture_check_sealing() refuses what may not happen to a capture while a
 * graph is being made of it: ERROR_BUSY.
 */
enum philox_status capture_check_sealing(const struct capture *capture);

/*
 * capture_seal_begin() checks that a capture can be sealed and keeps it as it
 * is, for work that is done without the context's lock: ERROR_STATE, ERROR_BUSY
 * while another thread is doing that. After it capture_seal_end(), with the
 * outcome of the work: the capture is sealed, or continues as it was.
 */
enum philox_status capture_seal_begin(struct capture *capture);
enum philox_status capture_seal_end(struct capture *capture,
				    enum philox_status status);

/* capture_is_over() gives ERROR_BUSY while a capture is recorded. */
enum philox_status capture_is_over(const struct capture *capture);

/*
 * capture_quiet() tells why a context with this capture cannot be saved:
 * ERROR_BUSY while it is recorded, or the errors of report_none().
 */
enum philox_status capture_quiet(const struct capture *capture);

/* capture_device() returns the device that a capture is on. */
static inline struct philox_device *capture_device(
	const struct capture *capture)
{
	return capture->graphs->context->device;
}

/* capture_is_linked() tells whether a pass shares the ticket of another one. */
static inline int capture_is_linked(const struct captured_pass *captured)
{
	return captured->source != CAPTURED_NO_SOURCE;
}

/* capture_is_named() tells whether a pass is a backward named at launch. */
static inline int capture_is_named(const struct captured_pass *captured)
{
	return captured->backward && !capture_is_linked(captured);
}

/* capture_is_tracked() tells whether a launch of a forward makes a ticket. */
static inline int capture_is_tracked(const struct captured_pass *captured)
{
	return !captured->backward && !captured->consumed &&
	       !(captured->flags &
		 (PHILOX_PASS_INFERENCE | PHILOX_PASS_WARMUP));
}

/*
 * capture_reserve_id() makes room for an id of a capture or a body in it:
 * ERROR_MEMORY. capture_note_id() notes it, so that it is found.
 */
enum philox_status capture_reserve_id(struct graph_context *graphs,
				      uint64_t id);
void capture_note_id(struct capture *capture, uint64_t id);

/*
 * capture_adopt() notes the name of the graph that was made of a capture, which
 * has to stay. capture_release() separates them again; the capture is reaped
 * once its native graph is gone. capture_drop() drops a capture from which no
 * graph was made.
 */
void capture_adopt(struct capture *capture, const char *graph);
void capture_release(struct capture *capture);
void capture_drop(struct capture *capture);

/* capture_reap() frees the captures whose native graph is gone. */
void capture_reap(struct graph_context *graphs);

/* capture_free_all() frees every capture, whether its graph is gone or not. */
void capture_free_all(struct graph_context *graphs);

/* --- head.c: places in the message of a capture's head -------------------- */

/*
 * With the context's lock.
 */

/*
 * slots_take() takes new cells for the next slot, and room for both in the
 * capture's head; the caller then adds the cells there and counts the slot, or
 * frees them. ERROR_LIMIT, ERROR_MEMORY, those of the device.
 */
enum philox_status slots_take(struct capture *capture, uint32_t cells,
			      struct arena_block *block, uint32_t *slot);

/* slots_take_cells() takes further cells for a slot. */
enum philox_status slots_take_cells(struct capture *capture, uint32_t cells,
				    struct arena_block *block);

/* --- cells: cells of eager passes begun with PHILOX_PASS_ON_DEVICE ------------- */

/*
 * A block is a head's memory with the cells of one region. The head's kernel,
 * put on the pass's stream, fills it. It is reused once the event that was
 * recorded when its last pass ended has happened. Guarded by the context's
 * lock.
 */

/* The hooks `take` and `give`: see lib/state/state.h. */
enum philox_status cells_take(struct philox_pass *pass);
void cells_give(struct philox_pass *pass);

/* cells_live() gives ERROR_STATE for a pass whose block another one now has. */
enum philox_status cells_live(const struct philox_pass *pass);

/*
 * cells_at() gives a view of such a pass, which has a state of its own, a block
 * of its own, that ends with the pass.
 */
enum philox_status cells_at(const struct philox_pass *pass,
			    struct philox_pass *view);

/* cells_free_all() frees every block; no pass may be open. */
void cells_free_all(struct graph_context *graphs);

/* --- bodies: the bodies of conditional nodes in a capture ----------------- */

/*
 * Note [Bodies]
 * ~~~~~~~~~~~~~
 * A body is a capture of its own for the device, with an id of its own, and a
 * part of the capture around it for us: its passes are among those of that
 * capture, with slots in the message of the one head.
 *
 * How often a body runs, only the device knows, and no node in it can be
 * updated by a launch. So a body begins with one kernel of ours, whose
 * arguments never change. Each time that the body runs, the kernel sets the
 * cells of the body's passes to the next iteration: that of run i is i times
 * the region's advance after the state of the launch. It finds all in the
 * body's control, which is a cell like others: the head writes it at the start
 * of each launch, from a slot whose state is the address of the body's map and
 * a count of 0 runs. So the count begins anew in each launch, a launch that was
 * not announced finds poison in the control and does nothing, and the head is
 * as it was without bodies.
 *
 * The kernels of ours that set the condition of a WHILE look at the control of
 * its body: once the body has had its limit of runs, they set 0, and report a
 * condition that was to be another value. A loop that begins again in a body
 * around it may find that its runs are used up: so does the kernel before the
 * node. In a body with one such kernel, which each run runs once, that one is
 * the last word of the run. With several, or with one in a branch, which may
 * be left out, the body ends with a kernel more, and the others set what they
 * are told. Each leaves its value in the control for the last one. Where the
 * caller's own kernels alone set a condition, nothing of ours ends the loop.
 *
 * A pass in a body has its cells twice: as the head fills them, for iteration
 * 0, and as the body's kernel does for each run, which is what captured kernels
 * read. The head fills the latter, too, so that they are poison when the launch
 * is not announced. The kernel counts after that; beyond the limit it writes
 * poison and reports it.
 *
 * A launch reserves limit times the advance of each forward in a body (struct
 * hold). That is all that freshness needs: iterations of one forward differ,
 * and the next forward begins after the last that there can be.
 *
 * A pass linked to another (Note [Captured passes]) reads that one's cells if
 * that one is in the same body or one around it, since these are what they are
 * until this body has ended. In another body it has cells of its own, from the
 * same slot, which that body's kernel moves on; a REVERSED one finds the number
 * of the last iteration in the control of the forward's body, which has run by
 * then. Outside of all bodies it has cells that the head alone fills.
 *
 * The maps are in host memory while passes are captured. They are copied to the
 * device with the head's sealed control block, before the first launch; before
 * that no control leads to them.
 *
 * While a body is captured its stream belongs to us: whatever happens, that
 * capture is ended with its node, or with the capture around it.
 */

/* In the number of a report: of a pass, not of a body. */
#define BODY_NUMBER_PASS (UINT64_C(1) << 32)

/*
 * bodies_find() returns the number of the body that has a device's capture id,
 * CAPTURED_NO_BODY if none of this capture has.
 */
uint32_t bodies_find(const struct capture *capture, uint64_t id);

/*
 * bodies_around() returns the body that a body's node is in, or
 * CAPTURED_NO_BODY.
 */
uint32_t bodies_around(const struct capture *capture, uint32_t body);

/*
 * bodies_hold() is 1 if a body is `outer` or anywhere within it; every body is
 * within CAPTURED_NO_BODY.
 */
int bodies_hold(const struct capture *capture, uint32_t outer, uint32_t body);

/*
 * bodies_repeat() is 1 if a body may run more than once in a launch;
 * bodies_common() returns the innermost that two are within.
 */
int bodies_repeat(const struct capture *capture, uint32_t body);
uint32_t bodies_common(const struct capture *capture, uint32_t a, uint32_t b);

/* bodies_word() returns the device address of a word of a body's control. */
const uint32_t *bodies_word(const struct captured_body *body,
			    enum body_word which);

/*
 * bodies_add() adds a node with all its bodies, the next ones: ERROR_MEMORY,
 * ERROR_LIMIT, those of the device, and nothing has changed. bodies_keep() then
 * has the head write their controls, or bodies_forget() removes it again.
 */
enum philox_status bodies_add(struct capture *capture,
			      const struct conditional_node *node);
void bodies_keep(struct capture *capture);
void bodies_forget(struct capture *capture);

/* bodies_kernel() returns the launch of a body's kernel. */
struct kernel_call bodies_kernel(const struct captured_body *body,
				 struct body_args *args);

/*
 * bodies_reserve() makes room in a body's map; bodies_move() then has the
 * kernel of body move `n` cells of a region, from those of iteration 0. They
 * have `limit` iterations; a REVERSED pass names the forward's body.
 */
enum philox_status bodies_reserve(struct captured_body *body, uint32_t n);
void bodies_move(struct capture *capture, uint32_t body,
		 const struct philox_region *region, struct philox_state *cells,
		 struct philox_state *first, uint64_t limit, uint32_t reversed);

/*
 * bodies_close() ends the captures of the bodies of a node that are open, and
 * of the bodies in these, innermost first; with CAPTURED_NO_BODY as a node, of
 * all. Returns the first error; the capture is broken then.
 */
enum philox_status bodies_close(struct capture *capture, uint32_t node);

/* bodies_are_open() is 1 if a capture of ours of a body is open. */
int bodies_are_open(const struct capture *capture);

/*
 * bodies_check() refuses a capture with a node whose bodies were not all
 * captured, or that is broken: ERROR_STATE.
 */
enum philox_status bodies_check(const struct capture *capture);

/* bodies_break() notes why a capture cannot become a graph: the last error. */
void bodies_break(struct capture *capture, const char *call);

/*
 * bodies_seal() takes the device memory of the maps and writes their copies,
 * for head_send(); bodies_arm() then writes a message's slots of the controls.
 */
enum philox_status bodies_seal(struct capture *capture);
void bodies_arm(const struct capture *capture, struct head_message *message);

/* bodies_give_up() ends the nodes of a capture that is no graph and is over. */
void bodies_give_up(struct graph_context *graphs, uint64_t id);

/* bodies_free() frees all of it. */
void bodies_free(struct capture *capture);

/* --- program: what is recorded, step by step ------------------------------ */

/*
 * program_add() adds a step, or counts it as lost; program_free() frees all.
 * program_describe() makes a step a draw.
 */
void program_add(struct program *program, const struct program_step *step);
void program_free(struct program *program);
void program_describe(const struct philox_fill_desc *fill,
		      struct program_step *step);

/*
 * program_note() adds a step with no more than a number. With the context's
 * lock held.
 */
void program_note(struct capture *capture, enum program_kind kind,
		  uint32_t number, uint32_t flags);

/* The hook of the same name: see lib/state/state.h. */
void passes_noted(const struct philox_pass *pass, const struct pass_note *note);

/* --- passes: passes and generators on a capturing stream ------------------ */

/*
 * The hooks of the same names: see lib/state/state.h. With the context's lock
 * held.
 */

enum philox_status passes_begin(struct philox_pass *pass,
				const struct capture_info *info);
enum philox_status passes_commit(struct philox_pass *pass, unsigned flags,
				 struct philox_ticket *ticket);
enum philox_status passes_abort(struct philox_pass *pass);
enum philox_status passes_join(const struct philox_pass *view);
enum philox_status passes_live(const struct philox_pass *pass);
enum philox_status passes_read(struct philox_generator *generator,
			       philox_stream stream,
			       const struct capture_info *info,
			       struct philox_state *to);
enum philox_status passes_set(struct philox_generator *generator,
			      const struct capture_info *info,
			      struct philox_state state);

/* --- passes.c: views of captured passes that draw one iteration ----------- */

/*
 * The hooks `at` and `at_word`: see lib/state/state.h. With the context's lock
 * held.
 */

enum philox_status iterations_at(const struct philox_pass *pass,
				 struct philox_pass *view);
enum philox_status iterations_at_word(const struct philox_pass *pass,
				      const uint32_t *word,
				      struct philox_pass *view);

/* --- journal: the events that graph/ writes into a context's journal ------ */

/*
 * See Note [Journal] in lib/state/state.h. With the context's lock held.
 */

/* journal_captured() writes that a pass, the newest one, was recorded. */
void journal_captured(const struct capture *capture);

/* journal_conditional() writes that a conditional node was, the newest one. */
void journal_conditional(const struct capture *capture);

/* journal_ended() writes that a recorded pass was committed or aborted. */
void journal_ended(const struct capture *capture,
		   const struct captured_pass *captured);

/* journal_capture() writes that a capture became a graph, or was dropped. */
void journal_capture(const struct capture *capture);

/* --- report: launches made without philox, and what bodies draw too much --- */

/*
 * With the context's lock held.
 */

/* report_regions() writes the names of a capture's regions, ", " between. */
void report_regions(const struct capture *capture, char *text, size_t size);

/*
 * report_capture() adds a capture's new unannounced launches to a report and
 * posts them to the log.
 */
void report_capture(struct capture *capture,
		    struct philox_context_report *report);

/*
 * report_none() checks that there is none which philox_context_check() has not
 * told: ERROR_UNANNOUNCED, ERROR_LIMIT.
 */
enum philox_status report_none(const struct capture *capture);

#endif
