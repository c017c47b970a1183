/*
 * tools/common/snapshot_segments.c - see tools/common/snapshot_segments.h
 */
#include "tools/common/snapshot_segments.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- words ---------------------------------------------------------------- */

uint64_t snapshot_number(struct reader *reader, const char *word)
{
	reader_expect(reader, " ");
	reader_expect(reader, word);
	reader_expect(reader, " ");
	return reader_decimal(reader, 0, SNAPSHOT_MOST);
}

void snapshot_name(struct reader *reader, const char *what, char *name,
		   size_t size)
{
	char *read = reader_name(reader);

	if (!read)
		return;
	if (strlen(read) >= size)
		reader_refuse(reader, "a %s of more than %zu bytes", what,
			      size - 1);
	else
		strcpy(name, read);
	free(read);
}

/* --- extents -------------------------------------------------------------- */

static void check_units(struct reader *reader, uint64_t offset, uint64_t bytes)
{
	if (offset % POOL_UNIT || bytes % POOL_UNIT || !bytes)
		reader_refuse(reader,
			      "offset %" PRIu64 " and bytes %" PRIu64
			      " are not whole units of %d bytes",
			      offset, bytes, POOL_UNIT);
}

static void check_extent(struct segment_reader *at,
			 const struct snapshot_extent *extent, size_t first)
{
	const struct snapshot *snapshot = at->snapshot;
	const struct snapshot_extent *last = NULL;

	check_units(at->reader, extent->offset, extent->bytes);
	if (snapshot->n_extents > first)
		last = &snapshot->extents[snapshot->n_extents - 1];
	if (last && extent->offset < last->offset + last->bytes)
		reader_refuse(at->reader,
			      "extent %" PRIu64
			      " overlaps with the one before, or is out of "
			      "order",
			      extent->number);
	if (extent->bytes > SNAPSHOT_MOST - at->mapped ||
	    extent->offset > SNAPSHOT_MOST - extent->bytes)
		reader_refuse(at->reader, "%s",
			      "more than 2^63 - 1 bytes in all");
	if (!(snapshot->flags & PHILOX_POOL_EXPANDABLE) && extent->offset)
		reader_refuse(at->reader, "%s",
			      "an extent of a plain pool begins at 0");
}

static void read_extent(struct segment_reader *at, size_t first)
{
	struct reader *reader = at->reader;
	struct snapshot *snapshot = at->snapshot;
	struct snapshot_extent extent = {.segment = at->last,
					 .line = reader->line};

	reader_expect(reader, "extent ");
	extent.number = reader_decimal(reader, 1, SNAPSHOT_MOST);
	extent.offset = snapshot_number(reader, "offset");
	extent.bytes = snapshot_number(reader, "bytes");
	extent.pinned = reader_accept(reader, " pinned");
	if (!extent.pinned)
		reader_expect(reader, " loose");
	check_extent(at, &extent, first);
	reader_end_line(reader);
	snapshot->extents = reader_grow(reader, snapshot->extents,
					snapshot->n_extents, sizeof(extent));
	if (reader->status != PHILOX_OK)
		return;
	snapshot->extents[snapshot->n_extents++] = extent;
	at->mapped += extent.bytes;
	at->pinned += extent.pinned ? extent.bytes : 0;
}

/* --- segments ------------------------------------------------------------- */

static void check_segment(struct segment_reader *at, uint64_t segment,
			  uint64_t extents)
{
	int expandable = at->snapshot->flags & PHILOX_POOL_EXPANDABLE;

	if (expandable && (segment || at->segments))
		reader_refuse(at->reader, "%s",
			      "an expandable pool has segment 0 alone");
	if (at->segments && segment <= at->last)
		reader_refuse(at->reader,
			      "segment %" PRIu64
			      " comes twice or is out of order",
			      segment);
	if (!expandable && extents != 1)
		reader_refuse(at->reader, "%s",
			      "a segment of a plain pool has one extent");
}

/* The next block begins in this extent. */
static void go_to(struct segment_reader *at, size_t extent)
{
	const struct snapshot *snapshot = at->snapshot;

	at->extent = extent;
	if (extent == snapshot->n_extents)
		return;
	at->next = at->end = snapshot->extents[extent].offset;
	for (; extent < snapshot->n_extents &&
	       snapshot->extents[extent].offset == at->end;
	     extent++)
		at->end += snapshot->extents[extent].bytes;
}

void segment_read(struct segment_reader *at)
{
	struct reader *reader = at->reader;
	size_t first = at->snapshot->n_extents, line = reader->line;
	uint64_t mapped = at->mapped;
	uint64_t segment = reader_decimal(reader, 0, UINT32_MAX);
	uint64_t extents = snapshot_number(reader, "extents");
	uint64_t bytes = snapshot_number(reader, "bytes");

	check_segment(at, segment, extents);
	if (!extents)
		reader_refuse(reader, "%s", "a segment without extents");
	reader_end_line(reader);
	at->segments++;
	at->last = segment;
	for (uint64_t i = 0; reader->status == PHILOX_OK && i < extents; i++)
		read_extent(at, first);
	if (reader->status != PHILOX_OK)
		return;
	if (at->mapped - mapped != bytes) {
		reader->at = reader->text;
		reader->line = line;
		reader_refuse(reader,
			      "segment %" PRIu64 " has extents of %" PRIu64
			      " bytes, not %" PRIu64,
			      segment, at->mapped - mapped, bytes);
	}
	go_to(at, first);
}

static int is_covered(const struct segment_reader *at)
{
	return at->extent == at->snapshot->n_extents;
}

/* At the next segment or at the end. */
void segment_check_end(struct segment_reader *at)
{
	if (at->reader->status == PHILOX_OK && at->segments && !is_covered(at))
		reader_refuse(at->reader,
			      "segment %" PRIu64 " has a gap: its bytes from "
			      "%" PRIu64 " on are in no block",
			      at->last, at->next);
}

/* --- blocks --------------------------------------------------------------- */

static void check_live(struct segment_reader *at,
		       const struct snapshot_block *block)
{
	uint64_t margins = 2 * snapshot_margin(at->snapshot);

	if (block->number > at->snapshot->figures.blocks)
		reader_refuse(
			at->reader,
			"live %" PRIu64 ", but there %s %" PRIu64 " in all",
			block->number, status_is(at->snapshot->figures.blocks),
			at->snapshot->figures.blocks);
	if (block->bytes < margins || block->size > block->bytes - margins)
		reader_refuse(at->reader,
			      "size %" PRIu64 " has no room in %" PRIu64
			      " bytes",
			      block->size, block->bytes);
}

static void read_live(struct segment_reader *at, struct snapshot_block *block)
{
	struct reader *reader = at->reader;

	block->number = reader_decimal(reader, 1, SNAPSHOT_MOST);
	reader_expect(reader, " size ");
	block->size = reader_decimal(reader, 1, SNAPSHOT_MOST);
	reader_expect(reader, " tag ");
	snapshot_name(reader, "tag", block->tag, sizeof(block->tag));
	check_live(at, block);
	at->live += block->bytes;
	at->requested += block->size;
	at->blocks++;
}

static void check_free(struct segment_reader *at,
		       const struct snapshot_block *block)
{
	const struct snapshot *snapshot = at->snapshot;
	const struct snapshot_block *last = NULL;

	if (snapshot->n_blocks)
		last = &snapshot->blocks[snapshot->n_blocks - 1];
	if (last && last->segment == block->segment && !last->number &&
	    last->offset + last->bytes == block->offset &&
	    last->owner == block->owner)
		reader_refuse(at->reader, "%s",
			      "two free blocks of one owner side by side");
	if (block->owner > at->streams + 1)
		reader_refuse(at->reader,
			      "stream %" PRIu64 " before stream %" PRIu64,
			      block->owner, at->streams + 1);
}

static void read_free(struct segment_reader *at, struct snapshot_block *block)
{
	struct reader *reader = at->reader;

	reader_expect(reader, " free owner ");
	if (reader_accept(reader, "stream "))
		block->owner = reader_decimal(reader, 1, SNAPSHOT_MOST);
	else
		reader_expect(reader, "home");
	check_free(at, block);
	if (block->owner > at->streams)
		at->streams = block->owner;
	if (!block->owner && block->bytes > at->largest)
		at->largest = block->bytes;
}

/* A block is where the one before ends, and within the extents. */
static void check_place(struct segment_reader *at,
			const struct snapshot_block *block)
{
	struct reader *reader = at->reader;

	check_units(reader, block->offset, block->bytes);
	if (reader->status != PHILOX_OK)
		return;
	if (!at->segments || is_covered(at))
		reader_refuse(reader, "%s", "there is no extent for it above");
	else if (block->offset < at->next)
		reader_refuse(reader,
			      "a block at %" PRIu64
			      " overlaps with what is before %" PRIu64,
			      block->offset, at->next);
	else if (block->offset > at->next)
		reader_refuse(reader,
			      "a gap: bytes %" PRIu64 " to %" PRIu64
			      " are in no block",
			      at->next, block->offset);
	else if (block->bytes > at->end - block->offset)
		reader_refuse(reader,
			      "the block reaches beyond %" PRIu64
			      ", where the extents end",
			      at->end);
}

/* The next block begins at its end, or in the first extent after that. */
static void go_on(struct segment_reader *at, uint64_t end)
{
	const struct snapshot *snapshot = at->snapshot;
	size_t extent = at->extent;

	at->next = end;
	if (end < at->end)
		return;
	while (extent < snapshot->n_extents &&
	       snapshot->extents[extent].offset < end)
		extent++;
	go_to(at, extent);
}

void segment_read_block(struct segment_reader *at)
{
	struct reader *reader = at->reader;
	struct snapshot *snapshot = at->snapshot;
	struct snapshot_block block = {.segment = at->last,
				       .line = reader->line};

	reader_expect(reader, "offset ");
	block.offset = reader_decimal(reader, 0, SNAPSHOT_MOST);
	block.bytes = snapshot_number(reader, "bytes");
	check_place(at, &block);
	if (reader_accept(reader, " live "))
		read_live(at, &block);
	else
		read_free(at, &block);
	reader_end_line(reader);
	snapshot->blocks = reader_grow(reader, snapshot->blocks,
				       snapshot->n_blocks, sizeof(block));
	if (reader->status != PHILOX_OK)
		return;
	snapshot->blocks[snapshot->n_blocks++] = block;
	go_on(at, block.offset + block.bytes);
}
