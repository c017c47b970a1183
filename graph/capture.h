/*
 * graph/capture.h - captures and the passes they record
 *
 * Note [Captured passes]
 * ~~~~~~~~~~~~~~~~~~~~~~
 * What a capture is, is asked of the stream at each pass: an id, unique in the
 * process. Nothing keeps a flag "capturing", so captures may overlap on threads
 * and fork to other streams.
 *
 * A pass on a capturing stream draws no numbers and makes no live ticket. It
 * records a template, a struct captured_pass: which region, forward or backward, and for a backward
 * either the forward of the same capture it repeats (its ticket is then the
 * placeholder that the forward's commit gave) or nothing, the zero ticket: the
 * forward is named at each launch. A forward and the backwards paired with it
 * share one set of cells; every other captured pass has its own. Each set of cells
 * has one slot in the message of the head (Note [Head]).
 *
 * What a capture holds on the device lives as long as the native graph and all
 * executable graphs made from it. The native graph holds a reference to the
 * capture's lifeline, whose release only sets a flag, since it may not call
 * CUDA; the capture is reaped by a later call. A capture that was invalidated
 * takes its graph, and so its lifeline, with it.
 *
 * A capture goes through: recording; then sealed, when a graph is made of it
 * (philox_graph_adopt(), philox_capture_end()), or dropped. A pass still open
 * or aborted prevents sealing. Guarded by the context's lock.
 */
#ifndef GRAPH_CAPTURE_H
#define GRAPH_CAPTURE_H

#include <stdatomic.h>
#include "graph/head.h"

enum captured_phase { CAPTURED_OPEN, CAPTURED_COMMITTED, CAPTURED_ABORTED };

#define CAPTURED_NO_FORWARD UINT32_MAX

struct captured_pass {
	struct philox_region *region;
	uint64_t life;    /* of the region */
	uint32_t slot;    /* of the message */
	uint32_t flags;   /* of begin and commit */
	uint32_t forward; /* paired backward: its forward's index */
	uint8_t phase;
	uint8_t backward;
	uint8_t consuming;        /* forward: a consuming backward is open */
	uint8_t consumed;         /* forward: one was committed */
	struct arena_block cells; /* zero in a paired backward */
};

/* A copy of a generator's state that each launch makes. */
struct state_read {
	struct philox_generator *generator;
	uint32_t before; /* the pass it comes before */
	uint32_t slot;
	struct arena_block cell;
};

/* Shared by a capture and its native graph. */
struct lifeline {
	atomic_int references;
	atomic_int gone; /* the native graph and its execs are destroyed */
};

struct capture {
	struct capture *next;
	struct graph_context *graphs;
	uint64_t id;     /* the device's */
	uint32_t serial; /* ours, in placeholders */
	device_node node;
	struct head head;
	struct lifeline *lifeline;
	struct captured_pass *passes;
	uint32_t n_passes;
	uint32_t capacity;        /* of passes */
	struct state_read *reads; /* in order of recording */
	uint32_t n_reads;
	uint32_t slots;
	uint32_t node_capacity; /* of the node's message */
	int dropped;
	struct philox_graph *graph; /* sealed: what was made of it */
	char last[128];             /* the last call that found it whole */
};

/* capture_find() finds a recording or sealed capture by the device's id. */
struct capture *capture_find(struct graph_context *graphs, uint64_t id);

/* capture_was_dropped() says whether one of that id is given up, not yet freed. */
int capture_was_dropped(const struct graph_context *graphs, uint64_t id);

/*
 * capture_get() finds the capture that a stream is in, or begins to keep a
 * record of it: adds the head to its graph.
 */
enum philox_status capture_get(struct graph_context *graphs,
			       const struct capture_info *info,
			       struct capture **capture);

/* capture_check_ready() says whether a capture can be sealed: ERROR_STATE. */
enum philox_status capture_check_ready(const struct capture *capture);

/* capture_seal() writes the map of its cells to the device. */
enum philox_status capture_seal(struct capture *capture);

/* capture_is_named() says whether a pass is a backward named at launch. */
static inline int capture_is_named(const struct captured_pass *captured)
{
	return captured->backward && captured->forward == CAPTURED_NO_FORWARD;
}

/* capture_is_tracked() says whether a launch of a forward makes a ticket. */
static inline int capture_is_tracked(const struct captured_pass *captured)
{
	return !captured->backward && !captured->consumed &&
	       !(captured->flags & (PHILOX_INFERENCE | PHILOX_WARMUP));
}

/*
 * capture_release() parts a capture from its graph; it is reaped once its
 * native graph is gone. capture_drop() gives up one that no graph was made of.
 */
void capture_release(struct capture *capture);
void capture_drop(struct capture *capture);

/* capture_reap() frees the captures whose native graph is gone. */
void capture_reap(struct graph_context *graphs);

/* capture_free_all() frees every capture, whether its graph is gone or not. */
void capture_free_all(struct graph_context *graphs);

#endif
