/*
 * alloc/pool/checkpoint.c - see alloc/pool/pool.h: checkpoints are made and
 * freed
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "alloc/pool/inner.h"
#include "lib/base/base.h"

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
	tags_hold(checkpoint->shared->tags, block->tag);
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
					       .shared = pool->shared};
	shared_clear(pool->shared);
	shared_hold(pool->shared);
	for (const struct block *block = pool->blocks.first; block;
	     block = block->after)
		if (block->id)
			save_block(checkpoint, block);
	*result = checkpoint;
	return PHILOX_OK;
}

void pool_checkpoint_free(struct pool_checkpoint *checkpoint)
{
	if (checkpoint)
		shared_end(checkpoint);
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
		tags_hold(joined->shared->tags, part->blocks[i].tag);
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
					   .shared = parts[0]->shared};
	shared_hold(joined->shared);
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

/* --- restore -------------------------------------------------------------- */

/*
 * see alloc/pool/pool.h: a pool becomes what its checkpoint says
 */

/* --- what the caller wants ------------------------------------------------ */

/* What is known of an id that the caller names. */
enum wish {
	WISH_LIVE = 1,
	WISH_DEAD,
	WISH_KNOWN /* live, in the checkpoint */
};

/* What becomes of a block of the checkpoint. */
enum wanted { NOT_WANTED, WANTED, WANTED_AND_LIVE };

/* A restore that is being checked. */
struct plan {
	struct pool *pool;
	const struct pool_checkpoint *checkpoint;
	struct map wishes;
	char *wanted;   /* by number in the checkpoint: enum wanted */
	uint64_t twice; /* an id that is named twice; 0: none */
	size_t known;
	size_t staying; /* of them, live */
};

/* Entries of maps are brought near so many steps before they are wanted. */
#define AHEAD 8

static enum wish wish_of(const struct plan *plan, uint64_t id)
{
	return (enum wish)(uintptr_t)map_value(&plan->wishes, id);
}

static void add_wishes(struct plan *plan, const uint64_t *ids, size_t n,
		       enum wish wish)
{
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			map_expect(&plan->wishes, ids[i + AHEAD]);
		if (wish_of(plan, ids[i]))
			plan->twice = ids[i];
		else
			map_put(&plan->wishes, ids[i], (void *)(uintptr_t)wish);
	}
}

static enum philox_status check_origin(const struct plan *plan)
{
	const struct pool *pool = plan->pool;

	if (pool->session.is_open)
		return status_set(PHILOX_ERROR_STATE,
				  "a session of the pool is open");
	if (plan->checkpoint->serial != pool->serial)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "the checkpoint is another pool's");
	if (plan->checkpoint->trims != pool->extents.trims)
		return status_set(PHILOX_ERROR_STALE,
				  "the pool was trimmed after the checkpoint");
	return PHILOX_OK;
}

static enum philox_status check_free_memory(const struct plan *plan,
					    uint32_t owner)
{
	const struct blocks *blocks = &plan->pool->blocks;
	size_t fine = owner_of(blocks, POOL_SHARED)->units != 0;

	fine += owner != POOL_SHARED && owner_of(blocks, owner)->units;
	if (blocks->n_owners == fine)
		return PHILOX_OK;
	for (uint32_t i = POOL_SHARED + 1; i < blocks->owners_end; i++)
		if (i != owner && blocks->owners[i].units)
			return status_set(
				PHILOX_ERROR_BUSY,
				"%" PRIu64 " bytes of free memory belong to "
				"owner %" PRIu32,
				blocks->owners[i].units * POOL_UNIT, i);
	return PHILOX_OK;
}

static enum philox_status check_known(struct plan *plan, const uint64_t *live,
				      size_t n_live)
{
	const struct saved_block *saved = plan->checkpoint->blocks;
	const size_t n = plan->checkpoint->n;
	struct map_entry *entry;

	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			map_expect(&plan->wishes, saved[i + AHEAD].id);
		entry = map_find(&plan->wishes, saved[i].id);
		if (!entry || (enum wish)(uintptr_t)entry->value != WISH_LIVE)
			continue;
		entry->value = (void *)(uintptr_t)WISH_KNOWN;
		plan->wanted[i] = WANTED;
		plan->known++;
	}
	for (size_t i = 0; plan->known < n_live && i < n_live; i++)
		if (wish_of(plan, live[i]) != WISH_KNOWN)
			return status_set(PHILOX_ERROR_NOT_FOUND,
					  "block %" PRIu64
					  " is not in the checkpoint",
					  live[i]);
	return PHILOX_OK;
}

/* Of an extent that was unmapped nothing is left. */
static enum philox_status check_mapped(const struct plan *plan)
{
	const struct pool *pool = plan->pool;

	for (size_t i = 0; pool->unmapped && i < plan->checkpoint->n; i++) {
		const struct saved_block *saved = &plan->checkpoint->blocks[i];
		uint64_t place = saved->place;
		const struct extent *extent;

		while (plan->wanted[i] && place < saved->place + saved->units) {
			extent = extents_at(&pool->extents, place);
			if (!extent)
				return status_set(PHILOX_ERROR_STALE,
						  "the memory of block %" PRIu64
						  " was unmapped after the "
						  "checkpoint",
						  saved->id);
			place = extent->place + extent->units;
		}
	}
	return PHILOX_OK;
}

static enum philox_status check_issued(const uint64_t *dead, size_t n_dead)
{
	for (size_t i = 0; i < n_dead; i++)
		if (!dead[i] || dead[i] > block_id_last())
			return status_set(PHILOX_ERROR_NOT_FOUND,
					  "there never was a block %" PRIu64,
					  dead[i]);
	return PHILOX_OK;
}

/* --- live blocks beside those of the checkpoint --------------------------- */

/* Goes through both in order of place. */
struct pair_walk {
	const struct pool_checkpoint *checkpoint;
	size_t next;
};

/* Whether a live block is in the checkpoint; blocks come in order of place. */
static int is_in_checkpoint(struct pair_walk *walk, const struct block *block)
{
	const struct saved_block *saved = walk->checkpoint->blocks;

	while (walk->next < walk->checkpoint->n &&
	       saved[walk->next].place < block->place)
		walk->next++;
	return walk->next < walk->checkpoint->n &&
	       saved[walk->next].id == block->id;
}

static void add_tag(char *list, size_t size, const char *tag)
{
	size_t length = strlen(list);

	snprintf(list + length, size - length, "%s'%s'", length ? ", " : "",
		 tag);
}

#define TAGS_NAMED 4

static enum philox_status check_unknown(struct plan *plan)
{
	const struct block *block = plan->pool->blocks.first;
	struct pair_walk walk = {plan->checkpoint, 0};
	char list[TAGS_NAMED * (POOL_TAG_SIZE + 4)] = "";
	size_t n = 0;

	for (; block; block = block->after) {
		if (!block->id)
			continue;
		if (is_in_checkpoint(&walk, block)) {
			plan->staying += plan->wanted[walk.next] != NOT_WANTED;
			continue;
		}
		if (wish_of(plan, block->id) == WISH_DEAD)
			continue;
		if (n++ < TAGS_NAMED)
			add_tag(list, sizeof(list),
				tags_text(plan->pool->tags, block->tag));
	}
	if (!n)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STATE,
			  "%zu block%s live that the checkpoint does not know, "
			  "and not said to be dead: %s%s",
			  n, n == 1 ? " is" : "s are", list,
			  n > TAGS_NAMED ? ", ..." : "");
}

static enum philox_status check_plan(struct plan *plan, uint32_t owner,
				     const uint64_t *live, size_t n_live,
				     const uint64_t *dead, size_t n_dead)
{
	enum philox_status status = check_free_memory(plan, owner);

	if (status == PHILOX_OK)
		status = check_known(plan, live, n_live);
	if (status == PHILOX_OK)
		status = check_mapped(plan);
	if (status == PHILOX_OK)
		status = check_issued(dead, n_dead);
	if (status == PHILOX_OK)
		status = check_unknown(plan);
	if (status == PHILOX_OK && plan->twice)
		status = status_set(PHILOX_ERROR_INVALID,
				    "block %" PRIu64 " is named twice",
				    plan->twice);
	return status;
}

/* --- restoring ------------------------------------------------------------ */

/* Whether a live block stays; notes that it is live. */
static int stays(struct plan *plan, struct pair_walk *walk,
		 const struct block *block)
{
	if (!is_in_checkpoint(walk, block) || !plan->wanted[walk->next])
		return 0;
	plan->wanted[walk->next] = WANTED_AND_LIVE;
	return 1;
}

static void free_unwanted(struct plan *plan, size_t *freed)
{
	struct pair_walk walk = {plan->checkpoint, 0};
	struct pool *pool = plan->pool;
	struct block *block = pool->blocks.first;

	*freed = 0;
	for (; block; block = block->after) {
		if (!block->id || stays(plan, &walk, block))
			continue;
		record_dead(pool, block);
		tags_drop(pool->tags, block->tag);
		block = blocks_release(&pool->blocks, block, POOL_SHARED);
		++*freed;
	}
}

/* In order of place: from the one before on; returns it. */
static struct block *revive_block(struct pool *pool, struct block *before,
				  const struct saved_block *saved)
{
	struct block *block =
		blocks_claim(&pool->blocks, block_at_from(before, saved->place),
			     saved->place, saved->units);

	block->id = saved->id;
	block->size = saved->size;
	block->owner = saved->session;
	block->tag = saved->tag;
	tags_hold(pool->tags, saved->tag);
	record_born(pool, block);
	return block;
}

/* One that will be revived soon: in one segment, places are in one piece. */
static void expect_block(const struct pool *pool, const struct block *near,
			 const struct saved_block *saved)
{
	if (place_segment(near->place) == place_segment(saved->place))
		map_expect(&pool->blocks.live,
			   near->address +
				   (saved->place - near->place) * POOL_UNIT);
}

static void revive_wanted(struct plan *plan, size_t *revived)
{
	const struct pool_checkpoint *checkpoint = plan->checkpoint;
	struct block *before = plan->pool->blocks.first;

	*revived = 0;
	for (size_t i = 0; i < checkpoint->n; i++) {
		if (plan->wanted[i] != WANTED)
			continue;
		before = revive_block(plan->pool, before,
				      &checkpoint->blocks[i]);
		if (i + AHEAD < checkpoint->n)
			expect_block(plan->pool, before,
				     &checkpoint->blocks[i + AHEAD]);
		++*revived;
	}
}

/* What dies and what is revived; bins are made again if that is a lot. */
static void make_true(struct plan *plan, size_t *freed, size_t *revived)
{
	struct blocks *blocks = &plan->pool->blocks;
	size_t changes = blocks->live.count + plan->known - 2 * plan->staying;
	int held = changes > blocks->n_free;

	if (held)
		blocks_hold(blocks);
	free_unwanted(plan, freed);
	revive_wanted(plan, revived);
	if (held)
		blocks_unhold(blocks);
}

static int reserve_restore(struct plan *plan, size_t n_live, size_t n_dead)
{
	struct pool *pool = plan->pool;

	plan->wanted = calloc(plan->checkpoint->n + 1, 1);
	return plan->wanted && map_reserve(&plan->wishes, n_live + n_dead) &&
	       blocks_reserve(&pool->blocks, n_live + 2, n_live, 0) &&
	       map_reserve(&pool->ids, pool->blocks.live.count + n_live);
}

enum philox_status pool_restore(struct pool *pool,
				const struct pool_checkpoint *checkpoint,
				uint32_t owner, const uint64_t *live,
				size_t n_live, const uint64_t *dead,
				size_t n_dead, size_t *freed, size_t *revived)
{
	struct plan plan = {.pool = pool, .checkpoint = checkpoint};
	enum philox_status status = check_origin(&plan);

	if (status != PHILOX_OK)
		return status;
	if (!reserve_restore(&plan, n_live, n_dead)) {
		status = status_set(PHILOX_ERROR_MEMORY,
				    "no memory to restore %zu block%s", n_live,
				    status_s(n_live));
		goto finish;
	}
	add_wishes(&plan, live, n_live, WISH_LIVE);
	add_wishes(&plan, dead, n_dead, WISH_DEAD);
	status = check_plan(&plan, owner, live, n_live, dead, n_dead);
	if (status != PHILOX_OK)
		goto finish;
	if (owner < POOL_OWNERS_MAX)
		blocks_give(&pool->blocks, owner, POOL_SHARED);
	make_true(&plan, freed, revived);
	pool->restores++;
	check_now_and_then(pool);
finish:
	map_finish(&plan.wishes);
	free(plan.wanted);
	return status;
}
