/*
 * tools/runner/layout.h - where the boxes of a runner's picture are
 *
 * Rows from top to bottom: a node is below all that it reads. The nodes of a
 * function are within its frame, which has a lane by itself on all of its rows;
 * frames with no row in common share lanes. In a row those of a frame stand
 * side by side, and below each other where they are many, with straight gaps
 * between.
 */
#ifndef TOOLS_RUNNER_LAYOUT_H
#define TOOLS_RUNNER_LAYOUT_H

#include "tools/runner/tree.h"

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
