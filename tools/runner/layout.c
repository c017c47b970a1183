/*
 * tools/runner/layout.c - where the boxes of a runner's picture are
 */
#include "tools/runner/runner.h"

#include <stdlib.h>
#include <string.h>

#define ACROSS_MOST 6
#define ACROSS_FEW  4 /* where there are several lanes */
#define GAP         LAYOUT_GAP
#define PAD         12.0 /* between a frame and its boxes */
#define HEAD        44.0 /* of a frame, for its words */
#define ROWS        30.0 /* between rows */
#define LANES       24.0 /* between lanes */

/* The nodes of a function in one row: at `first` in the order of cells. */
struct cell {
	size_t first, n;
};

/* A node among those of its cell. */
struct placed {
	unsigned row;
	size_t function;
	double wish;
	size_t node;
};

struct placing {
	const struct tree *tree;
	struct layout *layout;
	size_t *order; /* nodes by row, function and what is above */
	struct placed *sorted;
	double *wish; /* of each node: the middle of what it reads */
	double *lane_x, *lane_width;
	size_t *lane_taken; /* by the last frame that cannot be there */
	double *row_y, *row_head, *row_height;
	unsigned lanes;
};

/* --- frames ---------------------------------------------------------------- */

static void find_rows(struct placing *placing)
{
	const struct tree *tree = placing->tree;

	for (size_t i = 0; i < tree->n_nodes; i++) {
		const struct tree_node *node = &tree->nodes[i];
		struct layout_frame *frame =
			&placing->layout->frames[node->function];

		if (!frame->used || node->row < frame->first)
			frame->first = node->row;
		if (!frame->used || node->row > frame->last)
			frame->last = node->row;
		frame->used = 1;
	}
}

/* Marks the lanes on which a frame would meet one of those before it. */
static void mark_lanes(struct placing *placing, size_t function)
{
	const struct layout_frame *frames = placing->layout->frames;

	for (size_t i = 0; i < function; i++)
		if (frames[i].used &&
		    frames[i].first <= frames[function].last &&
		    frames[i].last >= frames[function].first)
			placing->lane_taken[frames[i].lane] = function;
}

static void choose_lanes(struct placing *placing)
{
	struct layout_frame *frames = placing->layout->frames;
	const size_t n = placing->tree->text->n_functions;

	for (size_t i = 0; i < n; i++)
		placing->lane_taken[i] = SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		unsigned lane = 0;

		if (!frames[i].used)
			continue;
		mark_lanes(placing, i);
		while (placing->lane_taken[lane] == i)
			lane++;
		frames[i].lane = lane;
		if (lane >= placing->lanes)
			placing->lanes = lane + 1;
	}
}

/* --- cells ----------------------------------------------------------------- */

static int by_cell(const void *one, const void *other)
{
	const struct placed *a = one, *b = other;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->wish != b->wish)
		return a->wish < b->wish ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

static void sort_cells(struct placing *placing)
{
	const struct tree *tree = placing->tree;

	for (size_t i = 0; i < tree->n_nodes; i++)
		placing->sorted[i] = (struct placed){tree->nodes[i].row,
						     tree->nodes[i].function,
						     placing->wish[i], i};
	qsort(placing->sorted, tree->n_nodes, sizeof(*placing->sorted),
	      by_cell);
	for (size_t i = 0; i < tree->n_nodes; i++)
		placing->order[i] = placing->sorted[i].node;
}

static struct cell cell_at(const struct placing *placing, size_t first)
{
	const struct tree_node *nodes = placing->tree->nodes;
	const struct tree_node *node = &nodes[placing->order[first]];
	struct cell cell = {first, 1};

	while (first + cell.n < placing->tree->n_nodes) {
		const struct tree_node *next =
			&nodes[placing->order[first + cell.n]];

		if (next->row != node->row || next->function != node->function)
			break;
		cell.n++;
	}
	return cell;
}

static struct layout_frame *frame_of(const struct placing *placing,
				     struct cell cell)
{
	const size_t node = placing->order[cell.first];

	return &placing->layout->frames[placing->tree->nodes[node].function];
}

/* Boxes side by side: a wide frame rather than a long one. */
static size_t choose_across(const struct placing *placing, size_t n)
{
	const size_t most = placing->lanes > 2 ? ACROSS_FEW : ACROSS_MOST;
	size_t across = 1;

	while (across < most && across * across < 2 * n && across < n)
		across++;
	return across;
}

static double cell_height(const struct layout_frame *frame, size_t n)
{
	const double lines = (double)((n + frame->across - 1) / frame->across);

	return lines * (LAYOUT_BOX_HEIGHT + GAP) - GAP;
}

/* --- measures --------------------------------------------------------------- */

static void measure_cells(struct placing *placing)
{
	const struct tree *tree = placing->tree;
	struct cell cell;

	for (size_t i = 0; i < tree->n_nodes; i += cell.n) {
		struct layout_frame *frame;
		size_t across;

		cell = cell_at(placing, i);
		frame = frame_of(placing, cell);
		across = choose_across(placing, cell.n);
		if (across > frame->across)
			frame->across = across;
	}
	for (size_t i = 0; i < tree->n_nodes; i += cell.n) {
		const struct layout_frame *frame;
		unsigned row = tree->nodes[placing->order[i]].row;
		double height;

		cell = cell_at(placing, i);
		frame = frame_of(placing, cell);
		height = cell_height(frame, cell.n);
		if (height > placing->row_height[row])
			placing->row_height[row] = height;
		if (row == frame->first)
			placing->row_head[row] = HEAD;
	}
}

/* A frame with one box in a row has room for its words, too. */
static double frame_width(const struct layout_frame *frame)
{
	const double boxes = (double)frame->across;

	return boxes * (LAYOUT_BOX_WIDTH + GAP) - GAP + 2 * PAD + 60;
}

static void measure_lanes(struct placing *placing, double left)
{
	const struct layout *layout = placing->layout;

	for (size_t i = 0; i < placing->tree->text->n_functions; i++) {
		const struct layout_frame *frame = &layout->frames[i];

		if (frame->used &&
		    frame_width(frame) > placing->lane_width[frame->lane])
			placing->lane_width[frame->lane] = frame_width(frame);
	}
	for (unsigned i = 0; i < placing->lanes; i++) {
		placing->lane_x[i] = left;
		left += placing->lane_width[i] + LANES;
	}
	placing->layout->width = left - (placing->lanes ? LANES : 0);
}

static void measure_rows(struct placing *placing, double top)
{
	for (unsigned i = 0; i < placing->tree->rows; i++) {
		top += placing->row_head[i];
		placing->row_y[i] = top;
		top += placing->row_height[i] + PAD + ROWS;
	}
	placing->layout->height = top - (placing->tree->rows ? ROWS : 0);
}

/* --- places ----------------------------------------------------------------- */

/* The boxes of a cell are in the middle of their lane, in columns. */
static void place_cell(struct placing *placing, struct cell cell)
{
	const struct layout_frame *frame = frame_of(placing, cell);
	const double top =
		placing->row_y[placing->tree->nodes[placing->order[cell.first]]
				       .row];
	const size_t across = cell.n < frame->across ? cell.n : frame->across;
	const double width = (double)across * (LAYOUT_BOX_WIDTH + GAP) - GAP;
	const double left = frame->x + (frame->width - width) / 2;

	for (size_t i = 0; i < cell.n; i++) {
		const double column = (double)(i % across);
		const double line = (double)(i / across);

		placing->layout->boxes[placing->order[cell.first + i]] =
			(struct layout_box){
				.x = left + column * (LAYOUT_BOX_WIDTH + GAP),
				.y = top + line * (LAYOUT_BOX_HEIGHT + GAP),
				.top = top,
				.bottom = top + cell_height(frame, cell.n)};
	}
}

static void place_frames(struct placing *placing)
{
	for (size_t i = 0; i < placing->tree->text->n_functions; i++) {
		struct layout_frame *frame = &placing->layout->frames[i];

		if (!frame->used)
			continue;
		frame->x = placing->lane_x[frame->lane];
		frame->width = placing->lane_width[frame->lane];
		frame->y = placing->row_y[frame->first] - HEAD;
		frame->height = placing->row_y[frame->last] +
				placing->row_height[frame->last] + PAD -
				frame->y;
	}
}

static void place_all(struct placing *placing)
{
	struct cell cell;

	for (size_t i = 0; i < placing->tree->n_nodes; i += cell.n) {
		cell = cell_at(placing, i);
		place_cell(placing, cell);
	}
}

/* What reads what is on the left comes to the left. */
static void wish_places(struct placing *placing)
{
	const struct tree *tree = placing->tree;

	for (size_t i = 0; i < tree->n_edges;) {
		const size_t to = tree->edges[i].to;
		double sum = 0;
		unsigned n = 0;

		for (; i < tree->n_edges && tree->edges[i].to == to; i++)
			if (!tree->edges[i].back) {
				sum += placing->layout
					       ->boxes[tree->edges[i].from]
					       .x;
				n++;
			}
		placing->wish[to] = n ? sum / n : 0;
	}
}

/* --- the whole --------------------------------------------------------------- */

static int reserve_layout(struct placing *placing)
{
	const struct tree *tree = placing->tree;
	const size_t nodes = tree->n_nodes + 1, rows = (size_t)tree->rows + 1;
	const size_t functions = tree->text->n_functions + 1;

	placing->layout->boxes = calloc(nodes, sizeof(struct layout_box));
	placing->layout->frames =
		calloc(functions, sizeof(struct layout_frame));
	placing->order = calloc(nodes, sizeof(size_t));
	placing->sorted = calloc(nodes, sizeof(*placing->sorted));
	placing->wish = calloc(nodes, sizeof(double));
	placing->lane_x = calloc(functions, sizeof(double));
	placing->lane_width = calloc(functions, sizeof(double));
	placing->lane_taken = calloc(functions, sizeof(size_t));
	placing->row_y = calloc(rows, sizeof(double));
	placing->row_head = calloc(rows, sizeof(double));
	placing->row_height = calloc(rows, sizeof(double));
	return placing->layout->boxes && placing->layout->frames &&
			       placing->order && placing->sorted &&
			       placing->wish && placing->lane_x &&
			       placing->lane_width && placing->lane_taken &&
			       placing->row_y && placing->row_head &&
			       placing->row_height
		       ? 0
		       : -1;
}

static void place_tree(struct placing *placing, double left, double top)
{
	find_rows(placing);
	choose_lanes(placing);
	sort_cells(placing);
	measure_cells(placing);
	measure_lanes(placing, left);
	measure_rows(placing, top);
	place_frames(placing);
	for (int i = 0; i < 4; i++) {
		place_all(placing);
		wish_places(placing);
		sort_cells(placing);
	}
	place_all(placing);
}

int layout_make(const struct tree *tree, double left, double top,
		struct layout *layout)
{
	struct placing placing = {.tree = tree, .layout = layout};
	int result;

	memset(layout, 0, sizeof(*layout));
	result = reserve_layout(&placing);
	if (!result)
		place_tree(&placing, left, top);
	else
		layout_finish(layout);
	free(placing.order);
	free(placing.sorted);
	free(placing.wish);
	free(placing.lane_x);
	free(placing.lane_width);
	free(placing.lane_taken);
	free(placing.row_y);
	free(placing.row_head);
	free(placing.row_height);
	return result;
}

void layout_finish(struct layout *layout)
{
	free(layout->boxes);
	free(layout->frames);
	memset(layout, 0, sizeof(*layout));
}
