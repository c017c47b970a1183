/*
 * tools/draw/draw.h - `philox draw`: its options, its lines, streams along
 * an axis
 */
#ifndef TOOLS_DRAW_DRAW_H
#define TOOLS_DRAW_DRAW_H

#include <stddef.h>
#include <philox.h>

/* --- draw: a request to philox draw --------------------------------------- */

/* The most weights that --weights takes. */
#define DRAW_WEIGHTS 1024

struct draw {
	const char *device_name;
	int axis; /* enum axis */
	struct philox_state state;
	struct philox_fill_desc fill; /* what to draw; its out is set later */
	struct philox_layout_desc layout;
	int raw;
	size_t size; /* of an element */
	uint64_t sums[DRAW_WEIGHTS]; /* categorical: fill.n of them */
};

/*
 * draw_options() reads the command line. It returns -1, or the exit status: 0
 * after --help, 2 after saying what is wrong. `draw` must not move from then
 * on.
 */
int draw_options(struct draw *draw, int argc, char **argv);

/* --- line: the command line of philox draw while it is read --------------- */

/* The options whose text is kept. */
enum {
	GIVEN_OFFSET,
	GIVEN_COUNT,
	GIVEN_DTYPE,
	GIVEN_LOW,
	GIVEN_HIGH,
	GIVEN_MEAN,
	GIVEN_STD,
	GIVEN_RATE,
	GIVEN_FROM,
	GIVEN_TO,
	GIVEN_P,
	GIVEN_ITEMS,
	GIVEN_WEIGHTS,
	GIVEN_LAYOUT,
	GIVEN_THREADS,
	GIVEN_SMS,
	GIVEN_THREADS_PER_SM,
	GIVEN_ELEMENTS,
	GIVEN_N
};

/* A command line being read: its target, and the options as given. */
struct draw_line {
	struct draw *draw;
	const char *given[GIVEN_N]; /* or NULL */
	int dist;                   /* place among the distributions drawn */
	int dtype, layout;          /* enum philox_dtype, philox_layout_kind */
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

/* --- axis: streams of words across states, of an order, of a mask --------- */

/*
 * A stream along an axis takes one word, that of element 0, from each of many
 * states, which differ in one number. The states are those of a region's
 * operators or of a table's rows: word i of the stream has
 *
 *   offset  the i-th forward of one operator: offset O + 4 i, modulo 2^64
 *   op      operator i % 2^32, call i / 2^32 of it, of one region
 *   call    call i % 2^32 of operator i / 2^32 of that region
 *   seed    the generator seed S + i, modulo 2^64, of one operator
 *   row     row i of a table
 *
 * with seeds folded as philox/region.h and philox/rows.h say. Two streams are
 * of one operator, at offset O:
 *
 *   order   the low 32 bits of the item at place i of its order of 2^63 items
 *   mask    32 elements of a dropout mask with p = 1/2, from 32 i on; the first
 *           one is the lowest bit, and 1 is kept
 *
 * Along AXIS_ELEMENT the state stays the same, nothing is folded, and the
 * numbers are those of any fill.
 */

enum axis {
	AXIS_ELEMENT = 0,
	AXIS_OFFSET,
	AXIS_OP,
	AXIS_CALL,
	AXIS_SEED,
	AXIS_ROW,
	AXIS_ORDER,
	AXIS_MASK
};

/* The name of the region and of the table of these streams. */
#define AXIS_NAME "draw"

/* How many items an order has; places are taken modulo it. */
#define AXIS_ITEMS (1ULL << 63)

/* axis_draw() writes words first .. first + n - 1; not along AXIS_ELEMENT. */
void axis_draw(enum axis axis, struct philox_state generator, uint64_t first,
	       uint32_t *words, size_t n);

#endif
