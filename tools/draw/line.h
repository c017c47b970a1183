/*
 * tools/draw/line.h - the command line of philox draw while it is read
 */
#ifndef TOOLS_DRAW_LINE_H
#define TOOLS_DRAW_LINE_H

#include "tools/draw/draw.h"

/* The options whose text is wanted. */
enum {
	OFFSET,
	COUNT,
	DTYPE,
	LOW,
	HIGH,
	MEAN,
	STD,
	RATE,
	FROM,
	TO,
	P,
	LAYOUT,
	THREADS,
	SMS,
	THREADS_PER_SM,
	ELEMENTS,
	GIVEN
};

/* A command line that is read: where to, and options as they were given. */
struct draw_line {
	struct draw *draw;
	const char *given[GIVEN]; /* or NULL */
	int dist;                 /* place among the distributions drawn */
	int dtype, layout;        /* enum philox_dtype, philox_layout_kind */
};

/* What values are called; lists end with NULL. */
extern const char *const draw_axes[];
extern const char *const draw_layouts[];

/*
 * draw_check() checks options against each other, sets what follows from them
 * and lets the library check the rest. It returns 0, or 2 after complaining.
 */
int draw_check(const struct draw_line *line);

#endif
