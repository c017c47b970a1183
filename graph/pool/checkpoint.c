/*
 * graph/pool/checkpoint.c - checkpoints of a pool's blocks
 */
#include <stdlib.h>
#include "graph/pool/pool.h"
#include "lib/state/state.h"

struct philox_pool_checkpoint {
	struct pool_checkpoint *blocks;
};

enum philox_status pool_keep_blocks(struct philox_pool *pool,
				    struct pool_checkpoint **blocks)
{
	enum philox_status status;

	pool_settle(pool);
	status = pool_is_idle(pool);
	if (status != PHILOX_OK)
		return status;
	status = pool_checkpoint(pool->blocks, blocks);
	if (status != PHILOX_OK)
		return status_prefix(status, "pool '%s': ", pool->name);
	pool->checkpoints++;
	pool_journal(pool, EVENT("pool-checkpoint", POOL_CHECKPOINT),
		     journal_name(pool->name).text,
		     pool_checkpoint_blocks(*blocks));
	return PHILOX_OK;
}

static enum philox_status make_checkpoint(struct philox_pool *pool,
					  struct philox_pool_checkpoint **out)
{
	struct philox_pool_checkpoint *made = calloc(1, sizeof(*made));
	enum philox_status status;

	if (!made)
		return status_set(PHILOX_ERROR_MEMORY,
				  "pool '%s': no memory for a checkpoint",
				  pool->name);
	pool_lock(pool);
	status = pool_keep_blocks(pool, &made->blocks);
	pool_unlock(pool);
	if (status == PHILOX_OK)
		*out = made;
	else
		free(made);
	return status;
}

enum philox_status philox_pool_checkpoint_create(
	struct philox_pool *pool, struct philox_pool_checkpoint **checkpoint)
{
	if (!pool)
		return context_null(NULL, "pool");
	if (!checkpoint)
		return context_null(pool->context, "checkpoint");
	NEED_PROCESS(pool->context);
	return pool_report(pool, make_checkpoint(pool, checkpoint), 0);
}

enum philox_status philox_pool_checkpoint_destroy(
	struct philox_pool_checkpoint *checkpoint)
{
	if (!checkpoint)
		return PHILOX_OK;
	pool_checkpoint_free(checkpoint->blocks);
	free(checkpoint);
	return PHILOX_OK;
}

/* --- restoring, with the pool's lock --------------------------------------- */

static void note_restored(struct philox_pool *pool, size_t freed,
			  size_t revived)
{
	struct pool_figures figures;

	pool_figures(pool->blocks, &figures);
	pool_journal(pool, EVENT("pool-restore", POOL_RESTORE),
		     journal_name(pool->name).text, figures.blocks, freed,
		     revived);
}

enum philox_status pool_put_back(struct philox_pool *pool,
				 const struct pool_checkpoint *checkpoint,
				 const struct pool_ids *ids)
{
	size_t freed, revived;
	enum philox_status status;

	pool_settle(pool);
	status = pool_is_idle(pool);
	if (status != PHILOX_OK)
		return status;
	pool_mark_put_away(pool);
	status = pool_restore(pool->blocks, checkpoint, POOL_SHARED, ids->live,
			      ids->n_live, ids->dead, ids->n_dead, &freed,
			      &revived);
	pool_mark_restored(pool);
	pool_filled_revived(pool);
	if (status == PHILOX_ERROR_BUSY)
		return status_set(
			status,
			"pool '%s': memory was freed, or taken from "
			"the device, on another stream than that of "
			"its last launch: see philox_pool_join_streams()",
			pool->name);
	if (status != PHILOX_OK)
		return status_prefix(status, "pool '%s': ", pool->name);
	note_restored(pool, freed, revived);
	return PHILOX_OK;
}

enum philox_status philox_pool_restore(
	struct philox_pool *pool,
	const struct philox_pool_checkpoint *checkpoint, const uint64_t *live,
	size_t n_live, const uint64_t *dead, size_t n_dead)
{
	const struct pool_ids ids = {live, dead, n_live, n_dead};
	enum philox_status status;

	if (!pool)
		return context_null(NULL, "pool");
	if (!checkpoint || (n_live && !live) || (n_dead && !dead))
		return context_null(pool->context, !checkpoint ? "checkpoint"
						   : n_live && !live ? "live"
								     : "dead");
	NEED_PROCESS(pool->context);
	status = pool_refuse_owned(pool);
	if (status != PHILOX_OK)
		return pool_report(pool, status, 0);
	pool_lock(pool);
	status = pool_put_back(pool, checkpoint->blocks, &ids);
	pool_unlock(pool);
	if (status == PHILOX_OK)
		pool_unmap_free(pool);
	return pool_report(pool, status, 0);
}
