/*
 * graph/pool/streams.c - the streams of a pool, and who waits for whom
 *
 * See Note [Pools] in graph/pool/pool.h. With the pool's lock.
 */
#include <stdlib.h>
#include "graph/pool/pool.h"
#include "lib/containers/array.h"
#include "lib/state/state.h"

/* CUDA's handle for the default stream of the calling thread. */
#define STREAM_PER_THREAD ((philox_stream)2)

int pool_means_ours(philox_stream stream, pthread_t thread)
{
	return stream != STREAM_PER_THREAD ||
	       pthread_equal(thread, pthread_self());
}

int pool_is_last_stream(const struct philox_pool *pool, philox_stream stream)
{
	return pool->used && pool->last_stream == stream &&
	       pool_means_ours(stream, pool->last_thread);
}

/* While a launch is on its way, SHARED's memory is its. */
static int serves_last_stream(const struct philox_pool *pool,
			      philox_stream stream)
{
	return !pool->session && pool->turn == TURN_FREE &&
	       pool_is_last_stream(pool, stream);
}

int pool_may_share(const struct philox_pool *pool, philox_stream stream)
{
	return pool->session || serves_last_stream(pool, stream) ||
	       (!pool->used && pool->turn == TURN_FREE);
}

/* --- owners --------------------------------------------------------------- */

static int is_stream(const struct pool_stream *known, philox_stream stream)
{
	return !known->nobody && known->stream == stream &&
	       pool_means_ours(stream, known->thread);
}

/*
 * The index of a stream, in the session or outside, or of an entry that nobody
 * needs, or the end.
 */
static size_t find_stream(const struct philox_pool *pool, philox_stream stream,
			  int in_session)
{
	size_t place = pool->n_streams;

	for (size_t i = 0; i < pool->n_streams; i++) {
		const struct pool_stream *known = &pool->streams[i];

		if (is_stream(known, stream) && known->in_session == in_session)
			return i;
		if (place == pool->n_streams && !known->in_session &&
		    !pool_owns(pool->blocks, (uint32_t)i + 1))
			place = i;
	}
	return place;
}

enum philox_status pool_owner(struct philox_pool *pool, philox_stream stream,
			      uint32_t *owner)
{
	const int in_session = pool->session != NULL;
	size_t index;

	if (serves_last_stream(pool, stream)) {
		*owner = POOL_SHARED;
		return PHILOX_OK;
	}
	if (!array_grow(&pool->streams, pool->n_streams, 1,
			sizeof(*pool->streams)))
		return status_set(PHILOX_ERROR_MEMORY,
				  "pool '%s': no memory for a stream",
				  pool->name);
	index = find_stream(pool, stream, in_session);
	pool->n_streams += index == pool->n_streams;
	pool->streams[index] =
		(struct pool_stream){stream, pthread_self(), in_session, 0};
	*owner = (uint32_t)index + 1;
	return PHILOX_OK;
}

/* --- the last stream ------------------------------------------------------ */

static enum philox_status record_last_stream(struct philox_pool *pool)
{
	enum philox_status status = philox_event_record(
		pool_device(pool), pool->last_stream, pool->event);

	pool->ordered = status == PHILOX_OK;
	if (status != PHILOX_OK)
		return status_prefix(status, "pool '%s': ", pool->name);
	pool->touched = 0;
	return PHILOX_OK;
}

/* A stream that memory was freed on lives, and may be asked. */
static enum philox_status mark_last_stream(struct philox_pool *pool)
{
	struct capture_info info = {.status = PHILOX_CAPTURE_NONE};
	enum philox_status status = PHILOX_OK;

	if (pool->flags & PHILOX_POOL_STRICT || !pool->touched)
		return PHILOX_OK;
	if (!pool_means_ours(pool->last_stream, pool->last_thread))
		return status_set(PHILOX_ERROR_BUSY,
				  "pool '%s' is in use on the default stream "
				  "of another thread, which alone can order it",
				  pool->name);
	status = device_capture_info(pool_device(pool), pool->last_stream,
				     &info);
	if (status != PHILOX_OK)
		return status_prefix(status, "pool '%s': ", pool->name);
	if (info.status == PHILOX_CAPTURE_NONE)
		return record_last_stream(pool);
	return status_set(PHILOX_ERROR_BUSY,
			  "pool '%s' is in use on a stream that is capturing "
			  "now, which no other can wait for",
			  pool->name);
}

enum philox_status pool_follow(struct philox_pool *pool, philox_stream stream)
{
	enum philox_status status;

	if (!pool->used || pool_is_last_stream(pool, stream))
		return PHILOX_OK;
	status = mark_last_stream(pool);
	if (status != PHILOX_OK)
		return status;
	if (!pool->ordered)
		return status_set(
			PHILOX_ERROR_BUSY,
			"pool '%s' is in use on another stream%s: order the "
			"two, and say so by philox_pool_join_streams()",
			pool->name,
			pool->flags & PHILOX_POOL_STRICT
				? ""
				: ", where the end of that could not be "
				  "recorded");
	status = philox_event_wait(pool_device(pool), stream, pool->event);
	if (status != PHILOX_OK)
		return status_prefix(status, "pool '%s': ", pool->name);
	pool->waits++;
	return PHILOX_OK;
}

/* What the last stream has freed is as well ordered as the rest. */
static void give_to_shared(struct philox_pool *pool, philox_stream stream)
{
	size_t index = find_stream(pool, stream, 0);

	if (index < pool->n_streams && is_stream(&pool->streams[index], stream))
		pool_give(pool->blocks, (uint32_t)index + 1, POOL_SHARED);
}

enum philox_status pool_set_last_stream(struct philox_pool *pool,
					philox_stream stream)
{
	give_to_shared(pool, stream);
	pool->last_stream = stream;
	pool->last_thread = pthread_self();
	pool->used = 1;
	pool->touched = 0;
	pool->ordered = 0;
	if (pool->flags & PHILOX_POOL_STRICT)
		return PHILOX_OK;
	return record_last_stream(pool);
}

void pool_note_free(struct philox_pool *pool, philox_stream stream)
{
	if (pool->session)
		return;
	if (!pool->used && pool->turn == TURN_FREE) {
		pool->last_stream = stream;
		pool->last_thread = pthread_self();
		pool->used = 1;
	}
	if (serves_last_stream(pool, stream))
		pool->touched = 1;
}
