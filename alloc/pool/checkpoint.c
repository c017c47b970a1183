/*
 * alloc/pool/checkpoint.c - see alloc/pool/pool.h: checkpoints are made and freed
 */
#include <stdlib.h>
#include "alloc/pool/checkpoint.h"
#include "alloc/pool/inner.h"
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

/* --- joining --------------------------------------------------------------- */

/* Of sorted ids: SIZE_MAX if it is none of them. */
static size_t find_sorted(const uint64_t *ids, size_t n, uint64_t id)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && ids[low] == id ? low : SIZE_MAX;
}

static int by_place(const void *one, const void *other)
{
	const struct saved_block *a = one, *b = other;

	return (a->place > b->place) - (a->place < b->place);
}

static void join_part(struct pool_checkpoint *joined,
		      const struct pool_checkpoint *part, const uint64_t *ids,
		      size_t n, char *taken)
{
	for (size_t i = 0; i < part->n; i++) {
		size_t k = find_sorted(ids, n, part->blocks[i].id);

		if (k == SIZE_MAX || taken[k])
			continue;
		taken[k] = 1;
		joined->blocks[joined->n++] = part->blocks[i];
		tags_hold(joined->tags, part->blocks[i].tag);
	}
}

enum philox_status pool_checkpoint_join(
	const struct pool_checkpoint *const *parts, size_t n_parts,
	const uint64_t *ids, size_t n, struct pool_checkpoint **result)
{
	struct pool_checkpoint *joined =
		malloc(sizeof(*joined) + n * sizeof(*joined->blocks));
	char *taken = calloc(n + 1, 1);

	if (!joined || !taken) {
		free(joined);
		free(taken);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a checkpoint of %zu block%s",
				  n, status_s(n));
	}
	*joined = (struct pool_checkpoint){.serial = parts[0]->serial,
					   .tags = parts[0]->tags};
	tags_share(joined->tags);
	for (size_t i = 0; i < n_parts; i++) {
		join_part(joined, parts[i], ids, n, taken);
		if (parts[i]->trims > joined->trims)
			joined->trims = parts[i]->trims;
	}
	qsort(joined->blocks, joined->n, sizeof(*joined->blocks), by_place);
	free(taken);
	*result = joined;
	return PHILOX_OK;
}

size_t pool_checkpoint_blocks(const struct pool_checkpoint *checkpoint)
{
	return checkpoint->n;
}
