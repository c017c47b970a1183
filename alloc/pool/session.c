/*
 * alloc/pool/session.c - see alloc/pool/inner.h, and the sessions of
 * alloc/pool/pool.h
 */
#include <stdlib.h>
#include "alloc/pool/inner.h"

void session_init(struct session *session)
{
	extents_init_endless(&session->endless);
	blocks_init(&session->shadow);
}

void session_finish(struct session *session)
{
	blocks_finish(&session->shadow);
	map_finish(&session->shadows);
}

/* --- the shadow ----------------------------------------------------------- */

int session_reserve(struct pool *pool)
{
	struct session *session = &pool->session;

	return !session->is_open ||
	       (blocks_reserve(&session->shadow, 4, 1, 0) &&
		map_reserve(&session->shadows, session->shadows.count + 1));
}

/* What a request may not use of SHARED's grows for its owner. */
static uint32_t growth_owner(const struct fit_need *need)
{
	return need->owners[need->n_owners - 1];
}

static void shadow_take(struct session *session, const struct fit_need *need,
			struct block *block)
{
	struct block *first = NULL, *shadow;
	uint64_t place = 0, units;

	if (!fit_find(&session->shadow, need, &first, &place)) {
		extents_grow(&session->endless, &session->shadow, need,
			     growth_owner(need), &units);
		fit_find(&session->shadow, need, &first, &place);
	}
	shadow = blocks_claim(&session->shadow, first, place, need->units);
	shadow->id = block->id;
	map_put(&session->shadows, block->id, shadow);
	if (place + need->units > session->end)
		session->end = place + need->units;
}

void session_took(struct pool *pool, const struct fit_need *need,
		  struct block *block)
{
	struct session *session = &pool->session;

	if (!session->is_open)
		return;
	block->owner = session->number;
	shadow_take(session, need, block);
	session->units += block->units;
	if (session->units > session->units_peak)
		session->units_peak = session->units;
}

void session_gave(struct pool *pool, uint32_t from, uint32_t to)
{
	if (pool->session.is_open)
		blocks_give(&pool->session.shadow, from, to);
}

/* --- what undoing needs --------------------------------------------------- */

static int is_own(const struct pool *pool, const struct block *block)
{
	return pool->session.is_open && block->owner == pool->session.number;
}

int session_keeps(const struct pool *pool, const struct block *block)
{
	return pool->session.is_open && !is_own(pool, block);
}

int session_keep_reserve(struct pool *pool)
{
	pool->blocks.undo_free++;
	pool->blocks.undo_live++;
	if (blocks_reserve(&pool->blocks, 1, 0, 0))
		return 1;
	pool->blocks.undo_free--;
	pool->blocks.undo_live--;
	return 0;
}

int session_put_reserve(struct pool *pool)
{
	return !pool->session.is_open ||
	       blocks_reserve(&pool->session.shadow, 1, 0, 0);
}

void session_put(struct pool *pool, struct block *block, uint32_t owner)
{
	struct session *session = &pool->session;
	struct block *shadow;

	if (!is_own(pool, block))
		return;
	shadow = map_value(&session->shadows, block->id);
	session->units -= block->units;
	map_remove(&session->shadows, block->id, shadow);
	blocks_release(&session->shadow, shadow, owner);
}

void session_keep(struct pool *pool, struct block *block)
{
	block->after = pool->session.dead;
	pool->session.dead = block;
	pool->session.n_dead++;
}

void session_expect_growth(struct pool *pool)
{
	if (pool->session.is_open)
		pool->blocks.undo_free += 2;
}

void session_no_growth(struct pool *pool)
{
	if (pool->session.is_open)
		pool->blocks.undo_free -= 2;
}

int session_needs(const struct pool *pool, const struct extent *extent)
{
	const struct block *block = pool->session.dead;

	while (block && (block_end(block) <= extent->place ||
			 block->place >= extent->place + extent->units))
		block = block->after;
	return block != NULL;
}

/* --- beginning and ending ------------------------------------------------- */

void pool_session_begin(struct pool *pool)
{
	struct session *session = &pool->session;

	blocks_clear(&session->shadow);
	map_clear(&session->shadows);
	extents_init_endless(&session->endless);
	*session = (struct session){.is_open = 1,
				    .number = session->number + 1,
				    .newest = pool->extents.last_number,
				    .grown = pool->extents.grown,
				    .allocations = pool->allocations,
				    .frees = pool->frees,
				    .growths = pool->extents.growths,
				    .shadow = session->shadow,
				    .shadows = session->shadows,
				    .endless = session->endless};
}

static void write_figures(const struct pool *pool,
			  struct pool_session_figures *figures)
{
	const struct session *session = &pool->session;

	*figures = (struct pool_session_figures){
		.peak = session->end * POOL_UNIT,
		.live_peak = session->units_peak * POOL_UNIT,
		.live = session->units * POOL_UNIT,
		.mapped = (pool->extents.grown - session->grown) * POOL_UNIT,
		.allocations = pool->allocations - session->allocations,
		.frees = pool->frees - session->frees,
		.growths = pool->extents.growths - session->growths};
}

static void free_own(struct pool *pool)
{
	struct block *block = pool->blocks.first;

	for (; block; block = block->after) {
		if (!block->id || !is_own(pool, block))
			continue;
		record_dead(pool, block);
		tags_drop(pool->tags, block->tag);
		block = blocks_release(&pool->blocks, block, POOL_SHARED);
	}
}

static void share_growth(struct pool *pool)
{
	const struct extent *extent = pool->extents.newest;

	for (; extent && extent->number > pool->session.newest;
	     extent = extent->older)
		blocks_give_range(&pool->blocks, extent->place, extent->units,
				  POOL_SHARED);
}

/* Sorts a list by place: merging halves, without memory. */
static struct block *sort_dead(struct block *list, size_t n)
{
	struct block *half = list, *tail, *sorted = NULL, **link = &sorted;
	struct block **least;

	if (n < 2)
		return list;
	for (size_t i = 1; i < n / 2; i++)
		half = half->after;
	tail = half->after;
	half->after = NULL;
	list = sort_dead(list, n / 2);
	tail = sort_dead(tail, n - n / 2);
	while (list && tail) {
		least = list->place < tail->place ? &list : &tail;
		*link = *least;
		link = &(*link)->after;
		*least = *link;
	}
	*link = list ? list : tail;
	return sorted;
}

/* In order of place: from the one before on, if there is one. */
static void revive(struct pool *pool, struct block *before, struct block *block)
{
	struct block *first = before ? block_at_from(before, block->place)
				     : block_at(&pool->blocks, block->place);

	blocks_claim_record(&pool->blocks, first, block);
	record_born(pool, block);
}

static void undo_session(struct pool *pool)
{
	struct session *session = &pool->session;
	struct block *block, *next, *before = NULL;

	free_own(pool);
	share_growth(pool);
	for (block = sort_dead(session->dead, session->n_dead); block;
	     block = next) {
		next = block->after;
		revive(pool, before, block);
		before = block;
	}
	pool->undone++;
}

static void forget_dead(struct pool *pool)
{
	struct block *block, *next;

	for (block = pool->session.dead; block; block = next) {
		next = block->after;
		tags_drop(pool->tags, block->tag);
		slab_give(&pool->blocks.records, block);
	}
}

void pool_session_end(struct pool *pool, const uint32_t *owners, size_t n,
		      int undo, struct pool_session_figures *figures)
{
	pool->blocks.credit = 0;
	write_figures(pool, figures);
	for (size_t i = 0; i < n; i++)
		blocks_give(&pool->blocks, owners[i], POOL_SHARED);
	if (undo)
		undo_session(pool);
	else
		forget_dead(pool);
	pool->session.is_open = 0;
	pool->session.dead = NULL;
	pool->session.n_dead = 0;
	pool->blocks.undo_free = 0;
	pool->blocks.undo_live = 0;
	check_now_and_then(pool);
}
