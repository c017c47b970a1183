/*
 * lib/ranks/merge_place.h - the axes that matter to a region of another mesh
 *
 * See Note [Another mesh] in lib/ranks/merge.h, rules 1 and 2.
 */
#ifndef LIB_RANKS_MERGE_PLACE_H
#define LIB_RANKS_MERGE_PLACE_H

#include "lib/ranks/merge.h"

/*
 * merge_axis() names the i-th axis that matters to a region of a text which is
 * wanted: first those along which it differs, then those along which it is to
 * differ, some of them once more; NULL after the last.
 */
const char *merge_axis(const struct merge *merge, const struct saved *saved,
		       const struct saved_region *region,
		       const struct saved_region *wanted, size_t i);

/*
 * merge_check_axes() compares along which of the axes that both meshes have a
 * region differs, and is to differ: ERROR_MISMATCH.
 */
enum philox_status merge_check_axes(const struct merge *merge,
				    const struct saved *saved,
				    const struct saved_region *region,
				    const struct saved_region *wanted,
				    uint64_t rank);

/* Where a text is, seen from the place of the new rank. */
enum merge_lie {
	MERGE_HERE,      /* there, along the axes that matter */
	MERGE_ELSEWHERE, /* at coordinates that some other rank has */
	MERGE_GONE       /* at coordinates that none will have */
};

enum merge_lie merge_find_lie(const struct merge *merge,
			      const struct saved *saved,
			      const struct saved_region *region,
			      const struct saved_region *wanted);

/*
 * Of a region that some text had alive: merge_changed_axis() names an axis that
 * matters and has another size now; merge_new_axis() one along which the new
 * rank is at a coordinate, *coordinate, that the old mesh did not have; or NULL.
 */
const char *merge_changed_axis(const struct merge *merge,
			       const struct merge_region *of);
const char *merge_new_axis(const struct merge *merge,
			   const struct merge_region *region,
			   uint32_t *coordinate);

#endif
