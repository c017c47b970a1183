/*
 * graph/pool/pool.h - a pool behind the context: streams, captures, launches
 *
 * Note [Pools]
 * ~~~~~~~~~~~~
 * The blocks are those of alloc/pool/pool.h (Note [Pool]), whose owners stand for
 * streams here. HOME's memory is free for whatever the pool itself puts in
 * order: sessions and launches. What a stream frees is its own, in a session as
 * outside; when a session ends, its streams' memory goes to HOME.
 *
 * The pool's own order is a chain: each launch of a graph that was captured in
 * the pool, and each warm-up, comes after the one before. The stream of the
 * last one is home. After it an event is recorded there; the next one waits for
 * that if it is on another stream, and is on its way before another may begin:
 * so a launch takes the pool's turn in its prologue and gives it back in its
 * epilogue. Outside sessions home may use HOME's memory, any other stream only
 * after a wait. Events are recorded where something has just been queued, so a
 * stream that was destroyed since is never asked.
 *
 * A capture waits for nothing, since nothing of it runs: its launches do. Its
 * native graph keeps the pool's extents through a lifeline; extents that a
 * living graph may have seen are pinned. If the lifeline goes while the session
 * is open, the capture has failed, and the next call rolls the session back.
 *
 * Locks. The order is graph, context, the list of pools, pool. A pool's lock
 * guards all of it but its name. It is held while the pool grows, so that does
 * not hold back other pools and passes, but for calls that look at all pools
 * (adopting, saving, memory given back); of several pools the newest is locked
 * last. The context's lock is taken around it only if the context has a
 * journal, to write events in their true order. Nothing is logged under either. A launch waits for the turn without
 * the context's lock.
 */
#ifndef GRAPH_POOL_POOL_H
#define GRAPH_POOL_POOL_H

#include <philox/pool.h>
#include "alloc/pool/pool.h"
#include "graph/capture/context.h"
#include "graph/capture/capture.h"
#include "graph/capture/lifeline.h"

/* A capture that had a session in a pool. */
struct pool_capture {
	struct pool_capture *next; /* in the pool, newest first */
	struct philox_pool *pool;
	uint64_t id;
	uint64_t seen; /* the newest extent at the end of its session */
	int kept;      /* its session ended well */
	int over;      /* it failed, or nothing can be left of its graph: known
			  before the device says so */
	struct lifeline *lifeline;
	const char *graph; /* its name; NULL: none was made, or it is gone */
	struct pool_capture *sibling; /* of the graph, in the next pool */
};

/* A stream that is an owner: its index + 1 is the owner's number. */
struct pool_stream {
	philox_stream stream;
	pthread_t thread; /* of a handle that means a stream per thread */
	int in_session; /* as a stream of the open session: a capture's work is
			     not ordered after what was on its stream before */
};

struct philox_pool_session {
	struct philox_pool_session *next; /* rolled back, and not yet ended */
	struct philox_pool *pool;
	struct pool_capture *capture; /* NULL: a warm-up */
	philox_stream stream;
	pthread_t thread; /* as in struct pool_stream */
	int undone;       /* rolled back by another call */
	struct pool_session_figures figures;
};

enum pool_turn {
	TURN_FREE,
	TURN_LAUNCH,  /* within philox_graph_launch(): soon over */
	TURN_PROLOGUE /* until the caller's epilogue */
};

struct philox_pool {
	struct philox_pool *next; /* in the context's list, newest first */
	struct philox_context *context;
	char name[64];
	unsigned flags;
	uint64_t range, step, limit; /* as asked for */

	pthread_mutex_t lock;
	int context_locked; /* with it */
	struct pool *blocks;
	struct pool_stream *streams;
	size_t n_streams, room;
	struct philox_pool_session *session; /* the open one */
	struct philox_pool_session *undone;  /* not yet ended */
	struct philox_pool_session *stuck;   /* the open one, which verified a
						launch and could not be ended */
	struct pool_capture *captures;

	philox_event event; /* at the end of the last launch or warm-up */
	philox_stream home; /* its stream */
	pthread_t home_thread;
	int used;    /* there was one, or memory was freed */
	int ordered; /* the event was recorded there */
	int touched; /* memory was freed there outside sessions since,
			       so that the stream must live */
	enum pool_turn turn;
	char launching
		[GRAPH_NAME_SIZE]; /* the name of the graph whose turn it is */
	pthread_cond_t turned;

	uint64_t checkpoints, waits;

	/* of the runner that has it, or NULL: to put the blocks right that are
	 * shown or checked, without the lock, and to wait for work that the pool
	 * does not know, with it */
	struct philox_runner *runner;
	void (*refresh)(struct philox_runner *runner);
	enum philox_status (*wait)(struct philox_runner *runner);
};

/* pool_refresh() comes before the lock where blocks are shown or checked. */
static inline void pool_refresh(struct philox_pool *pool)
{
	if (pool->runner)
		pool->refresh(pool->runner);
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

/* pool_device() returns the device that a pool is on. */
static inline struct philox_device *pool_device(const struct philox_pool *pool)
{
	return pool->context->device;
}

#endif
