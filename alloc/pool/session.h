/*
 * alloc/pool/session.h - what a pool notes while a session is open
 *
 * The shadow of a pool's session is made with the pool, so that a session begins
 * and ends without errors; each call that may fail for want of memory makes room
 * before it changes anything. Outside sessions all of this does nothing.
 */
#ifndef ALLOC_POOL_SESSION_H
#define ALLOC_POOL_SESSION_H

#include "alloc/pool/inner.h"

int session_init(struct session *session); /* 0: no memory */
void session_finish(struct session *session);

/* Room for one more block of the session; 0: no memory. */
int session_reserve(struct pool *pool);

/* A block was taken for this need: it becomes one of the session. */
void session_took(struct pool *pool, const struct fit_need *need,
		  struct block *block);

/*
 * A live block will be freed. session_keeps() tells whether its record is kept
 * for undoing, after session_keep_reserve() (0: no memory).
 */
int session_keeps(const struct pool *pool, const struct block *block);
int session_keep_reserve(struct pool *pool);
void session_put(struct pool *pool, struct block *block, uint32_t owner);
void session_keep(struct pool *pool, struct block *block);

/* Room to undo a growth, before it; takes it back if that failed. */
void session_expect_growth(struct pool *pool);
void session_no_growth(struct pool *pool);

/* Memory was given to another owner. */
void session_gave(struct pool *pool, uint32_t from, uint32_t to);

/* Whether undoing needs memory of this extent. */
int session_needs(const struct pool *pool, const struct extent *extent);

#endif
