/*
 * philox/pool.h - device memory that captured graphs share
 *
 * A captured graph freezes addresses: the memory its kernels use must stay
 * where it is for as long as the graph may be launched. Graphs that never run
 * at once can use the same memory, if each is captured while the memory that
 * the others use is free. A pool hands out such memory, in warm-ups and in
 * captures, puts its blocks back as they were before the next capture, and
 * orders the launches of the graphs that share it.
 *
 *   struct philox_pool_desc options = PHILOX_INIT(...);
 *
 *   options.name = "activations";
 *   philox_pool_create(context, &options, &pool);
 *   philox_pool_checkpoint_create(pool, &empty);
 *
 *   for each size of batch, the largest first:
 *           philox_pool_restore(pool, empty, NULL, 0, dead, n_dead);
 *           philox_capture_begin(context, stream);
 *           philox_pool_session_begin(pool, stream, &session);
 *           philox_pool_alloc(pool, stream, bytes, 0, "hidden", &block);
 *           ... kernels that use block.address ...
 *           philox_pool_free(pool, stream, block.address);
 *           philox_pool_session_end(session, PHILOX_OK, NULL);
 *           philox_capture_end(context, stream, &graph);
 *
 * All these graphs together take as much memory as the largest of them.
 *
 * What a launch overwrites. A launch writes wherever its capture did: in blocks
 * that were allocated and freed during the capture, and in those that were
 * live. Whatever has been put there since is overwritten. So a graph's results
 * are valid until another graph of the pool, or a warm-up, that was given the
 * same memory runs. Memory that was live when a capture began is not given to
 * it: allocate inputs and weights that several graphs read before the first.
 *
 * Order. A captured graph of a pool, and a warm-up session in it, must not run
 * at the same time as another one. philox orders the launches that it makes
 * itself. It records an event after each launch, which is one device call
 * more, and the next launch waits for that event if it is on another stream.
 * Elsewhere the library adds no order between streams; here memory is shared,
 * so it does. With PHILOX_POOL_STRICT it never does. Then a launch on another
 * stream than the pool's last one, which must still exist, is refused with
 * PHILOX_ERROR_BUSY until philox_pool_join_streams() has moved the pool.
 * Before the first launch the last one is the stream that memory was first
 * freed on, outside sessions. The caller orders native launches, and readers
 * of a graph's outputs on other streams. Between philox_graph_prologue() and
 * philox_graph_epilogue() the launch is on the prologue's stream, or that
 * stream waits for it before the epilogue. Other streams are not given the
 * launch's memory meanwhile. Graphs of one pool may be launched in any order
 * if they do not read each other's results.
 *
 * Streams. Free memory can be reused at once on the stream it was freed on. A
 * session's streams are those that allocate and free in it. When it ends all of
 * them are joined, as a capture's are, and any of them can use what they freed.
 *
 * Outside sessions, memory that was freed on one stream is used on another
 * only after philox_pool_join_streams(). There is one exception. Where the
 * device has no more memory, or the pool is at its limit, the pool makes the
 * stream wait for those that freed what it needs, and the log says so. So a
 * stream that memory was freed on must exist as long as the pool, or until
 * philox_pool_join_streams() has given what it freed to another. Memory that
 * the device gave for a request on one stream is that stream's in the same
 * way. No call here asks whether work has finished: which memory a block gets
 * never depends on time, and the same calls give the same places on every
 * device.
 *
 * Identity. Each block has an id that is never used again. Whether two buffers
 * are one is a question for their ids: an address that was freed and handed out
 * again is another buffer.
 *
 * Use after free. To "host:strict" memory of a pool that no block has is
 * unknown, and so are blocks that were freed and outputs that a runner has
 * released. A copy, a fill or a kernel of this library there is refused with
 * PHILOX_ERROR_INVALID, and the message says what was freed. A node is looked
 * at when it is captured. A launched graph may write to free memory. Blocks
 * that a restore has put away stay known while a graph of the pool lives, whose
 * results may be in them. What a function of philox_stream_launch_host() uses
 * is not seen.
 *
 * PHILOX_POOL_FILL finds such work later, on all devices: reads give NaNs, and
 * philox_pool_check() finds writes. With PHILOX_POOL_UNMAP each call outside
 * captures that frees memory waits for the pool's work, and unmaps what is
 * wholly free, so that a GPU faults at the use. That cannot see a use
 *  - of free memory whose mapping has a live block in it: make `step` small;
 *  - after other memory was mapped there;
 *  - in a pool with living graphs, whose memory stays mapped;
 *  - while a session is open, or a capture is under way in the context;
 *  - of memory that was freed on a stream that the pool cannot wait for.
 *
 * Segments. A pool holds memory in segments: of their own from the device
 * (plain), or in one range of reserved addresses that is mapped as needed
 * (expandable), where neighbours grow together. Sizes are rounded up to 512
 * bytes. Nothing that a living graph has seen is given back to the device. CUDA
 * destroys a graph whose handles the caller has (adopted, or asked for by
 * philox_graph_native()) a little later, from another thread. Until then its
 * memory is not trimmed, and philox_pool_destroy() gives PHILOX_ERROR_BUSY.
 *
 * Others. A plain pool has memory of cudaMalloc(). Network cards register it,
 * processes share it by cudaIpcGetMemHandle(), and GPUs reach it for which you
 * have called cudaDeviceEnablePeerAccess(). The memory of an expandable pool is
 * mapped by the driver (cuMemMap): none of this works there, unless it was
 * asked for when the pool was made. PHILOX_POOL_RDMA makes it memory that
 * GPUDirect RDMA registers. With PHILOX_POOL_EXPORT or PHILOX_POOL_FABRIC,
 * cuMemRetainAllocationHandle() of an address gives the handle of its extent,
 * which cuMemExportToShareableHandle() exports; there is one for each growth of
 * the pool. With PHILOX_POOL_PEERS all GPUs that can reach this one when memory
 * is mapped read and write it. What the GPU or its driver lacks is refused with
 * PHILOX_ERROR_UNSUPPORTED when the pool is made, and the message names it.
 * Memory of a host device is the process's own: RDMA and PEERS ask nothing of
 * it, and EXPORT and FABRIC are refused.
 *
 * philox_context_save() does not save pools. Messages name the pool and the tag
 * of the block.
 */
#ifndef PHILOX_POOL_H
#define PHILOX_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/device.h>
#include <philox/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct philox_pool;
struct philox_pool_session;
struct philox_pool_checkpoint;

/* --- pools ---------------------------------------------------------------- */

enum philox_pool_flags {
	PHILOX_POOL_EXPANDABLE = 1, /* one range of addresses, mapped as
				       needed; else segments of their own */
	PHILOX_POOL_STRICT = 2,     /* refuse where the pool would make a
				       stream wait */
	PHILOX_POOL_GUARDS = 4,     /* 512 bytes before and after each block,
				       for philox_pool_check() */
	PHILOX_POOL_FILL = 8,       /* blocks are filled with 0xff, a NaN in
				       all floats, when allocated and when
				       freed; outputs of a runner are when
				       released */
	PHILOX_POOL_UNMAP = 16,     /* expandable: what is wholly free is
				       unmapped; slow, for debugging */
	/* expandable, see "Others": */
	PHILOX_POOL_RDMA = 32,    /* other devices may register the memory */
	PHILOX_POOL_EXPORT = 64,  /* processes may import it: descriptors */
	PHILOX_POOL_FABRIC = 128, /* nodes may import it: fabric handles */
	PHILOX_POOL_PEERS = 256 /* other GPUs that reach this one have access */
};

/* struct philox_pool_desc describes a pool. Begin with PHILOX_INIT(). */
struct philox_pool_desc {
	size_t size;       /* sizeof(this struct) */
	const char *name;  /* unique among the context's pools; copied; at most
			      63 bytes */
	uint32_t flags;    /* of enum philox_pool_flags */
	uint32_t reserved; /* 0 */
	uint64_t range; /* expandable: bytes of addresses to reserve; 0: 9/8 of
			   the device's memory */
	uint64_t step;  /* bytes taken from the device at a time, at least; 0:
			   2 MiB */
	uint64_t limit; /* most bytes taken from the device; 0: no limit */
};

/*
 * Create an empty pool.
 *
 *   context  the context, which also destroys the pool if it ends first
 *   options  describes the pool; copied
 *   pool     written
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID      an argument is NULL, or a field is wrong; the
 *                             message names it
 *   PHILOX_ERROR_EXISTS       a pool of the context has the name
 *   PHILOX_ERROR_UNSUPPORTED  expandable, on a device without address spaces,
 *                             or without memory as the flags want it
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_create(
	struct philox_context *context, const struct philox_pool_desc *options,
	struct philox_pool **pool);

/*
 * Destroy a pool, and give all its memory back to the device.
 *
 *   pool  the pool, not used again; NULL does nothing
 *
 * Work that uses the memory must have finished. Blocks that are still live are
 * reported through the log, with their tags. The end of the context destroys
 * its pools in any case, even with graphs that would be refused here.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_BUSY   a session is open, or a graph that was captured in one
 *                       still exists; the message names it
 *   PHILOX_ERROR_STATE  the pool is a runner's
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: any; no other call may use the pool.
 */
PHILOX_API enum philox_status philox_pool_destroy(struct philox_pool *pool);

/*
 * Return the name of a pool.
 *
 *   pool  the pool, or NULL
 *
 * Returns the name, which belongs to the pool; "" for NULL.
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API const char *philox_pool_name(const struct philox_pool *pool);

/* --- blocks --------------------------------------------------------------- */

/* struct philox_pool_block is a block's handle: plain data. */
struct philox_pool_block {
	uint64_t id; /* never used again */
	void *address;
	size_t bytes; /* as asked for */
};

/*
 * Allocate memory that work on a stream may use from this point on.
 *
 *   pool       the pool
 *   stream     the stream that will use it first
 *   bytes      at least 1; rounded up to a multiple of 512
 *   alignment  a power of two, at most 65536; 0: 512
 *   tag        its purpose, for messages and pictures: copied, at most 31
 *              bytes; NULL: ""
 *   block      written: the handle
 *
 * The content is undefined. On a capturing stream the memory belongs to the
 * session of that capture. If the pool must grow, it asks the device in relaxed
 * mode, which breaks no capture. The call queries the stream's capture, and
 * calls the device for nothing else unless the pool grows.
 *
 * Outside captures, before PHILOX_ERROR_MEMORY is returned, the context's other
 * pools give back what no graph needs and the device is asked once more. The
 * message says what each pool holds.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID   bytes is 0, alignment is wrong, the tag is too long,
 *                          or an argument is NULL
 *   PHILOX_ERROR_OVERFLOW  bytes is near 2^64
 *   PHILOX_ERROR_STATE     the stream captures, and its capture has no session
 *                          in this pool; the pool is a runner's
 *   PHILOX_ERROR_BUSY      the stream does not capture, but the pool's session
 *                          belongs to a capture
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   PHILOX_ERROR_LIMIT     the pool would grow beyond its limit
 *   PHILOX_ERROR_UNSUPPORTED  262,143 other streams may still use memory of the
 *                          pool that they freed
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_alloc(
	struct philox_pool *pool, philox_stream stream, size_t bytes,
	size_t alignment, const char *tag, struct philox_pool_block *block);

/*
 * Free a block, for reuse after this point of a stream.
 *
 *   pool     the pool
 *   stream   the stream; work on the block on other streams must be ordered
 *            before this point of it
 *   address  where the block begins; NULL does nothing
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  the address is inside a block, freed already, or not
 *                         the pool's; the message says which, with the tag
 *   PHILOX_ERROR_STATE, PHILOX_ERROR_BUSY, PHILOX_ERROR_CAPTURE_INVALIDATED
 *                         as philox_pool_alloc()
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_free(struct philox_pool *pool,
					       philox_stream stream,
					       void *address);

/* struct philox_pool_block_info describes a live block. */
struct philox_pool_block_info {
	size_t size; /* sizeof(this struct), set by the caller and kept */
	uint64_t id;
	void *base;
	size_t bytes;     /* as asked for */
	uint64_t segment; /* its place: the same on every device */
	uint64_t offset;
	char tag[32];
};

/*
 * Describe the live block that an address belongs to.
 *
 *   pool     the pool
 *   address  any address in the block
 *   info     written; its size must be set
 *
 * Returns PHILOX_OK, or an error; then *info is as it was.
 * Errors:
 *   PHILOX_ERROR_NOT_FOUND  no live block of the pool has this address
 *   PHILOX_ERROR_INVALID    an argument is NULL, or the size is wrong
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_find(
	struct philox_pool *pool, const void *address,
	struct philox_pool_block_info *info);

/*
 * Tell whether the live blocks are exactly the given ones.
 *
 *   pool   the pool
 *   ids    ids of blocks, each once, in any order
 *   n_ids  how many; 0 asks whether the pool is empty
 *   live   written: 1 if they are, else 0
 *
 * Returns PHILOX_OK, or an error; then *live is as it was.
 * Errors:
 *   PHILOX_ERROR_INVALID  an argument is NULL
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_is_live(struct philox_pool *pool,
						  const uint64_t *ids,
						  size_t n_ids, int *live);

/*
 * Declare that the caller has ordered two streams.
 *
 *   pool    the pool
 *   before  what was freed on it until now may be reused on `after`, and no
 *           longer on it
 *   after   the stream that waits for `before`
 *
 * If the pool's last launch or warm-up was on `before`, the next one may be on
 * `after`.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID            an argument is wrong
 *   PHILOX_ERROR_STATE, PHILOX_ERROR_BUSY
 *                                   as philox_pool_alloc(), for either stream
 *   PHILOX_ERROR_CAPTURE_ISOLATION  one stream captures, the other does not
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_join_streams(struct philox_pool *pool,
						       philox_stream before,
						       philox_stream after);

/* --- sessions ------------------------------------------------------------- */

/*
 * A pool has one session at a time, and a capture has at most one session in
 * each pool. On a stream that captures, a session is that capture's, forks
 * included, no matter which code began the capture. The graph that the capture
 * becomes, and all executable graphs made from it, keep the pool's memory
 * mapped.
 *
 * On another stream a session is a warm-up's, which runs as a launch would. It
 * waits for the pool's last launch, and takes what is allocated and freed on
 * any stream that does not capture. The caller forks those streams from the
 * session's stream after its beginning, and joins them to it before its end.
 *
 * A session that fails leaves every block as it was when the session began. The
 * blocks that it allocated do not exist any more, and those that it freed are
 * live again. A graph of such a capture is not launched (PHILOX_ERROR_STATE).
 *
 * If a capture is invalidated, or its graph is destroyed, before its session
 * has ended, the session has failed. The next call that uses the pool rolls it
 * back, with a warning through the log, and philox_pool_session_end() must
 * still be called.
 */

/*
 * Begin a session of a pool.
 *
 *   pool     the pool
 *   stream   a stream that captures, or the stream of a warm-up
 *   session  written; ended with philox_pool_session_end()
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_EXISTS       the capture has had its session in this pool
 *   PHILOX_ERROR_STATE        the pool is a runner's
 *   PHILOX_ERROR_BUSY         a session is open
 *   PHILOX_ERROR_BUSY         of a warm-up: another thread launches a graph of
 *                             the pool, or is between philox_graph_prologue()
 *                             and philox_graph_epilogue(), or the pool is
 *                             PHILOX_POOL_STRICT and its last launch, or the
 *                             first free before any, was on another stream
 *   PHILOX_ERROR_UNSUPPORTED  in the body of a conditional node
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_session_begin(
	struct philox_pool *pool, philox_stream stream,
	struct philox_pool_session **session);

/* struct philox_pool_session_stats says what a session took. */
struct philox_pool_session_stats {
	size_t size;   /* sizeof(this struct), set by the caller and kept */
	uint64_t peak; /* bytes that its blocks take in one piece of
			       memory: what philox_pool_reserve() needs so
			       that an empty pool grows for nothing */
	uint64_t live_peak; /* most bytes of its blocks live at a time */
	uint64_t live;      /* of the same, at its end */
	uint64_t mapped;    /* bytes the pool grew by in it */
	uint64_t allocations, frees, growths;
};

/*
 * End a session, before or after the end of its capture.
 *
 *   session  the session, not used again if this returns PHILOX_OK or
 *            PHILOX_ERROR_CAPTURE_INVALIDATED
 *   result   PHILOX_OK, or anything else if the capture or warm-up has failed
 *   stats    written, whatever the result is; its size must be set; may be NULL
 *
 * Returns PHILOX_OK, or an error.
 * Errors:
 *   PHILOX_ERROR_INVALID  the size in *stats is wrong; the session is still
 *                         open
 *   PHILOX_ERROR_CAPTURE_INVALIDATED
 *                         the session was rolled back, and `result` is
 *                         PHILOX_OK; the session has ended
 *   PHILOX_ERROR_STATE    the session has ended; found for the last 64 of the
 *                         pool
 *   those of the device; the session is still open
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_session_end(
	struct philox_pool_session *session, enum philox_status result,
	struct philox_pool_session_stats *stats);

/* --- checkpoints ---------------------------------------------------------- */

/*
 * Record which blocks are live, with their places, ids and tags.
 *
 *   pool        the pool
 *   checkpoint  written; destroyed with philox_pool_checkpoint_destroy(). It
 *               takes at most 64 bytes of host memory for each block
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  an argument is NULL
 *   PHILOX_ERROR_BUSY     a session is open
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_checkpoint_create(
	struct philox_pool *pool, struct philox_pool_checkpoint **checkpoint);

/*
 * Destroy a checkpoint. The pool's blocks do not change. Its host memory is
 * freed with the pool's next block or checkpoint, or at the end of both.
 *
 *   kept  the checkpoint, not used again; NULL does nothing. Its pool may be
 *         destroyed already
 *
 * Returns PHILOX_OK.
 * Errors:
 *   none
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_checkpoint_destroy(
	struct philox_pool_checkpoint *kept);

/*
 * Put blocks back in their places of a checkpoint.
 *
 *   pool        the pool
 *   checkpoint  one of this pool
 *   live        ids of blocks of the checkpoint that are live afterwards
 *   n_live      how many
 *   dead        ids of blocks that are live now and not in the checkpoint; all
 *               such blocks must be here. Blocks freed already may be, too
 *   n_dead      how many
 *
 * Afterwards exactly the blocks of `live` are live, in their places, with their
 * ids. All other blocks are free. Memory that was taken from the device since
 * stays with the pool. Contents do not change.
 *
 * Some blocks are freed here, and others by a capture that did not allocate
 * them. Work on either must have been ordered before the pool's last launch or
 * warm-up, or have finished.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_BUSY       a session is open, or memory was freed on another
 *                           stream than the pool's last launch: see
 *                           philox_pool_join_streams()
 *   PHILOX_ERROR_MISMATCH   the checkpoint is another pool's
 *   PHILOX_ERROR_STALE      memory was trimmed since, or that of a block in
 *                           `live` was unmapped (PHILOX_POOL_UNMAP)
 *   PHILOX_ERROR_NOT_FOUND  an id in `live` is not in the checkpoint, or one in
 *                           `dead` was never issued
 *   PHILOX_ERROR_STATE      blocks are live that are neither in the checkpoint
 *                           nor in `dead`, whose tags the message has; the
 *                           pool is a runner's
 *   PHILOX_ERROR_INVALID    an id is there twice, or an argument is NULL
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_restore(
	struct philox_pool *pool,
	const struct philox_pool_checkpoint *checkpoint, const uint64_t *live,
	size_t n_live, const uint64_t *dead, size_t n_dead);

/* --- memory from the device ----------------------------------------------- */

/*
 * Take memory from the device ahead of its use.
 *
 *   pool   the pool
 *   bytes  so many are free in one piece afterwards; at least 1
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  bytes is 0, or pool is NULL
 *   PHILOX_ERROR_STATE    the pool is a runner's
 *   PHILOX_ERROR_LIMIT    the pool would grow beyond its limit
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_reserve(struct philox_pool *pool,
						  uint64_t bytes);

/*
 * Give memory that no graph needs back to the device.
 *
 *   pool     the pool
 *   trimmed  written: how many bytes; may be NULL
 *
 * It gives back what is wholly free and was taken from the device after the
 * capture of the last graph that still exists. If there was any, older
 * checkpoints cannot be restored. The call waits for the device.
 *
 * Returns PHILOX_OK, or an error.
 * Errors:
 *   PHILOX_ERROR_BUSY   a session is open, or a capture that the context knows
 *   PHILOX_ERROR_STATE  the pool is a runner's
 *   those of the device
 * During capture: not legal on a thread that is capturing, as
 * philox_memory_free() is not.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_trim(struct philox_pool *pool,
					       uint64_t *trimmed);

/* --- statistics and checks ------------------------------------------------ */

/* struct philox_pool_stats says what a pool holds: bytes, and then counts. */
struct philox_pool_stats {
	size_t size;       /* sizeof(this struct), set by the caller and kept */
	uint64_t reserved; /* addresses */
	uint64_t mapped;   /* taken from the device */
	uint64_t live;     /* in live blocks, rounded up and guards included */
	uint64_t requested;    /* of that, as asked for */
	uint64_t pinned;       /* mapped when a living graph was captured */
	uint64_t largest_free; /* in one piece */
	uint64_t mapped_peak;
	uint64_t live_peak;
	uint64_t blocks; /* live, a number, as are the rest */
	uint64_t graphs; /* that live */
	uint64_t allocations;
	uint64_t frees;
	uint64_t growths;
	uint64_t trims;
	uint64_t checkpoints;
	uint64_t restores;
	uint64_t rollbacks; /* sessions that failed */
	uint64_t waits;     /* that the pool has put on streams */
};

/*
 * Write what a pool holds.
 *
 *   pool   the pool
 *   stats  written; its size must be set
 *
 * Returns PHILOX_OK, or an error; then *stats is as it was.
 * Errors:
 *   PHILOX_ERROR_INVALID  an argument is NULL, or the size is wrong
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_get_stats(
	struct philox_pool *pool, struct philox_pool_stats *stats);

/*
 * Write a pool as a text.
 *
 *   pool   the pool
 *   text   written: the text, with a NUL at its end; the caller frees it with
 *          free()
 *   bytes  written: its size without the NUL; may be NULL
 *
 * The text has segments and blocks by place, never an address, and a checksum.
 * `philox inspect` sums it up and draws it. Note [Snapshot] in
 * graph/pool/pool.h has its form.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID  an argument is NULL
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_snapshot_text(
	struct philox_pool *pool, char **text, size_t *bytes);

/*
 * Write the text of philox_pool_snapshot_text() to a file.
 *
 *   pool  the pool
 *   path  the file, which is replaced as philox_context_save() does it; a new
 *         one has the mode that the umask leaves
 *
 * Returns PHILOX_OK, or an error; then a file of this name is as it was.
 * Errors:
 *   PHILOX_ERROR_INVALID  an argument is NULL
 *   PHILOX_ERROR_FILE     the file cannot be written
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_snapshot(struct philox_pool *pool,
						   const char *path);

/*
 * Look for work that wrote outside its block, or to one that was freed.
 *
 *   pool    a pool made with PHILOX_POOL_GUARDS or PHILOX_POOL_FILL; any other
 *           is always fine
 *   stream  the call waits for it; work on other streams must have finished
 *
 * With PHILOX_POOL_GUARDS it reads the 512 bytes before and after each live
 * block. Those of a capture's block are valid after the first launch of its
 * graph. A block that a restore brings back has what was written there
 * meanwhile, and looks as if it was overrun.
 *
 * With PHILOX_POOL_FILL it reads free memory that was filled outside captures,
 * and compares it with the pattern. A launch may write to all memory that its
 * capture had or was given: there it looks again after that was freed again.
 * Graphs that are adopted, or shown by philox_graph_native(), may have been
 * launched by the caller at any time.
 *
 * Returns PHILOX_OK, or an error.
 * Errors:
 *   PHILOX_ERROR_STATE   something was written there; the message has the
 *                        block's tag and id, and how far outside of it, or in
 *                        it if it was freed, the first byte is
 *   PHILOX_ERROR_BUSY    a capture's session is open: its guards are not
 *                        written yet
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                        the stream is capturing
 *   PHILOX_ERROR_MEMORY
 *   those of the device
 * During capture: not legal on a thread that is capturing.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_pool_check(struct philox_pool *pool,
						philox_stream stream);

#ifdef __cplusplus
}
#endif
#endif
