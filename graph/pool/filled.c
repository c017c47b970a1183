/*
 * graph/pool/filled.c - free memory that has the pattern, and who wrote there
 *
 * See Patterns in Note [Pools], graph/pool/pool.h. With the pool's lock, but
 * for the functions that a runner calls.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "graph/pool/pool.h"
#include "lib/device/device.h"

#define FILL 0xff /* a NaN in all floats */

static enum philox_status set_range(const struct philox_pool *pool,
				    philox_stream stream, struct range range)
{
	if (range_is_empty(range))
		return PHILOX_OK;
	return philox_memory_set(pool_device(pool), stream,
				 (void *)range.begin, FILL,
				 range.end - range.begin);
}

/* As was asked for: what rounding adds is no memory of the user's. */
static struct range asked_range(const struct pool_block *block)
{
	const uintptr_t begin = (uintptr_t)block->address;

	return (struct range){begin, begin + block->size};
}

enum philox_status pool_fill_block(const struct philox_pool *pool,
				   philox_stream stream,
				   const struct pool_block *block)
{
	return pool->flags & PHILOX_POOL_FILL
		       ? set_range(pool, stream, asked_range(block))
		       : PHILOX_OK;
}

/* --- what has the pattern ---------------------------------------------------- */

/* Without memory for a range it is not looked at. */
void pool_filled(struct philox_pool *pool, const struct pool_block *block)
{
	if (pool->flags & PHILOX_POOL_FILL)
		ranges_add(&pool->filled, asked_range(block));
}

static void note_written(struct pool_capture *capture, struct range range)
{
	if (!ranges_add(&capture->writes, range))
		capture->writes_all = 1;
}

static void forget(struct philox_pool *pool, struct range range)
{
	ranges_remove(&pool->filled, range);
	ranges_remove(&pool->unfilled, range);
}

void pool_filled_taken(struct philox_pool *pool, const struct pool_block *block)
{
	const struct range range = pool_range_of(pool, block);

	if (!pool->fills)
		return;
	forget(pool, range);
	if (pool->session && pool->session->capture)
		note_written(pool->session->capture, range);
}

static void forget_live(void *user, const struct pool_block *block)
{
	struct philox_pool *pool = user;

	if (block->live)
		forget(pool, pool_range_of(pool, block));
}

void pool_filled_revived(struct philox_pool *pool)
{
	if (pool->fills)
		pool_walk_blocks(pool->blocks, forget_live, pool);
}

static void see_live(void *user, const struct pool_block *block)
{
	struct pool_capture *capture = user;

	if (block->live)
		note_written(capture, pool_range_of(capture->pool, block));
}

void pool_filled_capture(struct pool_capture *capture)
{
	if (capture->pool->fills)
		pool_walk_blocks(capture->pool->blocks, see_live, capture);
}

void pool_filled_launch(struct pool_capture *capture)
{
	struct philox_pool *pool = capture->pool;

	if (capture->writes_all)
		ranges_finish(&pool->filled);
	for (size_t i = 0; pool->filled.n && i < capture->writes.n; i++)
		ranges_remove(&pool->filled, capture->writes.items[i]);
}

/* --- what went back to the device --------------------------------------------- */

struct clipping {
	const struct ranges *from;
	struct ranges to;
};

static void clip_to(void *user, const struct pool_extent *extent)
{
	struct clipping *clipping = user;
	const uintptr_t begin = (uintptr_t)extent->address;
	struct range left = {begin, begin + extent->bytes}, met;

	for (;;) {
		met = ranges_meet(clipping->from, left);
		if (range_is_empty(met))
			return;
		ranges_add(&clipping->to, met);
		left.begin = met.end;
	}
}

static void clip(struct philox_pool *pool, struct ranges *ranges)
{
	struct clipping clipping = {.from = ranges};

	if (!ranges->n)
		return;
	pool_walk_extents(pool->blocks, clip_to, &clipping);
	ranges_finish(ranges);
	*ranges = clipping.to;
}

void pool_filled_trimmed(struct philox_pool *pool)
{
	clip(pool, &pool->filled);
	clip(pool, &pool->unfilled);
}

/* --- outputs of a runner -------------------------------------------------------- */

/* Its margins are not the output's. */
static struct range inner_range(const struct philox_pool *pool,
				struct range range)
{
	const uintptr_t margin =
		pool->flags & PHILOX_POOL_GUARDS ? POOL_UNIT : 0;

	return (struct range){range.begin + margin, range.end - margin};
}

/* What wrote the outputs may be on another stream, the pool's last one. */
int pool_fill_begin(struct philox_pool *pool, philox_stream stream)
{
	int follows;

	pthread_mutex_lock(&pool->lock);
	follows = pool->fills && pool_follow(pool, stream) == PHILOX_OK;
	pthread_mutex_unlock(&pool->lock);
	return follows;
}

int pool_fill_range(struct philox_pool *pool, philox_stream stream,
		    struct range range)
{
	return set_range(pool, stream, inner_range(pool, range)) == PHILOX_OK;
}

void pool_filled_range(struct philox_pool *pool, struct range range, int filled)
{
	pthread_mutex_lock(&pool->lock);
	ranges_add(filled ? &pool->filled : &pool->unfilled,
		   inner_range(pool, range));
	pthread_mutex_unlock(&pool->lock);
}

static enum philox_status fill_rest(struct philox_pool *pool,
				    philox_stream stream)
{
	struct ranges *rest = &pool->unfilled;
	enum philox_status status = PHILOX_OK;

	while (status == PHILOX_OK && rest->n) {
		const struct range range = rest->items[rest->n - 1];

		status = set_range(pool, stream, range);
		if (status != PHILOX_OK)
			break;
		ranges_add(&pool->filled, range);
		ranges_remove(rest, range);
	}
	return status;
}

enum philox_status pool_fill_rest(struct philox_pool *pool,
				  philox_stream stream)
{
	const struct range all = {0, UINTPTR_MAX};
	struct free_use before;
	enum philox_status status;

	if (!pool->fills)
		return PHILOX_OK;
	pthread_mutex_lock(&pool->lock);
	before = device_use_free((struct free_use){&all, 1, 0, 1});
	status = fill_rest(pool, stream);
	device_use_free(before);
	pthread_mutex_unlock(&pool->lock);
	if (status == PHILOX_OK)
		return PHILOX_OK;
	return status_prefix(status, "pool '%s': ", pool->name);
}

/* --- looking ---------------------------------------------------------------------- */

#define PIECE ((size_t)1 << 20)

static enum philox_status read_piece(const struct philox_pool *pool,
				     philox_stream stream, struct range range,
				     unsigned char *piece)
{
	struct philox_device *device = pool_device(pool);
	const struct free_use before =
		device_use_free((struct free_use){&range, 1, 1, 0});
	enum philox_status status =
		philox_memory_copy(device, stream, piece, (void *)range.begin,
				   range.end - range.begin);

	device_use_free(before);
	return status == PHILOX_OK ? philox_stream_synchronize(device, stream)
				   : status;
}

static enum philox_status say_freed_written(const struct philox_pool *pool,
				      uintptr_t address)
{
	struct pool_block block;
	size_t offset;

	if (!pool_find_freed(pool->blocks, (void *)address, &block, &offset))
		return status_set(PHILOX_ERROR_STATE,
				  "pool '%s': free memory was written at %p",
				  pool->name, (void *)address);
	return status_set(PHILOX_ERROR_STATE,
			  "pool '%s': memory was written %zu byte%s after the "
			  "beginning of block %" PRIu64 " with tag '%s', which "
			  "was freed",
			  pool->name, offset, status_s(offset), block.id,
			  block.tag);
}

static enum philox_status look_at_range(const struct philox_pool *pool,
					philox_stream stream,
					struct range range,
					unsigned char *piece)
{
	struct range now = range;
	enum philox_status status;

	for (; now.begin < range.end; now.begin = now.end) {
		now.end = range.end - now.begin > PIECE ? now.begin + PIECE
							: range.end;
		status = read_piece(pool, stream, now, piece);
		if (status != PHILOX_OK)
			return status;
		for (uintptr_t at = now.begin; at < now.end; at++)
			if (piece[at - now.begin] != FILL)
				return say_freed_written(pool, at);
	}
	return PHILOX_OK;
}

/* Graphs that the caller launches by itself may have run at any time. */
static void forget_native(struct philox_pool *pool)
{
	struct pool_capture *capture = pool->captures;

	for (; capture; capture = capture->next)
		if (!capture->graph || capture->shown)
			pool_filled_launch(capture);
}

enum philox_status pool_check_filled(struct philox_pool *pool,
				     philox_stream stream)
{
	unsigned char *piece;
	enum philox_status status = PHILOX_OK;

	forget_native(pool);
	if (!pool->filled.n)
		return PHILOX_OK;
	piece = malloc(PIECE);
	if (!piece)
		return status_set(PHILOX_ERROR_MEMORY,
				  "pool '%s': no memory to check what is free",
				  pool->name);
	for (size_t i = 0; status == PHILOX_OK && i < pool->filled.n; i++)
		status = look_at_range(pool, stream, pool->filled.items[i],
				       piece);
	free(piece);
	return status;
}
