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

/* A call for memory, on a stream with that capture. */
struct asking {
	struct philox_pool *pool;
	philox_stream stream;
	struct capture_info info;
	struct pool_request request;
};

/* Takes from the device, then from other streams. */
static enum philox_status take_more(struct asking *asking,
				    struct pool_block *block)
{
	struct philox_pool *pool = asking->pool;
	struct pool_request *request = &asking->request;
	struct status_message kept;
	enum philox_status status;

	status = pool_grow_for(pool, request);
	if (status == PHILOX_OK)
		return pool_take(pool->blocks, request, block);
	if (!is_used_up(status))
		return status;
	kept = status_kept();
	if (pool_borrow(pool, asking->stream, &asking->info, request))
		return pool_take(pool->blocks, request, block);
	status_restore(&kept);
	return status;
}

/* Takes from what is mapped first. */
static enum philox_status take(struct asking *asking, struct pool_block *block)
{
	enum philox_status status =
		pool_take(asking->pool->blocks, &asking->request, block);

	return status == PHILOX_NOT_READY ? take_more(asking, block) : status;
}

/* Whether blocks are marked or painted. */
static inline int has_care(const struct philox_pool *pool)
{
	return pool->marked || pool->fills ||
	       pool->flags & (PHILOX_POOL_GUARDS | PHILOX_POOL_FILL);
}

static enum philox_status paint_or_put(struct philox_pool *pool,
				       philox_stream stream,
				       const struct pool_request *request,
				       const struct pool_block *block)
{
	struct status_message kept;
	enum philox_status status;

	pool_mark_taken(pool, block);
	pool_filled_taken(pool, block);
	status = pool_paint(pool, stream, block);

	if (status == PHILOX_OK)
		return PHILOX_OK;
	kept = status_kept();
	pool_put(pool->blocks, pool_locate(pool->blocks, block->address),
		 request->shared ? POOL_SHARED : request->owner);
	pool_mark_freed(pool, block);
	status_restore(&kept);
	return status;
}

static void journal_block(const struct philox_pool *pool, const char *event,
			  const struct pool_block *block)
{
	if (!pool->context_locked)
		return;
	pool_journal(pool, EVENT("pool-%s", POOL_BLOCK), event,
		     journal_name(pool->name).text, block->segment,
		     block->offset, block->size, journal_name(block->tag).text);
}

/* As a rule it is the last stream, outside sessions and captures. */
static inline int is_as_a_rule(const struct philox_pool *pool,
			       philox_stream stream,
			       const struct capture_info *info)
{
	return !pool->session && !info->id && pool->turn == TURN_FREE &&
	       pool_is_last_stream(pool, stream);
}

/* SHARED's memory is for sessions and, outside of them, the last stream. */
static enum philox_status find_owner(struct philox_pool *pool,
				     philox_stream stream,
				     const struct capture_info *info,
				     struct pool_request *request)
{
	enum philox_status status;

	request->owner = POOL_SHARED;
	request->shared = 1;
	if (is_as_a_rule(pool, stream, info))
		return PHILOX_OK;
	pool_settle(pool);
	status = pool_admit(pool, info);
	if (status != PHILOX_OK)
		return status;
	request->shared = pool_may_share(pool, stream);
	return pool_owner(pool, stream, &request->owner);
}

static enum philox_status allocate(struct asking *asking,
				   struct pool_block *block)
{
	struct philox_pool *pool = asking->pool;
	enum philox_status status;

	pool_lock(pool);
	status = find_owner(pool, asking->stream, &asking->info,
			    &asking->request);
	if (status != PHILOX_OK)
		goto unlock;
	status = take(asking, block);
	if (status == PHILOX_OK && has_care(pool))
		status = paint_or_put(pool, asking->stream, &asking->request,
				      block);
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
static enum philox_status allocate_again(struct asking *asking,
					 struct pool_block *block)
{
	const struct philox_pool *pool = asking->pool;
	const struct pool_request *request = &asking->request;
	char pools[400];
	enum philox_status status;

	if (!asking->info.id) {
		pools_give_back(pool->context, pool);
		status = allocate(asking, block);
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
	const struct status_message kept = status_kept();
	struct pool_block taken;
	struct asking asking;
	enum philox_status status;

	if (!block)
		return context_null(pool->context, "block");
	NEED_PROCESS(pool->context);
	status = name_is_plain(tag)
			 ? PHILOX_OK
			 : name_check(tag, "pool '%s': tag", pool->name);
	if (status != PHILOX_OK)
		return pool_report(pool, status, bytes);
	asking.pool = pool;
	asking.stream = stream;
	asking.request = (struct pool_request){
		.size = bytes, .alignment = alignment, .tag = tag};
	status = device_ask_capture(pool_device(pool), stream, &asking.info);
	if (status != PHILOX_OK)
		return pool_report(pool, pool_says(pool, status), bytes);
	status = allocate(&asking, &taken);
	if (status == PHILOX_ERROR_MEMORY)
		status = allocate_again(&asking, &taken);
	if (status != PHILOX_OK)
		return pool_report(pool, status, bytes);
	if (asking.info.id)
		pool_step_note(pool, &asking.info, PROGRAM_ALLOC, &taken,
			       alignment);
	*block =
		(struct philox_pool_block){taken.id, taken.address, taken.size};
	if (status_is_other(&kept)) /* it may have taken two attempts */
		status_restore(&kept);
	return pool_report(pool, PHILOX_OK, bytes);
}

static void note_freed(struct philox_pool *pool,
		       const struct capture_info *info,
		       const struct pool_block *freed)
{
	pool_mark_freed(pool, freed);
	if (!info->id)
		pool_filled(pool, freed);
}

/* With the pool's lock. */
static enum philox_status put_block(struct philox_pool *pool,
				    philox_stream stream,
				    const struct capture_info *info,
				    void *address, struct pool_block *shown)
{
	const int as_a_rule = is_as_a_rule(pool, stream, info);
	struct block *block;
	uint32_t owner = POOL_SHARED;
	enum philox_status status = PHILOX_OK;

	if (!as_a_rule) {
		pool_settle(pool);
		status = pool_admit(pool, info);
	}
	if (status != PHILOX_OK)
		return status;
	block = pool_locate(pool->blocks, address);
	if (!block)
		return pool_says(pool, PHILOX_ERROR_INVALID);
	if (has_care(pool) || pool->context_locked || info->id)
		pool_show(pool->blocks, block, shown);
	if (has_care(pool))
		status = pool_wipe(pool, stream, shown);
	if (status == PHILOX_OK && !as_a_rule) {
		pool_note_free(pool, stream);
		status = pool_owner(pool, stream, &owner);
	}
	if (status == PHILOX_OK)
		status = pool_put(pool->blocks, block, owner);
	if (status != PHILOX_OK)
		return pool_says(pool, status);
	pool->touched |= as_a_rule;
	if (has_care(pool))
		note_freed(pool, info, shown);
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
	if (status == PHILOX_OK && info.id)
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
