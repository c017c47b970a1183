/*
 * graph/pool/blocks.c - blocks: allocated, freed, found
 */
#include <stdio.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "lib/base/base.h"
#include "lib/device/device.h"
#include "lib/state/state.h"

/* The size of the struct's first version. */
#define INFO_SIZE_FIRST OPTIONS_FIRST(struct philox_pool_block_info, tag)
OPTIONS_NO_PADDING(struct philox_pool_block_info, tag);

static enum philox_status pool_says(const struct philox_pool *pool,
				    enum philox_status status)
{
	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status, "pool '%s': ", pool->name);
}

/* --- allocating, with the pool's lock -------------------------------------- */

static int is_used_up(enum philox_status status)
{
	return status == PHILOX_ERROR_MEMORY || status == PHILOX_ERROR_LIMIT;
}

/* Takes from what is mapped, then from the device, then from other streams. */
static enum philox_status take(struct philox_pool *pool, philox_stream stream,
			       const struct capture_info *info,
			       struct pool_request *request,
			       struct pool_block *block)
{
	struct status_message kept;
	enum philox_status status;

	status = pool_take(pool->blocks, request, block);
	if (status != PHILOX_NOT_READY)
		return status;
	status = pool_grow_for(pool, request);
	if (status == PHILOX_OK)
		return pool_take(pool->blocks, request, block);
	if (!is_used_up(status))
		return status;
	kept = status_kept();
	if (pool_borrow(pool, stream, info, request))
		return pool_take(pool->blocks, request, block);
	status_restore(&kept);
	return status;
}

static enum philox_status paint_or_put(struct philox_pool *pool,
				       philox_stream stream,
				       const struct pool_request *request,
				       const struct pool_block *block)
{
	struct status_message kept;
	struct pool_block gone;
	enum philox_status status = pool_paint(pool, stream, block);

	if (status == PHILOX_OK)
		return PHILOX_OK;
	kept = status_kept();
	pool_put(pool->blocks, pool_locate(pool->blocks, block->address, &gone),
		 request->shared ? POOL_SHARED : request->owner);
	pool_mark_freed(pool, block);
	status_restore(&kept);
	return status;
}

static void journal_block(const struct philox_pool *pool, const char *event,
			  const struct pool_block *block)
{
	pool_journal(pool, EVENT("pool-%s", POOL_BLOCK), event,
		     journal_name(pool->name).text, block->segment,
		     block->offset, block->size, journal_name(block->tag).text);
}

/* SHARED's memory is for sessions and, outside of them, the last stream. */
static enum philox_status allocate(struct philox_pool *pool,
				   philox_stream stream,
				   const struct capture_info *info,
				   struct pool_request *request,
				   struct pool_block *block)
{
	enum philox_status status;

	pool_lock(pool);
	pool_settle(pool);
	status = pool_admit(pool, info);
	if (status != PHILOX_OK)
		goto unlock;
	request->shared = pool_may_share(pool, stream);
	status = pool_owner(pool, stream, &request->owner);
	if (status == PHILOX_OK)
		status = take(pool, stream, info, request, block);
	if (status == PHILOX_OK) {
		pool_mark_taken(pool, block);
		pool_filled_taken(pool, block);
		status = paint_or_put(pool, stream, request, block);
	}
	if (status == PHILOX_OK)
		journal_block(pool, "alloc", block);
	else
		pool_says(pool, status);
unlock:
	pool_unlock(pool);
	return status;
}

/* --- when all memory is used up -------------------------------------------- */

/* Outside captures what other pools need no more is given back first. */
static enum philox_status allocate_again(struct philox_pool *pool,
					 philox_stream stream,
					 const struct capture_info *info,
					 struct pool_request *request,
					 struct pool_block *block)
{
	char pools[400];
	enum philox_status status;

	if (!info->id) {
		pools_give_back(pool->context, pool);
		status = allocate(pool, stream, info, request, block);
		if (status != PHILOX_ERROR_MEMORY)
			return status;
	}
	pools_list(pool->context, pools, sizeof(pools));
	return status_set(PHILOX_ERROR_MEMORY,
			  "pool '%s', tag '%s': no memory for %zu bytes; %s",
			  pool->name, request->tag ? request->tag : "",
			  request->size, pools);
}

/* --- one block ------------------------------------------------------------- */

enum philox_status pool_take_block(struct philox_pool *pool,
				   philox_stream stream, size_t bytes,
				   size_t alignment, const char *tag,
				   struct philox_pool_block *block)
{
	struct pool_request request = {
		.size = bytes, .alignment = alignment, .tag = tag};
	const struct status_message kept = status_kept();
	struct pool_block taken;
	struct capture_info info;
	enum philox_status status;

	if (!block)
		return context_null(pool->context, "block");
	NEED_PROCESS(pool->context);
	status = name_check(tag, "pool '%s': tag", pool->name);
	if (status != PHILOX_OK)
		return pool_report(pool, status, bytes);
	status = device_ask_capture(pool_device(pool), stream, &info);
	if (status != PHILOX_OK)
		return pool_report(pool, pool_says(pool, status), bytes);
	status = allocate(pool, stream, &info, &request, &taken);
	if (status == PHILOX_ERROR_MEMORY)
		status = allocate_again(pool, stream, &info, &request, &taken);
	if (status == PHILOX_OK) {
		pool_step_note(pool, &info, PROGRAM_ALLOC, &taken, alignment);
		*block = (struct philox_pool_block){taken.id, taken.address,
						    taken.size};
		status_restore(&kept); /* it may have taken two attempts */
	}
	return pool_report(pool, status, bytes);
}

/* With the pool's lock. */
static enum philox_status put_block(struct philox_pool *pool,
				    philox_stream stream,
				    const struct capture_info *info,
				    void *address, struct pool_block *shown)
{
	struct block *block;
	uint32_t owner;
	enum philox_status status;

	pool_settle(pool);
	status = pool_admit(pool, info);
	if (status != PHILOX_OK)
		return status;
	block = pool_locate(pool->blocks, address, shown);
	if (!block)
		return pool_says(pool, PHILOX_ERROR_INVALID);
	status = pool_wipe(pool, stream, shown);
	if (status == PHILOX_OK) {
		pool_note_free(pool, stream);
		status = pool_owner(pool, stream, &owner);
	}
	if (status == PHILOX_OK)
		status = pool_put(pool->blocks, block, owner);
	if (status != PHILOX_OK)
		return pool_says(pool, status);
	pool_mark_freed(pool, shown);
	if (!info->id)
		pool_filled(pool, shown);
	journal_block(pool, "free", shown);
	return PHILOX_OK;
}

enum philox_status pool_free_block(struct philox_pool *pool,
				   philox_stream stream, void *address)
{
	struct capture_info info;
	struct pool_block freed;
	enum philox_status status;

	if (!address)
		return PHILOX_OK;
	NEED_PROCESS(pool->context);
	status = device_ask_capture(pool_device(pool), stream, &info);
	if (status != PHILOX_OK)
		return pool_report(pool, pool_says(pool, status), 0);
	pool_lock(pool);
	status = put_block(pool, stream, &info, address, &freed);
	pool_unlock(pool);
	if (status == PHILOX_OK)
		pool_step_note(pool, &info, PROGRAM_FREE, &freed, 0);
	if (status == PHILOX_OK && !info.id)
		pool_unmap_free(pool);
	return pool_report(pool, status, 0);
}

/* --- public ---------------------------------------------------------------- */

enum philox_status philox_pool_alloc(struct philox_pool *pool,
				     philox_stream stream, size_t bytes,
				     size_t alignment, const char *tag,
				     struct philox_pool_block *block)
{
	enum philox_status status;

	if (!pool)
		return context_null(NULL, "pool");
	status = pool_refuse_owned(pool);
	if (status != PHILOX_OK)
		return pool_report(pool, status, bytes);
	return pool_take_block(pool, stream, bytes, alignment, tag, block);
}

enum philox_status philox_pool_free(struct philox_pool *pool,
				    philox_stream stream, void *address)
{
	enum philox_status status;

	if (!pool)
		return context_null(NULL, "pool");
	status = address ? pool_refuse_owned(pool) : PHILOX_OK;
	return status == PHILOX_OK ? pool_free_block(pool, stream, address)
				   : pool_report(pool, status, 0);
}

enum philox_status philox_pool_find(struct philox_pool *pool,
				    const void *address,
				    struct philox_pool_block_info *info)
{
	struct philox_pool_block_info found = {0};
	struct pool_block block;
	enum philox_status status;
	int live;

	if (!pool)
		return context_null(NULL, "pool");
	if (!info)
		return context_null(pool->context, "info");
	NEED_PROCESS(pool->context);
	status = options_check_room("info", info->size, INFO_SIZE_FIRST,
				    sizeof(found));
	if (status != PHILOX_OK)
		return pool_report(pool, status, 0);
	pool_refresh(pool);
	pool_lock(pool);
	pool_settle(pool);
	live = pool_find(pool->blocks, address, &block);
	pool_unlock(pool);
	if (!live)
		return pool_report(pool,
				   status_set(PHILOX_ERROR_NOT_FOUND,
					      "pool '%s': %p is in no live "
					      "block of it",
					      pool->name, address),
				   0);
	found.id = block.id;
	found.base = block.address;
	found.bytes = block.size;
	found.segment = block.segment;
	found.offset = block.offset;
	memcpy(found.tag, block.tag, sizeof(found.tag));
	options_write(info, &found, sizeof(found));
	return pool_report(pool, PHILOX_OK, 0);
}

enum philox_status philox_pool_is_live(struct philox_pool *pool,
				       const uint64_t *ids, size_t n, int *live)
{
	if (!pool)
		return context_null(NULL, "pool");
	if (!live || (n && !ids))
		return context_null(pool->context, live ? "ids" : "live");
	NEED_PROCESS(pool->context);
	pool_refresh(pool);
	pool_lock(pool);
	pool_settle(pool);
	*live = pool_is_live(pool->blocks, ids, n);
	pool_unlock(pool);
	return pool_report(pool, PHILOX_OK, 0);
}
