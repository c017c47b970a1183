/*
 * graph/pool/loans.c - a stream waits for others, whose free memory it needs
 *
 * With the pool's lock. Nothing is waited for before it is known that the memory
 * will do.
 */
#include <stdlib.h>
#include "graph/pool/pool.h"
#include "lib/device/device.h"
#include "lib/state/state.h"

struct borrower {
	struct philox_pool *pool;
	philox_stream stream;
	const struct capture_info *info;
	struct pool_request *request;
};

static struct pool_stream *stream_of(const struct borrower *borrower,
				     uint32_t owner)
{
	return &borrower->pool->streams[owner - 1];
}

/* A stream may be waited for that is in the same capture, or in none as well. */
static int may_lend(const struct borrower *borrower, uint32_t owner)
{
	const struct pool_stream *lender = stream_of(borrower, owner);
	const struct philox_pool *pool = borrower->pool;
	const struct capture_info *info = borrower->info;
	struct capture_info other;

	return pool_means_ours(lender->stream, lender->thread) &&
	       lender->in_session == (pool->session != NULL) &&
	       device_capture_info(pool_device(pool), lender->stream, &other) ==
		       PHILOX_OK &&
	       other.status == info->status &&
	       (info->status == PHILOX_CAPTURE_NONE || other.id == info->id);
}

static enum philox_status wait_for(const struct borrower *borrower,
				   philox_stream lender)
{
	struct philox_device *device = pool_device(borrower->pool);
	philox_event event;
	enum philox_status status = philox_event_create(device, &event);

	if (status != PHILOX_OK)
		return status;
	status = philox_event_record(device, lender, event);
	if (status == PHILOX_OK)
		status = philox_event_wait(device, borrower->stream, event);
	philox_event_destroy(device, event);
	borrower->pool->waits += status == PHILOX_OK;
	return status;
}

static void note_wait(struct philox_pool *pool)
{
	pool_journal(pool, EVENT("pool-wait", POOL),
		     journal_name(pool->name).text);
	pool_post(pool, PHILOX_LOG_INFO, "pool wait", 0, 0,
		  "made a stream wait for another one, whose free memory it "
		  "needs");
}

static void take_over(const struct borrower *borrower, uint32_t owner)
{
	struct philox_pool *pool = borrower->pool;

	if (owner == POOL_SHARED) {
		borrower->request->shared = 1;
	} else {
		pool_give(pool->blocks, owner, borrower->request->owner);
		pool->touched |= borrower->request->owner == POOL_SHARED;
	}
	note_wait(pool);
}

/* --- one stream ----------------------------------------------------------- */

static int borrow_of_one(const struct borrower *borrower)
{
	const struct pool *blocks = borrower->pool->blocks;
	uint32_t lender = 0;

	for (;; lender++) {
		lender = pool_lender(blocks, borrower->request, lender);
		if (lender == UINT32_MAX)
			return 0;
		if (may_lend(borrower, lender) &&
		    wait_for(borrower, stream_of(borrower, lender)->stream) ==
			    PHILOX_OK)
			break;
	}
	take_over(borrower, lender);
	return 1;
}

/* --- several -------------------------------------------------------------- */

/* Outside sessions a stream that waits for the last one may use SHARED's. */
static int shared_may_lend(const struct borrower *borrower)
{
	const struct philox_pool *pool = borrower->pool;

	return !borrower->request->shared && pool->turn == TURN_FREE &&
	       pool_owns(pool->blocks, POOL_SHARED);
}

static void list_lenders(const struct borrower *borrower, unsigned char *lends,
			 uint32_t n)
{
	const struct philox_pool *pool = borrower->pool;

	for (uint32_t i = POOL_SHARED + 1; i < n; i++)
		lends[i] = i != borrower->request->owner &&
			   pool_owns(pool->blocks, i) && may_lend(borrower, i);
}

/* All are waited for before the first gives anything. */
static int borrow_of(const struct borrower *borrower, unsigned char *lends,
		     uint32_t n)
{
	struct philox_pool *pool = borrower->pool;
	enum philox_status status = PHILOX_OK;

	if (!pool_lenders(pool->blocks, borrower->request, lends, n))
		return 0;
	if (lends[POOL_SHARED])
		status = pool_follow(pool, borrower->stream);
	for (uint32_t i = POOL_SHARED + 1; status == PHILOX_OK && i < n; i++)
		if (lends[i])
			status = wait_for(borrower,
					  stream_of(borrower, i)->stream);
	for (uint32_t i = 0; status == PHILOX_OK && i < n; i++)
		if (lends[i])
			take_over(borrower, i);
	return status == PHILOX_OK;
}

/* SHARED's alone, then all there is; then without SHARED's, which may be BUSY. */
static int borrow_of_several(const struct borrower *borrower)
{
	const uint32_t n = (uint32_t)borrower->pool->n_streams + 1;
	const unsigned char shared = (unsigned char)shared_may_lend(borrower);
	unsigned char *lends = calloc(n, 1);
	int found;

	if (!lends)
		return 0;
	lends[POOL_SHARED] = shared;
	found = shared && borrow_of(borrower, lends, 1);
	for (int with = shared; !found && with >= 0; with--) {
		lends[POOL_SHARED] = (unsigned char)with;
		list_lenders(borrower, lends, n);
		found = borrow_of(borrower, lends, n);
	}
	free(lends);
	return found;
}

int pool_borrow(struct philox_pool *pool, philox_stream stream,
		const struct capture_info *info, struct pool_request *request)
{
	const struct borrower borrower = {pool, stream, info, request};

	return !(pool->flags & PHILOX_POOL_STRICT) &&
	       (borrow_of_one(&borrower) || borrow_of_several(&borrower));
}
