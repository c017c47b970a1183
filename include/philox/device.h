/*
 * philox/device.h - devices: memory, streams, events, capture, graphs
 *
 * Two devices exist. "cuda" is an NVIDIA GPU through the CUDA runtime; "host"
 * does the same on the CPU: a stream is a queue with its own thread, a capture
 * records nodes and edges, a replay runs them, and CUDA's capture rules are
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
 * (cudaStream_t, cudaEvent_t, ...) on a cuda device, so these functions and the
 * CUDA runtime can be mixed freely. On a cuda device the calls act on the
 * device they are given, in its primary context, which the CUDA runtime also
 * uses; they leave the thread's current context, and so its current device, as
 * it was (even if there was none), and no call initialises another GPU. The
 * null stream, 0, is CUDA's legacy stream on both devices, however your program
 * was compiled: with per-thread default streams, where 0 means another stream
 * to CUDA, pass PHILOX_STREAM(stream).
 *
 * Errors of all functions here, listed once: PHILOX_ERROR_INVALID (a null
 * pointer, a size of 0, an unknown name or handle; the message says which; a
 * host device looks every handle up before it follows it, and says what a wrong
 * one is if it knows; on a cuda device CUDA decides), PHILOX_ERROR_MEMORY,
 * PHILOX_ERROR_DEVICE (an error that the device reported), and, on a stream
 * that is capturing, PHILOX_ERROR_CAPTURE_INVALIDATED if its capture was
 * invalidated. Each function lists its further errors.
 *
 * Thread rule: every function may be called from any thread. "Legal during
 * capture" below means: legal on a thread with a capture of mode GLOBAL or
 * THREAD_LOCAL under way. A call that is not returns
 * PHILOX_ERROR_CAPTURE_UNSUPPORTED and, as in CUDA, invalidates the capture.
 *
 * After fork() the child cannot use a device that was opened before: the
 * threads of its streams are not there, and CUDA does not work in the child.
 * Calls on the device, and on contexts, regions, passes, tables and graphs made
 * on it, give PHILOX_ERROR_STATE and change nothing; they never wait, whatever
 * the parent's other threads were doing. So do philox_context_destroy() and
 * philox_device_close(): what the objects hold goes when the child ends, by
 * exit(), _exit() or exec. philox_region_cell_count() is 0 there
 * and philox_region_cell_index() SIZE_MAX; other calls that return a name,
 * number or handle still do, and the memory of a host device is there, as the
 * child's own copy. The child may open a host device of its own and make
 * contexts on it. The parent notices nothing. A child made by _Fork(), clone()
 * or vfork() is not recognised: it may only call exec.
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
 * that is being compiled: for 0, in a file with per-thread default streams
 * (nvcc --default-stream per-thread, or the macro
 * CUDA_API_PER_THREAD_DEFAULT_STREAM before CUDA's headers), the default stream
 * of the calling thread, which is cudaStreamPerThread; for 0 elsewhere the
 * legacy stream; for any other handle that handle. The library cannot know,
 * since a 0 looks the same. A host device has no per-thread streams and refuses
 * their handle (PHILOX_ERROR_INVALID).
 */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define PHILOX_STREAM_OF_0 ((philox_stream)0x2)
#else
#define PHILOX_STREAM_OF_0 ((philox_stream)0)
#endif
#define PHILOX_STREAM(stream) ((stream) ? (stream) : PHILOX_STREAM_OF_0)

/* --- devices ------------------------------------------------------------ */

/*
 * philox_device_count() writes how many devices of a family ("host", "cuda")
 * can be opened. Without a driver or a GPU, "cuda" gives
 * PHILOX_ERROR_NO_DEVICE and the reason; in a build without CUDA,
 * PHILOX_ERROR_UNSUPPORTED. Legal during capture.
 */
PHILOX_API enum philox_status philox_device_count(const char *family,
						  unsigned *count);

/*
 * philox_device_open() opens a device by name (see above). The caller closes
 * it with philox_device_close(). Errors: PHILOX_ERROR_INVALID (no device can
 * have this name, whatever the build and the machine, "cuda:-1" for instance;
 * for a host device also PHILOX_SIMD in the
 * environment, which may name the instruction set of fills: scalar, avx2 or
 * avx512, if it names another one or one that the CPU lacks; a process reads it
 * once, when it opens its first host device), PHILOX_ERROR_NO_DEVICE,
 * PHILOX_ERROR_UNSUPPORTED, PHILOX_ERROR_MEMORY. A host device may be opened
 * during captures on other devices. Opening a cuda device loads kernels: open
 * it before capturing.
 *
 * An open cuda device retains its GPU's primary context. cudaDeviceReset()
 * still destroys everything that was made there: after it the device can only
 * be closed.
 */
PHILOX_API enum philox_status philox_device_open(const char *name,
						 struct philox_device **device);

/*
 * philox_device_close() closes a device; NULL is allowed. While a context that
 * was made on it is not destroyed it returns PHILOX_ERROR_BUSY, says how many
 * there are, and changes nothing. Nothing else keeps a device open: on the host
 * device streams, events, memory, native graphs and executable graphs go with
 * it, once the work that is queued has run. On a cuda device they are CUDA's,
 * and live as long as the GPU's primary context, which is released here. Not
 * legal during captures on the device: a host device refuses as above; on a
 * cuda device nothing notices, and the capture is lost if nothing else holds
 * the primary context. No other call may use the device meanwhile or later.
 */
PHILOX_API enum philox_status philox_device_close(struct philox_device *device);

/*
 * philox_device_name() returns the name the device was opened with;
 * philox_device_description() one line about the hardware. Both belong to the
 * device. Legal during capture.
 */
PHILOX_API const char *philox_device_name(const struct philox_device *device);
PHILOX_API const char *philox_device_description(
	const struct philox_device *device);

/*
 * philox_device_is_host() is 1 for a host device, 0 for a cuda one: your own
 * work goes through philox_stream_launch_host() on a host device and through
 * kernels on a cuda one. Legal during capture.
 */
PHILOX_API int philox_device_is_host(const struct philox_device *device);

/*
 * philox_device_set_threads() sets how many threads one fill on a host device
 * may use, the stream's own included: 1 .. 256; the default is 1. Large fills
 * are cut into parts of 1 MiB and more; the numbers are the same. Fills in
 * other libraries' layouts, fills of tables of rows (philox/rows.h) and
 * sampling (philox/rows.h) use one. A fill that is on a stream or in a graph
 * already keeps the limit it had. A cuda device accepts and ignores it. Errors:
 * PHILOX_ERROR_INVALID. Legal during capture.
 */
PHILOX_API enum philox_status philox_device_set_threads(
	struct philox_device *device, unsigned threads);

/*
 * philox_device_synchronize() waits for everything on the device. Not legal
 * while any capture on the device is in progress, of whatever thread and in
 * whatever mode, relaxed mode included: it gives
 * PHILOX_ERROR_CAPTURE_UNSUPPORTED, and those captures are invalidated (a host
 * device breaks them all; CUDA does not say which it breaks). Where other
 * threads may be capturing, wait for streams or events instead.
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
 *    "host:sync", so arrays of your own will do there, and refused in the same
 *    way by "host:strict", as no GPU could use it.
 *  - An array has all the entries that its call describes, whatever masks and
 *    counts on the device leave out.
 *
 * Both sides of a copy and the memory of philox_memory_set() must lie in the
 * allocation that they begin in, too. Plain memory is always legal in copies,
 * in philox_rows_get() and in philox_rows_set(); and what the arguments of
 * philox_stream_launch_host() point to is the caller's, and is not looked at. A
 * cuda device checks nothing of this.
 */

/*
 * philox_memory_alloc() allocates `size` > 0 bytes of device memory, aligned to
 * 256 bytes, with undefined content; philox_memory_free() frees it and accepts
 * NULL. Free waits for work that may use the memory, as cudaFree does. Neither
 * is legal during capture, but alloc is in relaxed mode
 * (philox_capture_exchange_mode()).
 */
PHILOX_API enum philox_status philox_memory_alloc(struct philox_device *device,
						  size_t size, void **memory);
PHILOX_API enum philox_status philox_memory_free(struct philox_device *device,
						 void *memory);

/*
 * philox_device_memory_info() writes how many bytes of the device's memory are
 * free, and how many it has; either output may be NULL, not both. Other
 * programs use the memory too, so an allocation of what is free may fail. On a
 * host device these are the machine's, or what philox_device_limit_memory() of
 * philox/device.h set. Legal during capture.
 */
PHILOX_API enum philox_status philox_device_memory_info(
	struct philox_device *device, size_t *free_bytes, size_t *total_bytes);

/*
 * philox_memory_copy() copies `size` bytes in stream order; either side may be
 * device memory or plain memory of the process. Plain memory must stay valid
 * until the copy has run (if captured: for as long as the graph may be
 * launched). Recorded as one node during capture. Errors: PHILOX_ERROR_INVALID
 * also for a side that ends outside the allocation it begins in (host devices).
 */
PHILOX_API enum philox_status philox_memory_copy(struct philox_device *device,
						 philox_stream stream,
						 void *destination,
						 const void *source,
						 size_t size);

/*
 * philox_memory_set() sets `size` bytes of device memory to `value` in stream
 * order. Recorded as one node during capture. Errors: as philox_memory_copy();
 * host:strict also refuses memory that is not the device's.
 */
PHILOX_API enum philox_status philox_memory_set(struct philox_device *device,
						philox_stream stream,
						void *memory, int value,
						size_t size);

/* --- streams and events -------------------------------------------------- */

enum philox_stream_flags {
	/* Like cudaStreamDefault: the legacy stream and this one wait for each
	 * other. Without it a stream is non-blocking. */
	PHILOX_STREAM_BLOCKING = 1
};

/*
 * philox_stream_create() makes a stream; the caller destroys it. Legal during
 * capture. philox_stream_destroy() lets queued work finish and then frees the
 * stream; NULL is allowed; not legal while the stream itself is capturing
 * (PHILOX_ERROR_CAPTURE_UNSUPPORTED, which invalidates that capture; the stream
 * is not destroyed).
 */
PHILOX_API enum philox_status philox_stream_create(struct philox_device *device,
						   unsigned flags,
						   philox_stream *stream);
PHILOX_API enum philox_status philox_stream_destroy(
	struct philox_device *device, philox_stream stream);

/*
 * philox_stream_synchronize() waits until all work queued on the stream has
 * run; philox_stream_query() tells whether it has (PHILOX_NOT_READY if not).
 * Neither is legal on a stream that is capturing
 * (PHILOX_ERROR_CAPTURE_UNSUPPORTED, invalidates); both are legal on another
 * stream during capture. Both return the error if queued work has failed.
 */
PHILOX_API enum philox_status philox_stream_synchronize(
	struct philox_device *device, philox_stream stream);
PHILOX_API enum philox_status philox_stream_query(struct philox_device *device,
						  philox_stream stream);

/*
 * philox_event_create() makes an event without timing; the caller destroys it
 * (NULL is allowed). philox_event_record() records a point of a stream in it;
 * philox_event_wait() makes a stream wait for the point recorded last (it does
 * not wait for an event that was never recorded). Recording and waiting within
 * a capture make edges of its graph: a stream that waits for an event of a
 * capture joins the capture. Errors: a stream of one capture waits for an event
 * of another (PHILOX_ERROR_CAPTURE_MERGE) or of none
 * (PHILOX_ERROR_CAPTURE_ISOLATION), which invalidates the captures involved; an
 * event of a capture that has ended (PHILOX_ERROR_CAPTURED_EVENT). Creating and
 * destroying is legal during capture.
 */
PHILOX_API enum philox_status philox_event_create(struct philox_device *device,
						  philox_event *event);
PHILOX_API enum philox_status philox_event_destroy(struct philox_device *device,
						   philox_event event);
PHILOX_API enum philox_status philox_event_record(struct philox_device *device,
						  philox_stream stream,
						  philox_event event);
PHILOX_API enum philox_status philox_event_wait(struct philox_device *device,
						philox_stream stream,
						philox_event event);

/*
 * philox_event_synchronize() waits for the recorded point, philox_event_query()
 * tells whether it was reached (PHILOX_NOT_READY if not). On an event recorded
 * in a capture both give PHILOX_ERROR_CAPTURED_EVENT and invalidate that
 * capture. Query is not legal during capture.
 */
PHILOX_API enum philox_status philox_event_synchronize(
	struct philox_device *device, philox_event event);
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
 * philox_stream_begin_capture() begins a capture: work put on the stream from
 * now on is recorded and not run. Errors: PHILOX_ERROR_CAPTURE_UNSUPPORTED (the
 * legacy stream), PHILOX_ERROR_STATE (the stream is capturing already).
 */
PHILOX_API enum philox_status philox_stream_begin_capture(
	struct philox_device *device, philox_stream stream,
	enum philox_capture_mode mode);

/*
 * philox_stream_end_capture() ends a capture on the stream it began on and
 * writes the graph, which the caller destroys. Even on an error the capture is
 * over and the streams run again, except with PHILOX_ERROR_STATE (the stream is
 * not capturing), PHILOX_ERROR_CAPTURE_WRONG_THREAD (a capture that is not
 * relaxed must be ended on the thread it began on) and
 * PHILOX_ERROR_CAPTURE_UNMATCHED (another stream of the capture; the capture is
 * invalidated and must still be ended on its own stream).
 */
PHILOX_API enum philox_status philox_stream_end_capture(
	struct philox_device *device, philox_stream stream,
	philox_native_graph *graph);

/*
 * philox_stream_capture_info() writes whether a stream is capturing and, if it
 * is, the capture's id, which is unique in the process and never 0. Either
 * output may be NULL. The legacy stream gives PHILOX_ERROR_CAPTURE_IMPLICIT
 * while a blocking stream is capturing, whose capture goes on: only work on the
 * legacy stream, and waiting for it, invalidates that. Legal during capture.
 */
PHILOX_API enum philox_status philox_stream_capture_info(
	struct philox_device *device, philox_stream stream,
	enum philox_capture_status *status, uint64_t *id);

/*
 * philox_capture_exchange_mode() swaps *mode with the mode in which this thread
 * treats calls that are unsafe during captures (GLOBAL by default); a pair of
 * calls around an allocation makes it legal. Legal during capture.
 */
PHILOX_API enum philox_status philox_capture_exchange_mode(
	struct philox_device *device, enum philox_capture_mode *mode);

/* --- native graphs -------------------------------------------------------- */

/*
 * A capture gives a native graph; an executable graph can be launched.
 * philox_native_graph_instantiate() makes the second from the first,
 * philox_native_exec_launch() puts a replay on a stream (launches of one
 * executable graph run one after the other). A graph with philox passes in it
 * is launched with philox_graph_launch() instead: see philox/graph.h. Both
 * destroy functions accept NULL. Instantiate and destroy are legal during
 * capture; launching into a stream that is capturing is not. A graph with
 * conditional nodes has one executable graph at a time: a second one gives
 * PHILOX_ERROR_UNSUPPORTED. Errors of a launch: PHILOX_ERROR_INVALID also for
 * an array that is no longer in its memory (host devices, see "memory" above).
 */
PHILOX_API enum philox_status philox_native_graph_instantiate(
	struct philox_device *device, philox_native_graph graph,
	philox_native_exec *exec);
PHILOX_API enum philox_status philox_native_exec_launch(
	struct philox_device *device, philox_stream stream,
	philox_native_exec exec);
PHILOX_API enum philox_status philox_native_exec_destroy(
	struct philox_device *device, philox_native_exec exec);
PHILOX_API enum philox_status philox_native_graph_destroy(
	struct philox_device *device, philox_native_graph graph);

/*
 * philox_native_graph_node_count() writes how many nodes a graph has. Legal
 * during capture.
 */
PHILOX_API enum philox_status philox_native_graph_node_count(
	struct philox_device *device, philox_native_graph graph, size_t *nodes);

/* --- your own work on the host device ------------------------------------- */

/*
 * philox_stream_launch_host() puts a call fn(args) on a stream of a host
 * device, where a kernel would be launched on a GPU: the `size` bytes at `args`
 * are copied now, and each run gives fn a copy, aligned for any type. Recorded
 * as one node during capture. fn runs with rounding to nearest and with
 * denormals, like the library's own work and whatever the calling thread has
 * set, so that it draws and scales as fills do; changes that fn makes to these
 * modes are undone. fn must not call philox. A cuda device gives
 * PHILOX_ERROR_UNSUPPORTED: launch a kernel there.
 */
PHILOX_API enum philox_status philox_stream_launch_host(
	struct philox_device *device, philox_stream stream,
	void (*fn)(const void *args), const void *args, size_t size);

/* --- for tests: calls counted, and made to fail --------------------------- */

/*
 * How often each operation of a device was called, and failures that are made
 * to order: a test can ask what a call costs, and see what its own program does
 * when the device fails.
 *
 * The names of the operations: mem_alloc, mem_free, mapped_alloc, mapped_free,
 * mem_info, space_granularity, space_reserve, space_map, space_unmap,
 * space_release, copy, set, stream_create, stream_destroy, stream_sync,
 * stream_query, device_sync, event_create, event_destroy, event_record,
 * event_wait, event_sync, event_query, capture_begin, capture_begin_to,
 * capture_end, capture_info, capture_tips, capture_depend, capture_after,
 * capture_mode, graph_add_kernel, graph_set_kernel, condition_create,
 * graph_add_conditional, graph_retain, graph_nodes, node_deps, graph_destroy,
 * exec_create, exec_set_kernel, exec_launch, exec_destroy, launch, launch_host.
 *
 * Errors and thread rule: as in philox/device.h.
 */

/*
 * philox_device_call_count() returns how often an operation was called on this
 * device since it was opened, failed calls included, or all of them together
 * when the name is NULL. An unknown name gives 0. Legal during capture.
 */
PHILOX_API uint64_t philox_device_call_count(const struct philox_device *device,
					     const char *operation);

/*
 * philox_device_fail() makes one later operation fail with `status` without
 * being carried out: the n-th from now (1 is the next) of those named
 * `operation`, or of all when it is NULL. n = 0 takes an order back. Legal
 * during capture.
 */
PHILOX_API enum philox_status philox_device_fail(struct philox_device *device,
						 const char *operation,
						 uint64_t n,
						 enum philox_status status);

/*
 * philox_device_limit_memory() lets a host device have `bytes` of memory, which
 * its allocations (in units of 256 bytes) and mapped pieces of pools share: a
 * call that needs more gives PHILOX_ERROR_MEMORY, and
 * philox_device_memory_info() shows the limit and what is left of it. Memory
 * that is in use stays, even if it is more. 0 takes the limit back. Errors:
 * PHILOX_ERROR_UNSUPPORTED (a cuda device). Legal during capture.
 */
PHILOX_API enum philox_status philox_device_limit_memory(
	struct philox_device *device, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
