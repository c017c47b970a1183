/*
 * graph/pool/pool_order.c - streams that the caller has ordered
 */
#include "graph/pool/session.h"
#include "graph/pool/streams.h"
#include "lib/device/captures.h"
#include "lib/state/journal.h"

static enum philox_status ask_both(struct philox_pool *pool,
				   philox_stream before, philox_stream after,
				   struct capture_info *info)
{
	struct philox_device *device = pool_device(pool);
	struct capture_info first;
	enum philox_status status = device_ask_capture(device, before, &first);

	if (status == PHILOX_OK)
		status = device_ask_capture(device, after, info);
	if (status != PHILOX_OK)
		return status_prefix(status, "pool '%s': ", pool->name);
	if (first.id == info->id)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_CAPTURE_ISOLATION,
			  "pool '%s': the streams are not in one capture",
			  pool->name);
}

static enum philox_status order_owners(struct philox_pool *pool,
				       philox_stream before,
				       philox_stream after)
{
	uint32_t from, to;
	enum philox_status status = pool_owner(pool, before, &from);

	if (status == PHILOX_OK)
		status = pool_owner(pool, after, &to);
	if (status == PHILOX_OK && from != to) {
		pool_give(pool->blocks, from, to);
		pool->touched |= to == POOL_HOME;
	}
	return status;
}

static enum philox_status order_streams(struct philox_pool *pool,
					philox_stream before,
					philox_stream after,
					const struct capture_info *info)
{
	enum philox_status status;

	pool_settle(pool);
	status = pool_admit(pool, info);
	if (status != PHILOX_OK)
		return status;
	if (!pool->session && pool_is_home(pool, before))
		status = pool_move_home(pool, after);
	else
		status = order_owners(pool, before, after);
	if (status == PHILOX_OK)
		pool_journal(pool, "pool-order pool %s",
			     journal_name(pool->name).text);
	return status;
}

enum philox_status philox_pool_order(struct philox_pool *pool,
				     philox_stream before, philox_stream after)
{
	struct capture_info info;
	enum philox_status status;

	if (!pool)
		return context_null(NULL, "pool");
	NEED_PROCESS(pool->context);
	status = ask_both(pool, before, after, &info);
	if (status != PHILOX_OK)
		return pool_report(pool, status, 0);
	pool_lock(pool);
	status = order_streams(pool, before, after, &info);
	pool_unlock(pool);
	return pool_report(pool, status, 0);
}
