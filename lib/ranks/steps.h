/*
 * lib/ranks/steps.h - whether the texts of a set are of one step
 *
 * Note [Texts of one step]
 * ~~~~~~~~~~~~~~~~~~~~~~~~
 * A rank whose save failed or is late leaves the text of an earlier save at the
 * path of its next one. Each of these texts is whole, and of its mesh and rank;
 * what shows it is how far regions have come. Two texts are of one step only if
 * a region has the same next forward in both, its serial and its offset, that
 *
 *  - is in both, alive, and shared along all axes,
 *  - has the same seed in both: ranks may have other generators, and
 *  - is no other region of the same name: no axis with PHILOX_AXIS_STAGES
 *    separates the ranks.
 *
 * The texts are read one after the other, and what is kept of them is one step
 * for each such region and combination of stages, as the first text has it.
 */
#ifndef LIB_RANKS_STEPS_H
#define LIB_RANKS_STEPS_H

#include <stddef.h>
#include <stdint.h>
#include "lib/base/status.h"

struct saved;
struct step;

/* What the texts so far say; begins with zeros. */
struct steps {
	struct step *steps; /* in order of region and stages */
	size_t n, room;
};

/*
 * save_steps_add() compares the next text of the set at a path with those before:
 * ERROR_MISMATCH, with both files and the region; ERROR_MEMORY.
 */
enum philox_status save_steps_add(struct steps *steps,
				  const struct saved *saved, const char *path);
void save_steps_finish(struct steps *steps);

#endif
