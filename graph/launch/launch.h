/*
 * graph/launch/launch.h - graphs: made of captures, launched
 */
#ifndef GRAPH_LAUNCH_LAUNCH_H
#define GRAPH_LAUNCH_LAUNCH_H

#include <philox/graph.h>
#include "graph/capture/capture.h"
#include "lib/pass/pass.h"

/* --- graph: a graph with philox passes in it, ready to be launched -------- */

struct pool_capture;

/* What a launch in progress holds for one of its passes. */
struct claim {
	struct hold hold;
	struct saved_context released;
};

/* A launch between its prologue and its epilogue. */
struct launch {
	philox_stream stream;
	philox_stream release; /* that saved contexts are released on */
	struct philox_launch_pass *uses;
	struct claim claims[]; /* one for each captured pass */
};

/* How long making it took, in nanoseconds of the host; 0: not done. */
struct graph_times {
	uint64_t end, instantiate, adopt;
};

/*
 * Locking: `lock` orders the launches of one graph, each update with its
 * launch, and guards the fields after it; the context's lock is taken inside
 * it. Neither lock is held while saved contexts are released or messages
 * delivered.
 */
struct philox_graph {
	struct philox_graph *next; /* in the context's list, by its lock */
	struct philox_graph **link; /* to this one, likewise */
	struct philox_context *context;
	struct capture *capture; /* NULL: no pass in it */
	philox_native_graph native; /* NULL: adopted without, see below */
	philox_native_exec exec;
	int ours;         /* the native handles are the library's */
	atomic_int shown; /* to the caller, who may have made more from them */
	uint64_t capture_id;        /* the device's; 0: adopted without */
	struct pool_capture *pools; /* of its capture, oldest pool first */
	uint32_t n_uses;
	char name[GRAPH_NAME_SIZE];
	struct graph_times times;

	pthread_mutex_t lock;
	uint64_t sequence; /* of the last message */
	struct head_message message;
	struct philox_log_entry blame; /* the subject of a refused launch */
	struct launch *open;           /* between prologue and epilogue */
	struct launch *spare;          /* kept for the next launch */
};

/* graph_is_ahead() tells of Note [Heads that run ahead] in graph/capture. */
static inline int graph_is_ahead(const struct philox_graph *graph)
{
	return graph->capture && !graph->native;
}

/*
 * A graph is made from the capture `id`, or from NULL if no pass is in it, in
 * three steps. graph_begin() and graph_end() are called with the context's lock
 * held; between them the caller, who does not hold it, sets the handles and has
 * graph_try() check that they are of the capture. graph_end() takes the outcome
 * of that: unless it is PHILOX_OK, or if it fails itself, the graph is gone and
 * the capture is as it was.
 */
enum philox_status graph_begin(struct graph_context *graphs,
			       struct capture *capture, uint64_t id,
			       struct philox_graph **out);
enum philox_status graph_try(struct philox_graph *graph);

/*
 * graph_refuse() refuses a graph of ours in the place of a native handle, which
 * it calls by a noun. With the context's lock held.
 */
enum philox_status graph_refuse(const struct graph_context *graphs,
				const void *handle, const char *noun);
enum philox_status graph_end(struct philox_graph *graph,
			     enum philox_status status,
			     struct philox_graph **out);

/*
 * graph_would_launch() tells what a launch would be refused for before any work
 * is queued, as philox_graph_prologue() does, and takes nothing.
 * (graph/launch/launch.c)
 */
enum philox_status graph_would_launch(struct philox_graph *graph,
				      philox_stream stream,
				      struct philox_launch_pass *uses,
				      size_t n);

/* graph_bytes() returns the memory that philox itself has taken for a graph. */
uint64_t graph_bytes(const struct philox_graph *graph);

/* graph_free() frees a graph and, if they are ours, its native handles. */
void graph_free(struct philox_graph *graph);

/*
 * graph_report() ends a public call about a graph, and about the region and
 * ticket in `about` if that is not NULL; see context_report().
 */
enum philox_status graph_report(const struct philox_graph *graph,
				enum philox_status status,
				const struct philox_log_entry *about);

/* graph_report_capture() does the same for a call about a capture. */
enum philox_status graph_report_capture(struct philox_context *context,
					enum philox_status status, uint64_t id);

/* --- capture_end: captures that the library itself begins and ends -------- */

/* The hook `broken`: see lib/state/state.h. */
void own_note_broken(struct philox_context *context, philox_stream stream,
		     const char *call);

/*
 * own_begin() and own_end() are philox_capture_begin() and philox_capture_end()
 * without a report to the log, which also write the capture's id.
 * own_cancel() ends a capture of this thread and makes nothing of it.
 */
enum philox_status own_begin(struct philox_context *context,
			     philox_stream stream, uint64_t *id);
enum philox_status own_end(struct philox_context *context, philox_stream stream,
			   struct philox_graph **graph, uint64_t *id);
void own_cancel(struct philox_context *context, philox_stream stream);

/* The hook `here`: see lib/state/state.h. */
uint64_t own_here(struct philox_context *context);

/* own_finish() forgets all captures begun by philox_capture_begin(). */
void own_finish(struct graph_context *graphs);

/* --- journal: the events of launches in a context's journal --------------- */

/*
 * See Note [Journal] in lib/state/state.h. With the context's lock held.
 */

/* journal_claimed() writes a launch that has taken its tickets; with uses. */
void journal_claimed(const struct philox_graph *graph,
		     const struct launch *launch);

/* journal_refused() writes a launch that was refused for a use. */
void journal_refused(const struct philox_graph *graph, uint32_t use,
		     enum philox_status status);

/* journal_launched() writes how that launch ended. */
void journal_launched(const struct philox_graph *graph,
		      enum philox_status status);

#endif
