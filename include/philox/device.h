/*
 * philox/device.h - devices: memory, streams, events, capture, graphs
 *
 * Two devices exist. "cuda" is an NVIDIA GPU through the CUDA runtime; "host"
 * does the same on the CPU: a stream is a queue with its own thread, a capture
 * records nodes and edges, and a replay runs them. CUDA's capture rules are
 * enforced to the letter, so that code which is correct on the host is correct
 * on a GPU. Names of philox_device_open():
 *
 *   host         streams run asynchronously, each on its own thread
 *   host:sync    every call runs its work before it returns (for tests)
 *   host:strict  as host, but refuses or reports what others let pass: arrays
 *                in memory that is not the device's, below (for tests)
 *   cuda         the first GPU
 *   cuda:N       the GPU with number N
 *
 * A stream, event, graph, executable graph or node handle *is* CUDA's own
 * (cudaStream_t, cudaEvent_t, ...) on a cuda device. So these functions and the
 * CUDA runtime can be mixed freely. On a cuda device the calls act on the
 * device they are given, in its primary context, which the CUDA runtime also
 * uses. They leave the thread's current context, and so its current device, as
 * it was (even if there was none), and no call initialises another GPU. The
 * null stream, 0, is CUDA's legacy stream on both devices, however your program
 * was compiled: with per-thread default streams, where 0 means another stream
 * to CUDA, pass PHILOX_STREAM(stream).
 *
 * Errors of all functions here ("those of all functions here" below):
 *
 *   PHILOX_ERROR_INVALID  a null pointer, a size of 0, or an unknown name or
 *                         handle; the message says which. A host device looks
 *                         every handle up before it uses it, and says what a
 *                         wrong one is if it knows; on a cuda device CUDA
 *                         decides
 *   PHILOX_ERROR_MEMORY
 *   PHILOX_ERROR_DEVICE   an error that the device reported
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *                         the stream's capture was invalidated
 *
 * "During capture: legal" means legal on a thread with a capture of mode GLOBAL
 * or THREAD_LOCAL in progress. A call that is not legal returns
 * PHILOX_ERROR_CAPTURE_UNSUPPORTED and, as in CUDA, invalidates the capture.
 *
 * After fork() the child cannot use a device that was opened before: its
 * streams have no threads in the child, and CUDA does not work there. Calls on
 * the device, and on contexts, regions, passes, tables, data and graphs made on
 * it, give PHILOX_ERROR_STATE and change nothing. They never wait, whatever the
 * parent's other threads were doing. So do philox_context_destroy() and
 * philox_device_close(): what the objects hold is freed when the child ends, by
 * exit(), _exit() or exec. philox_region_cell_count() is 0 there and
 * philox_region_cell_index() SIZE_MAX. Other calls that return a name, number
 * or handle still do, and the child has its own copy of a host device's memory.
 * The child may open a host device of its own and make contexts on it. The
 * parent notices nothing. A child made by _Fork(), clone() or vfork() is not
 * recognised: it may only call exec.
 */
#ifndef PHILOX_DEVICE_H
#define PHILOX_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <philox/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct philox_device;

/* The same types as CUDA's, so that no cast is needed on a cuda device. */
typedef struct CUstream_st *philox_stream;         /* cudaStream_t */
typedef struct CUevent_st *philox_event;           /* cudaEvent_t */
typedef struct CUgraph_st *philox_native_graph;    /* cudaGraph_t */
typedef struct CUgraphExec_st *philox_native_exec; /* cudaGraphExec_t */

/*
 * PHILOX_STREAM() gives the stream that CUDA takes a handle for in the file
 * that is being compiled. In a file with per-thread default streams it gives,
 * for 0, the default stream of the calling thread, cudaStreamPerThread. Such a
 * file is compiled with nvcc --default-stream per-thread, or has the macro
 * CUDA_API_PER_THREAD_DEFAULT_STREAM before CUDA's headers. Elsewhere 0 is the
 * legacy stream. Any other handle stays as it is. The library cannot find out
 * by itself, since a 0 looks the same. A host device has no per-thread streams
 * and refuses their handle (PHILOX_ERROR_INVALID).
 */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define PHILOX_STREAM_OF_0 ((philox_stream)0x2)
#else
#define PHILOX_STREAM_OF_0 ((philox_stream)0)
#endif
#define PHILOX_STREAM(stream) ((stream) ? (stream) : PHILOX_STREAM_OF_0)

/* --- devices ------------------------------------------------------------ */

/*
 * Write how many devices of a family can be opened.
 *
 *   family  "host" or "cuda"
 *   count   written
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_NO_DEVICE    "cuda" without a driver or a GPU; the message has
 *                             the reason
 *   PHILOX_ERROR_UNSUPPORTED  "cuda" in a build without CUDA
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_device_count(const char *family,
						  unsigned *count);

/*
 * Open a device.
 *
 *   name    see the names above
 *   device  written; closed with philox_device_close()
 *
 * An open cuda device retains its GPU's primary context. cudaDeviceReset()
 * still destroys everything that was made there: after it the device can only
 * be closed. Opening a cuda device loads kernels: open it before capturing.
 *
 * The environment's PHILOX_SIMD may name the instruction set of a host device's
 * fills: scalar, avx2 or avx512. A process reads it once, when it opens its
 * first host device.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID      no device can have this name, on any machine and
 *                             in any build ("cuda:-1"); or PHILOX_SIMD names
 *                             another instruction set, or one that the CPU
 *                             lacks
 *   PHILOX_ERROR_NO_DEVICE    there is no such GPU, or no driver
 *   PHILOX_ERROR_UNSUPPORTED  "cuda" in a build without CUDA
 *   those of all functions here
 * During capture: legal for a host device, while other devices capture; not for
 * a cuda one.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_device_open(const char *name,
						 struct philox_device **device);

/*
 * Close a device.
 *
 *   device  the device, not used again; NULL does nothing
 *
 * Only contexts keep a device open. On a host device streams, events, memory,
 * native graphs and executable graphs end with it, when the queued work has
 * run. On a cuda device they belong to CUDA, and exist as long as the GPU's
 * primary context, which is released here.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_BUSY  a context that was made on it is not destroyed; the
 *                      message says how many
 *   those of all functions here
 * During capture: not legal during captures on the device. A host device
 * refuses. On a cuda device nothing notices, and the capture is lost if nothing
 * else retains the primary context.
 * Threads: any; no other call may use the device then or later.
 */
PHILOX_API enum philox_status philox_device_close(struct philox_device *device);

/*
 * Return the name that a device was opened with.
 *
 *   device  the device
 *
 * Returns a string that belongs to the device.
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API const char *philox_device_name(const struct philox_device *device);

/*
 * Return one line about the hardware of a device.
 *
 *   device  the device
 *
 * Returns a string that belongs to the device.
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API const char *philox_device_description(
	const struct philox_device *device);

/*
 * Tell whether a device is a host device.
 *
 *   device  the device
 *
 * Your own work is put on a host device by philox_stream_launch_host(), and on
 * a cuda one as kernels.
 *
 * Returns 1 for a host device, 0 for a cuda one.
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API int philox_device_is_host(const struct philox_device *device);

/*
 * Set how many threads one fill on a host device may use.
 *
 *   device   the device; a cuda one accepts the number and ignores it
 *   threads  1 .. 256, the thread of the stream included; 1 until it is set
 *
 * Large fills are cut into parts of at least 1 MiB; the numbers are the same.
 * Fills in other libraries' layouts, fills of tables of rows and sampling use
 * one thread. A fill that is on a stream or in a graph already keeps its limit.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  the number is out of range
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_device_set_threads(
	struct philox_device *device, unsigned threads);

/*
 * Wait for all work on a device.
 *
 *   device  the device
 *
 * Where other threads may be capturing, wait for streams or events instead.
 *
 * Returns PHILOX_OK, or an error: that of queued work which failed, too.
 * Errors:
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                         a capture is in progress on the device
 *   those of all functions here
 * During capture: not legal while any capture on the device is in progress, of
 * any thread and mode, relaxed mode included. Those captures are invalidated: a
 * host device invalidates all of them, CUDA does not say which.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_device_synchronize(
	struct philox_device *device);

/* --- memory ------------------------------------------------------------- */

/*
 * Which memory arrays may be in. The arrays that this library's kernels read
 * and write (of fills, of draws from rows, of samples, states given by address)
 * are device memory. A GPU writes past the end of one in silence, or fails long
 * after the call; a host device checks:
 *
 *  - An array that begins in an allocation of the device must lie in it whole,
 *    in as many bytes as were asked for. Else the call gives
 *    PHILOX_ERROR_INVALID, which names the array, its size and the allocation,
 *    and does nothing: no work is queued, and a capture goes on as it was.
 *  - The arrays of a graph are checked again at each launch, since memory may
 *    have been freed after the capture: other memory at the same address is not
 *    the same. Such a launch is refused before it takes a number or a ticket.
 *  - An array that begins in no allocation of the device is taken by "host" and
 *    "host:sync". So arrays of your own will do there, and refused in the same
 *    way by "host:strict", as no GPU could use it.
 *  - Memory of a pool that is free is refused by "host:strict", too, also for
 *    copies: see "Use after free" in philox/pool.h.
 *  - An array has all the entries that its call describes, whatever masks and
 *    counts on the device leave out.
 *
 * Both sides of a copy and the memory of philox_memory_set() must lie in the
 * allocation that they begin in, too. Plain memory is always legal in copies,
 * in philox_rows_get() and in philox_rows_set(). What the arguments of
 * philox_stream_launch_host() point to is the caller's and is not checked. A
 * cuda device checks nothing of this.
 */

/*
 * Allocate device memory, aligned to 256 bytes.
 *
 *   device  the device
 *   bytes   at least 1
 *   memory  written; freed with philox_memory_free()
 *
 * The content is undefined.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                         the thread is capturing
 *   those of all functions here
 * During capture: legal in relaxed mode only (philox_capture_exchange_mode()).
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_memory_alloc(struct philox_device *device,
						  size_t bytes, void **memory);

/*
 * Free device memory.
 *
 *   device  the device
 *   memory  of philox_memory_alloc(); NULL does nothing
 *
 * The call waits for work that may use the memory, as cudaFree() does.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                         the thread is capturing
 *   those of all functions here
 * During capture: not legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_memory_free(struct philox_device *device,
						 void *memory);

/*
 * Write how many bytes of a device's memory are free, and how many it has.
 *
 *   device       the device
 *   free_bytes   written; may be NULL if the other is not
 *   total_bytes  written; may be NULL if the other is not
 *
 * Other programs use the memory too, so an allocation of what is free may fail.
 * On a host device these are the machine's, or those of
 * philox_device_limit_memory().
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_device_memory_info(
	struct philox_device *device, size_t *free_bytes, size_t *total_bytes);

/*
 * Copy bytes in stream order.
 *
 *   device       the device
 *   stream       the stream
 *   destination  device memory, or memory of the process
 *   source       the same
 *   bytes        at least 1
 *
 * Memory of the process must be valid until the copy has run; if it is
 * captured, as long as the graph may be launched.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  also: a side ends outside the allocation that it
 *                         begins in (host devices)
 *   those of all functions here
 * During capture: legal; it becomes one node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_memory_copy(struct philox_device *device,
						 philox_stream stream,
						 void *destination,
						 const void *source,
						 size_t bytes);

/*
 * Set bytes of device memory to a value, in stream order.
 *
 *   device  the device
 *   stream  the stream
 *   memory  device memory
 *   value   of each byte, 0 .. 255
 *   bytes   at least 1
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  also: the bytes end outside the allocation that they
 *                         begin in (host devices), or are not the device's
 *                         (host:strict)
 *   those of all functions here
 * During capture: legal; it becomes one node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_memory_set(struct philox_device *device,
						philox_stream stream,
						void *memory, int value,
						size_t bytes);

/* --- streams and events -------------------------------------------------- */

enum philox_stream_flags {
	/* Like cudaStreamDefault: the legacy stream and this one wait for each
	 * other. Without it a stream is non-blocking. */
	PHILOX_STREAM_BLOCKING = 1
};

/*
 * Create a stream.
 *
 *   device  the device
 *   flags   0, or PHILOX_STREAM_BLOCKING
 *   stream  written; destroyed with philox_stream_destroy()
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_stream_create(struct philox_device *device,
						   unsigned flags,
						   philox_stream *stream);

/*
 * Destroy a stream, after its queued work has run.
 *
 *   device  the device
 *   stream  the stream, not used again; NULL does nothing
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                         the stream is capturing; the capture is invalidated
 *   those of all functions here
 * During capture: legal for another stream than those of the capture.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_stream_destroy(
	struct philox_device *device, philox_stream stream);

/*
 * Wait until all work queued on a stream has run.
 *
 *   device  the device
 *   stream  the stream
 *
 * Returns PHILOX_OK, or an error: that of queued work which failed, too.
 * Errors:
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                         the stream is capturing; the capture is invalidated
 *   those of all functions here
 * During capture: legal for a stream that is not capturing.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_stream_synchronize(
	struct philox_device *device, philox_stream stream);

/*
 * Tell whether all work queued on a stream has run.
 *
 *   device  the device
 *   stream  the stream
 *
 * Returns PHILOX_OK if it has, PHILOX_NOT_READY if not, or an error: that of
 * queued work which failed, too.
 * Errors:
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                         the stream is capturing; the capture is invalidated
 *   those of all functions here
 * During capture: legal for a stream that is not capturing.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_stream_query(struct philox_device *device,
						  philox_stream stream);

/*
 * Create an event without timing.
 *
 *   device  the device
 *   event   written; destroyed with philox_event_destroy()
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_event_create(struct philox_device *device,
						  philox_event *event);

/*
 * Destroy an event.
 *
 *   device  the device
 *   event   the event, not used again; NULL does nothing
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_event_destroy(struct philox_device *device,
						   philox_event event);

/*
 * Record the present point of a stream in an event.
 *
 *   device  the device
 *   stream  the stream
 *   event   holds this point instead of the one before
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of all functions here
 * During capture: legal; within a capture it makes edges of the graph.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_event_record(struct philox_device *device,
						  philox_stream stream,
						  philox_event event);

/*
 * Make a stream wait for the point that was recorded last in an event.
 *
 *   device  the device
 *   stream  the stream
 *   event   the event; one that was never recorded is not waited for
 *
 * A stream that waits for an event of a capture joins that capture.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_CAPTURE_MERGE
 *                         the streams belong to different captures, which are
 *                         invalidated
 *   PHILOX_ERROR_CAPTURE_ISOLATION
 *                         the stream captures and the event was recorded
 *                         outside captures; the capture is invalidated
 *   PHILOX_ERROR_CAPTURED_EVENT
 *                         the event was recorded in a capture that has ended
 *   those of all functions here
 * During capture: legal; within a capture it makes edges of the graph.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_event_wait(struct philox_device *device,
						philox_stream stream,
						philox_event event);

/*
 * Wait until the recorded point of an event is reached.
 *
 *   device  the device
 *   event   the event
 *
 * Returns PHILOX_OK, or an error: that of queued work which failed, too.
 * Errors:
 *   PHILOX_ERROR_CAPTURED_EVENT
 *                         the event was recorded in a capture, which is
 *                         invalidated
 *   those of all functions here
 * During capture: legal for an event that was recorded outside captures.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_event_synchronize(
	struct philox_device *device, philox_event event);

/*
 * Tell whether the recorded point of an event is reached.
 *
 *   device  the device
 *   event   the event
 *
 * Returns PHILOX_OK if it is, PHILOX_NOT_READY if not, or an error.
 * Errors:
 *   PHILOX_ERROR_CAPTURED_EVENT
 *                         the event was recorded in a capture, which is
 *                         invalidated
 *   those of all functions here
 * During capture: not legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_event_query(struct philox_device *device,
						 philox_event event);

/* --- capture ------------------------------------------------------------- */

enum philox_capture_mode {
	PHILOX_CAPTURE_GLOBAL = 0,       /* cudaStreamCaptureModeGlobal */
	PHILOX_CAPTURE_THREAD_LOCAL = 1, /* ...ThreadLocal */
	PHILOX_CAPTURE_RELAXED = 2       /* ...Relaxed */
};

enum philox_capture_status {
	PHILOX_CAPTURE_NONE = 0,
	PHILOX_CAPTURE_ACTIVE = 1,
	PHILOX_CAPTURE_INVALIDATED = 2
};

/*
 * Begin a capture: record work put on the stream instead of running it.
 *
 *   device  the device
 *   stream  the stream
 *   mode    enum philox_capture_mode: which calls of which threads are refused
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                         the legacy stream cannot capture
 *   PHILOX_ERROR_STATE    the stream is capturing already
 *   those of all functions here
 * During capture: legal.
 * Threads: any; this one must end the capture, unless its mode is relaxed.
 */
PHILOX_API enum philox_status philox_stream_begin_capture(
	struct philox_device *device, philox_stream stream,
	enum philox_capture_mode mode);

/*
 * End a capture on the stream it began on.
 *
 *   device  the device
 *   stream  the stream
 *   graph   written: the graph, destroyed with philox_native_graph_destroy()
 *
 * Even on an error the capture has ended and the streams run again, except for
 * the first three errors below.
 *
 * Returns PHILOX_OK, or an error; then there is no graph.
 * Errors:
 *   PHILOX_ERROR_STATE    the stream is not capturing
 *   PHILOX_ERROR_CAPTURE_WRONG_THREAD
 *                         the capture is not relaxed, and began on another
 *                         thread; on a cuda device it has ended all the same
 *   PHILOX_ERROR_CAPTURE_UNMATCHED
 *                         another stream of the capture; the capture is
 *                         invalidated and must still be ended on its own stream
 *   those of all functions here
 * During capture: it ends one.
 * Threads: the one that began the capture; any, if it is relaxed.
 */
PHILOX_API enum philox_status philox_stream_end_capture(
	struct philox_device *device, philox_stream stream,
	philox_native_graph *graph);

/*
 * Write whether a stream is capturing, and the id of the capture.
 *
 *   device  the device
 *   stream  the stream
 *   status  written: enum philox_capture_status; may be NULL
 *   id      written if the stream is capturing: unique in the process, never 0;
 *           may be NULL
 *
 * For the legacy stream, only work on it and waiting for it invalidate the
 * capture of a blocking stream; this call does not.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_CAPTURE_IMPLICIT
 *                         the legacy stream, while a blocking stream is
 *                         capturing
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_stream_capture_info(
	struct philox_device *device, philox_stream stream,
	enum philox_capture_status *status, uint64_t *id);

/*
 * Swap the mode in which this thread treats calls that captures forbid.
 *
 *   device  the device
 *   mode    read: the new mode; written: the old one, GLOBAL by default
 *
 * A pair of calls around an allocation makes it legal during captures.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of all functions here
 * During capture: legal.
 * Threads: any; each has a mode of its own.
 */
PHILOX_API enum philox_status philox_capture_exchange_mode(
	struct philox_device *device, enum philox_capture_mode *mode);

/* --- native graphs -------------------------------------------------------- */

/*
 * Make an executable graph from a graph.
 *
 *   device  the device
 *   graph   the graph, which stays the caller's
 *   exec    written; destroyed with philox_native_exec_destroy()
 *
 * A graph with conditional nodes has one executable graph at a time.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_UNSUPPORTED
 *                         a second one of a graph with conditional nodes
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_native_graph_instantiate(
	struct philox_device *device, philox_native_graph graph,
	philox_native_exec *exec);

/*
 * Put a replay of an executable graph on a stream.
 *
 *   device  the device
 *   stream  the stream
 *   exec    the executable graph; its launches run one after the other
 *
 * A graph with philox passes in it is launched with philox_graph_launch()
 * instead.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  also: an array of the graph is no longer in its
 *                         memory (host devices, see "memory" above)
 *   those of all functions here
 * During capture: not legal into a stream that is capturing.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_native_exec_launch(
	struct philox_device *device, philox_stream stream,
	philox_native_exec exec);

/*
 * Destroy an executable graph.
 *
 *   device  the device
 *   exec    the executable graph, not used again; NULL does nothing
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_native_exec_destroy(
	struct philox_device *device, philox_native_exec exec);

/*
 * Destroy a graph.
 *
 *   device  the device
 *   graph   the graph, not used again; NULL does nothing
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_native_graph_destroy(
	struct philox_device *device, philox_native_graph graph);

/*
 * Write how many nodes a graph has.
 *
 *   device  the device
 *   graph   the graph
 *   nodes   written
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_native_graph_node_count(
	struct philox_device *device, philox_native_graph graph, size_t *nodes);

/* --- your own work on the host device ------------------------------------- */

/*
 * Put a call fn(args) on a stream of a host device, as a kernel is on a GPU.
 *
 *   device  the device
 *   stream  the stream
 *   fn      called with a copy of the arguments, on the stream's thread; it
 *           must not call philox: what waits or puts work on a stream is
 *           PHILOX_ERROR_STATE there, on whatever device
 *   args    the arguments, copied now; each run gets a copy of its own, aligned
 *           for any type
 *   bytes   their size
 *
 * fn runs with rounding to nearest and with denormals, like the library's own
 * work and whatever the calling thread has set. So it draws and scales as fills
 * do. Changes that fn makes to these modes are undone.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_UNSUPPORTED
 *                         a cuda device: launch a kernel there
 *   those of all functions here
 * During capture: legal; it becomes one node.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_stream_launch_host(
	struct philox_device *device, philox_stream stream,
	void (*fn)(const void *args), const void *args, size_t bytes);

/* --- for tests: calls counted, and made to fail --------------------------- */

/*
 * How often each operation of a device was called, and failures that are made
 * to order: a test can ask what a call costs, and see what its own program does
 * when the device fails.
 *
 * The names of the operations: mem_alloc, mem_free, mapped_alloc, mapped_free,
 * mem_info, space_granularity, space_reserve, space_map, space_unmap,
 * space_release, copy, set, stream_create, stream_destroy, stream_priority,
 * stream_query, device_sync, event_create, event_create_timed, event_destroy,
 * event_record, event_wait, event_sync, event_query, event_elapsed,
 * capture_begin, capture_begin_to, capture_end, capture_info, capture_tips,
 * capture_depend, capture_after, capture_mode, graph_add_kernel,
 * graph_set_kernel, condition_create, graph_add_conditional, graph_retain,
 * graph_nodes, node_deps, node_priority, graph_destroy, exec_create,
 * exec_set_kernel, exec_launch, exec_destroy, launch, launch_host.
 */

/*
 * Return how often an operation was called on a device since it was opened.
 *
 *   device     the device
 *   operation  a name of the list above; NULL: all of them together
 *
 * Returns the count, failed calls included; 0 for an unknown name.
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API uint64_t philox_device_call_count(const struct philox_device *device,
					     const char *operation);

/* For philox_device_fail(): all calls from now on. */
#define PHILOX_FAIL_ALWAYS UINT64_MAX

/*
 * Make one later operation fail, or all, without carrying it out.
 *
 *   device     the device
 *   operation  a name of the list above; NULL: any of them
 *   nth        which of these calls fails, 1 being the next one;
 *              PHILOX_FAIL_ALWAYS: all of them, as those of a GPU that is lost;
 *              0 cancels the order
 *   status     what it returns
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_device_fail(struct philox_device *device,
						 const char *operation,
						 uint64_t nth,
						 enum philox_status status);

/*
 * Limit the memory of a host device.
 *
 *   device  the device
 *   bytes   the limit; 0 removes it
 *
 * Allocations, in units of 256 bytes, and mapped pieces of pools share it. A
 * call that needs more gives PHILOX_ERROR_MEMORY, and
 * philox_device_memory_info() shows the limit and what is left of it. Memory
 * that is in use stays, even if it is more.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_UNSUPPORTED  a cuda device
 *   those of all functions here
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_device_limit_memory(
	struct philox_device *device, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
