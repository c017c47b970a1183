/*
 * tools/formats/pool.c - reading the text of a pool: see Note [Snapshot]
 *
 * The text is read once, line by line; what only the whole shows is checked at
 * the end, and names its line as well.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "tools/formats/formats.h"

/* The lines of figures, which are always there. */
enum { LINE_MAPPED = 4, LINE_LIVE, LINE_FREE, LINE_COUNTS };

/* The segment that is being read, and what all came to so far. */
struct segment_reader {
	struct reader *reader;
	struct snapshot *snapshot;
	const char *inner; /* the line after the pool's, in another text */
	size_t first;      /* line of the pool's */
	uint64_t segments, last; /* how many, and the last one's number */
	size_t extent;           /* its extent that the next block is in */
	uint64_t next;           /* where the next block begins */
	uint64_t end; /* of the extents that lie side by side from there */
	uint64_t mapped, pinned, live, requested, blocks, largest, streams;
};

/* --- words ---------------------------------------------------------------- */

/* Takes a space, a word, a space and a number. */
static uint64_t read_word(struct reader *reader, const char *word)
{
	reader_expect_apart(reader, word);
	return reader_decimal(reader, 0, SNAPSHOT_MOST);
}

/* --- the first lines ------------------------------------------------------ */

static void read_version(struct reader *reader)
{
	reader_expect(reader, "philox pool ");
	reader->version = reader_decimal(reader, 1, UINT64_MAX);
	if (reader->version > SNAPSHOT_VERSION) {
		reader->status = status_set(
			PHILOX_ERROR_UNSUPPORTED,
			"line %zu: the text has version %" PRIu64
			", the newest this philox reads is %d",
			reader->line, reader->version, SNAPSHOT_VERSION);
		return;
	}
	reader_end_line(reader);
}

static void check_flags(struct reader *reader, const struct snapshot *snapshot,
			int expandable)
{
	const uint32_t only_expandable = PHILOX_POOL_UNMAP | PHILOX_POOL_RDMA |
					 PHILOX_POOL_EXPORT |
					 PHILOX_POOL_FABRIC | PHILOX_POOL_PEERS;
	const uint32_t known = PHILOX_POOL_EXPANDABLE | PHILOX_POOL_STRICT |
			       PHILOX_POOL_GUARDS | PHILOX_POOL_FILL |
			       only_expandable;

	if (snapshot->flags & ~known)
		reader_refuse(reader, "flags %" PRIu32 " are not known",
			      snapshot->flags);
	if (!(snapshot->flags & PHILOX_POOL_EXPANDABLE) != !expandable ||
	    (snapshot->flags & only_expandable && !expandable))
		reader_refuse(reader, "flags %" PRIu32 " are not those of %s",
			      snapshot->flags,
			      expandable ? "an expandable pool"
					 : "a plain pool");
}

static void read_pool(struct reader *reader, struct snapshot *snapshot)
{
	int expandable;

	reader_expect(reader, "pool ");
	fields_read(reader, snapshot_name_fields, snapshot, 0);
	if (!*snapshot->name)
		reader_refuse(reader, "%s", "a pool without a name");
	expandable = reader_accept(reader, " expandable");
	if (!expandable)
		reader_expect(reader, " plain");
	reader_expect(reader, " flags ");
	snapshot->flags = (uint32_t)reader_decimal(reader, 0, UINT32_MAX);
	check_flags(reader, snapshot, expandable);
	if (read_word(reader, "unit") != POOL_UNIT)
		reader_refuse(reader, "the unit is not %d", POOL_UNIT);
	reader_expect(reader, " step ");
	snapshot->step = reader_decimal(reader, 0, UINT64_MAX);
	reader_expect(reader, " limit ");
	snapshot->limit = reader_decimal(reader, 0, UINT64_MAX);
	if (expandable) {
		reader_expect(reader, " range ");
		snapshot->range = reader_decimal(reader, 0, UINT64_MAX);
	}
	reader_end_line(reader);
}

static void read_session(struct reader *reader, struct snapshot *snapshot)
{
	reader_expect(reader, "session ");
	if (reader_accept(reader, "warm-up"))
		snapshot->session = SNAPSHOT_WARM_UP;
	else if (reader_accept(reader, "capture"))
		snapshot->session = SNAPSHOT_CAPTURE;
	else
		reader_expect(reader, "none");
	snapshot->figures.graphs = read_word(reader, "graphs");
	reader_end_line(reader);
}

static void check_peak(struct reader *reader, uint64_t now, uint64_t peak)
{
	if (peak < now)
		reader_refuse(reader,
			      "the peak, %" PRIu64
			      ", is less than there is now, %" PRIu64,
			      peak, now);
}

static void read_figures(struct reader *reader, struct snapshot *snapshot)
{
	struct philox_pool_stats *figures = &snapshot->figures;

	reader_expect(reader, "mapped ");
	fields_read(reader, figures_mapped, figures, FIELDS_APART);
	check_peak(reader, figures->mapped, figures->mapped_peak);
	if (snapshot->limit && figures->mapped_peak > snapshot->limit)
		reader_refuse(reader, "the peak is above the limit, %" PRIu64,
			      snapshot->limit);
	reader_end_line(reader);
	reader_expect(reader, "live ");
	fields_read(reader, figures_live, figures, FIELDS_APART);
	check_peak(reader, figures->live, figures->live_peak);
	reader_end_line(reader);
	reader_expect(reader, "free ");
	if (reader_decimal(reader, 0, SNAPSHOT_MOST) !=
	    figures->mapped - figures->live)
		reader_refuse(reader,
			      "mapped less live is %" PRIu64 ", not as it says",
			      figures->mapped - figures->live);
	figures->largest_free = read_word(reader, "largest");
	reader_end_line(reader);
}

static void read_counts(struct reader *reader,
			struct philox_pool_stats *figures)
{
	reader_expect(reader, "counts");
	fields_read(reader, figures_counts, figures, FIELDS_APART);
	if (figures->allocations < figures->blocks)
		reader_refuse(reader,
			      "%" PRIu64 " allocation%s made %" PRIu64
			      " live blocks",
			      figures->allocations,
			      status_s(figures->allocations), figures->blocks);
	reader_end_line(reader);
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
	extent.offset = read_word(reader, "offset");
	extent.bytes = read_word(reader, "bytes");
	extent.pinned = reader_accept(reader, " pinned");
	if (!extent.pinned)
		reader_expect(reader, " loose");
	check_extent(at, &extent, first);
	reader_end_line(reader);
	if (!reader_put(reader, &snapshot->extents, &snapshot->n_extents,
			&extent, sizeof(extent)))
		return;
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

static void read_segment(struct segment_reader *at)
{
	struct reader *reader = at->reader;
	size_t first = at->snapshot->n_extents, line = reader->line;
	uint64_t mapped = at->mapped;
	uint64_t segment = reader_decimal(reader, 0, UINT32_MAX);
	uint64_t extents = read_word(reader, "extents");
	uint64_t bytes = read_word(reader, "bytes");

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
static void check_segment_end(struct segment_reader *at)
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

	fields_read(reader, snapshot_live_fields, block, 0);
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

static void read_block(struct segment_reader *at)
{
	struct reader *reader = at->reader;
	struct snapshot *snapshot = at->snapshot;
	struct snapshot_block block = {.segment = at->last,
				       .line = reader->line};

	reader_expect(reader, "offset ");
	block.offset = reader_decimal(reader, 0, SNAPSHOT_MOST);
	block.bytes = read_word(reader, "bytes");
	check_place(at, &block);
	if (reader_accept(reader, " live "))
		read_live(at, &block);
	else
		read_free(at, &block);
	reader_end_line(reader);
	if (reader_put(reader, &snapshot->blocks, &snapshot->n_blocks, &block,
		       sizeof(block)))
		go_on(at, block.offset + block.bytes);
}

/* --- the whole ------------------------------------------------------------ */

/* What is wrong is in a line further up. */
static void go_back(struct reader *reader, size_t line)
{
	reader->at = reader->text;
	reader->line = line;
}

static void check_sum(const struct segment_reader *at, size_t line,
		      const char *what, uint64_t said, uint64_t found)
{
	struct reader *reader = at->reader;

	if (reader->status != PHILOX_OK || said == found)
		return;
	go_back(reader, at->first + line - 1);
	reader_refuse(reader,
		      "%s is %" PRIu64 ", but what is below comes to %" PRIu64,
		      what, said, found);
}

static void check_sums(const struct segment_reader *at)
{
	const struct philox_pool_stats *figures = &at->snapshot->figures;

	check_sum(at, LINE_MAPPED, "mapped", figures->mapped, at->mapped);
	check_sum(at, LINE_MAPPED, "pinned", figures->pinned, at->pinned);
	check_sum(at, LINE_LIVE, "live", figures->live, at->live);
	check_sum(at, LINE_LIVE, "requested", figures->requested,
		  at->requested);
	check_sum(at, LINE_LIVE, "blocks", figures->blocks, at->blocks);
	check_sum(at, LINE_FREE, "largest", figures->largest_free, at->largest);
}

static int compare_extents(const void *a, const void *b)
{
	const struct snapshot_extent *const *left = a, *const *right = b;

	return ((*left)->number > (*right)->number) -
	       ((*left)->number < (*right)->number);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct snapshot_block *const *left = a, *const *right = b;

	return ((*left)->number > (*right)->number) -
	       ((*left)->number < (*right)->number);
}

static void check_extent_numbers(struct reader *reader,
				 const struct snapshot *snapshot,
				 const struct snapshot_extent **order)
{
	size_t n = snapshot->n_extents;

	for (size_t i = 0; i < n; i++)
		order[i] = &snapshot->extents[i];
	qsort(order, n, sizeof(*order), compare_extents);
	for (size_t i = 1; i < n && reader->status == PHILOX_OK; i++) {
		go_back(reader, order[i]->line);
		if (order[i]->number == order[i - 1]->number)
			reader_refuse(reader, "extent %" PRIu64 " comes twice",
				      order[i]->number);
		if (order[i]->pinned && !order[i - 1]->pinned)
			reader_refuse(reader,
				      "extent %" PRIu64
				      " is pinned, but %" PRIu64
				      ", which is older, is not",
				      order[i]->number, order[i - 1]->number);
	}
}

static void check_block_numbers(struct reader *reader,
				const struct snapshot *snapshot,
				const struct snapshot_block **order)
{
	size_t n = 0;

	for (size_t i = 0; i < snapshot->n_blocks; i++)
		if (snapshot->blocks[i].number)
			order[n++] = &snapshot->blocks[i];
	qsort(order, n, sizeof(*order), compare_blocks);
	for (size_t i = 1; i < n && reader->status == PHILOX_OK; i++) {
		if (order[i]->number != order[i - 1]->number)
			continue;
		go_back(reader, order[i]->line);
		reader_refuse(reader, "live %" PRIu64 " comes twice",
			      order[i]->number);
	}
}

static void check_numbers(struct reader *reader,
			  const struct snapshot *snapshot)
{
	size_t n = snapshot->n_extents > snapshot->n_blocks
			   ? snapshot->n_extents
			   : snapshot->n_blocks;
	const void **order;

	if (reader->status != PHILOX_OK)
		return;
	order = calloc(n + 1, sizeof(*order));
	if (!order) {
		reader->status = status_set(PHILOX_ERROR_MEMORY,
					    "no memory for a snapshot");
		return;
	}
	check_extent_numbers(reader, snapshot,
			     (const struct snapshot_extent **)order);
	check_block_numbers(reader, snapshot,
			    (const struct snapshot_block **)order);
	free(order);
}

static void read_body(struct segment_reader *at)
{
	struct reader *reader = at->reader;

	while (reader->status == PHILOX_OK) {
		const char *line = reader->at;

		if (reader_accept(reader, "segment ")) {
			check_segment_end(at);
			read_segment(at);
		} else if (reader_accept(reader, "block ")) {
			read_block(at);
		} else if (reader_accept(reader,
					 at->inner ? at->inner : "checksum ")) {
			check_segment_end(at);
			if (!at->inner)
				reader_checksum(reader, line);
			return;
		} else {
			reader_expected(reader, at->segments
							? "a segment or a block"
							: "a segment");
		}
	}
}

void snapshot_read_lines(struct reader *reader, struct snapshot *snapshot,
			 const char *inner)
{
	struct segment_reader at = {.reader = reader,
				    .snapshot = snapshot,
				    .inner = inner,
				    .first = reader->line};
	struct reader here;

	memset(snapshot, 0, sizeof(*snapshot));
	read_version(reader);
	read_pool(reader, snapshot);
	read_session(reader, snapshot);
	read_figures(reader, snapshot);
	read_counts(reader, &snapshot->figures);
	read_body(&at);
	here = *reader;
	check_sums(&at);
	check_numbers(reader, snapshot);
	if (reader->status == PHILOX_OK)
		*reader = here;
}

enum philox_status snapshot_read(const char *text, size_t size,
				 struct snapshot *snapshot)
{
	struct reader reader = reader_start(text, size);

	snapshot_read_lines(&reader, snapshot, NULL);
	if (reader.status != PHILOX_OK)
		snapshot_finish(snapshot);
	return reader.status;
}
