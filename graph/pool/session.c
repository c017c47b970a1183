/*
 * graph/pool/session.c - sessions: warm-ups and captures
 *
 * See Note [Pools] in graph/pool/pool.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "graph/pool/pool.h"
#include "lib/base/base.h"
#include "lib/containers/list.h"
#include "lib/device/device.h"
#include "lib/state/state.h"

/* The size of the struct's first version. */
#define REPORT_SIZE_FIRST \
	OPTIONS_FIRST(struct philox_pool_session_stats, growths)
OPTIONS_NO_PADDING(struct philox_pool_session_stats, growths);

/* --- what a session lets happen, with the pool's lock ---------------------- */

static enum philox_status refuse_open(const struct philox_pool *pool)
{
	const struct philox_pool_session *session = pool->session;

	if (session->capture)
		return status_set(PHILOX_ERROR_BUSY,
				  "pool '%s': its session is that of capture "
				  "%" PRIu64,
				  pool->name, session->capture->id);
	return status_set(PHILOX_ERROR_BUSY,
			  "pool '%s': the session of a warm-up is open",
			  pool->name);
}

enum philox_status pool_is_idle(const struct philox_pool *pool)
{
	return pool->session ? refuse_open(pool) : PHILOX_OK;
}

static uint64_t session_id(const struct philox_pool *pool)
{
	return pool->session && pool->session->capture
		       ? pool->session->capture->id
		       : 0;
}

enum philox_status pool_admit(const struct philox_pool *pool,
			      const struct capture_info *info)
{
	const uint64_t id = session_id(pool);

	if (id == info->id)
		return PHILOX_OK;
	if (!info->id)
		return refuse_open(pool);
	return status_set(PHILOX_ERROR_STATE,
			  "pool '%s': the stream is in capture %" PRIu64
			  ", which has no session in it: see "
			  "philox_pool_session_begin()",
			  pool->name, info->id);
}

/* --- captures, with the pool's lock ---------------------------------------- */

static int is_gone(const struct pool_capture *capture)
{
	return capture->released || lifeline_is_gone(capture->lifeline);
}

static void enlist_capture(struct philox_pool *pool,
			   struct pool_capture *capture)
{
	LIST_ADD(&pool->captures, capture);
	map_put(&pool->by_id, capture->id, capture);
}

static void forget_capture(struct pool_capture *capture)
{
	struct philox_pool *pool = capture->pool;

	LIST_REMOVE(capture);
	map_remove(&pool->by_id, capture->id, capture);
	pool->n_kept -= (size_t)capture->kept;
	ranges_finish(&capture->writes);
	free(capture->steps.items);
	lifeline_put(capture->lifeline);
	free(capture);
}

void pool_forget_captures(struct philox_pool *pool)
{
	while (pool->captures)
		forget_capture(pool->captures);
	pool->over = NULL;
}

/* What has a graph is told again when that goes. */
void pool_note_over(struct pool_capture *capture)
{
	struct philox_pool *pool = capture->pool;

	if (capture->over || capture->graph || !is_gone(capture))
		return;
	capture->over = 1;
	capture->next_over = pool->over;
	pool->over = capture;
}

static void note_gone(void *capture)
{
	pool_note_over(capture);
}

void pool_reap(struct philox_pool *pool)
{
	struct pool_capture **link = &pool->over, *capture;

	lifelines_see(pool->gone, note_gone);
	while ((capture = *link)) {
		if (pool->session && pool->session->capture == capture) {
			link = &capture->next_over;
			continue;
		}
		*link = capture->next_over;
		capture->over = 0;
		if (!capture->graph)
			forget_capture(capture);
	}
	pool_mark_no_graphs(pool);
}

/* Captures come one after the other: the newest has seen what all have. */
uint64_t pool_pinned(const struct philox_pool *pool)
{
	if (pool->session)
		return pool_newest(pool->blocks);
	return pool->captures ? pool->captures->seen : 0;
}

struct pool_capture *pool_capture_of(const struct philox_pool *pool,
				     uint64_t id)
{
	return map_value(&pool->by_id, id);
}

/* --- ending, with the pool's lock ------------------------------------------ */

/* The streams of a session are joined when it ends. */
static void end_blocks(struct philox_pool *pool, int undo)
{
	struct philox_pool_session *session = pool->session;

	pool_leave_streams(pool);
	pool_session_end(pool->blocks, pool->joining, pool->n_joining, undo,
			 &session->figures);
	pool->n_joining = 0;
	pool->session = NULL;
	if (session->capture)
		session->capture->seen = pool_newest(pool->blocks);
}

static void journal_end(struct philox_pool *pool, int undone)
{
	pool_journal(pool, EVENT("pool-%s", POOL), undone ? "rollback" : "end",
		     journal_name(pool->name).text);
}

/* The record stays until a graph that may still be there is gone. */
static void undo_session(struct philox_pool *pool)
{
	struct philox_pool_session *session = pool->session;

	end_blocks(pool, 1);
	pool_mark_all(pool);
	pool_filled_revived(pool);
	session->undone = 1;
	session->next = pool->undone;
	pool->undone = session;
	session->capture = NULL;
	journal_end(pool, 1);
}

void pool_settle(struct philox_pool *pool)
{
	struct philox_pool_session *session = pool->session;

	if (!session || !session->capture || !is_gone(session->capture))
		return;
	pool_post(pool, PHILOX_LOG_WARNING, "session rolled back", 0, 0,
		  "is as it was before capture %" PRIu64
		  ", which was invalidated, or whose graph was destroyed",
		  session->capture->id);
	undo_session(pool);
	pool_reap(pool);
}

/* --- beginning, with the pool's lock --------------------------------------- */

static enum philox_status join_capture(struct philox_pool *pool,
				       const struct capture_info *info,
				       struct pool_capture **out)
{
	struct pool_capture *capture;
	enum philox_status status;

	if (pool_capture_of(pool, info->id))
		return status_set(PHILOX_ERROR_EXISTS,
				  "pool '%s': capture %" PRIu64
				  " had its session",
				  pool->name, info->id);
	capture = calloc(1, sizeof(*capture));
	if (!capture || !map_reserve(&pool->by_id, pool->by_id.count + 1)) {
		free(capture);
		return status_set(PHILOX_ERROR_MEMORY,
				  "pool '%s': no memory for a session",
				  pool->name);
	}
	status = lifeline_attach(pool_device(pool), info->graph, pool->gone,
				 capture, &capture->lifeline);
	if (status != PHILOX_OK) {
		free(capture);
		return status_prefix(status, "pool '%s': ", pool->name);
	}
	capture->pool = pool;
	capture->id = info->id;
	enlist_capture(pool, capture);
	pool_filled_capture(capture);
	*out = capture;
	return PHILOX_OK;
}

/* A warm-up is a launch as far as memory goes. */
static enum philox_status join_chain(struct philox_pool *pool,
				     philox_stream stream)
{
	if (pool->turn != TURN_FREE)
		return status_set(PHILOX_ERROR_BUSY,
				  "pool '%s': a launch of '%s' is under way",
				  pool->name, pool->launching);
	return pool_follow(pool, stream);
}

static enum philox_status open_session(struct philox_pool *pool,
				       const struct capture_info *info,
				       struct philox_pool_session *session)
{
	enum philox_status status;

	pool_settle(pool);
	pool_reap(pool);
	status = pool_is_idle(pool);
	if (status != PHILOX_OK)
		return status;
	status = info->id ? join_capture(pool, info, &session->capture)
			  : join_chain(pool, session->stream);
	if (status != PHILOX_OK)
		return status;
	pool_session_begin(pool->blocks);
	pool->session = session;
	pool_journal(pool, EVENT("pool-begin", POOL_BEGIN),
		     journal_name(pool->name).text,
		     info->id ? "capture" : "warm-up");
	return PHILOX_OK;
}

/* What a body uses is there before its node, and as long. */
static enum philox_status refuse_body(const struct philox_pool *pool,
				      const struct capture_info *info)
{
	struct philox_context *context = pool->context;
	struct capture_info root = *info;

	context_lock(context);
	context->hooks->root(context, &root);
	context_unlock(context);
	if (root.id == info->id)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "the stream captures the body of a conditional node: "
			  "a session is of the capture around it, and begins "
			  "before the node");
}

static enum philox_status begin_session(struct philox_pool *pool,
					philox_stream stream,
					struct philox_pool_session **out)
{
	struct philox_pool_session *session;
	struct capture_info info;
	enum philox_status status =
		device_ask_capture(pool_device(pool), stream, &info);

	if (status == PHILOX_OK)
		status = refuse_body(pool, &info);
	if (status != PHILOX_OK)
		return status_prefix(status, "pool '%s': ", pool->name);
	session = calloc(1, sizeof(*session));
	if (!session)
		return status_set(PHILOX_ERROR_MEMORY,
				  "pool '%s': no memory for a session",
				  pool->name);
	session->pool = pool;
	session->stream = stream;
	session->thread = pthread_self();
	pool_lock(pool);
	status = open_session(pool, &info, session);
	pool_unlock(pool);
	if (status == PHILOX_OK)
		*out = session;
	else
		free(session);
	return status;
}

/* --- public ---------------------------------------------------------------- */

enum philox_status pool_begin_session(struct philox_pool *pool,
				      philox_stream stream,
				      struct philox_pool_session **session)
{
	NEED_PROCESS(pool->context);
	return pool_report(pool, begin_session(pool, stream, session), 0);
}

enum philox_status philox_pool_session_begin(
	struct philox_pool *pool, philox_stream stream,
	struct philox_pool_session **session)
{
	enum philox_status status;

	if (!pool)
		return context_null(NULL, "pool");
	if (!session)
		return context_null(pool->context, "session");
	status = pool_refuse_owned(pool);
	return status == PHILOX_OK ? pool_begin_session(pool, stream, session)
				   : pool_report(pool, status, 0);
}

/* An event that is recorded while the stream captures would be the capture's. */
static enum philox_status end_on_stream(struct philox_pool *pool,
					philox_stream stream)
{
	enum philox_status status =
		device_refuse_capture(pool_device(pool), stream);

	if (status != PHILOX_OK)
		return status_prefix(status, "pool '%s': ", pool->name);
	return pool_set_last_stream(pool, stream);
}

static void forget_undone(struct philox_pool *pool,
			  const struct philox_pool_session *session)
{
	struct philox_pool_session **link = &pool->undone;

	while (*link && *link != session)
		link = &(*link)->next;
	if (*link)
		*link = session->next;
}

/* A second end finds it; the oldest of those that are kept goes. */
static void keep_ended(struct philox_pool *pool,
		       struct philox_pool_session *session)
{
	struct philox_pool_session **place =
		&pool->ended[pool->n_ended++ % POOL_ENDED];

	free(*place);
	*place = session;
	session->ended = 1;
}

/* A warm-up that failed was on its stream all the same. */
static enum philox_status close_session(struct philox_pool *pool,
					struct philox_pool_session *session,
					enum philox_status result)
{
	enum philox_status status = PHILOX_OK;

	if (session->ended)
		return status_set(PHILOX_ERROR_STATE,
				  "pool '%s': the session has ended already",
				  pool->name);
	pool_settle(pool);
	if (session->undone)
		return PHILOX_OK;
	if (!session->capture)
		status = end_on_stream(pool, session->stream);
	if (status != PHILOX_OK)
		return status;
	if (result != PHILOX_OK) {
		undo_session(pool);
		return PHILOX_OK;
	}
	if (session->capture) {
		session->capture->kept = 1;
		pool->n_kept++;
	}
	end_blocks(pool, 0);
	journal_end(pool, 0);
	return PHILOX_OK;
}

static void write_report(struct philox_pool_session_stats *stats,
			 const struct pool_session_figures *figures)
{
	const struct philox_pool_session_stats found = {
		.peak = figures->peak,
		.live_peak = figures->live_peak,
		.live = figures->live,
		.mapped = figures->mapped,
		.allocations = figures->allocations,
		.frees = figures->frees,
		.growths = figures->growths,
	};

	options_write(stats, &found, sizeof(found));
}

static enum philox_status end_session(struct philox_pool_session *session,
				      enum philox_status result,
				      struct philox_pool_session_stats *stats)
{
	struct philox_pool *pool = session->pool;
	struct pool_session_figures figures;
	enum philox_status status = PHILOX_OK;
	int undone;

	if (stats)
		status = options_check_room("stats", stats->size,
					    REPORT_SIZE_FIRST, sizeof(*stats));
	if (status != PHILOX_OK)
		return status;
	pool_lock(pool);
	status = close_session(pool, session, result);
	figures = session->figures;
	undone = session->undone;
	if (status == PHILOX_OK) {
		forget_undone(pool, session);
		keep_ended(pool, session);
	}
	pool_unlock(pool);
	if (status != PHILOX_OK)
		return status;
	pool_unmap_free(pool);
	if (stats)
		write_report(stats, &figures);
	if (result == PHILOX_OK && undone)
		status = status_set(PHILOX_ERROR_CAPTURE_INVALIDATED,
				    "pool '%s': the session was rolled back, "
				    "since its capture was invalidated or its "
				    "graph was destroyed",
				    pool->name);
	return status;
}

enum philox_status philox_pool_session_end(
	struct philox_pool_session *session, enum philox_status result,
	struct philox_pool_session_stats *stats)
{
	struct philox_pool *pool;

	if (!session)
		return context_null(NULL, "session");
	pool = session->pool;
	NEED_PROCESS(pool->context);
	return pool_report(pool, end_session(session, result, stats), 0);
}

/* --- order: streams that the caller has ordered --------------------------- */

static enum philox_status ask_both(struct philox_pool *pool,
				   philox_stream before, philox_stream after,
				   struct capture_info *info)
{
	struct philox_device *device = pool_device(pool);
	struct capture_info first;
	enum philox_status status = device_ask_capture(device, before, &first);

	if (status == PHILOX_OK)
		status = device_ask_capture(device, after, info);
	if (status != PHILOX_OK)
		return status_prefix(status, "pool '%s': ", pool->name);
	if (first.id == info->id)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_CAPTURE_ISOLATION,
			  "pool '%s': the streams are not in one capture",
			  pool->name);
}

static enum philox_status order_owners(struct philox_pool *pool,
				       philox_stream before,
				       philox_stream after)
{
	uint32_t from, to;
	enum philox_status status = pool_owner(pool, before, &from);

	if (status == PHILOX_OK)
		status = pool_owner(pool, after, &to);
	if (status == PHILOX_OK && from != to) {
		pool_give(pool->blocks, from, to);
		pool->touched |= to == POOL_SHARED;
	}
	return status;
}

static enum philox_status order_streams(struct philox_pool *pool,
					philox_stream before,
					philox_stream after,
					const struct capture_info *info)
{
	enum philox_status status;

	pool_settle(pool);
	status = pool_admit(pool, info);
	if (status != PHILOX_OK)
		return status;
	if (!pool->session && pool_is_last_stream(pool, before))
		status = pool_set_last_stream(pool, after);
	else
		status = order_owners(pool, before, after);
	if (status == PHILOX_OK)
		pool_journal(pool, EVENT("pool-order", POOL),
			     journal_name(pool->name).text);
	return status;
}

enum philox_status philox_pool_join_streams(struct philox_pool *pool,
					    philox_stream before,
					    philox_stream after)
{
	struct capture_info info;
	enum philox_status status;

	if (!pool)
		return context_null(NULL, "pool");
	NEED_PROCESS(pool->context);
	status = ask_both(pool, before, after, &info);
	if (status != PHILOX_OK)
		return pool_report(pool, status, 0);
	pool_lock(pool);
	status = order_streams(pool, before, after, &info);
	pool_unlock(pool);
	return pool_report(pool, status, 0);
}
