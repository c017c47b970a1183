/*
 * tools/inspect/svg.c - philox inspect --svg: a journal as a picture
 *
 * A row for each row of the timeline, time from left to right, one step for
 * each event. Everything is drawn with its own words under the pointer. Colours
 * are in classes, for light and for dark; what the boxes are like does not
 * depend on colour alone.
 */
#include <inttypes.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/inspect/inspect.h"

#define EVENTS_MAX 4000 /* in one picture */
#define MARGIN     12.0
#define NAMES      150.0 /* the column of names */
#define TOP        76.0
#define LANE       24.0
#define BOX        18.0

struct svg {
	FILE *out;
	const struct drawing *drawing;
	double step; /* the width of an event */
	double width, height;
};

static const char style[] =
	".box{stroke-width:1}.mark{fill:#59636e}\n"
	".forward{fill:#cfe3fb;stroke:#2a6fc4}\n"
	".backward{fill:#fcdcc8;stroke:#bd4b12}\n"
	".capture{fill:#e2ddfa;stroke:#5a47c0}\n"
	".launch{fill:#ccefdf;stroke:#117a55}\n"
	".lesser{fill-opacity:.45;stroke-dasharray:3 2}\n"
	".abort{fill:#ffffff;stroke-dasharray:1.5 2}\n"
	".captured{rx:9}\n"
	"rect.band{stroke:none;opacity:.3}\n"
	".arrow{fill:none;stroke:#59636e;stroke-opacity:.65}\n"
	".arrow:hover{stroke:#d1242f;stroke-width:2.5;stroke-opacity:1}\n"
	".tip{fill:#59636e}\n"
	"@media (prefers-color-scheme:dark){.mark{fill:#9198a1}\n"
	".forward{fill:#15355c;stroke:#5ea3ee}\n"
	".backward{fill:#5a2810;stroke:#ef8a50}\n"
	".capture{fill:#342a70;stroke:#9d8ff0}\n"
	".launch{fill:#0d4a35;stroke:#3fc495}\n"
	".abort{fill:#0d1117}.arrow{stroke:#9198a1}.tip{fill:#9198a1}\n"
	".arrow:hover{stroke:#ff7b72}}\n";

/* --- places --------------------------------------------------------------- */

static double x_of(const struct svg *svg, uint64_t place)
{
	const struct drawing *drawing = svg->drawing;

	if (place < drawing->first)
		place = drawing->first;
	if (place > drawing->last + 1)
		place = drawing->last + 1;
	return MARGIN + NAMES + (double)(place - drawing->first) * svg->step;
}

static int is_shown(const struct svg *svg, const struct drawn_slice *slice)
{
	return slice->until >= svg->drawing->first;
}

/* They are in order, from top to bottom. */
static void find_lowest(struct drawing *drawing)
{
	const struct drawn_lane *below = NULL;

	for (size_t i = drawing->n_lanes; i--;) {
		struct drawn_lane *lane = &drawing->lanes[i];

		if (below && below->context == lane->context &&
		    below->lowest > lane->lowest)
			lane->lowest = below->lowest;
		below = lane;
	}
}

/* Each context has a line for its number above its rows. */
static double place_lanes(struct drawing *drawing)
{
	double y = TOP;
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < drawing->n_lanes; i++) {
		struct drawn_lane *lane = &drawing->lanes[i];

		if (!lane->shown)
			continue;
		if (last == SIZE_MAX ||
		    lane->context != drawing->lanes[last].context)
			y += LANE;
		lane->y = lane->lowest = y + LANE / 2;
		y += LANE;
		last = i;
	}
	find_lowest(drawing);
	return y;
}

/* --- rows, time ----------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, of which a label each has room. */
static uint64_t tick_distance(const struct svg *svg)
{
	static const unsigned next[] = {2, 5, 10};
	uint64_t distance = 1, ten = 1;

	for (int i = 0; (double)distance * svg->step < 60; i++) {
		distance = ten * next[i % 3];
		ten *= i % 3 == 2 ? 10 : 1;
	}
	return distance;
}

static void put_time_axis(const struct svg *svg)
{
	const struct drawing *drawing = svg->drawing;
	uint64_t distance = tick_distance(svg);
	uint64_t place = (drawing->first + distance - 1) / distance * distance;
	char number[32];

	for (; place <= drawing->last; place += distance) {
		double x = x_of(svg, place);

		svg_line(svg->out, "grid", x, TOP, x, svg->height - MARGIN);
		snprintf(number, sizeof(number), "%" PRIu64, place);
		svg_text(svg->out, x + 2, TOP + 10, "tick", number, 60);
	}
}

static void put_lane(const struct svg *svg, const struct drawn_lane *lane,
		     const struct drawn_lane *above)
{
	char text[64];

	if (!above || above->context != lane->context) {
		snprintf(text, sizeof(text), "context %" PRIu64, lane->context);
		svg_text(svg->out, MARGIN, lane->y - LANE / 2 - 8, "title",
			 text, 400);
	}
	if (!lane->place || !above || above->order != lane->order ||
	    above->group != lane->group || above->context != lane->context) {
		svg_line(svg->out, "line", MARGIN, lane->y - LANE / 2,
			 svg->width - MARGIN, lane->y - LANE / 2);
		fprintf(svg->out, "<g><title>");
		svg_escape(svg->out, lane->name);
		fprintf(svg->out, "</title>");
		svg_text(svg->out, MARGIN, lane->y + 4,
			 lane->group == TIMELINE_REGION ? "" : "dim",
			 lane->name, NAMES - 8);
		fprintf(svg->out, "</g>\n");
	}
}

static void put_lanes(const struct svg *svg)
{
	const struct drawn_lane *above = NULL;

	for (size_t i = 0; i < svg->drawing->n_lanes; i++) {
		const struct drawn_lane *lane = &svg->drawing->lanes[i];

		if (!lane->shown)
			continue;
		put_lane(svg, lane, above);
		above = lane;
	}
}

/* --- slices, arrows, marks ------------------------------------------------ */

static const char *const kinds[] = {
	[TIMELINE_FORWARD] = "forward", [TIMELINE_BACKWARD] = "backward",
	[TIMELINE_CAPTURE] = "capture", [TIMELINE_LAUNCH] = "launch",
	[TIMELINE_CALL] = "call",       [TIMELINE_OTHER] = "event",
};

/* Captures and launches are behind the rows of the regions of their context. */
static void put_band(const struct svg *svg, const struct drawn_slice *slice)
{
	const struct drawn_lane *lane = &svg->drawing->lanes[slice->lane];
	const double top = lane->y, bottom = lane->lowest;
	double x = x_of(svg, slice->since);

	fprintf(svg->out,
		"<rect class=\"band %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
		"height=\"%.1f\"/>\n",
		kinds[slice->kind], x, top, x_of(svg, slice->until) - x,
		bottom + LANE / 2 - top);
}

static void put_bands(const struct svg *svg)
{
	for (size_t i = 0; i < svg->drawing->n_slices; i++) {
		const struct drawn_slice *slice = &svg->drawing->slices[i];

		if (slice->kind >= TIMELINE_CAPTURE && is_shown(svg, slice))
			put_band(svg, slice);
	}
}

static void put_slice(const struct svg *svg, const struct drawn_slice *slice)
{
	static const char *const modes[] = {"", " captured", " launched"};
	const struct drawn_lane *lane = &svg->drawing->lanes[slice->lane];
	double x = x_of(svg, slice->since);
	double width = x_of(svg, slice->until) - x;

	fprintf(svg->out, "<g><title>%s%s, events %" PRIu64 " to %" PRIu64 ": ",
		!strcmp(slice->look, "abort")  ? "failed "
		: !strcmp(slice->look, "open") ? "not ended "
					       : "",
		modes[slice->mode] + !!slice->mode, slice->since, slice->until);
	svg_escape(svg->out, slice->label);
	svg_escape(svg->out, slice->about);
	fprintf(svg->out,
		"</title><rect class=\"box %s %s%s\" x=\"%.1f\" y=\"%.1f\" "
		"width=\"%.1f\" height=\"%.1f\" rx=\"3\"/>",
		kinds[slice->kind], slice->look, modes[slice->mode], x,
		lane->y - BOX / 2, width > 1 ? width - .5 : 1, BOX);
	if (width > 4 * SVG_LETTER)
		svg_text(svg->out, x + 4, lane->y + 4, "", slice->label,
			 width - 6);
	fputs("</g>\n", svg->out);
}

/*
 * From the right of a forward's box to the left of the other's. On one lane it
 * goes above the boxes between, at a height that is the forward's.
 */
static void put_arrow(const struct svg *svg, const struct drawn_arrow *arrow)
{
	const struct drawn_slice *from = &svg->drawing->slices[arrow->from];
	const struct drawn_slice *to = &svg->drawing->slices[arrow->to];
	double x1 = x_of(svg, from->until), x2 = x_of(svg, to->since);
	double y1 = svg->drawing->lanes[from->lane].y;
	double y2 = svg->drawing->lanes[to->lane].y;
	double bend = (x2 - x1) / 3 < 40 ? (x2 - x1) / 3 : 40;
	double lift = from->lane == to->lane && x2 - x1 > 2
			      ? LANE * (.4 + .15 * (double)(arrow->from % 5))
			      : 0;

	if (!svg->drawing->lanes[from->lane].shown) /* ended before */
		y1 = y2;
	fprintf(svg->out,
		"<path class=\"arrow\" marker-end=\"url(#tip)\" d=\"M%.1f "
		"%.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"><title>",
		x1, y1, x1 + bend, y1 - lift, x2 - bend, y2 - lift, x2, y2);
	svg_escape(svg->out, from->label);
	fputs(" to ", svg->out);
	svg_escape(svg->out, to->label);
	fputs("</title></path>\n", svg->out);
}

static void put_mark(const struct svg *svg, const struct drawn_mark *mark)
{
	double x = x_of(svg, mark->time);
	double y = svg->drawing->lanes[mark->lane].y;

	fprintf(svg->out,
		"<path class=\"mark\" d=\"M%.1f %.1fl3.5 5-3.5 5-3.5-5z\">"
		"<title>event %" PRIu64 ": ",
		x, y - 5, mark->time);
	svg_escape(svg->out, mark->about);
	fputs("</title></path>\n", svg->out);
}

static void put_contents(const struct svg *svg)
{
	const struct drawing *drawing = svg->drawing;

	for (size_t i = 0; i < drawing->n_slices; i++)
		if (is_shown(svg, &drawing->slices[i]))
			put_slice(svg, &drawing->slices[i]);
	for (size_t i = 0; i < drawing->n_arrows; i++)
		if (is_shown(svg, &drawing->slices[drawing->arrows[i].to]))
			put_arrow(svg, &drawing->arrows[i]);
	for (size_t i = 0; i < drawing->n_marks; i++)
		put_mark(svg, &drawing->marks[i]);
}

/* --- the picture ---------------------------------------------------------- */

static void put_legend(const struct svg *svg)
{
	static const struct {
		const char *kind, *words;
	} legend[] = {
		{"forward plain", "forward"},
		{"forward lesser", "of inference, warm-up"},
		{"backward plain", "backward"},
		{"backward lesser", "ticket retained"},
		{"forward plain captured", "captured"},
		{"forward abort", "aborted"},
		{"capture plain", "capture"},
		{"launch plain", "launch"},
	};
	double x = MARGIN;

	for (size_t i = 0; i < sizeof(legend) / sizeof(legend[0]); i++) {
		fprintf(svg->out,
			"<rect class=\"box %s\" x=\"%.1f\" y=\"48\" "
			"width=\"20\" height=\"12\" rx=\"3\"/>\n",
			legend[i].kind, x);
		svg_text(svg->out, x + 25, 58, "", legend[i].words, 400);
		x += 25 + SVG_LETTER * (double)strlen(legend[i].words) + 14;
	}
}

static void put_head(const struct svg *svg, const char *name,
		     const char *sentence)
{
	svg_begin(svg->out, svg->width, svg->height, name, style);
	fputs("<defs><marker id=\"tip\" viewBox=\"0 0 6 6\" refX=\"6\" "
	      "refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" "
	      "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path "
	      "class=\"tip\" d=\"M0 0l6 3-6 3z\"/></marker></defs>\n",
	      svg->out);
	svg_text(svg->out, MARGIN, 22, "title", name, 560);
	svg_text(svg->out, MARGIN, 38, "dim", sentence, svg->width);
}

/* 14 points for an event if there are few, 2 if there are many. */
static double step_for(uint64_t events)
{
	double step = 7000.0 / (double)events;

	return step > 14 ? 14 : step < 2 ? 2 : step;
}

static void put_picture(struct drawing *drawing, const char *name,
			const char *sentence, FILE *out)
{
	uint64_t events = drawing->last + 1 - drawing->first;
	struct svg svg = {
		.out = out, .drawing = drawing, .step = step_for(events)};

	svg.height = place_lanes(drawing) + MARGIN;
	svg.width = NAMES + 3 * MARGIN + svg.step * (double)events;
	if (svg.width < 900)
		svg.width = 900;
	put_head(&svg, name, sentence);
	put_legend(&svg);
	put_bands(&svg);
	put_time_axis(&svg);
	put_lanes(&svg);
	put_contents(&svg);
	svg_end(out);
}

int svg_journal(const struct written *journal, const char *from, uint64_t first,
		uint64_t last, FILE *out)
{
	uint64_t end = follow_last(journal), wanted;
	struct drawing drawing;
	char sentence[200];
	int result;

	wanted = last && last < end ? last : end;
	if (first > wanted)
		return complain("inspect",
				"there is nothing to draw: the journal has "
				"%" PRIu64 " events",
				end);
	last = wanted - first >= EVENTS_MAX ? first + EVENTS_MAX - 1 : wanted;
	snprintf(sentence, sizeof(sentence),
		 "events %" PRIu64 " to %" PRIu64 " of %" PRIu64 "%s", first,
		 last, end,
		 last < wanted ? ": more than that is too long for one "
				 "picture; --from and --to choose others"
			       : "");
	if (last < wanted)
		fprintf(stderr, "philox inspect: %s\n", sentence);
	result = drawing_make(&drawing, journal, first, last);
	if (result)
		complain("inspect", "out of memory");
	else
		put_picture(&drawing, from, sentence, out);
	drawing_finish(&drawing);
	if (!result && (fflush(out) || ferror(out)))
		result = complain("inspect", "the picture cannot be written");
	return result ? 1 : 0;
}
