/*
 * philox/graph.h - captured graphs and their replay
 *
 * A pass may begin on a stream that is capturing. No numbers are drawn and no
 * ticket is made then, but the graph remembers the pass. Every launch executes
 * each pass of its graph once: forwards with fresh numbers, backwards with
 * those of their forwards. However many passes the graph holds, it gains one
 * node (the head), and a launch costs one update of that node's parameters. The
 * first launch costs one copy more.
 *
 * Capturing passes, ending or adopting a capture and launching never wait for
 * work on the device. They hold back no other thread's calls while a graph is
 * instantiated.
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
 * Begin a capture of mode THREAD_LOCAL on a stream.
 *
 *   context    the context
 *   stream     the stream to capture; not the legacy stream
 *
 * Returns PHILOX_OK, or an error; then the stream is not capturing.
 * Errors:
 *   PHILOX_ERROR_INVALID     the context is NULL
 *   PHILOX_ERROR_CAPTURE_*   the stream is capturing, or cannot capture
 *   those of the device
 * During capture: legal on streams that are not capturing.
 * Threads: any; this one must end the capture.
 */
PHILOX_API enum philox_status philox_capture_begin(
	struct philox_context *context, philox_stream stream);

/*
 * End a capture that philox_capture_begin() began, and make a graph of it.
 *
 *   context    the context
 *   stream     the stream on which the capture began
 *   graph      written: the graph, which belongs to the library. Destroy it
 *              with philox_graph_destroy(); its context destroys it otherwise
 *
 * A capture without passes gives a graph without passes. If ending fails,
 * nothing is left of the capture, and its streams run again. The message then
 * names the first philox call on this stream that found the capture
 * invalidated, and the last one that found it valid.
 *
 * Returns PHILOX_OK, or an error; then no graph is made.
 * Errors:
 *   PHILOX_ERROR_STATE       the stream is not capturing; a pass of the capture
 *                            is open or was aborted; a conditional node was not
 *                            ended, or ended with an error
 *   PHILOX_ERROR_CAPTURE_UNMATCHED
 *                            this is not the stream or thread on which the
 *                            capture began; the capture continues
 *   PHILOX_ERROR_CAPTURE_*   the capture broke
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: it ends one.
 * Threads: the one that began the capture.
 */
PHILOX_API enum philox_status philox_capture_end(struct philox_context *context,
						 philox_stream stream,
						 struct philox_graph **graph);

/*
 * Adopt a graph that the caller captured, ended and instantiated.
 *
 *   context      the context of the passes in it
 *   capture_id   the id that philox_stream_capture_info() or
 *                cudaStreamGetCaptureInfo() gave during the capture
 *   native       the graph; still the caller's, must outlive the adoption. Or
 *                NULL: it may be destroyed at any time, or is already
 *   exec         its executable graph; still the caller's, must outlive the
 *                adoption, or the next philox_graph_set_exec()
 *   graph        written: a graph that philox_graph_launch() takes
 *
 * philox_graph_destroy() ends the adoption.
 *
 * Without its native graph, the parameters of a node cannot be updated. So a
 * launch then begins with a kernel on its stream, which fills the graph's
 * cells, and ends with an event there, which the next launch waits for: three
 * calls of the device in place of one. What a launch draws is the same. One
 * that philox was not told about draws poison and is reported, as below; but
 * `exec` then counts as "another executable graph" there, and a launch that was
 * put on another stream before an announced one, and has not run by then, as
 * one that overlaps it. That `exec` is of this capture cannot be checked.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_NOT_FOUND   the capture of that id had no pass, no parameter
 *                            and no session of a pool; or it was dropped or
 *                            destroyed
 *   PHILOX_ERROR_EXISTS      it is adopted already
 *   PHILOX_ERROR_STATE       a pass is open or was aborted; a conditional node
 *                            was not ended, or ended with an error
 *   PHILOX_ERROR_BUSY        another thread is making a graph of it
 *   PHILOX_ERROR_STALE       a region was destroyed
 *   PHILOX_ERROR_INVALID     a struct philox_graph in place of a native one;
 *                            the id of a body's capture; on a host device, a
 *                            handle that is not that of a native graph, or of
 *                            an executable graph
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_graph_adopt(struct philox_context *context,
						 uint64_t capture_id,
						 philox_native_graph native,
						 philox_native_exec exec,
						 struct philox_graph **graph);

/*
 * Have an adopted graph launch another executable graph of its capture.
 *
 *   graph      the graph, adopted; its launches so far come before those of the
 *              other one, in the order of streams
 *   exec       an executable graph of the same native graph: instantiated again
 *              after an update, say, or with other flags
 *
 * The old one is not touched, and may have been destroyed. Tickets and launch
 * parameters stay.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL, or `exec` is a struct
 *                          philox_graph or, on a host device, a handle that is
 *                          not that of an executable graph
 *   PHILOX_ERROR_STATE     the graph is the library's own
 *   PHILOX_ERROR_BUSY      it is between prologue and epilogue
 *   those of the device    `exec` is of another capture, as far as can be told
 * During capture: not legal on a thread that is capturing.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_graph_set_exec(struct philox_graph *graph,
						    philox_native_exec exec);

/*
 * Forget a capture that will not be adopted.
 *
 *   context      the context of the passes in it
 *   capture_id   as for philox_graph_adopt()
 *
 * A later call frees the capture's device memory, once its native graph is
 * destroyed or if that graph was never made. Without this call the memory is
 * freed when the native graph is destroyed.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_NOT_FOUND   no capture has that id
 *   PHILOX_ERROR_STATE       it is adopted
 *   PHILOX_ERROR_BUSY        another thread is making a graph of it
 *   PHILOX_ERROR_INVALID     it is the capture of a conditional node's body,
 *                            which goes with the capture around it
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_capture_drop(
	struct philox_context *context, uint64_t capture_id);

/* How graphs are instantiated: the sum of some, which are CUDA's numbers. */
enum philox_instantiate {
	PHILOX_INSTANTIATE_AUTO_FREE = 1,    /* a launch frees what the last one
						allocated and did not free */
	PHILOX_INSTANTIATE_NODE_PRIORITY = 8 /* kernels run with the priorities
						of the streams that were
						captured, and not with that of
						the launch's stream */
};

/*
 * Set how the graphs that philox_capture_end() makes, and a runner, are
 * instantiated from now on.
 *
 *   context   the context
 *   flags     the sum of some of enum philox_instantiate; 0 at first
 *
 * The flags are read when a capture ends. With them or without, in captures of
 * ours and of others, the head and the kernels of bodies have the highest
 * priority of the streams that draw after them, so that none waits for one of
 * these with a lower priority. A kernel that sets a condition is recorded on a
 * stream of yours, and has its priority. Host devices have no priorities, and
 * no allocations in graphs.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   context is NULL; flags has others
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_context_set_instantiate(
	struct philox_context *context, uint32_t flags);

/*
 * Destroy a graph, or end the adoption of one.
 *
 *   graph      the graph, all of whose replays have finished; NULL is allowed
 *
 * Returns PHILOX_OK, or an error; then the graph is as it was.
 * Errors:
 *   PHILOX_ERROR_BUSY   the graph is between prologue and epilogue
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: any; no other call may use the graph.
 */
PHILOX_API enum philox_status philox_graph_destroy(struct philox_graph *graph);

/* --- launching ------------------------------------------------------------ */

/*
 * A launch that philox was not told about, by philox_graph_launch() or a
 * prologue, draws nothing: its states are poison (NaN or all-ones in place of
 * numbers), and philox_context_check() reports it. That is exact for the
 * graph's own executable graph, whose launches run one after the other. Another
 * executable graph of the same capture, or a clone, is never announced. Each of
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
 * One captured pass of a launch. Passes are in order of begin.
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
 *       is named at launch         of that one's entry
 */
struct philox_launch_pass {
	struct philox_ticket ticket;
	uint32_t flags;
	uint32_t reserved; /* 0 */
};

/*
 * Describes one captured pass of a graph. It begins with its size
 * (philox/status.h).
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
 * Launch a graph on a stream.
 *
 *   graph      the graph
 *   stream     the stream; not capturing
 *   passes     read and written: one entry for each pass of the graph, see
 *              struct philox_launch_pass
 *   n_passes   philox_graph_pass_count()
 *
 * All passes are checked together, numbers are reserved, the parameters of the
 * graph's head are updated, and the graph is launched. Launches of one graph
 * run one after the other.
 *
 * Returns PHILOX_OK, or an error. A launch that is refused changes nothing. One
 * that fails on the device makes no forward and leaves every ticket as it was,
 * but its numbers are burnt.
 * Errors:
 *   PHILOX_ERROR_INVALID   n_passes, a reserved field, a flag; on a host
 *                          device, an array whose memory was freed
 *                          (philox/device.h)
 *   those of philox_forward_begin() and philox_backward_begin() for a pass,
 *                          which the message names
 *   PHILOX_ERROR_BUSY      another launch is using up a ticket; the graph is
 *                          between prologue and epilogue; a pool of the graph
 *                          is in use (philox/pool.h)
 *   PHILOX_ERROR_STALE     a region was destroyed
 *   PHILOX_ERROR_MISMATCH  a generator that the graph sets was seeded since
 *   PHILOX_ERROR_STATE     of a pool of the graph (philox/pool.h)
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                          the stream is capturing
 *   those of the device
 * During capture: legal while other streams capture.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_graph_launch(
	struct philox_graph *graph, philox_stream stream,
	struct philox_launch_pass *passes, size_t n_passes);

/*
 * Begin a launch that the caller makes with the executable graph.
 *
 *   graph      the graph
 *   stream     the stream of the launch, or one that it waits for
 *   passes     as for philox_graph_launch(); kept until the epilogue
 *   n_passes   philox_graph_pass_count()
 *
 * Checks, reserves and updates the parameters as philox_graph_launch() does.
 * Of a graph that was adopted without its native graph it puts a kernel on
 * `stream` instead.
 * The caller then launches the executable graph exactly once, on `stream` or on
 * a stream that waits for it, and calls philox_graph_epilogue(). If the graph
 * was adopted without its native graph, `stream` waits for the launch before
 * the epilogue. The first launch of a graph comes after a copy on `stream`.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors: those of philox_graph_launch()
 * During capture: legal while other streams capture.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_graph_prologue(
	struct philox_graph *graph, philox_stream stream,
	struct philox_launch_pass *passes, size_t n_passes);

/*
 * End a launch that philox_graph_prologue() began.
 *
 *   graph      the graph
 *   launched   what the launch returned. PHILOX_OK makes the new tickets live,
 *              writes them to `passes` and uses up the old ones. Any other
 *              status leaves the ledger as if no pass had begun
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_STATE   no prologue of this graph came before
 *   those of the device
 * During capture: legal while other streams capture.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_graph_epilogue(
	struct philox_graph *graph, enum philox_status launched);

/* --- queries -------------------------------------------------------------- */

/*
 * Return the number of passes that a graph holds.
 *
 *   graph      the graph; NULL: 0
 *
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API size_t philox_graph_pass_count(const struct philox_graph *graph);

/*
 * Describe one captured pass of a graph.
 *
 *   graph      the graph
 *   index      0 .. philox_graph_pass_count() - 1, in order of begin
 *   info       written; its size is set by the caller
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   the index is out of range; the size cannot be
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_graph_get_pass_info(
	const struct philox_graph *graph, size_t index,
	struct philox_graph_pass_info *info);

/*
 * Give a graph a name for messages.
 *
 *   graph      the graph
 *   name       copied; cut to 63 bytes
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_graph_set_name(struct philox_graph *graph,
						    const char *name);

/*
 * Return the name of a graph: "graph 1" and so on until it is given another.
 *
 *   graph      the graph, which the name belongs to; NULL: ""
 *
 * During capture: legal.
 * Threads: any, while no other thread renames the graph.
 */
PHILOX_API const char *philox_graph_name(const struct philox_graph *graph);

/*
 * Write the native handles of a graph.
 *
 *   graph      the graph
 *   native     written: the native graph, which keeps its owner; NULL if the
 *              graph was adopted without; NULL is allowed
 *   exec       written: the executable graph; likewise
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   graph is NULL
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_graph_native(
	const struct philox_graph *graph, philox_native_graph *native,
	philox_native_exec *exec);

enum philox_explain_flags {
	PHILOX_EXPLAIN_TIMES = 1 /* also how long each phase took */
};

/*
 * Write what a graph does as a program that people can read.
 *
 *   graph      the graph
 *   flags      of enum philox_explain_flags
 *   text       written: the text, which ends with a NUL; free it with free()
 *   bytes      written: its size without the NUL; NULL is allowed
 *
 * The program has a line for each step of the capture in its order: passes,
 * draws with dtype, span, parameters and operator, states that are handed out,
 * launch parameters, copied states of generators, bodies of conditional nodes.
 * Allocations and frees are those of pools in which the capture had a session,
 * with their places. Then come the nodes by kind, and at the end of each body
 * those in it. Handles of an adopted graph may be gone, so its nodes are not
 * listed. At most 16384 steps are kept; the rest is counted.
 * philox_function_explain_text() does so for recordings of a runner.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL; the flags
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_graph_explain_text(
	const struct philox_graph *graph, unsigned flags, char **text,
	size_t *bytes);

/* --- launch parameters ---------------------------------------------------- */

/*
 * A capture freezes whatever a kernel takes by value: a learning rate, a step
 * count, a length. A launch parameter is up to 16 bytes that captured kernels
 * read from device memory instead. The host sets it before each launch:
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
 * Parameters travel in the message that the graph's head takes anyway: no copy,
 * no further node, no call to the device. Each launch reads the values that
 * were set when it was made, however many launches are queued. A launch that
 * philox was not told about finds 16 bytes of 0xff instead: a NaN in every
 * float, -1 in every integer. philox_context_check() reports it.
 *
 * A cell is 16 bytes, aligned to 16; bytes beyond the parameter's are 0.
 * Kernels that read it must not write it. They must come after
 * philox_capture_param() on its stream, or on a stream that waits for it. Eager
 * code fills cells of its own with philox_param_write(), so that one kernel
 * serves both.
 */

#define PHILOX_PARAM_BYTES 16 /* bytes of a cell; most of a parameter */

/*
 * Make a launch parameter in the capture of a stream.
 *
 *   context    the context
 *   stream     a stream that is capturing
 *   name       unique in the capture; copied
 *   initial    what it is until philox_graph_set_param() sets it
 *   bytes      its size, 1 .. 16
 *   address    written: the device address of its cell, which is good for as
 *              long as the graph and all executable graphs made from it
 *
 * A parameter takes the room of a pass in the graph's head. A capture with
 * parameters and without a pass can be adopted and launched.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   names the argument
 *   PHILOX_ERROR_STATE     the stream is not capturing
 *   PHILOX_ERROR_EXISTS    the capture has a parameter of that name
 *   PHILOX_ERROR_LIMIT     the capture has no room for one more
 *   PHILOX_ERROR_MEMORY
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   those of the device
 * During capture: legal, and only there.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_capture_param(
	struct philox_context *context, philox_stream stream, const char *name,
	const void *initial, size_t bytes, void **address);

/* Describes a launch parameter. */
struct philox_graph_param_info {
	size_t size;       /* sizeof(this struct), set by the caller and kept */
	const char *name;  /* belongs to the graph */
	uint32_t bytes;    /* of the parameter */
	uint32_t reserved; /* written as 0 */
};

/*
 * Return the number of launch parameters that a graph has.
 *
 *   graph      the graph; NULL: 0
 *
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API size_t philox_graph_param_count(const struct philox_graph *graph);

/*
 * Find the index of a launch parameter by its name.
 *
 *   graph      the graph
 *   name       the name that its capture gave
 *   index      written: counted from 0, in order of capture
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_NOT_FOUND   no parameter has that name
 *   PHILOX_ERROR_INVALID     an argument is NULL
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_graph_param_index(
	const struct philox_graph *graph, const char *name, size_t *index);

/*
 * Describe a launch parameter of a graph.
 *
 *   graph      the graph
 *   index      0 .. philox_graph_param_count() - 1
 *   info       written; its size is set by the caller
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   the index is out of range; the size cannot be
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_graph_get_param_info(
	const struct philox_graph *graph, size_t index,
	struct philox_graph_param_info *info);

/*
 * Set a launch parameter for the launches from now on.
 *
 *   graph      the graph
 *   index      0 .. philox_graph_param_count() - 1
 *   data       copied
 *   bytes      its size, the same as in philox_capture_param()
 *
 * The context's journal records it. No text saves it: the value is the
 * caller's.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   the index is out of range; another size
 *   PHILOX_ERROR_BUSY      the graph is between prologue and epilogue
 * During capture: legal.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_graph_set_param(struct philox_graph *graph,
						     size_t index,
						     const void *data,
						     size_t bytes);

/*
 * Write a parameter to a cell of the caller, in stream order.
 *
 *   context    the context
 *   stream     the stream
 *   cell       16 bytes of device memory, aligned to 16; what `data` does not
 *              fill becomes 0
 *   data       copied before the call returns
 *   bytes      its size, 1 .. 16
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   names the argument; on a host device, a cell that is
 *                          not all in memory (philox/device.h)
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   those of the device
 * During capture: legal; it becomes one node, and each launch writes these
 * bytes again.
 * Threads: any.
 */
PHILOX_API enum philox_status philox_param_write(struct philox_context *context,
						 philox_stream stream,
						 void *cell, const void *data,
						 size_t bytes);

/* --- branches and loops --------------------------------------------------- */

/*
 * A conditional node of a graph runs one of its bodies, graphs of their own, if
 * a condition says so: IF, SWITCH, or WHILE, which repeats its body. How often
 * a WHILE of limit N runs its body in one launch:
 *
 *   philox_conditional_set()       at most N times, your kernels included. If
 *   sets the condition             the condition still holds after run N,
 *                                  philox_context_check() reports it
 *   your own kernels set it        philox cannot end the loop. Run N + 1 takes
 *                                  place if they ask for it; its passes are
 *                                  poison, and it is reported. There the word
 *                                  of philox_conditional_beyond() is 1: write
 *                                  to no array of N then, and set 0
 *
 * Only the device knows which body runs, and how often. Bodies may have random
 * passes; each run of a body draws its own numbers:
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
 *   philox_conditional_end(&loop);               `stream` continues
 *
 * The capture that `stream` is in, and all bodies in it, are one capture for
 * philox. One graph is made of it, and placeholders are good in all of it. Its
 * one head remains the only node that a launch updates. Each body has one more
 * kernel, which never changes. The body of a WHILE has two more if
 * philox_conditional_set() sets its condition at several places or in a branch.
 *
 * Numbers. `limit` is the most runs of a body in one launch. Run i, counted
 * from 0, is iteration i of each forward in the body. It draws what its forward
 * draws, i x (advance of the region) further on. Each launch reserves limit x
 * advance, whatever the device then does. So nothing repeats; tickets are those
 * of the whole launch; and any iteration can be drawn again anywhere
 * (philox_pass_at()). A body in the body of a loop counts its own runs over the
 * whole launch, and its limit is for these. A forward in a branch that is not
 * taken draws nothing. Its ticket is as good as any other, and names iteration
 * 0, as every ticket does when nothing else is said.
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
 * linked to a backward named at launch takes that one for its forward. It is
 * refused (PHILOX_ERROR_INVALID) to begin a backward PHILOX_PASS_REVERSED
 *
 *   outside of all bodies, or with a forward that is outside of all bodies or
 *   named at launch
 *   with a forward in its own body, or in one around it: the run's numbers are
 *   those of the forward
 *   with a forward whose loop is in the backward's own body: that loop runs
 *   anew in each run of the backward
 *   with both loops in the body of a WHILE, also of one of limit 1: the last
 *   run of the launch may be of an earlier turn. philox goes by the kind of
 *   the node, since your own kernels may run such a body again
 *
 * The rules of philox/pass.h hold as they do without
 * bodies: a pass counts once, whatever the number of its runs. A ticket must
 * have as many iterations as the passes that repeat it may take. A backward in
 * a body of limit 8 is refused for a forward of 5 iterations: at capture, or at
 * launch if it is named there. A REVERSED one, which begins where the forward
 * ended, is not.
 *
 * What is wrong on the device. A run beyond the limit finds poison, and
 * philox_context_check() reports it (a backward that repeats a forward around
 * the body finds that one's numbers all the same). Such a run is one of a loop
 * whose condition your own kernels set, or of a branch that is taken more often
 * than its own limit. A REVERSED run for which there is no iteration left, or
 * whose iteration was beyond the limit, finds poison and is reported, too. A
 * launch that philox was not told about finds poison in all bodies.
 * philox_conditional_set() ends a WHILE after one run of such a launch, so that
 * a loop which waits for a number ends.
 *
 * CUDA decides what a body may hold: kernels, copies and fills of device
 * memory, conditional nodes. philox refuses two things in a body. One is a
 * session of a pool (philox/pool.h). The other, where the body may run again,
 * is a copy of a generator's state (philox_generator_copy_state()), which would
 * be the same each time. Launch parameters and tables of rows (philox/rows.h)
 * work as elsewhere. Needs CUDA 12.3 for IF, 12.4 for WHILE, 12.8 for SWITCH
 * and for an IF with two bodies, of toolkit and driver: else
 * PHILOX_ERROR_UNSUPPORTED names what is missing. A graph with conditional
 * nodes has one executable graph at a time.
 */

enum philox_conditional_kind {
	PHILOX_CONDITIONAL_IF =
		0, /* body 0 unless the condition is 0; else body 1 */
	PHILOX_CONDITIONAL_WHILE = 1, /* body 0, until the condition is 0 */
	PHILOX_CONDITIONAL_SWITCH =
		2 /* the body whose number the condition is, or none */
};

/* Describes a conditional node. Begin with PHILOX_INIT(). */
struct philox_conditional_desc {
	size_t size;     /* sizeof(this struct) */
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
 * A conditional node whose bodies are being captured, which the caller holds.
 * Its fields, but for `condition`, belong to the library.
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
 * Record a conditional node as the next work of a stream.
 *
 *   context      the context
 *   stream       a stream that is capturing, a body perhaps
 *   options      describes the node; copied
 *   conditional  written: the node, open until philox_conditional_end()
 *
 * Work that the stream records later comes after the node. Capture its bodies
 * next, each on a stream of its own, then end the node.
 *
 * With `own` the node is the caller's: this call only makes the stream's next
 * node come after what bodies need. The caller then adds the node with
 * cudaGraphAddNode(), begins the capture of each body with
 * cudaStreamBeginCaptureToGraph(), and calls philox_conditional_body() for it
 * before any other work of philox in that body. It ends that capture before the
 * next call for this node. `word` must be NULL.
 *
 * Returns PHILOX_OK, or an error; then *conditional is not open and the capture
 * is as it was. If the device failed with a part of the node in the graph, the
 * capture cannot become a graph, and says why.
 * Errors:
 *   PHILOX_ERROR_INVALID       names the field
 *   PHILOX_ERROR_STATE         the stream is not capturing
 *   PHILOX_ERROR_UNSUPPORTED   names what toolkit or driver lacks
 *   PHILOX_ERROR_LIMIT         the capture has no room for one more
 *   PHILOX_ERROR_MEMORY
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   those of the device
 * During capture: legal, and only there.
 * Threads: any; calls for one node come one at a time.
 */
PHILOX_API enum philox_status philox_conditional_begin(
	struct philox_context *context, philox_stream stream,
	const struct philox_conditional_desc *options,
	struct philox_conditional *conditional);

/*
 * Begin the capture of a body of a conditional node.
 *
 *   conditional  the node
 *   body         the body's number, below `bodies` of the descriptor
 *   stream       a stream that is not capturing; it captures the body until the
 *                next philox_conditional_body() or philox_conditional_end()
 *
 * First ends the capture of the body that is open, if any; streams that joined
 * it must have come back. The capture is of mode RELAXED, so that the rules are
 * those of the capture around it.
 *
 * In a body, wait for nothing of the capture around it, and do not wait on the
 * host for a stream that captures a body: this breaks the body's capture. The
 * process may then crash with a driver of CUDA 13.0, at the latest where the
 * graph around it is instantiated or destroyed.
 *
 * With `own` the stream is capturing already, into the body, and is tied to the
 * node's capture. The caller ends the body's capture.
 *
 * Returns PHILOX_OK, or an error; then no body is open, and the stream is not
 * capturing because of this call.
 * Errors:
 *   PHILOX_ERROR_INVALID     no such body
 *   PHILOX_ERROR_STATE       the node is not open, or its capture has ended;
 *                            the stream is capturing; with `own`, it is not, or
 *                            captures what has passes already
 *   PHILOX_ERROR_EXISTS      the body was captured already; with `own` also:
 *                            the stream's capture is tied
 *   PHILOX_ERROR_CAPTURE_*   the open body ended badly
 *   those of the device
 * During capture: legal, and only there.
 * Threads: any; calls for one node come one at a time.
 */
PHILOX_API enum philox_status philox_conditional_body(
	struct philox_conditional *conditional, uint32_t body,
	philox_stream stream);

/*
 * Record a kernel that sets the condition of a node from device memory.
 *
 *   conditional  the node
 *   stream       a stream that captures the node's body, or a body in that
 *   word         device memory, aligned to 4: the condition is its value when
 *                the kernel runs
 *
 * In the body of a WHILE it decides whether the body runs again. After the last
 * run that the limit allows, the condition becomes 0 whatever the word is. The
 * same holds in a launch that philox was not told about. If a run sets the
 * condition several times, the last counts. If none of its kernels runs, the
 * condition stays.
 *
 * Your own kernels may set the condition with cudaGraphSetConditional(), which
 * needs relocatable device code; this call needs none. If they set it after the
 * last kernel of this call in the body, theirs counts, also at the limit. Two
 * kernels that may run at the same time must not set one condition.
 *
 * Returns PHILOX_OK, or an error; then nothing is recorded.
 * Errors:
 *   PHILOX_ERROR_INVALID    the word; the node is the caller's own
 *   PHILOX_ERROR_STATE      the stream is not capturing; the node is not open
 *   PHILOX_ERROR_MISMATCH   the stream captures something else
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   those of the device
 * During capture: legal, and only there.
 * Threads: any; calls for one node come one at a time.
 */
PHILOX_API enum philox_status philox_conditional_set(
	const struct philox_conditional *conditional, philox_stream stream,
	const uint32_t *word);

/*
 * Write the device address of the number of a body's present run.
 *
 *   node       the node
 *   body       the body's number; its capture has begun
 *   iteration  written: the address, good for as long as the graph. Kernels
 *                in that body and in bodies within it find the run's number in
 *              its launch there, from 0; UINT32_MAX in a launch that philox
 *              was not told about. Elsewhere its content is undefined
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL; no such body
 *   PHILOX_ERROR_STATE     the node is not open, or the body was not begun
 * During capture: legal, and only there.
 * Threads: any; calls for one node come one at a time.
 */
PHILOX_API enum philox_status philox_conditional_iteration(
	const struct philox_conditional *node, uint32_t body,
	const uint32_t **iteration);

/*
 * Write the device address of a word that tells whether a body's present run is
 * beyond the body's limit.
 *
 *   node       the node
 *   body       the body's number; its capture has begun
 *   beyond     written: the address, good for as long as the graph. Kernels in
 *              that body and in bodies within it find 0 there, or 1 if the run
 *              is beyond the limit or philox was not told about the launch.
 *              Elsewhere its content is undefined
 *
 * A kernel that writes to the place of its run in an array of `limit` places
 * leaves it alone if the word is 1. A kernel of yours that sets the condition
 * of a WHILE sets 0 then.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL; no such body
 *   PHILOX_ERROR_STATE     the node is not open, or the body was not begun
 * During capture: legal, and only there.
 * Threads: any; calls for one node come one at a time.
 */
PHILOX_API enum philox_status philox_conditional_beyond(
	const struct philox_conditional *node, uint32_t body,
	const uint32_t **beyond);

/*
 * End a conditional node and the capture of the body that is open.
 *
 *   conditional  the node; not open after this call, whatever it returns
 *
 * All bodies must have been captured; of a node of the caller's own, those that
 * use philox.
 *
 * Returns PHILOX_OK, or an error; then the capture cannot become a graph, and
 * says why. Either way no stream captures a body of the node, nor of a node in
 * one.
 * Errors:
 *   PHILOX_ERROR_STATE       the node is not open; a body was not captured
 *   PHILOX_ERROR_CAPTURE_*   the open body ended badly
 *   those of the device
 * During capture: legal, and only there.
 * Threads: any; calls for one node come one at a time.
 */
PHILOX_API enum philox_status philox_conditional_end(
	struct philox_conditional *conditional);

/* --- verified launches ---------------------------------------------------- */

/*
 * A verified launch checks that a captured graph does what it is meant to do.
 * The caller gives the eager form of the graph: a callback that does the same
 * work without a capture. The callback runs first, with the numbers that the
 * launch is to draw, on copies of the arrays that the graph writes. Then the
 * graph runs, and the arrays must be the same, bit for bit:
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
 * The callback is of the type of a runner's body, and gets its arrays, stream
 * and passes by the same functions (philox/runner.h, "bodies"). A runner
 * verifies its replays itself: see "Verification" there.
 */

struct philox_run;

/* An array that a graph writes. What else the graph reads must not change. */
struct philox_array_desc {
	const char *name; /* for messages */
	void *address;    /* of device memory, where the graph has it; no two
			     arrays may overlap */
	size_t bytes;
	uint32_t elements; /* for messages: PHILOX_ELEMENTS() of a dtype
			      (philox/fill.h); 0: bytes */
	uint32_t reserved; /* 0 */
};

/* Describes a verified launch. Begin with PHILOX_INIT(). */
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
 * Launch a graph, compare it with its eager form, and wait for the stream.
 *
 *   graph      the graph; without conditional nodes and without forwards of
 *              several iterations
 *   stream     as for philox_graph_launch()
 *   passes     as for philox_graph_launch()
 *   n_passes   philox_graph_pass_count()
 *   options    the eager form, and the arrays that the graph writes
 *
 * If the graph differs, the callback runs some more times to find out why. The
 * arrays, and tables of rows that the callback drew from, are then put back as
 * they were before, and the launch has failed as one that the device refused.
 * The message names the array, its first element that differs with both
 * values, and whether the eager form is not deterministic or the graph has
 * something frozen. A pool that is in use, or has no memory for the arrays, is
 * found before numbers are taken. If the device fails so that the pool's
 * session cannot end, the pool is in use until the next call with it.
 *
 * Returns PHILOX_OK, or an error.
 * Errors:
 *   PHILOX_ERROR_DIFFERS       graph and eager form differ
 *   those of philox_graph_launch()
 *   what the callback returned
 *   PHILOX_ERROR_STATE         the callback left a pass open, or began other
 *                              passes than the graph has
 *   PHILOX_ERROR_INVALID       names the field
 *   PHILOX_ERROR_MISMATCH      the pool is of another context
 *   PHILOX_ERROR_BUSY          the pool is in use, or the graph's
 *   PHILOX_ERROR_MEMORY
 *   PHILOX_ERROR_UNSUPPORTED   the callback seeds a generator or destroys a
 *                              table of rows; the graph has conditional nodes
 *                              or forwards of several iterations
 * During capture: not legal on a thread that is capturing.
 * Threads: any; the callback runs on this one.
 */
PHILOX_API enum philox_status philox_graph_launch_verified(
	struct philox_graph *graph, philox_stream stream,
	struct philox_launch_pass *passes, size_t n_passes,
	const struct philox_verify_desc *options);

#ifdef __cplusplus
}
#endif
#endif
