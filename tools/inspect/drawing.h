/*
 * tools/inspect/drawing.h - what a picture of a journal shows
 *
 * The items of all contexts' timelines, kept until all is known that decides
 * where each is drawn.
 */
#ifndef TOOLS_INSPECT_DRAWING_H
#define TOOLS_INSPECT_DRAWING_H

#include "lib/trace/trace.h"
#include "tools/common/written.h"

struct drawn_lane {
	uint64_t context;
	enum timeline_group group;
	unsigned order, place; /* see struct timeline_row and timeline_lane */
	unsigned number;
	char *name;
	double y;  /* of its middle */
	int shown; /* has anything in the picture */
};

struct drawn_slice {
	size_t lane;
	enum timeline_kind kind;
	enum timeline_mode mode;
	uint64_t since, until;
	const char *look; /* "plain", "repeat", "abort": what the box is like */
	char *label, *about;
};

/* From the end of the slice of a forward to the begin of another. */
struct drawn_arrow {
	size_t from, to; /* slices */
};

struct drawn_mark {
	size_t lane;
	uint64_t time;
	char *about;
};

struct drawing {
	uint64_t first, last;     /* places that are in the picture */
	struct drawn_lane *lanes; /* from top to bottom once it is made */
	size_t n_lanes;
	struct drawn_slice *slices;
	size_t n_slices;
	struct drawn_arrow *arrows;
	size_t n_arrows;
	struct drawn_mark *marks;
	size_t n_marks;
	int failed; /* no memory */
};

/*
 * drawing_make() collects what places `first` to `last` of a journal show. It
 * returns 0, or -1: out of memory.
 */
int drawing_make(struct drawing *drawing, const struct written *journal,
		 uint64_t first, uint64_t last);
void drawing_finish(struct drawing *drawing);

#endif
