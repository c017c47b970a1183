/*
 * graph/pool/snapshot.c - a pool as a text: see Note [Snapshot]
 *
 * A pool's contents are copied with its lock, and written without.
 */
#include <stdlib.h>
#include <string.h>
#include "graph/pool/create.h"
#include "graph/pool/session.h"
#include "graph/pool/snapshot.h"
#include "lib/text/file.h"

/* --- copying, with the pool's lock ----------------------------------------- */

struct copying {
	struct snapshot *snapshot;
	uint64_t pinned; /* the newest extent that is */
	int failed;      /* no memory */
};

/* Room for one more in a table of n, whose size is the next power of two. */
static void *add_row(struct copying *copying, void **table, size_t n,
		     size_t size)
{
	void *larger = *table;

	if (copying->failed)
		return NULL;
	if (!(n & (n - 1)))
		larger = realloc(larger, (n ? 2 * n : 1) * size);
	if (!larger) {
		copying->failed = 1;
		return NULL;
	}
	*table = larger;
	return memset((char *)larger + n * size, 0, size);
}

static void copy_extent(void *user, const struct pool_extent *extent)
{
	struct copying *copying = user;
	struct snapshot *to = copying->snapshot;
	struct snapshot_extent *copy = add_row(copying, (void **)&to->extents,
					       to->n_extents, sizeof(*copy));

	if (!copy)
		return;
	to->n_extents++;
	copy->number = extent->number;
	copy->segment = extent->segment;
	copy->offset = extent->offset;
	copy->bytes = extent->bytes;
	copy->pinned = extent->number <= copying->pinned;
}

static void copy_block(void *user, const struct pool_block *block)
{
	struct copying *copying = user;
	struct snapshot *to = copying->snapshot;
	struct snapshot_block *copy = add_row(copying, (void **)&to->blocks,
					      to->n_blocks, sizeof(*copy));

	if (!copy)
		return;
	to->n_blocks++;
	copy->segment = block->segment;
	copy->offset = block->offset;
	copy->bytes = block->bytes;
	if (!block->live) {
		copy->owner = block->session;
		return;
	}
	copy->offset -= snapshot_margin(to);
	copy->number = block->id;
	copy->size = block->size;
	memcpy(copy->tag, block->tag, sizeof(copy->tag));
}

static void copy_pool(struct philox_pool *pool, struct copying *copying)
{
	struct snapshot *to = copying->snapshot;

	pool_settle(pool);
	pool_reap(pool);
	memcpy(to->name, pool->name, sizeof(to->name));
	to->flags = pool->flags;
	to->step = pool->step;
	to->limit = pool->limit;
	to->range = pool->range;
	if (pool->session)
		to->session = pool->session->capture ? SNAPSHOT_CAPTURE
						     : SNAPSHOT_WARM_UP;
	pool_count(pool, &to->figures);
	copying->pinned = pool_pinned(pool);
	pool_walk_extents(pool->blocks, copy_extent, copying);
	pool_walk_blocks(pool->blocks, copy_block, copying);
}

/* --- numbers of the text's own --------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Ids count the blocks of the process: each becomes its rank among them. */
static void number_blocks(struct snapshot *snapshot, uint64_t *ids)
{
	size_t n = 0;

	for (size_t i = 0; i < snapshot->n_blocks; i++)
		if (snapshot->blocks[i].number)
			ids[n++] = snapshot->blocks[i].number;
	qsort(ids, n, sizeof(*ids), compare_numbers);
	for (size_t i = 0; i < snapshot->n_blocks; i++) {
		uint64_t *number = &snapshot->blocks[i].number;
		const uint64_t *found = NULL;

		if (*number)
			found = bsearch(number, ids, n, sizeof(*ids),
					compare_numbers);
		if (found)
			*number = (uint64_t)(found - ids) + 1;
	}
}

/* Owners count the streams of the pool's life: `named` has one's number here. */
static void number_streams(struct snapshot *snapshot, uint64_t *named)
{
	uint64_t streams = 0;

	for (size_t i = 0; i < snapshot->n_blocks; i++) {
		uint64_t *owner = &snapshot->blocks[i].owner;

		if (!*owner)
			continue;
		if (!named[*owner])
			named[*owner] = ++streams;
		*owner = named[*owner];
	}
}

static int number_all(struct snapshot *snapshot)
{
	uint64_t most = snapshot->n_blocks;
	uint64_t *numbers;

	for (size_t i = 0; i < snapshot->n_blocks; i++)
		if (snapshot->blocks[i].owner > most)
			most = snapshot->blocks[i].owner;
	numbers = calloc((size_t)most + 1, sizeof(*numbers));
	if (!numbers)
		return 0;
	number_streams(snapshot, numbers);
	number_blocks(snapshot, numbers);
	free(numbers);
	return 1;
}

/* --- the whole --------------------------------------------------------------- */

enum philox_status snapshot_take(struct philox_pool *pool,
				 struct snapshot *snapshot)
{
	struct copying copying = {.snapshot = snapshot};

	memset(snapshot, 0, sizeof(*snapshot));
	pool_refresh(pool);
	pool_lock(pool);
	copy_pool(pool, &copying);
	pool_unlock(pool);
	if (!copying.failed && number_all(snapshot))
		return PHILOX_OK;
	snapshot_finish(snapshot);
	return status_set(PHILOX_ERROR_MEMORY,
			  "pool '%s': no memory for its snapshot", pool->name);
}

static enum philox_status snapshot_text(struct philox_pool *pool, char **text,
					size_t *size)
{
	struct snapshot snapshot;
	enum philox_status status = snapshot_take(pool, &snapshot);

	if (status != PHILOX_OK)
		return status;
	status = snapshot_write(&snapshot, text, size);
	snapshot_finish(&snapshot);
	return status;
}

enum philox_status philox_pool_snapshot_text(struct philox_pool *pool,
					     char **text, size_t *size)
{
	size_t length;
	enum philox_status status;

	if (!pool)
		return context_null(NULL, "pool");
	if (!text)
		return context_null(pool->context, "text");
	NEED_PROCESS(pool->context);
	status = snapshot_text(pool, text, size ? size : &length);
	return pool_report(pool, status, 0);
}

enum philox_status philox_pool_snapshot(struct philox_pool *pool,
					const char *path)
{
	char *text;
	size_t size;
	enum philox_status status;

	if (!pool)
		return context_null(NULL, "pool");
	if (!path)
		return context_null(pool->context, "path");
	NEED_PROCESS(pool->context);
	status = snapshot_text(pool, &text, &size);
	if (status == PHILOX_OK) {
		status = save_file_write(path, text, size);
		free(text);
	}
	return pool_report(pool, status, 0);
}
