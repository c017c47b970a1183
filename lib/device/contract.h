/*
 * lib/device/contract.h - the device contract
 *
 * A device is a struct philox_device whose first member is the base below and
 * whose `ops` is a table of operations. Two exist: lib/device/host/device.c and
 * lib/device/cuda/device.c. Code outside them calls the functions of
 * include/philox/device.h and those of lib/device/device.h, never the table:
 * there every call is counted, fails if a failure was ordered, and returns
 * PHILOX_ERROR_UNSUPPORTED if the device lacks the operation (NULL).
 *
 * Preconditions of all operations: the device is open; pointers for outputs are
 * not NULL; sizes are not 0; handles are the device's own and alive. Each
 * returns PHILOX_OK or an error whose detail it has set with status_set()
 * (lib/base/base.h), writes outputs on success only, and may be called from
 * any thread. The meaning of each and its errors are in
 * include/philox/device.h; here is what else a device must guarantee.
 *
 * During capture. "unsafe" operations may not run while the calling thread's
 * mode forbids it (CUDA's rules: mode GLOBAL, while this thread has a
 * non-relaxed capture in progress or any thread a GLOBAL one; mode
 * THREAD_LOCAL, while this thread has a non-relaxed one; mode RELAXED, never):
 * they fail with PHILOX_ERROR_CAPTURE_UNSUPPORTED and invalidate the captures
 * in question. One that is "unsafe in all modes" fails in this way while any
 * capture of the device is in progress, in whatever mode, and invalidates them
 * all. "recorded" operations become a node when their stream is capturing. All
 * others are legal.
 */
#ifndef LIB_DEVICE_CONTRACT_H
#define LIB_DEVICE_CONTRACT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <philox/device.h>
#include "lib/containers/ranges.h"
#include "lib/device/kernels.h"

/* A node of a native graph (cudaGraphNode_t). */
typedef struct CUgraphNode_st *device_node;

enum { CAPTURE_TIPS = 16 };

/* The nodes that a stream's next node depends on. */
struct capture_tips {
	size_t n; /* may be above CAPTURE_TIPS: then not all are known, some of
		     which may be of a kind that is not shown */
	device_node nodes[CAPTURE_TIPS];
};

/*
 * struct capture_info is what a stream reports about its capture. `graph` is
 * the graph being recorded: nodes may be added to it and their parameters set,
 * but it must not be destroyed, and it is gone once the capture is invalidated.
 * With the tips one question answers all that a pass needs to begin.
 */
struct capture_info {
	enum philox_capture_status status;
	uint64_t id;               /* ACTIVE, else 0 or undefined */
	philox_native_graph graph; /* ACTIVE, else NULL */
	struct capture_tips tips;  /* ACTIVE, else undefined: capture_tips */
};

/*
 * Arrays of a kernel call (struct kernel_arrays). A device that knows its
 * allocations refuses a call with ERROR_INVALID before it does anything, and
 * leaves a capture as it was, if an array begins in an allocation and does not
 * lie in it whole, or on a strict device in none; and a launch of an exec if
 * one no longer lies in the very allocation it was in.
 */

/*
 * Conditional nodes. A condition is a number of 32 bits of a graph, which
 * kernels set (KERNEL_CONDITION: lib/device/device.h). A conditional node
 * looks at one and runs one of its bodies, graphs of its own: at its beginning,
 * and for WHILE also after each run. Each condition is for one node, of its
 * graph or of a body anywhere below.
 *
 * At the beginning of each launch a condition has the value it was made with,
 * if that is `assigned`, else an undefined one, and not that of the launch
 * before. A run of a body changes none: what is in a body that runs again sets
 * its conditions by kernels.
 *
 * A body belongs to its node and goes with it. It is filled by
 * graph_add_kernel, graph_add_conditional and capture_begin_to, and holds
 * kernels, work of philox_stream_launch_host(), copies, fills of memory and
 * conditional nodes; its copies are of memory that the device reads and writes
 * in place, never plain memory. It is neither instantiated nor destroyed by
 * itself, owns no objects (graph_retain), and its nodes keep their arguments in
 * an executable graph (exec_set_kernel). A graph with conditional nodes has one
 * executable graph at a time, and is not instantiated while the capture of a
 * body is open or after one was invalidated, nor with an empty body (drivers
 * before 12.8 hang in one: openxla/xla pull request 25769), nor with a
 * condition that no node looks at. A capture that is invalidated while those of
 * its bodies are open takes these with it.
 *
 * CUDA's documents say all this but for: what a body may own, that its nodes
 * keep their arguments, that a condition is for one node, and what becomes of
 * captures. Host devices refuse what is not known to work.
 */
enum conditional_kind {
	CONDITIONAL_IF, /* body 0 if it is not 0, else body 1 if there is one */
	CONDITIONAL_WHILE, /* body 0, again and again until it is 0 */
	CONDITIONAL_SWITCH /* the body of this number, if there is one */
};

typedef uint64_t device_condition; /* cudaGraphConditionalHandle */

struct conditional {
	device_condition condition;
	enum conditional_kind kind;
	uint32_t bodies; /* IF: 1 or 2; WHILE: 1; SWITCH: 1 or more */
};

/* What a node of a graph does. */
enum device_node_kind {
	DEVICE_NODE_KERNEL,
	DEVICE_NODE_HOST, /* calls a function of the host */
	DEVICE_NODE_COPY,
	DEVICE_NODE_SET,
	DEVICE_NODE_CONDITIONAL,
	DEVICE_NODE_GRAPH, /* a child graph */
	DEVICE_NODE_EVENT,
	DEVICE_NODE_MEMORY, /* takes memory, or frees it */
	DEVICE_NODE_EMPTY,
	DEVICE_NODE_OTHER
};

/*
 * Spaces. A space is a range of addresses without memory: what reads or writes
 * there faults. Mapping gives memory to [base + offset, + bytes), an extent,
 * which the device then reads and writes as it does an allocation; arrays may
 * reach from one extent into the next. A call that fails in the middle undoes
 * what it did. Unmapping takes exactly an extent, gives its memory back and
 * leaves the addresses reserved; releasing needs all to be unmapped. Sizes and
 * offsets are multiples of the granularity, a power of two that does not change
 * while the device is open.
 *
 * Errors: ERROR_UNSUPPORTED of all of them on a device that has no spaces;
 * ERROR_INVALID for no such multiple, for a base at which no space begins, and
 * for addresses that are outside the space, are mapped already, or were not
 * mapped as one extent; ERROR_STATE for a release while something is mapped.
 */

/*
 * The operations, one line each: name, how it behaves during capture, and what
 * a device guarantees. The list makes the table of names for counting.
 *
 *  mem_alloc        unsafe. Aligned to 256 bytes; from 1 MiB on to 64 KiB, as
 *                   a rule: nothing may depend on it but speed and size.
 *  mem_free         unsafe. Waits for work that may use the memory.
 *  mapped_alloc     unsafe. Host memory that the device reads and writes in
 *                   place: its host and its device address. Zeroed.
 *  mapped_free      unsafe.
 *  mem_info         legal. Bytes that are free, and all that there are; another
 *                   program may take them in between.
 *  space_granularity  legal.
 *  space_reserve    unsafe. Aligned to the granularity. All memory that is mapped
 *                   there has the traits, a sum of some of enum space_trait;
 *                   UNSUPPORTED names the first that the device lacks.
 *  space_map        unsafe. May wait for the device. Undefined content.
 *  space_unmap      unsafe. May wait for the device, and need not: the caller
 *                   has waited for all work that uses the extent.
 *  space_release    unsafe.
 *  copy, set        recorded. Any direction; addresses tell which.
 *  stream_create    legal.
 *  stream_destroy   legal, except for a stream that is capturing.
 *  stream_priority  legal. Writes a number, lower for a higher priority; 0 unless
 *                   somebody has created the stream with one.
 *  stream_sync      refused on a stream that is capturing; so is stream_query.
 *  device_sync      unsafe in all modes.
 *  event_create, event_create_timed, event_destroy  legal.
 *  event_record, event_wait     recorded, as edges.
 *  event_sync       refused on an event of a capture; so is event_query.
 *  event_query      unsafe.
 *  event_elapsed    legal. Nanoseconds from when one event was reached until the
 *                   other was; 0 if that was before. Both are timed, else INVALID,
 *                   and recorded, else INVALID; NOT_READY while one is not reached.
 *  capture_begin    not on the legacy stream, nor on one that is capturing.
 *  capture_begin_to the same, and the graph that it adds to is not being
 *                   captured. Its first nodes depend on nothing. capture_end
 *                   gives this graph. If the capture is invalidated, the graph
 *                   is of no use any more. UNSUPPORTED: CUDA before 12.3.
 *  capture_end      the capture has ended whatever it returns, except for
 *                   ERROR_STATE and ERROR_CAPTURE_UNMATCHED; after
 *                   ..._WRONG_THREAD a host device's goes on, and CUDA's has
 *                   ended.
 *  capture_info     legal. On the legacy stream while a blocking stream
 *                   captures: ERROR_CAPTURE_IMPLICIT, as of all work there; but
 *                   work invalidates that capture, and this does not.
 *  capture_tips     pre: the stream is capturing. Writes the nodes after whose
 *                   end its next node will begin, at most *n, and their number;
 *                   a number above *n if it depends on others in another way.
 *  capture_depend   pre: the stream is capturing, node is of its graph. The
 *                   stream's next node depends on `node` too.
 *  capture_after    pre: the same. The stream's next node depends on `node`
 *                   alone.
 *  capture_mode     legal. Exchanges the thread's mode.
 *  graph_add_kernel legal, also on a graph being captured. Adds a kernel node
 *                   that depends on n nodes; the call's args are copied.
 *  graph_set_kernel legal, also on a graph being captured: new args (of any
 *                   size its kernel takes) for a kernel node, before
 *                   instantiation.
 *  condition_create legal, also on a graph being captured. It goes with the
 *                   graph. A body's is not assigned. UNSUPPORTED: CUDA before
 *                   12.3.
 *  graph_add_conditional  legal, also on a graph being captured. Adds a node
 *                   that depends on n nodes, and writes its bodies, which are
 *                   empty. UNSUPPORTED: CUDA before 12.3, for WHILE before 12.4,
 *                   for SWITCH and an IF with two bodies before 12.8.
 *  graph_retain     legal, also on a graph being captured; of no body.
 *                   `release(object)` is called once, when the graph and all
 *                   made from it are gone; on any thread, perhaps with device
 *                   locks held: it must not call the device. On failure it is
 *                   not called.
 *  graph_nodes      legal.
 *  node_deps        legal, also on a graph being captured. Writes the nodes after
 *                   whose end a node begins, at most *n, and their number.
 *  node_priority    legal, also on a graph being captured. Gives a kernel node a
 *                   priority, one of a stream. Kernels that are captured have
 *                   that of their stream, and those that are added to a graph,
 *                   or for which graph_set_kernel was called, 0.
 *  graph_destroy    legal. pre: neither graph nor a body is being captured.
 *  exec_create      legal. pre: the same. UNSUPPORTED for a second one of a
 *                   graph with conditional nodes. The flags are the sum of some
 *                   of enum philox_instantiate; a host device looks at none.
 *  exec_set_kernel  legal. New args for a kernel node of the graph the exec was
 *                   made from, for launches after this call only. A failure
 *                   leaves no sticky error.
 *  exec_launch      refused on a stream that is capturing, and as exec_check
 *                   says. On the legacy stream while a blocking stream
 *                   captures: ERROR_CAPTURE_IMPLICIT (the device decides
 *                   whether that capture is invalidated).
 *  exec_destroy     legal; waits for nothing.
 *  launch           recorded. A kernel of the library.
 *  launch_host      recorded. Optional: UNSUPPORTED.
 */
#define DEVICE_NEEDED_LIST(X)                                                  \
	X(mem_alloc, (struct philox_device *, size_t, void **))                \
	X(mem_free, (struct philox_device *, void *))                          \
	X(mapped_alloc, (struct philox_device *, size_t, void **, void **))    \
	X(mapped_free, (struct philox_device *, void *))                       \
	X(mem_info, (struct philox_device *, size_t *, size_t *))              \
	X(space_granularity, (struct philox_device *, size_t *))               \
	X(space_reserve, (struct philox_device *, size_t, unsigned, void **))  \
	X(space_map, (struct philox_device *, void *, size_t, size_t))         \
	X(space_unmap, (struct philox_device *, void *, size_t, size_t))       \
	X(space_release, (struct philox_device *, void *))                     \
	X(copy, (struct philox_device *, void *, const void *, size_t,         \
		 philox_stream))                                               \
	X(set, (struct philox_device *, void *, int, size_t, philox_stream))   \
	X(stream_create, (struct philox_device *, unsigned, philox_stream *))  \
	X(stream_destroy, (struct philox_device *, philox_stream))             \
	X(stream_priority, (struct philox_device *, philox_stream, int *))     \
	X(stream_sync, (struct philox_device *, philox_stream))                \
	X(stream_query, (struct philox_device *, philox_stream))               \
	X(device_sync, (struct philox_device *))                               \
	X(event_create, (struct philox_device *, philox_event *))              \
	X(event_create_timed, (struct philox_device *, philox_event *))        \
	X(event_destroy, (struct philox_device *, philox_event))               \
	X(event_record, (struct philox_device *, philox_event, philox_stream)) \
	X(event_wait, (struct philox_device *, philox_stream, philox_event))   \
	X(event_sync, (struct philox_device *, philox_event))                  \
	X(event_query, (struct philox_device *, philox_event))                 \
	X(event_elapsed,                                                       \
	  (struct philox_device *, philox_event, philox_event, uint64_t *))    \
	X(capture_begin,                                                       \
	  (struct philox_device *, philox_stream, enum philox_capture_mode))   \
	X(capture_begin_to, (struct philox_device *, philox_stream,            \
			     philox_native_graph, enum philox_capture_mode))   \
	X(capture_end,                                                         \
	  (struct philox_device *, philox_stream, philox_native_graph *))      \
	X(capture_info,                                                        \
	  (struct philox_device *, philox_stream, struct capture_info *))      \
	X(capture_tips,                                                        \
	  (struct philox_device *, philox_stream, device_node *, size_t *))    \
	X(capture_depend,                                                      \
	  (struct philox_device *, philox_stream, device_node))                \
	X(capture_after, (struct philox_device *, philox_stream, device_node)) \
	X(capture_mode, (struct philox_device *, enum philox_capture_mode *))  \
	X(graph_add_kernel,                                                    \
	  (struct philox_device *, philox_native_graph, const device_node *,   \
	   size_t, const struct kernel_call *, device_node *))                 \
	X(graph_set_kernel,                                                    \
	  (struct philox_device *, device_node, const struct kernel_call *))   \
	X(condition_create, (struct philox_device *, philox_native_graph,      \
			     uint32_t, int, device_condition *))               \
	X(graph_add_conditional,                                               \
	  (struct philox_device *, philox_native_graph, const device_node *,   \
	   size_t, const struct conditional *, device_node *,                  \
	   philox_native_graph *))                                             \
	X(graph_retain, (struct philox_device *, philox_native_graph,          \
			 void (*release)(void *), void *))                     \
	X(graph_nodes,                                                         \
	  (struct philox_device *, philox_native_graph, size_t *))             \
	X(node_deps,                                                           \
	  (struct philox_device *, device_node, device_node *, size_t *))      \
	X(node_priority, (struct philox_device *, device_node, int))           \
	X(graph_destroy, (struct philox_device *, philox_native_graph))        \
	X(exec_create, (struct philox_device *, philox_native_graph, unsigned, \
			philox_native_exec *))                                 \
	X(exec_set_kernel, (struct philox_device *, philox_native_exec,        \
			    device_node, const struct kernel_call *))          \
	X(exec_launch,                                                         \
	  (struct philox_device *, philox_native_exec, philox_stream))         \
	X(exec_destroy, (struct philox_device *, philox_native_exec))          \
	X(launch,                                                              \
	  (struct philox_device *, philox_stream, const struct kernel_call *))

/* With those that a device may lack. */
#define DEVICE_OP_LIST(X)                                      \
	DEVICE_NEEDED_LIST(X)                                  \
	X(launch_host, (struct philox_device *, philox_stream, \
			void (*fn)(const void *), const void *, size_t))

enum device_op {
#define DEVICE_OP_ENUM(name, arguments) DEVICE_##name,
	DEVICE_OP_LIST(DEVICE_OP_ENUM)
#undef DEVICE_OP_ENUM
		DEVICE_OP_COUNT
};

struct device_ops {
#define DEVICE_OP_MEMBER(name, arguments) enum philox_status(*name) arguments;
	DEVICE_OP_LIST(DEVICE_OP_MEMBER)
#undef DEVICE_OP_MEMBER
	/*
	 * Not counted, legal, NULL if a device cannot tell: whether a launch of
	 * the exec would find its kernels' arrays in memory (ERROR_INVALID).
	 */
	enum philox_status (*exec_check)(struct philox_device *,
					 philox_native_exec);
	/*
	 * Not counted, legal, NULL if a device has them all: whether it has
	 * such nodes (ERROR_UNSUPPORTED), as graph_add_conditional would say.
	 */
	enum philox_status (*conditional_check)(struct philox_device *,
						const struct conditional *);
	/*
	 * Not counted, legal, NULL if a device does not look: says that memory
	 * is free, and why, "block 1 was freed"; NULL: it is in use again. From
	 * then on ERROR_INVALID refuses work that would read or write there, and
	 * leaves a capture as it was; so it is for a kernel that is added to a
	 * graph. What a launched graph does is not looked at. Memory that goes
	 * back to the device is forgotten.
	 */
	void (*mem_mark)(struct philox_device *, struct range, const char *);
	/*
	 * Not counted, legal: whether an address is in memory that the device
	 * alone has, or would alone have if it were a GPU.
	 */
	int (*is_memory)(struct philox_device *, const void *);
	/*
	 * Not counted, legal, NULL if a device cannot tell: the nodes of a
	 * graph, or of a body, in order of creation, without those in bodies
	 * within. A name is that of a kernel, "" if there is none. `each` must
	 * not call the device.
	 */
	enum philox_status (*graph_list)(
		struct philox_device *, philox_native_graph,
		void (*each)(void *, enum device_node_kind, const char *),
		void *);
	/* Frees the device and everything still open on it. */
	enum philox_status (*close)(struct philox_device *);
};

/* The beginning of every device; set by device_base_init(). */
struct philox_device {
	const struct device_ops *ops;
	int is_host;
	int is_strict; /* "host:strict" */
	char name[32];
	char description[160];
	atomic_uint_fast64_t calls[DEVICE_OP_COUNT];
	atomic_uint_fast64_t fail_after; /* 0: no failure ordered */
	_Atomic int fail_op;             /* enum device_op, or -1: any */
	_Atomic int fail_status;
	atomic_size_t memory_limit; /* of a host device, in bytes; 0: none */
	atomic_uint threads;        /* of a fill on the host, at most */
	atomic_uint contexts;       /* that use it */
	unsigned forks;             /* see lib/device/device.h */
	uint32_t head_max;          /* states that a head takes; since open */
	char head_why[200];         /* why not HEAD_CAPACITY_MAX */
};

#define DEVICE_THREADS_MAX 256

/* What the message about a name that no device has lists. */
#define DEVICE_NAMES "host, host:sync, host:strict, cuda and cuda:N"

/*
 * device_is_strict() is 1 on the device "host:strict", which refuses or reports
 * what the others let pass (philox/device.h), else 0.
 */
static inline int device_is_strict(const struct philox_device *device)
{
	return device->is_strict;
}

/* device_threads() returns the limit that philox_device_set_threads() set. */
static inline unsigned device_threads(const struct philox_device *device)
{
	return atomic_load_explicit(&device->threads, memory_order_relaxed);
}

/*
 * The functions of a device file for lib/kernels/open.c. `count` writes the
 * number of devices; `open` opens device `index` (below the count) with the
 * text after the colon of its name as `option` ("" if none), and with the table
 * of its kernels, in the form that the device file says: host.h, cuda.h.
 */
struct device_opener {
	enum philox_status (*count)(unsigned *count);
	enum philox_status (*open)(unsigned index, const char *option,
				   const void *kernels,
				   struct philox_device **device);
};

extern const struct device_opener device_host;
#ifdef PHILOX_WITH_CUDA
extern const struct device_opener device_cuda;
#endif

/*
 * device_base_init() (lib/device/device.c) sets the base of a freshly zeroed
 * device. lib/kernels/open.c sets `name` afterwards; the device file writes
 * `description`.
 */
void device_base_init(struct philox_device *device,
		      const struct device_ops *ops, int is_host);

/*
 * device_retain() says that one more context uses a device, which then cannot
 * be closed; device_release() takes that back, and the device may be gone when
 * it returns. Any thread.
 */
void device_retain(struct philox_device *device);
void device_release(struct philox_device *device);

#endif
