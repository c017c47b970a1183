/*
 * tools/draw/draw.h - a request to philox draw
 */
#ifndef TOOLS_DRAW_DRAW_H
#define TOOLS_DRAW_DRAW_H

#include <philox.h>

struct draw {
	const char *device_name;
	int axis; /* enum axis */
	struct philox_state state;
	struct philox_fill fill; /* what to draw; its out is set later */
	struct philox_layout layout;
	int raw;
	size_t size; /* of an element */
};

/*
 * draw_options() reads the command line. It returns -1, or the exit status: 0
 * after --help, 2 after saying what is wrong. `draw` must not move from then
 * on.
 */
int draw_options(struct draw *draw, int argc, char **argv);

#endif
