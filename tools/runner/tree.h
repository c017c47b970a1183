/*
 * tools/runner/tree.h - what there is to draw of a runner
 *
 * A node is a recording, an edge goes from one whose output is an input of
 * another to that. Where a call without a recording handed the output out, or a
 * recording that is gone, its function has a node for all of these. Of more
 * than TREE_MOST recordings those of a key are one node, and if that is still
 * too much, those of a function.
 */
#ifndef TOOLS_RUNNER_TREE_H
#define TOOLS_RUNNER_TREE_H

#include "graph/runner/snapshot/snapshot.h"

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

#endif
