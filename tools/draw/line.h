/*
 * tools/draw/line.h - the command line of philox draw while it is read
 */
#ifndef TOOLS_DRAW_LINE_H
#define TOOLS_DRAW_LINE_H

#include "tools/draw/draw.h"

/* The options whose text is kept. */
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

/* A command line being read: its target, and the options as given. */
struct draw_line {
	struct draw *draw;
	const char *given[GIVEN]; /* or NULL */
	int dist;                 /* place among the distributions drawn */
	int dtype, layout;        /* enum philox_dtype, philox_layout_kind */
};

/* The names of values; lists end with NULL. */
extern const char *const draw_axes[];
extern const char *const draw_layouts[];

/*
 * draw_check() checks options against each other, sets the values that follow
 * from them and lets the library check the rest. It returns 0, or 2 after
 * complaining.
 */
int draw_check(const struct draw_line *line);

#endif
