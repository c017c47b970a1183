/*
 * graph/pool/streams.h - the streams of a pool, and who waits for whom
 *
 * With the pool's lock.
 */
#ifndef GRAPH_POOL_STREAMS_H
#define GRAPH_POOL_STREAMS_H

#include "graph/pool/pool.h"

/*
 * pool_means_ours() tells whether a handle that a thread used means the same
 * stream in this one: not that of the thread's default stream.
 */
int pool_means_ours(philox_stream stream, pthread_t thread);

/* pool_is_home() tells whether a stream is the one of the last launch. */
int pool_is_home(const struct philox_pool *pool, philox_stream stream);

/*
 * pool_shares_home() tells whether a stream may use HOME's memory now: all do in
 * a session, only home does outside, and nobody else does while a launch is on
 * its way.
 */
int pool_shares_home(const struct philox_pool *pool, philox_stream stream);

/*
 * pool_owner() finds or makes the owner that a stream is here and now: HOME
 * itself for home outside sessions. ERROR_MEMORY.
 */
enum philox_status pool_owner(struct philox_pool *pool, philox_stream stream,
			      uint32_t *owner);

/* pool_follow() has a stream wait for home, or refuses it: ERROR_BUSY. */
enum philox_status pool_follow(struct philox_pool *pool, philox_stream stream);

/*
 * pool_move_home() notes, and marks by the event, that a stream is home.
 * pool_touch_home() notes that memory is freed on a stream: the first one is
 * home if nothing else is.
 */
enum philox_status pool_move_home(struct philox_pool *pool,
				  philox_stream stream);
void pool_touch_home(struct philox_pool *pool, philox_stream stream);

/*
 * pool_borrow() has a stream, whose capture is `info`, wait for a stream whose
 * free memory makes a request fit, and gives it that: NOT_READY if none does.
 */
enum philox_status pool_borrow(struct philox_pool *pool, philox_stream stream,
			       const struct capture_info *info,
			       struct pool_request *request);

#endif
