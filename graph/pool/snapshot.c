/*
 * graph/pool/snapshot.c - a pool as a text: see Note [Snapshot]
 *
 * A pool's contents are copied with its lock, and written without.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "lib/containers/array.h"
#include "lib/text/text.h"

/* --- copying, with the pool's lock ----------------------------------------- */

struct copying {
	struct snapshot *snapshot;
	uint64_t pinned; /* the newest extent that is */
	int failed;      /* no memory */
};

static void *add_row(struct copying *copying, void *table, size_t *n,
		     size_t size)
{
	void *row = copying->failed ? NULL : array_grow(table, *n, 1, size);

	copying->failed |= !row;
	*n += row != NULL;
	return row;
}

static void copy_extent(void *user, const struct pool_extent *extent)
{
	struct copying *copying = user;
	struct snapshot *to = copying->snapshot;
	struct snapshot_extent *copy =
		add_row(copying, &to->extents, &to->n_extents, sizeof(*copy));

	if (!copy)
		return;
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
	struct snapshot_block *copy =
		add_row(copying, &to->blocks, &to->n_blocks, sizeof(*copy));

	if (!copy)
		return;
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

static enum philox_status write_snapshot(struct philox_pool *pool,
					 struct text_target to)
{
	struct snapshot snapshot;
	struct text text;
	enum philox_status status = snapshot_take(pool, &snapshot);

	if (status == PHILOX_OK) {
		status = snapshot_write(&snapshot, &text);
		snapshot_finish(&snapshot);
	}
	if (status == PHILOX_OK)
		status = text_put(&text, to);
	return pool_report(pool, status, 0);
}

enum philox_status philox_pool_snapshot_text(struct philox_pool *pool,
					     char **text, size_t *size)
{
	if (!pool)
		return context_null(NULL, "pool");
	if (!text)
		return context_null(pool->context, "text");
	NEED_PROCESS(pool->context);
	return write_snapshot(pool,
			      (struct text_target){.text = text, .size = size});
}

enum philox_status philox_pool_snapshot(struct philox_pool *pool,
					const char *path)
{
	if (!pool)
		return context_null(NULL, "pool");
	if (!path)
		return context_null(pool->context, "path");
	NEED_PROCESS(pool->context);
	return write_snapshot(pool, (struct text_target){.path = path,
					 .readers = FILE_FOR_ALL});
}

/* --- text: writing the snapshot of a pool: see Note [Snapshot] ------------ */

/* --- fields --------------------------------------------------------------- */

#define FIGURE(text, field)                                   \
	FIELD(NUMBER, struct philox_pool_stats, field, text), \
		.most = SNAPSHOT_MOST

const struct field figures_mapped[] = {
	{FIGURE(NULL, mapped), .name = "mapped"},
	{FIGURE("peak", mapped_peak), .name = "mapped_peak"},
	{FIGURE("pinned", pinned)},
	FIELDS_END};

const struct field figures_live[] = {
	{FIGURE(NULL, live), .name = "live"},
	{FIGURE("peak", live_peak), .name = "live_peak"},
	{FIGURE("requested", requested)},
	{FIGURE("blocks", blocks)},
	FIELDS_END};

const struct field figures_counts[] = {{FIGURE("allocations", allocations)},
				       {FIGURE("frees", frees)},
				       {FIGURE("growths", growths)},
				       {FIGURE("trims", trims)},
				       {FIGURE("checkpoints", checkpoints)},
				       {FIGURE("restores", restores)},
				       {FIGURE("rollbacks", rollbacks)},
				       {FIGURE("waits", waits)},
				       FIELDS_END};

const struct field snapshot_name_fields[] = {
	{FIELD(TEXT, struct snapshot, name, NULL), .what = "name",
	 .name = "name"},
	FIELDS_END};

const struct field snapshot_live_fields[] = {
	{FIELD(NUMBER, struct snapshot_block, number, NULL), .name = "number",
	 .least = 1, .most = SNAPSHOT_MOST},
	{FIELD(NUMBER, struct snapshot_block, size, "size"), .least = 1,
	 .most = SNAPSHOT_MOST},
	{FIELD(TEXT, struct snapshot_block, tag, "tag"), .what = "tag"},
	FIELDS_END};

/* --- writing -------------------------------------------------------------- */

static void write_pool(FILE *out, const struct snapshot *snapshot)
{
	int expandable = (snapshot->flags & PHILOX_POOL_EXPANDABLE) != 0;

	fputs("pool", out);
	fields_write(out, snapshot_name_fields, snapshot, 0);
	fprintf(out,
		" %s flags %" PRIu32 " unit %d step %" PRIu64 " limit %" PRIu64,
		expandable ? "expandable" : "plain", snapshot->flags, POOL_UNIT,
		snapshot->step, snapshot->limit);
	if (expandable)
		fprintf(out, " range %" PRIu64, snapshot->range);
	fputc('\n', out);
}

static void write_figures(FILE *out, const struct snapshot *snapshot)
{
	static const char *const sessions[] = {"none", "warm-up", "capture"};
	const struct philox_pool_stats *figures = &snapshot->figures;

	fprintf(out, "session %s graphs %" PRIu64 "\n",
		sessions[snapshot->session], figures->graphs);
	fields_write_line(out, "mapped", figures_mapped, figures);
	fields_write_line(out, "live", figures_live, figures);
	fprintf(out, "free %" PRIu64 " largest %" PRIu64 "\n",
		figures->mapped - figures->live, figures->largest_free);
	fields_write_line(out, "counts", figures_counts, figures);
}

static void write_block(FILE *out, const struct snapshot_block *block)
{
	fprintf(out, "block offset %" PRIu64 " bytes %" PRIu64, block->offset,
		block->bytes);
	if (block->number) {
		fields_write_line(out, " live", snapshot_live_fields, block);
	} else if (block->owner) {
		fprintf(out, " free owner stream %" PRIu64 "\n", block->owner);
	} else {
		fputs(" free owner home\n", out);
	}
}

/* The segment whose first extent this is; returns how many extents it has. */
static size_t write_extents(FILE *out, const struct snapshot *snapshot,
			    size_t first)
{
	const struct snapshot_extent *extent = &snapshot->extents[first];
	uint64_t bytes = 0;
	size_t n = 0;

	for (; first + n < snapshot->n_extents &&
	       extent[n].segment == extent->segment;
	     n++)
		bytes += extent[n].bytes;
	fprintf(out, "segment %" PRIu64 " extents %zu bytes %" PRIu64 "\n",
		extent->segment, n, bytes);
	for (size_t i = 0; i < n; i++)
		fprintf(out,
			"extent %" PRIu64 " offset %" PRIu64 " bytes %" PRIu64
			" %s\n",
			extent[i].number, extent[i].offset, extent[i].bytes,
			extent[i].pinned ? "pinned" : "loose");
	return n;
}

static void write_segments(FILE *out, const struct snapshot *snapshot)
{
	size_t block = 0;

	for (size_t i = 0; i < snapshot->n_extents;) {
		uint64_t segment = snapshot->extents[i].segment;

		i += write_extents(out, snapshot, i);
		while (block < snapshot->n_blocks &&
		       snapshot->blocks[block].segment == segment)
			write_block(out, &snapshot->blocks[block++]);
	}
}

void snapshot_write_lines(FILE *out, const struct snapshot *snapshot)
{
	fprintf(out, "philox pool %d\n", SNAPSHOT_VERSION);
	write_pool(out, snapshot);
	write_figures(out, snapshot);
	write_segments(out, snapshot);
}

enum philox_status snapshot_write(const struct snapshot *snapshot,
				  struct text *text)
{
	if (text_begin(text))
		snapshot_write_lines(text->out, snapshot);
	if (text_end(text))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "pool '%s': no memory for its text", snapshot->name);
}

void snapshot_finish(struct snapshot *snapshot)
{
	free(snapshot->extents);
	free(snapshot->blocks);
	memset(snapshot, 0, sizeof(*snapshot));
}
