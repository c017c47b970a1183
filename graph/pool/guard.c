/*
 * graph/pool/guard.c - guards around blocks, and patterns in them
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "lib/device/device.h"

#define GUARD 0xa5

/* The guards before and after a block; the second one takes what rounding adds. */
struct guards {
	char *before, *after;
	size_t after_bytes;
};

static struct guards guards_of(const struct pool_block *block)
{
	char *address = block->address;
	char *begin = address - POOL_UNIT;

	return (struct guards){
		begin, address + block->size,
		(size_t)(begin + block->bytes - (address + block->size))};
}

enum philox_status pool_paint(struct philox_pool *pool, philox_stream stream,
			      const struct pool_block *block)
{
	struct philox_device *device = pool_device(pool);
	enum philox_status status = pool_fill_block(pool, stream, block);
	struct guards guards;

	if (!(pool->flags & PHILOX_POOL_GUARDS) || status != PHILOX_OK)
		return status;
	guards = guards_of(block);
	status = philox_memory_set(device, stream, guards.before, GUARD,
				   POOL_UNIT);
	if (status == PHILOX_OK)
		status = philox_memory_set(device, stream, guards.after, GUARD,
					   guards.after_bytes);
	return status;
}

enum philox_status pool_wipe(struct philox_pool *pool, philox_stream stream,
			     const struct pool_block *block)
{
	return pool_fill_block(pool, stream, block);
}

/* --- looking at guards ------------------------------------------------------ */

/* Copies of the guards of all blocks, one after the other. */
struct guard_copies {
	struct philox_pool *pool;
	philox_stream stream;
	unsigned char *bytes; /* NULL: only the size is wanted */
	size_t size;
	enum philox_status status;
};

static void copy_guard(struct guard_copies *copies, const char *guard,
		       size_t bytes)
{
	if (copies->bytes && copies->status == PHILOX_OK)
		copies->status = philox_memory_copy(
			pool_device(copies->pool), copies->stream,
			copies->bytes + copies->size, guard, bytes);
	copies->size += bytes;
}

static void copy_guards(void *user, const struct pool_block *block)
{
	struct guards guards;

	if (!block->live)
		return;
	guards = guards_of(block);
	copy_guard(user, guards.before, POOL_UNIT);
	copy_guard(user, guards.after, guards.after_bytes);
}

static enum philox_status say_written(const struct guard_copies *copies,
				      const struct pool_block *block,
				      size_t distance, const char *where)
{
	return status_set(PHILOX_ERROR_STATE,
			  "pool '%s': memory was written %zu byte%s %s block "
			  "%" PRIu64 " with tag '%s' and %zu bytes",
			  copies->pool->name, distance, status_s(distance),
			  where, block->id, block->tag, block->size);
}

/* The byte next to the block is at distance 1. */
static void look_before(struct guard_copies *copies,
			const struct pool_block *block)
{
	const unsigned char *guard = copies->bytes + copies->size;
	size_t i = POOL_UNIT;

	while (i && guard[i - 1] == GUARD)
		i--;
	if (i)
		copies->status =
			say_written(copies, block, POOL_UNIT - i + 1, "before");
	copies->size += POOL_UNIT;
}

static void look_after(struct guard_copies *copies,
		       const struct pool_block *block, size_t bytes)
{
	const unsigned char *guard = copies->bytes + copies->size;
	size_t i = 0;

	while (i < bytes && guard[i] == GUARD)
		i++;
	if (i < bytes)
		copies->status =
			say_written(copies, block, i + 1, "after the end of");
	copies->size += bytes;
}

static void look_at_guards(void *user, const struct pool_block *block)
{
	struct guard_copies *copies = user;

	if (!block->live)
		return;
	if (copies->status == PHILOX_OK)
		look_before(copies, block);
	if (copies->status == PHILOX_OK)
		look_after(copies, block, guards_of(block).after_bytes);
}

static enum philox_status look(struct guard_copies *copies)
{
	struct pool *blocks = copies->pool->blocks;
	enum philox_status status;

	pool_walk_blocks(blocks, copy_guards, copies);
	copies->bytes = malloc(copies->size + 1);
	if (!copies->bytes)
		return status_set(PHILOX_ERROR_MEMORY,
				  "pool '%s': no memory to check its zones",
				  copies->pool->name);
	copies->size = 0;
	pool_walk_blocks(blocks, copy_guards, copies);
	status = philox_stream_synchronize(pool_device(copies->pool),
					   copies->stream);
	if (copies->status == PHILOX_OK)
		copies->status = status;
	copies->size = 0;
	if (copies->status == PHILOX_OK)
		pool_walk_blocks(blocks, look_at_guards, copies);
	free(copies->bytes);
	return copies->status;
}

/* With the pool's lock. */
static enum philox_status check_pool(struct philox_pool *pool,
				     philox_stream stream)
{
	struct guard_copies copies = {.pool = pool, .stream = stream};
	enum philox_status status = PHILOX_OK;

	pool_settle(pool);
	if (pool->session && pool->session->capture)
		status = pool_is_idle(pool);
	if (status == PHILOX_OK && pool->flags & PHILOX_POOL_GUARDS)
		status = look(&copies);
	return status == PHILOX_OK ? pool_check_filled(pool, stream) : status;
}

enum philox_status philox_pool_check(struct philox_pool *pool,
				     philox_stream stream)
{
	enum philox_status status;

	if (!pool)
		return context_null(NULL, "pool");
	NEED_PROCESS(pool->context);
	status = device_refuse_capture(pool_device(pool), stream);
	if (status != PHILOX_OK)
		return pool_report(
			pool, status_prefix(status, "pool '%s': ", pool->name),
			0);
	pool_refresh(pool);
	pool_lock(pool);
	status = check_pool(pool, stream);
	pool_unlock(pool);
	return pool_report(pool, status, 0);
}
