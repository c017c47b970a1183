/*
 * tools/pool/svg.c - philox inspect --svg: a pool as a picture
 *
 * Segments from top to bottom, on lines of one length. Blocks have the colours
 * of their tags, free ones the patterns of their owners; below them is a bar
 * for each extent. Everything has its own words under the pointer.
 */
#include <inttypes.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/pool/boxes.h"
#include "tools/pool/legend.h"
#include "tools/pool/pool.h"

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
