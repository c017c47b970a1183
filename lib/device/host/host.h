/*
 * lib/device/host/host.h - inside the host device
 *
 * One lock per device guards everything below except work that is running:
 * queues, captures, graphs, events, the registry. Functions expect the lock to
 * be held unless their comment says otherwise. User callbacks run without it:
 * those that are queued work, since all work does, and release callbacks, since
 * host_unlock() calls those that are due only after it has released the lock.
 *
 * Files, each of which calls those before it: object.c (the lock, and which
 * handles are alive), order.c, marks.c (memory that is free), arrays.c (whether
 * arrays lie in memory), work.c (what a node or an entry of a queue does;
 * programs), queue.c (queues and
 * threads), graph.c (graphs, nodes, edges and their end), capture.c, stream.c,
 * event.c, memory.c (allocations, and how much memory there is), space.c
 * (spaces), conditional.c (conditions, nodes with bodies), exec.c (replay) and
 * device.c (open, close, work, the table).
 */
#ifndef LIB_DEVICE_HOST_HOST_H
#define LIB_DEVICE_HOST_HOST_H

#include <pthread.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/device/contract.h"
#include "lib/device/device.h"
#include "lib/base/base.h"
#include "lib/containers/list.h"
#include "lib/containers/map.h"
#include "lib/containers/ranges.h"

/* --- handles --------------------------------------------------------------- */

enum host_kind {
	HOST_ANY, /* for host_first_object() */
	HOST_MEMORY,
	HOST_MAPPED,
	HOST_STREAM,
	HOST_EVENT,
	HOST_NODE,
	HOST_GRAPH,
	HOST_EXEC,
	HOST_CONDITION
};

/* The first member of everything a handle can name. */
struct host_object {
	enum host_kind kind;
	const void *key;          /* the handle's value */
	struct host_object *next; /* in its bucket */
};

struct host_registry {
	struct host_object **buckets;
	size_t bucket_count; /* a power of two */
	size_t count;
};

/* --- memory ------------------------------------------------------------- */

/*
 * An allocation, or an extent of a space, which is no object of the registry.
 * It has no header that stray writes could reach.
 */
struct host_block {
	struct host_object object; /* its key is the address */
	void *memory;
	size_t size;
	const struct space *space; /* NULL: an allocation */
	uint64_t serial;           /* never reused, unlike addresses */
};

/* The answer for an address that was looked for. */
struct host_recent {
	const void *address;
	struct host_block *block;
};

#define HOST_RECENT 64

/*
 * An array that work reads or writes, and the allocation it began in, or the
 * extents of a space that it lies in.
 */
struct host_array {
	struct kernel_array of;
	uint64_t serial; /* of the newest of them; 0: in none */
	size_t offset;   /* from the beginning of the first */
	size_t block;    /* their size */
	int in_space;
};

#define HOST_NOTES 1024

/* Why memory is marked as free. */
struct host_note {
	struct range range;
	char why[192];
};

/* --- work -------------------------------------------------------------------- */

/* Arguments, copied once, shared by nodes, execs and launches. */
struct host_args {
	unsigned refs;
	uint32_t n_arrays;
	struct host_array *arrays; /* after the bytes */
	alignas(16) unsigned char bytes[];
};

enum host_work_kind {
	HOST_NOTHING, /* a point that others wait for */
	HOST_KERNEL,
	HOST_CALL,
	HOST_COPY,
	HOST_SET,
	HOST_REPLAY,
	HOST_BRANCH /* a conditional node */
};

/* The work of a node of a graph or of an entry of a queue. */
struct host_work {
	enum host_work_kind kind;
	int value;                      /* set */
	void (*function)(const void *); /* kernel, call */
	struct host_args *args;         /* one reference, or NULL */
	void *destination;              /* copy, set */
	const void *source;             /* copy */
	size_t size;                    /* copy, set */
	union {
		struct host_replay *replay; /* replay: owned */
		struct host_branch *branch; /* branch, in programs: owned */
	};
};

/* --- streams and events --------------------------------------------------- */

/*
 * An entry of a queue. Counted references: the queue's until it has run, the
 * stream's for its last one, and those of events, execs and other entries
 * that wait for it.
 */
struct host_task {
	unsigned refs;
	int done;
	int timed;      /* of an event that is */
	uint64_t ended; /* timed: when it was done */
	uint64_t number; /* device-wide, in order of submission */
	struct host_task *next;
	struct host_work work;
	size_t wait_count;
	struct host_task *waits[]; /* released when it has run */
};

/* A growing set of nodes. */
struct host_nodes {
	struct host_node **items;
	size_t count;
};

struct host_stream {
	struct host_object object;
	struct host_device *device;
	struct host_stream *next, **link; /* of the device */
	struct host_stream *next_blocking, **link_blocking; /* likewise */
	int blocking;
	int priority; /* as CUDA's: 0 or below; nothing is scheduled by it */
	int stopping;
	int has_thread;
	pthread_t thread;
	pthread_cond_t wake;
	struct host_task *head;       /* unfinished, oldest first */
	struct host_task *tail;       /* the last one submitted, done or not */
	struct host_capture *capture; /* NULL: work runs */
	struct host_stream *also;     /* in the capture, an earlier one */
	struct host_nodes deps;       /* capturing: what the next node needs */
};

/* Recorded in a stream: task. In a capture: capture_id and deps. */
struct host_event {
	struct host_object object;
	int timed;
	uint64_t ended; /* timed, and synchronous: when it was reached, or 0 */
	struct host_task *task;
	uint64_t capture_id; /* 0: not recorded in a capture */
	struct host_nodes deps;
};

/* --- captures and graphs -------------------------------------------------- */

struct host_capture {
	uint64_t id;
	int into; /* its graph was there before, and stays */
	enum philox_capture_mode mode;
	uint64_t thread; /* the number of the thread it began on */
	struct host_stream *origin;
	struct host_graph *graph;  /* NULL: invalidated */
	char reason[128];          /* what invalidated it */
	struct host_capture *next, **link; /* of the device */
	struct host_stream *streams;       /* that are in it, by `also` */
};

struct host_node {
	struct host_object object;
	struct host_graph *graph;
	size_t index; /* in its graph; above those of all it depends on */
	struct host_work work;
	struct host_nodes deps;
	int priority;                         /* of a kernel */
	struct host_conditional *conditional; /* owned; NULL: another node */
};

/* The handle is the address of the value, which only launches use. */
struct host_condition {
	struct host_object object;
	uint32_t value;
	uint32_t first; /* the value at the beginning of a launch */
	int assigned;
	int used; /* by a node */
	unsigned refs;
	uint64_t launches;
	struct host_graph *graph;    /* while that is there */
	struct host_condition *next; /* of the graph */
};

/* What a conditional node has. */
struct host_conditional {
	struct conditional what;
	struct host_condition *condition; /* of its graph, or of one above */
	struct host_graph *bodies[];
};

struct host_release {
	void (*release)(void *);
	void *object;
	struct host_release *next;
};

/* Objects that must outlive a graph and all made from it. */
struct host_keep {
	unsigned refs;
	unsigned execs;
	struct host_release *releases;
};

struct host_graph {
	struct host_object object;
	uint64_t id;     /* never reused, unlike addresses */
	uint64_t number; /* counts the device's graphs: for host_order() */
	int capturing;
	int broken; /* a capture into it was invalidated */
	uint64_t execs_made;
	struct host_node *parent; /* whose body it is, or NULL */
	struct host_condition *conditions;
	struct host_nodes nodes; /* in order of creation */
	struct host_keep *keep;
};

/* A graph as it was instantiated: never changed, shared with its launches. */
struct host_program {
	unsigned refs;
	struct host_keep *keep;
	uint64_t graph_id;
	size_t count;
	size_t *position;        /* by node index: its place in `works` */
	struct host_work *works; /* in an order that respects all edges */
	size_t condition_count;
	struct host_condition **conditions; /* a reference to each */
};

/* A conditional node as it was instantiated. */
struct host_branch {
	struct conditional what;
	const struct host_condition *condition; /* of a program around it */
	struct host_program *bodies[];
};

/* New arguments for the kernel at one position of a program. */
struct host_override {
	size_t position;
	struct host_work work;
};

/* Sorted by position. */
struct host_overrides {
	struct host_override *items;
	size_t count;
};

struct host_exec {
	struct host_object object;
	struct host_program *program;
	unsigned flags;                  /* that nothing here depends on */
	struct host_overrides overrides; /* as of now, for later launches */
	uint64_t checked;                /* device's `changes` at the time */
	struct host_task *last;          /* the launch submitted last */
};

/* One launch: the program with the overrides of its time. */
struct host_replay {
	struct host_program *program;
	struct host_overrides overrides;
};

struct host_device {
	struct philox_device base;
	void (*const *kernels)(const void *args); /* loops, by enum kernel */
	int synchronous;
	pthread_mutex_t lock;
	pthread_mutex_t turn; /* host:sync: held while work runs */
	pthread_cond_t ran;   /* some task has run; see host_wait_ran() */
	unsigned waiters;     /* of `ran` */
	uint64_t submitted;   /* number of the last task */
	uint64_t graphs_made;
	struct host_registry registry;
	void *blocks; /* a tree of struct host_block, by address */
	struct host_recent recent[HOST_RECENT]; /* empty after each free */
	uint64_t changes; /* allocations made and freed, from 1 */
	struct ranges free;      /* memory that is marked so: strict devices */
	struct host_note *notes; /* HOST_NOTES, why the latest of it is free */
	size_t noted;            /* ever */
	size_t used;      /* bytes that memory_limit counts */
	struct spaces spaces;
	struct host_stream *streams;  /* all, the legacy stream last */
	struct host_stream *blocking; /* of them, for the legacy stream */
	struct host_stream legacy;
	struct host_capture *captures;
	struct map captures_by_id;
	struct host_release *due; /* to be called by host_unlock() */
};

static inline struct host_device *host_of(struct philox_device *device)
{
	return (struct host_device *)device; /* base is the first member */
}

/* --- object.c ------------------------------------------------------------- */

/* Unlocking releases the lock and then calls the releases that are due. */
void host_lock(struct host_device *device);
void host_unlock(struct host_device *device);

/* How most operations begin, locked, and end, with a status to return. */
struct host_device *host_enter(struct philox_device *base);
enum philox_status host_leave(struct host_device *device,
			      enum philox_status status);

enum philox_status host_no_memory(const char *what);

void host_condition_drop(struct host_condition *condition);
void host_keep_drop(struct host_device *device, struct host_keep *keep);

int host_registry_open(struct host_registry *registry); /* 0: no memory */

/* Makes an object known under `key`. Cannot fail. */
void host_register(struct host_device *device, struct host_object *object,
		   enum host_kind kind, const void *key);
void host_forget(struct host_device *device, struct host_object *object);

/* The object of this kind and handle that is alive, or NULL. */
struct host_object *host_find(struct host_device *device, enum host_kind kind,
			      const void *key);

/* Any object of this kind that is alive, or NULL. */
struct host_object *host_first_object(struct host_device *device,
				      enum host_kind kind);

/* As host_find(), with the error "`what`: ... is not a live <kind>". */
enum philox_status host_event_find(struct host_device *device,
				   philox_event handle, const char *what,
				   struct host_event **event);
enum philox_status host_graph_find(struct host_device *device,
				   philox_native_graph handle, const char *what,
				   struct host_graph **graph);
enum philox_status host_node_find(struct host_device *device,
				  device_node handle, const char *what,
				  struct host_node **node);
enum philox_status host_exec_find(struct host_device *device,
				  philox_native_exec handle, const char *what,
				  struct host_exec **exec);

/* The error that such a handle is. */
enum philox_status host_not_alive(struct host_device *device,
				  const void *handle, const char *what,
				  const char *noun);

/* --- order.c -------------------------------------------------------------- */

/* Writes the place of each node, by index; the order depends on the seed. 0: no
 * memory. */
int host_order(const struct host_graph *graph, uint64_t seed, size_t *position);

/* --- marks.c -------------------------------------------------------------- */

/* As mem_mark of the table. */
void host_mem_mark(struct philox_device *base, struct range range,
		   const char *why);

/* Forgets what was marked of a range; host_marks_close() of all. */
void host_marks_drop(struct host_device *device, struct range range);
void host_marks_close(struct host_device *device);

/* Refuses work of which an array is in memory that is marked as free. */
enum philox_status host_marks_check(struct host_device *device,
				    const struct host_work *work);

/* --- arrays.c ------------------------------------------------------------- */

/* Makes an allocation or extent known, with a serial; 0: no memory. */
int host_block_add(struct host_device *device, struct host_block *block);
void host_block_remove(struct host_device *device, struct host_block *block);

/* The one that an address lies in, or NULL. */
struct host_block *host_block_at(struct host_device *device,
				 const void *address);

/*
 * Refuses work of which an array does not lie in its allocation or, on a strict
 * device and but for copies, in any; notes the allocation of each.
 */
enum philox_status host_arrays_take(struct host_device *device,
				    struct host_work *work);

/* Refuses work of which an array no longer lies in the allocation noted. */
enum philox_status host_arrays_check(struct host_device *device,
				     const struct host_work *work);

/* --- work.c --------------------------------------------------------------- */

enum philox_status host_work_call(struct host_work *work,
				  void (*function)(const void *),
				  const void *args, size_t size);
enum philox_status host_work_kernel(const struct host_device *device,
				    struct host_work *work,
				    const struct kernel_call *call);
enum philox_status host_work_copy(struct host_work *work, void *destination,
				  const void *source, size_t size);
enum philox_status host_work_set(struct host_work *work, void *memory,
				 int value, size_t size);
struct host_work host_work_share(const struct host_work *work);
void host_work_drop(struct host_device *device, struct host_work *work);
void host_work_run(const struct host_work *work); /* without the lock */

/*
 * host_check_caller() refuses to wait or to put work on a stream in a function
 * of philox_stream_launch_host(), which its stream waits for: ERROR_STATE.
 */
enum philox_status host_check_caller(const char *what);

void host_program_drop(struct host_device *device,
		       struct host_program *program);
void host_overrides_free(struct host_device *device,
			 struct host_overrides *overrides);

/* The work at a position; positions are asked for in order, with next at 0. */
const struct host_work *host_work_at(const struct host_program *program,
				     const struct host_overrides *overrides,
				     size_t position, size_t *next);

/* Gives all conditions the values with which a launch begins. */
void host_program_begin(const struct host_program *program);
/* Whether a body of the node runs now, and which. */
int host_branch_picks(const struct host_branch *branch, uint32_t *body);

/* --- queue.c -------------------------------------------------------------- */

/*
 * host_submit() runs `work` after everything on the stream and after the task
 * `after` (NULL: nothing). It takes the work over, on success only, and writes
 * the task with a reference for the caller to `task` unless NULL. In
 * synchronous mode the lock is released while the work runs.
 */
enum philox_status host_submit(struct host_stream *stream,
			       struct host_work *work, struct host_task *after,
			       struct host_task **task);

void host_task_drop(struct host_device *device, struct host_task *task);
void host_task_wait(struct host_device *device, struct host_task *task);

/* Waits for all tasks that are submitted by now. */
void host_wait_idle(struct host_device *device);

/* --- graph.c -------------------------------------------------------------- */

int host_nodes_reserve(struct host_nodes *nodes,
		       size_t more); /* 0: no memory */
void host_nodes_add(struct host_nodes *nodes, struct host_node *node);
int host_nodes_copy(struct host_nodes *to, const struct host_nodes *from);
void host_nodes_free(struct host_nodes *nodes);

struct host_graph *host_graph_create(struct host_device *device);
void host_graph_free(struct host_device *device, struct host_graph *graph);

/* Takes the work over; NULL: out of memory, and the work stays the caller's. */
struct host_node *host_graph_add(struct host_device *device,
				 struct host_graph *graph,
				 struct host_work *work,
				 const struct host_nodes *deps);

/* The nodes of handles, which must be of the graph; the caller frees them. */
enum philox_status host_find_deps(struct host_device *device,
				  const struct host_graph *graph,
				  const device_node *handles, size_t n,
				  const char *what, struct host_nodes *deps);

/* The handles of at most *n nodes, and how many there are. */
void host_nodes_show(const struct host_nodes *nodes, device_node *handles,
		     size_t *n);

/* The first call keeps the reason; the graph is freed at once. */
void host_invalidate(struct host_device *device, struct host_capture *capture,
		     const char *reason, ...)
	__attribute__((format(printf, 3, 4)));

/* Empties the last nodes of the capture's streams: they will be freed. */
void host_forget_nodes(const struct host_capture *capture);

/* With the captures of its bodies. */
void host_conditional_free(struct host_device *device,
			   struct host_conditional *conditional);

/* The graph itself, or the one around all that it is a body in. */
struct host_graph *host_root_of(struct host_graph *graph);

/* Refuses a body. */
enum philox_status host_root_check(const struct host_graph *graph,
				   const char *what);

/* Refuses a graph of which it, or a body, is being captured. */
enum philox_status host_open_check(const struct host_graph *graph,
				   const char *what);

/* Calls `check` for the bodies of a graph, not for those below. */
enum philox_status host_each_body(
	const struct host_graph *graph, const char *what,
	enum philox_status (*check)(const struct host_graph *, const char *));

/* NULL: there is none, and the error is set. */
struct host_condition *host_condition_find(struct host_device *device,
					   device_condition handle,
					   const char *what);

/*
 * Refuses a kernel that sets a condition which is not of the graph, of one
 * above it or below, and one that is in no graph (NULL).
 */
enum philox_status host_condition_check(struct host_device *device,
					const struct host_work *work,
					struct host_graph *graph);

/* --- capture.c ------------------------------------------------------------ */

/*
 * The stream of a handle, for work on it; NULL is the legacy stream. Using that
 * while a blocking stream captures is the error CAPTURE_IMPLICIT, and
 * invalidates those captures.
 */
enum philox_status host_stream_find(struct host_device *device,
				    philox_stream handle, const char *what,
				    struct host_stream **stream);

/* Refuses a call that captures in progress forbid, and invalidates those. */
enum philox_status host_unsafe(struct host_device *device, const char *what);

/* The same for a call that every capture forbids, in all modes and threads. */
enum philox_status host_unsafe_always(struct host_device *device,
				      const char *what);

/* The capture with this id, or NULL once it is over. */
struct host_capture *host_capture_of(struct host_device *device, uint64_t id);

/* The error that calls on an invalidated capture get, or PHILOX_OK. */
enum philox_status host_capture_check(const struct host_capture *capture,
				      const char *what);

/* Adds a node to the capture of a stream; takes the work over on success. */
enum philox_status host_record(struct host_device *device,
			       struct host_stream *stream,
			       struct host_work *work, const char *what);

/* Makes `stream` part of the capture, or makes it wait for `deps` there. */
enum philox_status host_capture_join(struct host_device *device,
				     struct host_stream *stream,
				     struct host_capture *capture,
				     const struct host_nodes *deps,
				     const char *what);

/* Ends a capture: its streams are normal again; its graph stays. */
void host_capture_over(struct host_device *device,
		       struct host_capture *capture);

/* --- stream.c ------------------------------------------------------------- */

void host_stream_init(struct host_device *device, struct host_stream *stream,
		      int blocking);

/* Waits for queued work, with the lock released. */
void host_stream_free(struct host_device *device, struct host_stream *stream);

/* --- event.c -------------------------------------------------------------- */

void host_event_free(struct host_device *device, struct host_event *event);

/* --- memory.c ------------------------------------------------------------- */

/* Refuses `bytes` more than the limit: the caller counts them in `used`. */
enum philox_status host_within_limit(const struct host_device *device,
				     size_t bytes, const char *what);

/* Frees all allocations. */
void host_memory_close(struct host_device *device);

/* --- space.c -------------------------------------------------------------- */

/* Fixed, so that offsets are the same everywhere; pages are smaller. */
#define HOST_GRANULARITY ((size_t)64 << 10)

/* Releases all spaces, whatever is mapped. */
void host_spaces_close(struct host_device *device);

/* --- exec.c --------------------------------------------------------------- */

void host_exec_free(struct host_device *device, struct host_exec *exec);
int host_is_memory(struct philox_device *base, const void *address);
enum philox_status host_exec_check(struct philox_device *base,
				   philox_native_exec handle);

/* --- graph.c: what nodes are ---------------------------------------------- */

enum philox_status host_graph_list(struct philox_device *base,
				   philox_native_graph handle,
				   void (*each)(void *user,
						enum device_node_kind kind,
						const char *name),
				   void *user);

/* --- the table ------------------------------------------------------------ */

#define HOST_OP_DECLARE(name, arguments) \
	enum philox_status host_##name arguments;
DEVICE_OP_LIST(HOST_OP_DECLARE)
#undef HOST_OP_DECLARE

#endif
