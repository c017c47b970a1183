/*
 * tools/pool/lines.c - see tools/pool/lines.h
 */
#include "tools/pool/lines.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH_LEAST (64 * POOL_UNIT)
#define FOLDED_LEAST 3  /* lines; fewer are not worth a fold */
#define LINES_LEAST  24 /* a picture may always be that long */

/* --- what is where -------------------------------------------------------- */

/* Places the line in a segment that begins with this extent and this block. */
static void find_contents(const struct snapshot *snapshot,
			  struct pool_line *line)
{
	while (line->extent < snapshot->n_extents &&
	       snapshot->extents[line->extent].segment == line->segment &&
	       snapshot->extents[line->extent].offset +
			       snapshot->extents[line->extent].bytes <=
		       line->from)
		line->extent++;
	while (line->block < snapshot->n_blocks &&
	       snapshot->blocks[line->block].segment == line->segment &&
	       snapshot->blocks[line->block].offset +
			       snapshot->blocks[line->block].bytes <=
		       line->from)
		line->block++;
}

/* How many bytes from its beginning on are of one block, or of one gap. */
static uint64_t same_bytes(const struct snapshot *snapshot,
			   const struct pool_line *line)
{
	const struct snapshot_block *block = &snapshot->blocks[line->block];

	if (block->offset <= line->from)
		return block->offset + block->bytes - line->from;
	return block->offset - line->from;
}

/* --- lines of one length --------------------------------------------------- */

static uint64_t segment_end(const struct snapshot *snapshot, size_t *extent)
{
	uint64_t segment = snapshot->extents[*extent].segment;

	while (*extent < snapshot->n_extents &&
	       snapshot->extents[*extent].segment == segment)
		++*extent;
	return snapshot->extents[*extent - 1].offset +
	       snapshot->extents[*extent - 1].bytes;
}

/* The next line of a segment that ends at `end`. */
static void next_line(const struct snapshot *snapshot, uint64_t length,
		      uint64_t end, struct pool_line *line)
{
	uint64_t from = line->to, lines;

	line->from = from;
	line->folded = 1;
	line->to = end - from < length ? end : from + length;
	find_contents(snapshot, line);
	lines = same_bytes(snapshot, line) / length;
	if (lines < FOLDED_LEAST)
		return;
	line->folded = lines;
	line->to = from + lines * length;
}

/* Puts them into `lines` if that is not NULL; at most `most`. */
static size_t divide(const struct snapshot *snapshot, uint64_t length,
		     struct pool_line *lines, size_t most)
{
	struct pool_line line = {0};
	size_t extent = 0, n = 0;

	while (extent < snapshot->n_extents && n < most) {
		uint64_t end;

		line.extent = extent;
		line.segment = snapshot->extents[extent].segment;
		line.to = snapshot->extents[extent].offset / length * length;
		end = segment_end(snapshot, &extent);
		while (line.block < snapshot->n_blocks &&
		       snapshot->blocks[line.block].segment != line.segment)
			line.block++;
		while (line.to < end && n < most) {
			next_line(snapshot, length, end, &line);
			if (lines)
				lines[n] = line;
			n++;
		}
	}
	return n;
}

/* --- the length ----------------------------------------------------------- */

static int compare_bytes(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static uint64_t median_of(uint64_t *bytes, size_t n)
{
	qsort(bytes, n, sizeof(*bytes), compare_bytes);
	return n ? bytes[n / 2] : 0;
}

/* What is usual, and what there is at most. */
struct sizes {
	uint64_t block, segment; /* medians, the first of live blocks */
	uint64_t longest;        /* segment */
	size_t segments;
};

static void measure_segments(const struct snapshot *snapshot, uint64_t *bytes,
			     struct sizes *sizes)
{
	size_t extent = 0, n = 0;

	while (extent < snapshot->n_extents) {
		uint64_t begin = snapshot->extents[extent].offset;

		bytes[n] = segment_end(snapshot, &extent) - begin;
		if (bytes[n] > sizes->longest)
			sizes->longest = bytes[n];
		n++;
	}
	sizes->segments = n;
	sizes->segment = median_of(bytes, n);
}

static void measure_blocks(const struct snapshot *snapshot, uint64_t *bytes,
			   struct sizes *sizes)
{
	size_t n = 0;

	for (size_t i = 0; i < snapshot->n_blocks; i++)
		if (snapshot->blocks[i].number)
			bytes[n++] = snapshot->blocks[i].bytes;
	sizes->block = median_of(bytes, n);
}

static int measure(const struct snapshot *snapshot, struct sizes *sizes)
{
	uint64_t *bytes = calloc(snapshot->n_extents + snapshot->n_blocks + 1,
				 sizeof(*bytes));

	memset(sizes, 0, sizeof(*sizes));
	if (!bytes)
		return -1;
	measure_segments(snapshot, bytes, sizes);
	measure_blocks(snapshot, bytes, sizes);
	free(bytes);
	return 0;
}

/*
 * The longest at which a usual segment fills a line, or a usual block can be
 * seen; or longer, if there were too many lines.
 */
static uint64_t choose_length(const struct snapshot *snapshot,
			      const struct sizes *sizes)
{
	size_t most = snapshot->n_blocks / LINE_BLOCKS + LINES_LEAST +
		      2 * sizes->segments;
	uint64_t length = LENGTH_LEAST;

	while (length < sizes->longest)
		length *= 2;
	while (length > LENGTH_LEAST &&
	       (length / 2 >= sizes->segment ||
		(sizes->block && length / sizes->block > LINE_BLOCKS / 2)) &&
	       divide(snapshot, length / 2, NULL, most + 1) <= most)
		length /= 2;
	return length;
}

int lines_make(const struct snapshot *snapshot, struct pool_lines *lines)
{
	struct sizes sizes;

	if (measure(snapshot, &sizes))
		return -1;
	lines->length = choose_length(snapshot, &sizes);
	lines->n = divide(snapshot, lines->length, NULL, SIZE_MAX);
	lines->lines = calloc(lines->n + 1, sizeof(*lines->lines));
	if (!lines->lines)
		return -1;
	divide(snapshot, lines->length, lines->lines, lines->n);
	return 0;
}

void lines_finish(struct pool_lines *lines)
{
	free(lines->lines);
	memset(lines, 0, sizeof(*lines));
}
