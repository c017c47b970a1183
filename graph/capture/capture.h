/*
 * graph/capture/capture.h - captures and the passes they record
 *
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
 * The device memory of a capture lives as long as the native graph and all
 * executable graphs made from it. The native graph holds a reference to the
 * capture's lifeline, whose release only sets a flag, since it may not call
 * CUDA; a later call reaps the capture. When a capture is invalidated, its
 * graph goes, and so does its lifeline.
 *
 * A capture is first recording; then it is sealed, when a graph is made from it
 * (philox_graph_adopt(), philox_capture_end()), or dropped. A pass that is
 * still open or was aborted prevents sealing. Guarded by the context's lock,
 * which is not held while a graph is instantiated or tried: until that is over
 * nothing else may happen to the capture.
 */
#ifndef GRAPH_CAPTURE_CAPTURE_H
#define GRAPH_CAPTURE_CAPTURE_H

#include <philox/conditional.h>
#include "graph/capture/depend.h"
#include "graph/capture/head.h"
#include "graph/capture/lifeline.h"

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
 * Bytes that each launch brings along (philox/launch_value.h): a cell with a
 * slot of the message, like the state of a generator below. The head stores the
 * slot's 16 bytes as they are, or poison. A graph's message keeps those that
 * were set last, from launch to launch.
 */
struct captured_value {
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

/* Conditional nodes and their bodies: see Note [Bodies] in graph/capture/bodies.h. */
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
	struct body_cell *cells; /* the map's, until it is sealed */
	uint32_t n_cells, capacity;
	struct body_map *map; /* device address, once it is sealed */
};

struct conditional_node {
	enum philox_conditional_kind kind;
	uint32_t around; /* body that it is in, or CAPTURED_NO_BODY */
	uint32_t body;   /* index of its first */
	uint32_t bodies; /* and how many it has */
	uint32_t limit;
	int own; /* the caller's */
	int ended;
	device_condition condition;
};

struct capture {
	struct capture *next;
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
	struct captured_value *values; /* in order of recording */
	uint32_t n_values;
	struct conditional_node *nodes; /* in order of recording */
	uint32_t n_nodes;
	struct captured_body *bodies; /* the same */
	uint32_t n_bodies;
	struct arena_block *views; /* cells of views (philox_pass_at()) */
	uint32_t n_views;
	uint32_t slots;
	uint32_t node_capacity; /* of the node's message */
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
 * capture_root() changes what a stream said of its capture, if that is of a body,
 * to what is said of the capture around it: the hook `root`.
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
			       philox_stream stream, struct capture **capture);

/*
 * capture_depend() sees to it that what the stream records next comes after the
 * head or, in the body whose capture has that id, after the body's kernel, by an
 * edge unless it does so anyway.
 */
enum philox_status capture_depend(struct capture *capture, uint64_t id,
				  philox_stream stream);

/*
 * capture_check_sealing() refuses what may not happen to a capture while a
 * graph is being made of it: ERROR_BUSY.
 */
enum philox_status capture_check_sealing(const struct capture *capture);

/*
 * capture_seal_begin() checks that a capture can be sealed and keeps it as it
 * is, for work that is done without the context's lock: ERROR_STATE, ERROR_BUSY
 * while another thread is doing that. After it capture_seal_end(), with the
 * outcome of the work: the capture is sealed, or goes on as it was.
 */
enum philox_status capture_seal_begin(struct capture *capture);
enum philox_status capture_seal_end(struct capture *capture,
				    enum philox_status status);

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
	       !(captured->flags & (PHILOX_INFERENCE | PHILOX_WARMUP));
}

/*
 * capture_release() separates a capture from its graph; it is reaped once its
 * native graph is gone. capture_drop() drops a capture from which no graph was
 * made.
 */
void capture_release(struct capture *capture);
void capture_drop(struct capture *capture);

/* capture_reap() frees the captures whose native graph is gone. */
void capture_reap(struct graph_context *graphs);

/* capture_free_all() frees every capture, whether its graph is gone or not. */
void capture_free_all(struct graph_context *graphs);

#endif
