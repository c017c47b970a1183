/*
 * graph/head.h - the head: how a captured graph gets its states
 *
 * Note [Head]
 * ~~~~~~~~~~~
 * The host knows the state of every ticket; a captured graph must get these
 * states at each launch, cheaply and in launch order. So the first philox work
 * in a capture adds one node to it, the head: a single block of threads that
 * fills the cells from which all captured kernels read their states.
 *
 * Whatever draws comes after the head, by an edge only where it would not
 * otherwise (graph/order.h): a graph that is one line, which CUDA launches
 * faster than others, stays one. If all that has been captured so far comes
 * before the stream's next node, the head takes that place; else it is a root,
 * and each branch that draws gets an edge from it.
 *
 * The head's parameters are the message: a sequence number and one state per
 * slot (a forward, with the backwards paired with it in the same capture, or a
 * backward named at launch), by value. philox_graph_launch() sets them on the
 * executable graph before it launches; CUDA applies that only to later
 * launches, so replays may queue up. This needs no stream work, copy or
 * allocation.
 *
 * The head derives each cell's operator seed from its slot's region seed and
 * stores the sequence number in the graph's control block. It accepts a message
 * only if its number is above the stored one. A launch without philox repeats
 * the last message: the head then writes poison into all cells, which makes our
 * kernels write NaN or all-ones, and raises the flag in the graph's report,
 * which is in mapped host memory and is written only by the device: payload,
 * fence, count. A launch that failed only leaves a gap in the sequence numbers.
 *
 * Before the graph is sealed (adopted, or ended by us) the control block names
 * no cells and every launch counts as unannounced; the cells were poisoned when
 * they were taken.
 */
#ifndef GRAPH_HEAD_H
#define GRAPH_HEAD_H

#include "alloc/arena.h"
#include "lib/device/kernels.h"
#include "graph/context.h"

/* A head's memory: its control block, report, and map of cells. */
struct head {
	struct arena_block control;
	struct arena_block report;
	struct arena_block map;
	uint64_t cells; /* entries of the map */
	uint64_t seen;  /* unannounced launches reported so far */
};

/* A message under construction, reused for every launch. */
struct head_message {
	struct head_args *args;
	uint32_t capacity;
};

/* head_create() takes memory for a head; legal during capture. */
enum philox_status head_create(struct graph_context *graphs, struct head *head);

/* head_destroy() frees that memory; a zero head is fine. */
void head_destroy(struct graph_context *graphs, struct head *head);

/* head_seal() tells the device which cells the head must fill. */
enum philox_status head_seal(struct graph_context *graphs, struct head *head,
			     const struct head_cell *map, uint64_t cells);

/*
 * head_unannounced() returns how many unannounced launches happened since the
 * last call, and writes the repeated sequence number if there were any.
 */
uint64_t head_unannounced(struct head *head, uint64_t *sequence);

/* head_take_cells() takes poisoned cells; legal during capture. */
enum philox_status head_take_cells(struct graph_context *graphs, uint32_t cells,
				   struct arena_block *block);

/* head_map_region() writes the map entries of one region's cells. */
struct head_cell *head_map_region(struct head_cell *map,
				  const struct philox_region *region,
				  void *cells, uint32_t slot);

/*
 * head_message_init() makes a message for `slots` states, all zero, with
 * sequence number 0; ERROR_LIMIT if there are more than HEAD_CAPACITY_MAX.
 */
enum philox_status head_message_init(struct head_message *message,
				     const struct head *head, uint64_t slots);
void head_message_finish(struct head_message *message);

/* head_call() returns the launch of a head with a message. */
struct kernel_call head_call(const struct head *head,
			     const struct head_message *message);

#endif
