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

static uint64_t key_of(philox_stream stream, pthread_t thread, int in_session)
{
	const uint64_t session = (uint64_t)(in_session != 0) << 63;

	if (stream == STREAM_PER_THREAD)
		return (uint64_t)(uintptr_t)thread ^ session;
	return (uint64_t)(uintptr_t)stream ^ session;
}

static struct pool_stream *stream_at(const struct philox_pool *pool,
				     uint32_t owner)
{
	return &pool->streams[owner - 1];
}

static void *as_value(uint32_t owner)
{
	return (void *)(uintptr_t)owner;
}

/* The owner that a stream is, in the session or outside; 0: none. */
static uint32_t find_stream(const struct philox_pool *pool,
			    philox_stream stream, int in_session)
{
	const struct map_entry *entry = map_find(
		&pool->by_stream, key_of(stream, pthread_self(), in_session));
	uint32_t owner;

	for (; entry; entry = map_find_next(&pool->by_stream, entry)) {
		owner = (uint32_t)(uintptr_t)entry->value;
		if (is_stream(stream_at(pool, owner), stream) &&
		    stream_at(pool, owner)->in_session == in_session)
			return owner;
	}
	return 0;
}

static void forget_stream(struct philox_pool *pool, uint32_t owner)
{
	struct pool_stream *known = stream_at(pool, owner);

	if (!known->nobody)
		map_remove(
			&pool->by_stream,
			key_of(known->stream, known->thread, known->in_session),
			as_value(owner));
	known->nobody = 1;
}

/* In the place of one that has no memory, or a new one. */
static void enter_stream(struct philox_pool *pool, uint32_t owner,
			 philox_stream stream, int in_session)
{
	if (owner > pool->n_streams)
		pool->n_streams = owner;
	else
		forget_stream(pool, owner);
	*stream_at(pool, owner) =
		(struct pool_stream){stream, pthread_self(), in_session, 0};
	map_put(&pool->by_stream, key_of(stream, pthread_self(), in_session),
		as_value(owner));
	if (!in_session)
		return;
	pool_hold_owner(pool->blocks, owner);
	pool->joining[pool->n_joining++] = owner;
}

static enum philox_status make_owner(struct philox_pool *pool,
				     philox_stream stream, int in_session,
				     uint32_t *owner)
{
	*owner = pool_new_owner(pool->blocks);
	if (*owner == POOL_OWNERS_MAX)
		return status_set(PHILOX_ERROR_UNSUPPORTED,
				  "pool '%s': %d streams may still use memory "
				  "of it that they freed, which is the most",
				  pool->name, POOL_OWNERS_MAX - 1);
	if (!pool_know_owner(pool->blocks, *owner) ||
	    !array_grow(&pool->streams, pool->n_streams, 1,
			sizeof(*pool->streams)) ||
	    !array_grow(&pool->joining, pool->n_joining, 1,
			sizeof(*pool->joining)) ||
	    !map_reserve(&pool->by_stream, pool->by_stream.count + 1))
		return status_set(PHILOX_ERROR_MEMORY,
				  "pool '%s': no memory for a stream",
				  pool->name);
	enter_stream(pool, *owner, stream, in_session);
	return PHILOX_OK;
}

enum philox_status pool_owner(struct philox_pool *pool, philox_stream stream,
			      uint32_t *owner)
{
	const int in_session = pool->session != NULL;

	if (serves_last_stream(pool, stream)) {
		*owner = POOL_SHARED;
		return PHILOX_OK;
	}
	*owner = find_stream(pool, stream, in_session);
	return *owner ? PHILOX_OK : make_owner(pool, stream, in_session, owner);
}

void pool_leave_streams(struct philox_pool *pool)
{
	for (size_t i = 0; i < pool->n_joining; i++) {
		forget_stream(pool, pool->joining[i]);
		stream_at(pool, pool->joining[i])->in_session = 0;
		pool_drop_owner(pool->blocks, pool->joining[i]);
	}
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
	const uint32_t owner = find_stream(pool, stream, 0);

	if (owner)
		pool_give(pool->blocks, owner, POOL_SHARED);
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
