/*
 * tools/draw/axis.h - streams of words across operators, calls and seeds
 *
 * A stream along an axis takes one word, that of element 0, from each of many
 * states, which differ in one number. The states are those of regions: number i
 * of the stream has
 *
 *   op    operator i % 2^32, call i / 2^32 of it, of one region
 *   call  the i-th forward of one operator: offset O + 4 i, modulo 2^64
 *   seed  the generator seed S + i, modulo 2^64, of one operator
 *
 * with the region seed folded from the generator seed, and the operator seed
 * from it, as philox/region.h says. Along AXIS_ELEMENT the state stays the
 * same, nothing is folded, and the numbers are those of any fill.
 */
#ifndef TOOLS_DRAW_AXIS_H
#define TOOLS_DRAW_AXIS_H

#include <stddef.h>
#include <philox.h>

enum axis { AXIS_ELEMENT = 0, AXIS_OP, AXIS_CALL, AXIS_SEED };

/* The name of the region of these streams. */
#define AXIS_REGION "draw"

/* axis_draw() writes words first .. first + n - 1; not along AXIS_ELEMENT. */
void axis_draw(enum axis axis, struct philox_state generator, uint64_t first,
	       uint32_t *words, size_t n);

#endif
