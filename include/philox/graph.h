/*
 * philox/graph.h - captured graphs and their replay
 *
 * A pass begun on a stream that is capturing just works: no numbers are drawn
 * and no ticket is made, but the graph remembers the pass, and every launch of
 * the graph executes each of its passes once, with fresh numbers for the
 * forwards and the right old ones for the backwards. However many passes the
 * graph holds, it gains one node (the head), and a launch costs one update of
 * that node's parameters; the first launch costs one copy more.
 *
 * Capturing passes, ending or adopting a capture and launching never wait for
 * work on the device, which may be full, and hold back no other thread's calls
 * while a graph is instantiated.
 *
 *   your own capture                     our capture
 *
 *   cudaStreamBeginCapture(...)          philox_capture_begin(ctx, stream)
 *     passes, kernels                      passes, kernels
 *   cudaStreamEndCapture(...)            philox_capture_end(ctx, stream,
 *   cudaGraphInstantiate(...)                               &graph)
 *   philox_graph_adopt(...)
 *
 * and then, for each step, philox_graph_launch(graph, stream, uses, n).
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
 */
#ifndef PHILOX_GRAPH_H
#define PHILOX_GRAPH_H

#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/device.h>
#include <philox/pass.h>

#ifdef __cplusplus
extern "C" {
#endif

struct philox_graph;

/* --- making graphs -------------------------------------------------------- */

/*
 * philox_capture_begin() begins a capture of mode THREAD_LOCAL on a stream;
 * philox_capture_end() ends it on the same stream and thread, instantiates the
 * graph and writes it; the graph belongs to the library and is destroyed by
 * philox_graph_destroy() or with the context. A capture without a pass in it
 * gives a graph with no uses. If ending fails, nothing is left of the capture
 * and the streams run again; the message says which philox call on this stream
 * was the first to find the capture invalidated, and which was the last to find
 * it valid. Errors: PHILOX_ERROR_CAPTURE_*, PHILOX_ERROR_STATE (the stream is
 * not capturing; a pass of the capture is open or was aborted; a conditional
 * node was not ended, or not well),
 * PHILOX_ERROR_CAPTURE_UNMATCHED (not the stream or thread it began on; the
 * capture continues), those of the device.
 */
PHILOX_API enum philox_status philox_capture_begin(
	struct philox_context *context, philox_stream stream);
PHILOX_API enum philox_status philox_capture_end(struct philox_context *context,
						 philox_stream stream,
						 struct philox_graph **graph);

/*
 * philox_graph_adopt() takes a graph that the caller captured, ended and
 * instantiated, so that it can be launched with tickets. `capture_id` is the id
 * that philox_stream_capture_info() (cudaStreamGetCaptureInfo) gave during the
 * capture. Graph and exec still belong to the caller and must outlive the
 * adoption, which ends with philox_graph_destroy(). Errors:
 * PHILOX_ERROR_NOT_FOUND (the capture of that id had no philox pass, no value
 * and no session in a pool, was dropped or was destroyed), PHILOX_ERROR_EXISTS
 * (adopted already), PHILOX_ERROR_STATE (a pass is open or was aborted,
 * a conditional node was not ended, or not well),
 * PHILOX_ERROR_BUSY (another thread is making a graph of it),
 * PHILOX_ERROR_STALE (a region was destroyed), PHILOX_ERROR_INVALID (a struct
 * philox_graph in place of a native one; the id of a body's capture; on a host
 * device also any other handle that is not a live native graph or executable
 * graph), those of the device. Not legal during capture.
 */
PHILOX_API enum philox_status philox_graph_adopt(struct philox_context *context,
						 uint64_t capture_id,
						 philox_native_graph native,
						 philox_native_exec exec,
						 struct philox_graph **graph);

/*
 * philox_capture_drop() forgets a capture that will not be adopted: a later
 * call frees its device memory once its native graph is destroyed, or if that
 * graph was never made. Without philox_capture_drop() the same happens when the
 * native graph is destroyed. Errors: PHILOX_ERROR_NOT_FOUND, PHILOX_ERROR_STATE
 * (adopted already), PHILOX_ERROR_BUSY (another thread is making a graph of
 * it), PHILOX_ERROR_INVALID (the capture of a body, philox/conditional.h, which
 * goes with the capture around it). Legal during capture.
 */
PHILOX_API enum philox_status philox_capture_drop(
	struct philox_context *context, uint64_t capture_id);

/*
 * philox_graph_destroy() ends an adoption, or destroys a graph of the library's
 * own; NULL is allowed. Errors: PHILOX_ERROR_BUSY between prologue and
 * epilogue. All replays must have finished. Not legal during capture.
 */
PHILOX_API enum philox_status philox_graph_destroy(struct philox_graph *graph);

/* --- launching ------------------------------------------------------------ */

/*
 * A launch that philox was not told about, by philox_graph_launch() or a
 * prologue, draws nothing: its states are poison (NaN or all-ones in place of
 * numbers), and philox_check() reports it. That is exact for the graph's own
 * executable graph, whose launches run one after the other. Another executable
 * graph of the same capture, or a clone, is never announced; each of its
 * launches is reported, but one that overlaps an announced launch shares that
 * one's states, and
 *
 *   the unannounced one may draw, instead of poison, the numbers of any
 *   announced launch that runs at the same time: the same numbers again
 *   the announced one may find poison instead of its own numbers
 *
 * each for all, some or none of its elements. Neither draws anything else: no
 * numbers of other launches, and none of a state that is half of another (on
 * hosts without atomic accesses of 16 bytes an unannounced launch may mix two
 * announced ones). This holds for kernels that read states by philox_resolve();
 * see philox/interop.h for others. The next announced launch that overlaps
 * nothing is right again.
 */

/*
 * struct philox_use describes one captured pass of a launch; uses are in order
 * of begin.
 *
 *   forward                        ticket is written: its new ticket
 *   ... with a backward in the     ticket is written: the zero ticket, or a
 *       same capture               live one if no such backward consumes it
 *   ... INFERENCE or WARMUP        ticket is written: the zero ticket
 *   backward named at launch       ticket is read: the forward to repeat; flags
 *                                  PHILOX_RETAIN keeps it
 *   backward of a forward of       ignored
 *       the same capture
 *   backward linked to one that    ignored: both have the ticket and the flags
 *       is named at launch         of that one's use
 */
struct philox_use {
	struct philox_ticket ticket;
	uint32_t flags;
	uint32_t reserved; /* 0 */
};

/*
 * struct philox_use_info describes one captured pass. It begins with its size
 * (philox/sized.h).
 */
struct philox_use_info {
	size_t size;        /* sizeof(this struct), set by the caller */
	const char *region; /* belongs to the graph */
	uint32_t flags;     /* the flags of begin and commit */
	uint8_t backward;   /* 0: forward */
	uint8_t named;      /* 1: a backward named at launch */
	uint32_t forward;   /* a backward that is not: index of the pass it is
			       linked to, a forward or a backward named at
			       launch (philox/pass.h); else UINT32_MAX */
	uint32_t iterations; /* that a launch reserves, or needs; else 1 */
};

/*
 * philox_graph_launch() launches a graph on a stream: validates all uses
 * together, reserves numbers, updates the head's parameters and launches. n is
 * philox_graph_uses(). A launch that is refused changes nothing; one that fails
 * on the device makes no forward and leaves every ticket as it was, but the
 * numbers reserved for it are burnt. Launches of one graph run one after the
 * other. Errors: PHILOX_ERROR_INVALID (n, a reserved field, a flag; on a host
 * device, an array whose memory was freed, see philox/device.h); those of
 * philox_forward_begin() and philox_backward_begin() for a use, which the
 * message names; PHILOX_ERROR_BUSY also for a ticket that another launch is
 * using up; PHILOX_ERROR_STALE (a region was destroyed);
 * PHILOX_ERROR_CAPTURE_UNSUPPORTED (the stream is capturing); PHILOX_ERROR_BUSY
 * (between prologue and epilogue); PHILOX_ERROR_BUSY and PHILOX_ERROR_STATE
 * for a pool of the graph (philox/pool.h); those of the device. Legal while
 * other streams capture.
 */
PHILOX_API enum philox_status philox_graph_launch(struct philox_graph *graph,
						  philox_stream stream,
						  struct philox_use *uses,
						  size_t n);

/*
 * philox_graph_prologue() and philox_graph_epilogue() are the two halves of a
 * launch, for callers who launch the executable graph themselves, exactly once
 * in between. The prologue validates, reserves and updates the parameters; the
 * epilogue tells philox whether the launch succeeded: PHILOX_OK makes the new
 * tickets live and uses up the old ones, anything else leaves the ledger as if
 * no pass had begun. The launch is on the prologue's stream or on one that
 * waits for it; the first one comes after a copy on that stream. `uses` must be
 * the same array in both and is written by the epilogue. Errors: as
 * philox_graph_launch(); PHILOX_ERROR_STATE for an epilogue without a prologue.
 */
PHILOX_API enum philox_status philox_graph_prologue(struct philox_graph *graph,
						    philox_stream stream,
						    struct philox_use *uses,
						    size_t n);
PHILOX_API enum philox_status philox_graph_epilogue(
	struct philox_graph *graph, enum philox_status launched);

/* --- queries -------------------------------------------------------------- */

/*
 * philox_graph_uses() returns how many passes a graph holds;
 * philox_graph_use_info() describes one of them. Errors: PHILOX_ERROR_INVALID
 * (an index out of range, a size of *info that cannot be). Legal during
 * capture.
 */
PHILOX_API size_t philox_graph_uses(const struct philox_graph *graph);
PHILOX_API enum philox_status philox_graph_use_info(
	const struct philox_graph *graph, size_t index,
	struct philox_use_info *info);

/*
 * philox_graph_set_name() gives a graph a name for messages (at most 63 bytes,
 * cut); philox_graph_name() returns it, "graph 1" and so on at first, and must
 * not be called while another thread renames the graph.
 * philox_graph_native() writes the native handles (either may be NULL), which
 * keep their owners. Errors: PHILOX_ERROR_INVALID. Legal during capture.
 */
PHILOX_API enum philox_status philox_graph_set_name(struct philox_graph *graph,
						    const char *name);
PHILOX_API const char *philox_graph_name(const struct philox_graph *graph);
PHILOX_API enum philox_status philox_graph_native(
	const struct philox_graph *graph, philox_native_graph *native,
	philox_native_exec *exec);

#ifdef __cplusplus
}
#endif
#endif
