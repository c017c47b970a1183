/*
 * graph/capture/head.h - the head: how a captured graph gets its states
 *
 * Note [Head]
 * ~~~~~~~~~~~
 * The host knows the state of every ticket; a captured graph must get these
 * states at each launch, cheaply and in launch order. So the first philox work
 * in a capture adds one node to it, the head: a kernel that fills the cells from
 * which all captured kernels read their states.
 *
 * Whatever draws comes after the head, by an edge only where it would not
 * otherwise (graph/capture/topology.h): a graph that is one line, which CUDA launches
 * faster than others, stays one. If all that has been captured so far comes
 * before the stream's next node, the head takes that place; else it is a root,
 * and each branch that draws gets an edge from it.
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
 * Each control block has a report of its own, so that whoever counts in one
 * finds all that it needs there; the host adds them up. It is in mapped host
 * memory, written by heads alone: the counts must be 0 before the first launch
 * by anybody, and nothing could make them so in device memory without waiting
 * for a stream. A head counts itself by an addition that is atomic among the
 * threads of one device, as heads of a graph are; that holds in memory of any
 * kind (CUDA C++ memory model, "Atomicity"), while it is up to the bus whether
 * it is atomic for the host too. So the host does not look at that word: the
 * head writes what it found into another one, for the host, after a fence, and
 * looks whether the count has grown meanwhile, in which case it writes again. Of
 * all who write, the last one finds no newer count (else it would write again),
 * so in the end that word is right; until then it may go back, and the host
 * takes only what is above what it has seen. The number that is reported with it
 * is that of the last message: the sealed control block has it, and the host
 * writes it into the open one after each launch.
 *
 * A cell is written and read as one access of 16 bytes (philox_read_cell()), so
 * whoever reads it gets a state of an announced launch or poison. A kernel of
 * an announced launch comes after its own head, and the next announced head
 * comes after the kernel; so it gets its own state, or poison. One of another
 * launch comes after poison and may get the state of any announced launch that
 * runs meanwhile. philox/graph.h says so. Each kernel and each thread reads for
 * itself: one may get poison and the next the state.
 */
#ifndef GRAPH_CAPTURE_HEAD_H
#define GRAPH_CAPTURE_HEAD_H

#include "alloc/arena.h"
#include "lib/device/kernels.h"
#include "graph/capture/context.h"

/* How far the copy of a sealed control block has come. */
enum head_copy {
	HEAD_NOT_COPIED,
	HEAD_SENT,    /* is to be followed by a launch */
	HEAD_COPYING, /* was not: until the event has been reached */
	HEAD_COPIED   /* a launch came after it, and further ones after that */
};

/* A head's memory. Each map comes after its control block. */
struct head {
	struct arena_block report; /* mapped: one for each control block, and
				      one for bodies */
	struct arena_block open;   /* mapped: the open control block */
	struct arena_block staged; /* mapped: what the sealed one is to be */
	struct arena_block sealed; /* device memory */
	struct arena_block staged_more, sealed_more; /* what bodies need */
	int more_sent;                               /* that is copied, too */
	uint64_t cells;                              /* entries of the map */
	uint64_t room;    /* for entries, in `staged` */
	uint64_t seen[3]; /* counts of the reports */
	enum head_copy copy;
	philox_event copied;
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
 * in order, `shift` words further on, and for one cell with a slot's state as it
 * is. Only until the head is sealed.
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

/* head_body_report() returns the device address of the report of bodies. */
struct head_report *head_body_report(const struct head *head);

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
 * head_beyond_untold() the same of the one after it.
 */
uint64_t head_untold(const struct head *head);
uint64_t head_beyond_untold(const struct head *head);

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

#endif
