/*
 * graph/pool/marks.c - memory of a pool that nobody may use
 *
 * See Marks in Note [Pools], graph/pool/pool.h. With the pool's lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include "graph/pool/pool.h"
#include "lib/device/device.h"

struct range pool_range_of(const struct philox_pool *pool,
			   const struct pool_block *block)
{
	const int margin = block->live && pool->flags & PHILOX_POOL_GUARDS;
	const uintptr_t begin =
		(uintptr_t)block->address - (margin ? POOL_UNIT : 0);

	return (struct range){begin, begin + block->bytes};
}

void pool_mark_used(const struct philox_pool *pool, struct range range)
{
	if (pool->marked)
		device_mark_used(pool_device(pool), range);
}

void pool_mark_free(const struct philox_pool *pool, struct range range,
		    const char *why)
{
	struct range left = range, gap;

	while (pool->marked) {
		gap = ranges_gap(&pool->put_away, left);
		if (range_is_empty(gap))
			break;
		device_mark_free(pool_device(pool), gap, why);
		left.begin = gap.end;
	}
}

/* --- blocks ----------------------------------------------------------------- */

void pool_mark_taken(const struct philox_pool *pool,
		     const struct pool_block *block)
{
	if (pool->marked)
		pool_mark_used(pool, pool_range_of(pool, block));
}

void pool_mark_freed(const struct philox_pool *pool,
		     const struct pool_block *block)
{
	char why[192];

	if (!pool->marked)
		return;
	snprintf(why, sizeof(why),
		 "block %" PRIu64 " with tag '%s' of pool '%s' was freed",
		 block->id, block->tag, pool->name);
	pool_mark_free(pool, pool_range_of(pool, block), why);
}

/* --- all of it -------------------------------------------------------------- */

static void mark_no_block(const struct philox_pool *pool, struct range range)
{
	char why[96];

	snprintf(why, sizeof(why), "no block of pool '%s' is there",
		 pool->name);
	pool_mark_free(pool, range, why);
}

static void mark_block(void *user, const struct pool_block *block)
{
	const struct philox_pool *pool = user;

	if (block->live)
		pool_mark_taken(pool, block);
	else
		mark_no_block(pool, pool_range_of(pool, block));
}

/* What was put away may have been marked before. */
void pool_mark_all(struct philox_pool *pool)
{
	if (!pool->marked)
		return;
	pool_walk_blocks(pool->blocks, mark_block, pool);
	for (size_t i = 0; i < pool->put_away.n; i++)
		pool_mark_used(pool, pool->put_away.items[i]);
}

void pool_mark_grown(struct philox_pool *pool)
{
	struct pool_extent grown;
	uintptr_t begin;

	if (!pool->marked || !pool_newest_extent(pool->blocks, &grown))
		return;
	begin = (uintptr_t)grown.address;
	mark_no_block(pool, (struct range){begin, begin + grown.bytes});
}

/* --- restores --------------------------------------------------------------- */

/* Without memory for what may be used nothing is refused any more. */
static void put_away(void *user, const struct pool_block *block)
{
	struct philox_pool *pool = user;

	if (!block->live || !pool->marked ||
	    ranges_add(&pool->put_away, pool_range_of(pool, block)))
		return;
	ranges_finish(&pool->put_away);
	pool_walk_blocks(pool->blocks, mark_block, pool);
	pool->marked = 0;
}

static void take_back(void *user, const struct pool_block *block)
{
	struct philox_pool *pool = user;

	if (block->live)
		ranges_remove(&pool->put_away, pool_range_of(pool, block));
}

void pool_mark_put_away(struct philox_pool *pool)
{
	if (pool->marked && !pool->runner && pool->n_kept)
		pool_walk_blocks(pool->blocks, put_away, pool);
}

void pool_mark_restored(struct philox_pool *pool)
{
	if (!pool->marked)
		return;
	pool_walk_blocks(pool->blocks, take_back, pool);
	pool_mark_all(pool);
}

void pool_mark_no_graphs(struct philox_pool *pool)
{
	if (!pool->put_away.n || pool->captures)
		return;
	ranges_finish(&pool->put_away);
	pool_mark_all(pool);
}
