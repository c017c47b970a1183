/*
 * lib/fill/layout/args.h - the arguments of the kernels of other libraries' layouts
 */
#ifndef LIB_FILL_LAYOUT_ARGS_H
#define LIB_FILL_LAYOUT_ARGS_H

#include "lib/device/kernels.h"

/* How elements are laid over counters: lib/fill/layout/places.h. */
enum layout_map {
	LAYOUT_BLOCKS,
	LAYOUT_GRID,
	LAYOUT_VECTORS,
	LAYOUT_HOST,
	LAYOUT_HOST_F64,
	LAYOUT_COUNTER,
	LAYOUT_SWAPPED
};

/*
 * Of the fill's arguments, f32 and f64 have: scale and shift as always; top is
 * `high` (uniform), p (Bernoulli) or the probability to keep (dropout); bottom
 * is p (TRITON dropout).
 */
struct layout_args {
	struct fill_args fill;
	uint64_t threads;  /* T; at least 1 */
	uint32_t kind;     /* enum philox_layout_kind */
	uint32_t map;      /* enum layout_map */
	uint32_t dist;     /* enum philox_dist */
	uint32_t dtype;    /* enum philox_dtype */
	uint32_t unroll;   /* U: elements of a block; at least 1 */
	uint32_t vector;   /* V; at least 1 */
	uint32_t no_one;   /* u = 1 becomes 0 */
	uint32_t no_top;   /* a value equal to `top` becomes `shift` */
	uint32_t one_word; /* f64 uniform numbers are of one word */
	uint32_t nothing;  /* dropout keeps nothing: zeros */
};

#endif
