/*
 * graph/pool/turns.c - the pools of a graph: adopted, launched, let go
 *
 * See Note [Pools] in graph/pool/pool.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include "graph/pool/pool.h"

/* --- graphs, with the context's lock --------------------------------------- */

/* Calls one of the functions below for each pool, the oldest last. */
static enum philox_status each_pool(
	struct graph_context *graphs,
	enum philox_status (*visit)(struct philox_pool *pool, void *with),
	void *with)
{
	struct philox_pool *pool;
	enum philox_status status = PHILOX_OK;

	pthread_mutex_lock(&graphs->pools_lock);
	for (pool = graphs->pools; pool && status == PHILOX_OK;
	     pool = pool->next) {
		pool_lock_both(pool);
		pool_settle(pool);
		pool_reap(pool);
		status = visit(pool, with);
		pool_unlock_pool(pool);
	}
	pthread_mutex_unlock(&graphs->pools_lock);
	return status;
}

struct known {
	uint64_t id;
	int found;
};

static enum philox_status visit_known(struct philox_pool *pool, void *with)
{
	struct known *known = with;
	const struct pool_capture *capture = pool_capture_of(pool, known->id);

	if (capture && capture->graph)
		return status_set(PHILOX_ERROR_EXISTS,
				  "capture %" PRIu64 " was adopted as '%s'",
				  known->id, capture->graph);
	known->found |= capture != NULL;
	return PHILOX_OK;
}

enum philox_status pools_know(struct graph_context *graphs, uint64_t id)
{
	struct known known = {.id = id};
	enum philox_status status = each_pool(graphs, visit_known, &known);

	if (status != PHILOX_OK || known.found)
		return status;
	return PHILOX_ERROR_NOT_FOUND;
}

struct attached {
	uint64_t id;
	const char *graph;
	struct pool_capture **pools;
};

static enum philox_status visit_attach(struct philox_pool *pool, void *with)
{
	const struct attached *attached = with;
	struct pool_capture *capture = pool_capture_of(pool, attached->id);

	if (!capture)
		return PHILOX_OK;
	capture->graph = attached->graph;
	capture->sibling = *attached->pools;
	*attached->pools = capture;
	return PHILOX_OK;
}

void pools_attach(struct graph_context *graphs, uint64_t id, const char *graph,
		  struct pool_capture **pools)
{
	each_pool(graphs, visit_attach, &(struct attached){id, graph, pools});
}

void pools_detach(struct pool_capture **pools, int gone)
{
	struct pool_capture *capture;

	while ((capture = *pools)) {
		struct philox_pool *pool = capture->pool;

		pthread_mutex_lock(&pool->lock);
		*pools = capture->sibling;
		capture->graph = NULL;
		capture->released |= gone;
		pool_note_over(capture);
		pthread_mutex_unlock(&pool->lock);
	}
}

void pools_show(struct pool_capture *capture)
{
	for (; capture; capture = capture->sibling) {
		pthread_mutex_lock(&capture->pool->lock);
		capture->shown = 1;
		pthread_mutex_unlock(&capture->pool->lock);
	}
}

static enum philox_status visit_drop(struct philox_pool *pool, void *with)
{
	struct pool_capture *capture = pool_capture_of(pool, *(uint64_t *)with);

	if (!capture)
		return PHILOX_OK;
	capture->released = 1;
	pool_note_over(capture);
	pool_settle(pool);
	return PHILOX_OK;
}

void pools_drop(struct graph_context *graphs, uint64_t id)
{
	each_pool(graphs, visit_drop, &id);
}

static enum philox_status visit_quiet(struct philox_pool *pool, void *with)
{
	(void)with;
	return pool->session && pool->session->capture ? pool_is_idle(pool)
						       : PHILOX_OK;
}

enum philox_status pools_quiet(struct graph_context *graphs)
{
	return each_pool(graphs, visit_quiet, NULL);
}

/* --- launches, with the graph's lock --------------------------------------- */

static enum philox_status refuse_turn(const struct philox_pool *pool)
{
	return status_set(PHILOX_ERROR_BUSY,
			  "pool '%s': '%s' is between prologue and epilogue",
			  pool->name, pool->launching);
}

/* A launch on the stream of a warm-up comes after what is there. */
static enum philox_status check_session(const struct philox_pool *pool,
					const struct pool_capture *capture,
					philox_stream stream)
{
	const struct philox_pool_session *session = pool->session;

	if (!capture->kept && (!session || session->capture != capture))
		return status_set(PHILOX_ERROR_STATE,
				  "pool '%s': the session of its capture has "
				  "failed",
				  pool->name);
	if (!session || (session->capture && session->capture != capture) ||
	    (!session->capture && session->stream == stream &&
	     pool_means_ours(stream, session->thread)))
		return PHILOX_OK;
	return pool_is_idle(pool);
}

static enum philox_status enter_pool(struct pool_capture *capture,
				     philox_stream stream, enum pool_turn turn)
{
	struct philox_pool *pool = capture->pool;
	enum philox_status status;

	pool_lock(pool);
	pool_settle(pool);
	pool_unlock(pool);
	pthread_mutex_lock(&pool->lock);
	while (pool->turn == TURN_LAUNCH)
		pthread_cond_wait(&pool->turned, &pool->lock);
	status = pool->turn == TURN_FREE ? check_session(pool, capture, stream)
					 : refuse_turn(pool);
	if (status == PHILOX_OK)
		status = pool_follow(pool, stream);
	if (status == PHILOX_OK) {
		pool->turn = turn;
		pool_filled_launch(capture);
		snprintf(pool->launching, sizeof(pool->launching), "%s",
			 capture->graph);
	}
	pthread_mutex_unlock(&pool->lock);
	return status;
}

static void leave_pool(struct pool_capture *capture, philox_stream stream,
		       enum philox_status launched)
{
	struct philox_pool *pool = capture->pool;

	pthread_mutex_lock(&pool->lock);
	if (launched == PHILOX_OK &&
	    pool_set_last_stream(pool, stream) != PHILOX_OK)
		pool_post(pool, PHILOX_LOG_WARNING, "launch not recorded", 0, 0,
			  "cannot tell other streams when '%s' ends: %s",
			  pool->launching, status_bare());
	pool->turn = TURN_FREE;
	pool_filled_launch(capture);
	pthread_cond_broadcast(&pool->turned);
	pthread_mutex_unlock(&pool->lock);
}

enum philox_status pools_enter(struct pool_capture *pools, philox_stream stream,
			       enum pool_turn turn)
{
	struct pool_capture *capture = pools, *entered;
	enum philox_status status = PHILOX_OK;

	for (; capture; capture = capture->sibling) {
		status = enter_pool(capture, stream, turn);
		if (status != PHILOX_OK)
			break;
	}
	if (status == PHILOX_OK)
		return PHILOX_OK;
	for (entered = pools; entered != capture; entered = entered->sibling)
		leave_pool(entered, stream, status);
	return status_prefix(status, "'%s' cannot be launched: ", pools->graph);
}

void pools_leave(struct pool_capture *capture, philox_stream stream,
		 enum philox_status launched)
{
	const struct status_message kept = status_kept();

	for (; capture; capture = capture->sibling)
		leave_pool(capture, stream, launched);
	status_restore(&kept);
}
