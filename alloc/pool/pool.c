/*
 * alloc/pool/pool.c - see alloc/pool/pool.h: pools, blocks taken and put,
 * extents
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "alloc/pool/inner.h"
#include "lib/base/base.h"

static enum philox_status no_record(const char *what)
{
	return status_set(PHILOX_ERROR_MEMORY, "no memory to record %s", what);
}

/* --- owners that are known ------------------------------------------------ */

/* With room for as many again, in the pool and in its sessions. */
int pool_know_owner(struct pool *pool, uint32_t owner)
{
	uint32_t end = 4;

	if (owner < pool->blocks.owners_room)
		return 1;
	while (end <= owner)
		end *= 2;
	return numbers_reserve(&pool->owners, end) &&
	       blocks_know_owners(&pool->session.shadow, end) &&
	       blocks_know_owners(&pool->blocks, end);
}

void pool_hold_owner(struct pool *pool, uint32_t owner)
{
	pool->blocks.owners[owner].is_held = 1;
	numbers_put(&pool->owners, owner);
}

void pool_drop_owner(struct pool *pool, uint32_t owner)
{
	pool->blocks.owners[owner].is_held = 0;
	if (!pool->blocks.owners[owner].units)
		numbers_remove(&pool->owners, owner);
}

uint32_t pool_new_owner(const struct pool *pool)
{
	uint32_t owner = numbers_missing(&pool->owners);

	return owner < POOL_OWNERS_MAX ? owner : POOL_OWNERS_MAX;
}

/* --- life ----------------------------------------------------------------- */

static void free_pool(struct pool *pool)
{
	session_finish(&pool->session);
	blocks_finish(&pool->blocks);
	numbers_finish(&pool->owners);
	map_finish(&pool->ids);
	free(pool->recent);
	shared_release(pool->shared);
	free(pool);
}

static struct pool *make_pool(void)
{
	static atomic_uint_fast64_t serials;
	struct pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->serial = atomic_fetch_add(&serials, 1) + 1;
	pool->shared = shared_create();
	blocks_init(&pool->blocks);
	pool->blocks.in_use = &pool->owners;
	session_init(&pool->session);
	if (!pool->shared || !pool_know_owner(pool, POOL_SHARED)) {
		free_pool(pool);
		return NULL;
	}
	pool_hold_owner(pool, POOL_SHARED);
	pool->tags = pool->shared->tags;
	return pool;
}

enum philox_status pool_create(struct philox_device *device,
			       const struct pool_settings *settings,
			       struct pool **result)
{
	struct pool *pool = make_pool();
	enum philox_status status;

	if (!pool)
		return no_record("a pool");
	status = extents_init(&pool->extents, device, settings);
	if (status != PHILOX_OK) {
		free_pool(pool);
		return status;
	}
	pool->margin = settings->margin / POOL_UNIT;
	*result = pool;
	return PHILOX_OK;
}

void pool_destroy(struct pool *pool)
{
	if (!pool)
		return;
	extents_finish(&pool->extents);
	free_pool(pool);
}

/* --- requests ------------------------------------------------------------- */

/* Sizes above this one are not sizes of memory. */
#define REQUEST_LIMIT ((uint64_t)POOL_UNIT << (PLACE_BITS - 2))

static enum philox_status check_request(const struct pool_request *request)
{
	size_t alignment = request->alignment;

	if (!request->size)
		return status_set(PHILOX_ERROR_INVALID, "a block of 0 bytes");
	if (alignment & (alignment - 1) || alignment > POOL_ALIGNMENT_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "an alignment of %zu bytes: it is a power of "
				  "two up to %d",
				  alignment, POOL_ALIGNMENT_MAX);
	if (request->owner >= POOL_OWNERS_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "owner %" PRIu32 ": there are %d",
				  request->owner, POOL_OWNERS_MAX);
	if (request->size > REQUEST_LIMIT)
		return status_set(PHILOX_ERROR_OVERFLOW,
				  "a block of %zu bytes is more than any "
				  "device has",
				  request->size);
	return PHILOX_OK;
}

static struct fit_need need_of(const struct pool *pool,
			       const struct pool_request *request)
{
	uint64_t units = (request->size + POOL_UNIT - 1) / POOL_UNIT;
	struct fit_need need = {.units = units + 2 * pool->margin,
				.margin = pool->margin,
				.alignment = 1,
				.owners = {request->owner},
				.n_owners = 1};

	if (request->alignment > POOL_UNIT)
		need.alignment = request->alignment / POOL_UNIT;
	if (request->shared && request->owner != POOL_SHARED)
		need.owners[need.n_owners++] = POOL_SHARED;
	return need;
}

/* --- taking and putting --------------------------------------------------- */

static int take_reserve(struct pool *pool, const char *text, uint32_t *tag)
{
	shared_clear(pool->shared);
	return blocks_reserve_one(&pool->blocks) &&
	       map_reserve(&pool->ids, pool->blocks.live.count + 1) &&
	       session_reserve(pool) && tags_take(pool->tags, text, tag);
}

enum philox_status pool_take(struct pool *pool,
			     const struct pool_request *request,
			     struct pool_block *shown)
{
	enum philox_status status = check_request(request);
	struct block *first, *block;
	struct fit_need need;
	uint64_t place;
	uint32_t tag;

	if (status != PHILOX_OK)
		return status;
	if (!pool_know_owner(pool, request->owner))
		return no_record("an owner");
	need = need_of(pool, request);
	if (!fit_find(&pool->blocks, &need, &first, &place))
		return PHILOX_NOT_READY;
	map_expect(&pool->blocks.live,
		   first->address + (place - first->place) * POOL_UNIT);
	if (!take_reserve(pool, request->tag, &tag))
		return no_record("a block");
	block = blocks_claim(&pool->blocks, first, place, need.units);
	block->id = block_id_issue();
	block->size = request->size;
	block->tag = tag;
	record_born(pool, block);
	session_took(pool, &need, block);
	pool->allocations++;
	record_show(pool, block, shown);
	check_now_and_then(pool);
	return PHILOX_OK;
}

static enum philox_status grow_pool(struct pool *pool,
				    const struct fit_need *need, size_t *mapped)
{
	enum philox_status status;
	uint64_t units;

	session_expect_growth(pool);
	status = extents_grow(&pool->extents, &pool->blocks, need,
			      need->owners[need->n_owners - 1], &units);
	if (status != PHILOX_OK) {
		session_no_growth(pool);
		return status;
	}
	*mapped = units * POOL_UNIT;
	check_now_and_then(pool);
	return PHILOX_OK;
}

enum philox_status pool_grow(struct pool *pool,
			     const struct pool_request *request, size_t *mapped)
{
	enum philox_status status = check_request(request);
	struct fit_need need;

	if (status != PHILOX_OK)
		return status;
	if (!pool_know_owner(pool, request->owner))
		return no_record("an owner");
	need = need_of(pool, request);
	return grow_pool(pool, &need, mapped);
}

static int put_reserve(struct pool *pool, const struct block *block)
{
	if (session_keeps(pool, block))
		return session_keep_reserve(pool);
	return session_put_reserve(pool) && blocks_reserve_one(&pool->blocks);
}

/* A record that undoing needs goes to the session, another to the free block. */
static void put_block(struct pool *pool, struct block *block, uint32_t owner)
{
	int kept = session_keeps(pool, block);

	record_dead(pool, block);
	session_put(pool, block, owner);
	if (kept) {
		blocks_release_but_keep(&pool->blocks, block, owner);
		session_keep(pool, block);
	} else {
		tags_drop(pool->tags, block->tag);
		blocks_release(&pool->blocks, block, owner);
	}
}

enum philox_status pool_put(struct pool *pool, struct block *block,
			    uint32_t owner)
{
	if (owner >= POOL_OWNERS_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "owner %" PRIu32 ": there are %d", owner,
				  POOL_OWNERS_MAX);
	/* Its neighbours are read soon, and most likely not in the cache */
	__builtin_prefetch(block->before);
	__builtin_prefetch(block->after);
	if (!pool_know_owner(pool, owner) || !put_reserve(pool, block))
		return no_record("free memory");
	put_block(pool, block, owner);
	pool->frees++;
	check_now_and_then(pool);
	return PHILOX_OK;
}

/* --- owners --------------------------------------------------------------- */

void pool_give(struct pool *pool, uint32_t from, uint32_t to)
{
	if (to >= POOL_OWNERS_MAX || !pool_know_owner(pool, to))
		return;
	blocks_give(&pool->blocks, from, to);
	session_gave(pool, from, to);
	check_now_and_then(pool);
}

size_t pool_owns(const struct pool *pool, uint32_t owner)
{
	return owner_of(&pool->blocks, owner)->units * POOL_UNIT;
}

uint32_t pool_lender(const struct pool *pool,
		     const struct pool_request *request, uint32_t from)
{
	struct fit_need need;
	struct block *first;
	uint64_t place;

	if (check_request(request) != PHILOX_OK)
		return UINT32_MAX;
	need = need_of(pool, request);
	need.n_owners++;
	if (from <= POOL_SHARED)
		from = POOL_SHARED + 1;
	for (uint32_t i = from; i < pool->blocks.owners_end; i++) {
		need.owners[need.n_owners - 1] = i;
		if (i != request->owner && pool->blocks.owners[i].units &&
		    fit_find(&pool->blocks, &need, &first, &place))
			return i;
	}
	return UINT32_MAX;
}

int pool_lenders(const struct pool *pool, const struct pool_request *request,
		 unsigned char *lends, uint32_t n)
{
	struct fit_need need;

	if (check_request(request) != PHILOX_OK)
		return 0;
	need = need_of(pool, request);
	need.lends = lends;
	need.n_lends = n;
	return fit_lenders(&pool->blocks, &need, lends);
}

/* --- reserving --------------------------------------------------------------- */

enum philox_status pool_reserve(struct pool *pool, size_t bytes, size_t *mapped)
{
	const struct pool_request request = {.size = bytes, .shared = 1};
	enum philox_status status = check_request(&request);
	struct fit_need need = {.units = (bytes + POOL_UNIT - 1) / POOL_UNIT,
				.alignment = 1,
				.owners = {POOL_SHARED},
				.n_owners = 1};

	if (status != PHILOX_OK)
		return status;
	if (bytes <= owner_largest(&pool->blocks, POOL_SHARED) * POOL_UNIT) {
		*mapped = 0;
		return PHILOX_OK;
	}
	return grow_pool(pool, &need, mapped);
}

/* --- numbers: ids count the blocks of the process ----------------------------- */

static atomic_uint_fast64_t issued;

uint64_t block_id_issue(void)
{
	return atomic_fetch_add_explicit(&issued, 1, memory_order_relaxed) + 1;
}

uint64_t block_id_last(void)
{
	return atomic_load_explicit(&issued, memory_order_relaxed);
}

/* --- trim: see alloc/pool/pool.h: what goes back to the device ------------ */

uint64_t pool_newest(const struct pool *pool)
{
	return pool->extents.last_number;
}

/* No live block lies in it, and no session may bring one back there. */
static int is_wholly_free(const struct pool *pool, const struct extent *extent)
{
	const struct block *block = block_at(&pool->blocks, extent->place);

	for (; block && block->place < extent->place + extent->units;
	     block = block->after)
		if (block->id)
			return 0;
	return !session_needs(pool, extent);
}

static enum philox_status give_back(struct pool *pool, uint64_t pinned,
				    size_t enough, size_t *trimmed)
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
		if (!blocks_reserve(&pool->blocks, 1, 0, 0)) {
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

enum philox_status pool_trim(struct pool *pool, uint64_t pinned, size_t enough,
			     size_t *trimmed)
{
	return give_back(pool, pinned, enough, trimmed);
}

enum philox_status pool_unmap(struct pool *pool, size_t *unmapped)
{
	const uint64_t trims = pool->extents.trims;
	const enum philox_status status =
		give_back(pool, 0, SIZE_MAX, unmapped);

	pool->unmapped += pool->extents.trims - trims;
	pool->extents.trims = trims;
	return status;
}

/* --- see: see alloc/pool/pool.h: what a pool tells about itself ----------- */

int pool_find(const struct pool *pool, const void *address,
	      struct pool_block *block)
{
	const struct block *found = record_around(pool, address);

	if (found)
		record_show(pool, found, block);
	return found != NULL;
}

struct range pool_span(const struct pool *pool)
{
	return pool->extents.span;
}

int pool_has(const struct pool *pool, struct range range)
{
	return extents_meet(&pool->extents, range);
}

/* Of as many ids as blocks: each block has one, so no id is left over. */
int pool_is_live(struct pool *pool, const uint64_t *ids, size_t n)
{
	const struct block *block = pool->blocks.first;

	if (n != pool->blocks.live.count)
		return 0;
	map_clear(&pool->ids);
	for (size_t i = 0; i < n; i++) {
		if (map_find(&pool->ids, ids[i]))
			return 0;
		map_put(&pool->ids, ids[i], pool);
	}
	while (block && (!block->id || map_find(&pool->ids, block->id)))
		block = block->after;
	return !block;
}

void pool_figures(const struct pool *pool, struct pool_figures *figures)
{
	const struct extents *extents = &pool->extents;
	const struct blocks *blocks = &pool->blocks;

	*figures = (struct pool_figures){
		.reserved = (extents->kind == EXTENTS_PLAIN ? extents->units
							    : extents->range) *
			    POOL_UNIT,
		.mapped = extents->units * POOL_UNIT,
		.mapped_peak = extents->units_peak * POOL_UNIT,
		.live = blocks->live_units * POOL_UNIT,
		.live_peak = pool->live_peak * POOL_UNIT,
		.requested = pool->requested,
		.free = blocks->free_units * POOL_UNIT,
		.largest_free = owner_largest(blocks, POOL_SHARED) * POOL_UNIT,
		.blocks = blocks->live.count,
		.blocks_peak = pool->blocks_peak,
		.allocations = pool->allocations,
		.frees = pool->frees,
		.growths = extents->growths,
		.trims = extents->trims,
		.restores = pool->restores,
		.undone = pool->undone};
}

static struct pool_extent see_extent(const struct extent *extent)
{
	return (struct pool_extent){.number = extent->number,
				    .segment = place_segment(extent->place),
				    .offset = place_offset(extent->place) *
					      POOL_UNIT,
				    .bytes = extent->units * POOL_UNIT,
				    .address = extent->address};
}

int pool_extent_at(const struct pool *pool, const void *address,
		   struct pool_extent *extent)
{
	const struct extent *found = extents_holding(&pool->extents, address);

	if (found)
		*extent = see_extent(found);
	return found != NULL;
}

int pool_newest_extent(const struct pool *pool, struct pool_extent *extent)
{
	const struct extent *newest = pool->extents.newest;

	if (newest)
		*extent = see_extent(newest);
	return newest != NULL;
}

void pool_walk_extents(const struct pool *pool,
		       void (*see)(void *user,
				   const struct pool_extent *extent),
		       void *user)
{
	struct index_cursor cursor = index_first(&pool->extents.by_place);
	struct pool_extent seen;

	for (; cursor.leaf; cursor = index_next(cursor)) {
		seen = see_extent(index_value(cursor));
		see(user, &seen);
	}
}

void pool_walk_blocks(const struct pool *pool,
		      void (*see)(void *user, const struct pool_block *block),
		      void *user)
{
	const struct block *block = pool->blocks.first;
	struct pool_block seen;

	for (; block; block = block->after) {
		record_show(pool, block, &seen);
		see(user, &seen);
	}
}
