/*
 * tools/pool/legend.h - which colours and patterns a picture of a pool has
 */
#ifndef TOOLS_POOL_LEGEND_H
#define TOOLS_POOL_LEGEND_H

#include <stdio.h>
#include "tools/pool/totals.h"

#define LEGEND_TAGS   11  /* that have colours of their own */
#define LEGEND_OWNERS 4   /* that have patterns of their own */
#define LEGEND_BAR    3.0 /* the height of what stands for an extent */

/* The pattern of an owner of free memory; 0: home's, which is none. */
static inline unsigned legend_owner(uint64_t owner)
{
	return owner ? (unsigned)((owner - 1) % LEGEND_OWNERS) + 1 : 0;
}

/* From the left to the right, beginning at this height. */
struct legend_place {
	double left, right, y;
};

/*
 * legend_put() draws a legend, or nothing if `out` is NULL, and returns the
 * height of its last line.
 */
double legend_put(const struct snapshot *snapshot, const struct totals *totals,
		  const struct legend_place *place, FILE *out);

#endif
