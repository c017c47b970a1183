/*
 * tools/runner/svg.c - philox inspect --svg: a runner as a picture
 *
 * A frame for each function, a box for each recording, lines from those whose
 * output is an input to those that read it. Everything has its own words under
 * the pointer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "graph/runner/function/function.h"
#include "tools/cli/cli.h"
#include "tools/pool/pool.h"
#include "tools/runner/runner.h"

#define MARGIN 16.0
#define TOP    84.0

static const char style[] =
	".frame{fill:#f6f8fa;stroke:#d1d9e0}"
	".box{fill:#cfe3f8;stroke:#5b8ac0}.new{fill:#fff}"
	".other{fill:#f6f8fa;stroke:#59636e;stroke-dasharray:4 3}"
	".live{fill:#fde3c4;stroke:#c07a2c}\n"
	".edge{fill:none;stroke:#59636e;stroke-opacity:.55;stroke-width:1.1}"
	".edge:hover{stroke:#cf222e;stroke-opacity:1;stroke-width:3}"
	".back{stroke-dasharray:2 3}.arrow{fill:#59636e}"
	".name{font-weight:600}"
	".halo{paint-order:stroke;stroke:#f6f8fa;stroke-width:4}"
	".w{pointer-events:none}\n"
	"@media (prefers-color-scheme:dark){"
	".frame{fill:#161b22;stroke:#30363d}.halo{stroke:#161b22}"
	".box{fill:#1f4068;stroke:#5b8ac0}.new{fill:#0d1117}"
	".other{fill:#161b22;stroke:#9198a1}"
	".live{fill:#5c3c14;stroke:#c07a2c}"
	".edge{stroke:#9198a1}.arrow{fill:#9198a1}}\n";

struct drawn {
	FILE *out;
	struct tree tree;
	struct layout layout;
};

/* --- frames ---------------------------------------------------------------- */

static void put_frame(const struct drawn *drawn, size_t index)
{
	const struct text_function *function =
		&drawn->tree.text->functions[index];
	const struct layout_frame *frame = &drawn->layout.frames[index];

	if (!frame->used)
		return;
	fprintf(drawn->out,
		"<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
		"height=\"%.1f\" rx=\"8\"><title>",
		frame->x, frame->y, frame->width, frame->height);
	svg_escape(drawn->out, function->name);
	fputs(", ", drawn->out);
	fputs(function_modes[function->mode], drawn->out);
	if (*function->reason) {
		fputs("\nlast reason: ", drawn->out);
		svg_escape(drawn->out, function->reason);
	}
	fputs("</title></rect>\n", drawn->out);
}

/* Over the lines. */
static void put_frame_words(const struct drawn *drawn, size_t index)
{
	const struct text_function *function =
		&drawn->tree.text->functions[index];
	const struct layout_frame *frame = &drawn->layout.frames[index];
	const uint64_t calls = words_calls(&function->counts);
	char text[200];

	if (!frame->used)
		return;
	snprintf(text, sizeof(text), "%s: %" PRIu64 " call%s, %.0f %% replays",
		 function->name, calls, plural(calls),
		 words_hits(&function->counts));
	svg_text(drawn->out, frame->x + 10, frame->y + 17, "name halo w", text,
		 frame->width - 20);
	if (*function->reason)
		svg_text(drawn->out, frame->x + 10, frame->y + 33,
			 "tick halo w", function->reason, frame->width - 20);
}

/* --- boxes ------------------------------------------------------------------ */

static const char *look_of(const struct tree_node *node)
{
	if (node->kind == TREE_CALLS || node->kind == TREE_GONE)
		return "other";
	return node->live ? "box live" : node->replays ? "box" : "box new";
}

static void put_runner_box(const struct drawn *drawn, size_t index)
{
	const struct tree_node *node = &drawn->tree.nodes[index];
	const struct layout_box *box = &drawn->layout.boxes[index];
	const struct tree_label label = tree_label(&drawn->tree, node);
	char title[800];

	tree_title(&drawn->tree, node, title, sizeof(title));
	fprintf(drawn->out,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
		"height=\"%.1f\" rx=\"5\"><title>",
		look_of(node), box->x, box->y, LAYOUT_BOX_WIDTH,
		LAYOUT_BOX_HEIGHT);
	svg_escape(drawn->out, title);
	fputs("</title></rect>\n", drawn->out);
	for (int i = 0; i < TREE_LINES && *label.lines[i]; i++)
		svg_text(drawn->out, box->x + 8, box->y + 15 + 13 * i,
			 i ? "tick w" : "w", label.lines[i],
			 LAYOUT_BOX_WIDTH - 10);
}

/* --- edges ------------------------------------------------------------------ */

struct point {
	double x, y;
};

/* Down in the gap beside a box, past those below it. */
static struct point put_start(FILE *out, const struct layout_box *box)
{
	struct point at = {box->x + LAYOUT_BOX_WIDTH / 2,
			   box->y + LAYOUT_BOX_HEIGHT};

	fprintf(out, "M%.1f %.1f", at.x, at.y);
	if (at.y + 1 > box->bottom)
		return at;
	at.x = box->x + LAYOUT_BOX_WIDTH + LAYOUT_GAP / 2;
	fprintf(out, "Q%.1f %.1f %.1f %.1fV%.1f", at.x, at.y + 4, at.x,
		at.y + LAYOUT_GAP, box->bottom);
	at.y = box->bottom;
	return at;
}

/* To the upper side of a box, or into the gap beside it if it is below others. */
static struct point end_point(const struct layout_box *box)
{
	if (box->y < box->top + 1)
		return (struct point){box->x + LAYOUT_BOX_WIDTH / 2,
				      box->y - 4};
	return (struct point){box->x - LAYOUT_GAP / 2, box->top};
}

static void put_curve(FILE *out, struct point from, struct point to)
{
	const double bend = to.y > from.y + 40 ? (to.y - from.y) / 2 : 20;
	const double aside = to.x - from.x;
	double bow = 0; /* a long straight line would go through other boxes */

	if (to.y > from.y + 100 && aside < 40 && aside > -40)
		bow = (LAYOUT_BOX_WIDTH + LAYOUT_GAP) / 1.5;
	fprintf(out, "C%.1f %.1f %.1f %.1f %.1f %.1f", from.x + bow,
		from.y + bend, to.x + bow, to.y - bend, to.x, to.y);
}

static void put_arrow(FILE *out, const struct layout_box *box)
{
	const int above = box->y < box->top + 1;

	fputs("<path class=\"arrow\" d=\"", out);
	if (above)
		fprintf(out, "M%.1f %.1fl-3 -5h6z",
			box->x + LAYOUT_BOX_WIDTH / 2, box->y);
	else
		fprintf(out, "M%.1f %.1fl-5 -3v6z", box->x,
			box->y + LAYOUT_BOX_HEIGHT / 2);
	fputs("\"/>\n", out);
}

static void put_runner_edge(const struct drawn *drawn,
			    const struct tree_edge *edge)
{
	const struct layout_box *to = &drawn->layout.boxes[edge->to];
	struct point from;

	fprintf(drawn->out, "<path class=\"edge%s\" d=\"",
		edge->back ? " back" : "");
	from = put_start(drawn->out, &drawn->layout.boxes[edge->from]);
	put_curve(drawn->out, from, end_point(to));
	if (to->y >= to->top + 1)
		fprintf(drawn->out, "V%.1fQ%.1f %.1f %.1f %.1f",
			to->y + LAYOUT_BOX_HEIGHT / 2 - 8,
			to->x - LAYOUT_GAP / 2, to->y + LAYOUT_BOX_HEIGHT / 2,
			to->x - 4, to->y + LAYOUT_BOX_HEIGHT / 2);
	fputs("\"><title>", drawn->out);
	svg_escape(drawn->out, edge->output);
	fputs(" is ", drawn->out);
	svg_escape(drawn->out, edge->input);
	if (edge->inputs > 1)
		fprintf(drawn->out, ", and %zu more", edge->inputs - 1);
	fputs("</title></path>\n", drawn->out);
	put_arrow(drawn->out, to);
}

/* --- the whole --------------------------------------------------------------- */

static void put_legend(const struct drawn *drawn)
{
	static const struct {
		const char *look, *words;
	} entries[] = {{"box", "replayed"},
		       {"box new", "never replayed"},
		       {"box live", "has outputs that are not released"},
		       {"other", "no recording: eager calls, or gone"}};
	double x = MARGIN;

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		fprintf(drawn->out,
			"<rect class=\"%s\" x=\"%.1f\" y=\"54\" width=\"20\" "
			"height=\"12\" rx=\"3\"/>\n",
			entries[i].look, x);
		svg_text(drawn->out, x + 26, 64, "", entries[i].words, 400);
		x += 26 + SVG_LETTER * (double)strlen(entries[i].words) + 18;
	}
}

static void put_sentence(const struct drawn *drawn, double width)
{
	const struct runner_text *text = drawn->tree.text;
	char sentence[300];

	snprintf(sentence, sizeof(sentence),
		 "%" PRIu64 " calls, %zu recordings%s, %zu live outputs; pool: "
		 "mapped %s, live %s; the bytes in a box are those that it "
		 "writes of the pool",
		 text->calls, text->n_recordings,
		 drawn->tree.level == TREE_EACH     ? ""
		 : drawn->tree.level == TREE_BY_KEY ? " (a box for each key)"
						    : " (a box for each "
						      "function)",
		 text->n_live, totals_bytes(text->pool.figures.mapped).text,
		 totals_bytes(text->pool.figures.live).text);
	svg_text(drawn->out, MARGIN, 40, "dim", sentence, width);
}

static void put_drawing(const struct drawn *drawn)
{
	const struct runner_text *text = drawn->tree.text;
	double width = drawn->layout.width + MARGIN;
	char title[80];

	if (width < 880)
		width = 880;
	snprintf(title, sizeof(title), "runner \"%s\"", text->name);
	svg_begin(drawn->out, width, drawn->layout.height + MARGIN, title,
		  style);
	svg_text(drawn->out, MARGIN, 22, "title", title, width);
	put_sentence(drawn, width - 2 * MARGIN);
	put_legend(drawn);
	for (size_t i = 0; i < text->n_functions; i++)
		put_frame(drawn, i);
	for (size_t i = 0; i < drawn->tree.n_edges; i++)
		put_runner_edge(drawn, &drawn->tree.edges[i]);
	for (size_t i = 0; i < text->n_functions; i++)
		put_frame_words(drawn, i);
	for (size_t i = 0; i < drawn->tree.n_nodes; i++)
		put_runner_box(drawn, i);
	if (!drawn->tree.n_nodes)
		svg_text(drawn->out, MARGIN, TOP + 11, "dim",
			 "there is no function", width);
	svg_end(drawn->out);
}

int runner_svg(const struct runner_text *text, FILE *out)
{
	struct drawn drawn = {.out = out};
	int result = 0;

	if (tree_make(text, &drawn.tree) ||
	    layout_make(&drawn.tree, MARGIN, TOP, &drawn.layout)) {
		complain("inspect", "out of memory");
		result = 1;
	} else {
		put_drawing(&drawn);
		if (fflush(out) || ferror(out)) {
			complain("inspect", "the picture cannot be written");
			result = 1;
		}
	}
	layout_finish(&drawn.layout);
	tree_finish(&drawn.tree);
	return result;
}
