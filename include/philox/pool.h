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
 * that were taken and freed during the capture, and in those that were live.
 * Whatever has been put there since is overwritten; so a graph's results are
 * good until another graph of the pool, or a warm-up, that was given the same
 * memory runs. Memory that was live when a capture began is not given to it:
 * inputs and weights that several graphs read are allocated before the first.
 *
 * Order. A captured graph of a pool, and a warm-up session in it, must not run
 * at the same time as another one. philox sees to that for launches that go
 * through it: it records an event when a launch has been queued, one device
 * call more for each launch, and has the next one wait for it if that is on
 * another stream. Elsewhere the library adds no order between streams; here
 * memory is shared, so it does. With PHILOX_POOL_STRICT it never does: a launch
 * on another stream than the pool's last one, which must live, is refused,
 * PHILOX_ERROR_BUSY, until philox_pool_join_streams() has moved the pool.
 * Native launches, and readers of a graph's outputs on other streams, are the
 * caller's to order. Between philox_graph_prologue() and
 * philox_graph_epilogue() the launch is on the prologue's stream, or that
 * stream waits for it before the epilogue; other streams are not given the
 * launch's memory meanwhile. Graphs of one pool may be launched in any order if
 * they do not read each other's results.
 *
 * Streams. Free memory can be reused at once on the stream it was freed on. A
 * session's streams are those that allocate and free in it: when it ends all of
 * them are joined, as a capture's are, and what they freed is for all to use.
 * Outside sessions, memory that was freed on one stream is used on another only
 * after philox_pool_join_streams() or, before the pool takes more from the
 * device in vain, after the pool has made the one wait for the other (the log
 * says so). So a stream that memory was freed on must live as long as the pool,
 * or until philox_pool_join_streams() has given what it freed to another.
 * Memory that the device gave for a request on one stream is that stream's in
 * the same way. No call here asks whether work has finished: which memory a
 * block gets never depends on time, and the same calls give the same places on
 * every device.
 *
 * Identity. Each block has an id that is never used again. Whether two buffers
 * are one is a question for their ids: an address that was freed and handed out
 * again is another buffer.
 *
 * A pool holds memory in segments: of their own from the device (plain), or in
 * one range of reserved addresses that is mapped as needed (expandable), where
 * neighbours grow together. Sizes are rounded up to 512 bytes. Nothing that a
 * living graph has seen is given back to the device. Of a graph whose handles
 * the caller has, adopted or by philox_graph_native(), CUDA says that it is
 * gone a little after it was destroyed, from another thread: until then its
 * memory is not trimmed, and philox_pool_destroy() gives PHILOX_ERROR_BUSY.
 *
 * philox_context_save() does not save pools.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise. Messages name the pool
 * and the tag of the block.
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
				       for philox_pool_check_guards() */
	PHILOX_POOL_FILL = 8        /* blocks are filled with 0xff, a NaN in
				       all floats, when allocated and when
				       freed */
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
 * philox_pool_create() makes an empty pool. Errors: PHILOX_ERROR_INVALID (names
 * the field), PHILOX_ERROR_EXISTS (a pool of the context has the name),
 * PHILOX_ERROR_UNSUPPORTED (expandable, on a device without address spaces),
 * PHILOX_ERROR_MEMORY, those of the device. Legal during capture.
 *
 * philox_pool_destroy() gives all memory back; NULL is allowed. Blocks that are
 * still live are reported through the log, with their tags. Work that uses the
 * memory must have finished. Errors: PHILOX_ERROR_BUSY while a session is open
 * or a graph that was captured in one lives, which it names. Not legal during
 * capture. A pool is also destroyed with its context, whatever lives.
 *
 * philox_pool_name() returns the name, which belongs to the pool ("" for NULL).
 */
PHILOX_API enum philox_status philox_pool_create(
	struct philox_context *context, const struct philox_pool_desc *options,
	struct philox_pool **pool);
PHILOX_API enum philox_status philox_pool_destroy(struct philox_pool *pool);
PHILOX_API const char *philox_pool_name(const struct philox_pool *pool);

/* --- blocks --------------------------------------------------------------- */

/* struct philox_pool_block is a block's handle: plain data. */
struct philox_pool_block {
	uint64_t id; /* never used again */
	void *address;
	size_t size; /* as asked for */
};

/*
 * philox_pool_alloc() allocates `size` > 0 bytes that may be used on `stream`
 * from this point on, with undefined content. `alignment` is a power of two, at
 * most 64 KiB (0: 512). `tag` says what it is for in messages and pictures
 * (copied, at most 31 bytes; NULL: ""). On a capturing stream the memory
 * belongs to the session of that capture, and is taken from the device, if it
 * must be, in relaxed mode; no capture is broken. Queries the stream's capture,
 * and calls the device for nothing else unless the pool grows.
 *
 * Errors: PHILOX_ERROR_INVALID, PHILOX_ERROR_OVERFLOW (a size near 2^64),
 * PHILOX_ERROR_STATE (the stream is capturing, and its capture has no session
 * in this pool), PHILOX_ERROR_BUSY (the stream is not, but the pool's session
 * is a capture's), PHILOX_ERROR_CAPTURE_INVALIDATED, PHILOX_ERROR_LIMIT (the
 * pool's limit is met), PHILOX_ERROR_MEMORY. Outside of captures, before that
 * last error, the context's other pools give back what no graph needs and the
 * device is asked once more; the message says what each pool holds. Legal
 * during capture.
 */
PHILOX_API enum philox_status philox_pool_alloc(
	struct philox_pool *pool, philox_stream stream, size_t size,
	size_t alignment, const char *tag, struct philox_pool_block *block);

/*
 * philox_pool_free() frees the block that begins at `address` (NULL is allowed)
 * for reuse after this point of `stream`: all work on it that is on other
 * streams must be ordered before. Errors: PHILOX_ERROR_INVALID for an address
 * that is inside a block, freed already, or not the pool's: the message says
 * which, with the tag; PHILOX_ERROR_STATE, PHILOX_ERROR_BUSY and
 * PHILOX_ERROR_CAPTURE_INVALIDATED as above. Legal during capture.
 */
PHILOX_API enum philox_status philox_pool_free(struct philox_pool *pool,
					       philox_stream stream,
					       void *address);

/*
 * philox_pool_find() describes the live block that an address, which may be
 * inside it, belongs to. Errors: PHILOX_ERROR_NOT_FOUND, PHILOX_ERROR_INVALID.
 * Legal during capture.
 */
struct philox_pool_block_info {
	size_t size; /* sizeof(this struct), set by the caller and kept */
	uint64_t id;
	void *base;
	size_t bytes;     /* as asked for */
	uint64_t segment; /* its place: the same on every device */
	uint64_t offset;
	char tag[32];
};

PHILOX_API enum philox_status philox_pool_find(
	struct philox_pool *pool, const void *address,
	struct philox_pool_block_info *info);

/*
 * philox_pool_is_live() writes 1 if the live blocks are exactly those with the
 * n ids at `ids`, each once, in any order, else 0. Errors:
 * PHILOX_ERROR_INVALID. Legal during capture.
 */
PHILOX_API enum philox_status philox_pool_is_live(struct philox_pool *pool,
						  const uint64_t *ids, size_t n,
						  int *live);

/*
 * philox_pool_join_streams() says that the caller has ordered two streams: what
 * was freed on `before` until now may be reused on `after`, and no longer on
 * `before`. If the pool's last launch or warm-up was on `before`, the next one
 * may be on `after`. Errors: PHILOX_ERROR_INVALID; PHILOX_ERROR_STATE and
 * PHILOX_ERROR_BUSY as philox_pool_alloc() for either stream;
 * PHILOX_ERROR_CAPTURE_ISOLATION if one of them captures and the other does
 * not. Legal during capture.
 */
PHILOX_API enum philox_status philox_pool_join_streams(struct philox_pool *pool,
						       philox_stream before,
						       philox_stream after);

/* --- sessions ------------------------------------------------------------- */

/*
 * philox_pool_session_begin() begins a session. On a stream that captures it is
 * that capture's, forks included, whoever began the capture; the graph it
 * becomes, and all executable graphs made from it, keep the pool's memory
 * mapped. On another stream it is a warm-up's, which runs as a launch would: it
 * waits for the pool's last launch, and takes what is allocated and freed on
 * any stream that does not capture. The caller forks those from the session's
 * stream after its beginning, and joins them to it before its end. A pool has
 * one session at a time, and a capture one in each pool.
 *
 * philox_pool_session_end() ends it, before or after the end of the capture:
 * `went` is PHILOX_OK, or anything else if the capture or the warm-up has
 * failed. Then every block is as it was when the session began: those it
 * allocated are gone, those it freed are live; a graph of that capture is not
 * launched (PHILOX_ERROR_STATE). *report, which may be NULL, is written in
 * either case.
 *
 * If a capture is invalidated, or its graph is destroyed, before its session
 * has ended, the next call that uses the pool rolls the session back in the
 * same way, with a warning through the log; philox_pool_session_end() must
 * still be called and gives PHILOX_ERROR_CAPTURE_INVALIDATED unless `went` says
 * that it failed.
 *
 * Errors of begin: PHILOX_ERROR_EXISTS (the capture had its session),
 * PHILOX_ERROR_BUSY (a session is open; a warm-up, while another thread is in
 * philox_graph_launch(), or between prologue and epilogue; PHILOX_POOL_STRICT,
 * and the pool's last launch was on another stream),
 * PHILOX_ERROR_UNSUPPORTED (in a body, philox/graph.h),
 * PHILOX_ERROR_CAPTURE_INVALIDATED, PHILOX_ERROR_MEMORY, those of the device.
 * Errors of end: PHILOX_ERROR_INVALID (the report's size; the session is still
 * open then), those of the device (the session is still open, too). A session
 * that has ended must not be used again. Legal during capture.
 */
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

PHILOX_API enum philox_status philox_pool_session_begin(
	struct philox_pool *pool, philox_stream stream,
	struct philox_pool_session **session);
PHILOX_API enum philox_status philox_pool_session_end(
	struct philox_pool_session *session, enum philox_status went,
	struct philox_pool_session_stats *report);

/* --- checkpoints ---------------------------------------------------------- */

/*
 * philox_pool_checkpoint_create() records which blocks are live, with their
 * places, ids and tags; at most 64 bytes of host memory each. The caller
 * destroys the checkpoint with philox_pool_checkpoint_destroy() (NULL is
 * allowed; legal after the pool's end, too). Errors: PHILOX_ERROR_BUSY (a
 * session is open), PHILOX_ERROR_MEMORY. Legal during capture.
 */
PHILOX_API enum philox_status philox_pool_checkpoint_create(
	struct philox_pool *pool, struct philox_pool_checkpoint **checkpoint);
PHILOX_API enum philox_status philox_pool_checkpoint_destroy(
	struct philox_pool_checkpoint *kept);

/*
 * philox_pool_restore() puts blocks back as they were. Afterwards exactly the
 * n_live blocks with the ids at `live` are live, all of them of the checkpoint,
 * in their places; other blocks of the checkpoint are freed. Work on blocks
 * that are freed here, or by a capture that did not allocate them, must have
 * been ordered before the pool's last launch or warm-up, or have finished.
 * Blocks that are live now and not in the checkpoint must be declared
 * dead: their ids are at `dead` (ids of blocks that are freed already may be,
 * too). Memory that was taken from the device since stays, free. Contents do
 * not change.
 *
 * Errors, with nothing changed: PHILOX_ERROR_BUSY (a session is open; memory
 * was freed on another stream than the pool's last launch: see
 * philox_pool_join_streams()), PHILOX_ERROR_MISMATCH (another pool's
 * checkpoint), PHILOX_ERROR_STALE (memory was trimmed since),
 * PHILOX_ERROR_NOT_FOUND (an id that is not in the checkpoint, or was never
 * issued), PHILOX_ERROR_STATE (live blocks that are neither in the checkpoint
 * nor declared dead, with their tags), PHILOX_ERROR_INVALID (an id twice),
 * PHILOX_ERROR_MEMORY. Legal during capture.
 */
PHILOX_API enum philox_status philox_pool_restore(
	struct philox_pool *pool,
	const struct philox_pool_checkpoint *checkpoint, const uint64_t *live,
	size_t n_live, const uint64_t *dead, size_t n_dead);

/* --- memory from the device ----------------------------------------------- */

/*
 * philox_pool_reserve() takes memory from the device ahead, so that at least
 * `bytes` are free in one piece. Errors: PHILOX_ERROR_INVALID (0),
 * PHILOX_ERROR_LIMIT, PHILOX_ERROR_MEMORY, those of the device. Legal during
 * capture.
 *
 * philox_pool_trim() gives back to the device what is wholly free and was taken
 * from it after all graphs that live were captured; *trimmed, if not NULL, is
 * how many bytes that were. Checkpoints of before cannot be restored if there
 * were any. Waits for the device. Errors: PHILOX_ERROR_BUSY (a session is open,
 * or a capture that the context knows), those of the device. Not legal during
 * capture, as philox_memory_free() is not.
 */
PHILOX_API enum philox_status philox_pool_reserve(struct philox_pool *pool,
						  uint64_t bytes);
PHILOX_API enum philox_status philox_pool_trim(struct philox_pool *pool,
					       uint64_t *trimmed);

/* --- to be seen ----------------------------------------------------------- */

/*
 * philox_pool_get_stats() writes what a pool holds, in bytes unless it says
 * otherwise. Errors: PHILOX_ERROR_INVALID. Legal during capture.
 */
struct philox_pool_stats {
	size_t size;       /* sizeof(this struct), set by the caller and kept */
	uint64_t reserved; /* addresses */
	uint64_t mapped;   /* taken from the device */
	uint64_t live;     /* in live blocks, rounded up and zones included */
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

PHILOX_API enum philox_status philox_pool_get_stats(
	struct philox_pool *pool, struct philox_pool_stats *statistics);

/*
 * philox_pool_snapshot_text() writes a pool as a text that ends with a NUL, and
 * its size without that (`size` may be NULL); the caller frees it with free().
 * philox_pool_snapshot() writes it to a file, completely or not at all. It has
 * segments and blocks by place, never an address, and a checksum; `philox
 * inspect` sums one up and draws it. Its form is in Note [Snapshot] in
 * graph/pool/pool.h. Errors: PHILOX_ERROR_FILE, PHILOX_ERROR_MEMORY,
 * PHILOX_ERROR_INVALID. Legal during capture.
 */
PHILOX_API enum philox_status philox_pool_snapshot_text(
	struct philox_pool *pool, char **text, size_t *size);
PHILOX_API enum philox_status philox_pool_snapshot(struct philox_pool *pool,
						   const char *path);

/*
 * philox_pool_check_guards() looks for work that wrote outside its block: waits
 * for the stream and looks at the zones before and after each live block
 * (PHILOX_POOL_GUARDS; a pool without them is always fine). A block of a
 * capture has its zones after the first launch of its graph; one that a restore
 * brings back has what was written there meanwhile, and looks as if it was
 * overrun. Work on other streams must have finished. Errors:
 * PHILOX_ERROR_STATE, which names tag, id, and how far outside the first byte
 * is that was written; PHILOX_ERROR_CAPTURE_UNSUPPORTED (the stream is
 * capturing), PHILOX_ERROR_BUSY (a capture's session is open: its zones are not
 * written yet), PHILOX_ERROR_MEMORY, those of the device. Not legal during
 * capture.
 */
PHILOX_API enum philox_status philox_pool_check_guards(struct philox_pool *pool,
						       philox_stream stream);

#ifdef __cplusplus
}
#endif
#endif
