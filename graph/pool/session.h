/*
 * graph/pool/session.h - sessions: what they let happen, and how they end
 *
 * With the pool's lock.
 */
#ifndef GRAPH_POOL_SESSION_H
#define GRAPH_POOL_SESSION_H

#include "graph/pool/pool.h"

/* pool_settle() rolls a session back whose capture has failed. */
void pool_settle(struct philox_pool *pool);

/* pool_capture_of() finds the capture of an id that had a session, or NULL. */
struct pool_capture *pool_capture_of(const struct philox_pool *pool,
				     uint64_t id);

/* pool_reap() forgets captures whose graphs are gone. */
void pool_reap(struct philox_pool *pool);

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

#endif
