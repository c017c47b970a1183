/*
 * tools/pool/svg.c - philox inspect --svg: a pool as a picture
 *
 * Segments from top to bottom, on lines of one length. Blocks have the colours
 * of their tags, free ones the patterns of their owners; below them is a bar
 * for each extent. Everything has its own words under the pointer.
 *
 * A segment is drawn on lines of one length, as text is. A long stretch that
 * shows nothing but the inside of one block, or of one gap between extents, is
 * folded into one line. Neighbours that are narrower than a point are drawn as
 * one, so that a picture of a million blocks is no larger than one of many
 * thousands.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/pool/pool.h"

/* --- lines: where a segment is cut, and what is left out ------------------- */

struct pool_line {
	uint64_t segment;
	uint64_t from, to; /* bytes of the segment */
	uint64_t folded;   /* how many lines it stands for; 1: itself */
	size_t extent;     /* the first that ends after `from` */
	size_t block;      /* the same */
};

struct pool_lines {
	uint64_t length; /* bytes of a line: a power of two */
	struct pool_line *lines;
	size_t n;
};

/* The most blocks that a line of small blocks should have. */
#define LINE_BLOCKS  48

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

/*
 * lines_make() finds a length at which most blocks can be seen and the picture
 * is not too long, and the lines. It returns 0, or -1: out of memory.
 */
static int lines_make(const struct snapshot *snapshot, struct pool_lines *lines)
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

static void lines_finish(struct pool_lines *lines)
{
	free(lines->lines);
	memset(lines, 0, sizeof(*lines));
}

/* --- legend ---------------------------------------------------------------- */

#define LEGEND_TAGS   11  /* that have colours of their own */
#define LEGEND_OWNERS 4   /* that have patterns of their own */
#define LEGEND_BAR    3.0 /* the height of what stands for an extent */

/* The pattern of an owner of free memory; 0: home's, which is none. */
static inline unsigned legend_owner(uint64_t owner)
{
	return owner ? (unsigned)((owner - 1) % LEGEND_OWNERS) + 1 : 0;
}

/* From the left to the right, beginning at this height. */
struct legend_place {
	double left, right, y;
};

/* Where the next entry of the legend goes. */
struct legend {
	const struct legend_place *place;
	FILE *out; /* NULL: only the place is wanted */
	double x, y;
};

static void put_entry(struct legend *legend, const char *look, double height,
		      const char *words)
{
	double width = 30 + SVG_LETTER * (double)svg_letters(words) + 14;

	if (legend->x > legend->place->left &&
	    legend->x + width > legend->place->right) {
		legend->x = legend->place->left;
		legend->y += 18;
	}
	if (legend->out) {
		fprintf(legend->out,
			"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"20\" "
			"height=\"%.0f\"/>\n",
			look, legend->x, legend->y - 4 - height / 2, height);
		svg_text(legend->out, legend->x + 25, legend->y, "", words,
			 width);
	}
	legend->x += width;
}

static void put_tags(struct legend *legend, const struct totals *totals)
{
	uint64_t others = 0;
	char look[16], words[160];

	for (size_t i = 0; i < totals->n_tags && i < LEGEND_TAGS; i++) {
		snprintf(look, sizeof(look), "b t%zu", i);
		snprintf(words, sizeof(words), "%s %s",
			 *totals->tags[i].tag ? totals->tags[i].tag : "\"\"",
			 totals_bytes(totals->tags[i].bytes).text);
		put_entry(legend, look, 12, words);
	}
	for (size_t i = LEGEND_TAGS; i < totals->n_tags; i++)
		others += totals->tags[i].bytes;
	if (totals->n_tags <= LEGEND_TAGS)
		return;
	snprintf(words, sizeof(words), "%zu other tag%s %s",
		 totals->n_tags - LEGEND_TAGS,
		 plural(totals->n_tags - LEGEND_TAGS),
		 totals_bytes(others).text);
	put_entry(legend, "b t11", 12, words);
}

static void put_owners(struct legend *legend, const struct totals *totals)
{
	uint64_t more[LEGEND_OWNERS + 1] = {0};
	char look[16], words[100];

	for (size_t i = LEGEND_OWNERS + 1; i < totals->n_owners; i++)
		more[legend_owner(i)] += totals->owners[i].bytes;
	for (size_t i = 0; i < totals->n_owners && i <= LEGEND_OWNERS; i++) {
		if (!totals->owners[i].blocks)
			continue;
		snprintf(look, sizeof(look), "b f%zu", i);
		snprintf(words, sizeof(words), "free, %s%s %s",
			 owner_name(i).text, more[i] ? " and others" : "",
			 totals_bytes(totals->owners[i].bytes + more[i]).text);
		put_entry(legend, look, 12, words);
	}
}

static void put_marks(struct legend *legend, const struct snapshot *snapshot)
{
	const struct philox_pool_stats *figures = &snapshot->figures;
	char words[60];

	if (figures->pinned) {
		snprintf(words, sizeof(words), "extent, pinned %s",
			 totals_bytes(figures->pinned).text);
		put_entry(legend, "e pinned", LEGEND_BAR, words);
	}
	if (figures->mapped > figures->pinned)
		put_entry(legend, "e loose", LEGEND_BAR, "extent");
}

/*
 * legend_put() draws a legend, or nothing if `out` is NULL, and returns the
 * height of its last line.
 */
static double legend_put(const struct snapshot *snapshot,
			 const struct totals *totals,
			 const struct legend_place *place, FILE *out)
{
	struct legend legend = {place, out, place->left, place->y};

	put_tags(&legend, totals);
	put_owners(&legend, totals);
	put_marks(&legend, snapshot);
	return legend.y;
}

/* --- boxes of blocks and extents ------------------------------------------- */

#define MARGIN  12.0
#define NAMES   96.0 /* the column of names and offsets */
#define PLOT    1024.0
#define WIDTH   (NAMES + PLOT + 2 * MARGIN)
#define LEFT    (MARGIN + NAMES)
#define LINE    24.0
#define NARROW  .6
#define BOX     14.0
#define SEGMENT 6.0 /* between segments */

struct picture {
	FILE *out;
	const struct snapshot *snapshot;
	struct totals totals;
	struct pool_lines lines;
	double top; /* of the first line */
	double height;
};

/* --- classes and words ---------------------------------------------------- */

/* A tag's colour; all after the largest have one together. */
static size_t tag_class(const struct picture *picture, const char *tag)
{
	for (size_t i = 0; i < picture->totals.n_tags && i < LEGEND_TAGS; i++)
		if (!strcmp(picture->totals.tags[i].tag, tag))
			return i;
	return LEGEND_TAGS;
}

static void put_block_class(const struct picture *picture,
			    const struct snapshot_block *block)
{
	if (block->number)
		fprintf(picture->out, "t%zu", tag_class(picture, block->tag));
	else
		fprintf(picture->out, "f%u", legend_owner(block->owner));
}

static void put_block_title(FILE *out, const struct snapshot_block *block)
{
	fputs("<title>", out);
	if (block->number) {
		fprintf(out, "block %" PRIu64 ", tag \"", block->number);
		svg_escape(out, block->tag);
		fprintf(out, "\"\n%" PRIu64 " bytes, %" PRIu64 " asked for",
			block->bytes, block->size);
	} else {
		fprintf(out, "free, owner %s\n%" PRIu64 " bytes",
			owner_name(block->owner).text, block->bytes);
	}
	fprintf(out, "\nsegment %" PRIu64 ", offset %" PRIu64 "</title>",
		block->segment, block->offset);
}

/* --- places ---------------------------------------------------------------- */

/* boxes_x() is where a byte of a line's segment is. */
static double boxes_x(const struct picture *picture,
		      const struct pool_line *line, uint64_t place)
{
	uint64_t bytes = place < line->from ? 0 : place - line->from;

	if (line->folded > 1)
		bytes /= line->folded;
	if (bytes > picture->lines.length)
		bytes = picture->lines.length;
	return LEFT + PLOT * (double)bytes / (double)picture->lines.length;
}

/* --- blocks --------------------------------------------------------------- */

/* Neighbours on a line that are drawn as one. */
struct few {
	uint64_t from, to;
	uint64_t blocks, live;              /* bytes that are live */
	const struct snapshot_block *block; /* the largest of them */
	uint64_t largest;
};

static void put_box(const struct picture *picture, const char *look, double x,
		    double y, double width)
{
	fprintf(picture->out,
		"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\">",
		look, x, y, width > 3 ? width - .5 : width, BOX);
}

static void put_label(const struct picture *picture, double x, double y,
		      double width, const char *label)
{
	if (width > 5 * SVG_LETTER && *label)
		svg_text(picture->out, x + 4, y + 11, "w", label, width - 6);
}

/* What would be too narrow to be seen is over the end of what is before it. */
static void widen(double *x, double *width)
{
	if (*width >= NARROW)
		return;
	*x -= *x - (NARROW - *width) < LEFT ? 0 : NARROW - *width;
	*width = NARROW;
}

static void put_few(const struct picture *picture, const struct few *few,
		    const struct pool_line *line, double y)
{
	double x = boxes_x(picture, line, few->from);
	double width = boxes_x(picture, line, few->to) - x;

	if (!few->blocks)
		return;
	widen(&x, &width);
	fputs("<rect class=\"b ", picture->out);
	if (few->blocks > 1)
		fputs("many ", picture->out);
	put_block_class(picture, few->block);
	put_box(picture, width > 3 ? "" : " n", x, y, width);
	if (few->blocks == 1)
		put_block_title(picture->out, few->block);
	else
		fprintf(picture->out,
			"<title>%" PRIu64 " blocks\n%" PRIu64 " bytes, %" PRIu64
			" of them live\nsegment %" PRIu64 ", offset %" PRIu64
			"</title>",
			few->blocks, few->to - few->from, few->live,
			line->segment, few->from);
	fputs("</rect>\n", picture->out);
	if (few->blocks == 1 && few->block->number)
		put_label(picture, x, y, width, few->block->tag);
}

/* The part of a block that is on a line joins what came just before, if small. */
static void add_block(const struct picture *picture, struct few *few,
		      const struct snapshot_block *block,
		      const struct pool_line *line, double y)
{
	uint64_t end = block->offset + block->bytes;
	uint64_t from = block->offset > line->from ? block->offset : line->from;
	uint64_t to = end < line->to ? end : line->to;
	int narrow =
		boxes_x(picture, line, to) - boxes_x(picture, line, from) < 1;

	if (few->blocks && (!narrow || few->to != from ||
			    boxes_x(picture, line, few->to) -
					    boxes_x(picture, line, few->from) >=
				    1)) {
		put_few(picture, few, line, y);
		few->blocks = 0;
	}
	if (!few->blocks)
		*few = (struct few){.from = from, .block = block};
	few->to = to;
	few->blocks++;
	few->live += block->number ? to - from : 0;
	if (to - from > few->largest) {
		few->largest = to - from;
		few->block = block;
	}
}

/* What is on a line, whose top is at y. */
static void boxes_put_blocks(const struct picture *picture,
			     const struct pool_line *line, double y)
{
	const struct snapshot *snapshot = picture->snapshot;
	struct few few = {0};

	for (size_t i = line->block;
	     i < snapshot->n_blocks && snapshot->blocks[i].offset < line->to &&
	     snapshot->blocks[i].segment == line->segment;
	     i++)
		add_block(picture, &few, &snapshot->blocks[i], line, y);
	put_few(picture, &few, line, y);
}

/* --- extents -------------------------------------------------------------- */

static void put_extent(const struct picture *picture,
		       const struct snapshot_extent *extent,
		       const struct pool_line *line, double y)
{
	uint64_t end = extent->offset + extent->bytes;
	double x = boxes_x(picture, line,
			   extent->offset > line->from ? extent->offset
						       : line->from);
	double width =
		boxes_x(picture, line, end < line->to ? end : line->to) - x;

	widen(&x, &width);
	fprintf(picture->out,
		"<rect class=\"e %s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
		"height=\"%.0f\"><title>extent %" PRIu64 ", %s\n%" PRIu64
		" bytes\nsegment %" PRIu64 ", offset %" PRIu64
		"</title></rect>\n",
		extent->pinned ? "pinned" : "loose", x, y + BOX + 1,
		width > 2 ? width - 1 : width, LEGEND_BAR, extent->number,
		extent->pinned ? "pinned" : "not pinned", extent->bytes,
		extent->segment, extent->offset);
}

static void boxes_put_extents(const struct picture *picture,
			      const struct pool_line *line, double y)
{
	const struct snapshot *snapshot = picture->snapshot;

	for (size_t i = line->extent;
	     i < snapshot->n_extents &&
	     snapshot->extents[i].offset < line->to &&
	     snapshot->extents[i].segment == line->segment;
	     i++)
		put_extent(picture, &snapshot->extents[i], line, y);
}

/* --- the picture ----------------------------------------------------------- */

static const char style[] =
	".b{stroke:#000;stroke-opacity:.35;stroke-width:.6}"
	".n{stroke:none}.w{pointer-events:none}\n"
	".t0{fill:#8ab8ea}.t1{fill:#f5b27a}.t2{fill:#8fd19e}"
	".t3{fill:#f09a9a}.t4{fill:#b9a4e3}.t5{fill:#d1b08f}"
	".t6{fill:#f2a8d0}.t7{fill:#9fd6d6}.t8{fill:#d9d27a}"
	".t9{fill:#a9b7c6}.t10{fill:#7fc4b0}.t11{fill:#c7c7c7}\n"
	".f0{fill:#f1f3f5}.f1{fill:url(#f1)}.f2{fill:url(#f2)}"
	".f3{fill:url(#f3)}.f4{fill:url(#f4)}"
	".hatch{stroke:#8c959f}.hatched{fill:#f1f3f5}\n"
	".e{stroke-width:.6;stroke:#59636e}.loose{fill:#fff}"
	".pinned{fill:#59636e}\n"
	".gap{stroke:#8c959f;stroke-dasharray:2 4}"
	".fold{fill:#fff;fill-opacity:.8}\n"
	"@media (prefers-color-scheme:dark){.b{stroke:#fff}\n"
	".t0{fill:#2f6db3}.t1{fill:#a85c18}.t2{fill:#2f8f4e}"
	".t3{fill:#b94a4a}.t4{fill:#6f52b5}.t5{fill:#8a6240}"
	".t6{fill:#b04f8a}.t7{fill:#2f8a8a}.t8{fill:#7d771c}"
	".t9{fill:#5b6b7d}.t10{fill:#2a7d66}.t11{fill:#6b6b6b}\n"
	".f0,.hatched{fill:#1c222a}.hatch{stroke:#6e7681}"
	".e{stroke:#9198a1}.loose{fill:#0d1117}.pinned{fill:#9198a1}"
	".fold{fill:#0d1117}}\n";

/* --- lines ---------------------------------------------------------------- */

static int begins_segment(const struct picture *picture, size_t i)
{
	return !i || picture->lines.lines[i].segment !=
			     picture->lines.lines[i - 1].segment;
}

static void put_fold(const struct picture *picture,
		     const struct pool_line *line, double y)
{
	char text[80];
	double width;

	snprintf(text, sizeof(text), "%s, %" PRIu64 " lines in one",
		 totals_bytes(line->to - line->from).text, line->folded);
	width = SVG_LETTER * (double)strlen(text) + 12;
	fprintf(picture->out,
		"<rect class=\"fold w\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
		"height=\"%.0f\"/>\n",
		LEFT + PLOT / 2 - width / 2, y, width, BOX);
	svg_text(picture->out, LEFT + PLOT / 2 - width / 2 + 6, y + 11, "w dim",
		 text, width);
}

static void put_name(const struct picture *picture, size_t i, double y)
{
	const struct pool_line *line = &picture->lines.lines[i];
	char text[40];

	if (begins_segment(picture, i)) {
		snprintf(text, sizeof(text), "segment %" PRIu64, line->segment);
		svg_text(picture->out, MARGIN, y + 11, "", text, NAMES);
		return;
	}
	svg_text(picture->out, MARGIN + 8, y + 11, "tick",
		 totals_place(line->from).text, NAMES);
}

static void put_lines(const struct picture *picture)
{
	double y = picture->top;

	for (size_t i = 0; i < picture->lines.n; i++) {
		const struct pool_line *line = &picture->lines.lines[i];

		if (i && begins_segment(picture, i))
			y += SEGMENT;
		put_name(picture, i, y);
		svg_line(picture->out, "gap", LEFT, y + BOX / 2,
			 boxes_x(picture, line, line->to), y + BOX / 2);
		boxes_put_blocks(picture, line, y);
		boxes_put_extents(picture, line, y);
		if (line->folded > 1)
			put_fold(picture, line, y);
		y += LINE;
	}
}

static double lines_height(const struct picture *picture)
{
	double height = 0;

	for (size_t i = 0; i < picture->lines.n; i++)
		height +=
			LINE + (i && begins_segment(picture, i) ? SEGMENT : 0);
	return height;
}

/* --- scale ---------------------------------------------------------------- */

/* Eight parts of a line, with what is from its beginning to each. */
static void put_scale(const struct picture *picture)
{
	double bottom = picture->height - MARGIN;

	for (unsigned i = 0; i <= 8; i++) {
		double x = LEFT + PLOT * i / 8;
		uint64_t bytes = picture->lines.length / 8 * i;
		char text[48];

		svg_line(picture->out, "grid", x, picture->top - 6, x, bottom);
		snprintf(text, sizeof(text), "%s%s", i ? "+" : "",
			 totals_place(bytes).text);
		if (i < 8)
			svg_text(picture->out, x + 2, picture->top - 8, "tick",
				 text, PLOT / 8);
	}
}

/* --- the picture ---------------------------------------------------------- */

static void put_patterns(FILE *out)
{
	static const char *const lines[LEGEND_OWNERS] = {"M0 6L6 0", "M0 0L6 6",
							 "M3 0V6", "M0 3H6"};

	fputs("<defs>", out);
	for (int i = 0; i < LEGEND_OWNERS; i++)
		fprintf(out,
			"<pattern id=\"f%d\" width=\"6\" height=\"6\" "
			"patternUnits=\"userSpaceOnUse\"><rect "
			"class=\"hatched\" width=\"6\" height=\"6\"/><path "
			"class=\"hatch\" d=\"%s\"/></pattern>",
			i + 1, lines[i]);
	fputs("</defs>\n", out);
}

static void put_head(const struct picture *picture)
{
	const struct snapshot *snapshot = picture->snapshot;
	char name[80], sentence[300];

	snprintf(name, sizeof(name), "pool %s", snapshot->name);
	snprintf(sentence, sizeof(sentence),
		 "%s: mapped %s, live %s in %" PRIu64
		 " block%s, free %s, largest %s, fragmentation %.1f %%; a line "
		 "is %s",
		 snapshot->flags & PHILOX_POOL_EXPANDABLE ? "expandable"
							  : "plain",
		 totals_bytes(snapshot->figures.mapped).text,
		 totals_bytes(snapshot->figures.live).text,
		 snapshot->figures.blocks, plural(snapshot->figures.blocks),
		 totals_bytes(picture->totals.free).text,
		 totals_bytes(picture->totals.largest).text,
		 100 * picture->totals.fragmentation,
		 totals_bytes(picture->lines.length).text);
	svg_begin(picture->out, WIDTH, picture->height, name, style);
	put_patterns(picture->out);
	svg_text(picture->out, MARGIN, 22, "title", name, WIDTH);
	svg_text(picture->out, MARGIN, 39, "dim", sentence, WIDTH);
}

/* Returns where it ends. */
static double put_legend(const struct picture *picture, FILE *out)
{
	const struct legend_place place = {MARGIN, WIDTH - MARGIN, 60};

	return legend_put(picture->snapshot, &picture->totals, &place, out);
}

static void put_picture(struct picture *picture)
{
	picture->top = put_legend(picture, NULL) + 34;
	picture->height = picture->top + lines_height(picture) + MARGIN;
	put_head(picture);
	put_legend(picture, picture->out);
	put_scale(picture);
	put_lines(picture);
	if (!picture->lines.n)
		svg_text(picture->out, MARGIN, picture->top + 11, "dim",
			 "nothing is mapped", WIDTH);
	svg_end(picture->out);
}

int pool_svg(const struct snapshot *snapshot, FILE *out)
{
	struct picture picture = {.out = out, .snapshot = snapshot};
	int result = 1;

	if (totals_make(snapshot, &picture.totals) ||
	    lines_make(snapshot, &picture.lines))
		complain("inspect", "out of memory");
	else
		result = 0;
	if (!result)
		put_picture(&picture);
	totals_finish(&picture.totals);
	lines_finish(&picture.lines);
	if (!result && (fflush(out) || ferror(out))) {
		complain("inspect", "the picture cannot be written");
		result = 1;
	}
	return result;
}
