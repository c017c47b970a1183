/*
 * tools/runner/dot.c - philox inspect --dot: a runner for Graphviz
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/base/base.h"
#include "tools/cli/cli.h"
#include "tools/runner/runner.h"

#define REASON 60 /* letters of a line */

/* --- text ----------------------------------------------------------------- */

/*
 * One letter of a quoted string: Graphviz takes entities of HTML, and replaces
 * some letters after a backslash. Returns how many bytes it had.
 */
static size_t dot_letter(FILE *out, const char *text)
{
	size_t length = utf8_length((const unsigned char *)text);

	if (!length) {
		fputs("\xef\xbf\xbd", out);
		return 1;
	}
	if (*text == '\n')
		fputs("\\n", out);
	else if ((unsigned char)*text < ' ' || *text == 0x7f)
		fputs("\xef\xbf\xbd", out);
	else if (*text == '"' || *text == '\\')
		fprintf(out, "\\%c", *text);
	else if (*text == '&')
		fputs("&amp;", out);
	else
		fwrite(text, 1, length, out);
	return length;
}

static void dot_escape(FILE *out, const char *text)
{
	while (*text)
		text += dot_letter(out, text);
}

/* In lines of some length, broken where there is a space. */
static void dot_wrap(FILE *out, const char *text)
{
	size_t letters = 0;

	while (*text) {
		if (*text == ' ' && letters >= REASON) {
			fputs("\\n", out);
			letters = 0;
			text++;
			continue;
		}
		text += dot_letter(out, text);
		letters++;
	}
}

/* --- nodes ---------------------------------------------------------------- */

static void put_node(FILE *out, const struct tree *tree, size_t index)
{
	const struct tree_node *node = &tree->nodes[index];
	const struct tree_label label = tree_label(tree, node);
	const int dashed = node->kind == TREE_CALLS || node->kind == TREE_GONE;
	char title[800];

	fprintf(out, "    n%zu [label=\"", index);
	for (int i = 0; i < TREE_LINES && *label.lines[i]; i++) {
		if (i)
			fputs("\\n", out);
		dot_escape(out, label.lines[i]);
	}
	tree_title(tree, node, title, sizeof(title));
	fputs("\" tooltip=\"", out);
	dot_escape(out, title);
	fprintf(out, "\"%s];\n",
		dashed                             ? " style=\"rounded,dashed\""
		: node->unplayed && !node->replays ? " fillcolor=\"#ffffff\""
						   : "");
}

static int has_nodes(const struct tree *tree, size_t function)
{
	for (size_t i = 0; i < tree->n_nodes; i++)
		if (tree->nodes[i].function == function)
			return 1;
	return 0;
}

static void put_function(FILE *out, const struct tree *tree, size_t index)
{
	const struct text_function *function = &tree->text->functions[index];
	const uint64_t calls = words_calls(&function->counts);

	if (!has_nodes(tree, index))
		return;
	fprintf(out, "  subgraph cluster_%zu {\n    label=\"", index + 1);
	dot_escape(out, function->name);
	fprintf(out, "\\n%" PRIu64 " call%s, %.0f %% replays", calls,
		plural(calls), words_hits(&function->counts));
	if (*function->reason) {
		fputs("\\n", out);
		dot_wrap(out, function->reason);
	}
	fputs("\";\n", out);
	for (size_t i = 0; i < tree->n_nodes; i++)
		if (tree->nodes[i].function == index)
			put_node(out, tree, i);
	fputs("  }\n", out);
}

/* --- edges ---------------------------------------------------------------- */

static void put_dot_edge(FILE *out, const struct tree_edge *edge)
{
	fprintf(out, "  n%zu -> n%zu [tooltip=\"", edge->from, edge->to);
	dot_escape(out, edge->output);
	fputs(" is ", out);
	dot_escape(out, edge->input);
	if (edge->inputs > 1)
		fprintf(out, ", and %zu more", edge->inputs - 1);
	fprintf(out, "\"%s];\n", edge->back ? " constraint=false" : "");
}

static void put_loop(FILE *out, const struct tree *tree, size_t index)
{
	if (tree->nodes[index].loops)
		fprintf(out, "  n%zu -> n%zu [tooltip=\"its own outputs\"];\n",
			index, index);
}

/* --- the whole ------------------------------------------------------------ */

static void put_dot(FILE *out, const struct tree *tree)
{
	fputs("digraph runner {\n  label=\"runner ", out);
	dot_escape(out, tree->text->name);
	fprintf(out, ": %zu recording%s", tree->text->n_recordings,
		plural(tree->text->n_recordings));
	if (tree->level != TREE_EACH)
		fprintf(out, ", a box for those of a %s",
			tree->level == TREE_BY_KEY ? "key" : "function");
	fputs("\";\n  labelloc=t;\n  rankdir=TB;\n"
	      "  fontname=\"Helvetica\";\n  fontsize=12;\n"
	      "  node [shape=box style=\"rounded,filled\" "
	      "fillcolor=\"#dbe9f9\" fontname=\"Helvetica\" fontsize=10 "
	      "margin=\"0.1,0.05\"];\n"
	      "  edge [color=\"#59636e\" arrowsize=0.6];\n"
	      "  graph [style=rounded color=\"#8c959f\"];\n",
	      out);
	for (size_t i = 0; i < tree->text->n_functions; i++)
		put_function(out, tree, i);
	for (size_t i = 0; i < tree->n_edges; i++)
		put_dot_edge(out, &tree->edges[i]);
	for (size_t i = 0; i < tree->n_nodes; i++)
		put_loop(out, tree, i);
	fputs("}\n", out);
}

int runner_dot(const struct runner_text *text, FILE *out)
{
	struct tree tree;

	if (tree_make(text, &tree)) {
		complain("inspect", "out of memory");
		return 1;
	}
	put_dot(out, &tree);
	tree_finish(&tree);
	if (!fflush(out) && !ferror(out))
		return 0;
	complain("inspect", "the picture cannot be written");
	return 1;
}
