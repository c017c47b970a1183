/*
 * tools/pool/boxes.c - see tools/pool/boxes.h
 */
#include "tools/pool/boxes.h"

#include <inttypes.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/pool/legend.h"

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

double boxes_x(const struct picture *picture, const struct pool_line *line,
	       uint64_t place)
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

void boxes_put_blocks(const struct picture *picture,
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

void boxes_put_extents(const struct picture *picture,
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
