/*
 * graph/pool/memory.c - memory taken from the device, and given back to it
 */
#include <inttypes.h>
#include <stdio.h>
#include "graph/pool/pool.h"
#include "lib/device/device.h"
#include "lib/state/state.h"

/* --- growing, with the pool's lock ----------------------------------------- */

static void note_growth(struct philox_pool *pool, size_t mapped, uint64_t began)
{
	if (!mapped)
		return;
	pool_mark_grown(pool);
	pool_journal(pool, EVENT("pool-grow", POOL_BYTES),
		     journal_name(pool->name).text, mapped);
	pool_post(pool, PHILOX_LOG_INFO, "pool growth", mapped, clock_now() - began,
		  "has taken %zu bytes from the device", mapped);
}

enum philox_status pool_grow_for(struct philox_pool *pool,
				 const struct pool_request *request)
{
	uint64_t began = clock_now();
	size_t mapped = 0;
	enum philox_status status = pool_grow(pool->blocks, request, &mapped);

	if (status == PHILOX_OK)
		note_growth(pool, mapped, began);
	return status;
}

enum philox_status pool_take_ahead(struct philox_pool *pool, size_t bytes)
{
	uint64_t began = clock_now();
	size_t mapped = 0;
	enum philox_status status;

	pool_settle(pool);
	status = pool_reserve(pool->blocks, bytes, &mapped);
	if (status != PHILOX_OK)
		return status_prefix(status, "pool '%s': ", pool->name);
	note_growth(pool, mapped, began);
	return PHILOX_OK;
}

enum philox_status philox_pool_reserve(struct philox_pool *pool, uint64_t bytes)
{
	enum philox_status status;

	if (!pool)
		return context_null(NULL, "pool");
	NEED_PROCESS(pool->context);
	if (!bytes || bytes > SIZE_MAX)
		return pool_report(pool,
				   status_set(PHILOX_ERROR_INVALID,
					      "pool '%s': %" PRIu64
					      " bytes cannot be reserved",
					      pool->name, bytes),
				   bytes);
	status = pool_refuse_owned(pool);
	if (status != PHILOX_OK)
		return pool_report(pool, status, bytes);
	pool_lock(pool);
	status = pool_take_ahead(pool, (size_t)bytes);
	pool_unlock(pool);
	return pool_report(pool, status, bytes);
}

/* --- giving back ----------------------------------------------------------- */

/* Waiting for a stream that captures, in a capture not ours, would break that. */
static enum philox_status wait_for_stream(struct philox_device *device,
					  philox_stream stream,
					  pthread_t thread)
{
	enum philox_status status;

	if (!pool_means_ours(stream, thread))
		return status_set(PHILOX_ERROR_BUSY,
				  "memory was freed on the default stream of "
				  "another thread, which alone can wait for "
				  "it");
	status = device_refuse_capture(device, stream);
	if (status == PHILOX_OK)
		status = philox_stream_synchronize(device, stream);
	return status;
}

/* Work may be queued that uses what is free; all of it is on these streams. */
static enum philox_status wait_for_work(struct philox_pool *pool)
{
	struct philox_device *device = pool_device(pool);
	enum philox_status status =
		pool->runner ? pool->wait(pool->runner) : PHILOX_OK;

	if (status != PHILOX_OK)
		return status;
	if (pool->touched || (pool->used && !pool->ordered))
		status = wait_for_stream(device, pool->last_stream,
					 pool->last_thread);
	else if (pool->used)
		status = philox_event_synchronize(device, pool->event);
	for (size_t i = 0; status == PHILOX_OK && i < pool->n_streams; i++)
		if (pool_owns(pool->blocks, (uint32_t)i + 1))
			status =
				wait_for_stream(device, pool->streams[i].stream,
						pool->streams[i].thread);
	return status;
}

/* With the pool's lock. */
static enum philox_status trim(struct philox_pool *pool, size_t *trimmed)
{
	enum philox_status status;

	*trimmed = 0;
	pool_settle(pool);
	pool_reap(pool);
	status = pool_is_idle(pool);
	if (status != PHILOX_OK)
		return status;
	status = wait_for_work(pool);
	if (status == PHILOX_OK)
		status = pool_trim(pool->blocks, pool_pinned(pool), SIZE_MAX,
				   trimmed);
	if (status != PHILOX_OK)
		status_prefix(status, "pool '%s': ", pool->name);
	if (*trimmed)
		pool_filled_trimmed(pool);
	if (*trimmed)
		pool_journal(pool, EVENT("pool-trim", POOL_BYTES),
			     journal_name(pool->name).text, *trimmed);
	return status;
}

/* A capture that is under way would be lost. */
static enum philox_status check_captures(struct philox_context *context)
{
	const struct capture *capture;
	enum philox_status status = PHILOX_OK;

	context_lock(context);
	capture_reap(context->graphs);
	capture = context->graphs->captures;
	while (capture && (capture->graph || capture->dropped))
		capture = capture->next;
	if (context->graphs->own_begun)
		status = status_set(PHILOX_ERROR_BUSY,
				    "a capture that philox began is under "
				    "way");
	else if (capture)
		status = status_set(PHILOX_ERROR_BUSY,
				    "capture %" PRIu64
				    " neither became a graph nor was dropped",
				    capture->id);
	else
		status = pools_quiet(context->graphs);
	context_unlock(context);
	return status;
}

/* With the pool's lock. */
static void unmap_idle(struct philox_pool *pool)
{
	size_t bytes = 0;

	pool_settle(pool);
	pool_reap(pool);
	if (pool->session || pool->captures || pool->turn != TURN_FREE ||
	    wait_for_work(pool) != PHILOX_OK)
		return;
	pool_unmap(pool->blocks, &bytes);
	if (!bytes)
		return;
	pool_filled_trimmed(pool);
	pool_journal(pool, EVENT("pool-trim", POOL_BYTES),
		     journal_name(pool->name).text, bytes);
}

/* In relaxed mode, as below. */
void pool_unmap_now(struct philox_pool *pool)
{
	const struct status_message kept = status_kept();
	enum philox_capture_mode mode;

	if (check_captures(pool->context) == PHILOX_OK &&
	    device_relaxed_begin(pool_device(pool), &mode) == PHILOX_OK) {
		pool_lock(pool);
		unmap_idle(pool);
		pool_unlock(pool);
		device_relaxed_end(pool_device(pool), mode, PHILOX_OK);
	}
	status_restore(&kept);
}

enum philox_status philox_pool_trim(struct philox_pool *pool, uint64_t *trimmed)
{
	size_t bytes = 0;
	enum philox_status status;

	if (!pool)
		return context_null(NULL, "pool");
	NEED_PROCESS(pool->context);
	status = pool_refuse_owned(pool);
	if (status == PHILOX_OK)
		status = check_captures(pool->context);
	if (status == PHILOX_OK) {
		pool_lock(pool);
		status = trim(pool, &bytes);
		pool_unlock(pool);
	}
	if (trimmed && (bytes || status == PHILOX_OK))
		*trimmed = bytes;
	return pool_report(pool, status, bytes);
}

/* In relaxed mode: captures of others may be under way. */
static void give_back(struct philox_pool *pool, const struct philox_pool *to,
		      int recorded)
{
	size_t trimmed;

	pthread_mutex_lock(&pool->lock);
	pool->context_locked = recorded;
	trim(pool, &trimmed);
	pool_unlock_pool(pool);
	if (trimmed)
		pool_post(pool, PHILOX_LOG_INFO, "pool trimmed", trimmed, 0,
			  "gave %zu bytes back, which pool '%s' needs", trimmed,
			  to->name);
}

/*
 * What cannot be trimmed stays: the caller's own error counts. The list's lock
 * keeps the pools there; the context's is for a journal only.
 */
void pools_give_back(struct philox_context *context,
		     const struct philox_pool *except)
{
	struct graph_context *graphs = context->graphs;
	struct philox_pool *pool;
	const struct status_message kept = status_kept();
	enum philox_capture_mode mode;
	int recorded =
		atomic_load_explicit(&context->recorded, memory_order_relaxed);

	if (check_captures(context) != PHILOX_OK ||
	    device_relaxed_begin(context->device, &mode) != PHILOX_OK) {
		status_restore(&kept);
		return;
	}
	if (recorded)
		context_lock(context);
	pthread_mutex_lock(&graphs->pools_lock);
	for (pool = graphs->pools; pool; pool = pool->next)
		if (pool != except)
			give_back(pool, except, recorded);
	pthread_mutex_unlock(&graphs->pools_lock);
	if (recorded)
		context_unlock(context);
	device_relaxed_end(context->device, mode, PHILOX_OK);
	status_restore(&kept);
}

void pools_list(struct philox_context *context, char *text, size_t size)
{
	struct graph_context *graphs = context->graphs;
	struct philox_pool *pool;
	size_t length = 0;

	text[0] = '\0';
	pthread_mutex_lock(&graphs->pools_lock);
	for (pool = graphs->pools; pool && length < size; pool = pool->next) {
		struct pool_figures figures;

		pthread_mutex_lock(&pool->lock);
		pool_figures(pool->blocks, &figures);
		pthread_mutex_unlock(&pool->lock);
		length += (size_t)snprintf(
			text + length, size - length,
			"%spool '%s' has %zu bytes reserved, %zu mapped, %zu "
			"live",
			length ? "; " : "", pool->name, figures.reserved,
			figures.mapped, figures.live);
	}
	pthread_mutex_unlock(&graphs->pools_lock);
}
