/*
 * tools/pool/boxes.h - blocks and extents on a line of a picture
 *
 * Neighbours that are narrower than a point are drawn as one, so that a picture
 * of a million blocks is no larger than one of many thousands.
 */
#ifndef TOOLS_POOL_BOXES_H
#define TOOLS_POOL_BOXES_H

#include <stdio.h>
#include "tools/pool/lines.h"
#include "tools/pool/totals.h"

#define MARGIN  12.0
#define NAMES   96.0 /* the column of names and offsets */
#define PLOT    1024.0
#define WIDTH   (NAMES + PLOT + 2 * MARGIN)
#define LEFT    (MARGIN + NAMES)
#define LINE    24.0
#define NARROW  .6
#define BOX     14.0
#define SEGMENT 6.0 /* between segments */

struct picture {
	FILE *out;
	const struct snapshot *snapshot;
	struct totals totals;
	struct pool_lines lines;
	double top; /* of the first line */
	double height;
};

/* boxes_x() is where a byte of a line's segment is. */
double boxes_x(const struct picture *picture, const struct pool_line *line,
	       uint64_t place);

/* What is on a line, whose top is at y. */
void boxes_put_blocks(const struct picture *picture,
		      const struct pool_line *line, double y);
void boxes_put_extents(const struct picture *picture,
		       const struct pool_line *line, double y);

#endif
