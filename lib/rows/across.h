/*
 * lib/rows/across.h - draws by vectors that go across rows
 *
 * Where rows draw few numbers, vectors along a row would be empty. So the blocks
 * of many entries are collected, and a vector has one of them in each lane, with
 * a key of its own (lib/fill/simd/keyed.h). An entry's remaining numbers come
 * from a fill where they are many.
 */
#ifndef LIB_ROWS_ACROSS_H
#define LIB_ROWS_ACROSS_H

#include "lib/device/kernels.h"

/*
 * rows_draw_across() does a launch that draws the fill `kernel`, whose elements
 * have `size` bytes. Returns 0, with nothing done, if no vectors are in use.
 */
int rows_draw_across(const struct rows_draw_args *args, enum kernel kernel,
		     unsigned size);

#endif
