/*
 * tools/runner/runner.h - what philox inspect shows of the snapshot of a runner
 */
#ifndef TOOLS_RUNNER_RUNNER_H
#define TOOLS_RUNNER_RUNNER_H

#include <stdio.h>
#include "graph/runner/snapshot/snapshot.h"
#include "tools/cli/cli.h"

/* --- what is shown --------------------------------------------------------- */

/*
 * runner_print() sums a snapshot up in words, runner_json() adds all of it to
 * an open object, runner_dot() and runner_svg() draw it. All return 0, or the
 * exit status after saying what is wrong.
 */
int runner_print(const struct runner_text *text, FILE *out);
int runner_json(const struct runner_text *text, struct json *json);
int runner_dot(const struct runner_text *text, FILE *out);
int runner_svg(const struct runner_text *text, FILE *out);

/* --- summary: figures and keys in words ------------------------------------ */

/* words_calls() is how many calls there were; words_hits() the per cent of
 * them that were replays. */
uint64_t words_calls(const struct philox_function_stats *counts);
double words_hits(const struct philox_function_stats *counts);

/*
 * words_key() writes the label of a key or, if it has none, its bytes in hex, as
 * many as there is room for in `most` characters, which is more than 8; a longer
 * one ends with two dots, an empty one is "none".
 */
#define KEY_WORDS 68
void words_key(const struct text_key *key, char text[KEY_WORDS], size_t most);

/* --- tree: recordings, and what they read ---------------------------------- */

/*
 * A node is a recording, an edge goes from one whose output is an input of
 * another to that. Where a call without a recording handed the output out, or a
 * recording that is gone, its function has a node for all of these. Of more
 * than TREE_MOST recordings those of a key are one node, and if that is still
 * too much, those of a function.
 */
#define TREE_MOST 200

enum tree_kind {
	TREE_RECORDING,
	TREE_GROUP, /* of recordings */
	TREE_CALLS, /* that ran the body */
	TREE_GONE   /* recordings that are gone */
};

struct tree_node {
	enum tree_kind kind;
	size_t function;   /* its index */
	uint64_t number;   /* of the recording, or of the oldest of a group */
	size_t key;        /* of the recording, or of all; SIZE_MAX: several */
	size_t recordings; /* that are in it */
	uint64_t replays, unplayed, bytes, writes;
	uint64_t live;  /* outputs that are not released */
	unsigned row;   /* below those of all that it reads */
	unsigned loops; /* inputs that are outputs of the node itself */
};

/* Several inputs of one are one edge. */
struct tree_edge {
	size_t from, to;
	const char *output, *input; /* names, of the first of them */
	size_t place;               /* of that input */
	size_t inputs;
	int back; /* to one that is not below: among groups */
};

enum tree_level { TREE_EACH, TREE_BY_KEY, TREE_BY_FUNCTION };

struct tree {
	const struct runner_text *text;
	enum tree_level level;
	struct tree_node *nodes; /* in order of number; row by row in a chain */
	struct tree_edge *edges; /* in order of `to`, then of `from` */
	size_t n_nodes, n_edges;
	unsigned rows;
};

/* tree_make() returns 0, or -1: out of memory. */
int tree_make(const struct runner_text *text, struct tree *tree);
void tree_finish(struct tree *tree);

/*
 * The lines of a node's label, and all that is known of it, with line feeds:
 * `room` is the letters of a line.
 */
#define TREE_LINES 3
struct tree_label {
	char lines[TREE_LINES][80];
};
struct tree_label tree_label(const struct tree *tree,
			     const struct tree_node *node);
void tree_title(const struct tree *tree, const struct tree_node *node,
		char *text, size_t size);

/* --- layout: where the boxes of a tree are --------------------------------- */

/*
 * Rows from top to bottom: a node is below all that it reads. The nodes of a
 * function are within its frame, which has a lane by itself on all of its rows;
 * frames with no row in common share lanes. In a row those of a frame stand
 * side by side, and below each other where they are many, with straight gaps
 * between.
 */

#define LAYOUT_BOX_WIDTH  172.0
#define LAYOUT_BOX_HEIGHT 48.0

#define LAYOUT_GAP        20.0 /* between boxes: lines go there */

struct layout_box {
	double x, y;        /* of the upper left corner */
	double top, bottom; /* of all boxes of its frame in its row */
};

struct layout_frame {
	int used;             /* it has nodes */
	unsigned first, last; /* rows */
	unsigned lane;
	size_t across; /* boxes side by side */
	double x, y, width, height;
};

struct layout {
	struct layout_box *boxes;    /* of each node */
	struct layout_frame *frames; /* of each function */
	double width, height;
};

/* layout_make() puts the left upper corner at (left, top); -1: no memory. */
int layout_make(const struct tree *tree, double left, double top,
		struct layout *layout);
void layout_finish(struct layout *layout);

#endif
