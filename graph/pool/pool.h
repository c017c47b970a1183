/*
 * graph/pool/pool.h - a pool behind the context: streams, captures, launches
 */
#ifndef GRAPH_POOL_POOL_H
#define GRAPH_POOL_POOL_H

#include <stdio.h>
#include <philox/pool.h>
#include "alloc/pool/pool.h"
#include "graph/capture/capture.h"
#include "graph/capture/context.h"
#include "lib/base/base.h"
#include "lib/containers/map.h"
#include "lib/containers/ranges.h"
#include "lib/text/text.h"

/* --- pool: a pool behind the context: streams, captures, launches --------- */

/*
 * Note [Pools]
 * ~~~~~~~~~~~~
 * The blocks are those of alloc/pool/pool.h (Note [Pool]), whose owners stand
 * for streams here. SHARED's memory is free for whatever the pool itself puts
 * in order: sessions and launches. What a stream frees is its own, in a
 * session as outside; when a session ends, its streams' memory goes to SHARED.
 *
 * The pool's own order is a chain: each launch of a graph that was captured in
 * the pool, and each warm-up, comes after the one before. The stream of the
 * last one is the pool's last stream. After it an event is recorded there; the
 * next one waits for that if it is on another stream, and is on its way before
 * another may begin: so a launch takes the pool's turn in its prologue and
 * gives it back in its epilogue. Outside sessions the last stream may use
 * SHARED's memory, any other stream only after a wait. Events are recorded
 * where something has just been queued, so a stream that was destroyed since is
 * never asked.
 *
 * A capture waits for nothing, since nothing of it runs: its launches do. Its
 * native graph keeps the pool's extents through a lifeline; extents that a
 * living graph may have seen are pinned. If the lifeline goes while the session
 * is open, the capture has failed, and the next call rolls the session back.
 *
 * Marks. A device that has marks is told which memory is free: what no block
 * has, and what was freed. A runner's pool is marked by the runner's view, where
 * it differs: outputs are handed out and released without the pool. Results of a
 * graph are read after its launch although a restore has put their blocks away,
 * so those may be used while any graph of the pool lives.
 *
 * Patterns. A pool that fills its blocks knows which free memory still has the
 * pattern: what was filled eagerly when it was freed, and not handed out since.
 * Captures fill by nodes, so what a launch leaves is not known: each launch
 * takes all away that its capture was given, or might have known. Outputs of a
 * runner are filled when they are released, on the stream of that; or, if there
 * is no such stream, by the next call that queues work, before that.
 *
 * Locks. The order is graph, context, the list of pools, pool. A pool's lock
 * guards all of it but its name. It is held while the pool grows, so that does
 * not hold back other pools and passes, but for calls that look at all pools
 * (adopting, saving, memory given back); of several pools the newest is locked
 * last. The context's lock is taken around it only if the context has a
 * journal, to write events in their true order. Nothing is logged under either.
 * A launch waits for the turn without the context's lock.
 */

/* What a capture did to the memory of a pool, for the text of its program. */
struct pool_step {
	uint64_t order; /* among those of all pools */
	uint32_t after; /* steps of the capture's own before it */
	uint8_t kind;   /* PROGRAM_ALLOC or PROGRAM_FREE */
	size_t alignment;
	struct pool_block block;
	const struct philox_pool *pool;
};

struct pool_steps {
	struct pool_step *items;
	size_t n;
	uint64_t lost; /* for which there was no room */
};

/* A capture that had a session in a pool. */
struct pool_capture {
	struct pool_capture *next, **link; /* in the pool */
	struct pool_capture *next_over;    /* of those that may be over */
	struct philox_pool *pool;
	uint64_t id;
	uint64_t seen; /* the newest extent at the end of its session */
	int kept;      /* its session ended well */
	int released;  /* it failed, or nothing can be left of its graph: known
			  before the device says so */
	int over;      /* it is in the list of those */
	int shown;     /* the caller has native handles of its graph */
	int writes_all;       /* there was no memory for `writes` */
	struct ranges writes; /* of a pool that fills: what launches may write */
	struct lifeline *lifeline;
	struct pool_steps steps; /* none if the pool is a runner's */
	const char *graph; /* its name; NULL: none was made, or it is gone */
	struct pool_capture *sibling; /* of the graph, in the next pool */
};

/* A stream that is an owner: its index + 1 is the owner's number. */
struct pool_stream {
	philox_stream stream;
	pthread_t thread; /* of a handle that means a stream per thread */
	int in_session; /* as a stream of the open session: a capture's work is
			     not ordered after what was on its stream before */
	int nobody;     /* its session has ended: the stream may have another */
};

struct philox_pool_session {
	struct philox_pool_session *next; /* rolled back, and not yet ended */
	struct philox_pool *pool;
	struct pool_capture *capture; /* NULL: a warm-up */
	philox_stream stream;
	pthread_t thread; /* as in struct pool_stream */
	int undone;       /* rolled back by another call */
	int ended; /* kept for a while, so that a second end is found */
	struct pool_session_figures figures;
};

enum { POOL_ENDED = 64 }; /* ended sessions that are kept */

enum pool_turn {
	TURN_FREE,
	TURN_LAUNCH,  /* within philox_graph_launch(): soon over */
	TURN_PROLOGUE /* until the caller's epilogue */
};

struct philox_pool {
	struct philox_pool *next, **link; /* in the context's list */
	struct philox_context *context;
	char name[64];
	unsigned flags;
	uint64_t range, step, limit; /* as asked for */

	pthread_mutex_t lock;
	int context_locked; /* with it */
	struct pool *blocks;
	struct pool_stream *streams;
	size_t n_streams;
	struct map by_stream; /* those that are somebody: owners by handles */
	uint32_t *joining;    /* owners of the open session */
	size_t n_joining;
	struct philox_pool_session *session; /* the open one */
	struct philox_pool_session *undone;  /* not yet ended */
	struct philox_pool_session *stuck;   /* the open one, which verified a
						launch and could not be ended */
	struct philox_pool_session *ended[POOL_ENDED]; /* the latest */
	uint64_t n_ended;                              /* ever */
	struct pool_capture *captures;
	struct pool_capture *over; /* those that may be: see pool_reap() */
	struct lifelines *gone;    /* of captures */
	struct map by_id;          /* captures, by the device's ids */
	size_t n_kept;             /* of them */

	philox_event event; /* at the end of the last launch or warm-up */
	philox_stream last_stream; /* its stream */
	pthread_t last_thread;
	int used;    /* there was one, or memory was freed */
	int ordered; /* the event was recorded there */
	int touched; /* memory was freed there outside sessions since,
			       so that the stream must live */
	enum pool_turn turn;
	char launching
		[GRAPH_NAME_SIZE]; /* the name of the graph whose turn it is */
	pthread_cond_t turned;

	uint64_t checkpoints, waits;
	int marked; /* the device refuses work on what is free */
	struct ranges put_away; /* by restores, while a graph lives */
	int fills;              /* PHILOX_POOL_FILL, whatever `flags` is now */
	struct ranges filled;   /* free memory that has the pattern */
	struct ranges unfilled; /* free memory of a runner that is to get it */

	/* of the runner that has it, or NULL: to put the blocks right that are
	 * shown or checked, without the lock, and to wait for work that the
	 * pool does not know, with it */
	struct philox_runner *runner;
	void (*refresh)(struct philox_runner *runner);
	enum philox_status (*wait)(struct philox_runner *runner);

	void (*unmap)(struct philox_pool *pool); /* pool_unmap_now() or NULL */
};

/* pool_refresh() comes before the lock where blocks are shown or checked. */
static inline void pool_refresh(struct philox_pool *pool)
{
	if (pool->runner)
		pool->refresh(pool->runner);
}

/*
 * pool_unmap_free() comes when memory was freed outside captures, without locks:
 * see pool_unmap_now().
 */
static inline void pool_unmap_free(struct philox_pool *pool)
{
	if (pool->unmap)
		pool->unmap(pool);
}

/*
 * pool_lock() also takes the context's lock if that has a journal;
 * pool_lock_both() is for who holds that, and pool_unlock_pool() ends it.
 * pool_journal() writes an event if the context's lock is held: a journal that
 * begins in the middle of a call has that call's events from the next on.
 */
void pool_lock(struct philox_pool *pool);
void pool_unlock(struct philox_pool *pool);
void pool_lock_both(struct philox_pool *pool);
void pool_unlock_pool(struct philox_pool *pool);

#define pool_journal(pool, ...)                                      \
	do {                                                         \
		if ((pool)->context_locked)                          \
			journal_write((pool)->context, __VA_ARGS__); \
	} while (0)

/*
 * pool_report() ends a public call on a pool, without locks: see
 * context_report(). `bytes` is what it was about, or 0.
 */
enum philox_status pool_report(const struct philox_pool *pool,
			       enum philox_status status, uint64_t bytes);

/* pool_post() posts a message about a pool; it may be locked. */
void pool_post(struct philox_pool *pool, enum philox_log_level level,
	       const char *event, uint64_t bytes, uint64_t nanoseconds,
	       const char *format, ...) __attribute__((format(printf, 6, 7)));

/*
 * pool_refuse_owned() refuses a public call that would change the pool of a
 * runner: ERROR_STATE. The runner makes the same calls without this question:
 * pool_take_block(), pool_free_block(), pool_begin_session() and pool_remove()
 * are philox_pool_alloc(), philox_pool_free(), philox_pool_session_begin() and
 * philox_pool_destroy() for pools of all kinds, not NULL.
 */
enum philox_status pool_refuse_owned(const struct philox_pool *pool);
enum philox_status pool_take_block(struct philox_pool *pool,
				   philox_stream stream, size_t bytes,
				   size_t alignment, const char *tag,
				   struct philox_pool_block *block);
enum philox_status pool_free_block(struct philox_pool *pool,
				   philox_stream stream, void *address);
enum philox_status pool_begin_session(struct philox_pool *pool,
				      philox_stream stream,
				      struct philox_pool_session **session);
enum philox_status pool_remove(struct philox_pool *pool);

/* pool_device() returns the device that a pool is on. */
static inline struct philox_device *pool_device(const struct philox_pool *pool)
{
	return pool->context->device;
}

/* --- streams: the streams of a pool, and who waits for whom --------------- */

/*
 * With the pool's lock.
 */

/*
 * pool_means_ours() tells whether a handle that a thread used means the same
 * stream in this one: not that of the thread's default stream.
 */
int pool_means_ours(philox_stream stream, pthread_t thread);

/* pool_is_last_stream() tells whether a stream is the one of the last launch. */
int pool_is_last_stream(const struct philox_pool *pool, philox_stream stream);

/*
 * pool_may_share() tells whether a stream may use SHARED's memory now: all do
 * in a session, only the last stream does outside, and nobody else does while a
 * launch is on its way.
 */
int pool_may_share(const struct philox_pool *pool, philox_stream stream);

/*
 * pool_owner() finds or makes the owner that a stream is here and now: SHARED
 * itself for the last stream outside sessions. ERROR_MEMORY.
 */
enum philox_status pool_owner(struct philox_pool *pool, philox_stream stream,
			      uint32_t *owner);

/* pool_leave_streams() ends the owners of the open session, before it ends. */
void pool_leave_streams(struct philox_pool *pool);

/* pool_follow() has a stream wait for the last one, or refuses it: ERROR_BUSY. */
enum philox_status pool_follow(struct philox_pool *pool, philox_stream stream);

/*
 * pool_set_last_stream() notes, and marks by the event, that a stream is the
 * last. pool_note_free() notes that memory is freed on a stream: the first one
 * is the last stream if there is none.
 */
enum philox_status pool_set_last_stream(struct philox_pool *pool,
					philox_stream stream);
void pool_note_free(struct philox_pool *pool, philox_stream stream);

/* --- loans: a stream waits for others, whose free memory it needs --------- */

/*
 * pool_borrow() has a stream, whose capture is `info`, wait for others so that a
 * request fits in memory that they have freed: for one of them if that will do,
 * else for the last stream, else for as many as it takes. 0: it would not fit,
 * or some could not be waited for. With the pool's lock.
 */
int pool_borrow(struct philox_pool *pool, philox_stream stream,
		const struct capture_info *info, struct pool_request *request);

/* --- memory: memory taken from the device, and given back to it ----------- */

/*
 * pool_grow_for() grows a pool for a request, with its lock, and logs it.
 * pool_take_ahead() sees to so many bytes that are free in one piece, as
 * philox_pool_reserve() does, with its lock.
 * pool_unmap_now() unmaps what is wholly free in a pool that wants it
 * (PHILOX_POOL_UNMAP), if it can be done now; without locks.
 * pools_give_back() has all pools of a context but one give back what no graph
 * needs, without locks; pools_list() writes what each of them holds.
 */
enum philox_status pool_grow_for(struct philox_pool *pool,
				 const struct pool_request *request);
enum philox_status pool_take_ahead(struct philox_pool *pool, size_t bytes);
void pool_unmap_now(struct philox_pool *pool);
void pools_give_back(struct philox_context *context,
		     const struct philox_pool *except);
void pools_list(struct philox_context *context, char *text, size_t size);

/* --- session: sessions: what they let happen, and how they end ------------ */

/*
 * With the pool's lock.
 */

/* pool_settle() rolls a session back whose capture has failed. */
void pool_settle(struct philox_pool *pool);

/* pool_capture_of() finds the capture of an id that had a session, or NULL. */
struct pool_capture *pool_capture_of(const struct philox_pool *pool,
				     uint64_t id);

/*
 * pool_reap() forgets captures that are over: those that pool_note_over() has
 * noted. It notes a capture that was released, or whose lifeline went, unless
 * that has a graph. pool_forget_captures() ends all.
 */
void pool_reap(struct philox_pool *pool);
void pool_note_over(struct pool_capture *capture);
void pool_forget_captures(struct philox_pool *pool);

/* pool_pinned() returns the newest extent that a living graph may use. */
uint64_t pool_pinned(const struct philox_pool *pool);

/*
 * pool_admit() refuses a call on memory from a stream, with that capture, which
 * has no session here, or that the session keeps out: ERROR_STATE, ERROR_BUSY.
 */
enum philox_status pool_admit(const struct philox_pool *pool,
			      const struct capture_info *info);

/* pool_is_idle() refuses a call that no session may see: ERROR_BUSY. */
enum philox_status pool_is_idle(const struct philox_pool *pool);

/* --- checkpoint: checkpoints of a pool's blocks, within graph/ ------------ */

/*
 * With the pool's lock.
 */

/* What the ids of philox_pool_restore() are. */
struct pool_ids {
	const uint64_t *live, *dead;
	size_t n_live, n_dead;
};

/* pool_keep_blocks() and pool_put_back(): see philox_pool_checkpoint_create()
 * and philox_pool_restore(). */
enum philox_status pool_keep_blocks(struct philox_pool *pool,
				    struct pool_checkpoint **blocks);
enum philox_status pool_put_back(struct philox_pool *pool,
				 const struct pool_checkpoint *checkpoint,
				 const struct pool_ids *ids);

/* --- marks: memory of a pool that nobody may use -------------------------- */

/*
 * See Marks in Note [Pools]. With the pool's lock, but for the first three; all
 * do nothing if the device has no marks.
 *
 * pool_range_of() returns what a block takes, with its margins.
 * pool_mark_used() and pool_mark_free() mark a range. pool_mark_taken() and
 * pool_mark_freed() mark a block that was allocated, or freed; the latter was
 * shown while it was live. pool_mark_grown() marks what the pool has just grown
 * by, pool_mark_all() everything. pool_mark_put_away() comes before a restore,
 * pool_mark_restored() after it, well or not. pool_mark_no_graphs() comes after
 * captures were forgotten.
 */
struct range pool_range_of(const struct philox_pool *pool,
			   const struct pool_block *block);
void pool_mark_used(const struct philox_pool *pool, struct range range);
void pool_mark_free(const struct philox_pool *pool, struct range range,
		    const char *why);
void pool_mark_taken(const struct philox_pool *pool,
		     const struct pool_block *block);
void pool_mark_freed(const struct philox_pool *pool,
		     const struct pool_block *block);
void pool_mark_grown(struct philox_pool *pool);
void pool_mark_all(struct philox_pool *pool);
void pool_mark_put_away(struct philox_pool *pool);
void pool_mark_restored(struct philox_pool *pool);
void pool_mark_no_graphs(struct philox_pool *pool);

/* --- guard: guards around blocks, and patterns in them --------------------- */

/*
 * With the pool's lock.
 */

/* pool_paint() writes guards and pattern of a new block on its stream. */
enum philox_status pool_paint(struct philox_pool *pool, philox_stream stream,
			      const struct pool_block *block);

/* pool_wipe() writes the pattern over a block that is to be freed. */
enum philox_status pool_wipe(struct philox_pool *pool, philox_stream stream,
			     const struct pool_block *block);

/* --- filled: free memory that has the pattern, and who wrote there -------- */

/*
 * See Patterns in Note [Pools]. With the pool's lock, but for pools of other
 * flags they do nothing.
 *
 * pool_fill_block() fills a block, and pool_filled() notes that it was filled
 * eagerly and is free. pool_filled_taken() notes that one was allocated, and
 * pool_filled_revived() that any may have become live. pool_filled_capture()
 * begins the list of what a capture may write, and pool_filled_launch() comes
 * before and after its launches. pool_filled_trimmed() follows what went back
 * to the device. pool_check_filled() reads what should have the pattern, and
 * waits for the stream.
 */
enum philox_status pool_fill_block(const struct philox_pool *pool,
				   philox_stream stream,
				   const struct pool_block *block);
void pool_filled(struct philox_pool *pool, const struct pool_block *block);
void pool_filled_taken(struct philox_pool *pool,
		       const struct pool_block *block);
void pool_filled_revived(struct philox_pool *pool);
void pool_filled_capture(struct pool_capture *capture);
void pool_filled_launch(struct pool_capture *capture);
void pool_filled_trimmed(struct philox_pool *pool);
enum philox_status pool_check_filled(struct philox_pool *pool,
				     philox_stream stream);

/*
 * Without the lock, for the runner of a pool: pool_fill_begin() has a stream
 * follow the pool's last one, to fill outputs there, and pool_fill_range() fills
 * what a block takes; both return whether that went well.
 * pool_filled_range() notes that this is free, and filled or not, and
 * pool_fill_rest() fills what was not.
 */
int pool_fill_begin(struct philox_pool *pool, philox_stream stream);
int pool_fill_range(struct philox_pool *pool, philox_stream stream,
		    struct range range);
void pool_filled_range(struct philox_pool *pool, struct range range,
		       int filled);
enum philox_status pool_fill_rest(struct philox_pool *pool,
				  philox_stream stream);

/* --- steps: what captures do to a pool, for texts ------------------------- */

/*
 * Without locks. pool_step_note() notes what was done to a block on a stream of
 * a capture, if that has the pool's session. At most PROGRAM_MOST steps are
 * kept. A runner notes those of its pool itself.
 *
 * pool_steps_copy() appends those of a graph's pools in their order: 0: no
 * memory. The pools stay while the graph does.
 */
void pool_step_note(struct philox_pool *pool, const struct capture_info *info,
		    enum program_kind kind, const struct pool_block *block,
		    size_t alignment);
int pool_steps_copy(const struct pool_capture *pools, struct pool_steps *to);

/* --- turns: the pools of a graph: adopted, launched, let go --------------- */

/*
 * Of the pools of a graph's capture, the oldest first:
 * pools_know() tells whether a capture of that id had a session and no graph
 * was made of it, ERROR_NOT_FOUND without a message or ERROR_EXISTS;
 * pools_attach() makes them a graph's, pools_detach() ends that, and says
 * whether nothing can be left of the native graph. With the context's lock.
 * pools_show() says that the caller has native handles of it; without locks.
 */
enum philox_status pools_know(struct graph_context *graphs, uint64_t id);
void pools_attach(struct graph_context *graphs, uint64_t id, const char *graph,
		  struct pool_capture **pools);
void pools_detach(struct pool_capture **pools, int gone);
void pools_show(struct pool_capture *pools);

/*
 * pools_drop() rolls the sessions of a capture back that gave no graph. With
 * the context's lock.
 */
void pools_drop(struct graph_context *graphs, uint64_t id);

/*
 * pools_enter() takes the turn of a graph's pools for a launch on a stream,
 * after whatever ran in them before; pools_leave() gives it back. `turn` is one
 * of a launch. Without the context's lock.
 */
enum philox_status pools_enter(struct pool_capture *pools, philox_stream stream,
			       enum pool_turn turn);
void pools_leave(struct pool_capture *pools, philox_stream stream,
		 enum philox_status launched);

/* pools_quiet() refuses with ERROR_BUSY while a capture's session is open. */
enum philox_status pools_quiet(struct graph_context *graphs);

/*
 * pools_finish() (graph/pool/create.c) frees all pools of a context that
 * ends.
 */
void pools_finish(struct graph_context *graphs);

/* --- create: what a pool holds, counted ----------------------------------- */

/* pool_count() writes a pool's statistics, with its lock. */
void pool_count(struct philox_pool *pool, struct philox_pool_stats *statistics);

/* --- snapshot.c: the snapshot of a pool, and writing it as a text --------- */

/*
 * Note [Snapshot]
 * ~~~~~~~~~~~~~~~
 *   philox pool 1
 *   pool "activations" expandable flags 1 unit 512 step 0 limit 0 range 0
 *   session none graphs 1
 *   mapped 4194304 peak 4194304 pinned 2097152
 *   live 3072 peak 4096 requested 2500 blocks 2
 *   free 4191232 largest 4190208
 *   counts allocations 3 frees 1 growths 2 trims 0 checkpoints 1 restores 0
 *       rollbacks 0 waits 0
 *   segment 0 extents 2 bytes 4194304
 *   extent 1 offset 0 bytes 2097152 pinned
 *   extent 2 offset 2097152 bytes 2097152 loose
 *   block offset 0 bytes 1024 live 1 size 1000 tag "hidden"
 *   block offset 1024 bytes 1024 free owner stream 1
 *   block offset 2048 bytes 2048 live 2 size 1500 tag ""
 *   block offset 4096 bytes 4190208 free owner home
 *   checksum 0123456789abcdef bytes 643
 *
 * Lines are as in Note [Saved context]: words with one space between, numbers
 * without leading zeros, names in quotation marks, one spelling for the same
 * contents. There are places and no addresses, and blocks have numbers of the
 * text's own: so the same calls give the same text on each device, whatever
 * else the process does, but for how large the extents of an expandable pool
 * are, if granularities differ. How many addresses are reserved, which may
 * depend on the device's memory, is not in it. All lines, each of the first
 * seven once (the longest is broken here):
 *
 *  philox pool V      The version, 1. A reader refuses a newer one, after which
 *                     anything may follow.
 *  pool NAME plain|expandable flags F unit 512 step S limit L [range R]
 *                     The options of philox_pool_create(), as they were given;
 *                     the range of an expandable pool only. Blocks are multiples
 *                     of the unit.
 *  session none|warm-up|capture graphs G
 *                     Which session is open, and how many graphs live.
 *  mapped M peak P pinned N
 *                     Bytes of the extents, the most there ever were, and those
 *                     that living graphs have seen.
 *  live L peak P requested R blocks B
 *                     Bytes that live blocks take, as asked for, how many there
 *                     are.
 *  free F largest L   Bytes of free blocks, and of the largest of them that has
 *                     the owner home.
 *  counts allocations A frees F growths G trims T checkpoints C restores R
 *      rollbacks B waits W
 *                     As in struct philox_pool_stats.
 *  segment N extents E bytes B
 *                     In ascending order; with E extents of B bytes. A segment
 *                     of a plain pool is one extent, which begins at 0; an
 *                     expandable pool has segment 0 and no other.
 *  extent N offset O bytes B pinned|loose
 *                     The extents of the segment above, in order of place,
 *                     numbered in order of mapping. Pinned are those up to some
 *                     number.
 *  block offset O bytes B live N size S tag T
 *  block offset O bytes B free owner home|stream K
 *                     The blocks of the segment above, in order of place: they
 *                     cover its extents without gaps, and may reach from one
 *                     extent into the next. The bytes are all that it takes:
 *                     with zones, which flags tell, the address that was given
 *                     out is one unit after the offset. Live blocks are numbered
 *                     from 1 in order of allocation, streams in order of
 *                     appearance. Free neighbours have different owners.
 *  checksum H bytes B As in a saved context. Nothing follows.
 *
 * But for the options, no number is above 2^63 - 1, nor is any sum of sizes.
 */

#define SNAPSHOT_VERSION 1
#define SNAPSHOT_MOST    (UINT64_MAX / 2)

enum snapshot_session { SNAPSHOT_NONE, SNAPSHOT_WARM_UP, SNAPSHOT_CAPTURE };

struct snapshot_extent {
	uint64_t number, segment, offset, bytes;
	int pinned;
	size_t line; /* of the text it was read from */
};

struct snapshot_block {
	uint64_t segment, offset, bytes;
	uint64_t number; /* 0: free */
	uint64_t size;
	uint64_t owner; /* of a free one: a stream, or 0, home */
	char tag[POOL_TAG_SIZE];
	size_t line;
};

/* What a text says, in its order. */
struct snapshot {
	char name[64];
	uint32_t flags;
	uint64_t step, limit, range;
	enum snapshot_session session;
	struct philox_pool_stats figures; /* but for `reserved` */
	struct snapshot_extent *extents;
	struct snapshot_block *blocks;
	size_t n_extents, n_blocks;
};

/* The fields of its lines. */
extern const struct field figures_mapped[], figures_live[], figures_counts[],
	snapshot_name_fields[], snapshot_live_fields[];

/* snapshot_finish() frees what a snapshot holds. */
void snapshot_finish(struct snapshot *snapshot);

/* snapshot_write() writes a snapshot as a text: ERROR_MEMORY. */
enum philox_status snapshot_write(const struct snapshot *snapshot,
				  struct text *text);

/* snapshot_write_lines() writes the lines above the checksum. */
void snapshot_write_lines(FILE *out, const struct snapshot *snapshot);

/* snapshot_margin() is how many bytes of a live block are before its address. */
static inline uint64_t snapshot_margin(const struct snapshot *snapshot)
{
	return snapshot->flags & PHILOX_POOL_GUARDS ? POOL_UNIT : 0;
}

/* --- snapshot: taking the snapshot of a pool ------------------------------ */

/*
 * snapshot_take() takes what the text of a pool says: ERROR_MEMORY. To be
 * finished with snapshot_finish().
 */
enum philox_status snapshot_take(struct philox_pool *pool,
				 struct snapshot *snapshot);

#endif
