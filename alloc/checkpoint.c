/*
 * alloc/checkpoint.c - see alloc/pool.h: checkpoints are made and freed
 */
#include <stdlib.h>
#include "alloc/checkpoint.h"
#include "alloc/inner.h"
#include "lib/base/status.h"

static void save_block(struct pool_checkpoint *checkpoint,
		       const struct block *block)
{
	checkpoint->blocks[checkpoint->n++] =
		(struct saved_block){.id = block->id,
				     .place = block->place,
				     .units = block->units,
				     .size = block->size,
				     .session = block->owner,
				     .tag = block->tag};
	tags_hold(checkpoint->tags, block->tag);
}

enum philox_status pool_checkpoint(const struct pool *pool,
				   struct pool_checkpoint **result)
{
	size_t n = pool->blocks.live.count;
	struct pool_checkpoint *checkpoint =
		malloc(sizeof(*checkpoint) + n * sizeof(*checkpoint->blocks));

	if (!checkpoint)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a checkpoint of %zu block%s",
				  n, status_s(n));
	*checkpoint = (struct pool_checkpoint){.serial = pool->serial,
					       .trims = pool->extents.trims,
					       .tags = pool->tags};
	tags_share(pool->tags);
	for (const struct block *block = pool->blocks.first; block;
	     block = block->after)
		if (block->id)
			save_block(checkpoint, block);
	*result = checkpoint;
	return PHILOX_OK;
}

void pool_checkpoint_free(struct pool_checkpoint *checkpoint)
{
	if (!checkpoint)
		return;
	for (size_t i = 0; i < checkpoint->n; i++)
		tags_drop(checkpoint->tags, checkpoint->blocks[i].tag);
	tags_release(checkpoint->tags);
	free(checkpoint);
}

size_t pool_checkpoint_blocks(const struct pool_checkpoint *checkpoint)
{
	return checkpoint->n;
}
