/*
 * tools/common/snapshot.c - reading the text of a pool: see Note [Snapshot]
 *
 * The text is read once, line by line; what only the whole shows is checked at
 * the end, and names its line as well.
 */
#include "tools/common/snapshot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/text/text.h"
#include "tools/common/snapshot_segments.h"

/* The lines of figures, which are always there. */
enum { LINE_MAPPED = 4, LINE_LIVE, LINE_FREE, LINE_COUNTS };

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
	const uint32_t known = PHILOX_POOL_EXPANDABLE | PHILOX_POOL_STRICT |
			       PHILOX_POOL_ZONES | PHILOX_POOL_FILL;

	if (snapshot->flags & ~known)
		reader_refuse(reader, "flags %" PRIu32 " are not known",
			      snapshot->flags);
	if (!(snapshot->flags & PHILOX_POOL_EXPANDABLE) != !expandable)
		reader_refuse(reader, "flags %" PRIu32 " are not those of %s",
			      snapshot->flags,
			      expandable ? "an expandable pool"
					 : "a plain pool");
}

static void read_pool(struct reader *reader, struct snapshot *snapshot)
{
	int expandable;

	reader_expect(reader, "pool ");
	snapshot_name(reader, "name", snapshot->name, sizeof(snapshot->name));
	if (!*snapshot->name)
		reader_refuse(reader, "%s", "a pool without a name");
	expandable = reader_accept(reader, " expandable");
	if (!expandable)
		reader_expect(reader, " plain");
	reader_expect(reader, " flags ");
	snapshot->flags = (uint32_t)reader_decimal(reader, 0, UINT32_MAX);
	check_flags(reader, snapshot, expandable);
	if (snapshot_number(reader, "unit") != POOL_UNIT)
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
	snapshot->figures.graphs = snapshot_number(reader, "graphs");
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
	struct philox_pool_figures *figures = &snapshot->figures;

	reader_expect(reader, "mapped ");
	figures->mapped = reader_decimal(reader, 0, SNAPSHOT_MOST);
	figures->mapped_peak = snapshot_number(reader, "peak");
	check_peak(reader, figures->mapped, figures->mapped_peak);
	if (snapshot->limit && figures->mapped_peak > snapshot->limit)
		reader_refuse(reader, "the peak is above the limit, %" PRIu64,
			      snapshot->limit);
	figures->pinned = snapshot_number(reader, "pinned");
	reader_end_line(reader);
	reader_expect(reader, "live ");
	figures->live = reader_decimal(reader, 0, SNAPSHOT_MOST);
	figures->live_peak = snapshot_number(reader, "peak");
	check_peak(reader, figures->live, figures->live_peak);
	figures->requested = snapshot_number(reader, "requested");
	figures->blocks = snapshot_number(reader, "blocks");
	reader_end_line(reader);
	reader_expect(reader, "free ");
	if (reader_decimal(reader, 0, SNAPSHOT_MOST) !=
	    figures->mapped - figures->live)
		reader_refuse(reader,
			      "mapped less live is %" PRIu64 ", not as it says",
			      figures->mapped - figures->live);
	figures->largest_free = snapshot_number(reader, "largest");
	reader_end_line(reader);
}

static void read_counts(struct reader *reader,
			struct philox_pool_figures *figures)
{
	reader_expect(reader, "counts");
	figures->allocations = snapshot_number(reader, "allocations");
	figures->frees = snapshot_number(reader, "frees");
	figures->growths = snapshot_number(reader, "growths");
	figures->trims = snapshot_number(reader, "trims");
	figures->checkpoints = snapshot_number(reader, "checkpoints");
	figures->restores = snapshot_number(reader, "restores");
	figures->rollbacks = snapshot_number(reader, "rollbacks");
	figures->waits = snapshot_number(reader, "waits");
	if (figures->allocations < figures->blocks)
		reader_refuse(reader,
			      "%" PRIu64 " allocation%s made %" PRIu64
			      " live blocks",
			      figures->allocations,
			      status_s(figures->allocations), figures->blocks);
	reader_end_line(reader);
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
	const struct philox_pool_figures *figures = &at->snapshot->figures;

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
			segment_check_end(at);
			segment_read(at);
		} else if (reader_accept(reader, "block ")) {
			segment_read_block(at);
		} else if (reader_accept(reader,
					 at->inner ? at->inner : "checksum ")) {
			segment_check_end(at);
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
	struct reader reader = {.text = text,
				.at = text,
				.end = text + size,
				.start = text,
				.line = 1};

	snapshot_read_lines(&reader, snapshot, NULL);
	if (reader.status != PHILOX_OK)
		snapshot_finish(snapshot);
	return reader.status;
}
