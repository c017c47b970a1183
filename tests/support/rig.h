/*
 * tests/support/rig.h - what must be whole after a launch that was refused or failed
 */
#ifndef TESTS_SUPPORT_RIG_H
#define TESTS_SUPPORT_RIG_H

#include "tests/support/support.h"

/* Graphs of a region's forward, backward and both, and two pending forwards. */
struct rig {
	struct philox_region *region;
	uint32_t *y, *dx;
	struct philox_graph *forth, *back, *pair;
	struct forward one, two;
	struct ledger_view before;
};

struct rig make_rig(struct fixture *f);

/*
 * rig_is_whole() checks that nothing happened since the last look at the rig's
 * ledger, and that everything still works, and looks again.
 */
void rig_is_whole(struct fixture *f, struct rig *rig);

#endif
