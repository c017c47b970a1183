/*
 * lib/ranks/merge_make.h - what a rank of another mesh has
 */
#ifndef LIB_RANKS_MERGE_MAKE_H
#define LIB_RANKS_MERGE_MAKE_H

#include "lib/ranks/merge.h"

/*
 * merge_make() makes the contents of the new rank's text, when all texts that
 * are needed were added: ERROR_MISMATCH, which names region and axis, for what
 * cannot be; ERROR_MEMORY. Regions that start fresh have `fresh` set.
 */
enum philox_status merge_make(struct merge *merge, struct saved *made);

#endif
