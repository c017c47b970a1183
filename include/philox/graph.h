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
 * and then, for each step, philox_graph_launch(graph, stream, passes, n).
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
#include <philox/pool.h>

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
 * gives a graph with no passes. If ending fails, nothing is left of the capture
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
 * it), PHILOX_ERROR_INVALID (the capture of a body, philox/graph.h, which
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
 * numbers), and philox_context_check() reports it. That is exact for the
 * graph's own executable graph, whose launches run one after the other. Another
 * executable graph of the same capture, or a clone, is never announced; each of
 * its launches is reported, but one that overlaps an announced launch shares
 * that one's states, and
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
 * struct philox_launch_pass describes one captured pass of a launch; they are
 * in order of begin.
 *
 *   forward                        ticket is written: its new ticket
 *   ... with a backward in the     ticket is written: the zero ticket, or a
 *       same capture               live one if no such backward consumes it
 *   ... INFERENCE or WARMUP        ticket is written: the zero ticket
 *   backward named at launch       ticket is read: the forward to repeat; flags
 *                                  PHILOX_PASS_RETAIN keeps it
 *   backward of a forward of       ignored
 *       the same capture
 *   backward linked to one that    ignored: both have the ticket and the flags
 *       is named at launch         of that one's use
 */
struct philox_launch_pass {
	struct philox_ticket ticket;
	uint32_t flags;
	uint32_t reserved; /* 0 */
};

/*
 * struct philox_graph_pass_info describes one captured pass. It begins with its
 * size (philox/status.h).
 */
struct philox_graph_pass_info {
	size_t size;         /* sizeof(this struct), set by the caller */
	const char *region;  /* belongs to the graph */
	uint32_t flags;      /* the flags of begin and commit */
	uint8_t backward;    /* 0: forward */
	uint8_t named;       /* 1: a backward named at launch */
	uint32_t forward;    /* a backward that is not: index of the pass it is
			       linked to, a forward or a backward named at
			       launch (philox/pass.h); else UINT32_MAX */
	uint32_t iterations; /* that a launch reserves, or needs; else 1 */
};

/*
 * philox_graph_launch() launches a graph on a stream: validates all passes
 * together, reserves numbers, updates the head's parameters and launches. n is
 * philox_graph_pass_count(). A launch that is refused changes nothing; one that
 * fails on the device makes no forward and leaves every ticket as it was, but
 * the numbers reserved for it are burnt. Launches of one graph run one after
 * the other. Errors: PHILOX_ERROR_INVALID (n, a reserved field, a flag; on a
 * host device, an array whose memory was freed, see philox/device.h); those of
 * philox_forward_begin() and philox_backward_begin() for a use, which the
 * message names; PHILOX_ERROR_BUSY also for a ticket that another launch is
 * using up; PHILOX_ERROR_STALE (a region was destroyed);
 * PHILOX_ERROR_CAPTURE_UNSUPPORTED (the stream is capturing); PHILOX_ERROR_BUSY
 * (between prologue and epilogue); PHILOX_ERROR_BUSY and PHILOX_ERROR_STATE for
 * a pool of the graph (philox/pool.h); those of the device. Legal while other
 * streams capture.
 */
PHILOX_API enum philox_status philox_graph_launch(
	struct philox_graph *graph, philox_stream stream,
	struct philox_launch_pass *passes,
	size_t n_passes);

/*
 * philox_graph_prologue() and philox_graph_epilogue() are the two halves of a
 * launch, for callers who launch the executable graph themselves, exactly once
 * in between. The prologue validates, reserves and updates the parameters; the
 * epilogue tells philox whether the launch succeeded: PHILOX_OK makes the new
 * tickets live and uses up the old ones, anything else leaves the ledger as if
 * no pass had begun. The launch is on the prologue's stream or on one that
 * waits for it; the first one comes after a copy on that stream. `passes` is
 * the same array in both and is written by the epilogue. Errors: as
 * philox_graph_launch(); PHILOX_ERROR_STATE for an epilogue without a prologue.
 */
PHILOX_API enum philox_status philox_graph_prologue(
	struct philox_graph *graph, philox_stream stream,
	struct philox_launch_pass *passes,
	size_t n_passes);
PHILOX_API enum philox_status philox_graph_epilogue(
	struct philox_graph *graph, enum philox_status launched);

/* --- queries -------------------------------------------------------------- */

/*
 * philox_graph_pass_count() returns how many passes a graph holds;
 * philox_graph_get_pass_info() describes one of them. Errors:
 * PHILOX_ERROR_INVALID (an index out of range, a size of *info that cannot be).
 * Legal during capture.
 */
PHILOX_API size_t philox_graph_pass_count(const struct philox_graph *graph);
PHILOX_API enum philox_status philox_graph_get_pass_info(
	const struct philox_graph *graph, size_t index,
	struct philox_graph_pass_info *info);

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

/* --- launch parameters ---------------------------------------------------- */

/*
 * A capture freezes whatever a kernel takes by value: a learning rate, a step
 * count, a length. A value is up to 16 bytes that captured kernels read from
 * device memory instead, and that the host sets before each launch:
 *
 *   struct step { float rate, correction1, correction2; } step = {...};
 *   void *in_graph;
 *
 *   philox_capture_param(context, stream, "step", &step, sizeof(step),
 *                        &in_graph);              in the capture
 *   adamw<<<..., stream>>>(..., (const struct step *)in_graph);
 *   ...
 *   philox_graph_param_index(graph, "step", &index);
 *
 *   step.rate = ...;                               for each launch
 *   philox_graph_set_param(graph, index, &step, sizeof(step));
 *   philox_graph_launch(graph, stream, passes, n);
 *
 * Values travel in the message that the graph's head takes anyway: no copy, no
 * further node, no call to the device. Each launch reads the values that were
 * set when it was made, however many launches are queued. A launch that philox
 * was not told about finds 16 bytes of 0xff instead, a NaN in every float and
 * -1 in every integer, and philox_context_check() reports it.
 *
 * A cell is 16 bytes, aligned to 16; what the value does not fill is 0. Kernels
 * that read it must not write it, and must come after philox_capture_param() on
 * its stream, or on one that waits for that. Eager code fills cells of its own
 * with philox_param_write(), so that a kernel is written once.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
 */

#define PHILOX_PARAM_BYTES 16 /* bytes of a cell, and most of a value */

/*
 * philox_capture_param() makes a value of `size` bytes, 1 .. 16, in the capture
 * of a stream, with the bytes at `initial` until others are set, and writes the
 * device address of its cell, which is good for as long as the graph and all
 * executable graphs made from it. `name` is unique in the capture; copied. A
 * value takes the room of a pass in the graph's head. A capture with values and
 * without a pass can be adopted and launched. Errors: PHILOX_ERROR_INVALID
 * (names the argument), PHILOX_ERROR_STATE (the stream is not capturing),
 * PHILOX_ERROR_EXISTS (the name is taken), PHILOX_ERROR_LIMIT,
 * PHILOX_ERROR_CAPTURE_INVALIDATED, PHILOX_ERROR_MEMORY, those of the device.
 */
PHILOX_API enum philox_status philox_capture_param(
	struct philox_context *context, philox_stream stream, const char *name,
	const void *initial, size_t size, void **address);

/*
 * philox_graph_param_count() returns how many values a graph has (0 for NULL).
 * philox_graph_param_index() writes the index of the one with a name, counted
 * from 0 in order of capture: PHILOX_ERROR_NOT_FOUND.
 * philox_graph_get_param_info() describes one. Errors: PHILOX_ERROR_INVALID.
 * Legal during capture.
 */
struct philox_graph_param_info {
	size_t size;       /* sizeof(this struct), set by the caller and kept */
	const char *name;  /* belongs to the graph */
	uint32_t bytes;    /* of the value */
	uint32_t reserved; /* written as 0 */
};

PHILOX_API size_t philox_graph_param_count(const struct philox_graph *graph);
PHILOX_API enum philox_status philox_graph_param_index(
	const struct philox_graph *graph, const char *name, size_t *index);
PHILOX_API enum philox_status philox_graph_get_param_info(
	const struct philox_graph *graph, size_t index,
	struct philox_graph_param_info *info);

/*
 * philox_graph_set_param() sets what a value is for the launches from now on.
 * `size` is that of its capture. Setting one is in the context's journal;
 * values are saved nowhere, they are the caller's. Errors: PHILOX_ERROR_INVALID
 * (an index out of range, another size), PHILOX_ERROR_BUSY (between prologue
 * and epilogue). Legal during capture.
 */
PHILOX_API enum philox_status philox_graph_set_param(struct philox_graph *graph,
						     size_t index,
						     const void *bytes,
						     size_t size);

/*
 * philox_param_write() writes a value of 1 .. 16 bytes to a cell of the caller,
 * 16 bytes of device memory aligned to 16, in stream order; the rest of the
 * cell is 0. `bytes` can be reused when the call returns. Recorded as one node
 * during capture: each launch writes these bytes again. Errors:
 * PHILOX_ERROR_INVALID (names the argument; on a host device also a cell that
 * is not all in memory, philox/device.h), PHILOX_ERROR_CAPTURE_INVALIDATED,
 * those of the device.
 */
PHILOX_API enum philox_status philox_param_write(struct philox_context *context,
						 philox_stream stream,
						 void *cell, const void *bytes,
						 size_t size);

/* --- branches and loops --------------------------------------------------- */

/*
 * A conditional node of a graph runs one of its bodies, graphs of their own,
 * if a condition says so: IF, SWITCH, or WHILE, which runs its body again and
 * again. Which, and how often, only the device knows. Random passes may be in
 * bodies; each run of a body draws its own numbers:
 *
 *   struct philox_conditional_desc options =
 *           PHILOX_INIT(struct philox_conditional_desc);
 *   struct philox_conditional loop;
 *   const uint32_t *iteration;                   device memory, as are more[]
 *
 *   options.kind = PHILOX_CONDITIONAL_WHILE;
 *   options.limit = 512;                         runs in one launch, at most
 *   philox_conditional_begin(context, stream, &options, &loop);
 *   philox_conditional_body(&loop, 0, inner);    `inner` is capturing now
 *     philox_conditional_iteration(&loop, 0, &iteration);
 *     philox_forward_begin(region, inner, 0, &pass);
 *     ...                                        your kernels: 0, 1, 2, ...
 *     philox_pass_commit(&pass, 0, &ticket);
 *     philox_conditional_set(&loop, inner, more);
 *   philox_conditional_end(&loop);               `stream` goes on after it
 *
 * The capture that `stream` is in, and all bodies in it, are one capture for
 * philox: one graph is made of it, placeholders are good in all of it, and its
 * one head remains the only node that a launch updates. Each body has one more
 * kernel, which never changes.
 *
 * Numbers. `limit` is the most runs of a body in one launch. Run i, counted
 * from 0, is iteration i of each forward in the body: it draws what its forward
 * draws, i x (advance of the region) further on, and each launch reserves limit
 * x advance, whatever the device then does. So nothing repeats; tickets are
 * those of the whole launch; and any iteration can be drawn again anywhere
 * (philox_pass_at()). A body in the body of a loop counts its own runs over
 * the whole launch, and its limit is for these. A forward in a branch that
 * is not taken draws nothing; its ticket is as good as any other, and names
 * iteration 0, as every ticket does when nothing else is said.
 *
 * Backwards in bodies. Where `forward` is the pass of the same capture that a
 * backward repeats:
 *
 *   the forward is outside of all bodies,     the run's numbers of the forward
 *   or in this body or one around it
 *   ... in another body                       run i: iteration i
 *   ... with PHILOX_PASS_REVERSED             run i: the i-th from the last
 *                                             that was run in this launch
 *   the backward is outside of all bodies     iteration 0
 *   the forward is named at launch            run i: iteration i
 *
 * and philox_pass_at() and philox_pass_at_word() take any other order. What is
 * linked to a backward named at launch takes that one for its forward.
 * PHILOX_PASS_REVERSED is refused where the loops of forward and backward are
 * both in a body that runs again, since the last run of the launch is then not
 * that of the present turn. The rules of philox/pass.h hold as they do without
 * bodies: a pass counts once, whatever the number of its runs. A ticket must
 * have as many iterations as the passes that repeat it may take: a backward in
 * a body of limit 8 is refused for a forward of 5 iterations, at capture or, if
 * named at launch, at launch; a REVERSED one, which begins where the forward
 * ended, is not.
 *
 * What is wrong on the device. A run beyond the limit finds poison, and
 * philox_context_check() reports it (a backward that repeats a forward around
 * the body finds that one's numbers all the same). So does a REVERSED run for
 * which there is no iteration left, or whose iteration was beyond the limit. A
 * launch that philox was not told about finds poison in all bodies.
 * philox_conditional_set() ends a WHILE after such a run, so that a loop which
 * waits for a number to come does not go on for ever.
 *
 * What a body may hold is up to CUDA: kernels, copies and fills of device
 * memory, conditional nodes. philox refuses in a body: a session of a pool
 * (philox/pool.h) and, where the body may run again, a copy of a generator's
 * state (philox_generator_copy_state()), which would be the same each time.
 * Values (philox/graph.h) and tables of rows (philox/rows.h) are as
 * anywhere. Needs CUDA 12.3 for IF, 12.4 for WHILE, 12.8 for SWITCH and for an
 * IF with two bodies, of the driver too: else PHILOX_ERROR_UNSUPPORTED names
 * what is missing. A graph with conditional nodes has one executable graph at a
 * time.
 *
 * Thread rule: the calls for one struct philox_conditional come one at a time;
 * apart from that every function here may be called from any thread. All are
 * for streams that are capturing.
 */

enum philox_conditional_kind {
	PHILOX_CONDITIONAL_IF =
		0, /* body 0 unless the condition is 0; else body 1 */
	PHILOX_CONDITIONAL_WHILE = 1, /* body 0, until the condition is 0 */
	PHILOX_CONDITIONAL_SWITCH =
		2 /* the body whose number the condition is, or none */
};

/*
 * struct philox_conditional_desc describes a conditional node. Begin with
 * PHILOX_INIT().
 */
struct philox_conditional_desc {
	size_t size; /* sizeof(this struct) */
	uint32_t kind;   /* enum philox_conditional_kind */
	uint32_t bodies; /* IF: 1 or 2; SWITCH: 1 .. 1024; 0: 1 */
	uint32_t limit;  /* runs of each body in one launch, at most; needed
				 for a WHILE; 0 otherwise: as often as the body
				 around the node, or once */
	uint32_t own;    /* 1: the node is the caller's own, see below */
	const uint32_t *word; /* device memory: the condition, read where the
				 node begins; NULL: it is 1 there */
};

/*
 * struct philox_conditional is a node whose bodies are being captured. A value
 * that the caller holds; its fields, but for `condition`, belong to the
 * library.
 */
struct philox_conditional {
	struct philox_context *context; /* NULL when not open */
	philox_stream stream;           /* of the capture it is in */
	uint64_t capture_id;            /* of that capture */
	uint64_t condition; /* a cudaGraphConditionalHandle, for your
					   own kernels; 0 if own */
	uint32_t index;     /* in its capture */
	uint32_t own;
	uint64_t reserved[4]; /* room to grow; 0 */
};

/*
 * philox_conditional_begin() records a conditional node as the next work of a
 * stream that is capturing, in a body perhaps; what the stream records after it
 * comes after the node. Its bodies are to be captured next, each on a stream of
 * its own, then the node is ended.
 *
 * With `own` the node is the caller's: this call only sees to it that the
 * stream's next node comes after what bodies need. The caller then adds the
 * node there with cudaGraphAddNode(), begins the capture of each body with
 * cudaStreamBeginCaptureToGraph(), calls philox_conditional_body() for it
 * before any other work of philox in that body, and ends that capture before
 * the next call for this node. `word` must be NULL.
 *
 * Errors: PHILOX_ERROR_INVALID (names the field), PHILOX_ERROR_STATE (the
 * stream is not capturing), PHILOX_ERROR_UNSUPPORTED, PHILOX_ERROR_LIMIT,
 * PHILOX_ERROR_MEMORY, PHILOX_ERROR_CAPTURE_INVALIDATED, those of the device.
 * If it fails, *conditional is not open, and the capture is as it was; unless
 * the device failed half-way, with a part of the node in the graph: then the
 * capture cannot become a graph, and says why.
 */
PHILOX_API enum philox_status philox_conditional_begin(
	struct philox_context *context, philox_stream stream,
	const struct philox_conditional_desc *options,
	struct philox_conditional *conditional);

/*
 * philox_conditional_body() begins the capture of body number `body`, after it
 * has ended that of another body of the node, if one is open. `stream` must
 * not be capturing; it is until the next call of philox_conditional_body() or
 * philox_conditional_end(). It captures in mode RELAXED, so that the rules are
 * those of the capture around it. Streams that joined it must have come back.
 *
 * With `own` the stream is capturing already, into the body, and is tied to the
 * node's capture: the body's capture is ended by the caller.
 *
 * Errors: PHILOX_ERROR_INVALID (no such body), PHILOX_ERROR_STATE (the node is
 * not open, or its capture is over; the stream is capturing already, or with
 * `own` is not, or captures what has passes already), PHILOX_ERROR_EXISTS (the
 * body was captured already; with `own` also: the stream's capture is tied),
 * PHILOX_ERROR_CAPTURE_* (the open body ended badly), those of the device. If
 * it fails, no body is open, and the stream is not capturing because of it.
 */
PHILOX_API enum philox_status philox_conditional_body(
	struct philox_conditional *conditional, uint32_t body,
	philox_stream stream);

/*
 * philox_conditional_set() records a kernel that sets the node's condition to
 * the value of a word of device memory, aligned to 4, as it is when the kernel
 * runs: in the body of a WHILE, for the question whether to run it again. For a
 * WHILE it sets 0 if the present run is beyond the limit, or the launch one
 * that philox was not told about. `stream` is capturing the node's body, or a
 * body in it. Your own kernels may set it, too, with cudaGraphSetConditional(),
 * which needs relocatable device code; this needs none. Two kernels that may
 * run at the same time must not set one condition. Errors: PHILOX_ERROR_INVALID
 * (the word; the node is the caller's own), PHILOX_ERROR_STATE (the stream is
 * not capturing, or the node not open), PHILOX_ERROR_MISMATCH (the stream
 * captures something else), PHILOX_ERROR_CAPTURE_INVALIDATED, those of the
 * device.
 */
PHILOX_API enum philox_status philox_conditional_set(
	const struct philox_conditional *conditional, philox_stream stream,
	const uint32_t *word);

/*
 * philox_conditional_iteration() writes the device address of the number of a
 * body's present run in its launch, from 0 on, for your own kernels in that
 * body or in those within; UINT32_MAX in a launch that philox was not told
 * about. Its content is undefined elsewhere. The body has been begun. The
 * address is good for as long as the graph. Errors: PHILOX_ERROR_INVALID,
 * PHILOX_ERROR_STATE.
 */
PHILOX_API enum philox_status philox_conditional_iteration(
	const struct philox_conditional *node, uint32_t body,
	const uint32_t **iteration);

/*
 * philox_conditional_end() ends the capture of the body that is open, and the
 * node. All bodies must have been captured; of a node of the caller's own,
 * those in which philox is used. Errors: PHILOX_ERROR_STATE (the node is not
 * open; a body was not captured), PHILOX_ERROR_CAPTURE_* (the open body ended
 * badly), those of the device. Whatever it returns, the node is not open after
 * it and no stream is capturing a body of it, nor of a node in that; if it
 * fails, the capture cannot become a graph, and says why.
 */
PHILOX_API enum philox_status philox_conditional_end(
	struct philox_conditional *conditional);

/* --- verified launches ---------------------------------------------------- */

/*
 * philox_graph_launch_verified() is philox_graph_launch() for a graph that the
 * caller captured, with a check that the graph does what it is meant to do. It
 * is given the eager form of the graph, a callback that does the same work
 * without a capture. The callback runs first, with the numbers that the launch
 * is to draw, on copies of the arrays that the graph writes; then the graph
 * runs, and the arrays must be the same, bit for bit:
 *
 *   enum philox_status eager(void *user, struct philox_run *run)
 *   {
 *           philox_run_input(run, 0, &y, NULL);
 *           philox_run_forward_begin(run, region, 0, &pass);
 *           ... the kernels of the graph, on philox_run_stream(run) ...
 *           return philox_pass_commit(&pass, 0, &ticket);
 *   }
 *
 *   struct philox_array_desc arrays[] = {{.name = "y", .address = y, ...}};
 *
 *   philox_graph_launch_verified(graph, stream, passes, n, &options);
 *
 * A runner does this by itself: see "Verification" in philox/runner.h, where
 * what is said of bodies holds for the callback.
 */

struct philox_run;

/* An array that the graph writes. What else it reads must not change. */
struct philox_array_desc {
	const char *name; /* for messages */
	void *address;    /* of device memory, where the graph has it; no two
			     arrays may overlap */
	size_t bytes;
	uint32_t elements; /* for messages: PHILOX_ELEMENTS() of a dtype
			      (philox/fill.h); 0: bytes */
	uint32_t reserved; /* 0 */
};

/* struct philox_verify_desc: begin with PHILOX_INIT(). */
struct philox_verify_desc {
	size_t size;              /* sizeof(this struct) */
	struct philox_pool *pool; /* of the same context, for copies: twice the
				     arrays, and 16 KiB; not a pool that the
				     graph was captured with */
	const struct philox_array_desc *arrays;
	size_t n_arrays; /* at most 2^20 */
	enum philox_status (*eager)(void *user, struct philox_run *run);
	void *user;
};

/*
 * philox_graph_launch_verified() launches a graph and compares; it waits for
 * the stream. If the graph differs, the arrays and the tables of rows that the
 * callback drew from are put back as they were before, the launch has failed as
 * one that the device refused, and the message names the array, its first
 * element that differs with both values, and whether the eager form is not
 * deterministic, or the graph has something frozen. For that the callback is
 * called some more times. Errors: PHILOX_ERROR_DIFFERS; those of
 * philox_graph_launch(); what the callback returned, PHILOX_ERROR_STATE (it
 * left a pass open, or began others than the graph has), PHILOX_ERROR_INVALID
 * (names the field), PHILOX_ERROR_MISMATCH (the pool is of another context),
 * PHILOX_ERROR_BUSY (the pool is in use, or the graph's), PHILOX_ERROR_MEMORY,
 * PHILOX_ERROR_UNSUPPORTED (the callback seeds a generator or destroys a table
 * of rows). A pool that is in use, or has no memory for the arrays, is found
 * before numbers are taken. Where the device fails so that the pool cannot be
 * left, it is in use until the next call of this function with it. Not for
 * graphs with conditional nodes, or with forwards of several iterations:
 * PHILOX_ERROR_UNSUPPORTED. Thread rule: as philox_graph_launch(); not legal on
 * a thread that is capturing.
 */
PHILOX_API enum philox_status philox_graph_launch_verified(
	struct philox_graph *graph, philox_stream stream,
	struct philox_launch_pass *passes,
	size_t n_passes,
	const struct philox_verify_desc *options);

#ifdef __cplusplus
}
#endif
#endif
