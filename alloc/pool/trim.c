/*
 * alloc/pool/trim.c - see alloc/pool/pool.h: what goes back to the device
 */
#include "alloc/pool/check.h"
#include "alloc/pool/order.h"
#include "alloc/pool/room.h"
#include "alloc/pool/session.h"
#include "lib/base/status.h"

uint64_t pool_newest(const struct pool *pool)
{
	return pool->extents.last_number;
}

/* No live block lies in it, and no session may bring one back there. */
static int is_wholly_free(const struct pool *pool, const struct extent *extent)
{
	const struct block *block = order_at(&pool->blocks, extent->place);

	for (; block && block->place < extent->place + extent->units;
	     block = block->after)
		if (block->id)
			return 0;
	return !session_needs(pool, extent);
}

enum philox_status pool_trim(struct pool *pool, uint64_t pinned, size_t enough,
			     size_t *trimmed)
{
	struct extent *extent = pool->extents.newest, *older;
	enum philox_status status = PHILOX_OK;
	size_t bytes;

	*trimmed = 0;
	for (; extent && extent->number > pinned && *trimmed < enough;
	     extent = older) {
		older = extent->older;
		if (!is_wholly_free(pool, extent))
			continue;
		if (!room_reserve(&pool->blocks, 1, 0, 0)) {
			status = status_set(PHILOX_ERROR_MEMORY,
					    "no memory to record free memory");
			break;
		}
		bytes = extent->units * POOL_UNIT;
		status = extents_unmap(&pool->extents, &pool->blocks, extent);
		if (status != PHILOX_OK)
			break;
		*trimmed += bytes;
	}
	check_now_and_then(pool);
	return status;
}
