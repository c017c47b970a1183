/*
 * lib/device/device.h - devices, as the rooms above them use them: calls,
 * captures, forks, spaces
 */
#ifndef LIB_DEVICE_DEVICE_H
#define LIB_DEVICE_DEVICE_H

#include <stddef.h>
#include <philox/status.h>
#include "lib/base/base.h"
#include "lib/device/contract.h"

/* --- call: the operations of a device that are not public ----------------- */

/*
 * They are counted like the public ones. device_<name>() takes the arguments of
 * the table's <name>.
 */
enum philox_status device_mapped_alloc(struct philox_device *device,
				       size_t size, void **host, void **mapped);
enum philox_status device_mapped_free(struct philox_device *device, void *host);
/*
 * A space is a range of addresses that memory is mapped into, and taken from,
 * piece by piece; offsets are from its base. Releasing NULL does nothing.
 */
enum philox_status device_space_granularity(struct philox_device *device,
					    size_t *bytes);
enum philox_status device_space_reserve(struct philox_device *device,
					size_t bytes, void **base);
enum philox_status device_space_reserve_with(struct philox_device *device,
					     size_t bytes, unsigned traits,
					     void **base);
enum philox_status device_space_map(struct philox_device *device, void *base,
				    size_t offset, size_t bytes);
enum philox_status device_space_unmap(struct philox_device *device, void *base,
				      size_t offset, size_t bytes);
enum philox_status device_space_release(struct philox_device *device,
					void *base);
/* An event that keeps the time at which it is reached. */
enum philox_status device_event_create_timed(struct philox_device *device,
					     philox_event *event);
enum philox_status device_event_elapsed(struct philox_device *device,
					philox_event begin, philox_event end,
					uint64_t *nanoseconds);
enum philox_status device_capture_info(struct philox_device *device,
				       philox_stream stream,
				       struct capture_info *info);
enum philox_status device_capture_begin_to(struct philox_device *device,
					   philox_stream stream,
					   philox_native_graph graph,
					   enum philox_capture_mode mode);
enum philox_status device_capture_tips(struct philox_device *device,
				       philox_stream stream, device_node *nodes,
				       size_t *n);
enum philox_status device_capture_depend(struct philox_device *device,
					 philox_stream stream,
					 device_node node);
enum philox_status device_capture_after(struct philox_device *device,
					philox_stream stream, device_node node);
enum philox_status device_graph_add_kernel(struct philox_device *device,
					   philox_native_graph graph,
					   const device_node *deps, size_t n,
					   const struct kernel_call *call,
					   device_node *node);
enum philox_status device_node_deps(struct philox_device *device,
				    device_node node, device_node *nodes,
				    size_t *n);
enum philox_status device_stream_priority(struct philox_device *device,
					  philox_stream stream, int *priority);
enum philox_status device_node_priority(struct philox_device *device,
					device_node node, int priority);
enum philox_status device_exec_create(struct philox_device *device,
				      philox_native_graph graph, unsigned flags,
				      philox_native_exec *exec);
enum philox_status device_graph_set_kernel(struct philox_device *device,
					   device_node node,
					   const struct kernel_call *call);
/*
 * A condition of the graph; every launch begins with `value` if `assigned` is
 * not 0. See "Conditional nodes" in lib/device/contract.h.
 */
enum philox_status device_condition_create(struct philox_device *device,
					   philox_native_graph graph,
					   uint32_t value, int assigned,
					   device_condition *condition);
/* Whether the device has nodes of this kind, with as many bodies; not counted. */
enum philox_status device_conditional_check(struct philox_device *device,
					    const struct conditional *what);
/* Writes the node, and what->bodies graphs to `bodies`. */
enum philox_status device_graph_add_conditional(
	struct philox_device *device, philox_native_graph graph,
	const device_node *deps, size_t n, const struct conditional *what,
	device_node *node, philox_native_graph *bodies);
enum philox_status device_graph_retain(struct philox_device *device,
				       philox_native_graph graph,
				       void (*release)(void *), void *object);
enum philox_status device_exec_set_kernel(struct philox_device *device,
					  philox_native_exec exec,
					  device_node node,
					  const struct kernel_call *call);
/* PHILOX_OK if the device cannot tell; this one is not counted. */
enum philox_status device_exec_check(struct philox_device *device,
				     philox_native_exec exec);
/* UNSUPPORTED if the device cannot tell; this one is not counted. */
enum philox_status device_graph_list(
	struct philox_device *device, philox_native_graph graph,
	void (*each)(void *user, enum device_node_kind kind, const char *name),
	void *user);
enum philox_status device_launch(struct philox_device *device,
				 philox_stream stream,
				 const struct kernel_call *call);

/* --- enter: how an operation of a device is entered ----------------------- */

/*
 * Arguments are checked, the call is counted and fails if a failure was ordered
 * (philox/device.h); then the device's table is called.
 */

/*
 * device_enter() refuses a fork of the process that opened the device
 * (lib/device/device.h). It counts one operation and returns the failure
 * ordered for it, or PHILOX_ERROR_UNSUPPORTED if the device does not offer it,
 * or PHILOX_OK: continue.
 */
enum philox_status device_enter(struct philox_device *device, enum device_op op,
				int offered);

/*
 * The user knows the public call that he made, not the operations that it does:
 * what an operation leaves behind for later messages, such as the reason why a
 * capture is broken, names that call. device_within() names the call that this
 * thread is in, NULL for none, and returns the name before, to be restored.
 * device_caller() returns that name, or else the operation's.
 */
const char *device_within(const char *call);
const char *device_caller(const char *operation);

/*
 * A device that has marks refuses work on memory that is free: mem_mark in
 * lib/device/contract.h. device_mark_free() says why it is, and
 * device_mark_used() that it is not. Whoever knows that memory is free, and
 * reads or writes it, names it by device_use_free(), for this thread, which
 * returns what was named before, to be restored.
 */
struct free_use {
	const struct range *ranges;
	size_t n;
	int reads, writes;
};

static inline int device_has_marks(const struct philox_device *device)
{
	return device->is_strict && device->ops->mem_mark;
}

void device_mark_free(struct philox_device *device, struct range range,
		      const char *why);
void device_mark_used(struct philox_device *device, struct range range);
struct free_use device_use_free(struct free_use use);

/* device_free_used() returns the beginning of a range that was named for it. */
struct range device_free_used(struct range range, int written);

/*
 * These return from the function that uses them, with an error that names
 * argument and function.
 */
#define NEED(condition, argument, problem)                             \
	do {                                                           \
		if (!(condition))                                      \
			return status_set(PHILOX_ERROR_INVALID,        \
					  "%s: %s " problem, __func__, \
					  argument);                   \
	} while (0)
#define NEED_POINTER(argument) NEED(argument, #argument, "is NULL")
#define NEED_SIZE(argument)    NEED(argument, #argument, "is 0")
#define NEED_KERNEL(call)                                           \
	do {                                                        \
		NEED_POINTER(call);                                 \
		NEED(call->kernel != KERNEL_NONE &&                 \
			     (unsigned)call->kernel < KERNEL_COUNT, \
		     #call, "names no kernel");                     \
		NEED_POINTER(call->args);                           \
		NEED_SIZE(call->size);                              \
	} while (0)

#define CALL(name, ...)                                                    \
	do {                                                               \
		enum philox_status refused = device_enter(                 \
			device, DEVICE_##name, device->ops->name != NULL); \
		if (refused != PHILOX_OK)                                  \
			return refused;                                    \
		return device->ops->name(__VA_ARGS__);                     \
	} while (0)

/* --- device.c: whether this process is a fork of a device's --------------- */

/*
 * The threads of a host device's streams do not exist in a child that fork()
 * made, and its locks may be held by threads that do not exist there; CUDA does
 * not work in such a child either. So every operation of a device, and every
 * call that takes a lock, first asks whether this is the process that opened
 * the device. That must cost next to nothing: forks are counted, in the child,
 * by a handler of pthread_atfork(), and a device remembers the count at its
 * opening. A child made without handlers, by _Fork() or clone(), is not
 * noticed.
 */

/* forks_watch() begins to count, before the first device is opened. */
enum philox_status forks_watch(void);

extern atomic_uint forks_counted;

/* forks_count() returns how many forks led to this process, since then. */
static inline unsigned forks_count(void)
{
	return atomic_load_explicit(&forks_counted, memory_order_relaxed);
}

/* fork_is_child() is 1 in a fork of the process that opened the device. */
static inline int fork_is_child(const struct philox_device *device)
{
	return device->forks != forks_count();
}

/* fork_refuse() says so: PHILOX_ERROR_STATE. */
enum philox_status fork_refuse(const struct philox_device *device);

/* --- captures: captures in progress: querying, working beside ------------- */

/*
 * How code that uses devices deals with the captures of its callers. Errors do
 * not name an object: callers put their own name in front with status_prefix().
 */

/*
 * device_ask_capture() asks a stream for its capture, for a call that is legal
 * in a capture and outside one. *info is ACTIVE with id and graph, or NONE with
 * id 0. Errors: those of the operation capture_info, and
 * PHILOX_ERROR_CAPTURE_INVALIDATED. Legal during capture.
 */
enum philox_status device_ask_capture(struct philox_device *device,
				      philox_stream stream,
				      struct capture_info *info);

/*
 * device_refuse_capture() is for a call that is illegal on a capturing stream:
 * PHILOX_ERROR_CAPTURE_UNSUPPORTED if the stream is capturing, whether or not
 * its capture is still valid. Further errors: those of the operation
 * capture_info. Legal during capture; invalidates nothing.
 */
enum philox_status device_refuse_capture(struct philox_device *device,
					 philox_stream stream);

/*
 * Work that is unsafe during captures, done while some may be in progress:
 *
 *	status = device_relaxed_begin(device, &mode);
 *	if (status != PHILOX_OK)
 *		return status;
 *	status = work();
 *	return device_relaxed_end(device, mode, status);
 *
 * device_relaxed_begin() puts this thread into relaxed mode and writes the mode
 * it had; after an error the thread still has that mode. device_relaxed_end()
 * restores it and returns `status`, the outcome of the work, with its message;
 * if that is PHILOX_OK, the outcome of restoring the mode.
 */
enum philox_status device_relaxed_begin(struct philox_device *device,
					enum philox_capture_mode *before);
enum philox_status device_relaxed_end(struct philox_device *device,
				      enum philox_capture_mode before,
				      enum philox_status status);

/*
 * device_event_reached() is 1 if an event is known to have been reached, which
 * may be asked while captures are in progress. That it is not is no error: the
 * thread's message stays.
 */
int device_event_reached(struct philox_device *device, philox_event event);

/*
 * device_is_memory() is 1 if an address is in memory of the device, and not in
 * the host's, nor in memory that both read. The thread's message stays.
 */
int device_is_memory(struct philox_device *device, const void *address);

/* --- captures.c: setting a condition of a graph --------------------------- */

/*
 * A kernel sets a condition to the value of a word of device memory, as that is
 * when the kernel runs: see "Conditional nodes" in lib/device/contract.h. The
 * word is aligned to 4 bytes. The kernel may be anywhere in the graph of the
 * condition or in a body below; a host device refuses one anywhere else
 * (PHILOX_ERROR_INVALID), a GPU does something undefined. Two that may run at
 * the same time must not set the same condition. Errors do not name an object.
 */

/*
 * device_condition_record() records the kernel in the capture of a stream;
 * PHILOX_ERROR_STATE if there is none. Legal during capture.
 */
enum philox_status device_condition_record(struct philox_device *device,
					   philox_stream stream,
					   device_condition condition,
					   const uint32_t *word);

/*
 * device_condition_guard() records a kernel that takes 1 for a word that is
 * NULL, and with the control of a body ends the loop at the body's limit
 * (struct condition_args); `control` may be NULL.
 */
enum philox_status device_condition_guard(struct philox_device *device,
					  philox_stream stream,
					  device_condition condition,
					  const uint32_t *word,
					  struct philox_state *control,
					  enum condition_place place);

/*
 * device_condition_add() adds the kernel to a graph, perhaps one that is being
 * captured, after n nodes. Legal during capture.
 */
enum philox_status device_condition_add(struct philox_device *device,
					philox_native_graph graph,
					const device_node *deps, size_t n,
					device_condition condition,
					const uint32_t *word,
					device_node *node);

/* --- spaces: which addresses are reserved, and what is mapped there ------- */

/*
 * The bookkeeping of a device that has spaces (lib/device/contract.h): which
 * there are, and the extents of each. It refuses what no device may do, and
 * says why; what is done with memory is the device's. Not locked: the device
 * does it.
 */

struct space_extent {
	size_t offset, size;
};

/* What others than the GPU and the process may do with a space's memory. */
enum space_trait {
	SPACE_RDMA = 1,   /* devices register it (GPUDirect RDMA) */
	SPACE_EXPORT = 2, /* processes import it, by file descriptors */
	SPACE_FABRIC = 4, /* nodes import it, by fabric handles */
	SPACE_PEERS = 8   /* GPUs that can reach this one read and write it */
};

struct space {
	char *base;
	size_t size;
	unsigned traits;
	struct space_extent *extents; /* by offset; they do not overlap */
	size_t count;
	struct space *next;
};

/* All that a device has. */
struct spaces {
	size_t granularity;
	struct space *first;
};

/* Whether a space may have this size. */
enum philox_status spaces_may_reserve(const struct spaces *spaces,
				      size_t bytes);

/* Adds the space that was reserved; NULL: no memory. */
struct space *spaces_add(struct spaces *spaces, void *base, size_t bytes);

/*
 * Whether an extent may be mapped, be unmapped, a space be released; *space is
 * then the one with this base. After the first, space_add_extent() cannot fail.
 */
enum philox_status spaces_may_map(const struct spaces *spaces, const void *base,
				  size_t offset, size_t bytes,
				  struct space **space);
enum philox_status spaces_may_unmap(const struct spaces *spaces,
				    const void *base, size_t offset,
				    size_t bytes, struct space **space);
enum philox_status spaces_may_release(const struct spaces *spaces,
				      const void *base, struct space **space);

void space_add_extent(struct space *space, size_t offset, size_t bytes);
void space_remove_extent(struct space *space, size_t offset);

/* Frees the record of a space, with those of its extents. */
void spaces_remove(struct spaces *spaces, struct space *space);

#endif
